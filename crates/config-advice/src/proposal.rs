//! A configuration that pins on this machine and that a kubelet starts and works with: what is right in the given one
//! is kept, what is wrong or missing is filled in.
//!
//! Policies that are not given are chosen by trial: `restricted` with Static memory where both are safe and admit
//! ordinary pods, else without Static memory, else without a Topology Manager policy. Policies that are given are
//! changed only where a kubelet cannot work with them (see [`Hazard`]).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use node_config::{
    Eviction, FeatureGates, Gate, KubeletConfiguration, Reservation, Scope, TopologyPolicyName,
};
use topology_admission::{Compat, Node};
use topology_model::KubeletView;

use crate::DecidedBy;
use crate::amount::too_small;
use crate::full_node::full_node;
use crate::hazard::{CPU_OPTIONS, Hazard, TOPOLOGY_OPTIONS};
use crate::hazards::{loses_cpus, untried_hazards};
use crate::idle::has_effect;
use crate::note::Note;
use crate::options::{cpu_options, topology_options};
use crate::ordinary_pod::memory_of_pod;
use crate::pinned::pinned;
use crate::profile::OtherCpus;
use crate::reserve::{reserve_cpus, reserve_memory};
use crate::spelling::spelled_as;
use crate::start::starts;
use crate::trial::{admits_nothing, refused};

/// The proposal for `config` on the machine of `view`; always one that a kubelet starts with, if there is any.
pub fn propose(config: &KubeletConfiguration, view: &KubeletView, target: DecidedBy) -> KubeletConfiguration {
    propose_beside(config, view, target, &OtherCpus::default())
}

