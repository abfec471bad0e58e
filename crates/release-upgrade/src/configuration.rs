//! What another release makes of a configuration.

use std::collections::BTreeMap;

use kubelet_release::{PodSysctls, Release, Rules};
use node_config::{Gate, GateState, KubeletConfiguration, gate_differences};
use serde::Serialize;

use crate::responsible::{Mixtures, ResponsibleRule};
use crate::subject::Subject;

/// Something that the new release makes otherwise of the configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationChange {
    /// What becomes of it.
    #[serde(flatten)]
    pub effect: Effect,
    /// The rules that make the difference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ResponsibleRule>,
}

/// What becomes of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "effect")]
pub enum Effect {
    /// The new release does not start with it, and the old one does not say so.
    Refused {
        /// In its words.
        text: String,
    },
    /// The old release does not start with it, and the new one does not say so.
    NoLongerRefused {
        /// In the old one's words.
        text: String,
    },
    /// A field means something else.
    ReadOtherwise {
        /// Which.
        field: String,
        /// Whether the configuration has it; if not, another default holds.
        is_written: bool,
        /// By the old release.
        from: String,
        /// By the new one.
        to: String,
    },
}

impl ConfigurationChange {
    /// Whether an operator has to look at it: all but another default of a field that the configuration lacks.
    #[must_use]
    pub const fn matters(&self) -> bool {
        !matches!(self.effect, Effect::ReadOtherwise { is_written: false, .. })
    }

    pub(crate) fn all(subject: &Subject<'_>, from: Release, to: Release) -> Vec<Self> {
        let mut faults = Mixtures::new(from, to, |rules| subject.faults(rules));
        let (old, new) = (subject.faults(Rules::of(from)), subject.faults(Rules::of(to)));
        let refused = new.iter().filter(|text| !old.contains(text)).map(|text| Self {
            rules: faults.responsible(|faults| faults.contains(text)),
            effect: Effect::Refused { text: text.clone() },
        });
        let mut changes: Vec<Self> = refused.collect();
        changes.extend(old.iter().filter(|text| !new.contains(text)).map(|text| Self {
            rules: faults.responsible(|faults| !faults.contains(text)),
            effect: Effect::NoLongerRefused { text: text.clone() },
        }));
        let mut read = Mixtures::new(from, to, |rules| readings(subject, rules));
        let (old, new) = (readings(subject, Rules::of(from)), readings(subject, Rules::of(to)));
        for (field, meaning) in &new {
            let Some(before) = old.get(field).filter(|before| *before != meaning) else { continue };
            let (field, from, to) = (field.clone(), before.text.clone(), meaning.text.clone());
            let rules = read.responsible(|read| read.get(&field) == Some(meaning));
            let effect = Effect::ReadOtherwise { field, is_written: meaning.is_written, from, to };
            changes.push(Self { effect, rules });
        }
        changes.extend(gates(subject, from, to));
        changes
    }
}

/// What a field means.
#[derive(PartialEq)]
struct Meaning {
    text: String,
    is_written: bool,
}

/// What fields mean, by name.
fn readings(subject: &Subject<'_>, rules: Rules) -> BTreeMap<String, Meaning> {
    let config = (subject.config)(rules);
    let factor = Meaning {
        text: config.throttling_factor().map_or_else(|| "none".to_owned(), |factor| factor.to_string()),
        is_written: config.memory_throttling_factor.is_some(),
    };
    let sysctls = Meaning {
        text: match rules.pod_sysctls {
            PodSysctls::Unknown => "not known, ignored".to_owned(),
            PodSysctls::Gated => format!("{} sysctls for every pod", config.default_pod_sysctls.len()),
        },
        is_written: true,
    };
    let sysctls = (!newest(subject).default_pod_sysctls.is_empty()).then_some(sysctls);
    let sysctls = sysctls.map(|meaning| ("defaultPodSysctls".to_owned(), meaning));
    [("memoryThrottlingFactor".to_owned(), factor)].into_iter().chain(sysctls).collect()
}

/// The configuration by the release that knows most fields.
fn newest(subject: &Subject<'_>) -> KubeletConfiguration {
    let newest = Release::ALL.into_iter().last().unwrap_or_default();
    (subject.config)(Rules::of(newest))
}

/// What stands before the name of a gate as a field.
const GATES: &str = "featureGates.";

/// Gates that the configuration names, and those that the resource managers look at where they turn. What a kubelet
/// refuses says so itself.
fn gates(subject: &Subject<'_>, from: Release, to: Release) -> Vec<ConfigurationChange> {
    let rules = [Rules::of(from), Rules::of(to)];
    let named = newest(subject).feature_gates;
    let is_ours = |name: &str| Gate::ALL.iter().any(|gate| gate.name() == name);
    let mut mixtures = Mixtures::new(from, to, |rules| rules.gates);
    let new = rules[1].gates;
    let mut changes = Vec::new();
    for gate in gate_differences(rules[0].gates, new) {
        let is_on = |state: Option<GateState>| state.is_some_and(|state| state.is_on);
        let turns = is_ours(gate.name) && is_on(gate.from) != is_on(gate.to);
        let is_named = named.contains_key(gate.name);
        // Gone, and so refused: that is a change already.
        if (!turns && !is_named) || (is_named && gate.to.is_none()) {
            continue;
        }
        let effect = Effect::ReadOtherwise {
            field: format!("{GATES}{}", gate.name),
            is_written: is_named,
            from: gate.from.map_or_else(|| NOT_KNOWN.to_owned(), by_default),
            to: gate.to.map_or_else(|| NOT_KNOWN.to_owned(), by_default),
        };
        changes.push(ConfigurationChange { effect, rules: mixtures.responsible(|gates| *gates == new) });
    }
    changes
}

/// What stands for a gate that a release does not know.
const NOT_KNOWN: &str = "not known";

/// Where a gate stands that the configuration leaves alone: `beta, on by default`.
fn by_default(state: GateState) -> String {
    let text = state.to_string();
    // A locked gate has no default that a configuration could leave.
    if state.is_locked { text } else { format!("{text} by default") }
}

impl Effect {
    /// As a line, where the old release is `old`.
    pub(crate) fn line(&self, old: Release) -> String {
        match self {
            Self::Refused { text } => format!("refused: {text}"),
            Self::NoLongerRefused { text } => format!("no longer refused: {text}"),
            Self::ReadOtherwise { field, from, to, .. } if from == NOT_KNOWN => {
                format!("{field}: is {to}; {old} does not know it")
            }
            Self::ReadOtherwise { field, is_written: false, from, to } if !field.starts_with(GATES) => {
                format!("{field}: was {from} by default; is {to} by default")
            }
            Self::ReadOtherwise { field, from, to, .. } => format!("{field}: was {from}; is {to}"),
        }
    }
}
