//! The most that an expression may cost on any device, as validation estimates it.
//!
//! A walk over the checked expression, as cel-go's, with the sizes that devices are limited to. Sizes and costs are ranges,
//! whose ends stay within 64 bits.

mod range;
mod entries;
mod size;
mod call;

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use entries::{Container, Entries};
use range::Range;

use crate::checker::Checked;
use crate::checker::types::Type;
use crate::syntax::ACCUMULATOR;
use crate::syntax::expression::{Comprehension, Element, Entry, Expression, Kind, Literal, Select, Wanted};

/// The upper end of the estimate.
pub(crate) fn estimate(expression: &Expression, count: usize, checked: &Checked) -> u64 {
    let mut estimator = Estimator {
        checked,
        paths: vec![None; count],
        sizes: vec![None; count],
        entries: vec![None; count],
        locals: Vec::new(),
    };
    estimator.cost(expression).most
}

/// Where a value comes from in a device: the names of fields, `@items`, `@values`, `@keys`.
type Path = Vec<String>;

struct Local {
    name: String,
    path: Option<Path>,
    size: Option<Range>,
    entries: Option<Entries>,
}

struct Estimator<'a> {
    checked: &'a Checked,
    paths: Vec<Option<Path>>,
    sizes: Vec<Option<Range>>,
    entries: Vec<Option<Entries>>,
    locals: Vec<Local>,
}

impl Estimator<'_> {
    fn type_of(&self, expression: &Expression) -> &Type {
        self.checked.type_of(expression)
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn cost(&mut self, expression: &Expression) -> Range {
        match &expression.kind {
            Kind::Literal(_) | Kind::Message(_) => Range::fixed(0),
            Kind::Identifier(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => Some(vec![name.trim_start_matches('.').to_string()]),
                };
                self.set_path(expression, path);
                Range::fixed(1)
            }
            Kind::Select(select) => self.select(expression, select),
            Kind::Call(call) => self.call(expression, call),
            Kind::List(elements) => self.list(expression, elements),
            Kind::Map(entries) => self.map(expression, entries),
            Kind::Comprehension(of) if is_bind(of) => self.bind(expression, of),
            Kind::Comprehension(of) => self.comprehension(expression, of),
        }
    }

    fn select(&mut self, expression: &Expression, select: &Select) -> Range {
        let operand = self.cost(&select.operand);
        if select.wanted == Wanted::Presence {
            return operand;
        }
        let is_access =
            matches!(self.type_of(&select.operand), Type::Map(_) | Type::Object(_) | Type::Variable(_));
        let path = self.path(&select.operand).map(|mut path| {
            path.push(select.field.clone());
            path
        });
        self.set_path(expression, Some(path.unwrap_or_else(|| vec![select.field.clone()])));
        operand.plus(Range::fixed(u64::from(is_access)))
    }

    fn list(&mut self, expression: &Expression, elements: &[Element]) -> Range {
        let mut sum = Range::fixed(0);
        let mut size = Range::of_none(elements.len());
        for element in elements {
            sum = sum.plus(self.cost(&element.value));
            size = size.union(self.size_or_unknown(&element.value));
        }
        let entries = Entries { container: Container::List, key: Range::fixed(1), value: size };
        self.set_entries(expression, Some(entries));
        sum.plus(Range::fixed(10))
    }

    fn map(&mut self, expression: &Expression, entries: &[Entry]) -> Range {
        let mut sum = Range::fixed(0);
        let (mut key, mut value) = (Range::of_none(entries.len()), Range::of_none(entries.len()));
        for entry in entries {
            sum = sum.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
            key = key.union(self.size_or_unknown(&entry.key));
            value = value.union(self.size_or_unknown(&entry.value));
        }
        self.set_entries(expression, Some(Entries { container: Container::Map, key, value }));
        sum.plus(Range::fixed(30))
    }

    fn bind(&mut self, expression: &Expression, of: &Comprehension) -> Range {
        let before = self.cost(&of.range).plus(self.cost(&of.initial));
        self.push_bound(&of.accumulator, &of.initial);
        let sum = before.plus(self.cost(&of.result));
        self.locals.pop();
        let (size, entries) = (self.size(&of.result), self.entries_of(&of.result));
        self.set_size(expression, size);
        self.set_entries(expression, entries);
        sum
    }

    fn push_bound(&mut self, name: &str, value: &Expression) {
        let (path, size, entries) = (self.path(value), self.size(value), self.entries_of(value));
        self.locals.push(Local { name: name.to_string(), path, size, entries });
    }

    fn comprehension(&mut self, expression: &Expression, of: &Comprehension) -> Range {
        let before = self.cost(&of.range).plus(self.cost(&of.initial));
        self.push_bound(&of.accumulator, &of.initial);
        let outer = self.locals.len();
        self.push_variables(of);
        let condition = self.cost(&of.condition);
        let step = self.cost(&of.step);
        self.locals.truncate(outer);
        let mut sum = before.plus(self.cost(&of.result));
        self.locals.pop();
        let turns = self.size_or_unknown(&of.range);
        sum = sum.plus(turns.times(step.plus(condition)));
        match &of.initial.kind {
            Kind::Literal(_) => {
                let size = self.size(&of.initial);
                self.set_size(expression, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.set_size(expression, Some(turns));
                let entries = self.entries_of(&of.step);
                self.set_entries(expression, entries);
            }
            _ => {}
        }
        sum
    }

    fn push_variables(&mut self, of: &Comprehension) {
        let entries = self.entries_of(&of.range);
        let container =
            entries.map_or_else(|| Container::of(self.type_of(&of.range)), |entries| entries.container);
        let path = self.path(&of.range);
        let is_list = container == Container::List;
        let below = |name: &str| {
            let mut path = path.clone().unwrap_or_default();
            path.push(name.to_string());
            Some(path)
        };
        let key = entries.map(|entries| entries.key);
        let value = entries.map(|entries| entries.value);
        let keys = |name: &str| Local {
            name: name.to_string(),
            path: below(if is_list { "@indices" } else { "@keys" }),
            size: key,
            entries: None,
        };
        let values = |name: &str| Local {
            name: name.to_string(),
            path: below(if is_list { "@items" } else { "@values" }),
            size: value,
            entries: None,
        };
        let added = match &of.second {
            Some(second) => vec![keys(&of.variable), values(second)],
            None if is_list => vec![values(&of.variable)],
            None => vec![keys(&of.variable)],
        };
        self.locals.extend(added);
    }
}

