//! The devices of a request: what its class has on the node, what is taken away, and what is left.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use claim_allocator::{AllocateError, SelectorFault, Standing};
use dra_model::{DeviceTaint, Selector};
use serde::Serialize;

use crate::examined::{Examined, ExaminedWay};
use crate::names::{folded, listed};
use crate::objects::Asked;

/// The devices of a request, or of one of its alternatives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Candidates {
    /// What the pod calls the claim.
    pub claim: String,
    /// The request, or `request/alternative`.
    pub request: String,
    /// Its class.
    pub class: String,
    /// How many devices it wants: of a request for all, those of the node that match.
    pub wanted: usize,
    /// So many devices of the node are of the class.
    pub of_class: usize,
    /// What takes devices away, in the order in which it is looked at; each device counts once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<Taken>,
    /// So many are left.
    pub left: usize,
    /// Their names, with runs folded.
    pub left_devices: String,
}

/// Devices that a request cannot have, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// In a word: `selector`, `otherNode`, `unsupported`, `taint`, `tooSmall`, `inUse`, `sharedOut`, `counters` or `error`.
    pub kind: &'static str,
    /// In words, as what follows the number of devices: `in use by default/training`.
    pub why: String,
    /// How many.
    pub count: usize,
    /// Their names, with runs folded.
    pub devices: String,
}

/// Why a device is taken away; the order is that of the rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Why {
    stage: u8,
    kind: &'static str,
    text: String,
}

impl Candidates {
    pub(crate) fn of(asked: &Asked<'_>, examined: &Examined<'_>, way: &ExaminedWay<'_>) -> Self {
        let mut rows: Vec<(Why, Vec<usize>)> = Vec::new();
        for (device, standing) in way.standings.iter().enumerate() {
            let Some(why) = why(examined, way, device, standing) else { continue };
            match rows.iter_mut().find(|(own, _)| *own == why) {
                Some((_, devices)) => devices.push(device),
                None => rows.push((why, Vec::from([device]))),
            }
        }
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        let taken = rows.into_iter().map(|(why, devices)| Taken {
            kind: why.kind,
            why: why.text,
            count: devices.len(),
            devices: names(examined, devices.into_iter()),
        });
        Self {
            claim: asked.name(way.way.claim),
            request: way.way.name.to_string(),
            class: way.way.class.metadata.name.clone(),
            wanted: way.wanted(),
            of_class: way.standings.iter().filter(|standing| **standing != Standing::OtherClass).count(),
            taken: taken.collect(),
            left: way.candidates().count(),
            left_devices: names(examined, way.candidates()),
        }
    }
}

/// Names of devices, with runs folded.
pub(crate) fn names(examined: &Examined<'_>, devices: impl Iterator<Item = usize>) -> String {
    folded(devices.map(|device| examined.devices[device].1.name.as_str()))
}

fn why(examined: &Examined<'_>, way: &ExaminedWay<'_>, device: usize, standing: &Standing) -> Option<Why> {
    let holders = || listed(examined.holders(device));
    let (stage, kind, text) = match standing {
        Standing::OtherClass | Standing::Candidate => return None,
        Standing::Unselected(number) => (0, "selector", selector(&way.way.devices.selectors, *number)),
        Standing::Failed(error) => (1, "error", format!("not decided: {}", without_device(error))),
        Standing::OtherNode => (2, "otherNode", "for other nodes".into()),
        Standing::Unsupported => (3, "unsupported", "of a feature that is off".into()),
        Standing::Tainted(taint) => (4, "taint", format!("tainted {}", shown(taint))),
        Standing::TooSmall => (5, "tooSmall", capacity(way)),
        Standing::InUse => (6, "inUse", format!("in use by {}", holders())),
        Standing::SharedOut => (7, "sharedOut", format!("shared out to {}", holders())),
        Standing::CountersUsed => {
            (8, "counters", "without enough counters, which devices of other claims draw".into())
        }
    };
    Some(Why { stage, kind, text })
}

/// `not selected by EXPRESSION`, with its number where there are several.
fn selector(selectors: &[Selector], number: usize) -> String {
    let expression = selectors.get(number).and_then(|selector| selector.expression.as_deref());
    let expression = expression.unwrap_or_default();
    if selectors.len() < 2 {
        return format!("not selected by {expression}");
    }
    format!("not selected by selector #{number}, {expression}")
}

/// `key=value:effect`, as kubectl writes taints.
fn shown(taint: &DeviceTaint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect.as_str())
}

/// An error in the same words for all devices, without the advice behind it.
pub(crate) fn without_device(error: &AllocateError) -> String {
    let (whose, selector, fault) = match error {
        AllocateError::ClassSelector { class, selector, fault } => {
            (format!("class {class}"), selector, fault)
        }
        AllocateError::ClaimSelector { claim, selector, fault } => {
            (format!("claim {claim}"), selector, fault)
        }
        _ => return error.to_string(),
    };
    let SelectorFault::Runtime { error, .. } = fault else { return error.to_string() };
    let error = error.split(". consider using").next().unwrap_or_default();
    format!("selector #{selector} of {whose} fails: {error}")
}

/// What of a capacity is asked for that the device does not have, or excludes.
fn capacity(way: &ExaminedWay<'_>) -> String {
    let wanted = way.way.devices.capacity.iter().flatten();
    let wanted: Vec<String> = wanted.map(|(name, amount)| format!("{name} {amount}")).collect();
    if wanted.is_empty() {
        return "too small".into();
    }
    format!("too small for {}, or their policy excludes this amount", listed(&wanted))
}
