//! Which pods come when, and for how long they stay.

use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::time::Duration;

use pod_spec::Pod;

use crate::distribution::Distribution;
use crate::random::Random;

/// A kind of pod.
#[derive(Clone, Debug)]
pub struct Template {
    /// What it is called in results.
    pub name: String,
    /// The pod, with an API server's defaults. Each arrival has a unique name and UID.
    pub pod: Pod,
    /// How often it comes, against the others.
    pub weight: Weight,
    /// How long one runs.
    pub lifetime: Lifetime,
}

/// How often a kind of pod comes, against the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weight(pub NonZeroU32);

/// How long a pod runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lifetime {
    /// To the end of the simulation.
    Forever,
    /// As drawn.
    Drawn(Distribution),
}

/// One pod that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When, since the beginning.
    pub at: Duration,
    /// Which kind: a position in the list of templates.
    pub template: usize,
    /// How long it runs; `None`: to the end.
    pub stays: Option<Duration>,
}

/// `count` pods, each of a kind drawn by weight, with times between them as drawn; in the order in which they come.
/// Nothing comes if there is no template. The same seed gives the same pods, whatever they are to run on.
#[must_use]
pub fn arrivals(templates: &[Template], every: Distribution, count: usize, seed: u64) -> Vec<Arrival> {
    let mut random = Random::new(seed);
    let all: u64 = templates.iter().map(|template| u64::from(template.weight.0.get())).sum();
    let mut at = Duration::ZERO;
    let arrival = |_| {
        at = at.saturating_add(every.sample(&mut random));
        let mut drawn = random.below(all);
        let template = templates.iter().position(|template| {
            let weight = u64::from(template.weight.0.get());
            let hit = drawn < weight;
            drawn = drawn.saturating_sub(weight);
            hit
        })?;
        let stays = match templates.get(template)?.lifetime {
            Lifetime::Forever => None,
            Lifetime::Drawn(distribution) => Some(distribution.sample(&mut random)),
        };
        Some(Arrival { at, template, stays })
    };
    (0..count).map_while(arrival).collect()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn template(name: &str, weight: u32, lifetime: Lifetime) -> Template {
        let weight = Weight(NonZeroU32::new(weight).unwrap());
        Template { name: name.into(), pod: Pod::new("default", name, vec![]), weight, lifetime }
    }

    #[test]
    fn pods_come_as_often_as_they_weigh_and_stay_as_drawn() {
        let minute = Distribution::constant(Duration::from_mins(1)).unwrap();
        let hour = Distribution::exponential(Duration::from_hours(1)).unwrap();
        let templates =
            [template("often", 3, Lifetime::Drawn(hour)), template("seldom", 1, Lifetime::Forever)];
        let all = arrivals(&templates, minute, 10_000, 1);
        let often = all.iter().filter(|arrival| arrival.template == 0).count();
        assert!((7_300..7_700).contains(&often), "{often}");
        assert!(all.iter().all(|arrival| arrival.stays.is_some() == (arrival.template == 0)));
        assert_eq!(all[9].at, Duration::from_mins(10));
        assert_eq!(all, arrivals(&templates, minute, 10_000, 1));
        assert_ne!(all, arrivals(&templates, minute, 10_000, 2));
        assert_eq!(arrivals(&[], minute, 10, 1), []);
    }
}
