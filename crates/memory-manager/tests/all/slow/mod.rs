//! The kubelet's way: every node set is listed, every table is a row.

use std::collections::BTreeMap;

use pod_spec::{Pod, Role};

use crate::pods::Node;

/// One page of 2Mi.
pub(crate) const PAGE: u64 = 2 << 20;

/// Huge pages and memory, in order of their names.
pub(crate) const RESOURCES: [&str; 2] = ["hugepages-2Mi", "memory"];

/// What is asked of each resource; `None`: it is not asked for.
pub(crate) type Asked = [Option<u64>; 2];

/// Nodes as bits.
pub(crate) type Mask = u64;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row {
    pub(crate) allocatable: u64,
    pub(crate) reserved: u64,
    pub(crate) free: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeState {
    pub(crate) assignments: i64,
    pub(crate) cells: Mask,
    pub(crate) rows: [Row; 2],
}

/// One block: node set, resource, bytes.
pub(crate) type Block = (Mask, usize, u64);

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<NodeState>,
    pub(crate) entries: BTreeMap<(String, String), Vec<Block>>,
    reusable: BTreeMap<String, BTreeMap<(Mask, usize), u64>>,
}

impl Model {
    pub(crate) fn new(nodes: &[Node], kept: u64) -> Self {
        let state = |(at, (memory, pages)): (usize, &Node)| {
            let huge = pages * PAGE;
            let own = if at == 0 { kept } else { 0 };
            let left = memory.wrapping_sub(own).wrapping_sub(huge);
            let row = |free| Row { allocatable: free, reserved: 0, free };
            NodeState { assignments: 0, cells: 1 << at, rows: [row(huge), row(left)] }
        };
        Self {
            nodes: nodes.iter().enumerate().map(state).collect(),
            entries: BTreeMap::new(),
            reusable: BTreeMap::new(),
        }
    }

    /// Every node set that can hold the request, with whether it is preferred, in the kubelet's order.
    pub(crate) fn hints(&self, pod: &str, asked: Asked) -> Vec<(Mask, bool)> {
        if asked == [None, None] {
            return Vec::new();
        }
        let mut masks: Vec<Mask> = (1..1 << self.nodes.len()).collect();
        // Within a size by ascending node numbers, compared one after the other.
        masks.sort_by_key(|mask| (mask.count_ones(), members(*mask).collect::<Vec<_>>()));
        let mut least = u32::try_from(self.nodes.len()).unwrap();
        let mut found = Vec::new();
        for mask in masks {
            if !self.holds(mask, asked, |row| row.allocatable, |_| 0) {
                continue;
            }
            least = least.min(mask.count_ones());
            let single = mask.is_power_of_two();
            let fits = members(mask).all(|at| {
                let node = &self.nodes[at];
                let alone = node.cells.is_power_of_two();
                if single { alone } else { node.assignments == 0 || !alone && node.cells == mask }
            });
            if fits && self.holds(mask, asked, |row| row.free, |resource| self.left(pod, mask, resource)) {
                found.push(mask);
            }
        }
        found.into_iter().map(|mask| (mask, mask.count_ones() == least)).collect()
    }

    fn holds(&self, mask: Mask, asked: Asked, of: impl Fn(&Row) -> u64, more: impl Fn(usize) -> u64) -> bool {
        asked.iter().enumerate().all(|(resource, bytes)| {
            let Some(bytes) = bytes else { return true };
            let on = members(mask).map(|at| of(&self.nodes[at].rows[resource]));
            on.fold(0_u64, u64::wrapping_add).wrapping_add(more(resource)) >= *bytes
        })
    }

    fn left(&self, pod: &str, mask: Mask, resource: usize) -> u64 {
        self.reusable.get(pod).and_then(|left| left.get(&(mask, resource))).copied().unwrap_or(0)
    }

