//! The faults of a kubelet configuration on a machine, each with its remedy.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::CpuSet;
use node_config::KubeletConfiguration;
use serde_json::Value;
use topology_admission::{Compat, Node};
use topology_model::KubeletView;

use crate::DecidedBy;
use crate::amount::too_small;
use crate::cause::{Cause, Doubt};
use crate::changes::copy;
use crate::hazards::{hazards, hazards_in};
use crate::idle::idle;
use crate::profile::OtherCpus;
use crate::remedy::{group, remedy};
use crate::start::starts;

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
/// [`propose`](crate::propose) makes. What a kubelet does at fault when it restarts on a full node is none where the proposal keeps the
/// option that was asked for: it is a note of the proposal.
pub fn check(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> Vec<Finding> {
    check_beside(config, proposal, view, target, &OtherCpus::default())
}

/// The same where CPUs are in other lists, and a core of which they are the rest is reserved whole.
pub fn check_beside(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> Vec<Finding> {
    let faults = |config: &KubeletConfiguration| faults(config, proposal, view, target, others);
    let unavoidable = faults(proposal);
    let is_avoidable = |cause: &Cause| !unavoidable.iter().any(|own| own.is_like(cause));
    let finding = |cause: Cause| {
        let field = cause.field();
        let is_there = |config: &KubeletConfiguration| {
            let own = faults_in(field, config, proposal, view, target, others);
            own.iter().any(|own| own.field() == field && is_avoidable(own))
        };
        let is_known = !is_avoidable(&cause);
        let remedy = if is_known { BTreeMap::new() } else { remedy(config, proposal, field, is_there) };
        Finding { field, cause, remedy }
    };
    let is_note = |cause: &Cause| cause.is_of_restart() && !is_avoidable(cause);
    faults(config).into_iter().filter(|cause| !is_note(cause)).map(finding).collect()
}

pub(crate) fn faults(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> Vec<Cause> {
    let (mut found, _) = all_start_faults(config, proposal, view);
    let harmful = hazards(config, view, target).into_iter().map(Cause::Hazard);
    let doubtful = doubts(config, proposal, view, others).into_iter().map(Cause::Doubt);
    for cause in harmful.chain(doubtful) {
        if found.iter().all(|known| known.field() != cause.field()) {
            found.push(cause);
        }
    }
    found
}

/// The same without pods tried where that cannot tell about this field; of a field there may be several faults.
fn faults_in(
    field: &str,
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> Vec<Cause> {
    let (mut found, _) = all_start_faults(config, proposal, view);
    found.extend(doubts(config, proposal, view, others).into_iter().map(Cause::Doubt));
    found.extend(hazards_in(field, config, view, target).into_iter().map(Cause::Hazard));
    found
}

/// The configuration with all that keeps a kubelet from starting as the proposal has it, and the fields that were at fault; `None`: a
/// kubelet does not start with that either.
#[must_use]
pub fn startable(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
) -> Option<(KubeletConfiguration, Vec<&'static str>)> {
    let (found, repaired) = all_start_faults(config, proposal, view);
    starts(&repaired, view).then(|| (repaired, found.iter().map(Cause::field).collect()))
}

/// The kubelet stops at the first fault; the next one shows when that is repaired as the proposal has it. The other value has all
/// repaired.
fn all_start_faults(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
) -> (Vec<Cause>, KubeletConfiguration) {
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
    (found, repaired)
}

/// The faults that the kubelet reports before it gives up starting.
fn start_faults(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Cause> {
    let invalid: Vec<_> = config.validate().iter().map(|wrong| Cause::Invalid(wrong.clone())).collect();
    if !invalid.is_empty() {
        return invalid;
    }
    match Node::start_as(view, config, Compat::KUBELET) {
        Ok(_) => Vec::new(),
        Err(error) => error.faults().iter().cloned().map(Cause::Start).collect(),
    }
}

fn doubts(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    others: &OtherCpus,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let reserved: CpuSet = config.reserved_cpus().parse().unwrap_or_default();
    let own = &reserved - &others.all;
    let split = view
        .cpus()
        .cores()
        .filter(|(_, core)| !core.is_disjoint(&own) && !core.is_subset(&(&reserved | &others.all)))
        .map(|(_, core)| core.clone());
    let cores: Vec<CpuSet> = split.collect();
    // The only core that there is has to be split.
    if !cores.is_empty() && config.cpu_policy() == "static" && view.cpus().cores().len() > 1 {
        doubts.push(Doubt::SplitCores { reserved: own, cores });
    }
    let policy = config.topology_policy();
    let no_memory = config.memory_policy() != "Static";
    if policy != "none" && config.cpu_policy() != "static" && no_memory {
        doubts.push(Doubt::AlignsDevicesAlone { policy: policy.into() });
    }
    if config.memory_policy() == "None" && !config.reserved_memory.is_empty() {
        doubts.push(Doubt::ReservedMemoryUnused);
    }
    let has_pages = view.node_memory().iter().flat_map(|node| &node.hugepages).any(|size| size.num_pages > 0);
    if no_memory && policy != "none" && has_pages && proposal.memory_policy() == "Static" {
        doubts.push(Doubt::HugePagesUnbound);
    }
    let mut idle = idle(config, view);
    while let Some(field) = idle.first().map(|first| first.field) {
        let (of_field, others) = idle.into_iter().partition(|own| own.field == field);
        doubts.push(Doubt::Idle(of_field));
        idle = others;
    }
    let nothing = BTreeMap::new();
    for (field, amounts) in [
        ("systemReserved", &config.system_reserved),
        ("kubeReserved", &config.kube_reserved),
        ("evictionHard", config.eviction_hard.as_ref().unwrap_or(&nothing)),
    ] {
        let amounts = too_small(amounts);
        if !amounts.is_empty() {
            doubts.push(Doubt::SmallAmounts { field, amounts });
        }
    }
    doubts
}
