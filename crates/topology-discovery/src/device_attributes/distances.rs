//! The NUMA nodes of a package that are closest to one.

use std::collections::BTreeSet;

use cpuset::{CpuId, CpuSet, go_atoi};

use super::files::Sysfs;

/// `numaNode` as a list. Which nodes are in it is not fixed where a node has CPUs of several packages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumaNodeList {
    node: i64,
    always: BTreeSet<i64>,
    sometimes: BTreeSet<i64>,
}

impl NumaNodeList {
    /// The device's own node, the first of the list.
    #[must_use]
    pub const fn node(&self) -> i64 {
        self.node
    }

    /// The nodes that are in the list in every run; the device's own is one of them.
    #[must_use]
    pub const fn always(&self) -> &BTreeSet<i64> {
        &self.always
    }

    /// The nodes that are in the list in some runs. Some of them can exclude each other.
    #[must_use]
    pub const fn sometimes(&self) -> &BTreeSet<i64> {
        &self.sometimes
    }

    /// The list as it is published, the device's own node first and the others in ascending order; `None` if it changes
    /// from run to run.
    #[must_use]
    pub fn fixed(&self) -> Option<Vec<i64>> {
        let others = self.always.iter().copied().filter(|node| *node != self.node);
        self.sometimes.is_empty().then(|| [self.node].into_iter().chain(others).collect())
    }
}

/// The list of a node, which is 0 or more. A node without a row of distances is alone in it.
pub(super) fn list(sysfs: &Sysfs<'_>, node: i64) -> NumaNodeList {
    let mut list = NumaNodeList { node, always: BTreeSet::from([node]), sometimes: BTreeSet::new() };
    let row = row(sysfs, node).unwrap_or_default();
    // An id is taken for a position, and the row has to be long enough for it.
    if usize::try_from(node).is_ok_and(|position| position < row.len()) {
        let others = || (0..).zip(&row).filter(|(other, _)| *other != node);
        let own = packages(sysfs, node);
        let least = least(others().map(|(_, distance)| *distance));
        for (other, _) in others().filter(|(_, distance)| Some(**distance) == least) {
            let others = packages(sysfs, other);
            let pairs = || own.iter().flat_map(|own| others.iter().map(move |other| may_share(*own, *other)));
            if pairs().all(|may| may) {
                list.always.insert(other);
            } else if pairs().any(|may| may) {
                list.sometimes.insert(other);
            }
        }
    }
    list
}

/// A node's row of distances by position; `None` if a part of it is no number, or if there is none.
fn row(sysfs: &Sysfs<'_>, node: i64) -> Option<Vec<i64>> {
    let text = sysfs.text(&format!("devices/system/node/node{node}/distance")).ok()?;
    text.split_whitespace().map(|distance| go_atoi(distance).ok()).collect()
}

/// The least of some distances, as the helpers find it: -1 counts as none so far.
fn least(distances: impl Iterator<Item = i64>) -> Option<i64> {
    let least =
        distances.fold(-1, |least, distance| if least == -1 || distance < least { distance } else { least });
    (least != -1).then_some(least)
}

/// A package by its number; `None` if it is not known.
type Package = Option<i64>;

/// A node is left out only if both packages are known and differ.
fn may_share(own: Package, other: Package) -> bool {
    own.zip(other).is_none_or(|(own, other)| own == other)
}

/// The packages that a node may be taken to belong to: those of its CPUs, of which one is drawn.
fn packages(sysfs: &Sysfs<'_>, node: i64) -> BTreeSet<Package> {
    let list = sysfs.text(&format!("devices/system/node/node{node}/cpulist"));
    let cpus: Option<CpuSet> = list.ok().and_then(|list| list.parse().ok());
    let package = |cpu: CpuId| {
        let text = sysfs.text(&format!("devices/system/cpu/cpu{}/topology/physical_package_id", cpu.get()));
        go_atoi(&text.ok()?).ok()
    };
    let packages: BTreeSet<Package> = cpus.iter().flatten().map(package).collect();
    if packages.is_empty() { BTreeSet::from([None]) } else { packages }
}
