//! A machine as it is shown: the hardware if it is known, otherwise what cAdvisor reports.

use cpuset::CpuSet;
use k8s_quantity::Amount;
use machine_picture::{MachineSummary, MemoryShare, Reserved};
use node_output::{MachineView, ranges};
use topology_discovery::fold;
use topology_model::{CpuTable, KubeletView, Machine, MachineInfo, MachineNode, NodeId};

use crate::machine::LoadedMachine;
use crate::node::LoadedNode;
use crate::sources::RulesSource;

impl LoadedMachine {
    /// The machine as it is shown: the hardware if it is known, otherwise what cAdvisor reports.
    pub fn view(&self) -> MachineView {
        let loaded = self;
        let cpus = CpuTable::new(&loaded.info);
        let summary = match (&loaded.machine, &cpus) {
            (Some(machine), _) => MachineSummary::of_hardware(machine),
            (None, Ok(cpus)) => {
                let unknown: Vec<_> = loaded.nodes_of_unknown_memory().into_iter().map(NodeId).collect();
                MachineSummary::of_machine_info(&loaded.info, cpus, &unknown)
            }
            (None, Err(_)) => MachineSummary::default(),
        };
        let mut kubelet_differs = match (&loaded.machine, &cpus) {
            (Some(machine), Ok(cpus)) => differences(machine, &loaded.info, cpus),
            _ => Vec::new(),
        };
        if let Err(error) = KubeletView::new(&loaded.info) {
            kubelet_differs.push(format!("the kubelet would not start here: {error}"));
        }
        let mut problems = fold(&loaded.problems);
        problems.extend(loaded.text_notices().into_iter().map(|notice| notice.text));
        MachineView {
            machine: loaded.name.clone(),
            summary,
            reserved: None,
            kubelet_differs,
            problems,
            given: loaded.given.clone(),
            containers: None,
        }
    }
}

impl LoadedMachine {
    /// What a configuration keeps from pods here: the given one, else the node's own; `None` if there is neither.
    ///
    /// # Errors
    /// A kubelet could not start with it.
    pub fn reserved(&self, rules: &RulesSource) -> anyhow::Result<Option<Reserved>> {
        let own = self.packed.as_ref().is_some_and(|packed| packed.config.is_some());
        if rules.config.is_none() && !own {
            return Ok(None);
        }
        Ok(Some(LoadedNode::without_devices(self, rules)?.reserved()))
    }
}

impl LoadedNode {
    /// What its configuration keeps from pods.
    pub fn reserved(&self) -> Reserved {
        let node = &self.node;
        let memory = node.memory().map(|memory| {
            let shares = memory.reserved().map(|(index, resource, bytes)| MemoryShare {
                resource: resource.clone(),
                bytes,
                nodes: node.nodes().iter().filter(|(at, _)| *at == index).map(|(_, id)| id).collect(),
            });
            shares.collect()
        });
        Reserved {
            configuration: self.line.configuration.clone(),
            cpus: node.cpus().map(|cpus| cpus.reserved().clone()),
            memory,
        }
    }
}

/// `1 core`, `2 cores`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Where the kubelet, through cAdvisor, sees another machine than there is.
fn differences(machine: &Machine, info: &MachineInfo, cpus: &CpuTable) -> Vec<String> {
    let seen: Vec<&MachineNode> = info.topology.iter().flatten().collect();
    let mut lines = Vec::new();
    let counts = [
        ("CPU", machine.online().len(), cpus.num_cpus()),
        ("core", machine.cores().len(), cpus.num_cores()),
        ("package", machine.packages().len(), cpus.num_sockets()),
        ("NUMA node", machine.nodes().len(), seen.len()),
    ];
    for (what, there, seen) in counts.into_iter().filter(|(_, there, seen)| there != seen) {
        lines.push(format!("the machine has {}, and the kubelet counts {seen}", counted(there, what)));
    }
    let mut ids: Vec<i64> = seen.iter().map(|node| node.id).collect();
    ids.sort_unstable();
    let own = machine.nodes().iter().map(|node| node.id.0);
    if !ids.iter().copied().eq(own.clone()) {
        let (own, ids) = (ranges(own), ranges(ids));
        lines.push(format!("the NUMA nodes of the machine are {own}, and those of the kubelet {ids}"));
    }
    let pairs = || seen.iter().filter_map(|seen| Some((*seen, machine.node(NodeId(seen.id))?)));
    for (seen, there) in pairs() {
        let counted = cpus.cpus_in_node(NodeId(seen.id)).cloned().unwrap_or_default();
        if counted != there.cpus {
            let (own, counted) = (cpu_list(&there.cpus), cpu_list(&counted));
            lines.push(format!("NUMA {} has {own}, and the kubelet counts {counted}", seen.id));
        }
    }
    for (seen, there) in pairs() {
        if let Some(bytes) = there.memory.filter(|bytes| *bytes != seen.memory) {
            let (bytes, seen_bytes) = apart(bytes, seen.memory);
            let id = seen.id;
            lines.push(format!("NUMA {id} has {bytes} of memory, and the kubelet sees {seen_bytes}"));
        }
    }
    if let Some(bytes) = machine.memory().filter(|bytes| *bytes != info.memory_capacity) {
        let (there, seen) = apart(bytes, info.memory_capacity);
        lines.push(format!("the machine has {there} of memory, and the kubelet sees {seen}"));
    }
    lines
}

fn cpu_list(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "no CPUs".to_owned() } else { format!("CPUs {cpus}") }
}

/// Two amounts of bytes that differ, so that it is seen.
fn apart(one: u64, other: u64) -> (String, String) {
    let (short, others) = (Amount::Bytes(one).to_string(), Amount::Bytes(other).to_string());
    if short == others { (format!("{one} bytes"), format!("{other} bytes")) } else { (short, others) }
}
