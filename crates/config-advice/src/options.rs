//! Options of a proposal: those given that a kubelet accepts together, and those that suit the machine.
//!
//! `full-pcpus-only` is kept and never added: with it pods of an odd number of CPUs are refused on every machine with two
//! threads a core, and nothing but their manifest can change that. It is left out where cores count as one thread, so that
//! it promises nothing, if the kubelet refuses running pods for it, and on a machine with one core, which the system needs.
//!
//! `strict-cpu-reservation` is for `topolet serve` alone: no kubelet starts again when pods hold all CPUs that are not
//! reserved (see `full_node.rs`).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use node_config::{KubeletConfiguration, WholeCoreCheck};
use topology_model::KubeletView;

use crate::DecidedBy;
use crate::full_node::{NotAgain, not_again};
use crate::hazard::{CLOSEST, STRICT, WHOLE_CORES};
use crate::hazards::has_gaps;
use crate::idle::has_effect;
use crate::start::starts;

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
    if config.topology_policy() == "none" {
        // Nothing of it is looked at.
        config.topology_manager_scope = None;
        return;
    }
    for (name, value) in given {
        if (name != CLOSEST || !has_gaps(view)) && has_effect(config, view, &name) {
            add_option(config, view, Options::Topology, &name, &value);
        }
    }
    let policy = config.topology_policy();
    if nodes > 2 && !has_gaps(view) && matches!(policy, "best-effort" | "restricted") {
        add_option(config, view, Options::Topology, CLOSEST, "true");
    }
}

/// Options of the CPU manager.
pub(crate) fn cpu_options(config: &mut KubeletConfiguration, view: &KubeletView, target: DecidedBy) {
    let table = view.cpus();
    let given = mem::take(&mut config.cpu_manager_policy_options);
    for (name, value) in given {
        // All of them are booleans, as Kubernetes writes them.
        let value = if is_meant_as_true(&value) { "true" } else { &value };
        // Where every core is one thread it promises nothing, and harms the restart of a full node nevertheless.
        let is_harmful =
            target == DecidedBy::Kubelet && config.rules.whole_core_check == WholeCoreCheck::Everyone;
        let only_harms =
            name == WHOLE_CORES && (table.cores().len() == 1 || (table.cpus_per_core() == 1 && is_harmful));
        if has_effect(config, view, &name) && !only_harms {
            add_option(config, view, Options::Cpu, &name, value);
        }
    }
    if config.cpu_policy() != "static" {
        return;
    }
    if table.caches().len() > table.nodes().len() {
        add_option(config, view, Options::Cpu, "prefer-align-cpus-by-uncorecache", "true");
    }
    match target {
        DecidedBy::Kubelet => {
            config.cpu_manager_policy_options.remove(STRICT);
        }
        DecidedBy::Topolet if !config.reserved_cpus().is_empty() => {
            add_option(config, view, Options::Cpu, STRICT, "true");
        }
        DecidedBy::Topolet => {}
    }
    if target == DecidedBy::Kubelet {
        leave_out_what_refuses_again(config, view);
    }
}

/// Leaves out an option for which the kubelet refuses running pods when it starts again on a full node, such as
/// `align-by-socket` under `restricted`, which puts containers on other NUMA nodes than their hint had.
fn leave_out_what_refuses_again(config: &mut KubeletConfiguration, view: &KubeletView) {
    let is_wide = |name: &&String| name.as_str() != WHOLE_CORES;
    let names: Vec<String> = config.cpu_manager_policy_options.keys().filter(is_wide).cloned().collect();
    let refuses = |config: &KubeletConfiguration| matches!(not_again(config, view), Some(NotAgain::Refused(reason)) if reason != "SMTAlignmentError");
    if names.is_empty() || !refuses(config) {
        return;
    }
    for name in names {
        let mut without = config.clone();
        without.cpu_manager_policy_options.remove(&name);
        if !refuses(&without) {
            *config = without;
            return;
        }
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
