//! Evaluates a plan on a device, and counts what it costs.

mod lookup;

use alloc::sync::Arc;
use alloc::vec::Vec;

use lookup::{Held, found_in, is_absence};

use crate::functions::optionals::insert;
use crate::plan::{
    Answer, Attribute, By, Call, Choice, Fold, Item, Node, Order, Pair, Price, Root, Step, Variables,
};
use crate::syntax::expression::Need;
use crate::value::{Budget, Fault, Key, List, Map, Value, Verdict};

/// The cost of a list or a map that is made, and of an access.
const LIST: u64 = 10;
const MAP: u64 = 30;
const ACCESS: u64 = 1;

type Found = Result<Value, Fault>;

/// An evaluation that goes on.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    device: &'a Value,
    locals: Vec<Slot<'a>>,
    cost: u64,
    limit: u64,
    budget: Budget,
}

/// A variable of a macro.
#[derive(Debug)]
enum Slot<'a> {
    /// It is evaluated when it is first read.
    Later(&'a Node),
    Known(Found),
}

impl<'a> Frame<'a> {
    /// `device` is what the variable is; `locals` the number of variables of macros.
    pub(crate) fn new(device: &'a Value, locals: usize, limit: u64) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(locals, || Slot::Known(Err(Fault::NoOverload)));
        Self { device, locals: slots, cost: 0, limit, budget: Budget::new() }
    }

    /// What was spent so far.
    pub(crate) const fn cost(&self) -> u64 {
        self.cost
    }

    fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Fault::CostLimit) } else { Ok(()) }
    }

    pub(crate) fn evaluate(&mut self, node: &'a Node) -> Found {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Equal(sides) => self.equal(sides, Verdict::Equal),
            Node::Unequal(sides) => self.equal(sides, Verdict::Unequal),
            Node::NotStrictlyFalse(inner) => {
                let value = self.evaluate(inner);
                let value = match value {
                    Err(fault) if fault.is_final() => return Err(fault),
                    Ok(Value::Bool(value)) => value,
                    _ => true,
                };
                self.charge(1)?;
                Ok(Value::Bool(value))
            }
            Node::Call(call) => self.call(call),
            Node::Membership(value, list) => {
                let value = self.evaluate(value)?;
                value.is_in(list, &self.budget).map(Value::Bool)
            }
            Node::List(items) => self.constructed(LIST, |frame| frame.list(items)),
            Node::Map(pairs) => self.constructed(MAP, |frame| frame.map(pairs)),
            Node::FirstPresent(sides) => match self.evaluate(&sides[0])? {
                Value::Optional(None) => self.evaluate(&sides[1]),
                present @ Value::Optional(Some(_)) => Ok(present),
                _ => Err(Fault::NoOverload),
            },
            Node::OrValue(sides) => match self.evaluate(&sides[0])? {
                Value::Optional(None) => self.evaluate(&sides[1]),
                Value::Optional(Some(value)) => Ok(Value::clone(&value)),
                _ => Err(Fault::NoOverload),
            },
            Node::Fold(fold) => self.fold(fold),
            Node::Append(slot, more) => self.append(*slot, more),
            Node::Insert(slot, arguments) => self.insert(*slot, arguments),
        }
    }

    /// And, where `decisive` is false, or or, where it is true. A fault counts only if no term decides.
    fn logic(&mut self, terms: &'a [Node; 2], decisive: bool) -> Found {
        let mut fault = None;
        for term in terms {
            match self.evaluate(term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Err(found) if found.is_final() => return Err(found),
                Err(found) => fault = fault.or(Some(found)),
                Ok(_) => fault = fault.or(Some(Fault::NoOverload)),
            }
        }
        fault.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn equal(&mut self, sides: &'a [Node; 2], wanted: Verdict) -> Found {
        let price = if wanted == Verdict::Equal { Price::Equality } else { Price::Smaller };
        let left = self.evaluate(&sides[0]);
        let left = final_or(left)?;
        let right = self.evaluate(&sides[1]);
        let right = final_or(right)?;
        let verdict = match (&left, &right) {
            (Ok(left), Ok(right)) => Some(left.equals(right, &self.budget)?),
            _ => None,
        };
        let sized = [or_null(&left), or_null(&right)];
        let cost = price.cost(&sized, &Value::Null).unwrap_or(1);
        self.charge(cost)?;
        left?;
        right?;
        match (verdict, wanted) {
            (Some(Verdict::NoOverload), Verdict::Equal) => Err(Fault::NoOverload),
            (Some(verdict), Verdict::Equal) => Ok(Value::Bool(verdict == Verdict::Equal)),
            (verdict, _) => Ok(Value::Bool(verdict != Some(Verdict::Equal))),
        }
    }

    fn call(&mut self, call: &'a Call) -> Found {
        match &*call.arguments {
            [single] => {
                let mut values = [Value::Null];
                self.called(call, core::slice::from_ref(single), &mut values)
            }
            [_, _] => {
                let mut values = [Value::Null, Value::Null];
                self.called(call, &call.arguments, &mut values)
            }
            arguments => {
                let mut values = alloc::vec![Value::Null; arguments.len()];
                self.called(call, arguments, &mut values)
            }
        }
    }

    /// Evaluates the arguments into `values`, and calls.
    fn called(&mut self, call: &Call, arguments: &'a [Node], values: &mut [Value]) -> Found {
        let mut fault = None;
        let last = arguments.len().saturating_sub(1);
        for (at, (argument, place)) in arguments.iter().zip(values.iter_mut()).enumerate() {
            match self.evaluate(argument) {
                Ok(value) => *place = value,
                Err(found) if found.is_final() => return Err(found),
                Err(found) if call.order == Order::UntilFault && at < last => return Err(found),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        let result = match (fault, &call.pattern) {
            (Some(fault), _) => Err(fault),
            (None, Some(matcher)) => (matcher.apply)(&matcher.pattern, values),
            (None, None) => (call.implementation)(values, &self.budget),
        };
        let result = final_or(result)?;
        let cost = match &result {
            Ok(value) => call.price.cost(values, value),
            Err(_) => call.price.cost(values, &Value::Null),
        };
        self.charge(cost.map_err(|_| Fault::Internal("interface conversion: value is not a list"))?)?;
        result
    }

    /// A list or map that is made; the cost is due even if that fails.
    fn constructed(&mut self, cost: u64, make: impl FnOnce(&mut Self) -> Found) -> Found {
        let made = final_or(make(self))?;
        self.charge(cost)?;
        made
    }

    fn list(&mut self, items: &'a [Item]) -> Found {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match (self.evaluate(&item.value)?, item.need) {
                (value, Need::Required) => values.push(value),
                (Value::Optional(value), Need::Optional) => {
                    values.extend(value.iter().map(|value| Value::clone(value)));
                }
                (_, Need::Optional) => {
                    return Err(Fault::text(
                        "cannot initialize optional list element from non-optional value",
                    ));
                }
            }
        }
        Ok(Value::List(values.into()))
    }

    fn map(&mut self, pairs: &'a [Pair]) -> Found {
        let mut map = Map::default();
        for pair in pairs {
            let key = self.evaluate(&pair.key)?;
            let key = Key::of(&key).ok_or_else(|| Fault::text("unsupported key type"))?;
            match (self.evaluate(&pair.value)?, pair.need) {
                (value, Need::Required) => {
                    map.insert(key, value);
                }
                (Value::Optional(Some(value)), Need::Optional) => {
                    map.insert(key, Value::clone(&value));
                }
                (Value::Optional(None), Need::Optional) => map.remove(&key),
                (_, Need::Optional) => {
                    return Err(Fault::text("cannot initialize optional entry from non-optional value"));
                }
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    fn attribute(&mut self, attribute: &'a Attribute) -> Found {
        let found = final_or(self.resolve(attribute))?;
        let is_free = attribute.answer == Answer::Presence || matches!(attribute.root, Root::Choice(_));
        if !is_free {
            self.charge(ACCESS)?;
        }
        match (found?, attribute.answer) {
            (Value::Optional(value), Answer::Presence) => Ok(Value::Bool(value.is_some())),
            (value, _) => Ok(value),
        }
    }

    fn resolve(&mut self, attribute: &'a Attribute) -> Found {
        match &attribute.root {
            Root::Device => self.walk(Held::Borrowed(self.device), &attribute.steps),
            Root::Local(slot) => {
                let value = self.local(*slot)?;
                self.walk(Held::Owned(value), &attribute.steps)
            }
            Root::Operand(node) => {
                let value = self.evaluate(node)?;
                self.walk(Held::Owned(value), &attribute.steps)
            }
            Root::Choice(choice) => self.choice(choice),
        }
    }

    fn choice(&mut self, choice: &'a Choice) -> Found {
        match self.evaluate(&choice.condition)? {
            Value::Bool(true) => self.resolve(&choice.yes),
            Value::Bool(false) => self.resolve(&choice.no),
            _ => Err(Fault::NoOverload),
        }
    }

    fn local(&mut self, slot: usize) -> Found {
        match self.locals.get(slot) {
            Some(Slot::Known(value)) => value.clone(),
            Some(Slot::Later(node)) => {
                let value = final_or(self.evaluate(node))?;
                self.set(slot, value.clone());
                value
            }
            None => Err(Fault::NoOverload),
        }
    }

    fn set(&mut self, slot: usize, value: Found) {
        if let Some(place) = self.locals.get_mut(slot) {
            *place = Slot::Known(value);
        }
    }

    /// Looks up one thing after the other. Behind an optional everything is optional.
    fn walk(&mut self, start: Held<'a>, steps: &'a [Arc<Step>]) -> Found {
        let mut need = Need::Required;
        let mut held = start;
        if let (Value::Optional(inner), false) = (held.value(), steps.is_empty()) {
            need = Need::Optional;
            match inner.clone() {
                None => return Ok(Value::none()),
                Some(inner) => held = Held::Owned(Value::clone(&inner)),
            }
        }
        for step in steps {
            if step.need == Need::Optional {
                need = Need::Optional;
            }
            match self.step(&held, step, need)? {
                Some(next) => held = next,
                None => return Ok(Value::none()),
            }
        }
        let value = held.into_value();
        Ok(if need == Need::Optional && !steps.is_empty() { value.some() } else { value })
    }

    /// `None` for what is absent and optional.
    fn step(&mut self, held: &Held<'a>, step: &'a Step, need: Need) -> Result<Option<Held<'a>>, Fault> {
        let found = match &step.by {
            By::Constant(value, key) => found_in(held, value, key),
            By::Presence(key) => {
                let is_there = matches!(found_in(held, &Value::Null, key), Ok(Some(_)));
                if need == Need::Optional && !is_there {
                    return Ok(None);
                }
                self.charge(ACCESS)?;
                return Ok(Some(Held::Owned(Value::Bool(is_there))));
            }
            By::Attribute(attribute) => match final_or(self.resolve(attribute))? {
                Ok(value) => match Key::of(&value) {
                    Some(key) if key != Key::Null => found_in(held, &value, &key),
                    _ => Err(Fault::text(alloc::format!("invalid qualifier type: {}", value.type_name()))),
                },
                Err(fault) if need == Need::Optional => return Err(fault),
                Err(fault) => Err(fault),
            },
        };
        if need == Need::Optional {
            let found = match found {
                Err(fault) if is_absence(&fault) => None,
                found => found?,
            };
            if found.is_some() {
                self.charge(ACCESS)?;
            }
            return Ok(found);
        }
        self.charge(ACCESS)?;
        found
    }

    fn fold(&mut self, fold: &'a Fold) -> Found {
        let range = self.evaluate(&fold.range)?;
        if let Some(place) = self.locals.get_mut(fold.slot) {
            *place = Slot::Later(&fold.initial);
        }
        match &range {
            Value::List(list) => {
                for (index, value) in list.iter().enumerate() {
                    let index = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    if !self.turn(fold, &index, value, value)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let key = key.value();
                    if !self.turn(fold, &key, value, &key)? {
                        break;
                    }
                }
            }
            _ => {
                return Err(Fault::text(alloc::format!(
                    "got '{}', expected iterable type",
                    range.type_name()
                )));
            }
        }
        self.evaluate(&fold.result)
    }

    /// One turn of a loop; whether there may be another.
    fn turn(&mut self, fold: &'a Fold, first: &Value, second: &Value, single: &Value) -> Result<bool, Fault> {
        self.budget.spend(1)?;
        match fold.variables {
            Variables::One => self.set(fold.slot + 1, Ok(single.clone())),
            Variables::Two => {
                self.set(fold.slot + 1, Ok(first.clone()));
                self.set(fold.slot + 2, Ok(second.clone()));
            }
        }
        if let Ok(Value::Bool(false)) = final_or(self.evaluate(&fold.condition))? {
            return Ok(false);
        }
        let value = final_or(self.evaluate(&fold.step))?;
        self.set(fold.slot, value);
        Ok(true)
    }

    /// The accumulator, taken out of its place: what follows puts its successor there.
    fn taken(&mut self, slot: usize) -> Found {
        self.local(slot)?;
        let place = self.locals.get_mut(slot).ok_or(Fault::NoOverload)?;
        match core::mem::replace(place, Slot::Known(Err(Fault::NoOverload))) {
            Slot::Known(value) => value,
            Slot::Later(_) => Err(Fault::NoOverload),
        }
    }

    fn append(&mut self, slot: usize, more: &'a Node) -> Found {
        let accumulator = final_or(self.local(slot).map(drop))?;
        self.charge(ACCESS)?;
        let more = final_or(self.evaluate(more))?;
        self.charge(1)?;
        accumulator?;
        match (more?, self.taken(slot)?) {
            (Value::List(more), Value::List(list)) => Ok(Value::List(List::extended(list, &more))),
            _ => Err(Fault::NoOverload),
        }
    }

    fn insert(&mut self, slot: usize, arguments: &'a [Node]) -> Found {
        let accumulator = final_or(self.local(slot).map(drop))?;
        self.charge(ACCESS)?;
        let mut values = [Value::Null, Value::Null];
        let mut fault = accumulator.err();
        for (argument, place) in arguments.iter().zip(&mut values) {
            if let (Some(fault), 2) = (&fault, arguments.len()) {
                return Err(fault.clone());
            }
            match final_or(self.evaluate(argument))? {
                Ok(value) => *place = value,
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        self.charge(1)?;
        match (fault, arguments.len(), values) {
            (Some(fault), ..) => Err(fault),
            (None, 2, [key, value]) => match self.taken(slot)? {
                Value::Map(map) => insert(map, &key, value),
                _ => Err(Fault::NoOverload),
            },
            (None, _, [Value::Map(more), _]) => {
                let accumulator = self.taken(slot)?;
                more.iter().try_fold(accumulator, |accumulator, (key, value)| match accumulator {
                    Value::Map(map) => insert(map, &key.value(), value.clone()),
                    _ => Err(Fault::NoOverload),
                })
            }
            _ => Err(Fault::NoOverload),
        }
    }
}

/// Separates faults that end the evaluation from those that are results.
fn final_or<T>(found: Result<T, Fault>) -> Result<Result<T, Fault>, Fault> {
    match found {
        Err(fault) if fault.is_final() => Err(fault),
        other => Ok(other),
    }
}

fn or_null(value: &Found) -> Value {
    value.as_ref().map_or(Value::Null, Clone::clone)
}
