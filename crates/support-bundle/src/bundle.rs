//! What a bundle has, by node.

use std::fmt;
use std::io;
use std::path::PathBuf;

use pod_spec::Pod;
use thiserror::Error;
use topology_discovery::MemoryTree;
use topology_manifest::{Failure, NodeObject, PodEvent};

use crate::log::LogRead;

/// A bundle.
#[derive(Debug, Default)]
pub struct Bundle {
    /// The paths that were read, in their order.
    pub paths: Vec<BundlePath>,
    /// Its nodes, by name; one without a name comes last.
    pub nodes: Vec<NodeEvidence>,
    /// Configurations of the cluster: `KubeletConfig`, `PerformanceProfile`, `MachineConfig` and others that are no node's.
    pub configurations: Vec<Document>,
    /// Texts with objects of `resource.k8s.io`.
    pub claims: Vec<Document>,
    /// Objects that describe the NUMA nodes of nodes: `NodeResourceTopology` and `Numatopology`.
    pub zones: Vec<Document>,
    /// Pods that are bound to no node.
    pub unbound: Vec<BundlePod>,
    /// What could not be read, or not wholly, as text to be shown.
    pub remarks: Vec<String>,
}

/// One of the paths that were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundlePath {
    /// As it was given, with the folder in it that everything lies in: other paths are those below it.
    pub path: String,
    /// What it is.
    pub form: BundleForm,
    /// Files in it, those of archives too.
    pub files: u64,
}

/// What a bundle is, by its folders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum BundleForm {
    /// What `oc adm must-gather` writes.
    MustGather,
    /// A report of `sos`.
    Sosreport,
    /// What `kubectl cluster-info dump --output-directory` writes.
    ClusterInfoDump,
    /// What `topolet capture --node` writes.
    NodeFile,
    /// Anything else.
    #[default]
    Files,
}

impl fmt::Display for BundleForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MustGather => "must-gather",
            Self::Sosreport => "sosreport",
            Self::ClusterInfoDump => "cluster-info dump",
            Self::NodeFile => "node file",
            Self::Files => "files",
        })
    }
}

/// A value and the file that it is from.
#[derive(Clone, Debug)]
pub struct Sourced<T> {
    /// The file, as it is shown.
    pub path: String,
    /// The value.
    pub value: T,
}

/// A text of a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// What it is.
    pub kind: DocumentKind,
    /// Where it is, as it is shown.
    pub path: String,
    /// Its path on the node, without a leading slash; of a loose file its name.
    pub on_node: String,
    /// Its content.
    pub text: Vec<u8>,
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DocumentKind {
    /// A file that a kubelet keeps.
    State(StateName),
    /// A configuration of a kubelet, as a file or what makes one.
    Configuration,
    /// What a kubelet answers at `/configz`.
    Configz,
    /// Flags of a kubelet: a unit, a file of variables, or a command line.
    Flags,
    /// A part of a machine as a tool prints it.
    Machine,
    /// What a kubelet answers at its podresources socket.
    PodResources,
    /// What the node calls itself.
    Hostname,
    /// A static pod.
    StaticPod,
    /// Objects of a cluster.
    Objects,
}

/// A file that a kubelet keeps in its root folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StateName {
    /// `cpu_manager_state`.
    Cpu,
    /// `memory_manager_state`.
    Memory,
    /// `device-plugins/kubelet_internal_checkpoint`.
    Device,
    /// `allocated_pods_state`.
    Allocated,
    /// `actuated_pods_state`.
    Actuated,
    /// `dra_manager_state`.
    Claims,
}

impl StateName {
    pub(crate) const ALL: [Self; 6] =
        [Self::Cpu, Self::Memory, Self::Device, Self::Allocated, Self::Actuated, Self::Claims];

    /// What the file is called.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu_manager_state",
            Self::Memory => "memory_manager_state",
            Self::Device => "kubelet_internal_checkpoint",
            Self::Allocated => "allocated_pods_state",
            Self::Actuated => "actuated_pods_state",
            Self::Claims => "dra_manager_state",
        }
    }
}

/// A pod.
#[derive(Clone, Debug)]
pub struct BundlePod {
    /// As its object has it.
    pub pod: Pod,
    /// Why it has failed, if it has.
    pub failure: Option<Failure>,
    /// The file that it is from, as it is shown.
    pub path: String,
}

/// The files of a machine.
#[derive(Debug)]
pub enum MachineFiles {
    /// A folder with `sys` and `proc`.
    Folder(PathBuf),
    /// The same in an archive, with the folder `node` of a node file.
    Tree(Box<MemoryTree>),
}

/// What is known of a node.
#[derive(Debug, Default)]
pub struct NodeEvidence {
    /// What the cluster calls it, else what it calls itself; `None`: nothing says it.
    pub name: Option<String>,
    /// Its Node object.
    pub object: Option<Sourced<NodeObject>>,
    /// Its machines: several where several captures are of one node.
    pub machines: Vec<Sourced<MachineFiles>>,
    /// Texts that lie on it or are about it, without its pods.
    pub documents: Vec<Document>,
    /// Pods that are bound to it.
    pub pods: Vec<BundlePod>,
    /// Events about pods that its kubelet wrote.
    pub events: Vec<Sourced<PodEvent>>,
    /// Logs of its kubelet.
    pub logs: Vec<LogRead>,
    /// In what the bundle contradicts itself about it, as text to be shown.
    pub contradictions: Vec<String>,
}

impl NodeEvidence {
    /// The documents of a kind, in the order of their paths.
    pub fn of_kind(&self, kind: DocumentKind) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(move |document| document.kind == kind)
    }

    /// The file that its kubelet keeps by this name.
    #[must_use]
    pub fn state(&self, name: StateName) -> Option<&Document> {
        self.of_kind(DocumentKind::State(name)).next()
    }

    /// Whether anything but objects of a cluster tells of it.
    #[must_use]
    pub fn has_files(&self) -> bool {
        !(self.machines.is_empty() && self.documents.is_empty() && self.logs.is_empty())
    }
}

/// A path that cannot be opened.
#[derive(Debug, Error)]
pub enum BundleError {
    /// The system does not let it be read.
    #[error("failed to read {}", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// It is neither a file nor a folder.
    #[error("{} is neither a file nor a folder", .0.display())]
    Other(PathBuf),
}