    /// Serves one container near `hint`; the kubelet's text on refusal.
    pub(crate) fn allocate(
        &mut self,
        pod: &Pod,
        name: &str,
        asked: Asked,
        hint: (Option<Mask>, bool),
    ) -> Result<(), &'static str> {
        let uid = pod.uid.as_str();
        let key = (uid.to_owned(), name.to_owned());
        let role = pod.containers.iter().find(|own| own.name.as_str() == name).unwrap().role;
        if let Some(blocks) = self.entries.get(&key).cloned() {
            self.update_reusable(uid, role, &blocks);
            return Ok(());
        }
        let (mut mask, mut preferred) = (hint.0.unwrap_or(0), hint.1);
        if hint.0.is_none() {
            let best = best(self.hints(uid, asked)).ok_or(
                "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
            )?;
            if hint.1 && !best.1 {
                return Err("[memorymanager] failed to find the default preferred hint");
            }
            (mask, preferred) = best;
        }
        if !self.holds(mask, asked, |row| row.free, |_| 0) {
            let around = self.hints(uid, asked).into_iter().filter(|(wider, _)| wider & mask == mask);
            let best = best(around)
                .ok_or("[memorymanager] failed to find NUMA nodes to extend the current topology hint")?;
            if preferred && !best.1 {
                return Err("[memorymanager] failed to find the extended preferred hint");
            }
            mask = best.0;
        }
        let bound = |at: usize| {
            let node = &self.nodes[at];
            node.assignments > 0 && (node.cells.is_power_of_two() || node.cells != mask)
        };
        if mask.count_ones() > 1 && members(mask).any(bound) {
            return Err("[memorymanager] preferred hint violates NUMA node allocation");
        }
        let mut blocks = Vec::new();
        for (resource, bytes) in asked.iter().enumerate() {
            let Some(bytes) = *bytes else { continue };
            blocks.push((mask, resource, bytes));
            self.book(mask, resource, bytes.saturating_sub(self.left(uid, mask, resource)));
        }
        self.update_reusable(uid, role, &blocks);
        self.entries.insert(key, blocks.clone());
        self.shrink(pod, name, &blocks);
        Ok(())
    }

    fn book(&mut self, mask: Mask, resource: usize, mut amount: u64) {
        for at in members(mask) {
            let node = &mut self.nodes[at];
            node.assignments += 1;
            node.cells = mask;
            let row = &mut node.rows[resource];
            let taken = row.free.min(amount);
            row.reserved += taken;
            row.free -= taken;
            amount -= taken;
        }
    }

    fn update_reusable(&mut self, uid: &str, role: Role, blocks: &[Block]) {
        self.reusable.retain(|pod, _| pod == uid);
        let left = self.reusable.entry(uid.to_owned()).or_default();
        for (mask, resource, bytes) in blocks {
            let own = left.entry((*mask, *resource)).or_default();
            *own = if role == Role::Init { *bytes.max(own) } else { own.saturating_sub(*bytes) };
        }
    }

    fn shrink(&mut self, pod: &Pod, name: &str, blocks: &[Block]) {
        for (mask, resource, bytes) in blocks {
            let mut left = *bytes;
            for earlier in pod.containers.iter().take_while(|own| own.name.as_str() != name) {
                let key = (pod.uid.as_str().to_owned(), earlier.name.as_str().to_owned());
                let Some(own) = self.entries.get_mut(&key).filter(|_| earlier.role == Role::Init) else {
                    continue;
                };
                for (of, kind, size) in own.iter_mut() {
                    if *of == *mask && *kind == *resource {
                        let taken = left.min(*size);
                        *size -= taken;
                        left -= taken;
                    }
                }
            }
        }
    }

    pub(crate) fn release(&mut self, pod: &str, name: &str) {
        let Some(blocks) = self.entries.remove(&(pod.to_owned(), name.to_owned())) else { return };
        for (mask, resource, bytes) in blocks {
            let mut left = bytes;
            for at in members(mask) {
                let node = &mut self.nodes[at];
                node.assignments -= 1;
                if node.assignments == 0 {
                    node.cells = 1 << at;
                }
                let row = &mut node.rows[resource];
                let given = row.reserved.min(left);
                row.free += given;
                row.reserved -= given;
                left -= given;
            }
        }
    }
}

/// Preferred before not preferred, then the fewest nodes, then the smallest number.
fn best(hints: impl IntoIterator<Item = (Mask, bool)>) -> Option<(Mask, bool)> {
    hints.into_iter().min_by_key(|(mask, preferred)| (!preferred, mask.count_ones(), *mask))
}

fn members(mask: Mask) -> impl Iterator<Item = usize> {
    (0..64).filter(move |at| mask >> at & 1 == 1)
}
