//! Makes the plan of a checked expression.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{
    Answer, Attribute, By, Call, Choice, Fold, Item, Matcher, Node, Order, Pair, Price, Root, Step, Variables,
};
use crate::checker::Checked;
use crate::checker::types::Type;
use crate::functions::pattern::{self, Pattern};
use crate::functions::{implementation, named_format};
use crate::syntax::expression::{Comprehension, Expression, Kind, Need, Select, Wanted};
use crate::value::{Budget, Key, List, Map, Value};

/// The plan of an expression, and how many locals it has at most.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) root: Node,
    pub(crate) locals: usize,
}

/// Plans an expression. An error is one of a constant that cannot be evaluated.
pub(crate) fn plan(expression: &Expression, checked: &Checked) -> Result<Planned, String> {
    let mut planner = Planner { checked, scopes: Vec::new(), locals: 0, next: 0 };
    let root = planner.node(expression)?;
    Ok(Planned { root, locals: planner.locals })
}

struct Local {
    name: String,
    slot: usize,
}

struct Planner<'a> {
    checked: &'a Checked,
    scopes: Vec<Local>,
    locals: usize,
    /// The first local that is free.
    next: usize,
}

type Made = Result<Node, String>;

/// Functions that are evaluated at once on a constant.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

impl Planner<'_> {
    fn node(&mut self, expression: &Expression) -> Made {
        match &expression.kind {
            Kind::Literal(literal) => Ok(Node::Constant(literal.into())),
            Kind::Identifier(name) => Ok(self.identifier(name)),
            Kind::Select(select) => self.select(select),
            Kind::Call(_) => self.call(expression),
            Kind::List(elements) => {
                let items = elements
                    .iter()
                    .map(|element| Ok(Item { value: self.node(&element.value)?, need: element.need }));
                let items: Vec<_> = items.collect::<Result<_, String>>()?;
                Ok(list(items))
            }
            Kind::Map(entries) => {
                let pairs = entries.iter().map(|entry| {
                    Ok(Pair {
                        key: self.node(&entry.key)?,
                        value: self.node(&entry.value)?,
                        need: entry.need,
                    })
                });
                let pairs: Vec<_> = pairs.collect::<Result<_, String>>()?;
                Ok(map(pairs))
            }
            Kind::Message(name) => Err(format!("unknown type: {name}")),
            Kind::Comprehension(comprehension) => self.fold(comprehension),
        }
    }

    fn identifier(&self, name: &str) -> Node {
        let local = self.scopes.iter().rev().find(|local| local.name == name);
        let plain = name.strip_prefix('.').unwrap_or(name);
        let root = match local {
            Some(local) => Root::Local(local.slot),
            None => match Type::named(plain) {
                Some(of) if plain != "device" => return Node::Constant(Value::Type(of.runtime_name())),
                _ => Root::Device,
            },
        };
        Node::Attribute(Box::new(Attribute { root, steps: Vec::new(), answer: Answer::Value }))
    }

    fn select(&mut self, select: &Select) -> Made {
        let mut attribute = attribute(self.node(&select.operand)?);
        let key = Key::String(select.field.as_str().into());
        let by = match select.wanted {
            Wanted::Presence => {
                attribute.answer = Answer::Presence;
                By::Presence(key)
            }
            Wanted::Value => By::Constant(key.value(), key),
        };
        attribute.push(&Arc::new(Step { by, need: Need::Required }));
        Ok(Node::Attribute(Box::new(attribute)))
    }

    fn call(&mut self, expression: &Expression) -> Made {
        let Kind::Call(call) = &expression.kind else { return Err("not a call".to_string()) };
        let nodes = call.target.as_deref().into_iter().chain(&call.arguments);
        let arguments: Vec<_> = nodes.map(|node| self.node(node)).collect::<Result<_, _>>()?;
        let overload = match self.checked.overloads(expression) {
            [single] => single,
            _ => "",
        };
        let function = &*call.function;
        if arguments.len() == 2 && !matches!(function, "_+_" | "cel.@mapInsert") {
            let [left, right] = pair(arguments)?;
            return Self::pair(function, overload, left, right);
        }
        if function == "_?_:_" {
            return choice(arguments);
        }
        if let ("@not_strictly_false", 1) = (function, arguments.len()) {
            let inner = arguments.into_iter().next().map(Box::new);
            return inner.map(Node::NotStrictlyFalse).ok_or_else(|| "no argument".to_string());
        }
        match self.in_place(function, arguments) {
            Ok(node) => Ok(node),
            Err(arguments) => ordinary(function, overload, arguments),
        }
    }

    /// Calls with two arguments, many of which are special.
    fn pair(function: &str, overload: &str, left: Node, right: Node) -> Made {
        let both = |left, right| Box::new([left, right]);
        Ok(match function {
            "_&&_" => Node::And(both(left, right)),
            "_||_" => Node::Or(both(left, right)),
            "_==_" => Node::Equal(both(left, right)),
            "_!=_" => Node::Unequal(both(left, right)),
            "_[_]" => indexed(left, right, Need::Required)?,
            "_[?_]" | "_?._" => indexed(left, right, Need::Optional)?,
            "or" if matches!(overload, "" | "optional_or_optional") => Node::FirstPresent(both(left, right)),
            "orValue" if matches!(overload, "" | "optional_orValue_value") => {
                Node::OrValue(both(left, right))
            }
            "@in" if overload == "in_list" => match right {
                Node::Constant(Value::List(list)) if list.len() == 0 => Node::Constant(Value::Bool(false)),
                Node::Constant(Value::List(list)) if list.iter().all(is_hashable) => {
                    Node::Membership(Box::new(left), list)
                }
                right => return ordinary(function, overload, vec![left, right]),
            },
            _ => return ordinary(function, overload, vec![left, right]),
        })
    }

    /// What is added to the accumulator of a loop is added in place: it is replaced by the result.
    fn in_place(&self, function: &str, mut arguments: Vec<Node>) -> Result<Node, Vec<Node>> {
        let accumulator = self.scopes.iter().rev().find(|local| local.name == crate::syntax::ACCUMULATOR);
        let slot = accumulator.map(|local| local.slot);
        let is_accumulator = match arguments.first() {
            Some(Node::Attribute(first)) => {
                let root = match first.root {
                    Root::Local(at) => Some(at),
                    _ => None,
                };
                root.is_some() && root == slot && first.steps.is_empty()
            }
            _ => false,
        };
        let (Some(slot), true) = (slot, is_accumulator) else { return Err(arguments) };
        match (function, &*arguments) {
            ("_+_", [_, Node::List(_) | Node::Constant(Value::List(_))]) => {
                arguments.pop().map(|last| Node::Append(slot, Box::new(last))).ok_or(arguments)
            }
            ("cel.@mapInsert", [_, ..]) => {
                arguments.remove(0);
                Ok(Node::Insert(slot, arguments.into()))
            }
            _ => Err(arguments),
        }
    }

    fn fold(&mut self, of: &Comprehension) -> Made {
        let initial = self.node(&of.initial)?;
        let range = self.node(&of.range)?;
        let slot = self.next;
        self.next += 3;
        self.locals = self.locals.max(self.next);
        self.scopes.push(Local { name: of.accumulator.clone(), slot });
        let outer = self.scopes.len();
        self.scopes.push(Local { name: of.variable.clone(), slot: slot + 1 });
        if let Some(second) = &of.second {
            self.scopes.push(Local { name: second.clone(), slot: slot + 2 });
        }
        let condition = self.node(&of.condition)?;
        let step = self.node(&of.step)?;
        self.scopes.truncate(outer);
        let result = self.node(&of.result)?;
        self.scopes.pop();
        self.next = slot;
        let variables = if of.second.is_some() { Variables::Two } else { Variables::One };
        Ok(Node::Fold(Box::new(Fold { range, slot, variables, initial, condition, step, result })))
    }
}

