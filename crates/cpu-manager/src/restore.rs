//! Holdings that were stored, and whether they belong to this machine and configuration.

use alloc::vec::Vec;

use cpuset::CpuSet;
use pod_spec::{ContainerName, PodUid};
use thiserror::Error;

use crate::{FullNode, Holdings, PodBubble, PodLevel, ReservedCpus, Static};

/// Why stored holdings do not fit. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum StateError {
    /// The shared pool is empty although containers hold CPUs.
    #[error("default cpuset cannot be empty")]
    EmptySharedPool,
    /// Reserved CPUs are for the system alone, and some are in the shared pool.
    #[error("some of strictly reserved cpus: \"{reserved}\" are present in defaultCpuSet: \"{shared}\"")]
    ReservedInSharedPool {
        /// Those.
        reserved: CpuSet,
        /// The shared pool.
        shared: CpuSet,
    },
    /// Reserved CPUs belong to the shared pool, and some are not in it.
    #[error("not all reserved cpus: \"{reserved}\" are present in defaultCpuSet: \"{shared}\"")]
    ReservedMissing {
        /// All reserved CPUs.
        reserved: CpuSet,
        /// The shared pool.
        shared: CpuSet,
    },
    /// A container's CPUs are in the shared pool.
    #[error(
        "pod: {pod}, container: {container} cpuset: \"{cpus}\" overlaps with default cpuset \"{shared}\""
    )]
    Overlap {
        /// The pod of the first such container.
        pod: PodUid,
        /// The container.
        container: ContainerName,
        /// Its CPUs.
        cpus: CpuSet,
        /// The shared pool.
        shared: CpuSet,
    },
    /// CPUs have come or gone.
    #[error("current set of available CPUs \"{available}\" doesn't match with CPUs in state \"{stored}\"")]
    OtherCpus {
        /// The CPUs of this machine.
        available: CpuSet,
        /// Those in the shared pool and with containers.
        stored: CpuSet,
    },
}

impl Static {
    /// The holdings with which a node starts that had `stored`: an empty store is a new node, any other must
    /// account for every CPU. CPUs held twice are not looked for; see [`Holdings::two_owners`].
    ///
    /// What the kubelet lost of pods that are served as a whole is found or not as [`PodBubble`] says, and an empty
    /// shared pool accepted as [`FullNode`] says.
    pub fn restore(&self, stored: Holdings) -> Result<Holdings, StateError> {
        if stored.shared().is_empty() {
            if stored.is_empty() {
                return Ok(self.initial().with_whole_pods_of(&stored));
            }
            let may_be_full = self.options.reserved == ReservedCpus::SystemOnly;
            if self.full_node == FullNode::Refuse || !may_be_full {
                return Err(StateError::EmptySharedPool);
            }
        }
        let stored = match (self.pod_bubble, self.pod_level) {
            (PodBubble::Find, PodLevel::Managed) => self.find_lost(stored),
            (PodBubble::Lose, _) | (_, PodLevel::Ignored | PodLevel::Unread | PodLevel::NotPinned) => stored,
        };
        self.check(&stored)?;
        Ok(stored)
    }

    /// Puts lost CPUs into the shared pool: those without a holder, and those of a pod without containers.
    fn find_lost(&self, mut held: Holdings) -> Holdings {
        let is_alone = |pod: &&PodUid| held.of_pod(pod).next().is_none();
        let alone: Vec<_> = held.whole_pods().map(|(pod, _)| pod).filter(is_alone).cloned().collect();
        for pod in &alone {
            held.forget_whole(pod);
        }
        let lost = &self.managed() - &held.accounted();
        held.give_to_shared(&lost);
        held
    }

    /// Whether `held` accounts for every CPU of this machine once.
    pub fn check(&self, held: &Holdings) -> Result<(), StateError> {
        let shared = held.shared();
        match self.options.reserved {
            ReservedCpus::SystemOnly if !shared.is_disjoint(&self.reserved) => {
                let reserved = shared & &self.reserved;
                return Err(StateError::ReservedInSharedPool { reserved, shared: shared.clone() });
            }
            ReservedCpus::InSharedPool if !self.reserved.is_subset(shared) => {
                let reserved = self.reserved.clone();
                return Err(StateError::ReservedMissing { reserved, shared: shared.clone() });
            }
            ReservedCpus::SystemOnly | ReservedCpus::InSharedPool => {}
        }
        for (pod, container, cpus) in held.iter() {
            if !cpus.is_disjoint(shared) {
                return Err(StateError::Overlap {
                    pod: pod.clone(),
                    container: container.clone(),
                    cpus: cpus.clone(),
                    shared: shared.clone(),
                });
            }
        }
        let stored = held.accounted();
        let available = self.managed();
        if stored == available { Ok(()) } else { Err(StateError::OtherCpus { available, stored }) }
    }
}