/// Whether it is `cel.bind` and the like: a loop over nothing, not over the usual accumulator.
fn is_bind(of: &Comprehension) -> bool {
    matches!(&of.range.kind, Kind::List(elements) if elements.is_empty())
        && matches!(of.condition.kind, Kind::Literal(Literal::Bool(false)))
        && of.accumulator != ACCUMULATOR
}

/// Bytes of a text or version; lists have fewer elements.
const LONGEST_VALUE: u64 = 64;

/// How large a part of a device may be; `None` for what is none.
fn declared_size(path: &[String]) -> Option<u64> {
    let (first, rest) = path.split_first()?;
    if first != "device" {
        return None;
    }
    match rest {
        // `device` itself: only its fields have a size.
        [] => Some(0),
        [field] if field == "driver" => Some(63),
        [field] if field == "allowMultipleAllocations" => Some(1),
        [field, below @ ..] if field == "attributes" || field == "capacity" => {
            let leaf = if field == "attributes" { Some(LONGEST_VALUE) } else { None };
            in_maps(below, leaf)
        }
        _ => None,
    }
}

/// The size of something below a map of maps; `leaf` is that of an attribute, whatever its name.
fn in_maps(below: &[String], leaf: Option<u64>) -> Option<u64> {
    let is_value = |name: &String| matches!(&**name, "@items" | "@values");
    match below {
        [] => Some(32),
        [key] if key == "@keys" => Some(63),
        [value] if is_value(value) => Some(32),
        [value, key] if is_value(value) && key == "@keys" => Some(32),
        [value, inner] if is_value(value) && is_value(inner) => Some(leaf.unwrap_or(0)),
        [value, _] if is_value(value) => leaf,
        _ => None,
    }
}
