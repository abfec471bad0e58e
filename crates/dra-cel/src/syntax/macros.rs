//! Macros: calls that become loops, bindings and conditions while they are parsed.
//!
//! The shapes of the expansions decide what a macro costs, so they are cel-go's.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::expression::{Call, Comprehension, Element, Expression, Kind, Literal, Need, Select, Wanted};
use super::ids::Ids;
use crate::fault::Place;

/// What loops collect their result in.
pub(crate) const ACCUMULATOR: &str = "__result__";

/// What `sortBy` binds its list to.
const SORTED: &str = "@__sortBy_input__";

type Expanded = Result<Expression, Place>;

/// `name(…)`: `has`, or a call.
pub(super) fn global(ids: &mut Ids, offset: usize, name: &str, mut arguments: Vec<Expression>) -> Expanded {
    if name != "has" || arguments.len() != 1 {
        return Ok(ids.call(offset, name, arguments));
    }
    let argument = arguments.remove(0);
    match argument.kind {
        Kind::Select(select) if select.wanted == Wanted::Value => {
            let test = Select { wanted: Wanted::Presence, ..*select };
            Ok(ids.node(offset, Kind::Select(Box::new(test))))
        }
        _ => Err(Place::new(argument.offset, "invalid argument to has() macro")),
    }
}

/// `target.name(…)`: a macro, or a call.
pub(super) fn receiver(
    ids: &mut Ids,
    offset: usize,
    name: &str,
    target: Expression,
    arguments: Vec<Expression>,
) -> Expanded {
    let mut maker = Maker { ids, offset };
    let is_cel = matches!(&target.kind, Kind::Identifier(name) if name == "cel");
    match (name, arguments.len()) {
        ("bind", 3) if is_cel => maker.bind(arguments),
        ("optMap" | "optFlatMap", 2) => maker.optional(name, target, arguments),
        ("sortBy", 2) => maker.sort_by(target, arguments),
        ("all" | "exists" | "exists_one" | "existsOne" | "filter", 2)
        | ("map", 2 | 3)
        | ("all" | "exists" | "exists_one" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
            maker.over(name, target, arguments)
        }
        _ => {
            let call = Call { function: name.to_string(), target: Some(Box::new(target)), arguments };
            Ok(ids.node(offset, Kind::Call(call)))
        }
    }
}

/// The parts of a loop that differ between macros.
struct Shape {
    initial: Expression,
    condition: Expression,
    step: Expression,
    result: Expression,
}

struct Maker<'a> {
    ids: &'a mut Ids,
    offset: usize,
}

