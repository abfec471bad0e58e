//! Which machine a scheduler chooses for a pod.

use alloc::vec::Vec;
use core::cmp::Reverse;

use pod_spec::Pod;

use crate::extender::Extender;
use crate::fleet::Fleet;
use crate::host::Host;
use crate::outcome::{Outcome, Searches};
use crate::published::{Needs, Zones, kai, topology_match};
use crate::scheduler::{Account, RequestSums, ResourceIndex, Scheduler};
use crate::site::HostState;
use crate::workload::Template;

/// What a scheduler knows of machines and pods.
pub(crate) struct Choice<'h> {
    scheduler: Scheduler,
    hosts: &'h [(Host<'h>, usize)],
    books: ResourceIndex,
    /// By kind of machine and template.
    sums: Vec<Vec<RequestSums>>,
    /// By kind of machine and template: what is compared with zones; empty where nothing is.
    needs: Vec<Vec<Needs>>,
    extender: Option<Extender>,
    /// The machine after the last one, for a scheduler that looks at nothing.
    next: usize,
}

impl<'h> Choice<'h> {
    pub(crate) fn new(fleet: &'h Fleet<'h>, templates: &[Template]) -> Self {
        let (books, scheduler) = (ResourceIndex::new(templates), fleet.scheduler);
        let of_each = |host: &'h Host<'h>, needs: fn(&Host<'_>, &Pod) -> Needs| {
            templates.iter().map(|template| needs(host, &host.sent(&template.pod))).collect()
        };
        let needs = |(host, _): &'h (Host<'h>, usize)| match scheduler {
            Scheduler::TopologyMatch => of_each(host, topology_match::needs),
            Scheduler::Kai => of_each(host, kai::needs),
            Scheduler::Spread | Scheduler::Pack | Scheduler::Blind | Scheduler::Topolet => Vec::new(),
        };
        let sums = |(host, _): &'h (Host<'h>, usize)| {
            templates.iter().map(|template| books.needs(host, template)).collect()
        };
        Self {
            scheduler,
            hosts: &fleet.hosts,
            sums: fleet.hosts.iter().map(sums).collect(),
            needs: fleet.hosts.iter().map(needs).collect(),
            books,
            extender: None,
            next: 0,
        }
    }

    /// What the scheduler knows of a machine on which nothing runs.
    pub(crate) fn account(&self, host: &Host<'_>) -> Account {
        self.books.account(host)
    }

    /// What a pod of the kind counts for on a machine.
    pub(crate) fn sums(&self, kind: usize, template: usize) -> Option<&RequestSums> {
        self.sums.get(kind)?.get(template)
    }

    /// How many CPUs a pod of the kind asks for on a machine, in thousandths.
    pub(crate) fn cpus(&self, kind: usize, template: usize) -> i64 {
        self.sums(kind, template).map_or(0, |sums| self.books.cpus(sums))
    }

    /// Tells of all machines before the first pod comes.
    pub(crate) fn begin(&mut self, sites: &[HostState<'_>]) {
        if self.scheduler == Scheduler::Topolet {
            let nodes = self.hosts.iter().map(|(host, _)| host.node);
            let machines = sites.iter().map(|site| (site.kind, site.ledger()));
            self.extender = Some(Extender::new(nodes, machines));
        }
    }

    /// A machine has changed, and publishes that.
    pub(crate) fn publish(&mut self, at: usize, site: &HostState<'_>) {
        if let Some(extender) = &mut self.extender {
            extender.publish(at, site.kind, site.ledger());
        }
    }

    /// A pod comes for the first time.
    pub(crate) fn learn(&mut self, pod: &Pod) {
        if let Some(extender) = &mut self.extender {
            extender.learn(pod);
        }
    }

    /// The machine that a pod of the kind is sent to; the first of equal ones.
    ///
    /// # Errors
    /// Why it is sent to none: a reason of [`Outcome`].
    pub(crate) fn choose(
        &mut self,
        sites: &mut [HostState<'_>],
        template: usize,
        pod: &Pod,
        searches: &mut Searches,
    ) -> Result<usize, &'static str> {
        let mut enough = self.with_enough(sites, template);
        let had_enough = !enough.is_empty();
        let (mut is_over, mut is_cut) = (false, false);
        // Sums come first in kube-scheduler too: of a machine without enough no devices are searched for.
        enough.retain(|(_, at)| {
            let Some(site) = sites.get_mut(*at).and_then(|site| site.claims.as_mut()) else { return true };
            let answer = site.answer(template, pod);
            if let Some(cost) = answer.cost {
                searches.count(cost);
            }
            is_over |= answer.times_out();
            is_cut |= answer.fits.is_none();
            answer.fits == Some(true)
        });
        if is_over {
            return Err(Outcome::TIMED_OUT);
        }
        if had_enough && enough.is_empty() {
            return Err(if is_cut { Outcome::NOT_DECIDED } else { Outcome::NO_DEVICES });
        }
        self.best(enough, sites, template, pod).ok_or(Outcome::NO_ROOM)
    }

    /// The machines that have enough in sum, each with what would be left of it; of a scheduler that looks at nothing the next one.
    fn with_enough(&mut self, sites: &[HostState<'_>], template: usize) -> Vec<(i64, usize)> {
        if !self.scheduler.knows_sums() {
            let at = self.next;
            self.next = (at + 1) % sites.len().max(1);
            return (at < sites.len()).then_some((0, at)).into_iter().collect();
        }
        let left = |site: &HostState<'_>| self.books.left(&site.account, self.sums(site.kind, template)?);
        sites.iter().enumerate().filter_map(|(at, site)| Some((left(site)?, at))).collect()
    }

    fn best(
        &mut self,
        enough: Vec<(i64, usize)>,
        sites: &[HostState<'_>],
        template: usize,
        pod: &Pod,
    ) -> Option<usize> {
        match self.scheduler {
            Scheduler::Pack => enough.into_iter().min().map(|(_, at)| at),
            Scheduler::Spread | Scheduler::Blind => most_left(enough),
            Scheduler::TopologyMatch => {
                let passes = |(_, at): &(i64, usize)| self.passes(sites.get(*at)?, template);
                most_left(enough.into_iter().filter(|own| passes(own) == Some(true)))
            }
            Scheduler::Kai => {
                let zones = |(left, at)| Some((self.zones(sites.get(at)?, template)?, left, at));
                enough.into_iter().filter_map(zones).min().map(|(_, _, at)| at)
            }
            Scheduler::Topolet => self.extender.as_mut()?.choose(pod, &enough),
        }
    }

    fn passes(&self, site: &HostState<'_>, template: usize) -> Option<bool> {
        let (host, needs) = (&self.hosts.get(site.kind)?.0, self.needs.get(site.kind)?.get(template)?);
        Some(topology_match::passes(host.node.policy(), needs, Zones::new(host, &site.levels.free)))
    }

    fn zones(&self, site: &HostState<'_>, template: usize) -> Option<u32> {
        let (host, needs) = (&self.hosts.get(site.kind)?.0, self.needs.get(site.kind)?.get(template)?);
        kai::zones(host.node.policy(), needs, Zones::new(host, &site.levels.free))
    }
}

fn most_left(fitting: impl IntoIterator<Item = (i64, usize)>) -> Option<usize> {
    fitting.into_iter().max_by_key(|(left, at)| (*left, Reverse(*at))).map(|(_, at)| at)
}
