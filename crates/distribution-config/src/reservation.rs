//! What is known of the memory that is reserved beside a configuration.

/// How much memory is reserved for the kubelet and the system beside what a configuration says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reservation {
    /// Nothing, or it is known.
    #[default]
    Known,
    /// By the number of pods, and this is the number with which `reservedMemory` is right.
    ForPods(i64),
    /// By the number of pods, and `reservedMemory` is right with no number: the kubelet starts on no instance. A proposal takes
    /// this number, with which most of `reservedMemory` can stay.
    ForNoPods(i64),
    /// By the number of pods if one is set, and `reservedMemory` is right as long as none is.
    UnlessPodsAreSet,
    /// By the number of pods, which is not known.
    ByPods,
    /// By the size of the node.
    BySize,
    /// By the size of the node, unless the cluster was updated from a release that did not, and reserves fixed amounts.
    FixedUnlessSized,
    /// Something is set beneath the configuration, and it is not known what.
    Unknown,
}
