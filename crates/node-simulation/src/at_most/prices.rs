//! The Lagrange dual of admitting as many pods as the classes allow, parts of pods counted.
//!
//! At every arrival each class has a price. A pod pays for what it takes, at all arrivals during which it runs; it gains what is
//! left of 1, or stays away. For any prices that are not negative the gains and the prices together are no less than the
//! most pods that can be admitted. Prices rise where more runs than there is and fall where less does, until that sum is hardly smaller any
//! more (Polyak's step, with momentum). Whatever the number of steps, the result is an upper bound.

use alloc::vec;
use alloc::vec::Vec;

use super::classes::Class;
use crate::workload::Arrival;

/// Steps at most; most runs need half of them.
const STEPS: u32 = 400;
/// After so many steps without a smaller sum the step is halved, and the best prices are taken up again.
const PATIENCE: u32 = 10;
/// Below this factor of the step the search ends.
const SMALLEST_STEP: f64 = 1e-3;
/// How much of the last direction is kept.
const MOMENTUM: f64 = 0.6;
/// By how much of a pod a sum must be smaller to count as such.
const PROGRESS: f64 = 1e-3;

/// One pod: its kind, and at how many arrivals from its own on it would run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stay {
    template: usize,
    arrivals: usize,
}

/// When each pod would run. At the same moment pods leave first.
pub(super) fn stays(arrivals: &[Arrival], templates: usize) -> Vec<Stay> {
    let known = arrivals.iter().filter(|arrival| arrival.template < templates);
    let known: Vec<&Arrival> = known.collect();
    let stay = |(number, arrival): (usize, &&Arrival)| {
        let end = arrival.stays.map_or(known.len(), |stays| {
            let leaves = arrival.at.saturating_add(stays);
            known.partition_point(|other| other.at < leaves).max(number + 1)
        });
        Stay { template: arrival.template, arrivals: end - number }
    };
    known.iter().enumerate().map(stay).collect()
}

/// How many of `pods` stay away at least, when `reached` are known to be admitted.
pub(super) fn refused_at_least(classes: &[Class], pods: &[Stay], reached: u64) -> u64 {
    let problem = Problem { classes, pods };
    #[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
    let (all, reached) = (pods.len() as f64, reached as f64);
    let most = problem.least_sum(reached).clamp(reached, all);
    // A part of a pod that stays away is a whole one; a rounding error of the sum is none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is from 0 to their number"
    )]
    let refused = libm::ceil((all - most - 1e-6).max(0.0)) as u64;
    refused
}

struct Problem<'a> {
    classes: &'a [Class],
    pods: &'a [Stay],
}

/// One number for each class at each arrival, arrival after arrival.
type Table = Vec<f64>;

impl Problem<'_> {
    /// The smallest sum of gains and prices that was found.
    fn least_sum(&self, reached: f64) -> f64 {
        let cells = self.classes.len() * self.pods.len();
        let (mut prices, mut direction) = (vec![0.0; cells], vec![0.0; cells]);
        let (mut best, mut best_prices) = (f64::INFINITY, prices.clone());
        let (mut factor, mut waited) = (1.0, 0);
        for _ in 0..STEPS {
            let (sum, free) = self.at(&prices);
            if sum < best - PROGRESS {
                best = sum;
                best_prices.clone_from(&prices);
                waited = 0;
            } else {
                waited += 1;
                if waited >= PATIENCE {
                    factor /= 2.0;
                    waited = 0;
                    prices.clone_from(&best_prices);
                }
                if factor < SMALLEST_STEP {
                    break;
                }
            }
            let mut length = 0.0;
            for ((own, free), price) in direction.iter_mut().zip(&free).zip(&prices) {
                // A price of 0 cannot fall.
                let slope = if *price <= 0.0 && *free > 0.0 { 0.0 } else { *free };
                *own = slope + MOMENTUM * *own;
                length += *own * *own;
            }
            if length <= 0.0 || sum <= reached {
                break;
            }
            let step = factor * (sum - reached) / length;
            for (price, own) in prices.iter_mut().zip(&direction) {
                *price = (*price - step * own).max(0.0);
            }
        }
        best
    }

    /// The sum of gains and prices, and what is left of each class if those that gain run: the slope of the sum.
    fn at(&self, prices: &Table) -> (f64, Table) {
        let (width, length) = (self.classes.len(), self.pods.len());
        // Sums of prices over the arrivals before each.
        let mut before = vec![0.0; width * (length + 1)];
        for arrival in 0..length {
            for class in 0..width {
                let at = arrival * width + class;
                let sum = cell(&before, at) + cell(prices, at);
                set(&mut before, at + width, sum);
            }
        }
        let mut sum: f64 = prices.iter().sum();
        let mut changes = vec![0.0; width * (length + 1)];
        for (number, pod) in self.pods.iter().enumerate() {
            let (from, to) = (number * width, (number + pod.arrivals).min(length) * width);
            let takes = || self.classes.iter().map(|class| cell(class, pod.template)).enumerate();
            let paid: f64 = takes()
                .map(|(class, own)| own * (cell(&before, to + class) - cell(&before, from + class)))
                .sum();
            if paid < 1.0 {
                sum += 1.0 - paid;
                for (class, own) in takes().filter(|(_, own)| *own > 0.0) {
                    let (begin, end) = (cell(&changes, from + class) + own, cell(&changes, to + class) - own);
                    set(&mut changes, from + class, begin);
                    set(&mut changes, to + class, end);
                }
            }
        }
        let mut taken = vec![0.0; width];
        let free = (0..width * length).map(|at| {
            let class = at % width.max(1);
            let now = cell(&taken, class) + cell(&changes, at);
            set(&mut taken, class, now);
            1.0 - now
        });
        let free = free.collect();
        (sum, free)
    }
}

fn cell(table: &[f64], at: usize) -> f64 {
    table.get(at).copied().unwrap_or(0.0)
}

fn set(table: &mut [f64], at: usize, value: f64) {
    if let Some(cell) = table.get_mut(at) {
        *cell = value;
    }
}
