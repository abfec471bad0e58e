//! The devices of one resource as last listed, prepared for decisions: in byte order of ids, each with the known
//! nodes as a mask, and grouped by that mask.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use node_cover::{Coverage, Solution, Steps};
use numa_bitmask::NodeMask;
use topology_model::{NodeId, Nodes};

use crate::device::{Device, DeviceId, Topology};

/// The last list of a plugin. Immutable; every message makes a new one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DeviceList {
    /// In byte order of ids, each id once.
    entries: Vec<Entry>,
    /// The distinct masks of the devices.
    places: Vec<NodeMask>,
    /// The nodes of any device.
    nodes: NodeMask,
    /// Whether any device lists a node, known or not.
    aligned: bool,
    coverage: Solution<Coverage>,
}

/// One device of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) device: Device,
    /// The nodes of the machine that it lists.
    pub(crate) mask: NodeMask,
    /// Whether it lists a node, known or not; -1 is none.
    pub(crate) lists_a_node: bool,
    /// Position of its mask among the list's places.
    pub(crate) place: usize,
    /// In which of the two sets it is: in both when the list had it twice, healthy and not.
    pub(crate) standing: Standing,
}

/// Of which of the kubelet's two sets a device is a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) healthy: bool,
    pub(crate) unhealthy: bool,
}

impl DeviceList {
    pub(crate) fn new(devices: impl IntoIterator<Item = Device>, nodes: &Nodes) -> Self {
        let entry = |device: Device| {
            let healthy = device.health == crate::Health::Healthy;
            let standing = Standing { healthy, unhealthy: !healthy };
            let mask = nodes.mask_of(device.topology.ids().iter().copied());
            let lists_a_node = device.topology.ids().iter().any(|id| *id != NodeId(-1));
            Entry { device, mask, lists_a_node, place: 0, standing }
        };
        let mut entries: Vec<Entry> = devices.into_iter().map(entry).collect();
        // Keeps the order of those with the same id, of which the last one stays, a member of the sets of all.
        entries.sort_by(|a, b| a.device.id.cmp(&b.device.id));
        entries.dedup_by(|later, kept| {
            let is_same = later.device.id == kept.device.id;
            if is_same {
                later.standing.healthy |= kept.standing.healthy;
                later.standing.unhealthy |= kept.standing.unhealthy;
                core::mem::swap(later, kept);
            }
            is_same
        });
        Self::of(entries)
    }

    /// The same devices on a machine with other nodes.
    pub(crate) fn on(&self, nodes: &Nodes) -> Self {
        let entries = self.entries.iter().map(|entry| {
            let mask = nodes.mask_of(entry.device.topology.ids().iter().copied());
            Entry { mask, ..entry.clone() }
        });
        Self::of(entries.collect())
    }

    fn of(mut entries: Vec<Entry>) -> Self {
        let mut counts: BTreeMap<NodeMask, u64> = BTreeMap::new();
        for entry in &entries {
            *counts.entry(entry.mask).or_default() += 1;
        }
        let places: Vec<NodeMask> = counts.keys().copied().collect();
        for entry in &mut entries {
            entry.place = places.binary_search(&entry.mask).unwrap_or_default();
        }
        Self {
            nodes: places.iter().fold(NodeMask::EMPTY, |all, mask| all | *mask),
            aligned: entries.iter().any(|entry| !entry.device.topology.ids().is_empty()),
            coverage: Coverage::new(counts, &mut Steps::default()),
            places,
            entries,
        }
    }

    /// In byte order of ids.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn get(&self, id: &DeviceId) -> Option<&Entry> {
        self.entries.binary_search_by(|entry| entry.device.id.cmp(id)).ok().map(|at| &self.entries[at])
    }

    pub(crate) fn topology(&self, id: &DeviceId) -> Option<&Topology> {
        self.get(id).map(|entry| &entry.device.topology)
    }

    /// The distinct masks, in ascending order.
    pub(crate) fn places(&self) -> &[NodeMask] {
        &self.places
    }

    /// The known nodes of all devices, whatever their health.
    pub(crate) const fn nodes(&self) -> NodeMask {
        self.nodes
    }

    /// Whether the devices care about alignment: at least one lists a node, even one that the machine lacks.
    pub(crate) const fn is_aligned(&self) -> bool {
        self.aligned
    }

    /// The size of the smallest node sets that have `count` devices, held or free, healthy or not; `None` if no
    /// node set has that many.
    pub(crate) fn narrowest(&self, count: u64) -> Option<Solution<u32>> {
        match &self.coverage {
            Solution::Exact(coverage) => coverage.narrowest(count).map(Solution::Exact),
            Solution::Cut(coverage) => coverage.narrowest(count).map(Solution::Cut),
        }
    }

    /// The devices whose health is not what it was, or that were not there before.
    pub(crate) fn changed_since(&self, before: &Self) -> Vec<DeviceId> {
        let mut before = before.entries.iter().map(|entry| &entry.device).peekable();
        let is_changed = |device: &&Device| {
            while before.next_if(|old| old.id < device.id).is_some() {}
            !before.peek().is_some_and(|old| old.id == device.id && old.health == device.health)
        };
        let devices = self.entries.iter().map(|entry| &entry.device);
        devices.filter(is_changed).map(|device| device.id.clone()).collect()
    }

    /// All healthy devices become unhealthy: what happens when a plugin goes away.
    pub(crate) fn lose(&mut self) {
        for Entry { standing, .. } in &mut self.entries {
            standing.unhealthy |= standing.healthy;
            standing.healthy = false;
        }
    }

    /// No device is in any of the two sets: what happens when the resource is forgotten.
    pub(crate) fn forget(&mut self) {
        for entry in &mut self.entries {
            entry.standing = Standing::default();
        }
    }

    pub(crate) fn healthy(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.standing.healthy)
    }

    pub(crate) fn unhealthy(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.standing.unhealthy)
    }

    pub(crate) fn is_healthy(&self, id: &DeviceId) -> bool {
        self.get(id).is_some_and(|entry| entry.standing.healthy)
    }
}
