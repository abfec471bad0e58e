//! Memory of NUMA nodes: other than the machine has, or that its files do not tell: `0=64Gi,1=64Gi`.
//!
//! What is given for a node replaces its total, huge pages included, in the hardware and in what cAdvisor would report
//! of it. The machine's total is then the sum over its nodes; where the memory of some node stays unknown it is at
//! least what it was. A kernel without NUMA support tells cAdvisor of no node's memory, so there the total alone is
//! given.

use std::collections::BTreeMap;

use admission_report::Notice;
use anyhow::{Context, bail, ensure};
use k8s_quantity::Amount;
use node_config::KubeletConfiguration;
use node_output::ranges;
use topology_discovery::ProblemKind;
use topology_model::{HugePages, Machine, NodeId};

use crate::amount_text::whole_units;
use crate::machine::LoadedMachine;

/// Sets the memory of nodes as `text` says.
pub(crate) fn replace(loaded: &mut LoadedMachine, text: &str) -> anyhow::Result<()> {
    let wanted = parse(text)?;
    let ids = loaded.node_ids();
    if let Some(node) = wanted.keys().find(|id| !ids.contains(id)) {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        bail!("--memory names NUMA node {node}; the machine has {}", ids.join(", "));
    }
    let has_nodes = loaded.has_numa_nodes();
    for node in loaded.info.topology.iter_mut().flatten().filter(|_| has_nodes) {
        node.memory = wanted.get(&node.id).copied().unwrap_or(node.memory);
    }
    let total = match loaded.machine.take() {
        Some(machine) => {
            let (machine, total) = of_hardware(machine, &wanted)?;
            loaded.machine = Some(machine);
            total
        }
        None => sum(loaded.info.topology.iter().flatten().map(|node| node.memory)),
    };
    loaded.info.memory_capacity = total;
    loaded.drop_problems_of_memory(&wanted);
    loaded.given.push(format!("--memory {text}"));
    Ok(())
}

/// The hardware with other memory, and how much it has in all.
fn of_hardware(machine: Machine, wanted: &BTreeMap<i64, u64>) -> anyhow::Result<(Machine, u64)> {
    let mut parts = machine.into_parts();
    for node in &mut parts.nodes {
        node.memory = wanted.get(&node.id.0).copied().or(node.memory);
    }
    let of_nodes = sum(parts.nodes.iter().filter_map(|node| node.memory));
    let is_whole = parts.nodes.iter().all(|node| node.memory.is_some());
    let total = if is_whole { of_nodes } else { parts.memory.unwrap_or(0).max(of_nodes) };
    parts.memory = Some(total);
    Ok((Machine::new(parts)?, total))
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

/// Whether the huge pages of each node fit in its memory, where that is known.
pub(crate) fn fits(machine: &LoadedMachine) -> anyhow::Result<()> {
    let unknown = machine.nodes_of_unknown_memory();
    let nodes = machine.info.topology.iter().flatten().filter(|_| machine.has_numa_nodes());
    for node in nodes.filter(|node| !unknown.contains(&node.id)) {
        let pages = used_by(node.hugepages.as_deref().unwrap_or_default());
        if pages > node.memory {
            let (pages, memory) = (Amount::Bytes(pages), bytes_text(node.memory));
            bail!(
                "--memory: NUMA node {} gets {memory}, and its huge pages need {pages}: give it more, or fewer pages with --hugepages",
                node.id
            );
        }
    }
    Ok(())
}

/// Bytes as an amount, with the unit where the amount alone has none.
fn bytes_text(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        bytes if bytes < 1024 => format!("{bytes} bytes"),
        bytes => Amount::Bytes(bytes).to_string(),
    }
}

/// Bytes of huge pages.
pub(crate) fn used_by(pages: &[HugePages]) -> u64 {
    sum(pages.iter().map(|pages| pages.page_size_kib.saturating_mul(1024).saturating_mul(pages.num_pages)))
}

/// Refuses to decide on a machine whose amount of memory is not known: the kubelet compares its reservations and the
/// pods with that.
pub fn must_be_known(machine: &LoadedMachine) -> anyhow::Result<()> {
    if machine.info.memory_capacity == 0 {
        bail!(
            "nothing tells how much memory {} has: {}. {}",
            machine.name,
            machine.lacking_memory(),
            advice(&machine.node_ids())
        );
    }
    Ok(())
}