impl Maker<'_> {
    fn call(&mut self, function: &str, arguments: Vec<Expression>) -> Expression {
        self.ids.call(self.offset, function, arguments)
    }

    fn member(&mut self, function: &str, target: Expression, arguments: Vec<Expression>) -> Expression {
        let call = Call { function: function.to_string(), target: Some(Box::new(target)), arguments };
        self.ids.node(self.offset, Kind::Call(call))
    }

    fn literal(&mut self, value: Literal) -> Expression {
        self.ids.literal(self.offset, value)
    }

    fn list(&mut self, values: Vec<Expression>) -> Expression {
        let elements = values.into_iter().map(|value| Element { value, need: Need::Required });
        self.ids.node(self.offset, Kind::List(elements.collect()))
    }

    fn accumulator(&mut self) -> Expression {
        self.ids.identifier(self.offset, ACCUMULATOR)
    }

    /// `cel.bind(name, value, body)`.
    fn bind(&mut self, arguments: Vec<Expression>) -> Expanded {
        let [name, value, body] = taken(arguments, self.offset)?;
        let name = simple(&name, "cel.bind() variable names must be simple identifiers")?;
        Ok(self.bound(&name, value, body))
    }

    /// A loop over nothing, whose accumulator is the variable.
    fn bound(&mut self, name: &str, value: Expression, body: Expression) -> Expression {
        let comprehension = Comprehension {
            range: self.list(Vec::new()),
            variable: "#unused".to_string(),
            second: None,
            accumulator: name.to_string(),
            initial: value,
            condition: self.literal(Literal::Bool(false)),
            step: self.ids.identifier(self.offset, name),
            result: body,
        };
        self.ids.node(self.offset, Kind::Comprehension(Box::new(comprehension)))
    }

    fn optional(&mut self, name: &str, target: Expression, arguments: Vec<Expression>) -> Expanded {
        let [variable, body] = taken(arguments, self.offset)?;
        let variable = simple(&variable, "variable name must be a simple identifier")?;
        let copy = self.ids.copy(&target);
        let value = self.member("value", copy, Vec::new());
        let bound = self.bound(&variable, value, body);
        let present = if name == "optMap" { self.call("optional.of", vec![bound]) } else { bound };
        let condition = self.member("hasValue", target, Vec::new());
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![condition, present, none]))
    }

    fn sort_by(&mut self, target: Expression, arguments: Vec<Expression>) -> Expanded {
        if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Message(_)) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err(Place::new(target.offset, message));
        }
        let input = self.ids.identifier(self.offset, SORTED);
        let keys = self.over("map", input, arguments)?;
        let input = self.ids.identifier(self.offset, SORTED);
        let sorted = self.member("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bound(SORTED, target, sorted))
    }

    /// A loop over a list or map with one or two variables.
    fn over(&mut self, name: &str, target: Expression, mut arguments: Vec<Expression>) -> Expanded {
        let is_transform = name.starts_with("transform");
        let is_quantifier = matches!(name, "all" | "exists" | "exists_one" | "existsOne");
        let variables = if is_transform || (is_quantifier && arguments.len() == 3) { 2 } else { 1 };
        let body = arguments.split_off(variables);
        let mut names = Vec::new();
        for argument in &arguments {
            let name = simple(argument, "argument must be a simple name")?;
            if name == ACCUMULATOR {
                let message = "iteration variable overwrites accumulator variable";
                return Err(Place::new(argument.offset, message));
            }
            if names.contains(&name) {
                return Err(Place::new(argument.offset, alloc::format!("duplicate variable name: {name}")));
            }
            names.push(name);
        }
        let shape = self.shape(name, &arguments, body)?;
        let mut names = names.into_iter();
        let comprehension = Comprehension {
            range: target,
            variable: names.next().unwrap_or_default(),
            second: names.next(),
            accumulator: ACCUMULATOR.to_string(),
            initial: shape.initial,
            condition: shape.condition,
            step: shape.step,
            result: shape.result,
        };
        Ok(self.ids.node(self.offset, Kind::Comprehension(Box::new(comprehension))))
    }

    fn shape(
        &mut self,
        name: &str,
        variables: &[Expression],
        mut body: Vec<Expression>,
    ) -> Result<Shape, Place> {
        let last = body.pop().ok_or_else(|| Place::new(self.offset, "too few arguments"))?;
        let filter = body.pop();
        Ok(match name {
            "all" => self.all(last),
            "exists" => self.exists(last),
            "exists_one" | "existsOne" => self.exists_one(last),
            "filter" => {
                let element = variables.first().map(|variable| self.ids.copy(variable));
                let step = self.appended(element.into_iter().collect());
                self.collected(Some(last), step)
            }
            "map" | "transformList" => {
                let step = self.appended(vec![last]);
                self.collected(filter, step)
            }
            _ => self.inserted(name, variables, filter, last),
        })
    }

    fn all(&mut self, predicate: Expression) -> Shape {
        let (initial, tested) = (self.literal(Literal::Bool(true)), self.accumulator());
        let condition = self.call("@not_strictly_false", vec![tested]);
        let accumulator = self.accumulator();
        let step = self.call("_&&_", vec![accumulator, predicate]);
        Shape { initial, condition, step, result: self.accumulator() }
    }

    fn exists(&mut self, predicate: Expression) -> Shape {
        let (initial, tested) = (self.literal(Literal::Bool(false)), self.accumulator());
        let not = self.call("!_", vec![tested]);
        let condition = self.call("@not_strictly_false", vec![not]);
        let accumulator = self.accumulator();
        let step = self.call("_||_", vec![accumulator, predicate]);
        Shape { initial, condition, step, result: self.accumulator() }
    }

    fn exists_one(&mut self, predicate: Expression) -> Shape {
        let (accumulator, one) = (self.accumulator(), self.literal(Literal::Int(1)));
        let counted = self.call("_+_", vec![accumulator, one]);
        let unchanged = self.accumulator();
        let step = self.call("_?_:_", vec![predicate, counted, unchanged]);
        let (count, one) = (self.accumulator(), self.literal(Literal::Int(1)));
        let result = self.call("_==_", vec![count, one]);
        let initial = self.literal(Literal::Int(0));
        Shape { initial, condition: self.literal(Literal::Bool(true)), step, result }
    }

    fn appended(&mut self, elements: Vec<Expression>) -> Expression {
        let (accumulator, elements) = (self.accumulator(), self.list(elements));
        self.call("_+_", vec![accumulator, elements])
    }

    fn collected(&mut self, filter: Option<Expression>, step: Expression) -> Shape {
        let initial = self.list(Vec::new());
        self.filtered(initial, filter, step)
    }

    fn filtered(&mut self, initial: Expression, filter: Option<Expression>, step: Expression) -> Shape {
        let step = match filter {
            Some(filter) => {
                let unchanged = self.accumulator();
                self.call("_?_:_", vec![filter, step, unchanged])
            }
            None => step,
        };
        let condition = self.literal(Literal::Bool(true));
        Shape { initial, condition, step, result: self.accumulator() }
    }

    fn inserted(
        &mut self,
        name: &str,
        variables: &[Expression],
        filter: Option<Expression>,
        value: Expression,
    ) -> Shape {
        let mut arguments = vec![self.accumulator()];
        if name == "transformMap" {
            arguments.extend(variables.first().map(|variable| self.ids.copy(variable)));
        }
        arguments.push(value);
        let step = self.call("cel.@mapInsert", arguments);
        let initial = self.ids.node(self.offset, Kind::Map(Vec::new()));
        self.filtered(initial, filter, step)
    }
}

fn simple(argument: &Expression, message: &str) -> Result<String, Place> {
    match &argument.kind {
        Kind::Identifier(name) => Ok(name.clone()),
        _ => Err(Place::new(argument.offset, message)),
    }
}

/// The arguments as an array; their number was compared before.
fn taken<const N: usize>(arguments: Vec<Expression>, offset: usize) -> Result<[Expression; N], Place> {
    arguments.try_into().map_err(|_| Place::new(offset, "wrong number of arguments"))
}
