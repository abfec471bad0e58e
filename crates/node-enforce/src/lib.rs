#![doc = include_str!("../README.md")]

#[cfg(test)]
mod bench;
mod cause;
mod findings;
mod isolation;
mod quiet;
mod round;
mod start;
mod watched;

use cgroup_cpuset::{
    CgroupPath, Cgroups, Files, Kernel, LimitError, Limits, Place, PlaceError, Quota, QuotaError, Written,
};
use conditions::{Conditions, State, Status};
use cpu_manager::{ContainerId, CpuQuota};
use crossbeam::channel::{self, Receiver, SendError, Sender};
use crossbeam::select;
use node_agent::{Enforcement, Pinning, Snapshot};
use node_input::LoadedNode;
use node_view::clock::Clock;
use node_view::{Metrics, NodeConditions, ServedNode, Snapshots};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use self::cause::with_cause;
use self::findings::Findings;
use self::isolation::{Isolation, Wanted};
use self::quiet::Quiet;
pub use self::start::{enforcer, open};
use self::watched::Watched;
use ContainerCondition::{HasCpus, Limited, Placed};

/// Where cgroups are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CgroupRoot {
    /// Where the kernel has them.
    Usual,
    /// Below this folder.
    At(PathBuf),
    /// Cgroups are not written; partitions and interrupts that an earlier start changed are restored.
    Off,
}

impl FromStr for CgroupRoot {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "off" { Self::Off } else { Self::At(PathBuf::from(text)) })
    }
}

/// Writes CPUs and memory nodes of running containers.
pub trait Enforcer: Send {
    /// Writes them. A write that fails is tried again in the next round.
    fn enforce(&mut self, enforcement: Enforcement);

    /// Whether cgroups are written at all.
    fn is_enforcing(&self) -> bool;

    /// Calls `then` once all earlier orders are written.
    fn after(&mut self, then: Box<dyn FnOnce() + Send>);
}

/// Writes no cgroups: the log names each container's CPUs at level debug.
struct Unenforced;

impl Enforcer for Unenforced {
    fn enforce(&mut self, enforcement: Enforcement) {
        let Enforcement { container, id, pinning, .. } = enforcement;
        let cpus = pinning.cpus.map(|cpus| cpus.to_string()).unwrap_or_default();
        tracing::debug!(uid = %container.pod, container = %container.container, %id, cpus, "container belongs here");
    }

    fn is_enforcing(&self) -> bool {
        false
    }

    fn after(&mut self, then: Box<dyn FnOnce() + Send>) {
        then();
    }
}

enum Order {
    Enforce(Enforcement),
    Then(Box<dyn FnOnce() + Send>),
}

/// Sends orders to the thread that writes cgroups.
struct Orders(Sender<Order>);

impl Enforcer for Orders {
    fn enforce(&mut self, enforcement: Enforcement) {
        // The thread ends only after the owner.
        let _ = self.0.send(Order::Enforce(enforcement));
    }

    fn is_enforcing(&self) -> bool {
        true
    }

    fn after(&mut self, then: Box<dyn FnOnce() + Send>) {
        if let Err(SendError(Order::Then(then))) = self.0.send(Order::Then(then)) {
            then();
        }
    }
}

/// The node whose containers are kept on their CPUs, and where results are reported.
pub struct EnforcedNode {
    /// Its rules.
    pub served: Arc<ServedNode>,
    /// The latest state of the node.
    pub snapshots: Snapshots,
    /// The conditions of partitions.
    pub conditions: Arc<NodeConditions>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// By which conditions change.
    pub clock: Arc<dyn Clock>,
}

fn run(mut keeper: Keeper<Watched<Kernel>>, orders: &Receiver<Order>, kept: &EnforcedNode) {
    let rounds = channel::tick(kept.served.node.keeping.period);
    loop {
        select! {
            recv(orders) -> order => match order {
                Ok(order @ Order::Enforce(_)) if !keeper.takes_single_orders() => {
                    round_with_orders(&mut keeper, Some(order), orders, kept);
                }
                Ok(order) => carry_out(&mut keeper, order, kept),
                // The owner has stopped.
                Err(_) => return,
            },
            recv(rounds) -> _ => round_with_orders(&mut keeper, None, orders, kept),
        }
    }
}

