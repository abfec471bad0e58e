//! Rules that a pod has chosen by annotations, where its node lets it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pod_spec::{ContainerName, Wishes};
use serde::Serialize;
use topology_admission::{Chosen, KubeletAgain, Rules};

use crate::facts::Facts;
use crate::json;
use crate::words::joined;

/// The rules by which a pod was decided on that has chosen some of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChosenRules {
    /// The policy's name.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::policy"))]
    pub policy: &'static str,
    /// Where it comes from.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::policy_source"))]
    pub policy_from: RuleSource,
    /// The scope's name.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::scope"))]
    pub scope: &'static str,
    /// Where it comes from.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::scope_source"))]
    pub scope_from: RuleSource,
    /// Containers that get exclusive CPUs though the pod is not Guaranteed, as many as their limit.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub exclusive_cpus: Vec<ContainerName>,
    /// What the node has for pods that choose nothing.
    #[serde(skip)]
    pub node: Rules,
}

/// Where a rule comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleSource {
    /// The pod's annotation of this name, without its prefix.
    Annotation(&'static str),
    /// The node's configuration.
    Node,
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation(name) => write!(f, "{}{name}", Wishes::PREFIX),
            Self::Node => f.write_str("node"),
        }
    }
}

impl ChosenRules {
    /// `None` if the pod has chosen nothing.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let chosen = facts.node.chosen(facts.pod).ok().filter(|chosen| *chosen != Chosen::default())?;
        let Rules { policy, scope } = facts.rules();
        let source =
            |name, is_chosen| if is_chosen { RuleSource::Annotation(name) } else { RuleSource::Node };
        Some(Self {
            policy: policy.name(),
            policy_from: source("policy", chosen.policy.is_some()),
            scope: scope.name(),
            scope_from: source("scope", chosen.scope.is_some()),
            exclusive_cpus: chosen.exclusive.into_iter().collect(),
            node: facts.node.rules(),
        })
    }
}

impl fmt::Display for ChosenRules {
    /// `policy restricted (topolet.dev/policy; the node has best-effort), scope container (node)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = |source: RuleSource, own: &str, node: &str| match source {
            RuleSource::Annotation(_) if own != node => alloc::format!("({source}; the node has {node})"),
            RuleSource::Annotation(_) | RuleSource::Node => alloc::format!("({source})"),
        };
        let policy = from(self.policy_from, self.policy, self.node.policy.name());
        let scope = from(self.scope_from, self.scope, self.node.scope.name());
        write!(f, "policy {} {policy}, scope {} {scope}", self.policy, self.scope)?;
        match self.exclusive_cpus.as_slice() {
            [] => Ok(()),
            containers => {
                write!(f, ", exclusive CPUs for {} ({}cpu)", joined(containers, " and "), Wishes::PREFIX)
            }
        }
    }
}

/// What a kubelet makes of the pod, as a clause.
pub(crate) fn kubelet_again(again: &KubeletAgain) -> String {
    match again {
        KubeletAgain::Refuses(reason) => alloc::format!(
            "a kubelet ignores the annotations, and one that starts from the node's files refuses the pod: {reason}"
        ),
        _ => String::from(
            "a kubelet ignores the annotations; one that starts from the node's files keeps the pod where it is",
        ),
    }
}
