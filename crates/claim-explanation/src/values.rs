//! The values of an attribute that a constraint matches or keeps distinct: how many devices of each request have each value.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dra_model::{Attribute, AttributeValue, Constraint};
use serde::Serialize;

use crate::examined::{Examined, ExaminedWay};
use crate::names::listed;
use crate::objects::Asked;

/// The values of the attribute of a constraint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Values {
    /// What the pod calls the claim.
    pub claim: String,
    /// Place of the constraint in the claim.
    pub constraint: usize,
    /// The attribute.
    pub attribute: String,
    /// `match`: one value for all devices. `distinct`: no value twice.
    pub kind: &'static str,
    /// The requests, and alternatives, that the constraint is about.
    pub requests: Vec<String>,
    /// Each value, in order; devices without the attribute come last.
    pub rows: Vec<ValueRow>,
}

/// One value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValueRow {
    /// The value; absent: devices without the attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// How many devices are left for each of the requests.
    pub left: Vec<usize>,
    /// Selected devices that other claims hold, each with its holder: `2 by default/training`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
}

/// A value in its order: numbers before texts, and no value last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Known(AttributeValue),
    Absent,
}

impl Values {
    /// The values of each constraint of each claim.
    pub(crate) fn of_all(asked: &Asked<'_>, examined: &Examined<'_>) -> Vec<Self> {
        let claims = asked.question.claims.iter().enumerate();
        let constraints = claims.flat_map(|(claim, object)| {
            let constraints = object.spec.constraints.iter().enumerate();
            constraints.map(move |(at, constraint)| (claim, at, constraint))
        });
        constraints
            .filter_map(|(claim, at, constraint)| Self::of(asked, examined, (claim, at), constraint))
            .collect()
    }

    fn of(
        asked: &Asked<'_>,
        examined: &Examined<'_>,
        (claim, place): (usize, usize),
        constraint: &Constraint,
    ) -> Option<Self> {
        let (attribute, kind) = attribute(constraint)?;
        let ways: Vec<&ExaminedWay<'_>> =
            examined.ways.iter().filter(|way| way.way.claim == claim && way.is_under(constraint)).collect();
        let mut rows: Vec<(Key, Row)> = Vec::new();
        for (at, way) in ways.iter().enumerate() {
            let candidates: Vec<usize> = way.candidates().collect();
            for device in way.selected() {
                let row = row(&mut rows, key(examined, device, attribute), ways.len());
                if candidates.binary_search(&device).is_ok() {
                    row.left[at] += 1;
                } else if !row.held.iter().any(|(held, _)| *held == device) {
                    row.held.push((device, listed(examined.holders(device))));
                }
            }
        }
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(Self {
            claim: asked.name(claim),
            constraint: place,
            attribute: attribute.to_string(),
            kind,
            requests: ways.iter().map(|way| way.way.name.to_string()).collect(),
            rows: rows.into_iter().map(|(key, row)| row.shown(key)).collect(),
        })
    }
}

/// What is counted of one value.
struct Row {
    left: Vec<usize>,
    /// Devices that are not left, with the claims that hold them; empty: none does.
    held: Vec<(usize, String)>,
}

impl Row {
    fn shown(self, key: Key) -> ValueRow {
        let mut by_holder: Vec<(String, usize)> = Vec::new();
        for (_, holder) in self.held.into_iter().filter(|(_, holder)| !holder.is_empty()) {
            match by_holder.iter_mut().find(|(own, _)| *own == holder) {
                Some((_, count)) => *count += 1,
                None => by_holder.push((holder, 1)),
            }
        }
        let held = by_holder.into_iter().map(|(holder, count)| format!("{count} by {holder}"));
        let value = match key {
            Key::Known(value) => Some(text(&value)),
            Key::Absent => None,
        };
        ValueRow { value, left: self.left, held: held.collect() }
    }
}

fn row(rows: &mut Vec<(Key, Row)>, key: Key, requests: usize) -> &mut Row {
    let at = rows.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
        rows.push((key, Row { left: alloc::vec![0; requests], held: Vec::new() }));
        rows.len() - 1
    });
    &mut rows[at].1
}

/// The attribute that a constraint is about, and whether it has to match.
pub(crate) fn attribute(constraint: &Constraint) -> Option<(&str, &'static str)> {
    let matched = constraint.match_attribute.as_deref().map(|name| (name, "match"));
    matched.or_else(|| constraint.distinct_attribute.as_deref().map(|name| (name, "distinct")))
}

fn key(examined: &Examined<'_>, device: usize, attribute: &str) -> Key {
    let (slice, object) = examined.devices[device];
    let value = object.attribute(&slice.driver, attribute).and_then(Attribute::value);
    value.map_or(Key::Absent, |value| Key::Known(value.clone()))
}

/// A value as people write it: `0`, `pci0000:3a`, `[0, 1]`.
pub(crate) fn text(value: &AttributeValue) -> String {
    fn list<T: ToString>(values: &[T]) -> String {
        format!("[{}]", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }
    match value {
        AttributeValue::Int(value) => value.to_string(),
        AttributeValue::Bool(value) => value.to_string(),
        AttributeValue::String(value) | AttributeValue::Version(value) => value.clone(),
        AttributeValue::Ints(values) => list(values),
        AttributeValue::Bools(values) => list(values),
        AttributeValue::Strings(values) | AttributeValue::Versions(values) => list(values),
    }
}