fn carry_out(keeper: &mut Keeper<Watched<Kernel>>, order: Order, kept: &EnforcedNode) {
    match order {
        Order::Enforce(one) => {
            let quota = quota(&kept.served.node, &kept.snapshots.latest(), &one);
            for problem in keeper.write_container(&one, quota).problems {
                problem.log();
            }
        }
        Order::Then(then) => then(),
    }
}

/// Carries out the orders that wait. With partitions, or while a container is not on its CPUs, one round over all containers
/// takes the place of single orders: the round needs its own order of writes, and the snapshot has all that was ordered.
fn round_with_orders(
    keeper: &mut Keeper<Watched<Kernel>>,
    first: Option<Order>,
    orders: &Receiver<Order>,
    kept: &EnforcedNode,
) {
    let mut callbacks = Vec::new();
    for order in first.into_iter().chain(orders.try_iter()) {
        match order {
            order if keeper.takes_single_orders() => carry_out(keeper, order, kept),
            // Called after the round: a caller that waits for a container waits for its partition too.
            Order::Then(then) => callbacks.push(then),
            Order::Enforce(_) => {}
        }
    }
    round(keeper, callbacks, kept);
}

/// A round over all containers as the snapshot has them. The callbacks are called as soon as containers have their CPUs, and
/// before processes are searched for noise.
fn round(
    keeper: &mut Keeper<Watched<Kernel>>,
    callbacks: Vec<Box<dyn FnOnce() + Send>>,
    kept: &EnforcedNode,
) {
    let snapshot = kept.snapshots.latest();
    let places = snapshot.places.iter().map(|one| (one, quota(&kept.served.node, &snapshot, one)));
    let pool = snapshot.ledger.cpus().map(|held| held.shared().clone()).unwrap_or_default();
    let is_off = keeper.is_off();
    let wanted = if is_off { Wanted::default() } else { Wanted::of(&kept.served.node, &snapshot) };
    let round = keeper.ordered_round(&places.collect::<Vec<_>>(), &wanted, &pool);
    let mut found = (!is_off).then(|| Findings::of(&keeper.isolation, &snapshot));
    if let Some(found) = &mut found {
        keeper.move_interrupts(found);
    }
    for then in callbacks {
        then();
    }
    if let Some(mut found) = found {
        keeper.find_noise(&mut found);
        kept.metrics.partitions(found.counts());
        found.report(&kept.conditions);
    }
    kept.metrics.drifted(round.drifted);
    kept.metrics.partition_faults(round.partition_problems.len());
    round.problems.iter().for_each(ContainerProblem::log);
    round.partition_problems.iter().for_each(isolation::PartitionProblem::log);
}

/// The CPU manager's rule for CFS quotas: a container with exclusive CPUs is not throttled.
fn quota(node: &LoadedNode, snapshot: &Snapshot, one: &Enforcement) -> CpuQuota {
    let found = || {
        let pod = &snapshot.pods.get(&one.container.pod)?.pod;
        let container = pod.container(&one.container.container)?;
        let held = snapshot.ledger.cpus()?;
        Some(node.node.cpus()?.quota(held, pod, container, node.keeping.quota))
    };
    found().unwrap_or(CpuQuota::ByLimit)
}

/// The CPUs and memory nodes of a container in the form that cgroups have.
pub fn place(pinning: &Pinning) -> Place {
    let Pinning { cpus, mems, limits: _ } = pinning;
    Place { cpus: cpus.clone(), mems: mems.as_ref().map(|nodes| nodes.iter().copied().collect()) }
}

/// The limits of a container in the form that cgroups have.
fn limits(pinning: &Pinning) -> Limits {
    pinning.limits.map_or_else(Limits::default, |limits| Limits { cpu: limits.cpu, memory: limits.memory })
}

