//! `allocated_pods_state` and `actuated_pods_state`: the requests and limits that a kubelet has admitted each pod with,
//! and those that it has last given to the container runtime.
//!
//! Both are one text with a checksum of that text. A kubelet reads them before anything else: it does not start if one is
//! torn, changed or empty, and one without a checksum is changed. What it admits a pod with again after a restart is what
//! [`PodFile::Allocated`] has of the pod, where it has anything.

mod allocation;
mod wire;

pub use allocation::{Allocation, PodAllocation};

use alloc::collections::BTreeMap;
use core::fmt;

use cpuset::go_quote;
use kubelet_release::PodAllocationsForm;
use pod_spec::PodUid;
use thiserror::Error;

use crate::embedded::sum;
use crate::go::parse;
use crate::{FileError, JsonError, Oddities};
use wire::{Data34, Data35, Data37, File};

/// Which of the two files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PodFile {
    /// `allocated_pods_state`
    Allocated,
    /// `actuated_pods_state`
    Actuated,
}

impl PodFile {
    /// Both, in the order in which a kubelet reads them.
    pub const ALL: [Self; 2] = [Self::Allocated, Self::Actuated];

    /// The path below the kubelet's root folder.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Allocated => "allocated_pods_state",
            Self::Actuated => "actuated_pods_state",
        }
    }
}

/// A file that was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodsFile {
    /// What it has of each pod; pods that have ended may be among them.
    pub pods: BTreeMap<PodUid, PodAllocation>,
    /// What of the file around the text the kubelet does not write.
    pub oddities: Oddities,
}

/// Why a kubelet does not start from such a file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PodsError {
    /// The file around the text is no JSON, of other types, or the text was changed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The text is no JSON, or of other types.
    #[error("failed to get pod resource information: {0}")]
    Data(JsonError),
}

impl PodsFile {
    /// Reads a file of this form as a kubelet does.
    ///
    /// # Errors
    /// The kubelet does not start from it.
    pub fn read(file: &[u8], form: PodAllocationsForm) -> Result<Self, PodsError> {
        let mut outer = File::default();
        let (read, oddities) = parse(file, &mut outer);
        read.map_err(FileError::from)?;
        let computed = sum(&outer.data);
        if outer.checksum != computed.into() {
            return Err(FileError::Corrupt { stored: outer.checksum, computed }.into());
        }
        let text = outer.data.as_bytes();
        let pods = match form {
            PodAllocationsForm::Containers => of_text::<Data34>(text),
            PodAllocationsForm::PodLevel => of_text::<Data35>(text),
            PodAllocationsForm::Whole => of_text::<Data37>(text),
        };
        Ok(Self { pods: pods.map_err(PodsError::Data)?, oddities })
    }
}

fn of_text<T: wire::Pods>(text: &[u8]) -> Result<BTreeMap<PodUid, PodAllocation>, JsonError> {
    let mut data = T::default();
    parse(text, &mut data).0?;
    Ok(data.pods())
}

/// The whole message with which a kubelet ends that cannot start from such a file.
#[derive(Clone, Copy, Debug)]
pub struct PodsRefused<'a> {
    cause: &'a PodsError,
    path: &'a str,
}

impl PodsError {
    /// The message, for a file at this path.
    #[must_use]
    pub const fn refused<'a>(&'a self, path: &'a str) -> PodsRefused<'a> {
        PodsRefused { cause: self, path }
    }
}

impl fmt::Display for PodsRefused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, path } = self;
        write!(
            f,
            "could not restore state from checkpoint: {cause}, please drain this node and delete pod resource \
             information checkpoint file {} before restarting Kubelet",
            go_quote(path)
        )
    }
}
