//! Attributes as constraints compare them: each value with its type gets a number.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;

use dra_model::{Attribute, AttributeValue};

use crate::search::Value;

/// Whether lists of values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lists {
    /// By what they have in common, and a single value as a list of one.
    Compared,
    /// Not at all.
    Ignored,
}

/// All values that occurred.
#[derive(Debug, Default)]
pub(crate) struct Numbers(RefCell<BTreeMap<Single, u32>>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Single {
    Int(i64),
    Bool(bool),
    Text(String),
    Version(String),
}

impl Numbers {
    pub(crate) fn value<E>(&self, attribute: Option<&Attribute>, lists: Lists) -> Value<E> {
        let Some(attribute) = attribute else { return Value::Absent };
        let list = (lists == Lists::Compared).then(|| attribute.values.iter().find_map(list)).flatten();
        let singles = list.or_else(|| attribute.values.iter().find_map(single).map(|single| vec![single]));
        match singles {
            Some(singles) => Value::Known(self.numbers(singles).into()),
            None if lists == Lists::Compared => Value::Absent,
            None => Value::Incomparable,
        }
    }

    fn numbers(&self, singles: Vec<Single>) -> Vec<u32> {
        let mut known = self.0.borrow_mut();
        let mut numbers = Vec::with_capacity(singles.len());
        for single in singles {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            numbers.push(*known.entry(single).or_insert(next));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

fn single(value: &AttributeValue) -> Option<Single> {
    match value {
        AttributeValue::Int(value) => Some(Single::Int(*value)),
        AttributeValue::Bool(value) => Some(Single::Bool(*value)),
        AttributeValue::String(value) => Some(Single::Text(value.clone())),
        AttributeValue::Version(value) => Some(Single::Version(value.clone())),
        AttributeValue::Ints(_)
        | AttributeValue::Bools(_)
        | AttributeValue::Strings(_)
        | AttributeValue::Versions(_) => None,
    }
}

/// The values of a list that has any.
fn list(value: &AttributeValue) -> Option<Vec<Single>> {
    let list: Vec<Single> = match value {
        AttributeValue::Ints(values) => values.iter().copied().map(Single::Int).collect(),
        AttributeValue::Bools(values) => values.iter().copied().map(Single::Bool).collect(),
        AttributeValue::Strings(values) => values.iter().cloned().map(Single::Text).collect(),
        AttributeValue::Versions(values) => values.iter().cloned().map(Single::Version).collect(),
        _ => return None,
    };
    (!list.is_empty()).then_some(list)
}
