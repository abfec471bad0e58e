//! What is counted while a simulation runs, and what is made of it at the end.

use alloc::borrow::ToOwned as _;
use alloc::vec::Vec;
use core::time::Duration;

use node_cover::Solution;
use pod_spec::ResourceName;

use super::Run;
use crate::host::Host;
use crate::levels::Levels;
use crate::outcome::{HostOutcome, NumaUse, Outcome, Step};
use crate::queue::Retry;
use crate::site::Settled;
use crate::workload::Arrival;

/// How many moments of the course of time are kept.
const STEPS: u32 = 200;

impl Run<'_> {
    pub(super) fn count_admitted(
        &mut self,
        kind: usize,
        arrival: Arrival,
        tries: u32,
        now: Duration,
        settled: &Settled,
    ) {
        let template = arrival.template;
        let Some(own) = self.outcome.templates.get_mut(template) else { return };
        own.admitted += 1;
        own.at_first_try += u64::from(tries == 1);
        if self.retry == Retry::BackOff {
            own.waits.push(now.saturating_sub(arrival.at));
        }
        if let Some(devices) = settled.devices {
            own.devices.count(devices);
        }
        let places = settled.places;
        if places.is_empty() {
            return;
        }
        own.placed += 1;
        let fewest = self.demands.get(kind).and_then(|of| of.fewest.get(template).copied().flatten());
        match fewest {
            Some(Solution::Exact(fewest)) if places.len() <= fewest => own.aligned += 1,
            Some(Solution::Cut(_)) if places.len() == 1 => own.aligned += 1,
            Some(Solution::Cut(_)) => own.undecided += 1,
            Some(Solution::Exact(_)) | None => {}
        }
    }

    pub(super) fn count_refused(&mut self, template: usize, reason: &str) {
        self.refused += 1;
        if let Some(own) = self.outcome.templates.get_mut(template) {
            *own.refused.entry(reason.to_owned()).or_default() += 1;
        }
    }

    /// Keeps the moments before `now` that have not been kept yet.
    #[expect(clippy::cast_precision_loss, reason = "numbers of CPUs are small")]
    pub(super) fn keep_steps(&mut self, now: Duration) {
        while let Some(at) = step(self.outcome.span, self.outcome.steps.len())
            && at < now
        {
            let cpus_held = if self.cpus.1 == 0 { 0.0 } else { self.cpus.0 as f64 / self.cpus.1 as f64 };
            let (running, refused) = (self.running, self.refused);
            self.outcome.steps.push(Step { at, running, refused, cpus_held });
        }
    }

    pub(super) fn finish(mut self) -> Outcome {
        let end = self.outcome.span;
        self.keep_steps(Duration::MAX);
        for site in &mut self.sites {
            if let Some((host, _)) = self.hosts.get(site.kind) {
                site.levels.advance(&host.capacity, end);
            }
        }
        let hosts = self.hosts.iter().enumerate();
        self.outcome.hosts =
            hosts.map(|(kind, (host, count))| self.host_outcome(kind, host, *count)).collect();
        self.outcome
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of machines are small")]
    fn host_outcome(&self, kind: usize, host: &Host<'_>, machines: usize) -> HostOutcome {
        let own = || self.sites.iter().filter(|site| site.kind == kind);
        let mean = |of: fn(&Levels, &[u64]) -> Vec<f64>| {
            let mut mean = alloc::vec![0.0; host.capacity.len()];
            for site in own() {
                for (sum, share) in mean.iter_mut().zip(of(&site.levels, &host.capacity)) {
                    *sum += share / machines as f64;
                }
            }
            mean
        };
        let (held, stranded) = (mean(Levels::held), mean(Levels::stranded));
        let numa = host.numa();
        let of_node = |(at, id): (usize, _)| {
            let shares = |of: &[f64]| {
                let share = |(resource, name): (usize, &ResourceName)| {
                    let cell = resource * numa + at;
                    let has_any = host.capacity.get(cell).is_some_and(|all| *all > 0);
                    of.get(cell).filter(|_| has_any).map(|share| (name.clone(), *share))
                };
                host.resources.iter().enumerate().filter_map(share).collect()
            };
            NumaUse { node: id, held: shares(&held), stranded: shares(&stranded) }
        };
        let fragmentation = own().map(|site| site.levels.fragmentation() / machines as f64).sum();
        HostOutcome {
            machines,
            numa: host.node.nodes().ids().enumerate().map(of_node).collect(),
            fragmentation,
        }
    }
}

/// The moment of a step; `None` after the last.
fn step(span: Duration, number: usize) -> Option<Duration> {
    let number = u32::try_from(number).ok().filter(|number| *number <= STEPS)?;
    if number == STEPS { Some(span) } else { Some(span / STEPS * number) }
}
