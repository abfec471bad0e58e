//! What an explanation says would fit, fits: done again here, change by change and without the crate's own means, on
//! all captured machines; and where it says nothing, trying everything finds nothing.

use crate::fixture;
use std::cell::Cell;
use std::collections::BTreeMap;

use crate::fixture::{Asked, GIBIBYTE, PAGES};
use cpuset::CpuSet;
use device_manager::{Device, Replies};
use k8s_quantity::Quantity;
use node_config::{Drift, KubeletConfiguration, OwnOptions, Regroup};
use numa_bitmask::NodeMask;
use pod_spec::{Pod, ResourceName};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use topology_admission::{
    Asks, Change, Changed, Compat, Detail, Explanation, Ledger, Move, Node, OnEmptyNode, Plugins, Rules,
    RunningPods, Search, Standing, Trace, Tries, Turn, UnitName, Verdict,
};
use topology_model::{MachineInfo, NodeId};
use topology_policy::KubeletPolicy;

/// A node with what it is made of, so that it can be made again a little different.
struct Made {
    info: MachineInfo,
    config: KubeletConfiguration,
    node: Node,
}

impl Made {
    fn new(info: MachineInfo, config: KubeletConfiguration) -> Self {
        let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
        Self { info, config, node }
    }

    fn fits(&self, ledger: &Ledger, pod: &Pod) -> bool {
        fits(&self.node, self.node.rules(), ledger, pod)
    }

    /// Whether the pod fits after the kubelet has been started anew, on what it had stored.
    fn fits_restarted(&self, other: &Node, ledger: &Ledger, pod: &Pod) -> bool {
        let pods = RunningPods::admitted(ledger.pods_by_arrival().cloned());
        let restored = other.restore(self.node.stored(ledger), pods);
        let restored = restored.unwrap().with_inventory(ledger.inventory().clone());
        fits(other, other.rules(), &restored, pod)
    }

    /// With huge pages and devices added on one node; the pages are taken from its memory.
    fn with_more(&self, ledger: &Ledger, id: NodeId, amounts: &[(ResourceName, u64)], pod: &Pod) -> bool {
        let mut info = self.info.clone();
        let mut inventory = ledger.inventory().clone();
        for (resource, more) in amounts {
            if resource.as_str() == PAGES {
                let mut nodes = info.topology.iter_mut().flatten();
                let node = nodes.find(|node| node.id == id.0).unwrap();
                for pages in node.hugepages.iter_mut().flatten() {
                    pages.num_pages += more / GIBIBYTE;
                }
                fixture::count_pages(&mut info);
            } else {
                let added = (0..*more).map(|at| Device::new(&format!("another-{at}"), &[id.0]));
                inventory.list(resource, ledger.inventory().devices(resource).cloned().chain(added));
            }
        }
        let options = OwnOptions { drift: Drift::Absorb, ..OwnOptions::default() };
        let other = fixture::node(&info, &self.config, Compat::default(), options);
        self.fits_restarted(&other, &ledger.with_inventory(inventory), pod)
    }

    fn reserving(&self, ledger: &Ledger, cpus: &CpuSet, pod: &Pod) -> bool {
        let config =
            KubeletConfiguration { reserved_system_cpus: Some(cpus.to_string()), ..self.config.clone() };
        let other = fixture::node(&self.info, &config, Compat::default(), OwnOptions::default());
        self.fits_restarted(&other, ledger, pod)
    }

    fn regrouping(&self, ledger: &Ledger, pod: &Pod) -> bool {
        let options = OwnOptions { regroup: Regroup::WhenUnneeded, ..OwnOptions::default() };
        let other = fixture::node(&self.info, &self.config, Compat::default(), options);
        self.fits_restarted(&other, ledger, pod)
    }

    /// Deletes the pod, and creates both in their turn.
    fn moves(&self, ledger: &Ledger, pod: &Pod, moved: &Move) -> bool {
        let resident = ledger.pods().find(|other| other.uid == moved.pod).unwrap();
        let order = match moved.turn {
            Turn::First => [resident, pod],
            Turn::Last => [pod, resident],
        };
        let all = order.iter().try_fold(ledger.release(&moved.pod), |ledger, pod| {
            let attempt = self.node.admission(&ledger, pod).attempt();
            matches!(attempt.verdict, Verdict::Admitted(_)).then(|| ledger.commit(attempt).unwrap())
        });
        all.is_some_and(|after| after.pods().count() == ledger.pods().count() + 1)
    }

