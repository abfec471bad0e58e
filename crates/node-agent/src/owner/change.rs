//! A change other than an admission, and which files decide it.

use std::path::PathBuf;

use cpu_manager::ContainerId;
use device_manager::Inventory;
use node_state::ManifestFile;
use pod_spec::{ContainerKey, PodUid};
use topology_admission::Sizes;

use crate::effect::EndReason;
use crate::event::Ticket;

/// A change that is next or waits in line.
#[derive(Debug)]
pub(super) enum Change {
    /// Files that are behind are written.
    Rewrite,
    /// All pods have been heard of: what others hold is free.
    SourcesReady,
    End {
        uid: PodUid,
        ticket: Option<Ticket>,
        why: EndReason,
    },
    Resize {
        uid: PodUid,
        sizes: Sizes,
        ticket: Ticket,
    },
    Started {
        ticket: Ticket,
        container: ContainerKey,
        id: ContainerId,
        cgroup: Option<PathBuf>,
    },
    Exited {
        ticket: Ticket,
        id: ContainerId,
    },
    /// The manifest of a pod of the folder is in this file now.
    File {
        uid: PodUid,
        file: ManifestFile,
    },
    /// These are the devices.
    Inventory(Inventory),
}

impl Change {
    pub(super) const fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Rewrite | Self::SourcesReady | Self::File { .. } | Self::Inventory(_) => None,
            Self::End { ticket, .. } => *ticket,
            Self::Started { ticket, .. } | Self::Exited { ticket, .. } | Self::Resize { ticket, .. } => {
                Some(*ticket)
            }
        }
    }

    pub(super) const fn decided_by(&self) -> DecidingFiles {
        match self {
            Self::Rewrite | Self::SourcesReady | Self::Inventory(_) => DecidingFiles::None,
            Self::End { .. } => DecidingFiles::First,
            Self::Started { .. } | Self::Exited { .. } | Self::File { .. } | Self::Resize { .. } => {
                DecidingFiles::All
            }
        }
    }
}

/// Which files have to be safe for a change to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DecidingFiles {
    /// None: it is a fact, whatever the disk has.
    None,
    /// The first one: the file of a pod that goes, or that with a change of several pods.
    First,
    /// Every one of them: a pod that comes, a container that starts or exits.
    All,
}
