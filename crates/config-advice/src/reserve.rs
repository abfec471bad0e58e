//! What a proposal reserves for the system: what is asked for where a kubelet accepts it, else the shares of `share.rs`.
//!
//! *Reserved CPUs* are whole cores, as many as were asked for by any field. *Reserved memory* adds up to what the node
//! keeps in all (`systemReserved`, `kubeReserved` and the hard eviction threshold), as the memory manager demands, on nodes
//! with room for it.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{CapacityFacts, KubeletConfiguration, Reservation, capacity};
use topology_model::KubeletView;

use crate::DecidedBy;
use crate::given_out::{reserved_by, taken_whole};
use crate::hazard::WHOLE_CORES;
use crate::hazards::excessive_reservations;
use crate::idle::idle_amounts;
use crate::profile::OtherCpus;
use crate::share::{cpus, nodes_to_reserve_memory_on, room, split, usual_cpus, usual_memory};
use crate::start::starts;

pub(crate) fn reserve_cpus(config: &mut KubeletConfiguration, view: &KubeletView, others: &OtherCpus) {
    list_cpus(config, view, others);
    // A list takes the place of amounts.
    for idle in idle_amounts(config) {
        let is_of_kubelet = idle.field == "kubeReserved";
        let of = if is_of_kubelet { &mut config.kube_reserved } else { &mut config.system_reserved };
        of.remove("cpu");
    }
}

fn list_cpus(config: &mut KubeletConfiguration, view: &KubeletView, others: &OtherCpus) {
    let online = view.cpus().all();
    let given: Option<CpuSet> = config.reserved_cpus().parse().ok();
    let listed = &given.clone().unwrap_or_default() & online;
    if listed.is_empty() {
        config.reserved_system_cpus = None;
        count_cpus(config, view);
        return;
    }
    // The kubelet takes a list or cgroups. Who lists CPUs wants these.
    for cgroup in [&mut config.system_reserved_cgroup, &mut config.kube_reserved_cgroup] {
        *cgroup = cgroup.take().filter(String::is_empty);
    }
    if let Some(enforced) = &mut config.enforce_node_allocatable {
        enforced.retain(|what| !what.starts_with("system-reserved") && !what.starts_with("kube-reserved"));
    }
    let (own, beside) = (&listed - &others.all, &others.reserved & online);
    let kept = &own | &beside;
    let is_right = given.as_ref() == Some(&listed)
        && !own.is_empty()
        && kept.len() < online.len()
        && (config.cpu_policy() != "static"
            || (is_whole(&own, &(&own | &others.all), view) && taken_whole(view, &kept).is_none()));
    if is_right && kept != listed {
        config.reserved_system_cpus = Some(kept.to_string());
    }
    if !is_right {
        // More than half is hardly what is meant.
        let is_sensible = (1..=online.len() / 2).contains(&own.len());
        let chosen = if is_sensible { cpus(view, own.len()) } else { usual_cpus(view) };
        let cpus = if chosen.is_disjoint(&others.all) { chosen } else { cpus_apart(view, &own, others) };
        config.reserved_system_cpus = Some((&cpus | &beside).to_string());
    }
}

/// As many CPUs in whole cores without those of other lists: those that are asked for first.
fn cpus_apart(view: &KubeletView, own: &CpuSet, others: &OtherCpus) -> CpuSet {
    let apart = |core: &&CpuSet| core.is_disjoint(&others.all);
    let cores: Vec<&CpuSet> = view.cpus().cores().map(|(_, core)| core).filter(apart).collect();
    let (asked, rest): (Vec<&CpuSet>, Vec<&CpuSet>) =
        cores.into_iter().partition(|core| !core.is_disjoint(own));
    let mut reserved = CpuSet::new();
    for core in asked.into_iter().chain(rest) {
        if reserved.len() >= own.len().max(1) {
            break;
        }
        reserved |= core;
    }
    if reserved.is_empty() { own.clone() } else { reserved }
}

/// Reserves CPUs where none are listed: the amounts that are given where they keep the kubelet's system on whole cores,
/// else a list; an amount where cgroups exclude a list.
fn count_cpus(config: &mut KubeletConfiguration, view: &KubeletView) {
    if config.cpu_policy() != "static" {
        leave_one_cpu(config, view);
        return;
    }
    let is_set = |cgroup: &Option<String>| cgroup.as_ref().is_some_and(|path| !path.is_empty());
    let has_cgroups = is_set(&config.system_reserved_cgroup) || is_set(&config.kube_reserved_cgroup);
    let online = view.cpus().all().len();
    let counted = |config: &KubeletConfiguration| {
        let without = KubeletConfiguration { cpu_manager_policy_options: BTreeMap::new(), ..config.clone() };
        reserved_by(config, view).or_else(|| reserved_by(&without, view))
    };
    let needs_cores = config.cpu_manager_policy_options.contains_key(WHOLE_CORES);
    let is_right = |reserved: &CpuSet| {
        let is_whole_left = view.cpus().cores().any(|(_, core)| core.is_disjoint(reserved));
        reserved.len() < online
            && (is_whole_left || !needs_cores)
            && taken_whole(view, reserved).is_none()
            && (has_cgroups || is_whole(reserved, reserved, view))
    };
    if counted(config).is_some_and(|reserved| is_right(&reserved)) {
        return;
    }
    let wanted = Some(counted_cpus(config)).filter(|count| (1..=online / 2).contains(count));
    let chosen = wanted.map_or_else(|| usual_cpus(view), |count| cpus(view, count));
    if !has_cgroups {
        config.reserved_system_cpus = Some(chosen.to_string());
        return;
    }
    let of_system = |config: &KubeletConfiguration, count: usize| {
        let mut config = config.clone();
        config.kube_reserved.remove("cpu");
        config.system_reserved.insert("cpu".to_owned(), count.to_string());
        config
    };
    // The kubelet chooses the CPUs itself then.
    let counts = chosen.len()..=online / 2;
    let right = counts.map(|count| of_system(config, count));
    let right = right.into_iter().find(|config| counted(config).is_some_and(|reserved| is_right(&reserved)));
    *config = right.unwrap_or_else(|| of_system(config, chosen.len()));
}