    /// Makes the change, and attempts again.
    fn holds(&self, ledger: &Ledger, pod: &Pod, change: &Change) -> bool {
        let rules = self.node.rules();
        match change {
            Change::Wait(gone) => {
                let without = gone.iter().fold(ledger.clone(), |ledger, uid| ledger.release(uid));
                self.fits(&without, pod)
            }
            Change::Move(moved) => self.moves(ledger, pod, moved),
            Change::AskLess(asks) | Change::AskMore(asks) => self.fits(ledger, &asking(pod, asks)),
            Change::More { node, amounts } => self.with_more(ledger, *node, amounts, pod),
            Change::ReserveCpus(cpus) => self.reserving(ledger, cpus, pod),
            Change::Regroup => self.regrouping(ledger, pod),
            Change::Policy(policy) => fits(&self.node, Rules { policy: *policy, ..rules }, ledger, pod),
            Change::Scope(scope) => fits(&self.node, Rules { scope: *scope, ..rules }, ledger, pod),
            other => panic!("unknown change {other:?}"),
        }
    }
}

fn fits(node: &Node, rules: Rules, ledger: &Ledger, pod: &Pod) -> bool {
    matches!(node.admission(ledger, pod).under(rules).attempt().verdict, Verdict::Admitted(_))
}

fn asking(pod: &Pod, asks: &[Asks]) -> Pod {
    let mut other = pod.clone();
    for Asks { container, resource, now, fits } in asks {
        let mut containers = other.containers.iter_mut();
        let container = containers.find(|own| Some(&own.name) == container.as_ref()).unwrap();
        for amounts in [&mut container.requests, &mut container.limits] {
            assert_eq!(
                amounts.insert(resource.clone(), fits.clone()).as_ref(),
                Some(now),
                "what it asks for now"
            );
        }
    }
    other
}

/// Trying everything of the kinds that an explanation looks at.
struct BruteForce<'a> {
    made: &'a Made,
    ledger: &'a Ledger,
    pod: &'a Pod,
    trace: &'a Trace,
}

impl BruteForce<'_> {
    fn sets(&self) -> Vec<NodeMask> {
        let all = self.made.node.nodes().all();
        let single = |set: &NodeMask| set.len() == 1;
        if self.made.node.policy() == KubeletPolicy::SingleNumaNode {
            return all.iter().map(NodeMask::from).collect();
        }
        if all.len() > 8 {
            return all.iter().map(NodeMask::from).chain([all]).collect();
        }
        all.subsets().filter(|set| single(set) || set.len() == 2 || *set == all).collect()
    }

    fn waits(&self) -> bool {
        let others: Vec<_> = self.ledger.pods().map(|other| other.uid.clone()).collect();
        others.iter().enumerate().any(|(at, first)| {
            let ledger = self.ledger.release(first);
            others[at..].iter().any(|second| self.made.fits(&ledger.release(second), self.pod))
        })
    }

    /// The refused unit asking for what a node set has left.
    fn asks_less(&self) -> bool {
        let Some(unit) = self.trace.units.last() else { return false };
        let of_unit = |name: &pod_spec::ContainerName| match &unit.unit {
            UnitName::Container(own) => own == name,
            UnitName::Pod => true,
        };
        self.sets().into_iter().any(|set| {
            let mut smaller = self.pod.clone();
            for row in &unit.resources {
                let amounts = row.amounts.as_ref().unwrap();
                let free = amounts.nodes.iter().enumerate();
                let free = free.filter(|(at, _)| set.iter().any(|node| node.get() == *at));
                let free: u64 = free.map(|(_, cell)| cell.free).sum();
                if free >= amounts.asked {
                    continue;
                }
                let mut asking = smaller.containers.iter_mut().filter(|container| {
                    of_unit(&container.name) && container.limits.contains_key(row.resource.as_str())
                });
                // Which of several should ask for less is a choice; this tries none.
                let (Some(container), None) = (asking.next(), asking.next()) else { return false };
                let text = match row.resource.as_str() {
                    "memory" if free >= 16 * GIBIBYTE => format!("{}Gi", free >> 30),
                    "memory" => format!("{}Mi", free >> 20),
                    _ => free.to_string(),
                };
                let free: Quantity = text.parse().unwrap();
                if free.is_zero() {
                    return false;
                }
                container.requests.insert(row.resource.clone(), free.clone());
                container.limits.insert(row.resource.clone(), free);
            }
            self.made.fits(self.ledger, &smaller)
        })
    }

    /// More on a node that lacks only devices and huge pages.
    fn more(&self) -> bool {
        let Some(unit) = self.trace.units.last() else { return false };
        self.made.node.nodes().iter().any(|(index, id)| {
            let mut amounts = Vec::new();
            for row in &unit.resources {
                match unit.standing(row, index) {
                    Standing::Fits => {}
                    Standing::Lacks(lack)
                        if row.resource.is_hugepages() || row.resource.as_str().contains('/') =>
                    {
                        amounts.push((row.resource.clone(), lack));
                    }
                    _ => return false,
                }
            }
            let booked = |resource: &ResourceName| {
                let held = self.ledger.memory().unwrap();
                held.amounts(index, resource).free
            };
            let pages: u64 =
                amounts.iter().filter(|(name, _)| name.is_hugepages()).map(|(_, more)| *more).sum();
            // What is taken for pages must not be held.
            pages <= booked(&"memory".into())
                && !amounts.is_empty()
                && self.made.with_more(self.ledger, id, &amounts, self.pod)
        })
    }

    /// Reserved CPUs moved from one node to another.
    fn reserved(&self) -> bool {
        let (policy, held) = (self.made.node.cpus().unwrap(), self.ledger.cpus().unwrap());
        let nodes = || self.made.node.nodes().all().iter().map(NodeMask::single);
        nodes().any(|from| {
            nodes().filter(|to| *to != from).any(|to| {
                let moved = policy.with_reserved_moved(held, from, to);
                moved.is_some_and(|(other, _)| self.made.reserving(self.ledger, other.reserved(), self.pod))
            })
        })
    }
}

