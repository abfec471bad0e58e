//! Options of a proposal: those given that a kubelet accepts together, and those that suit the machine.
//!
//! `full-pcpus-only` is kept and never added: with it pods of an odd number of CPUs are refused on every machine with two
//! threads a core, and nothing but their manifest can change that.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use core::mem;

use node_config::KubeletConfiguration;
use topology_model::KubeletView;

use crate::hazard::{CLOSEST, has_gaps};
use crate::proposal::starts;

/// The most NUMA nodes that a kubelet accepts by default.
const USUAL_NODES: usize = 8;

/// Options of the Topology Manager: those given that are right, and those that suit this machine.
pub(crate) fn topology_options(config: &mut KubeletConfiguration, view: &KubeletView) {
    const MOST: &str = "max-allowable-numa-nodes";
    let nodes = view.nodes().len();
    let given = mem::take(&mut config.topology_manager_policy_options);
    if nodes > USUAL_NODES && config.topology_policy() != "none" {
        config.topology_manager_policy_options.insert(MOST.to_owned(), nodes.to_string());
    }
    for (name, value) in given {
        if name != CLOSEST || !has_gaps(view) {
            add_option(config, view, Options::Topology, &name, &value);
        }
    }
    let policy = config.topology_policy();
    if nodes > 2 && !has_gaps(view) && matches!(policy, "best-effort" | "restricted") {
        add_option(config, view, Options::Topology, CLOSEST, "true");
    }
}

/// Options of the CPU manager.
pub(crate) fn cpu_options(config: &mut KubeletConfiguration, view: &KubeletView) {
    let table = view.cpus();
    let given = mem::take(&mut config.cpu_manager_policy_options);
    for (name, value) in given {
        // All of them are booleans, as Kubernetes writes them.
        let value = if is_meant_as_true(&value) { "true" } else { &value };
        add_option(config, view, Options::Cpu, &name, value);
    }
    if config.cpu_policy() != "static" {
        return;
    }
    if table.caches().len() > table.nodes().len() {
        add_option(config, view, Options::Cpu, "prefer-align-cpus-by-uncorecache", "true");
    }
    if !config.reserved_cpus().is_empty() {
        add_option(config, view, Options::Cpu, "strict-cpu-reservation", "true");
    }
}

/// Whether a text that the kubelet does not read as a boolean means `true` elsewhere.
fn is_meant_as_true(value: &str) -> bool {
    ["yes", "on", "y"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// The manager whose options are meant.
#[derive(Clone, Copy)]
enum Options {
    Cpu,
    Topology,
}

/// Adds an option that is not set yet, if a kubelet accepts it beside those that are set.
fn add_option(
    config: &mut KubeletConfiguration,
    view: &KubeletView,
    whose: Options,
    name: &str,
    value: &str,
) {
    let mut with = config.clone();
    let options = match whose {
        Options::Cpu => &mut with.cpu_manager_policy_options,
        Options::Topology => &mut with.topology_manager_policy_options,
    };
    if options.contains_key(name) {
        return;
    }
    options.insert(name.to_owned(), value.to_owned());
    // Only its own manager is tried: options of the others come later.
    let alone = match whose {
        Options::Cpu => with.clone(),
        Options::Topology => KubeletConfiguration {
            cpu_manager_policy: None,
            cpu_manager_policy_options: BTreeMap::new(),
            ..with.clone()
        },
    };
    if starts(&alone, view) {
        *config = with;
    }
}
