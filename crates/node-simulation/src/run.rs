//! A run, event by event: pods come and go in the order of time. At the same moment pods leave first, then those that
//! wait are tried again, then new ones come.

mod figures;
mod moves;

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use kubelet_fates::Fate;
use pod_spec::{Pod, PodUid};
use thiserror::Error;
use topology_admission::{Placement, Refused};

use crate::choice::Choice;
use crate::claims::{Claiming, PrepareError};
use crate::fleet::{Fleet, Repack};
use crate::host::Host;
use crate::levels::Demands;
use crate::outcome::{Outcome, TemplateOutcome};
use crate::queue::{Queue, Retry, Waiting, WhyNot};
use crate::scheduler::{ResourceIndex, Scheduler};
use crate::site::{Arrived, HostState, Running};
use crate::workload::{Arrival, Template};

/// What was decided on one pod.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'a> {
    /// It runs there.
    Admitted(&'a Placement),
    /// A machine refused it.
    Refused(&'a Refused),
    /// The machine's kubelet does not simply admit or refuse it.
    Fated(&'a Fate),
    /// The machine's kubelet admits it, and the driver of its claims cannot prepare them, so that it does not start.
    NotPrepared(&'a PrepareError),
    /// No machine has enough in sum, so it was sent to none.
    NoRoom,
    /// No machine with enough in sum has the devices that it claims, or the search for them is too long: it was sent to none.
    NoDevices,
}

/// Receives each decision of a run.
pub trait Observer {
    /// The decision on the arrival at this position; the last one where it is tried again.
    fn decided(&mut self, arrival: usize, decision: Decision<'_>);

    /// Whether the run ends before its next arrival: then its outcome is that of a part.
    fn is_over(&self) -> bool {
        false
    }
}

/// An observer that ignores everything that it is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn decided(&mut self, _: usize, _: Decision<'_>) {}
}

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
        if observer.is_over() {
            break;
        }
        run.until(arrival.at, observer);
        run.arrive(at, *arrival, observer);
    }
    run.drain(observer);
    run.finish()
}

/// Why a pod fits no machine on which nothing runs. Displays as the reason and what is behind it.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum DoesNotFit {
    /// The kubelet refuses it.
    #[error("{}: {}", .0.reason, .0.message)]
    Refused(Box<Refused>),
    /// kube-scheduler does not find the devices that it claims.
    #[error("{}: {_0}", Outcome::NO_DEVICES)]
    NoDevices(String),
    /// The driver of its claims cannot prepare them.
    #[error("{}: {_0}", Outcome::NOT_PREPARED)]
    NotPrepared(PrepareError),
}

/// Whether one pod of the kind fits a machine on which nothing runs.
///
/// # Errors
/// Why it does not.
pub fn fits_empty(host: &Host<'_>, template: &Template) -> Result<(), DoesNotFit> {
    let books = ResourceIndex::new(core::slice::from_ref(template));
    let demands = Demands::new(host, core::slice::from_ref(template));
    let claiming: Vec<Claiming> = host.claims.iter().map(|claims| claims.claiming(&template.pod)).collect();
    let mut site = HostState::new(0, host, &demands, books.account(host), &claiming);
    match site.arrive(claiming.first().map_or(&template.pod, |claiming| &claiming.pod)) {
        Arrived::Refused(refused) => Err(DoesNotFit::Refused(Box::new(refused))),
        Arrived::NoDevices(why) => Err(DoesNotFit::NoDevices(why)),
        Arrived::NotPrepared(error) => Err(DoesNotFit::NotPrepared(error)),
        Arrived::Admitted(..) | Arrived::Unanswered | Arrived::Fated(_) => Ok(()),
    }
}

/// Earlier first; at the same moment in the order of arrival.
type Departure = Reverse<(Duration, usize, usize, PodUid)>;