impl Attribute {
    /// With one more step; of a choice, in both attributes.
    fn push(&mut self, step: &Arc<Step>) {
        if let Root::Choice(choice) = &mut self.root {
            choice.yes.push(step);
            choice.no.push(step);
        } else {
            self.steps.push(step.clone());
        }
    }
}

/// A node as an attribute.
fn attribute(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) if attribute.answer == Answer::Value => *attribute,
        other => Attribute { root: Root::Operand(other), steps: Vec::new(), answer: Answer::Value },
    }
}

fn pair(arguments: Vec<Node>) -> Result<[Node; 2], String> {
    arguments.try_into().map_err(|_| "wrong number of arguments".to_string())
}

fn choice(arguments: Vec<Node>) -> Made {
    let three: Result<[Node; 3], _> = arguments.try_into();
    let [condition, yes, no] = three.map_err(|_| "wrong number of arguments".to_string())?;
    let branch = |node| match node {
        Node::Attribute(attribute) => *attribute,
        other => Attribute { root: Root::Operand(other), steps: Vec::new(), answer: Answer::Value },
    };
    let choice = Choice { condition, yes: branch(yes), no: branch(no) };
    let root = Root::Choice(Box::new(choice));
    Ok(Node::Attribute(Box::new(Attribute { root, steps: Vec::new(), answer: Answer::Value })))
}

