//! The Lagrange dual of admitting as many pods as the classes allow, parts of pods counted.
//!
//! At every arrival each class has a price. A pod pays for what it takes, at all arrivals during which it runs; it gains what is
//! left of 1, or stays away. For any prices that are not negative the gains and the prices together are no less than the
//! most pods that can be admitted. Prices rise where more runs than there is and fall where less does, until that sum is
//! hardly smaller any more (Polyak's step, with momentum). Whatever the number of steps, the result is an upper bound.
//!
//! Where all pods together would not take more of a class than there is, its price stays 0: such moments are left out.

use alloc::vec;
use alloc::vec::Vec;

use super::classes::Class;
use crate::workload::Arrival;

/// Steps at most; most runs need half of them.
const STEPS: u32 = 300;
/// After so many steps without a smaller sum the step is halved, and the best prices are taken up again.
const PATIENCE: u32 = 8;
/// Below this factor of the step the search ends.
const SMALLEST_STEP: f64 = 1e-2;
/// How much of the last direction is kept.
const MOMENTUM: f64 = 0.6;
/// By how much of a pod a sum must be smaller to count as such.
const PROGRESS: f64 = 1e-2;

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

/// What all pods would take of one class at the moments that matter.
struct Tight {
    /// By pod: from which to before which of the moments it would run, and what it takes then.
    pods: Vec<Taken>,
    moments: usize,
}

/// What one pod takes.
struct Taken {
    pod: usize,
    from: usize,
    to: usize,
    share: f64,
}

/// Who comes, and the classes that are ever short.
pub(super) struct Problem {
    pods: usize,
    tight: Vec<Tight>,
}

/// What one class costs at its moments.
type Prices = Vec<f64>;

impl Problem {
    pub(super) fn new(classes: &[Class], pods: &[Stay]) -> Self {
        let tight = classes.iter().filter_map(|class| Tight::new(class, pods)).collect();
        Self { pods: pods.len(), tight }
    }

    /// How many pods stay away at least, when `reached` are known to be admitted.
    pub(super) fn refused_at_least(&self, reached: u64) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
        let (all, reached) = (self.pods as f64, reached as f64);
        let most = self.least_sum(reached).clamp(reached.min(all), all);
        // A part of a pod that stays away is a whole one; a rounding error of the sum is none.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is from 0 to their number"
        )]
        let refused = libm::ceil((all - most - 1e-6).max(0.0)) as u64;
        refused
    }

    /// The smallest sum of gains and prices that was found.
    fn least_sum(&self, reached: f64) -> f64 {
        let nothing = || self.tight.iter().map(|own| vec![0.0; own.moments]).collect::<Vec<Prices>>();
        let (mut prices, mut direction) = (nothing(), nothing());
        let (mut best, mut best_prices) = (f64::INFINITY, nothing());
        let (mut factor, mut waited) = (1.0, 0);
        for _ in 0..STEPS {
            let (sum, gains) = self.gains(&prices);
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
            for ((tight, direction), prices) in self.tight.iter().zip(&mut direction).zip(&prices) {
                length += tight.turn(&gains, prices, direction);
            }
            if length <= 0.0 || sum <= reached {
                break;
            }
            let step = factor * (sum - reached) / length;
            for (price, own) in prices.iter_mut().flatten().zip(direction.iter().flatten()) {
                *price = (*price - step * own).max(0.0);
            }
        }
        best
    }

    /// The sum of gains and prices, and what each pod gains: less than 0 if it stays away.
    fn gains(&self, prices: &[Prices]) -> (f64, Vec<f64>) {
        let mut gains = vec![1.0; self.pods];
        let mut sum = 0.0;
        let mut before = Vec::new();
        for (tight, prices) in self.tight.iter().zip(prices) {
            // Sums of the prices before each moment.
            before.clear();
            before.push(0.0);
            let mut all = 0.0;
            for price in prices {
                all += price;
                before.push(all);
            }
            sum += all;
            for Taken { pod, from, to, share } in &tight.pods {
                if let (Some(gain), Some(from), Some(to)) =
                    (gains.get_mut(*pod), before.get(*from), before.get(*to))
                {
                    *gain -= share * (to - from);
                }
            }
        }
        (sum + gains.iter().map(|gain| gain.max(0.0)).sum::<f64>(), gains)
    }
}

impl Tight {
    /// `None` if there is always enough for all pods.
    fn new(class: &Class, pods: &[Stay]) -> Option<Self> {
        let share = |pod: &Stay| class.get(pod.template).copied().unwrap_or(0.0);
        let end = |number: usize, pod: &Stay| (number + pod.arrivals).min(pods.len());
        let mut changes = vec![0.0; pods.len() + 1];
        for (number, pod) in pods.iter().enumerate().filter(|(_, pod)| share(pod) > 0.0) {
            add(&mut changes, number, share(pod));
            add(&mut changes, end(number, pod), -share(pod));
        }
        // By arrival: how many moments that matter are before it.
        let mut earlier = vec![0];
        let (mut taken, mut moments) = (0.0, 0);
        for change in changes.iter().take(pods.len()) {
            taken += change;
            moments += usize::from(taken > 1.0);
            earlier.push(moments);
        }
        let moment = |arrival: usize| earlier.get(arrival).copied().unwrap_or(moments);
        let known = pods.iter().enumerate().map(|(number, pod)| Taken {
            pod: number,
            from: moment(number),
            to: moment(end(number, pod)),
            share: share(pod),
        });
        let pods = known.filter(|taken| taken.share > 0.0 && taken.from < taken.to).collect();
        (moments > 0).then_some(Self { pods, moments })
    }

    /// Turns `direction` towards the slope of the sum: what is left of the class if those that gain run. Says how long it is
    /// then, squared.
    fn turn(&self, gains: &[f64], prices: &Prices, direction: &mut Prices) -> f64 {
        let mut changes = vec![0.0; self.moments + 1];
        for Taken { pod, from, to, share } in &self.pods {
            if gains.get(*pod).is_some_and(|gain| *gain > 0.0) {
                add(&mut changes, *from, *share);
                add(&mut changes, *to, -share);
            }
        }
        let (mut taken, mut length) = (0.0, 0.0);
        for ((own, change), price) in direction.iter_mut().zip(&changes).zip(prices) {
            taken += change;
            // A price of 0 cannot fall.
            let slope = if *price <= 0.0 && taken < 1.0 { 0.0 } else { 1.0 - taken };
            *own = slope + MOMENTUM * *own;
            length += *own * *own;
        }
        length
    }
}

fn add(table: &mut [f64], at: usize, value: f64) {
    if let Some(cell) = table.get_mut(at) {
        *cell += value;
    }
}
