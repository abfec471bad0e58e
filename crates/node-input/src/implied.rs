//! A configuration under which state files can have been written, for folders without one.
//!
//! Judged by this configuration, a folder has no fault that another configuration would not show: the policies are those
//! of the files, and the reservation is one that explains them. CPUs that are neither shared nor held may be reserved for
//! the system alone, and reserved memory is what the books say.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::memory::{MemoryFormat, MemoryState};
use node_config::{Gate, KubeletConfiguration, ReservedMemory, Rules};
use node_state::{Contents, StateFolder};

/// What the files say that says something of their configuration.
pub(crate) struct Written {
    cpus: Option<CpuState>,
    memory: Option<MemoryState>,
    /// Whether pods had entries as a whole.
    has_pod_entries: bool,
}

impl Written {
    pub(crate) fn of(folder: &StateFolder) -> Self {
        let Contents { cpu, memory, .. } = folder.contents_of_any();
        let (cpu, memory) = (cpu.and_then(Result::ok), memory.and_then(Result::ok));
        let is_gated = |format: CpuFormat| format == CpuFormat::V3;
        let has_pod_entries =
            cpu.as_ref().is_some_and(|file| is_gated(file.format) || !file.pod_entries.is_empty())
                || memory.as_ref().is_some_and(|file| {
                    file.format == MemoryFormat::V2 || !file.state.pod_entries.is_empty()
                });
        Self {
            cpus: cpu.and_then(|file| file.state().ok()),
            memory: memory.map(|file| file.state),
            has_pod_entries,
        }
    }

    /// The CPUs that are shared or held.
    pub(crate) fn cpus(&self) -> CpuSet {
        let Some(state) = &self.cpus else { return CpuSet::new() };
        let held = state.containers.values().flat_map(BTreeMap::values).chain(state.pods.values());
        held.fold(state.shared.clone(), |all, own| &all | own)
    }

    /// The books of memory.
    pub(crate) const fn memory(&self) -> Option<&MemoryState> {
        self.memory.as_ref()
    }

    /// A configuration under which these files can have been written on a machine with these CPUs.
    pub(crate) fn configuration(&self, all: &CpuSet, rules: Rules) -> KubeletConfiguration {
        let mut config = KubeletConfiguration { rules, ..KubeletConfiguration::default() };
        if self.has_pod_entries {
            config.feature_gates.insert(Gate::PodLevelResourceManagers.name().to_owned(), true);
        }
        if let Some(state) = self.cpus.as_ref().filter(|state| state.policy == "static") {
            config.cpu_manager_policy = Some(state.policy.clone());
            let missing = if state.shared.is_empty() { CpuSet::new() } else { all - &self.cpus() };
            let is_strict = !missing.is_empty();
            let shared = &state.shared & all;
            let any = shared.first().or_else(|| all.first());
            let reserved = if is_strict { missing } else { any.into_iter().collect() };
            config.reserved_system_cpus = Some(reserved.to_string());
            if is_strict {
                let option = ("strict-cpu-reservation".to_owned(), "true".to_owned());
                config.cpu_manager_policy_options.extend([option]);
            }
        }
        if let Some(state) = self.memory.as_ref().filter(|state| state.policy == "Static") {
            reserve_memory(&mut config, state);
        }
        config
    }
}

/// Reserves the memory that the books have as reserved.
fn reserve_memory(config: &mut KubeletConfiguration, state: &MemoryState) {
    let amount =
        |bytes: u64| Quantity::from_units(i64::try_from(bytes).unwrap_or(i64::MAX), Format::BinarySi);
    let mut all = 0_u64;
    for (node, books) in state.nodes.iter().flatten() {
        let tables = books.iter().flat_map(|books| books.memory.iter().flatten());
        let reserved = tables.filter_map(|(resource, table)| {
            let bytes = table.as_ref()?.system_reserved;
            (resource.as_str() == "memory" && bytes > 0).then_some(bytes)
        });
        let bytes: u64 = reserved.sum();
        let Ok(numa_node) = i32::try_from(node.0) else { continue };
        if bytes > 0 {
            all = all.saturating_add(bytes);
            let limits = BTreeMap::from([("memory".to_owned(), amount(bytes))]);
            config.reserved_memory.push(ReservedMemory { numa_node, limits });
        }
    }
    if all > 0 {
        config.memory_manager_policy = Some(state.policy.clone());
        config.system_reserved.insert("memory".to_owned(), amount(all).to_string());
        config.eviction_hard = Some(BTreeMap::from([("memory.available".to_owned(), "0%".to_owned())]));
    }
}
