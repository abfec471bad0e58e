//! Paths inside a tree: their names, how many links one path may lead through, and where a machine lies.

/// Links followed for one path before it is taken as a loop: the kernel's own limit.
pub(crate) const MAX_LINKS: usize = 40;

/// Folder of the CPUs.
pub(crate) const CPUS: &str = "sys/devices/system/cpu";

/// The most folders, one in the other, in which a machine is looked for: `sosreport`, `must-gather` and
/// `hwloc-gather-topology` pack theirs in a folder named after the node.
pub(crate) const MAX_ABOVE: usize = 3;

/// The names of a path, without those that mean nothing.
pub(crate) fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// What a path is, if a link at its end is not followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LinkTarget {
    /// A link, and where it leads to as it is written.
    Link(String),
    /// Something else.
    NotALink,
    /// Not there, or no text.
    Nothing,
}