/// The same where CPUs are in other lists and stay there.
pub fn propose_beside(
    config: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> KubeletConfiguration {
    spelled_as(config, completed(config, view, target, others))
}

fn completed(
    config: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> KubeletConfiguration {
    let kept = readable(config, view, target);
    if let Some(proposal) = best(&kept, view, target, others) {
        return proposal;
    }
    // The fields contradict each other: only the choice of policies is kept then.
    let anew = KubeletConfiguration {
        rules: kept.rules,
        feature_gates: kept.feature_gates,
        topology_manager_policy: kept.topology_manager_policy,
        topology_manager_scope: kept.topology_manager_scope,
        max_pods: kept.max_pods,
        pods_per_core: kept.pods_per_core,
        reserved_system_cpus: Some(others.reserved.to_string()),
        ..KubeletConfiguration::default()
    };
    let rules = anew.rules;
    best(&anew, view, target, others).unwrap_or_else(|| KubeletConfiguration { rules, ..pinned(view) })
}

/// Policies of the Topology Manager and of the memory manager, tried in this order where they are not given.
const POLICIES: [(&str, &str); 4] =
    [("restricted", "Static"), ("restricted", "None"), ("none", "Static"), ("none", "None")];

/// The completion of `kept` that pins most among those that start and work: one that keeps the given policies rather
/// than another, then the one that refuses the fewest ordinary pods.
fn best(
    kept: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> Option<KubeletConfiguration> {
    let given_policy = kept.topology_manager_policy.as_deref();
    let given_memory =
        kept.memory_manager_policy.as_deref().filter(|name| matches!(*name, "Static" | "None"));
    let mut candidates: Vec<(bool, KubeletConfiguration)> = Vec::new();
    for (policy, memory) in POLICIES {
        let policy = if policy == "none" { policy } else { given_policy.unwrap_or(policy) };
        // Memory alone, away from the CPUs, is pinned only if the configuration asks for it.
        if policy == "none" && memory == "Static" && given_memory != Some("Static") {
            continue;
        }
        let with = KubeletConfiguration {
            topology_manager_policy: Some(policy.to_owned()),
            memory_manager_policy: Some(memory.to_owned()),
            ..kept.clone()
        };
        let is_otherwise = given_policy.is_some_and(|given| given != policy)
            || given_memory.is_some_and(|given| given != memory);
        candidates.push((is_otherwise, pinning(with, view, target, others)));
    }
    // A policy that would align devices alone is for those who ask for it.
    let aligns = |candidate: &KubeletConfiguration| {
        given_policy.is_some()
            || candidate.topology_policy() == "none"
            || candidate.cpu_policy() == "static"
            || candidate.memory_policy() == "Static"
    };
    candidates.retain(|(_, candidate)| {
        aligns(candidate) && starts(candidate, view) && untried_hazards(candidate, view, target).is_empty()
    });
    // Only what admits nothing at all is worse than what is not as given.
    let rank = |is_otherwise: bool, candidate: &KubeletConfiguration| {
        let refused: usize = refused(candidate, view).values().map(Vec::len).sum();
        (refused > 0 && admits_nothing(candidate, view).is_some(), is_otherwise, refused)
    };
    let mut best: Option<((bool, bool, usize), KubeletConfiguration)> = None;
    for (is_otherwise, candidate) in candidates {
        let rank = rank(is_otherwise, &candidate);
        if best.as_ref().is_none_or(|(least, _)| rank < *least) {
            best = Some((rank, candidate));
        }
        // Nothing later is better.
        if rank == (false, false, 0) {
            break;
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Which of the names is meant: the same, or the only one that begins alike where letters alone count, in either case.
/// An empty name stays: it is the default.
fn meant(given: &str, names: &[&str]) -> Option<String> {
    if given.is_empty() || names.contains(&given) {
        return Some(given.to_owned());
    }
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let own = letters(given);
    let is_like = |name: &&&str| {
        let name = letters(name);
        !own.is_empty() && (name.starts_with(&own) || own.starts_with(&name))
    };
    let mut alike = names.iter().filter(is_like);
    alike.next().filter(|_| alike.next().is_none()).map(|name| (*name).to_owned())
}

/// Why the proposal pins less than `restricted` with Static memory, where the configuration says nothing against it.
pub fn held_back(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> Vec<Note> {
    let or = |given: &Option<String>, most: &str| given.clone().or_else(|| Some(most.to_owned()));
    let kept = readable(config, view, target);
    let most = KubeletConfiguration {
        topology_manager_policy: or(&kept.topology_manager_policy, "restricted"),
        memory_manager_policy: or(&kept.memory_manager_policy, "Static"),
        ..kept
    };
    let most = pinning(most, view, target, &OtherCpus::default());
    let is_other = |field: &str| match field {
        "memoryManagerPolicy" => {
            config.memory_manager_policy.is_none() && most.memory_policy() != proposal.memory_policy()
        }
        "topologyManagerPolicy" => {
            config.topology_manager_policy.is_none() && most.topology_policy() != proposal.topology_policy()
        }
        _ => false,
    };
    let hazards = untried_hazards(&most, view, target);
    if hazards.is_empty() && is_other("memoryManagerPolicy") {
        let refused = refused(&most, view).into_iter();
        let memory = memory_of_pod(view);
        let note = |(reason, cpus)| Note::MemoryNotProposed { reason, cpus, memory: memory.clone() };
        return refused.map(note).collect();
    }
    let value = |field| if field == "memoryManagerPolicy" { "Static" } else { most.topology_policy() };
    let note = |hazard: Hazard| {
        let field = hazard.field();
        Note::NotProposed { field, value: value(field).to_string(), hazard }
    };
    hazards.into_iter().filter(|hazard| is_other(hazard.field())).map(note).collect()
}

/// Why options that are set are not in the proposal.
pub fn left_out(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> Vec<Note> {
    let is_on = |value: &String| node_config::parse_bool(value) != Some(false);
    let of_proposal = &why_not(proposal, view, target);
    let of = |field: &'static str| {
        let options = |config: &KubeletConfiguration| match field {
            CPU_OPTIONS => config.cpu_manager_policy_options.clone(),
            _ => config.topology_manager_policy_options.clone(),
        };
        let proposed = options(proposal);
        let on = options(config)
            .into_iter()
            .filter(move |(name, value)| is_on(value) && !proposed.contains_key(name));
        on.filter_map(move |(name, value)| {
            // That it has no effect is a fault of the configuration, and reported as such.
            if !has_effect(config, view, &name) {
                return None;
            }
            let mut with = proposal.clone();
            let all = match field {
                CPU_OPTIONS => &mut with.cpu_manager_policy_options,
                _ => &mut with.topology_manager_policy_options,
            };
            all.insert(name.clone(), value);
            if !has_effect(&with, view, &name) {
                let why = "it has no effect beside what is proposed".to_owned();
                return Some(Note::OptionLeftOut { field, option: name, why });
            }
            let why = why_not(&with, view, target).filter(|why| of_proposal.as_ref() != Some(why))?;
            let why = format!("with it, {why}");
            Some(Note::OptionLeftOut { field, option: name, why })
        })
    };
    of(CPU_OPTIONS).chain(of(TOPOLOGY_OPTIONS)).collect()
}

/// What is wrong with a configuration, in a sentence.
fn why_not(config: &KubeletConfiguration, view: &KubeletView, target: DecidedBy) -> Option<String> {
    if let Some(fault) = config.validate().first() {
        return Some(format!("the kubelet does not start: {fault}"));
    }
    if let Err(error) = Node::start_as(view, config, Compat::KUBELET) {
        return Some(format!("the kubelet does not start: {error}"));
    }
    let hazard = untried_hazards(config, view, target).into_iter().next();
    let of_kubelet = || (target == DecidedBy::Kubelet).then(|| full_node(config, view)).flatten();
    hazard.or_else(of_kubelet).map(|hazard| hazard.to_string())
}

/// The configuration without what cannot be read or is out of range, and without a gate that does harm whatever else is set.
fn readable(config: &KubeletConfiguration, view: &KubeletView, target: DecidedBy) -> KubeletConfiguration {
    let mut kept = config.clone();
    kept.max_pods = config.max_pods.filter(|pods| *pods >= 0);
    kept.pods_per_core = config.pods_per_core.filter(|pods| *pods >= 0);
    let empty = |text: Option<&String>| text.is_none_or(String::is_empty);
    if empty(config.cgroup_root.as_ref()) {
        kept.system_cgroups = None;
    }
    let table = kept.rules.gates;
    kept.feature_gates.retain(|gate, on| FeatureGates::check(table, &[(gate.clone(), *on)].into()).is_ok());
    if target == DecidedBy::Kubelet && loses_cpus(config) {
        kept.feature_gates.remove(Gate::PodLevelResourceManagers.name());
    }
    if let Some(eviction) = &mut kept.eviction_hard {
        eviction.retain(|signal, value| Eviction::parse(&[(signal.clone(), value.clone())].into()).is_ok());
    }
    let alone = |of: fn(&mut KubeletConfiguration) -> &mut BTreeMap<String, String>| {
        move |name: &String, value: &mut String| {
            let mut single = KubeletConfiguration::default();
            of(&mut single).insert(name.clone(), value.clone());
            Reservation::check(&single, view.cpus().all()).is_ok()
        }
    };
    for amounts in [&mut kept.kube_reserved, &mut kept.system_reserved] {
        for small in too_small(amounts) {
            amounts.insert(small.resource, small.meant);
        }
    }
    kept.kube_reserved.retain(alone(|config| &mut config.kube_reserved));
    kept.system_reserved.retain(alone(|config| &mut config.system_reserved));
    let (policies, scopes) =
        (TopologyPolicyName::ALL.map(TopologyPolicyName::name), Scope::ALL.map(Scope::name));
    kept.topology_manager_policy =
        config.topology_manager_policy.as_deref().and_then(|given| meant(given, &policies));
    kept.topology_manager_scope =
        config.topology_manager_scope.as_deref().and_then(|given| meant(given, &scopes));
    // The kubelet's own check decides what is kept of enforcement, and of fields that need a gate.
    let bare = KubeletConfiguration {
        rules: config.rules,
        feature_gates: kept.feature_gates.clone(),
        ..KubeletConfiguration::default()
    };
    let sysctls =
        KubeletConfiguration { default_pod_sysctls: config.default_pod_sysctls.clone(), ..bare.clone() };
    if !sysctls.validate().is_empty() {
        kept.default_pod_sysctls.clear();
    }
    let throttling =
        KubeletConfiguration { memory_throttling_factor: config.memory_throttling_factor, ..bare.clone() };
    if !throttling.validate().is_empty() {
        kept.memory_throttling_factor = None;
    }
    let enforcement = KubeletConfiguration {
        enforce_node_allocatable: config.enforce_node_allocatable.clone(),
        system_reserved_cgroup: config.system_reserved_cgroup.clone(),
        kube_reserved_cgroup: config.kube_reserved_cgroup.clone(),
        cgroups_per_qos: config.cgroups_per_qos,
        ..bare
    };
    if !enforcement.validate().is_empty() {
        kept.enforce_node_allocatable = None;
        kept.cgroups_per_qos = None;
    }
    kept
}

/// The configuration with everything else that pins.
fn pinning(
    mut config: KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
    others: &OtherCpus,
) -> KubeletConfiguration {
    let is_static = config.cpu_policy() == "static";
    // Of a single CPU nothing can be given to a pod alone.
    if !is_static && config.cpu_manager_policy.as_deref() != Some("none") && view.cpus().all().len() > 1 {
        config.cpu_manager_policy = Some("static".to_owned());
    }
    if config.cpu_policy() != "static" {
        config.cpu_manager_reconcile_period = None;
    }
    reserve_cpus(&mut config, view, others);
    reserve_memory(&mut config, view);
    topology_options(&mut config, view);
    cpu_options(&mut config, view, target);
    config
}
