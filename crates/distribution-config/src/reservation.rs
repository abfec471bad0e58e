//! What is known of the memory that is reserved beside a configuration.

/// How much memory is reserved for the kubelet and the system beside what a configuration says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reservation {
    /// Nothing, or it is known.
    #[default]
    Known,
    /// So much as for this number of pods, with which `reservedMemory` is right.
    ForPods(i64),
    /// By a number of pods, and `reservedMemory` is right for none: with it a kubelet starts on no instance. With this number a
    /// proposal keeps the most of it.
    ForNoPods(i64),
    /// By the number of pods if something sets that, and `reservedMemory` is right if nothing does.
    UnlessPodsAreSet,
    /// By the number of pods, and nothing tells for how many.
    ByPods,
    /// By the size of the node.
    BySize,
    /// By the size of the node, unless the cluster was updated from a release that did not, and reserves fixed amounts.
    FixedUnlessSized,
    /// Something is set beneath the configuration, and it is not known what.
    Unknown,
}
