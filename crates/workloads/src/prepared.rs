//! Our side of a piece of work, set up to be done again and again.

mod claims;
mod filter;
mod set_up;

use std::cell::RefCell;
use std::hint::black_box;

use anyhow::{Context as _, bail, ensure};
use device_manager::Devices;
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::Unit;
use topology_admission::Verdict;
use topology_discovery::{SysfsTree, read};
use topology_hint::{Affinity, Answers, Hint, ListedHint, Preference};
use topology_policy::{DistanceIndex, Distances, KubeletPolicy, Ties};

pub use self::claims::allocator_steps;
use self::set_up::SetUp;
use crate::work::{Merge, NodeWork, Task, Work};

/// Work that can be done at once.
pub struct Prepared {
    once: Box<dyn Fn()>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}

impl Prepared {
    /// Sets everything up, and does it once to see that it works.
    ///
    /// # Errors
    /// A node that does not start, a resident without room, a pod that is refused.
    pub fn new(work: &Work) -> anyhow::Result<Self> {
        let once = match &work.task {
            Task::Merge { merge } => prepare_merge(merge),
            Task::CpuHints(work) => prepare_hints(work, Manager::Cpus),
            Task::MemoryHints(work) => prepare_hints(work, Manager::Memory),
            Task::DeviceHints(work) => prepare_hints(work, Manager::Devices),
            Task::TakeCpus(work) => prepare_take(work),
            Task::Admit(work) => prepare_admit(work),
            Task::Filter(work) => filter::prepare(work),
            Task::Discover { archive } => prepare_discovery(archive),
            Task::Claims(work) => claims::prepare(work),
        };
        Ok(Self { once: once.with_context(|| work.name.clone())? })
    }

    /// Does the work.
    pub fn once(&self) {
        (self.once)();
    }
}

fn prepare_merge(merge: &Merge) -> anyhow::Result<Box<dyn Fn()>> {
    let policy = match merge.policy {
        "best-effort" => KubeletPolicy::BestEffort,
        "restricted" => KubeletPolicy::Restricted,
        "single-numa-node" => KubeletPolicy::SingleNumaNode,
        other => bail!("{other:?} merges nothing"),
    };
    let nodes = NodeMask::all(merge.distances.len());
    let rows = (0..).zip(merge.distances.iter().cloned().map(Some));
    let distances = merge.closest.then(|| Distances::new(rows, DistanceIndex::ByPosition));
    let mut answers = Answers::new();
    for hints in &merge.providers {
        let hints = hints.iter().map(|hint| {
            let nodes = hint.nodes.iter().flat_map(|node| NodeIndex::new(*node)).map(NodeMask::single);
            let preference = if hint.preferred { Preference::Preferred } else { Preference::Acceptable };
            let affinity = Affinity::Nodes(nodes.fold(NodeMask::EMPTY, |all, node| all | node));
            ListedHint::from(Hint { affinity, preference })
        });
        answers.push_list("example.com/r", hints);
    }
    Ok(Box::new(move || {
        let ties = distances.as_ref().map_or(Ties::LowestNumber, Ties::Closest);
        let merged = policy.merge_with(nodes, black_box(&answers), ties.into());
        assert!(black_box(merged).is_ok(), "the merge did not end within its bound");
    }))
}

enum Manager {
    Cpus,
    Memory,
    Devices,
}

fn prepare_hints(work: &NodeWork, manager: Manager) -> anyhow::Result<Box<dyn Fn()>> {
    let SetUp { node, ledger, pod } = SetUp::new(work)?;
    let answers = RefCell::new(Answers::new());
    let ask = move |answers: &mut Answers| {
        let unit = Unit::Container(&pod, &pod.containers[0]);
        match manager {
            Manager::Cpus => {
                if let (Some(cpus), Some(held)) = (node.cpus(), ledger.cpus()) {
                    cpus.hints(black_box(held), unit, answers);
                }
            }
            Manager::Memory => {
                if let (Some(memory), Some(held)) = (node.memory(), ledger.memory()) {
                    memory.hints(black_box(held), unit, answers);
                }
            }
            Manager::Devices => {
                Devices::default().hints(black_box(ledger.inventory()), ledger.devices(), unit, answers);
            }
        }
    };
    ask(&mut answers.borrow_mut());
    ensure!(!answers.borrow().is_empty(), "the manager has no answer");
    Ok(Box::new(move || {
        let mut answers = answers.borrow_mut();
        answers.clear();
        ask(&mut answers);
        black_box(&*answers);
    }))
}

fn prepare_take(work: &NodeWork) -> anyhow::Result<Box<dyn Fn()>> {
    let SetUp { node, ledger, pod } = SetUp::new(work)?;
    let take = move || -> anyhow::Result<()> {
        let cpus = node.cpus().context("no CPUs are managed")?;
        let held = ledger.cpus().context("no CPUs are managed")?;
        let container = &pod.containers[0];
        let allocation = cpus.allocate(black_box(held), &pod, container, Affinity::Any)?;
        black_box(allocation.after.release(&pod.uid, &container.name));
        Ok(())
    };
    take()?;
    Ok(Box::new(move || assert!(take().is_ok(), "it worked before")))
}

fn prepare_admit(work: &NodeWork) -> anyhow::Result<Box<dyn Fn()>> {
    let SetUp { node, ledger, pod } = SetUp::new(work)?;
    // What a node learns of its pods at the first attempt it knows from then on.
    let first = node.admission(&ledger, &pod).attempt();
    let ledger = ledger.commit(first)?.release(&pod.uid);
    let admit = move || -> anyhow::Result<()> {
        let attempt = node.admission(black_box(&ledger), &pod).attempt();
        if let Verdict::Refused(refused) = &attempt.verdict {
            bail!("{}: {}", refused.reason, refused.message);
        }
        black_box(ledger.commit(attempt)?.release(&pod.uid));
        Ok(())
    };
    admit()?;
    Ok(Box::new(move || assert!(admit().is_ok(), "it worked before")))
}

fn prepare_discovery(name: &'static str) -> anyhow::Result<Box<dyn Fn()>> {
    let archive = machine_fixtures::archive(name).with_context(|| format!("no machine is called {name}"))?;
    let discover = move || -> anyhow::Result<()> {
        black_box(read(&SysfsTree::archive(black_box(archive))?)?);
        Ok(())
    };
    discover()?;
    Ok(Box::new(move || assert!(discover().is_ok(), "it worked before")))
}
