#![doc = include_str!("../README.md")]

#[cfg(test)]
mod bench;
mod cause;
mod findings;
mod isolation;
mod keeper;
mod quiet;
mod round;
mod start;
mod watched;

use cgroup_cpuset::Kernel;
use cpu_manager::CpuQuota;
use crossbeam::channel::{self, Receiver, SendError, Sender};
use crossbeam::select;
use node_agent::{Enforcement, Snapshot};
use node_input::LoadedNode;
use node_view::clock::Clock;
use node_view::{Metrics, NodeConditions, ServedNode, Snapshots};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use self::findings::Findings;
use self::isolation::Wanted;
pub use self::keeper::place;
use self::keeper::{ContainerProblem, Keeper};
pub use self::start::{enforcer, open};
use self::watched::Watched;

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
