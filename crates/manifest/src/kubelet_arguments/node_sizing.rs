//! `/etc/node-sizing.env` and `/etc/node-sizing-enabled.env` of OpenShift: what a node reserves for the system.
//!
//! Up to 4.21 the unit of the kubelet makes `--system-reserved` of the variables; later a drop-in has the same amounts
//! (`kubelet-auto-sizing.yaml` in `templates/common` of openshift/machine-config-operator).

use super::words::{Placed, Variable, Word};

/// Variables with amounts, by the names of their resources.
const AMOUNTS: [(&str, &str); 3] = [
    ("SYSTEM_RESERVED_CPU", "cpu"),
    ("SYSTEM_RESERVED_MEMORY", "memory"),
    ("SYSTEM_RESERVED_ES", "ephemeral-storage"),
];
/// Whether the node works the amounts out by its size.
const ENABLED: &str = "NODE_SIZING_ENABLED";

/// What variables of these files make.
#[derive(Default)]
pub(super) struct NodeSizing {
    /// `--system-reserved`.
    pub(super) flag: Option<Placed>,
    /// What of it is not known.
    pub(super) missing: Option<String>,
}

pub(super) fn of(variables: &[Variable]) -> NodeSizing {
    let value = |name: &str| {
        let (_, at, letters) = variables.iter().find(|(own, ..)| own == name)?;
        let text: String = letters.iter().map(|(_, letter)| *letter).collect();
        (!text.is_empty()).then_some((*at, letters, text))
    };
    let found: Vec<_> =
        AMOUNTS.iter().filter_map(|(name, resource)| Some((*resource, value(name)?))).collect();
    let Some((_, (at, letters, _))) = found.first() else { return NodeSizing::default() };
    if value(ENABLED).is_some_and(|(.., text)| text == "true") {
        let text =
            format!("{ENABLED} is true: the node reserves by its size, and the amounts here have no effect");
        return NodeSizing { flag: None, missing: Some(text) };
    }
    let amounts: Vec<String> =
        found.iter().map(|(resource, (.., text))| format!("{resource}={text}")).collect();
    let word = Word::of((*letters).clone()).with_text(&format!("--system-reserved={}", amounts.join(",")));
    NodeSizing { flag: Some((*at, word)), missing: None }
}
