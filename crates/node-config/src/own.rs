//! Options of this project's own, which change an answer of the kubelet's by taste. All are off by default.

/// What the file of `--topolet-config` says; the default is the kubelet's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnOptions {
    /// `cpu.cacheAlignment`.
    pub cache_alignment: CacheAlignment,
    /// `memory.nodes`.
    pub memory_nodes: MemoryNodes,
    /// `memory.regroup`.
    pub regroup: Regroup,
    /// `memory.drift`.
    pub drift: Drift,
}

/// Whether a container's CPUs may be spread over more last-level caches than they fill, where the kubelet's option
/// `prefer-align-cpus-by-uncorecache` is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CacheAlignment {
    /// `bestEffort`: they may, as in the kubelet, which prefers one cache and takes what there is.
    #[default]
    BestEffort,
    /// `required`: the container is refused instead.
    Required,
}

/// On which NUMA nodes memory is booked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryNodes {
    /// `all`.
    #[default]
    All,
    /// `withCPUs`: memory of accelerators and behind links is left to those who ask for it by other means.
    WithCpus,
}

/// What becomes of a group of NUMA nodes that no running pod needs any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Regroup {
    /// `false`: it stays while any of its containers runs, and other pods are refused for it.
    #[default]
    Never,
    /// `true`: it is dissolved, and memory that is still booked in it moves to one of its nodes.
    WhenUnneeded,
}

/// What is done at a start when memory has changed since the state was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Drift {
    /// `refuse`: the node does not start.
    #[default]
    Refuse,
    /// `absorb`: it starts if nothing that was granted is lost.
    Absorb,
}