/// Writes cgroups, and keeps what it wrote.
struct Keeper<F> {
    cgroups: Cgroups<F>,
    isolation: Isolation,
    quiet: Quiet<F>,
    /// What each cgroup had after the last write that did not fail.
    written: BTreeMap<ContainerId, Target>,
    conditions: Conditions<ContainerCondition, ContainerId>,
    clock: Arc<dyn Clock>,
}

/// A condition of a container; `True` is the good case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ContainerCondition {
    /// Its cgroup has its CPUs and memory nodes.
    Placed,
    /// It has its limits.
    Limited,
    /// It has all of its CPUs: none is still in use by another container.
    HasCpus,
}

impl ContainerCondition {
    const fn reason(self) -> &'static str {
        match self {
            Placed => "CpusetNotWritten",
            Limited => "LimitsNotWritten",
            HasCpus => "CpusHeld",
        }
    }
}

/// What is written of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Target {
    place: Place,
    quota: CpuQuota,
    limits: Limits,
}

/// The outcome of a round, or of writing one container.
#[derive(Debug, Default)]
struct Outcome {
    /// How many containers other programs had moved, and were written again.
    drifted: u64,
    problems: Vec<ContainerProblem>,
    partition_problems: Vec<isolation::PartitionProblem>,
}

impl Outcome {
    fn add(&mut self, other: Self) {
        let Self { drifted, problems, partition_problems } = other;
        self.drifted += drifted;
        self.problems.extend(problems);
        self.partition_problems.extend(partition_problems);
    }
}

/// Something about a container that the log reports.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ContainerProblem {
    id: ContainerId,
    cgroup: PathBuf,
    kind: ContainerProblemKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum ContainerProblemKind {
    /// Another program had moved it; it is written again.
    Drifted,
    /// Its CPUs or memory nodes cannot be written.
    Failed(String),
    /// Its quota or limits cannot be written.
    Limited(String),
    /// Some of its CPUs are still in use by another container.
    Waits(String),
}

impl ContainerProblem {
    fn log(&self) {
        let Self { id, cgroup, kind } = self;
        let cgroup = cgroup.display();
        match kind {
            ContainerProblemKind::Drifted => {
                tracing::warn!(%id, %cgroup, "container was moved by others, and is back");
            }
            ContainerProblemKind::Failed(why) => {
                tracing::error!(%id, %cgroup, "container is not where it belongs: {why}");
            }
            ContainerProblemKind::Limited(why) => {
                tracing::error!(%id, %cgroup, "container does not have its limits: {why}");
            }
            ContainerProblemKind::Waits(why) => {
                tracing::error!(%id, %cgroup, "container waits for CPUs: {why}");
            }
        }
    }
}

impl<F: Files> Keeper<F> {
    fn new(cgroups: Cgroups<F>, isolation: Isolation, quiet: Quiet<F>, clock: Arc<dyn Clock>) -> Self {
        Self { cgroups, isolation, quiet, written: BTreeMap::new(), conditions: Conditions::new(), clock }
    }

    /// Whether partitions and interrupts are off, and none is left from an earlier start.
    fn is_off(&self) -> bool {
        self.isolation.is_off() && self.quiet.is_off()
    }

    /// Moves interrupts away from partitions; called after a round.
    fn move_interrupts(&mut self, found: &mut Findings) {
        self.quiet.keep_off(&self.cgroups, found);
    }

    /// Adds the interrupts and kernel threads on CPUs of partitions. It reads a file of every process.
    fn find_noise(&mut self, found: &mut Findings) {
        self.quiet.look(found, self.clock.since_1970());
    }

    /// Whether single orders are carried out without a round: partitions are off, and all containers are on their CPUs.
    fn takes_single_orders(&self) -> bool {
        self.is_off() && self.conditions.of(Placed).all(|(_, condition)| condition.status() == Status::True)
    }

