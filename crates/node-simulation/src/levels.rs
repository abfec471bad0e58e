//! What is free on one machine, and its averages over time.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use node_cover::Solution;
use pod_spec::Unit;

use crate::fewest::fewest;
use crate::host::Host;
use crate::scheduler::lacking;
use crate::workload::Template;

/// What a kind of machine makes of the kinds of pods.
#[derive(Debug)]
pub(crate) struct Demands {
    /// By template: what has to have a place, by resource.
    of: Vec<Vec<u64>>,
    /// By template: on how few NUMA nodes it can be, when the machine is empty; `None` if it fits none.
    pub(crate) fewest: Vec<Option<Solution<u32>>>,
    /// By template: its share of the mix; 0 where the machine lacks a resource that it asks for.
    weights: Vec<u64>,
}

impl Demands {
    pub(crate) fn new(host: &Host<'_>, templates: &[Template]) -> Self {
        let of: Vec<Vec<u64>> =
            templates.iter().map(|template| host.demand(Unit::Pod(&template.pod))).collect();
        let fewest = of.iter().map(|asked| fewest(&host.capacity, host.numa(), asked)).collect();
        // What a machine has none of is no demand that it could meet.
        let weight = |template: &Template| {
            if lacking(host, template).is_empty() { u64::from(template.weight.0.get()) } else { 0 }
        };
        let weights = templates.iter().map(weight).collect();
        Self { of, fewest, weights }
    }

    /// Of the pods that what is free would hold in sum, the share for which no single node has room.
    #[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
    pub(crate) fn fragmentation(&self, free: &[u64], numa: usize) -> f64 {
        let (mut in_sum, mut on_nodes) = (0_u64, 0_u64);
        for ((asked, fewest), weight) in self.of.iter().zip(&self.fewest).zip(&self.weights) {
            if fewest.is_none_or(|fewest| fewest.into_inner() != 1) {
                continue;
            }
            let rows = || free.chunks(numa.max(1)).zip(asked).filter(|(_, asked)| **asked > 0);
            let whole = rows()
                .map(|(row, asked)| row.iter().fold(0_u64, |sum, own| sum.saturating_add(*own)) / asked);
            let here = |node| rows().map(|(row, asked)| row.get(node).copied().unwrap_or(0) / asked).min();
            in_sum += weight * whole.min().unwrap_or(0);
            on_nodes += weight * (0..numa).filter_map(here).sum::<u64>();
        }
        if in_sum == 0 { 0.0 } else { in_sum.saturating_sub(on_nodes) as f64 / in_sum as f64 }
    }
}

impl Demands {
    /// By NUMA node: for which share of the pods of the mix that a single node can hold there is no room on it. What is free
    /// there is of no use to them: the fragmentation measure of FGD (Weng et al., USENIX ATC 2023).
    #[expect(clippy::cast_precision_loss, reason = "weights are small")]
    pub(crate) fn without_room(&self, free: &[u64], numa: usize) -> Vec<f64> {
        let (mut without, mut all) = (vec![0_u64; numa], 0);
        for ((asked, fewest), weight) in self.of.iter().zip(&self.fewest).zip(&self.weights) {
            if fewest.is_none_or(|fewest| fewest.into_inner() != 1) {
                continue;
            }
            all += weight;
            for (node, without) in without.iter_mut().enumerate() {
                let mut rows = free.chunks(numa.max(1)).zip(asked);
                let has_room =
                    rows.all(|(row, asked)| row.get(node).copied().unwrap_or(0) >= *asked || *asked == 0);
                if !has_room {
                    *without += weight;
                }
            }
        }
        without.into_iter().map(|own| if all == 0 { 0.0 } else { own as f64 / all as f64 }).collect()
    }
}

/// What is free now, and the sums over time.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub(crate) free: Vec<u64>,
    fragmentation: f64,
    since: Duration,
    /// By resource and NUMA node: what was held, in amount times seconds.
    held_seconds: Vec<f64>,
    fragmentation_seconds: f64,
    /// By NUMA node: the share of the mix that has no room there.
    without_room: Vec<f64>,
    /// By resource and NUMA node: what was free and of no use to that share, in amount times seconds.
    stranded_seconds: Vec<f64>,
}

impl Levels {
    pub(crate) fn new(host: &Host<'_>, demands: &Demands) -> Self {
        let free = host.capacity.to_vec();
        Self {
            fragmentation: demands.fragmentation(&free, host.numa()),
            held_seconds: vec![0.0; free.len()],
            without_room: demands.without_room(&free, host.numa()),
            stranded_seconds: vec![0.0; free.len()],
            free,
            since: Duration::ZERO,
            fragmentation_seconds: 0.0,
        }
    }

    /// Counts what was so until `now`, before it changes.
    #[expect(clippy::cast_precision_loss, reason = "an average of bytes needs no more than 53 bits")]
    pub(crate) fn advance(&mut self, capacity: &[u64], now: Duration) {
        let seconds = now.saturating_sub(self.since).as_secs_f64();
        self.since = now;
        for ((sum, free), all) in self.held_seconds.iter_mut().zip(&self.free).zip(capacity) {
            *sum += all.saturating_sub(*free) as f64 * seconds;
        }
        self.fragmentation_seconds += self.fragmentation * seconds;
        let nodes = self.without_room.iter().cycle();
        for ((sum, free), without) in self.stranded_seconds.iter_mut().zip(&self.free).zip(nodes) {
            *sum += *free as f64 * without * seconds;
        }
    }

    /// What is free has changed.
    pub(crate) fn changed(&mut self, demands: &Demands, numa: usize) {
        self.fragmentation = demands.fragmentation(&self.free, numa);
        self.without_room = demands.without_room(&self.free, numa);
    }

    /// The share of each amount that was free and of no use to pods of the mix, on the average; 0 if no time has passed.
    #[expect(clippy::cast_precision_loss, reason = "an average of bytes needs no more than 53 bits")]
    pub(crate) fn stranded(&self, capacity: &[u64]) -> Vec<f64> {
        let seconds = self.since.as_secs_f64();
        let share = |(sum, all): (&f64, &u64)| {
            if *all == 0 || seconds <= 0.0 { 0.0 } else { sum / seconds / *all as f64 }
        };
        self.stranded_seconds.iter().zip(capacity).map(share).collect()
    }

    /// The share of each amount that was held on the average; of the last moment if no time has passed.
    #[expect(clippy::cast_precision_loss, reason = "an average of bytes needs no more than 53 bits")]
    pub(crate) fn held(&self, capacity: &[u64]) -> Vec<f64> {
        let seconds = self.since.as_secs_f64();
        let share = |((sum, free), all): ((&f64, &u64), &u64)| match (*all, seconds > 0.0) {
            (0, _) => 0.0,
            (all, true) => sum / seconds / all as f64,
            (all, false) => all.saturating_sub(*free) as f64 / all as f64,
        };
        self.held_seconds.iter().zip(&self.free).zip(capacity).map(share).collect()
    }

    /// The same of the fragmentation.
    pub(crate) fn fragmentation(&self) -> f64 {
        let seconds = self.since.as_secs_f64();
        if seconds > 0.0 { self.fragmentation_seconds / seconds } else { self.fragmentation }
    }
}
