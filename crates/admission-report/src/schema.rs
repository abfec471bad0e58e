//! Schemas of members that are text in JSON and have few values.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use node_config::Scope;
use pod_spec::{QosClass, Role};
use schemars::{Schema, SchemaGenerator, json_schema};
use topology_policy::KubeletPolicy;

use crate::alternative::Remedy;
use crate::chosen::RuleSource;

/// A text that is one of these.
#[must_use]
pub fn one_of<'n>(names: impl IntoIterator<Item = &'n str>) -> Schema {
    json_schema!({ "type": "string", "enum": names.into_iter().collect::<Vec<_>>() })
}

/// The name of a topology policy.
pub fn policy(_: &mut SchemaGenerator) -> Schema {
    one_of(KubeletPolicy::ALL.map(KubeletPolicy::name))
}

/// The name of a scope.
pub fn scope(_: &mut SchemaGenerator) -> Schema {
    one_of(Scope::ALL.map(Scope::name))
}

/// A pod's class.
pub fn qos_class(_: &mut SchemaGenerator) -> Schema {
    one_of(QosClass::ALL.map(QosClass::name))
}

/// Which change aligns a claim.
pub(crate) fn claim_remedy(_: &mut SchemaGenerator) -> Schema {
    one_of(crate::claim_remedy::ClaimRemedy::KINDS)
}

/// What came out for a pod.
pub(crate) fn verdict(_: &mut SchemaGenerator) -> Schema {
    one_of(["admitted", "withoutClaims", "unschedulable", "refused", "deferred", "undecided", "fate"])
}

/// What happens in place of a kubelet's answer, or with it.
pub(crate) fn fate(_: &mut SchemaGenerator) -> Schema {
    one_of(kubelet_fates::Fate::KINDS)
}

/// When a container runs.
pub(crate) fn role(_: &mut SchemaGenerator) -> Schema {
    one_of(Role::ALL.map(Role::name))
}

/// Where a rule comes from that the annotation of this name can choose.
fn source(annotation: &'static str) -> Schema {
    let names = [RuleSource::Node, RuleSource::Annotation(annotation)].map(|source| source.to_string());
    one_of(names.iter().map(String::as_str))
}

/// Where the policy comes from.
pub(crate) fn policy_source(_: &mut SchemaGenerator) -> Schema {
    source("policy")
}

/// Where the scope comes from.
pub(crate) fn scope_source(_: &mut SchemaGenerator) -> Schema {
    source("scope")
}

/// When a pod that moves is created again.
pub(crate) fn turn(_: &mut SchemaGenerator) -> Schema {
    one_of([crate::alternative::BEFORE, crate::alternative::AFTER])
}

/// What a change is made to.
pub(crate) fn remedy(_: &mut SchemaGenerator) -> Schema {
    one_of(Remedy::KINDS)
}

/// What is done with a pod in one step of moves.
pub(crate) fn move_step(_: &mut SchemaGenerator) -> Schema {
    one_of([crate::moves::DELETE, crate::moves::CREATE])
}
