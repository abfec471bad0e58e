//! Taking CPUs out of a free set: the kubelet's packed order, stage by stage.
//!
//! 1. Whole NUMA nodes, then whole sockets; the other way round where sockets hold several nodes.
//! 2. With [`Order::ByCache`]: inside one last-level cache.
//! 3. Whole cores; not with [`Order::AcrossCores`].
//! 4. Single CPUs, those of the fullest cores first.
//!
//! A stage lists its units once, in the order of [`Units`], and takes each one that is free when the stage
//! begins and does not exceed what is still needed. *Free* is an equality of counts, for sockets and cores with the
//! machine's **average**: on a hybrid machine (one thread per core on average) a two-thread core with one busy
//! thread counts as free. [`BusySibling`] decides what happens then.
//!
//! Example: 2 sockets of 4 two-thread cores, CPU 0 busy, 9 wanted. No node is free except the second: 8 CPUs.
//! One is left: no core fits, so the sibling of CPU 0, whose core has the fewest free CPUs.
//!
//! With [`Fit::Best`] it says how many CPUs come from each node, and [`keep_whole`](crate::keep_whole) which.
//!
//! Cost: a few counts of set bits for each unit, and sorting short lists; none for units that are larger than what is
//! needed.

use cpuset::{CpuId, CpuSet};
use kubelet_release::AlignedShare;
use node_config::Fit;
use node_cover::Solution;
use thiserror::Error;
use topology_model::CpuTable;

use crate::sharing::NodeShare;
use crate::units::{Hierarchy, Order as UnitOrder, Unit, Units};
use crate::{Alignment, BusySibling, Order, WholeCores};

/// Why CPUs could not be taken. The texts are the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TakeError {
    /// There are too few.
    #[error("not enough cpus available to satisfy request: requested={requested}, available={available}")]
    NotEnough {
        /// How many were asked for in this step.
        requested: usize,
        /// How many were free in this step.
        available: usize,
    },
    /// All stages together came to less than was asked for.
    #[error("failed to allocate cpus")]
    Failed,
    /// The shares of the NUMA nodes came to less than was asked for.
    #[error("accounting error, not enough CPUs allocated, remaining: {0}")]
    TooFew(i64),
    /// The shares of the NUMA nodes came to more than was asked for.
    #[error("accounting error, too many CPUs allocated, remaining: {0}")]
    TooMany(i64),
}

/// The allocator alone: which CPUs of a free set make up a request.
#[derive(Clone, Debug)]
pub struct Allocator {
    pub(crate) units: Units,
    pub(crate) order: Order,
    pub(crate) whole_cores: WholeCores,
    pub(crate) busy_sibling: BusySibling,
    pub(crate) share: NodeShare,
    pub(crate) fit: Fit,
}

impl Allocator {
    /// The allocator of a machine without policy options: whole nodes, sockets and cores first, and free CPUs only.
    #[must_use]
    pub fn new(cpus: &CpuTable) -> Self {
        Self {
            units: Units::new(cpus),
            order: Order::default(),
            whole_cores: WholeCores::default(),
            busy_sibling: BusySibling::default(),
            share: NodeShare::Even,
            fit: Fit::First,
        }
    }

    /// The same in another order.
    #[must_use]
    pub fn with_order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The same with whole cores required. That matters to [`Order::AcrossNodes`] alone, which then hands out multiples of a
    /// core; the other orders take whole cores as far as they can anyway.
    #[must_use]
    pub fn with_whole_cores(self, whole_cores: WholeCores) -> Self {
        Self { whole_cores, ..self }
    }

    /// The same with what is done where a core's busy sibling goes unnoticed.
    #[must_use]
    pub fn with_busy_sibling(self, busy_sibling: BusySibling) -> Self {
        Self { busy_sibling, ..self }
    }

    /// The same with a release's rule for what each node gives with [`Order::AcrossNodes`]; without it shares are even.
    #[must_use]
    pub fn with_share(self, rule: AlignedShare, alignment: Alignment) -> Self {
        let share = match (rule, alignment) {
            (AlignedShare::Even, _) => NodeShare::Even,
            (AlignedShare::Lowered, Alignment::ByNode) => NodeShare::EvenIfThere,
            (AlignedShare::Lowered, Alignment::BySocket) => NodeShare::Lowered,
        };
        Self { share, ..self }
    }

    /// `count` CPUs of `free`; CPUs that the machine lacks are never taken.
    ///
    /// Under [`BusySibling::HandOut`] the result may hold CPUs that are not in `free`, or fewer than `count`.
    pub fn take(&self, free: &CpuSet, count: usize) -> Result<CpuSet, TakeError> {
        self.search(free, count).map(Solution::into_inner)
    }

    /// The same, and whether the search of [`Order::AcrossNodes`] was cut: then other CPUs might leave the nodes more even.
    pub fn search(&self, free: &CpuSet, count: usize) -> Result<Solution<CpuSet>, TakeError> {
        match self.order {
            Order::AcrossNodes => self.distributed(free, count),
            Order::Packed | Order::ByCache | Order::AcrossCores => {
                self.packed(free, count).map(Solution::Exact)
            }
        }
    }

