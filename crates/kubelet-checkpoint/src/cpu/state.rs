//! What is in the file, and the formats that it has.

use alloc::collections::BTreeMap;
use alloc::string::String;

use cpuset::CpuSet;
use pod_spec::{ContainerName, PodUid};

/// What the CPU manager holds, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuState {
    /// `none` or `static`.
    pub policy: String,
    /// The CPUs of all containers without exclusive ones; empty under policy `none`.
    pub shared: CpuSet,
    /// CPUs by pod and container. A pod without containers is not the same as a missing pod.
    pub containers: BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>>,
    /// CPUs of pods that are served as a whole; formats V3 and V4 have them.
    pub pods: BTreeMap<PodUid, CpuSet>,
    /// The CPUs with which containers were admitted; only format V4 has them.
    pub baselines: BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>>,
}

/// A format of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuFormat {
    /// Before Kubernetes 1.18: CPUs by container id. Only read.
    V1,
    /// CPUs by pod and container.
    V2,
    /// And pods as a whole.
    V3,
    /// V2, and everything once more as text, with pods as a whole and baselines.
    V4,
}
