//! What a kubelet's configuration keeps from pods: CPUs and memory of NUMA nodes.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use cpuset::{CpuId, CpuSet};
use serde::{Serialize, Serializer};
use terminal_text::{Glyphs, Page};
use topology_model::NodeId;

use crate::shares::MemoryShare;
use crate::summary::NodeSummary;

/// What a kubelet's configuration keeps from pods on one machine.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reserved {
    /// What the configuration is called.
    pub configuration: String,
    /// CPUs that no container gets for itself; `None`: CPU manager policy `none`, by which no container gets any.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "cpu_list")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpus: Option<CpuSet>,
    /// Each of one NUMA node; `None`: memory manager policy `None`, which keeps nothing of a single node.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "memory_list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<NodeMemory<'static>>"))]
    pub memory: Option<Vec<MemoryShare>>,
}

/// In place of an amount of nothing.
const NONE: &str = "none";

impl Reserved {
    /// Whether no container gets the CPU for itself though there are CPUs that some get.
    pub fn has_cpu(&self, cpu: CpuId) -> bool {
        self.cpus.as_ref().is_some_and(|cpus| cpus.contains(cpu))
    }

    /// What is kept of a node's memory and huge pages.
    pub(crate) fn on_node(&self, node: NodeId) -> impl Iterator<Item = &MemoryShare> {
        self.memory.iter().flatten().filter(move |share| share.nodes.iter().any(|id| id == node))
    }

    /// The amounts on a node in words: `1Gi 2×1Gi`; empty if there are none.
    pub(crate) fn amounts(&self, node: NodeId, glyphs: Glyphs) -> String {
        self.on_node(node).map(|share| share.amount(glyphs)).collect::<Vec<_>>().join(" ")
    }

    /// A line for each NUMA node of which something is reserved, below a line that names the configuration. Each line
    /// ends in a newline.
    pub fn table(&self, nodes: &[NodeSummary], page: Page) -> String {
        let mut text = page.wrapped(&format!("reserved by configuration {}:", self.configuration), 2);
        let mut rows = vec![["NUMA", "CPUS", "MEMORY"].map(str::to_owned).to_vec()];
        for node in nodes {
            let cpus = self.cpus.as_ref().map_or_else(CpuSet::new, |cpus| cpus & &node.cpus);
            let memory = self.amounts(node.id, page.glyphs);
            if cpus.is_empty() && memory.is_empty() {
                continue;
            }
            let or_none = |text: String| if text.is_empty() { NONE.to_owned() } else { text };
            rows.push(vec![node.id.to_string(), or_none(cpus.regular().to_string()), or_none(memory)]);
        }
        let rest = if rows.len() > 1 { "of other NUMA nodes nothing" } else { "nothing of any NUMA node" };
        let listed = rows.len() - 1;
        if listed > 0 {
            text.push_str(&page.columns(rows, "  "));
        }
        if listed < nodes.len() {
            text.push_str(&page.wrapped(&format!("  {rest}"), 4));
        }
        for line in self.policies() {
            text.push_str(&page.wrapped(&format!("  {line}"), 4));
        }
        text
    }

    /// Why nothing is reserved, where a policy is the reason.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &'static str> {
        let cpus = self
            .cpus
            .is_none()
            .then_some("CPU manager policy none: containers share all CPUs, and none is reserved");
        let memory = self
            .memory
            .is_none()
            .then_some("memory manager policy None: memory is reserved of the machine, not of a NUMA node");
        cpus.into_iter().chain(memory)
    }
}

#[expect(clippy::ref_option, reason = "serde hands fields on by reference")]
fn cpu_list<S: Serializer>(cpus: &Option<CpuSet>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(cpus.as_ref().unwrap_or(&CpuSet::new()))
}

/// One entry of the list in JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NodeMemory<'a> {
    node: i64,
    resource: &'a str,
    bytes: u64,
}

#[expect(clippy::ref_option, reason = "serde hands fields on by reference")]
fn memory_list<S: Serializer>(memory: &Option<Vec<MemoryShare>>, serializer: S) -> Result<S::Ok, S::Error> {
    let shares = memory.iter().flatten();
    serializer.collect_seq(shares.flat_map(|share| {
        share.nodes.iter().map(|node| NodeMemory {
            node: node.0,
            resource: share.resource.as_str(),
            bytes: share.bytes,
        })
    }))
}

#[cfg(test)]
mod tests {
    use topology_model::Machine;

    use super::*;
    use crate::MachineSummary;

    fn table(cpus: Option<&str>, gib: Option<&[(i64, u64)]>) -> String {
        let machine: Machine = "pack:2 [numa(memory=4GiB)] core:2 pu:1".parse().unwrap();
        let share = |(node, gib): &(i64, u64)| MemoryShare {
            resource: "memory".into(),
            bytes: gib << 30,
            nodes: [NodeId(*node)].into_iter().collect(),
        };
        let reserved = Reserved {
            configuration: "c.yaml".to_owned(),
            cpus: cpus.map(|list| list.parse().unwrap()),
            memory: gib.map(|list| list.iter().map(share).collect()),
        };
        reserved.table(&MachineSummary::of_hardware(&machine).nodes, Page::endless(Glyphs::Unicode))
    }

    #[test]
    fn nothing_reserved_says_why() {
        assert_eq!(
            table(Some("0"), Some(&[(0, 1)])),
            "reserved by configuration c.yaml:\n  NUMA  CPUS  MEMORY\n  0     0     1Gi\n  of other NUMA nodes nothing\n"
        );
        assert_eq!(
            table(Some("0,2"), None),
            "reserved by configuration c.yaml:\n  NUMA  CPUS  MEMORY\n  0     0     none\n  1     2     none\n  \
             memory manager policy None: memory is reserved of the machine, not of a NUMA node\n"
        );
        assert!(table(None, Some(&[])).contains("nothing of any NUMA node\n  CPU manager policy none: "));
    }
}