/// The same for the memory of each node, where the memory manager decides by that. Nodes that are unknown beside others
/// that are known are taken as being without memory, which is what is returned to be shown.
pub fn must_be_known_by(
    machine: &LoadedMachine,
    config: &KubeletConfiguration,
) -> anyhow::Result<Option<Notice>> {
    must_be_known(machine)?;
    let unknown = machine.nodes_of_unknown_memory();
    if unknown.is_empty() || !machine.has_numa_nodes() {
        return Ok(None);
    }
    let is_whole = unknown.len() == machine.node_ids().len();
    let text = format!(
        "nothing tells how much memory NUMA {} of {} has",
        ranges(unknown.iter().copied()),
        machine.name
    );
    let advice = advice(&unknown);
    let warning = |text| Some(Notice::warning(text));
    Ok(match (config.memory_policy(), config.topology_policy()) {
        ("Static", _) if is_whole => bail!("{text}, and memoryManagerPolicy Static decides by it. {advice}"),
        ("Static", _) => warning(format!("{text}: it is taken as having none. {advice}")),
        (_, "none") => None,
        // The built-in configuration pins memory where some is known.
        _ if is_whole => warning(format!("{text}, and memory is not pinned. {advice}")),
        _ => None,
    })
}

fn advice(ids: &[i64]) -> String {
    let each: Vec<String> = ids.iter().take(2).map(|id| format!("{id}=64Gi")).collect();
    let more = if ids.len() > 2 { " and so on" } else { "" };
    format!(
        "Give it with --memory, such as --memory {}{more} (in a scenario: the machine's field memory)",
        each.join(",")
    )
}