    /// Whether a condition of a container has failed.
    fn has_failed(&self, of: ContainerCondition, id: &ContainerId) -> bool {
        self.conditions.get(of, id).is_some_and(|condition| condition.status() == Status::False)
    }

    /// Sets a condition of a container; returns whether it fails for a new reason.
    fn set(&mut self, of: ContainerCondition, id: &ContainerId, wrong: Option<&str>) -> bool {
        let state = wrong.map_or(State::Works, |why| State::failed(of.reason(), why));
        self.conditions.set(of, id.clone(), state, self.clock.since_1970()).is_some() && wrong.is_some()
    }

    /// Forgets all containers but these.
    fn forget_others(&mut self, places: &[(&Enforcement, CpuQuota)]) {
        let known: BTreeSet<&ContainerId> = places.iter().map(|(one, _)| &one.id).collect();
        self.written.retain(|id, _| known.contains(id));
        self.conditions.retain(|_, id| known.contains(id));
    }

    /// Writes the CPUs, memory nodes, quota and limits of a container.
    fn write_container(&mut self, one: &Enforcement, quota: CpuQuota) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(cgroup) = &one.cgroup else { return outcome };
        let problem = |kind| ContainerProblem { id: one.id.clone(), cgroup: cgroup.clone(), kind };
        let now = Target { place: place(&one.pinning), quota, limits: limits(&one.pinning) };
        let [placed, limited] = self.write(cgroup, &now);
        let is_changed = [&placed, &limited].contains(&&Ok(Written::Changed));
        let had_limits = !self.has_failed(Limited, &one.id);
        if self.set(Limited, &one.id, limited.as_ref().err().map(String::as_str)) {
            outcome.problems.extend(limited.err().map(|why| problem(ContainerProblemKind::Limited(why))));
        }
        let is_news = self.set(Placed, &one.id, placed.as_ref().err().map(String::as_str));
        match placed {
            Ok(_) => {
                // A first write, or one of another target, is no drift.
                if is_changed && had_limits && self.written.get(&one.id) == Some(&now) {
                    outcome.drifted = 1;
                    outcome.problems.push(problem(ContainerProblemKind::Drifted));
                }
                self.written.insert(one.id.clone(), now);
            }
            Err(why) => {
                self.written.remove(&one.id);
                if is_news {
                    outcome.problems.push(problem(ContainerProblemKind::Failed(why)));
                }
            }
        }
        outcome
    }

    /// The results of writing the CPUs and memory nodes, and of writing the quota and limits.
    fn write(&self, cgroup: &Path, target: &Target) -> [Result<Written, String>; 2] {
        let Target { place, quota, limits } = target;
        let cgroup = match CgroupPath::new(cgroup) {
            Ok(cgroup) => cgroup,
            Err(error) => return [Err(error.to_string()), Ok(Written::Nothing)],
        };
        // A container without a cgroup has ended; its exit is reported later.
        let placed = match self.cgroups.place(&cgroup, place) {
            Err(PlaceError::Gone(_)) => return [Ok(Written::Nothing), Ok(Written::Nothing)],
            placed => placed.map_err(|error| with_cause(&error)),
        };
        // The runtime has written the quota of the CPU limit when it made the cgroup.
        let unlimited = match quota {
            CpuQuota::ByLimit => Ok(Written::Nothing),
            CpuQuota::Unlimited => match self.cgroups.limit(&cgroup, Quota::NONE) {
                Err(QuotaError::Gone(_)) => Ok(Written::Nothing),
                limited => limited.map_err(|error| with_cause(&error)),
            },
        };
        let resized = match self.cgroups.change_limits(&cgroup, limits) {
            Err(LimitError::Gone(_)) => Ok(Written::Nothing),
            resized => resized.map_err(|error| with_cause(&error)),
        };
        let limited = match (unlimited, resized) {
            (Ok(Written::Nothing), resized) => resized,
            (unlimited, Ok(_)) => unlimited,
            (Ok(Written::Changed), Err(why)) | (Err(why), Err(_)) => Err(why),
        };
        [placed, limited]
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