/// How often each kind of change was reported.
type Told = BTreeMap<&'static str, u32>;

fn kind(change: &Change) -> &'static str {
    match change {
        Change::Wait(_) => "wait",
        Change::Move(_) => "move",
        Change::AskLess(_) => "ask less",
        Change::AskMore(_) => "ask more",
        Change::More { .. } => "more",
        Change::ReserveCpus(_) => "reserve",
        Change::Regroup => "regroup",
        Change::Policy(_) => "policy",
        Change::Scope(_) => "scope",
        _ => "other",
    }
}

fn check(all: &BruteForce<'_>, explained: &Explanation, told: &mut Told) -> Result<(), TestCaseError> {
    let BruteForce { made, ledger, pod, .. } = all;
    for fit in &explained.would_fit {
        prop_assert!(made.holds(ledger, pod, &fit.change), "{:?} was said to be enough", fit.change);
        prop_assert_eq!(fit.plugins, Plugins::HaveAnswered, "there are none");
        let changed = made.node.changed(ledger, pod, &fit.change);
        let Changed { node, ledger, pod } =
            changed.ok_or_else(|| TestCaseError::fail(format!("{:?} cannot be made", fit.change)))?;
        let attempt = node.admission(&ledger, &pod).attempt();
        let same = matches!(&attempt.verdict, Verdict::Admitted(placement) if placement == &fit.placement);
        prop_assert!(same, "{:?} comes to {:?} when it is made", fit.change, attempt.verdict);
        *told.entry(kind(&fit.change)).or_default() += 1;
    }
    let is_told = |of: &str| explained.would_fit.iter().any(|fit| kind(&fit.change) == of);
    let empty = made.node.empty_ledger().with_inventory(ledger.inventory().clone());
    let on_empty = if made.fits(&empty, pod) { OnEmptyNode::Fits } else { OnEmptyNode::DoesNotFit };
    prop_assert_eq!(explained.on_empty_node, on_empty);
    if explained.search == Search::Cut {
        *told.entry("cut").or_default() += 1;
        return Ok(());
    }
    prop_assert_eq!(is_told("wait"), all.waits(), "whether waiting helps");
    prop_assert!(is_told("ask less") || !all.asks_less(), "asking for less helps");
    prop_assert!(is_told("more") || !all.more(), "more on one node helps");
    prop_assert_eq!(is_told("reserve"), all.reserved(), "whether other reserved CPUs help");
    prop_assert_eq!(is_told("regroup"), made.regrouping(ledger, pod), "whether regrouping helps");
    let looser = [KubeletPolicy::Restricted, KubeletPolicy::BestEffort, KubeletPolicy::None];
    let rules = made.node.rules();
    let helps = |policy| fits(&made.node, Rules { policy, ..rules }, ledger, pod);
    prop_assert!(is_told("policy") || !looser.into_iter().any(helps), "a looser policy helps");
    Ok(())
}