struct Run<'h> {
    templates: &'h [Template],
    /// By template: the pods as they claim devices, which does not depend on the machine; none where no pod claims any.
    claiming: Vec<Claiming>,
    arrivals: &'h [Arrival],
    scheduler: Scheduler,
    retry: Retry,
    repack: Option<Repack>,
    choice: Choice<'h>,
    hosts: &'h [(Host<'h>, usize)],
    /// By kind of machine.
    demands: Vec<Demands>,
    sites: Vec<HostState<'h>>,
    departures: BinaryHeap<Departure>,
    queue: Queue,
    /// Counts admissions and departures.
    changes: u64,
    outcome: Outcome,
    /// CPUs that are held, and that could be, over all machines.
    cpus: (u64, u64),
    running: u64,
    refused: u64,
}

/// What came of one try.
enum Tried {
    Runs,
    /// For this reason of [`Outcome`].
    SentNowhere(&'static str),
    Refused(Refused),
    Fated(Fate),
    NotPrepared(PrepareError),
}

impl<'h> Run<'h> {
    fn new(fleet: &'h Fleet<'h>, templates: &'h [Template], arrivals: &'h [Arrival]) -> Self {
        let mut choice = Choice::new(fleet, templates);
        // The pods are written once for all machines: groups of CPUs are as large as on the first kind of machine.
        let claiming: Vec<Claiming> = match fleet.hosts.first().and_then(|(host, _)| host.claims.as_ref()) {
            Some(claims) => templates.iter().map(|template| claims.claiming(&template.pod)).collect(),
            None => Vec::new(),
        };
        let demands: Vec<Demands> =
            fleet.hosts.iter().map(|(host, _)| Demands::new(host, templates)).collect();
        let mut sites = Vec::new();
        for (kind, ((host, count), demands)) in fleet.hosts.iter().zip(&demands).enumerate() {
            let account = choice.account(host);
            sites
                .extend((0..*count).map(|_| HostState::new(kind, host, demands, account.clone(), &claiming)));
        }
        choice.begin(&sites);
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
            claiming,
            arrivals,
            scheduler: fleet.scheduler,
            retry: fleet.retry,
            repack: fleet.repack,
            choice,
            hosts: &fleet.hosts,
            demands,
            sites,
            departures: BinaryHeap::new(),
            queue: Queue::default(),
            changes: 0,
            outcome,
            cpus,
            running: 0,
            refused: 0,
        }
    }

    /// Lets everything leave and be tried again that does until `now`.
    fn until(&mut self, now: Duration, observer: &mut dyn Observer) {
        loop {
            let leaves = self.departures.peek().map(|Reverse((at, ..))| *at).filter(|at| *at <= now);
            let tried = self.queue.next().filter(|at| *at <= now);
            match (leaves, tried) {
                (Some(leaves), tried) if tried.is_none_or(|tried| leaves <= tried) => self.depart(),
                (_, Some(_)) => self.try_next(observer),
                (_, None) => break,
            }
        }
        self.keep_steps(now);
    }

    /// After the last arrival: pods that wait are tried until all run, or nothing changes any more.
    fn drain(&mut self, observer: &mut dyn Observer) {
        // Without departures a pod that had no room at the last change gets none, on any machine that is tried.
        let machines = if self.scheduler.knows_sums() { 1 } else { self.sites.len() };
        let mut without_change = 0;
        while let Some(tried) = self.queue.next() {
            let before = self.changes;
            let leaves = self.departures.peek().map(|Reverse((leaves, ..))| *leaves);
            if leaves.is_some_and(|leaves| leaves <= tried) {
                self.depart();
            } else if leaves.is_none() && without_change > machines * self.queue.len() {
                break;
            } else {
                self.try_next(observer);
            }
            without_change = if self.changes == before { without_change + 1 } else { 0 };
        }
        self.give_up(observer);
    }

    /// Those that still wait did not run.
    fn give_up(&mut self, observer: &mut dyn Observer) {
        while let Some((_, number, waiting)) = self.queue.pop() {
            let Some(arrival) = self.arrivals.get(number) else { continue };
            match waiting.why {
                WhyNot::Refused(refused) => {
                    self.count_refused(arrival.template, &refused.reason.to_string());
                    observer.decided(number, Decision::Refused(&refused));
                }
                WhyNot::SentNowhere(reason) => self.sent_nowhere(number, arrival.template, reason, observer),
            }
        }
    }

