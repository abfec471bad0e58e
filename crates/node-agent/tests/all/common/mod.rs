//! A small node whose files are a map.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![expect(clippy::unwrap_used, reason = "fixtures of this file are right")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use device_manager::{Inventory, Moment};
use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::store::StateFile;
use node_agent::{Effect, Event, FileName, ListedPod, Listing, Owner, WriteOutcome};
use node_config::{KubeletConfiguration, OwnOptions, Resize};
use node_state::{ManifestFile, PODS, StateFolder};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, Role};
use topology_admission::{Node, Size, Sizes, StartOptions};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

/// Two NUMA nodes with four CPUs and 16Gi each; CPU 0 and 1Gi are reserved.
pub fn node() -> Arc<Node> {
    static NODE: OnceLock<Arc<Node>> = OnceLock::new();
    NODE.get_or_init(|| make_node(Duration::ZERO)).clone()
}

/// The same, on which memory alone can be resized.
pub fn memory_node() -> Arc<Node> {
    static NODE: OnceLock<Arc<Node>> = OnceLock::new();
    NODE.get_or_init(|| node_of("best-effort", Duration::ZERO, Resize::Refuse, None)).clone()
}

/// The same as the first, on which a container has to fit on one NUMA node.
pub fn strict_node() -> Arc<Node> {
    static NODE: OnceLock<Arc<Node>> = OnceLock::new();
    NODE.get_or_init(|| node_under("single-numa-node", Duration::ZERO)).clone()
}

/// The same as the first, on which pods wait for plugins for so long.
pub fn make_node(defer: Duration) -> Arc<Node> {
    node_under("best-effort", defer)
}

/// The same, which runs so many pods.
pub fn small_node(defer: Duration, max_pods: i32) -> Arc<Node> {
    node_of("best-effort", defer, Resize::Allow, Some(max_pods))
}

fn node_under(policy: &str, defer: Duration) -> Arc<Node> {
    node_of(policy, defer, Resize::Allow, None)
}

fn node_of(policy: &str, defer: Duration, cpu_resize: Resize, max_pods: Option<i32>) -> Arc<Node> {
    let core = |cpu| MachineCore { thread_ids: Some(vec![cpu]), ..MachineCore::default() };
    let numa = |id, cpus: std::ops::Range<i64>| MachineNode {
        id,
        memory: 16 << 30,
        cores: Some(cpus.map(core).collect()),
        ..MachineNode::default()
    };
    let machine = MachineInfo {
        num_cpus: 8,
        num_sockets: 1,
        memory_capacity: 32 << 30,
        topology: Some(vec![numa(0, 0..4), numa(1, 4..8)]),
        ..MachineInfo::default()
    };
    let text = |text: &str| Some(text.to_owned());
    let amount = |bytes| Quantity::from_units(bytes, Format::BinarySi);
    let config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        topology_manager_policy: text(policy),
        reserved_system_cpus: text("0"),
        system_reserved: [("memory".to_owned(), ((1_i64 << 30) - (100 << 20)).to_string())].into(),
        reserved_memory: vec![node_config::ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), amount(1 << 30))].into(),
        }],
        max_pods,
        ..KubeletConfiguration::default()
    };
    let view = KubeletView::new(&machine).unwrap();
    let memory_resize = Resize::Allow;
    let options = OwnOptions { defer, cpu_resize, memory_resize, ..OwnOptions::default() };
    Arc::new(Node::start_with(&view, &config, StartOptions::default().with_own(options)).unwrap())
}

pub fn uid(name: &str) -> PodUid {
    PodUid::new(&format!("default_{name}"))
}

/// A Guaranteed pod with so many CPUs, as many Gi and so many devices; without CPUs it asks for nothing.
pub fn pod(name: &str, cpus: u32, devices: u32) -> Arc<Pod> {
    let amount = |value: u32| Quantity::from_units(i64::from(value), Format::DecimalSi);
    let mut limits = ResourceList::new();
    if cpus > 0 {
        limits.insert("cpu".into(), amount(cpus));
        limits.insert("memory".into(), Quantity::from_units(i64::from(cpus) << 30, Format::BinarySi));
    }
    if devices > 0 {
        limits.insert("example.com/vf".into(), amount(devices));
    }
    let container =
        Container { name: ContainerName::new("app"), role: Role::App, requests: limits.clone(), limits };
    let mut pod = Pod::new("default", name, vec![container]);
    pod.uid = uid(name);
    Arc::new(pod)
}