/// What one container asks for, in shares of what a node has on average, so that few fit.
fn asked() -> impl Strategy<Value = [u64; 5]> {
    let some = |most: u64| prop_oneof![2 => Just(0), 1 => 0..most];
    (0..9_u64, 0..9_u64, some(7), some(5), some(4))
        .prop_map(|(cpus, memory, pages, vfs, gpus)| [cpus, memory, pages, vfs, gpus])
}

#[test]
fn what_is_said_to_fit_fits_and_where_nothing_is_said_nothing_does() {
    const REFUSALS: u32 = 11;
    let pods = prop::collection::vec(prop::collection::vec(asked(), 1..3), 3..9);
    let policy = prop::sample::select(vec!["best-effort", "restricted", "single-numa-node", "none"]);
    let scope = prop::sample::select(vec!["container", "pod"]);
    let strategy = (policy, scope, any::<bool>(), 1_usize..9, pods);
    let mut told = Told::new();
    let mut refusals_in_all = 0;
    for name in machine_fixtures::names() {
        let info = fixture::machine(name, 4);
        let config = Config {
            cases: 200,
            rng_seed: RngSeed::Fixed(7),
            failure_persistence: None,
            ..Config::default()
        };
        let (refusals, told) = (Cell::new(0), std::cell::RefCell::new(&mut told));
        let result =
            TestRunner::new(config).run(&strategy, |(policy, scope, whole_cores, reserved, pods)| {
                if refusals.get() >= REFUSALS {
                    return Ok(());
                }
                let mut config = fixture::config(&info, policy, scope, 2 * reserved);
                if whole_cores {
                    config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
                }
                let made = Made::new(info.clone(), config);
                let node = &made.node;
                let share = Shares::of(node);
                let mut ledger = node.empty_ledger().with_inventory(fixture::inventory(node, 3));
                for (at, containers) in pods.iter().enumerate() {
                    let containers: Vec<Asked> =
                        containers.iter().map(|shares| share.asked(*shares)).collect();
                    let pod = fixture::pod(&format!("pod-{at}"), &containers);
                    let replies = Replies::new();
                    let (attempt, trace) = node.admission(&ledger, &pod).with(&replies).trace(Detail::Short);
                    if let Verdict::Refused(refused) = &attempt.verdict
                        && refusals.get() < REFUSALS
                    {
                        let explained = node.admission(&ledger, &pod).with(&replies).explain(
                            refused,
                            &trace,
                            Tries::default(),
                        );
                        let all = BruteForce { made: &made, ledger: &ledger, pod: &pod, trace: &trace };
                        check(&all, &explained, &mut told.borrow_mut())?;
                        refusals.set(refusals.get() + 1);
                    }
                    ledger = ledger.commit(attempt).unwrap();
                }
                Ok(())
            });
        if let Err(error) = result {
            panic!("{name}: {error}");
        }
        refusals_in_all += refusals.get();
    }
    println!("{refusals_in_all} refusals: {told:?}");
    assert!(refusals_in_all >= 200, "only {refusals_in_all} refusals were looked at");
    for kind in ["wait", "move", "ask less", "more", "reserve", "policy"] {
        assert!(told.contains_key(kind), "nothing of kind {kind} was ever told");
    }
}

/// What a share of a node's resources is on this machine.
struct Shares {
    cpus: u64,
    memory: u64,
}

impl Shares {
    /// A quarter of what the richest node has.
    fn of(node: &Node) -> Self {
        let ledger = node.empty_ledger();
        let policy = node.cpus().unwrap();
        let pod = fixture::pod("any", &[]);
        let cpus =
            policy.on_nodes(ledger.cpus().unwrap(), &pod.uid).map(|on| on.allocatable).max().unwrap_or(0);
        let memory = node.memory().unwrap().allocatable();
        let memory =
            memory.filter(|(_, resource, _)| resource.as_str() == "memory").map(|(_, _, bytes)| bytes).max();
        Self { cpus: (cpus as u64 / 4).max(1), memory: memory.unwrap_or(0) / 4 }
    }

    fn asked(&self, [cpus, memory, pages, vfs, gpus]: [u64; 5]) -> Asked {
        Asked {
            cpus: (self.cpus * cpus / 2).max(1),
            memory: ((self.memory * memory / 2) >> 20).max(1),
            pages,
            vfs,
            gpus: u64::from(gpus == 3),
        }
    }
}
