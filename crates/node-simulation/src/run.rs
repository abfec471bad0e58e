//! A run, event by event: pods come and go in the order of time. What leaves at the moment in which something comes
//! has left before.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use node_cover::Solution;
use pod_spec::{Pod, PodUid};
use topology_admission::{Placement, Refused, Verdict};

use crate::host::Host;
use crate::levels::Demands;
use crate::outcome::{HostOutcome, NumaUse, Outcome, Step, TemplateOutcome};
use crate::scheduler::{Account, RequestSums, ResourceIndex, Scheduler};
use crate::site::HostState;
use crate::workload::{Arrival, Template};

/// The machines, and how pods are sent to them.
#[derive(Debug)]
pub struct Fleet<'a> {
    /// Each kind of machine, and how many there are of it.
    pub hosts: Vec<(Host<'a>, usize)>,
    /// How pods are sent to machines.
    pub scheduler: Scheduler,
}

/// What was decided on one pod.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'a> {
    /// It runs there.
    Admitted(&'a Placement),
    /// A machine refused it.
    Refused(&'a Refused),
    /// No machine has enough in sum, so it was sent to none.
    NoRoom,
}

/// Somebody who is told of each decision.
pub trait Observer {
    /// The decision on the arrival at this position.
    fn decided(&mut self, arrival: usize, decision: Decision<'_>);
}

/// An observer that ignores everything that it is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn decided(&mut self, _: usize, _: Decision<'_>) {}
}

/// How many moments of the course of time are kept.
const STEPS: u32 = 200;

/// Sends every pod of `arrivals`, which are in the order of time, to the machines of `fleet`.
///
/// The same arguments give the same outcome. An arrival of a kind that is not in `templates` is passed over.
pub fn run(
    fleet: &Fleet<'_>,
    templates: &[Template],
    arrivals: &[Arrival],
    observer: &mut dyn Observer,
) -> Outcome {
    let mut run = Run::new(fleet, templates, arrivals);
    for (at, arrival) in arrivals.iter().enumerate() {
        run.until(arrival.at);
        run.arrive(at, *arrival, observer);
    }
    run.finish()
}

/// Whether one pod of the kind fits a machine on which nothing runs.
///
/// # Errors
/// Why it does not.
pub fn fits_empty(host: &Host<'_>, template: &Template) -> Result<(), Box<Refused>> {
    let books = ResourceIndex::new(core::slice::from_ref(template));
    let demands = Demands::new(host, core::slice::from_ref(template));
    let mut site = HostState::new(0, host, &demands, books.account(host));
    match site.arrive(&template.pod) {
        Verdict::Refused(refused) => Err(Box::new(refused)),
        Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => Ok(()),
    }
}

/// Earlier first; at the same moment in the order of arrival.
type Departure = Reverse<(Duration, usize, usize, PodUid)>;

struct Run<'h> {
    templates: &'h [Template],
    scheduler: Scheduler,
    books: ResourceIndex,
    hosts: &'h [(Host<'h>, usize)],
    /// By kind of machine.
    demands: Vec<Demands>,
    /// By kind of machine and template.
    needs: Vec<Vec<RequestSums>>,
    sites: Vec<HostState<'h>>,
    /// The machine after the last one, for a scheduler that looks at nothing.
    next: usize,
    departures: BinaryHeap<Departure>,
    outcome: Outcome,
    /// CPUs that are held, and that could be, over all machines.
    cpus: (u64, u64),
    running: u64,
    refused: u64,
}

impl<'h> Run<'h> {
    fn new(fleet: &'h Fleet<'h>, templates: &'h [Template], arrivals: &[Arrival]) -> Self {
        let books = ResourceIndex::new(templates);
        let demands: Vec<Demands> =
            fleet.hosts.iter().map(|(host, _)| Demands::new(host, templates)).collect();
        let of_host = |host| templates.iter().map(|template| books.needs(host, template)).collect();
        let needs = fleet.hosts.iter().map(|(host, _)| of_host(host)).collect();
        let mut sites = Vec::new();
        for (kind, ((host, count), demands)) in fleet.hosts.iter().zip(&demands).enumerate() {
            let account: Account = books.account(host);
            sites.extend((0..*count).map(|_| HostState::new(kind, host, demands, account.clone())));
        }
        let cpus = sites.iter().map(HostState::cpus).fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let named = |template: &Template| TemplateOutcome {
            name: template.name.clone(),
            ..TemplateOutcome::default()
        };
        let outcome = Outcome {
            templates: templates.iter().map(named).collect(),
            span: arrivals.last().map_or(Duration::ZERO, |last| last.at),
            ..Outcome::default()
        };
        Self {
            templates,
            scheduler: fleet.scheduler,
            books,
            hosts: &fleet.hosts,
            demands,
            needs,
            sites,
            next: 0,
            departures: BinaryHeap::new(),
            outcome,
            cpus,
            running: 0,
            refused: 0,
        }
    }