    pub(crate) fn packed(&self, free: &CpuSet, count: usize) -> Result<CpuSet, TakeError> {
        let taken = self.in_order(self.order, free, count)?;
        match self.fit {
            Fit::First => Ok(taken),
            Fit::Best => Ok(self.fitted(taken, free)),
        }
    }

    /// What the stages of an order take.
    pub(crate) fn in_order(&self, order: Order, free: &CpuSet, count: usize) -> Result<CpuSet, TakeError> {
        let mut taking = Taking::new(self, free, count)?;
        for stage in self.stages(order) {
            if taking.need == 0 {
                break;
            }
            taking.stage(stage);
        }
        taking.finish()
    }

    fn stages(&self, order: Order) -> impl Iterator<Item = Stage> + use<> {
        let (smaller, larger) = match self.units.hierarchy {
            Hierarchy::NodesFirst => (Stage::Nodes, Stage::Sockets),
            Hierarchy::SocketsFirst => (Stage::Sockets, Stage::Nodes),
        };
        let (by_cache, by_core) = match order {
            Order::Packed | Order::AcrossNodes => (None, Some(Stage::Cores)),
            Order::ByCache => (Some(Stage::InOneCache), Some(Stage::Cores)),
            Order::AcrossCores => (None, None),
        };
        let singly = if order == Order::AcrossCores { Stage::CpusBySocket } else { Stage::CpusByCore };
        [Some(smaller), Some(larger), by_cache, by_core, Some(singly)].into_iter().flatten()
    }
}

/// One step of the packed order.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nodes,
    Sockets,
    InOneCache,
    Cores,
    CpusByCore,
    CpusBySocket,
}

/// One request under way.
pub(crate) struct Taking<'a> {
    pub(crate) units: &'a Units,
    busy_sibling: BusySibling,
    before: CpuSet,
    pub(crate) free: CpuSet,
    pub(crate) need: usize,
    taken: CpuSet,
}

impl<'a> Taking<'a> {
    pub(crate) fn new(allocator: &'a Allocator, free: &CpuSet, count: usize) -> Result<Self, TakeError> {
        let units = &allocator.units;
        let known = free & &units.all;
        if count > known.len() {
            return Err(TakeError::NotEnough { requested: count, available: free.len() });
        }
        Ok(Self {
            units,
            busy_sibling: allocator.busy_sibling,
            free: known.clone(),
            before: known,
            need: count,
            taken: CpuSet::new(),
        })
    }

    /// What was taken, if it was enough.
    pub(crate) fn finish(self) -> Result<CpuSet, TakeError> {
        if self.need == 0 { Ok(self.taken) } else { Err(TakeError::Failed) }
    }

    fn stage(&mut self, stage: Stage) {
        let units = self.units;
        match stage {
            Stage::Nodes => {
                self.full_units(&units.nodes, Units::node_order, |unit, free| free == unit.size);
            }
            Stage::Sockets => {
                let average = units.cpus_per_socket;
                self.full_units(&units.sockets, Units::socket_order, |_, free| free == average);
            }
            Stage::InOneCache => self.in_one_cache(),
            Stage::Cores => {
                let average = units.cpus_per_core;
                self.full_units(&units.cores, Units::core_order, |_, free| free == average);
            }
            Stage::CpusByCore => self.single_cpus(&units.cores, &units.core_order(&self.free)),
            Stage::CpusBySocket => self.single_cpus(&units.sockets, &units.socket_order(&self.free)),
        }
    }

    /// Takes the units that are free now and not larger than what is needed, in the order of their kind.
    pub(crate) fn full_units(
        &mut self,
        units: &[Unit],
        order: impl FnOnce(&Units, &CpuSet) -> UnitOrder,
        is_free: impl Fn(&Unit, usize) -> bool,
    ) {
        // Most containers need less than a node.
        if units.iter().all(|unit| unit.size > self.need) {
            return;
        }
        for listed in order(self.units, &self.free) {
            if self.need == 0 {
                return;
            }
            let unit = &units[listed.at];
            if is_free(unit, listed.free) && self.need >= unit.size {
                self.claim(&unit.cpus);
            }
        }
    }

    /// Takes CPUs one by one, in ascending order in each of the units. What is free is fixed at the start.
    fn single_cpus(&mut self, units: &[Unit], order: &UnitOrder) {
        let free = self.free.clone();
        for listed in order {
            for cpu in units[listed.at].cpus.iter().filter(|cpu| free.contains(*cpu)) {
                if self.need == 0 {
                    return;
                }
                self.claim_one(cpu);
            }
        }
    }

    /// Takes `cpus`, of which there are no more than needed.
    pub(crate) fn claim(&mut self, cpus: &CpuSet) {
        match self.busy_sibling {
            BusySibling::HandOut => {
                self.need = self.need.saturating_sub(cpus.len());
                self.taken |= cpus;
            }
            BusySibling::Skip => {
                self.need = self.need.saturating_sub(cpus.intersection_len(&self.free));
                self.taken |= cpus;
                self.taken &= &self.before;
            }
        }
        self.free -= cpus;
    }

    /// Takes one CPU that was free when it was listed.
    fn claim_one(&mut self, cpu: CpuId) {
        let is_free = self.free.remove(cpu);
        if is_free || self.busy_sibling == BusySibling::HandOut {
            self.taken.insert(cpu);
            self.need -= 1;
        }
    }
}