impl LoadedMachine {
    /// The nodes as they are shown: those of the hardware where it is known.
    pub(crate) fn node_ids(&self) -> Vec<i64> {
        if let Some(machine) = &self.machine {
            return machine.nodes().iter().map(|node| node.id.0).collect();
        }
        let mut ids: Vec<i64> = self.info.topology.iter().flatten().map(|node| node.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Nodes of which nothing tells the memory. What cAdvisor prints has 0 there, as it has for a node without any;
    /// but no machine has none at all.
    pub fn nodes_of_unknown_memory(&self) -> Vec<i64> {
        match &self.machine {
            Some(machine) => {
                let unknown = machine.nodes().iter().filter(|node| node.memory.is_none());
                unknown.map(|node| node.id.0).collect()
            }
            None if self.info.memory_capacity == 0
                && self.info.topology.iter().flatten().all(|node| node.memory == 0) =>
            {
                self.node_ids()
            }
            None => Vec::new(),
        }
    }

    /// Which sources of it are missing.
    fn lacking_memory(&self) -> String {
        if self.text.is_some() {
            return "neither the output of `numactl -H` nor a meminfo is in it".to_owned();
        }
        if self.machine.is_none() {
            return "its memory_capacity is missing or 0".to_owned();
        }
        "it has neither a usable proc/meminfo nor a usable meminfo of a NUMA node".to_owned()
    }

    /// What is given is no longer missing.
    fn drop_problems_of_memory(&mut self, wanted: &BTreeMap<i64, u64>) {
        let is_whole = self.nodes_of_unknown_memory().is_empty();
        let of_node = |path: &str| {
            let id = path.strip_prefix("sys/devices/system/node/node")?.strip_suffix("/meminfo")?;
            id.parse().ok()
        };
        self.problems.retain(|problem| match of_node(&problem.path) {
            Some(id) => !wanted.contains_key(&id),
            None => !(is_whole && problem.path == "proc/meminfo" && is_of_memory(&problem.lack)),
        });
    }

    /// The hardware with the huge pages of what cAdvisor reports.
    pub(crate) fn set_hugepages_of_hardware(&mut self) -> anyhow::Result<()> {
        let has_nodes = self.has_numa_nodes();
        let Some(machine) = self.machine.take() else { return Ok(()) };
        let mut parts = machine.into_parts();
        for node in self.info.topology.iter().flatten().filter(|_| has_nodes) {
            let own = parts.nodes.iter_mut().find(|own| own.id == NodeId(node.id));
            if let (Some(own), Some(pages)) = (own, &node.hugepages) {
                own.hugepages.clone_from(pages);
            }
        }
        parts.hugepages = self.info.hugepages.clone().unwrap_or_default();
        self.machine = Some(Machine::new(parts)?);
        Ok(())
    }
}

/// Whether a lack of `/proc/meminfo` is one of the total, and not of a part that is something else.
fn is_of_memory(lack: &ProblemKind) -> bool {
    match lack {
        ProblemKind::Lacks { what, .. } => what.contains("MemTotal"),
        lack => lack.is_missing(),
    }
}

/// Bytes by node id.
fn parse(text: &str) -> anyhow::Result<BTreeMap<i64, u64>> {
    ensure!(
        !text.trim_end().ends_with(','),
        "--memory: {text:?} ends in a comma: expected NODE=SIZE after it, as in 0=64Gi"
    );
    let mut wanted = BTreeMap::new();
    for part in text.split(',') {
        let (node, size) =
            parse_part(part).with_context(|| format!("--memory: {part:?} is not NODE=SIZE, as in 0=64Gi"))?;
        let bytes = whole_units(size).with_context(|| format!("--memory {part}"))?;
        if wanted.insert(node, bytes).is_some() {
            bail!("--memory: {part:?} gives NUMA node {node} memory a second time");
        }
    }
    Ok(wanted)
}

fn parse_part(part: &str) -> anyhow::Result<(i64, &str)> {
    let (node, size) = part.trim().split_once('=').context("there is no equals sign")?;
    Ok((node.parse().ok().context("the node is no number")?, size))
}

#[cfg(test)]
mod tests {
    use admission_report::Severity;
    use topology_model::MachineInfo;

    use super::*;

    /// A machine of hwloc's notation.
    fn machine(text: &str) -> LoadedMachine {
        let info = text.parse().unwrap();
        LoadedMachine::new("test".to_owned(), info, Some(text.parse().unwrap()), Vec::new())
    }

    fn memory_of(info: &MachineInfo) -> (u64, Vec<u64>) {
        let nodes = info.topology.iter().flatten().map(|node| node.memory >> 30).collect();
        (info.memory_capacity >> 30, nodes)
    }

    const SERVER: &str = "pack:2 [numa(memory=4GiB hugepages-1Gi=2)] core:2 pu:1";

    #[test]
    fn memory_of_a_node_replaces_what_it_has_and_the_total_follows() {
        for (text, total, nodes) in
            [("1=64Gi", 68, vec![4, 64]), ("0=8Gi,1=16Gi", 24, vec![8, 16]), ("0=2Gi", 6, vec![2, 4])]
        {
            let mut server = machine(SERVER);
            replace(&mut server, text).unwrap();
            fits(&server).unwrap();
            assert_eq!(memory_of(&server.info), (total, nodes.clone()), "{text}");
            let hardware = server.machine.unwrap();
            assert_eq!(hardware.memory().map(|bytes| bytes >> 30), Some(total), "{text}");
            let of_nodes = hardware.nodes().iter().map(|node| node.memory.unwrap() >> 30);
            assert_eq!(of_nodes.collect::<Vec<_>>(), nodes, "{text}");
        }
    }

    #[test]
    fn memory_that_is_wrong_is_refused() {
        for (text, error) in [
            ("7=1Gi", "--memory names NUMA node 7; the machine has 0, 1"),
            ("0", "--memory: \"0\" is not NODE=SIZE, as in 0=64Gi"),
            ("0=lots", "--memory 0=lots"),
            ("0=-1", "--memory 0=-1"),
            ("", "--memory: \"\" is not NODE=SIZE, as in 0=64Gi"),
            ("0=1Gi,", "--memory: \"0=1Gi,\" ends in a comma: expected NODE=SIZE after it, as in 0=64Gi"),
            ("0=1Gi,0=2Gi", "--memory: \"0=2Gi\" gives NUMA node 0 memory a second time"),
        ] {
            assert_eq!(replace(&mut machine(SERVER), text).unwrap_err().to_string(), error);
        }
        for (text, memory) in [("0=1Gi", "1Gi"), ("0=0", "0 bytes"), ("0=1", "1 byte")] {
            let mut server = machine(SERVER);
            replace(&mut server, text).unwrap();
            assert_eq!(
                fits(&server).unwrap_err().to_string(),
                format!(
                    "--memory: NUMA node 0 gets {memory}, and its huge pages need 2Gi: give it more, or fewer pages with --hugepages"
                )
            );
        }
    }

    #[test]
    fn memory_that_nobody_knows_is_asked_for_and_not_taken_as_none() {
        let mut server = machine(SERVER);
        let mut parts = server.machine.take().unwrap().into_parts();
        for node in &mut parts.nodes {
            node.memory = None;
        }
        parts.memory = None;
        server.machine = Some(Machine::new(parts).unwrap());
        server.info.memory_capacity = 0;
        for node in server.info.topology.iter_mut().flatten() {
            node.memory = 0;
        }
        let error = must_be_known(&server).unwrap_err().to_string();
        assert!(error.contains("nothing tells how much memory test has"), "{error}");
        assert!(error.contains("--memory 0=64Gi,1=64Gi"), "{error}");
        replace(&mut server, "0=8Gi").unwrap();
        must_be_known(&server).unwrap();
        assert_eq!((server.nodes_of_unknown_memory(), memory_of(&server.info)), (vec![1], (8, vec![8, 0])));
        let config = KubeletConfiguration {
            memory_manager_policy: Some("Static".to_owned()),
            ..KubeletConfiguration::default()
        };
        let Notice { severity, text } = must_be_known_by(&server, &config).unwrap().unwrap();
        assert_eq!(severity, Severity::Warning);
        assert!(text.contains("NUMA 1 of test") && text.contains("--memory 1=64Gi"), "{text}");
        replace(&mut server, "1=8Gi").unwrap();
        assert_eq!(must_be_known_by(&server, &config).unwrap(), None);
    }
}
