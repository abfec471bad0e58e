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
use node_view::{Metrics, NodeConditions, ServedNode, Snapshots, now};
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
    /// Nothing is written, but what an earlier start did is undone.
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
    /// Writes them; what cannot be written is tried again in the next round.
    fn enforce(&mut self, enforcement: Enforcement);

    /// Whether cgroups are written at all.
    fn is_enforcing(&self) -> bool;

    /// Calls `then` when all earlier orders are written.
    fn after(&mut self, then: Box<dyn FnOnce() + Send>);
}

/// Nobody writes cgroups: where containers belong is told in the log.
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

/// The thread that writes.
struct Orders(Sender<Order>);

impl Enforcer for Orders {
    fn enforce(&mut self, enforcement: Enforcement) {
        // It ends only after its owner.
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

/// The node whose containers are kept, and where results are reported.
pub struct Kept {
    /// Its rules.
    pub served: Arc<ServedNode>,
    /// The latest state of the node.
    pub snapshots: Snapshots,
    /// What is reported of partitions.
    pub conditions: Arc<NodeConditions>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

fn run(mut keeper: Keeper<Watched<Kernel>>, orders: &Receiver<Order>, kept: &Kept) {
    let rounds = channel::tick(kept.served.node.keeping.period);
    loop {
        select! {
            recv(orders) -> order => match order {
                Ok(order @ Order::Enforce(_)) if !keeper.takes_single_orders() => {
                    keep_all(&mut keeper, Some(order), orders, kept);
                }
                Ok(order) => carry_out(&mut keeper, order, kept),
                // The owner has stopped.
                Err(_) => return,
            },
            recv(rounds) -> _ => keep_all(&mut keeper, None, orders, kept),
        }
    }
}

fn carry_out(keeper: &mut Keeper<Watched<Kernel>>, order: Order, kept: &Kept) {
    match order {
        Order::Enforce(one) => {
            let quota = quota(&kept.served.node, &kept.snapshots.latest(), &one);
            for trouble in keeper.put(&one, quota).trouble {
                trouble.log();
            }
        }
        Order::Then(then) => then(),
    }
}

/// A round over all containers, with what is ordered. Where there are partitions, or somebody could not be moved, the round
/// has its own order, which takes the place of the one of the orders; the snapshot knows all that was ordered until then.
fn keep_all(
    keeper: &mut Keeper<Watched<Kernel>>,
    first: Option<Order>,
    orders: &Receiver<Order>,
    kept: &Kept,
) {
    let mut told = Vec::new();
    for order in first.into_iter().chain(orders.try_iter()) {
        match order {
            order if keeper.takes_single_orders() => carry_out(keeper, order, kept),
            // Who waits for a container waits for its partition too.
            Order::Then(then) => told.push(then),
            Order::Enforce(_) => {}
        }
    }
    keep(keeper, told, kept);
}

/// A round over all containers as the snapshot has them. Who waits for it is told as soon as containers have their CPUs for
/// themselves.
fn keep(keeper: &mut Keeper<Watched<Kernel>>, told: Vec<Box<dyn FnOnce() + Send>>, kept: &Kept) {
    let snapshot = kept.snapshots.latest();
    let places = snapshot.places.iter().map(|one| (one, quota(&kept.served.node, &snapshot, one)));
    let pool = snapshot.ledger.cpus().map(|held| held.shared().clone()).unwrap_or_default();
    let is_off = keeper.is_off();
    let wanted = if is_off { Wanted::default() } else { Wanted::of(&kept.served.node, &snapshot) };
    let round = keeper.ordered_round(&places.collect::<Vec<_>>(), &wanted, &pool);
    let mut found = (!is_off).then(|| Findings::of(&keeper.isolation, &snapshot));
    if let Some(found) = &mut found {
        keeper.quieten(found);
    }
    for then in told {
        then();
    }
    if let Some(mut found) = found {
        keeper.listen(&mut found);
        kept.metrics.partitions(found.counts());
        found.report(&kept.conditions);
    }
    kept.metrics.drifted(round.drifted);
    kept.metrics.partition_faults(round.partitions.len());
    round.trouble.iter().for_each(Trouble::log);
    round.partitions.iter().for_each(isolation::Trouble::log);
}

/// The quota rule of the CPU manager: who has CPUs of its own is not stopped on them.
fn quota(node: &LoadedNode, snapshot: &Snapshot, one: &Enforcement) -> CpuQuota {
    let found = || {
        let pod = &snapshot.pods.get(&one.container.pod)?.pod;
        let container = pod.container(&one.container.container)?;
        let held = snapshot.ledger.cpus()?;
        Some(node.node.cpus()?.quota(held, pod, container, node.keeping.quota))
    };
    found().unwrap_or(CpuQuota::ByLimit)
}

/// Where a container belongs, as its cgroup has it.
pub fn place(pinning: &Pinning) -> Place {
    let Pinning { cpus, mems, limits: _ } = pinning;
    Place { cpus: cpus.clone(), mems: mems.as_ref().map(|nodes| nodes.iter().copied().collect()) }
}

/// What a container may use, as its cgroup has it.
fn limits(pinning: &Pinning) -> Limits {
    pinning.limits.map_or_else(Limits::default, |limits| Limits { cpu: limits.cpu, memory: limits.memory })
}

/// Writes cgroups, and remembers what it wrote.
struct Keeper<F> {
    cgroups: Cgroups<F>,
    isolation: Isolation,
    quiet: Quiet<F>,
    /// What is in force as far as is known.
    written: BTreeMap<ContainerId, Target>,
    conditions: Conditions<ContainerCondition, ContainerId>,
}

/// What is true of a container that is as it should be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ContainerCondition {
    /// It is where it belongs.
    Placed,
    /// It has its limits.
    Limited,
    /// It does not wait for CPUs.
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

/// What a round, or one container, came to.
#[derive(Debug, Default)]
struct Outcome {
    /// Containers that others had moved and that are back.
    drifted: u64,
    trouble: Vec<Trouble>,
    partitions: Vec<isolation::Trouble>,
}

impl Outcome {
    fn add(&mut self, other: Self) {
        let Self { drifted, trouble, partitions } = other;
        self.drifted += drifted;
        self.trouble.extend(trouble);
        self.partitions.extend(partitions);
    }
}

/// Something that is to be said of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Trouble {
    id: ContainerId,
    cgroup: PathBuf,
    what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    /// It had been moved, and is back.
    Drifted,
    /// It is not where it belongs.
    Failed(String),
    /// It may use less, or more, than it should.
    Limited(String),
    /// It does not have all of its CPUs yet.
    Waits(String),
}

impl Trouble {
    fn log(&self) {
        let Self { id, cgroup, what } = self;
        let cgroup = cgroup.display();
        match what {
            What::Drifted => tracing::warn!(%id, %cgroup, "container was moved by others, and is back"),
            What::Failed(why) => tracing::error!(%id, %cgroup, "container is not where it belongs: {why}"),
            What::Limited(why) => tracing::error!(%id, %cgroup, "container does not have its limits: {why}"),
            What::Waits(why) => tracing::error!(%id, %cgroup, "container waits for CPUs: {why}"),
        }
    }
}

impl<F: Files> Keeper<F> {
    fn new(cgroups: Cgroups<F>, isolation: Isolation, quiet: Quiet<F>) -> Self {
        Self { cgroups, isolation, quiet, written: BTreeMap::new(), conditions: Conditions::new() }
    }

    /// Whether there is nothing to do for partitions, and never will be.
    fn is_off(&self) -> bool {
        self.isolation.is_off() && self.quiet.is_off()
    }

    /// After a round: moves interrupts.
    fn quieten(&mut self, found: &mut Findings) {
        self.quiet.keep_off(&self.cgroups, found);
    }

    /// After that: adds what runs on CPUs of partitions all the same. It reads a file of every process.
    fn listen(&mut self, found: &mut Findings) {
        self.quiet.look(found);
    }

    /// Whether an order is carried out by itself: there are no partitions, and all containers are where they belong.
    fn takes_single_orders(&self) -> bool {
        self.is_off() && self.conditions.of(Placed).all(|(_, condition)| condition.status() == Status::True)
    }

    /// Whether a condition of a container has failed.
    fn has_failed(&self, of: ContainerCondition, id: &ContainerId) -> bool {
        self.conditions.get(of, id).is_some_and(|condition| condition.status() == Status::False)
    }

    /// A container is so, or not, for a reason; whether the reason is new.
    fn set(&mut self, of: ContainerCondition, id: &ContainerId, wrong: Option<&str>) -> bool {
        let state = wrong.map_or(State::Works, |why| State::failed(of.reason(), why));
        self.conditions.set(of, id.clone(), state, now()).is_some() && wrong.is_some()
    }

    /// Forgets all other containers than these.
    fn forget_others(&mut self, places: &[(&Enforcement, CpuQuota)]) {
        let known: BTreeSet<&ContainerId> = places.iter().map(|(one, _)| &one.id).collect();
        self.written.retain(|id, _| known.contains(id));
        self.conditions.retain(|_, id| known.contains(id));
    }

    /// Puts a container where it belongs.
    fn put(&mut self, one: &Enforcement, quota: CpuQuota) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(cgroup) = &one.cgroup else { return outcome };
        let trouble = |what| Trouble { id: one.id.clone(), cgroup: cgroup.clone(), what };
        let now = Target { place: place(&one.pinning), quota, limits: limits(&one.pinning) };
        let [placed, limited] = self.write(cgroup, &now);
        let is_changed = [&placed, &limited].contains(&&Ok(Written::Changed));
        let had_limits = !self.has_failed(Limited, &one.id);
        if self.set(Limited, &one.id, limited.as_ref().err().map(String::as_str)) {
            outcome.trouble.extend(limited.err().map(|why| trouble(What::Limited(why))));
        }
        let is_news = self.set(Placed, &one.id, placed.as_ref().err().map(String::as_str));
        match placed {
            Ok(_) => {
                // What was never written, or is other now, has not drifted.
                if is_changed && had_limits && self.written.get(&one.id) == Some(&now) {
                    outcome.drifted = 1;
                    outcome.trouble.push(trouble(What::Drifted));
                }
                self.written.insert(one.id.clone(), now);
            }
            Err(why) => {
                self.written.remove(&one.id);
                if is_news {
                    outcome.trouble.push(trouble(What::Failed(why)));
                }
            }
        }
        outcome
    }

    /// What came of a container's place, and of its limits.
    fn write(&self, cgroup: &Path, target: &Target) -> [Result<Written, String>; 2] {
        let Target { place, quota, limits } = target;
        let cgroup = match CgroupPath::new(cgroup) {
            Ok(cgroup) => cgroup,
            Err(error) => return [Err(error.to_string()), Ok(Written::Nothing)],
        };
        // Somebody will say that a container that is gone has exited.
        let placed = match self.cgroups.place(&cgroup, place) {
            Err(PlaceError::Gone(_)) => return [Ok(Written::Nothing), Ok(Written::Nothing)],
            placed => placed.map_err(|error| with_cause(&error)),
        };
        // A quota by limit was written by who made the cgroup.
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