    /// Lets everything leave that does until `now`.
    fn until(&mut self, now: Duration) {
        while self.departures.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((at, _, site, pod))) = self.departures.pop() else { break };
            self.keep_steps(at);
            let before = self.begin_change(site, at);
            let left = self.sites.get_mut(site).is_some_and(|site| {
                let runs = site.running.contains_key(&pod);
                if runs {
                    site.leave(&pod);
                }
                runs
            });
            if left {
                self.forget(site, &pod);
            }
            self.end_change(site, before);
        }
        self.keep_steps(now);
    }

    /// Counts what a machine held until `now`, and says how many CPUs it holds.
    fn begin_change(&mut self, site: usize, now: Duration) -> u64 {
        let Some(site) = self.sites.get_mut(site) else { return 0 };
        if let Some((host, _)) = self.hosts.get(site.kind) {
            site.levels.advance(&host.capacity, now);
        }
        site.cpus().0
    }

    fn end_change(&mut self, site: usize, before: u64) {
        let Some(site) = self.sites.get_mut(site) else { return };
        if let (Some((host, _)), Some(demands)) = (self.hosts.get(site.kind), self.demands.get(site.kind)) {
            site.levels.changed(demands, host.numa());
        }
        self.cpus.0 = self.cpus.0.saturating_sub(before).saturating_add(site.cpus().0);
    }

    /// A pod does not run any more.
    fn forget(&mut self, site: usize, pod: &PodUid) {
        let Some(site) = self.sites.get_mut(site) else { return };
        if let Some(template) = site.running.remove(pod) {
            self.running -= 1;
            if let Some(needs) = self.needs.get(site.kind).and_then(|of| of.get(template)) {
                site.account.leave(needs);
            }
        }
    }

    fn arrive(&mut self, number: usize, arrival: Arrival, observer: &mut dyn Observer) {
        let Some(template) = self.templates.get(arrival.template) else { return };
        let Some(own) = self.outcome.templates.get_mut(arrival.template) else { return };
        own.arrived += 1;
        let Some(at) = self.choose(arrival.template) else {
            self.count_refused(arrival.template, Outcome::NO_ROOM);
            observer.decided(number, Decision::NoRoom);
            return;
        };
        let pod = one_of(template, number);
        let before = self.begin_change(at, arrival.at);
        let Some(site) = self.sites.get_mut(at) else { return };
        let kind = site.kind;
        match site.arrive(&pod) {
            Verdict::Admitted(placement) => {
                site.running.insert(pod.uid.clone(), arrival.template);
                if let Some(needs) = self.needs.get(kind).and_then(|of| of.get(arrival.template)) {
                    site.account.enter(needs);
                }
                self.running += 1;
                self.count_admitted(kind, arrival.template, &placement);
                for gone in &placement.preempted {
                    self.outcome.preempted += 1;
                    self.forget(at, gone);
                }
                if let Some(stays) = arrival.stays {
                    let leaves = arrival.at.saturating_add(stays);
                    self.departures.push(Reverse((leaves, number, at, pod.uid)));
                }
                observer.decided(number, Decision::Admitted(&placement));
            }
            Verdict::Refused(refused) => {
                self.count_refused(arrival.template, &refused.reason.to_string());
                observer.decided(number, Decision::Refused(&refused));
            }
            // Every question has been answered.
            Verdict::NeedsPlugin(_) => {}
        }
        self.end_change(at, before);
    }

    fn count_admitted(&mut self, kind: usize, template: usize, placement: &Placement) {
        let (Some((host, _)), Some(own)) = (self.hosts.get(kind), self.outcome.templates.get_mut(template))
        else {
            return;
        };
        own.admitted += 1;
        let places = host.places(placement);
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

    fn count_refused(&mut self, template: usize, reason: &str) {
        self.refused += 1;
        if let Some(own) = self.outcome.templates.get_mut(template) {
            *own.refused.entry(reason.to_owned()).or_default() += 1;
        }
    }

    /// The machine that a pod of the kind is sent to; the first of equal ones.
    fn choose(&mut self, template: usize) -> Option<usize> {
        if self.scheduler == Scheduler::Blind {
            let at = self.next;
            self.next = (at + 1) % self.sites.len().max(1);
            return (at < self.sites.len()).then_some(at);
        }
        let left = |site: &HostState<'_>| {
            let needs = self.needs.get(site.kind)?.get(template)?;
            self.books.left(&site.account, needs)
        };
        let fitting = self.sites.iter().enumerate().filter_map(|(at, site)| Some((left(site)?, at)));
        match self.scheduler {
            Scheduler::Pack => fitting.min(),
            Scheduler::Spread | Scheduler::Blind => fitting.max_by_key(|(left, at)| (*left, Reverse(*at))),
        }
        .map(|(_, at)| at)
    }

    /// Keeps the moments before `now` that have not been kept yet.
    #[expect(clippy::cast_precision_loss, reason = "numbers of CPUs are small")]
    fn keep_steps(&mut self, now: Duration) {
        while let Some(at) = step(self.outcome.span, self.outcome.steps.len())
            && at < now
        {
            let cpus_held = if self.cpus.1 == 0 { 0.0 } else { self.cpus.0 as f64 / self.cpus.1 as f64 };
            let (running, refused) = (self.running, self.refused);
            self.outcome.steps.push(Step { at, running, refused, cpus_held });
        }
    }

    fn finish(mut self) -> Outcome {
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
        let mut held = alloc::vec![0.0; host.capacity.len()];
        for site in own() {
            for (sum, share) in held.iter_mut().zip(site.levels.held(&host.capacity)) {
                *sum += share / machines as f64;
            }
        }
        let numa = host.numa();
        let of_node = |(at, id): (usize, _)| {
            let shares = host.resources.iter().enumerate().filter_map(|(resource, name)| {
                let cell = resource * numa + at;
                let has_any = host.capacity.get(cell).is_some_and(|all| *all > 0);
                held.get(cell).filter(|_| has_any).map(|share| (name.clone(), *share))
            });
            NumaUse { node: id, held: shares.collect() }
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

/// The pod of this number.
fn one_of(template: &Template, number: usize) -> Pod {
    Pod {
        uid: PodUid::new(&format!("{}-{number}", template.pod.uid)),
        name: format!("{}-{number}", template.pod.name),
        ..template.pod.clone()
    }
}
