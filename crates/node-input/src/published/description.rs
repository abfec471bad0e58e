//! What a node is: its machine as the kubelet counts it, its configuration and options.

use std::str::FromStr as _;

use anyhow::{Context as _, anyhow};
use cpuset::CpuId;
use node_config::{DecidedBy, KubeletConfiguration};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use topology_admission::{Compat, Node, StartOptions};
use topology_model::{
    CacheId, CoreId, CpuCounts, CpuRow, CpuTable, HugePages, KubeletView, NodeId, NodeMemory, SocketId,
};

use crate::configuration;
use crate::kubelet_version::KubeletVersion;
use crate::node::LoadedNode;
use crate::published::links::PublishedLinks;

/// What a node is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDescription {
    /// The kubelet whose rules apply: `v1.36.3`.
    rules_of: String,
    /// The program that decides, `kubelet` or `topolet`. `None`: its agent is of a release that did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    machine: Machine,
    /// A `KubeletConfiguration`, with the fields that decide.
    configuration: Value,
    /// A `TopoletConfiguration`.
    options: Value,
    /// Where devices come from links, or leave them whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links: Option<PublishedLinks>,
}

/// A machine as its kubelet counts it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Machine {
    /// In bytes.
    memory: u64,
    huge_pages: Vec<Pages>,
    /// In the order in which the machine lists them.
    nodes: Vec<NumaNode>,
    counts: Counts,
    /// Of each CPU its number, core, socket, NUMA node and cache group.
    cpus: Vec<[i64; 5]>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NumaNode {
    id: i64,
    /// In bytes, huge pages included.
    memory: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    huge_pages: Vec<Pages>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    distances: Option<Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pages {
    page_size_kib: u64,
    count: u64,
}

/// As machines count themselves, which need not be what they list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Counts {
    cpus: usize,
    cores: usize,
    sockets: usize,
}

/// A node that has been started from its description.
#[derive(Clone, Debug)]
pub struct StartedNode {
    /// Its rules.
    pub node: Node,
    /// Its machine.
    pub view: KubeletView,
    /// Its configuration.
    pub config: KubeletConfiguration,
}

impl NodeDescription {
    /// What a node is.
    #[must_use]
    pub fn of(node: &LoadedNode) -> Self {
        Self {
            rules_of: node.line.rules_of.clone(),
            decided_by: Some(node.decided_by().name().to_owned()),
            machine: Machine::of(node.view()),
            // They consist of texts, numbers, lists and maps.
            configuration: serde_json::to_value(node.config()).unwrap_or_default(),
            options: serde_json::to_value(node.options()).unwrap_or_default(),
            links: node.node.known_links().map(PublishedLinks::of),
        }
    }

    /// The program that decides on the node; `None`: its agent does not say.
    ///
    /// # Errors
    /// It is neither a kubelet nor topolet.
    pub fn decided_by(&self) -> anyhow::Result<Option<DecidedBy>> {
        let read = |name: &String| {
            DecidedBy::named(name)
                .with_context(|| format!("node.decidedBy {name:?}, expected kubelet or topolet"))
        };
        self.decided_by.as_ref().map(read).transpose()
    }

    /// The node, as its agent has started it. Where the agent does not say which program decides there, it is topolet.
    ///
    /// # Errors
    /// It cannot be read, since another release of topolet or another program wrote it; or no kubelet starts so.
    pub fn start(&self) -> anyhow::Result<StartedNode> {
        let version = KubeletVersion::from_str(&self.rules_of)
            .map_err(|error| anyhow!("node.rulesOf {:?}: {error}", self.rules_of))?;
        let view = self.machine.view().context("node.machine")?;
        let text = self.configuration.to_string();
        let cpus = view.cpus().num_cpus();
        let read =
            configuration::from_text("node.configuration", text.as_bytes(), cpus, version.rules().into())?;
        let options = configuration::own_options_of("node.options", self.options.to_string().as_bytes())?;
        let links = self.links.as_ref().map(|links| links.read(&options.device_links, &view));
        let links = links.transpose().context("node.links")?;
        let compat = Compat::from(self.decided_by()?.unwrap_or(DecidedBy::Topolet));
        let mut node =
            Node::start_with(&view, &read.config, StartOptions::decided_as(compat).with_own(options))
                .map_err(|error| anyhow!("the kubelet would not start so: {error}"))?;
        if let Some(links) = links {
            node = node.with_links(links);
        }
        Ok(StartedNode { node, view, config: read.config })
    }
}

impl Machine {
    fn of(view: &KubeletView) -> Self {
        let cpus = view.cpus();
        let memory = |id: &NodeId| view.node_memory().iter().find(|memory| memory.id == *id);
        let rows = cpus.rows().map(|row| {
            [row.cpu.get().try_into().unwrap_or(-1), row.core.0, row.socket.0, row.node.0, row.cache.0]
        });
        Self {
            memory: view.memory_capacity(),
            huge_pages: view.hugepages().iter().map(Pages::of).collect(),
            nodes: view.machine_order().iter().filter_map(memory).map(NumaNode::of).collect(),
            counts: Counts { cpus: cpus.num_cpus(), cores: cpus.num_cores(), sockets: cpus.num_sockets() },
            cpus: rows.collect(),
        }
    }

    fn view(&self) -> anyhow::Result<KubeletView> {
        let Counts { cpus, cores, sockets } = self.counts;
        let row = |[cpu, core, socket, node, cache]: &[i64; 5]| {
            let cpu = usize::try_from(*cpu).ok().and_then(|cpu| CpuId::new(cpu).ok());
            anyhow::Ok(CpuRow {
                cpu: cpu.context("a CPU is outside the kernel's range")?,
                core: CoreId(*core),
                socket: SocketId(*socket),
                node: NodeId(*node),
                cache: CacheId(*cache),
            })
        };
        let rows = self.cpus.iter().map(row).collect::<anyhow::Result<Vec<CpuRow>>>()?;
        let table = CpuTable::from_rows(CpuCounts { cpus, cores, sockets }, rows);
        let memory = self.nodes.iter().map(NumaNode::memory).collect();
        let hugepages = self.huge_pages.iter().map(|pages| pages.read()).collect();
        Ok(KubeletView::from_parts(table, memory, self.memory, hugepages)?)
    }
}

impl NumaNode {
    fn of(node: &NodeMemory) -> Self {
        Self {
            id: node.id.0,
            memory: node.memory,
            huge_pages: node.hugepages.iter().map(Pages::of).collect(),
            distances: node.distances.clone(),
        }
    }

    fn memory(&self) -> NodeMemory {
        NodeMemory {
            id: NodeId(self.id),
            memory: self.memory,
            hugepages: self.huge_pages.iter().map(|pages| pages.read()).collect(),
            distances: self.distances.clone(),
        }
    }
}

impl Pages {
    const fn of(pages: &HugePages) -> Self {
        Self { page_size_kib: pages.page_size_kib, count: pages.num_pages }
    }

    const fn read(self) -> HugePages {
        HugePages { page_size_kib: self.page_size_kib, num_pages: self.count }
    }
}