    fn depart(&mut self) {
        let Some(Reverse((at, _, site, pod))) = self.departures.pop() else { return };
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
            self.changes += 1;
            self.queue.departed(at);
        }
        self.end_change(site, before);
    }

    /// Counts what a machine held until `now`, and says how many CPUs it holds.
    fn begin_change(&mut self, site: usize, now: Duration) -> u64 {
        let Some(site) = self.sites.get_mut(site) else { return 0 };
        if let Some((host, _)) = self.hosts.get(site.kind) {
            // What is after the last arrival does not count.
            site.levels.advance(&host.capacity, now.min(self.outcome.span));
        }
        site.cpus().0
    }

    fn end_change(&mut self, site: usize, before: u64) {
        let at = site;
        let Some(site) = self.sites.get_mut(at) else { return };
        if let (Some((host, _)), Some(demands)) = (self.hosts.get(site.kind), self.demands.get(site.kind)) {
            site.levels.changed(demands, host.numa());
        }
        self.choice.publish(at, site);
        self.cpus.0 = self.cpus.0.saturating_sub(before).saturating_add(site.cpus().0);
    }

    /// A pod does not run any more.
    fn forget(&mut self, site: usize, pod: &PodUid) {
        let Some(site) = self.sites.get_mut(site) else { return };
        if let Some(own) = site.running.remove(pod) {
            self.running -= 1;
            if let Some(sums) = self.choice.sums(site.kind, own.template) {
                site.account.leave(sums);
            }
        }
    }

    fn arrive(&mut self, number: usize, arrival: Arrival, observer: &mut dyn Observer) {
        let Some(own) = self.outcome.templates.get_mut(arrival.template) else { return };
        own.arrived += 1;
        self.attempt(number, arrival.at, None, observer);
    }

    /// The next one that waits is tried.
    fn try_next(&mut self, observer: &mut dyn Observer) {
        let Some((at, number, waiting)) = self.queue.pop() else { return };
        self.keep_steps(at);
        let template = self.arrivals.get(number).map_or(0, |arrival| arrival.template);
        if let Some(own) = self.outcome.templates.get_mut(template) {
            own.retries += 1;
        }
        self.attempt(number, at, Some(waiting), observer);
    }

    /// Tries a pod, for the first time or again.
    fn attempt(
        &mut self,
        number: usize,
        now: Duration,
        before: Option<Waiting>,
        observer: &mut dyn Observer,
    ) {
        let Some(arrival) = self.arrivals.get(number).copied() else { return };
        let tries = before.as_ref().map_or(0, |before| before.tries) + 1;
        let tried = match before {
            // The same comes out as long as nothing has changed, but for a scheduler that goes on to the next machine.
            Some(Waiting { tried_at, why, .. })
                if tried_at == self.changes && self.scheduler.knows_sums() =>
            {
                match why {
                    WhyNot::Refused(refused) => Tried::Refused(refused),
                    WhyNot::SentNowhere(reason) => Tried::SentNowhere(reason),
                }
            }
            _ => self.place(number, now, tries, arrival, observer),
        };
        let waiting = |why| Waiting { tries, tried_at: self.changes, why };
        match (tried, self.retry) {
            (Tried::Runs, _) => {}
            (Tried::SentNowhere(reason), Retry::Never) => {
                self.sent_nowhere(number, arrival.template, reason, observer);
            }
            (Tried::SentNowhere(reason), Retry::BackOff) => {
                self.queue.park(number, waiting(WhyNot::SentNowhere(reason)), now);
            }
            (Tried::NotPrepared(error), _) => {
                self.count_refused(arrival.template, Outcome::NOT_PREPARED);
                observer.decided(number, Decision::NotPrepared(&error));
            }
            (Tried::Fated(fate), _) => {
                if let Some(own) = self.outcome.templates.get_mut(arrival.template) {
                    *own.node_refusals.entry(fate.brief().into()).or_default() += 1;
                }
                self.count_refused(arrival.template, fate.brief());
                observer.decided(number, Decision::Fated(&fate));
            }
            (Tried::Refused(refused), retry) => {
                let reason = refused.reason.to_string();
                if let Some(own) = self.outcome.templates.get_mut(arrival.template) {
                    *own.node_refusals.entry(reason.clone()).or_default() += 1;
                }
                match retry {
                    Retry::Never => {
                        self.count_refused(arrival.template, &reason);
                        observer.decided(number, Decision::Refused(&refused));
                    }
                    Retry::BackOff => {
                        self.queue.back_off(number, waiting(WhyNot::Refused(refused)), now);
                    }
                }
            }
        }
    }

    fn sent_nowhere(
        &mut self,
        number: usize,
        template: usize,
        reason: &'static str,
        observer: &mut dyn Observer,
    ) {
        self.count_refused(template, reason);
        let decision = if reason == Outcome::NO_ROOM { Decision::NoRoom } else { Decision::NoDevices };
        observer.decided(number, decision);
    }

    /// Sends a pod to a machine, which decides.
    fn place(
        &mut self,
        number: usize,
        now: Duration,
        tries: u32,
        arrival: Arrival,
        observer: &mut dyn Observer,
    ) -> Tried {
        let Some(template) = self.templates.get(arrival.template) else {
            return Tried::SentNowhere(Outcome::NO_ROOM);
        };
        let sent = self.claiming.get(arrival.template).map_or(&template.pod, |claiming| &claiming.pod);
        let pod = one_of(sent, number, tries);
        if tries == 1 {
            self.choice.learn(&pod);
        }
        let searches = &mut self.outcome.searches;
        let at = match self.choice.choose(&mut self.sites, arrival.template, &pod, searches) {
            Ok(at) => at,
            Err(Outcome::NO_ROOM) if self.makes_room(&pod, number, (now, tries), arrival, observer) => {
                return Tried::Runs;
            }
            Err(reason) => return Tried::SentNowhere(reason),
        };
        let before = self.begin_change(at, now);
        let Some(site) = self.sites.get_mut(at) else { return Tried::SentNowhere(Outcome::NO_ROOM) };
        let kind = site.kind;
        let tried = match site.arrive(&pod) {
            Arrived::Admitted(placement, settled) => {
                let leaves = arrival.stays.map(|stays| now.saturating_add(stays));
                self.begin_running(at, &pod, Running { template: arrival.template, number, leaves });
                self.changes += 1;
                self.count_admitted(kind, arrival, tries, now, &settled);
                for gone in &placement.preempted {
                    self.outcome.preempted += 1;
                    self.forget(at, gone);
                }
                if let Some(leaves) = leaves {
                    self.departures.push(Reverse((leaves, number, at, pod.uid.clone())));
                }
                observer.decided(number, Decision::Admitted(&placement));
                Tried::Runs
            }
            Arrived::Refused(refused) => Tried::Refused(refused),
            Arrived::Unanswered => Tried::Runs,
            // The machine was asked before.
            Arrived::NoDevices(_) => Tried::SentNowhere(Outcome::NO_DEVICES),
            Arrived::NotPrepared(error) => Tried::NotPrepared(error),
            Arrived::Fated(fate) => Tried::Fated(fate),
        };
        self.end_change(at, before);
        if matches!(tried, Tried::Refused(_))
            && self.makes_room(&pod, number, (now, tries), arrival, observer)
        {
            return Tried::Runs;
        }
        tried
    }

    /// Whether pods move for one that was refused, which runs then.
    fn makes_room(
        &mut self,
        pod: &Pod,
        number: usize,
        when: (Duration, u32),
        arrival: Arrival,
        observer: &mut dyn Observer,
    ) -> bool {
        self.repack.is_some_and(|repack| self.make_room(repack, pod, number, when, arrival, observer))
    }
}

/// The pod of this number; made anew for each try.
fn one_of(pod: &Pod, number: usize, tries: u32) -> Pod {
    let again = if tries > 1 { format!(".{tries}") } else { String::new() };
    Pod {
        uid: PodUid::new(&format!("{}-{number}{again}", pod.uid)),
        name: format!("{}-{number}{again}", pod.name),
        ..pod.clone()
    }
}
