//! What is to be done, in a form that both sides read.

use node_config::Strategy;
use serde::Serialize;
use serde_json::Value;
use topology_model::MachineInfo;

use crate::claims::ClaimsWork;

/// One piece of work.
#[derive(Clone, Debug, Serialize)]
pub struct Work {
    /// What it is, in words; no two are called the same.
    pub name: String,
    /// What is done.
    #[serde(flatten)]
    pub task: Task,
}

/// What is done. The kubelet does not have all of it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Task {
    /// Lists of hints are merged under a policy.
    Merge {
        /// The lists.
        merge: Merge,
    },
    /// The CPU manager answers for the pod's first container.
    CpuHints(NodeWork),
    /// The memory manager answers for it.
    MemoryHints(NodeWork),
    /// The device manager answers for it.
    DeviceHints(NodeWork),
    /// The CPU manager allocates for it and releases, without a hint.
    TakeCpus(NodeWork),
    /// The whole pod is admitted, and removed.
    Admit(NodeWork),
    /// A scheduler asks which of many such nodes, with fewer and fewer residents, admit the pod; not the kubelet's work.
    Filter(NodeWork),
    /// A machine is read from its captured archive, whose name this is.
    Discover {
        /// Of `machine-fixtures`.
        archive: &'static str,
    },
    /// Resource claims get devices; kube-scheduler decides that, not the kubelet.
    Claims(ClaimsWork),
}

/// Lists of hints, one for each provider, on nodes 0 to n-1.
#[derive(Clone, Debug, Serialize)]
pub struct Merge {
    /// `best-effort`, `restricted` or `single-numa-node`.
    pub policy: &'static str,
    /// Whether near nodes are preferred.
    pub closest: bool,
    /// A row for each node.
    pub distances: Vec<Vec<u64>>,
    /// The lists.
    pub providers: Vec<Vec<WorkHint>>,
}

/// One hint.
#[derive(Clone, Debug, Serialize)]
pub struct WorkHint {
    /// Node ids.
    pub nodes: Vec<usize>,
    /// Whether it is preferred.
    pub preferred: bool,
}

/// A node, those who are there, and a pod that comes.
#[derive(Clone, Debug, Serialize)]
pub struct NodeWork {
    /// The machine as cAdvisor reports it.
    #[serde(serialize_with = "as_cadvisor")]
    pub machine: MachineInfo,
    /// `KubeletConfiguration` without its kind.
    pub config: Value,
    /// What plugins have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceList>,
    /// Pods that were given what is free first, without a hint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub residents: Vec<Value>,
    /// The tie-break between equal node sets; the kubelet has one.
    #[serde(skip)]
    pub strategy: Strategy,
    /// The pod.
    pub pod: Value,
}

/// The devices of a resource.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceList {
    /// Its name.
    pub resource: &'static str,
    /// Its devices.
    pub devices: Vec<ListedDevice>,
}

/// One device.
#[derive(Clone, Debug, Serialize)]
pub struct ListedDevice {
    /// The plugin's name of it.
    #[serde(rename = "ID")]
    pub id: String,
    /// Ids of the NUMA nodes that it is near.
    pub numa: Vec<i64>,
}

fn as_cadvisor<S: serde::Serializer>(machine: &MachineInfo, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::Error;
    let text = topology_discovery::machine_info_to_json(machine).map_err(S::Error::custom)?;
    serde_json::from_str::<Value>(&text).map_err(S::Error::custom)?.serialize(serializer)
}

/// Only the shape of a pod: what Kubernetes asks for besides.
impl NodeWork {
    /// A node on which nothing runs, and a pod.
    #[must_use]
    pub fn empty(machine: MachineInfo, config: Value, pod: Value) -> Self {
        Self {
            machine,
            config,
            devices: Vec::new(),
            residents: Vec::new(),
            strategy: Strategy::default(),
            pod,
        }
    }
}