fn indexed(operand: Node, index: Node, need: Need) -> Made {
    let by = match index {
        Node::Constant(value) => {
            let key = Key::of(&value).filter(|key| *key != Key::Null);
            let key = key.ok_or_else(|| format!("invalid qualifier type: {}", value.type_name()))?;
            By::Constant(value, key)
        }
        Node::Attribute(inner) => By::Attribute(*inner),
        other => By::Attribute(attribute(other)),
    };
    let mut attribute = attribute(operand);
    attribute.push(&Arc::new(Step { by, need }));
    Ok(Node::Attribute(Box::new(attribute)))
}

fn is_hashable(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))
}

fn ordinary(function: &str, overload: &str, arguments: Vec<Node>) -> Made {
    if let Some(constant) = named_format::constant(function).filter(|_| arguments.is_empty()) {
        return Ok(Node::Call(Box::new(Call {
            implementation: implementation("dyn").ok_or_else(|| "no dyn".to_string())?,
            price: Price::One,
            arguments: [Node::Constant(constant)].into(),
            order: Order::All,
            pattern: None,
        })));
    }
    let implementation = implementation(function).ok_or_else(|| format!("no such overload: {function}"))?;
    if let ([Node::Constant(value)], true) = (&*arguments, CONVERSIONS.contains(&function)) {
        let converted = implementation(core::slice::from_ref(value), &Budget::new());
        return converted.map(Node::Constant).map_err(|fault| fault.shown());
    }
    let pattern = matcher(function, &arguments)?;
    let is_special = pattern.is_some() || function == "format";
    // Where several overloads are possible, cel-go finds the one by the values, unless the function has one implementation.
    let is_chosen = overload.is_empty() && !is_operator(function);
    let is_sequence = arguments.len() > 2 || is_special || is_chosen;
    let order = if is_sequence { Order::UntilFault } else { Order::All };
    let price = Price::of(function, overload);
    Ok(Node::Call(Box::new(Call { implementation, price, arguments: arguments.into(), order, pattern })))
}

/// Whether all overloads have one implementation.
fn is_operator(function: &str) -> bool {
    function.starts_with('_') || matches!(function, "@in" | "matches" | "size" | "@sortByAssociatedKeys")
}

fn matcher(function: &str, arguments: &[Node]) -> Result<Option<Matcher>, String> {
    let apply = match function {
        "matches" => pattern::is_match,
        "find" => pattern::find,
        "findAll" => pattern::find_all,
        _ => return Ok(None),
    };
    match arguments.get(1) {
        Some(Node::Constant(Value::String(text))) => {
            Ok(Some(Matcher { pattern: Pattern::new(text)?, apply }))
        }
        _ => Ok(None),
    }
}

/// A list; a constant if all of its elements are.
fn list(items: Vec<Item>) -> Node {
    let constant = |item: &Item| match (&item.value, item.need) {
        (Node::Constant(value), Need::Required) => Some(value.clone()),
        _ => None,
    };
    match items.iter().map(constant).collect::<Option<Vec<_>>>() {
        Some(values) => Node::Constant(Value::List(List::from(values))),
        None => Node::List(items.into()),
    }
}

/// A map; a constant if all of its entries are.
fn map(pairs: Vec<Pair>) -> Node {
    let mut entries = Map::default();
    for pair in &pairs {
        match (&pair.key, &pair.value, pair.need) {
            (Node::Constant(key), Node::Constant(value), Need::Required) if Key::of(key).is_some() => {
                if let Some(key) = Key::of(key) {
                    entries.insert(key, value.clone());
                }
            }
            _ => return Node::Map(pairs.into()),
        }
    }
    Node::Constant(Value::Map(Arc::new(entries)))
}