/// Reserves a quarter of the CPUs where amounts leave less than one to pods.
fn leave_one_cpu(config: &mut KubeletConfiguration, view: &KubeletView) {
    let online = i64::try_from(view.cpus().all().len()).unwrap_or(i64::MAX);
    if online > 1 && online.saturating_mul(1000) - milli_cpus(config) < 1000 {
        config.kube_reserved.remove("cpu");
        let quarter = Quantity::from_milli(online.saturating_mul(250), Format::DecimalSi);
        config.system_reserved.insert("cpu".to_owned(), quarter.to_string());
    }
}

/// Whether CPUs are whole cores with the `all` that no pod is given alone, or a part of the only core that there is.
fn is_whole(cpus: &CpuSet, all: &CpuSet, view: &KubeletView) -> bool {
    let mut cores = view.cpus().cores();
    cores.len() == 1 || cores.all(|(_, core)| core.is_disjoint(cpus) || core.is_subset(all))
}

/// CPUs that are reserved by amounts, added up and rounded up.
fn counted_cpus(config: &KubeletConfiguration) -> usize {
    usize::try_from(milli_cpus(config)).unwrap_or_default().div_ceil(1000)
}

/// The same in thousandths.
fn milli_cpus(config: &KubeletConfiguration) -> i64 {
    let amounts = [&config.kube_reserved, &config.system_reserved].into_iter().filter_map(|of| of.get("cpu"));
    let milli = amounts.filter_map(|text| text.parse::<Quantity>().ok()).map(|amount| amount.milli_value());
    milli.fold(0, |sum: i64, milli| sum.saturating_add(milli))
}

/// What is kept of memory in all; `None` if that is no whole number of bytes.
fn kept_memory(config: &KubeletConfiguration, view: &KubeletView) -> Option<i64> {
    let facts = CapacityFacts {
        cpus: view.cpus().num_cpus(),
        memory: view.memory_capacity(),
        hugepages: view.hugepages().iter().map(|pages| (pages.page_size_kib, pages.num_pages)).collect(),
        root_file_system: None,
    };
    let capacity = capacity(&facts, config);
    let kept = Reservation::check(config, view.cpus().all()).ok()?.amounts(&capacity);
    kept.get("memory").map_or(Some(0), Quantity::as_int64)
}

pub(crate) fn reserve_memory(config: &mut KubeletConfiguration, view: &KubeletView) {
    if config.memory_policy() != "Static" {
        config.reserved_memory.clear();
        return;
    }
    let is_right = config.validate().is_empty() && {
        let alone = KubeletConfiguration { cpu_manager_policy: None, ..config.clone() };
        let alone = KubeletConfiguration {
            cpu_manager_policy_options: BTreeMap::new(),
            topology_manager_policy: None,
            topology_manager_policy_options: BTreeMap::new(),
            ..alone
        };
        starts(&alone, view) && excessive_reservations(config, view, DecidedBy::Kubelet).is_empty()
    };
    if is_right {
        return;
    }
    let nodes = nodes_to_reserve_memory_on(view);
    if nodes.is_empty() {
        config.memory_manager_policy = Some("None".to_owned());
        config.reserved_memory.clear();
        return;
    }
    let half = room(view).values().fold(0, |sum: i64, room| sum.saturating_add(*room)) / 2;
    // An eviction threshold alone keeps nothing for the system.
    let asked =
        [&config.kube_reserved, &config.system_reserved].iter().any(|kept| kept.contains_key("memory"));
    let total = kept_memory(config, view).filter(|bytes| asked && (1..=half).contains(bytes));
    let total = total.unwrap_or_else(|| {
        config.kube_reserved.remove("memory");
        config.system_reserved.remove("memory");
        if kept_memory(config, view).is_none_or(|bytes| bytes > half) {
            config.eviction_hard = None;
        }
        let evicted = kept_memory(config, view).unwrap_or_default();
        let kept = (usual_memory(view) - evicted).max(0);
        if kept > 0 {
            // Beside what else is reserved for the kubelet, if anything is.
            let is_for_kubelet = !config.kube_reserved.is_empty();
            let of = if is_for_kubelet { &mut config.kube_reserved } else { &mut config.system_reserved };
            of.insert("memory".to_owned(), Quantity::from_units(kept, Format::BinarySi).to_string());
        }
        evicted + kept
    });
    config.reserved_memory = split(total, &nodes, view);
}
