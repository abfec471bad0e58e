//! The faults of a kubelet configuration on a machine, each with its remedy.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::CpuSet;
use node_config::KubeletConfiguration;
use serde_json::Value;
use topology_admission::{Compat, Node};
use topology_model::KubeletView;

use crate::Target;
use crate::cause::{Cause, Doubt};
use crate::changes::copy;
use crate::hazard::hazards;
use crate::remedy::{group, remedy};

/// A field that is wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// By its name in a `KubeletConfiguration`.
    pub field: &'static str,
    /// Why.
    pub cause: Cause,
    /// The fields that together make the finding go away, with their values in the proposal; `null` for a field that is
    /// to be left out. Empty if the proposal has the finding too.
    pub remedy: BTreeMap<String, Value>,
}

/// The faults of `config`, the worst first, at most one for each field. Remedies are taken from `proposal`, which
/// [`propose`](crate::propose) makes.
pub fn check(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: Target,
) -> Vec<Finding> {
    let finding = |cause: Cause| {
        let field = cause.field();
        let is_there = |config: &KubeletConfiguration| {
            faults(config, proposal, view, target).iter().any(|cause| cause.field() == field)
        };
        let remedy = remedy(config, proposal, field, is_there);
        Finding { field, cause, remedy }
    };
    faults(config, proposal, view, target).into_iter().map(finding).collect()
}

fn faults(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: Target,
) -> Vec<Cause> {
    // The kubelet stops at the first fault; the next one shows when that is repaired.
    let mut found: Vec<Cause> = Vec::new();
    let mut repaired = config.clone();
    loop {
        let mut next = start_faults(&repaired, view);
        next.retain(|cause| found.iter().all(|known| known.field() != cause.field()));
        if next.is_empty() {
            break;
        }
        for cause in next {
            for field in group(cause.field()) {
                copy(&mut repaired, proposal, field);
            }
            found.push(cause);
        }
    }
    let harmful = hazards(config, view, target).into_iter().map(Cause::Hazard);
    let doubtful = doubts(config, view).into_iter().map(Cause::Doubt);
    for cause in harmful.chain(doubtful) {
        if found.iter().all(|known| known.field() != cause.field()) {
            found.push(cause);
        }
    }
    found
}

/// The faults that the kubelet reports before it gives up starting.
fn start_faults(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Cause> {
    let invalid: Vec<_> = config.validate().iter().map(|wrong| Cause::Invalid(wrong.clone())).collect();
    if !invalid.is_empty() {
        return invalid;
    }
    match Node::start(view, config, None, Compat::KUBELET) {
        Ok(_) => Vec::new(),
        Err(error) => error.faults().iter().cloned().map(Cause::Start).collect(),
    }
}

fn doubts(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let reserved: CpuSet = config.reserved_cpus().parse().unwrap_or_default();
    let split = view
        .cpus()
        .cores()
        .filter(|(_, core)| !core.is_disjoint(&reserved) && !core.is_subset(&reserved))
        .map(|(_, core)| core.clone());
    let cores: Vec<CpuSet> = split.collect();
    if !cores.is_empty() && config.cpu_policy() == "static" {
        doubts.push(Doubt::SplitCores { reserved, cores });
    }
    let policy = config.topology_policy();
    if policy != "none" && config.cpu_policy() != "static" && config.memory_policy() != "Static" {
        doubts.push(Doubt::AlignsDevicesAlone { policy: policy.into() });
    }
    if config.memory_policy() != "Static" && !config.reserved_memory.is_empty() {
        doubts.push(Doubt::ReservedMemoryUnused);
    }
    doubts
}