/// New amounts of the pod's container: so many CPUs, and so many Gi.
pub fn sizes(cpus: u32, gibibytes: u32) -> Sizes {
    let amount = |value: u32| Quantity::from_units(i64::from(value), Format::DecimalSi);
    let memory = Quantity::from_units(i64::from(gibibytes) << 30, Format::BinarySi);
    let amounts: ResourceList = [("cpu".into(), amount(cpus)), ("memory".into(), memory)].into();
    let size = Size { requests: amounts.clone(), limits: amounts };
    Sizes([(ContainerName::new("app"), size)].into())
}

/// A listing of pods with the files that they are in, and of files that cannot be used.
pub fn listed<'a>(
    pods: impl IntoIterator<Item = (&'a str, Arc<Pod>)>,
    unusable: impl IntoIterator<Item = &'a str>,
) -> Event {
    let pods = pods.into_iter().map(|(file, pod)| ListedPod { pod, file: ManifestFile::new(file) });
    let unusable = unusable.into_iter().map(ManifestFile::new);
    Event::Listed(Listing { pods: pods.collect(), unusable: unusable.collect() })
}

/// An owner and its files.
pub struct Node1 {
    node: Arc<Node>,
    pub owner: Owner,
    pub disk: BTreeMap<PathBuf, String>,
    pub now: Moment,
    /// Why every write fails, if it does.
    pub fails: Option<String>,
}

impl Node1 {
    pub fn new() -> Self {
        Self::on(node(), BTreeMap::new()).0
    }

    /// On which pods wait for plugins for so long.
    pub fn deferring(defer: Duration) -> Self {
        Self::on(make_node(defer), BTreeMap::new()).0
    }

    /// The same, where so many pods run.
    pub fn deferring_with(defer: Duration, max_pods: i32) -> Self {
        Self::on(small_node(defer, max_pods), BTreeMap::new()).0
    }

    fn on(node: Arc<Node>, disk: BTreeMap<PathBuf, String>) -> (Self, Vec<Effect>) {
        let file =
            |file: StateFile| disk.get(&FileName::State(file).path()).map(|text| text.as_bytes().to_vec());
        let pods = disk.iter().filter(|(path, _)| path.starts_with(PODS));
        let found = StateFolder {
            cpu: file(StateFile::Cpu),
            memory: file(StateFile::Memory),
            device: file(StateFile::Device),
            pods: pods.map(|(path, text)| (path.clone(), text.as_bytes().to_vec())).collect(),
            ..StateFolder::default()
        };
        let start = found.strict(&node).unwrap();
        let inventory = Inventory::new(node.nodes().clone());
        let ledger = start.ledger(&node, inventory, Moment::default()).unwrap();
        let owner = Owner::new(node.clone(), &ledger, start.records);
        let mut node = Self { node, owner, disk, now: Moment::default(), fails: None };
        let effects = node.work();
        (node, effects)
    }

    pub fn restarted(self) -> (Self, Vec<Effect>) {
        Self::on(self.node, self.disk)
    }

    pub fn files(&self) -> BTreeMap<PathBuf, String> {
        self.disk.clone()
    }

    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        self.owner.handle(self.now, event);
        self.work()
    }

    fn work(&mut self) -> Vec<Effect> {
        while let Some(plan) = self.owner.next(self.now) {
            let written = if let Some(why) = &self.fails {
                WriteOutcome::Failed { done: 0, why: why.clone() }
            } else {
                for write in plan.writes() {
                    match &write.text {
                        Some(text) => self.disk.insert(write.file.path(), text.clone()),
                        None => self.disk.remove(&write.file.path()),
                    };
                }
                WriteOutcome::All
            };
            self.owner.settle(self.now, plan, &written);
        }
        self.owner.take_effects()
    }
}
