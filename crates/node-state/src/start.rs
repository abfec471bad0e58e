//! A node that starts again, from its folder.
//!
//! [`Start`] is the state that the node continues with. [`StateFolder::strict`] takes it from the folder as a kubelet
//! does, which does not start if a file is corrupt; [`StateFolder::plan_repair`] derives one from any folder.

use std::path::PathBuf;

use device_manager::{Inventory, Moment};
use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::memory::{MemoryError, MemoryFile};
use kubelet_checkpoint::pods::{PodFile, PodsError, PodsFile};
use kubelet_checkpoint::store::StateFile;
use kubelet_release::PodAllocationsForm;
use memory_manager::UnevenPages;
use pod_spec::{ContainerKey, PodUid, ResourceName};
use thiserror::Error;
use topology_admission::{Ledger, Node, PodAllocations, RestoreError, RunningPods, StoredHoldings};

use crate::files::{self, NullBooks, UnknownFile};
use crate::folder::StateFolder;
use crate::record::{Record, RecordError};
use crate::resizes::with_resizes;

/// What a node goes on with.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What is held.
    pub stored: StoredHoldings,
    /// Resources whose plugins had registered.
    pub registered: Vec<ResourceName>,
    /// The pods that run.
    pub records: Vec<Record>,
}

/// Why a node does not start. The texts are the kubelet's where it has one; those of the managers say their causes
/// themselves.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The CPU manager's file.
    #[error("start cpu manager error: {}", .0.refused(&kubelets(StateFile::Cpu)))]
    Cpu(CpuError),
    /// The memory manager's file.
    #[error("start memory manager error: {}", .0.refused(&kubelets(StateFile::Memory)))]
    Memory(MemoryError),
    /// A file of what pods were admitted or run with.
    #[error("{}", pods_refused(.0, *.1))]
    Pods(PodsError, PodFile),
    /// The same of a release that fails without a panic.
    #[error("failed to initialize actuated state checkpoint: {}", pods_refused(.0, PodFile::Actuated))]
    Actuated(PodsError),
    /// The memory manager's file, on which a kubelet crashes.
    #[error("start memory manager error: {0}")]
    NullBooks(NullBooks),
    /// A pod's file.
    #[error("failed to read {path}")]
    Pod {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: RecordError,
    },
    /// A file of devices whose format is not known; a kubelet would start without it.
    #[error(transparent)]
    UnknownFile(#[from] UnknownFile),
    /// The stored state does not fit this node.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

impl StartError {
    /// The NUMA nodes that memory is bound over and that do not list the same sizes of huge pages, on which the kubelet
    /// crashes.
    #[must_use]
    pub const fn uneven_pages(&self) -> Option<&UnevenPages> {
        match self {
            Self::Restore(RestoreError::Crash(uneven)) => Some(uneven),
            _ => None,
        }
    }

    /// Whether the kubelet does not start since pods hold every CPU of the shared pool.
    #[must_use]
    pub const fn is_full_node(&self) -> bool {
        matches!(self, Self::Restore(RestoreError::Cpus(cpu_manager::StateError::EmptySharedPool)))
    }
}

/// The text with which a kubelet ends.
fn pods_refused(error: &PodsError, file: PodFile) -> String {
    error.refused(&format!("/var/lib/kubelet/{}", file.path())).to_string()
}

/// A file's path at a kubelet; its messages name it so, wherever the folder is.
fn kubelets(file: StateFile) -> String {
    format!("/var/lib/kubelet/{}", file.path())
}

impl StateFolder {
    /// What a kubelet would go on with, which does not start if a file is not as it should be. A damaged file of
    /// devices is no file, as for the kubelet.
    ///
    /// # Errors
    /// What is wrong.
    pub fn strict(&self, node: &Node) -> Result<Start, StartError> {
        let mut start = Start::default();
        // A kubelet starts one manager after the other.
        start.stored.cpus = self.strict_cpus(node)?;
        start.stored.memory = self.strict_memory(node)?;
        if let Some(file) = &self.device {
            files::known(StateFile::Device, file)?;
            let read = DeviceFile::read(file);
            if read.fault.is_none() {
                start.stored.devices = files::devices(&read.state);
                start.registered =
                    read.state.registered.into_iter().flatten().map(|(name, _)| name).collect();
            }
        }
        for (path, text) in &self.pods {
            let record = Record::read(&path.display().to_string(), text, node.pod_rules())
                .map_err(|error| StartError::Pod { path: path.clone(), error })?;
            start.records.push(record);
        }
        start.records.sort_by_key(|record| record.arrival);
        if let (Some(policy), Some(held)) = (node.cpus(), start.stored.cpus.take()) {
            let of = |uid: &PodUid| start.records.iter().find(|record| record.pod.uid == *uid);
            let held = with_resizes(policy, held, |uid| of(uid)?.grants.as_ref());
            start.stored.cpus = Some(held);
        }
        Ok(start)
    }

    /// What pods were admitted or run with, as a kubelet reads it before its managers start; `None`: there is no file, or
    /// the kubelet keeps none.
    ///
    /// # Errors
    /// The kubelet does not start from the file.
    pub fn strict_pods(&self, node: &Node, file: PodFile) -> Result<Option<PodsFile>, StartError> {
        if node.pod_allocations() == PodAllocations::Forgotten {
            return Ok(None);
        }
        let form = node.kubelet_rules().pod_allocations;
        let read = self.pods_file(file).map(|contents| PodsFile::read(contents, form)).transpose();
        read.map_err(|error| match file {
            PodFile::Actuated if form != PodAllocationsForm::Containers => StartError::Actuated(error),
            file => StartError::Pods(error, file),
        })
    }

    /// The CPUs with which a kubelet's CPU manager starts; `None`: there is no file, or the manager is off.
    pub(crate) fn strict_cpus(&self, node: &Node) -> Result<Option<cpu_manager::Holdings>, StartError> {
        let Some(file) = &self.cpu else { return Ok(None) };
        let state = CpuFile::read(file, files::forms(node), &ContainerIds::new())
            .and_then(|read| read.restore(files::cpu_policy(node)))
            .map_err(StartError::Cpu)?;
        let Some(policy) = node.cpus() else { return Ok(None) };
        let held = files::cpus(&state);
        policy.restore(held.clone()).map_err(RestoreError::from)?;
        Ok(Some(held))
    }

    /// The memory with which a kubelet's memory manager starts, not yet checked against the machine; `None`: there is
    /// no file, or the manager is off.
    pub(crate) fn strict_memory(&self, node: &Node) -> Result<Option<memory_manager::Stored>, StartError> {
        let Some(file) = &self.memory else { return Ok(None) };
        let read =
            MemoryFile::read(file, files::forms(node)).map_err(|error| StartError::Memory(error.into()))?;
        let state = read.restore(files::memory_policy(node)).map_err(StartError::Memory)?;
        node.memory().map(|_| files::memory(state).map_err(StartError::NullBooks)).transpose()
    }
}

impl StartError {
    /// Whether a kubelet with another configuration may start from the same files. From a damaged one none does.
    #[must_use]
    pub const fn depends_on_configuration(&self) -> bool {
        matches!(
            self,
            Self::Cpu(CpuError::OtherPolicy { .. })
                | Self::Memory(MemoryError::OtherPolicy { .. })
                | Self::Restore(_)
        )
    }
}

impl Start {
    /// Whether a pod holds anything.
    #[must_use]
    pub fn holds(&self, pod: &PodUid) -> bool {
        let StoredHoldings { cpus, memory, devices } = &self.stored;
        let has_cpus = |held: &cpu_manager::Holdings| {
            held.of_pod(pod).any(|(_, cpus)| !cpus.is_empty()) || held.whole_pod(pod).is_some()
        };
        cpus.as_ref().is_some_and(has_cpus)
            || memory
                .as_ref()
                .is_some_and(|held| held.entries.contains_key(pod) || held.pod_entries.contains_key(pod))
            || devices.of_pod(pod).next().is_some()
    }

    /// The ledger of the node with the recorded pods. `given` are devices without plugins.
    ///
    /// # Errors
    /// The stored state does not fit this node.
    pub fn ledger(&self, node: &Node, given: Inventory, now: Moment) -> Result<Ledger, RestoreError> {
        let running = self.records.iter().flat_map(|record| {
            let uid = &record.pod.uid;
            record
                .running
                .values()
                .map(|of| ContainerKey { pod: uid.clone(), container: of.container.clone() })
        });
        let pods = RunningPods {
            running: running.collect(),
            ..RunningPods::admitted(self.records.iter().map(|record| record.pod.clone()))
        };
        self.ledger_with(node, pods, given, now)
    }

    /// The same with other pods than the recorded ones.
    ///
    /// # Errors
    /// The stored state does not fit this node.
    pub fn ledger_with(
        &self,
        node: &Node,
        pods: RunningPods,
        given: Inventory,
        now: Moment,
    ) -> Result<Ledger, RestoreError> {
        let ledger = node.restore(self.stored.clone(), pods)?;
        let mut inventory = given;
        for resource in &self.registered {
            if inventory.endpoint(resource).is_none() {
                inventory.remember(resource, now);
            }
        }
        Ok(ledger.with_inventory(inventory))
    }
}
