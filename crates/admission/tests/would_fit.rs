//! What an explanation says would fit, fits: tried again here, change by change, on random nodes and pods.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::cell::Cell;
use std::collections::BTreeMap;

use device_manager::{Device, Inventory, Replies};
use k8s_quantity::{Format, Quantity};
use node_config::{KubeletConfiguration, ReservedMemory, Scope};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, ResourceName, Role};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use topology_admission::{
    Change, Compat, Explanation, Ledger, Less, Node, OnEmptyNode, Rules, Search, Tries, Verdict,
};
use topology_model::{KubeletView, MachineInfo};

/// An ordinary server, four nodes of which two are on a socket, and eight small nodes.
const MACHINES: [&str; 3] = [
    "pack:2 [numa(memory=32GiB hugepages-1Gi=8)] core:6 pu:2",
    "pack:2 numa:2(memory=16GiB hugepages-1Gi=4) core:3 pu:2",
    "pack:2 numa:4(memory=8GiB hugepages-1Gi=2) core:2 pu:1",
];

fn node(machine: &str, policy: &str, scope: &str, whole_cores: bool) -> Node {
    let info: MachineInfo = machine.parse().unwrap();
    let text = |text: &str| Some(text.to_owned());
    let memory = Quantity::from_units(1 << 30, Format::BinarySi);
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text(policy),
        topology_manager_scope: text(scope),
        reserved_memory: vec![ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), memory)].into(),
        }],
        ..KubeletConfiguration::default()
    };
    config.system_reserved.insert("memory".to_owned(), "924Mi".to_owned());
    if whole_cores {
        config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
    }
    Node::start(&KubeletView::new(&info).unwrap(), &config, None, Compat::default()).unwrap()
}

fn inventory(node: &Node) -> Inventory {
    let devices = node.nodes().ids().flat_map(|id| {
        let per_node = if id.0 % 2 == 0 { 3 } else { 1 };
        (0..per_node).map(move |at| Device::new(&format!("vf-{}-{at}", id.0), &[id.0]))
    });
    Inventory::new(node.nodes().clone()).with("example.com/vf", devices.collect::<Vec<_>>())
}

/// What one container asks for: CPUs, memory and huge pages in GiB, devices.
type Asked = (u8, u8, u8, u8);

fn pod(name: &str, asked: &[Asked]) -> Pod {
    let containers = asked.iter().enumerate().map(|(at, (cpus, memory, pages, devices))| {
        let mut limits = ResourceList::new();
        let mut ask = |name: &str, amount: String| limits.insert(name.into(), amount.parse().unwrap());
        ask("cpu", cpus.to_string());
        ask("memory", format!("{memory}Gi"));
        if *pages > 0 {
            ask("hugepages-1Gi", format!("{pages}Gi"));
        }
        if *devices > 0 {
            ask("example.com/vf", devices.to_string());
        }
        let name = format!("c{at}");
        Container { name: name.as_str().into(), role: Role::App, requests: ResourceList::new(), limits }
    });
    Pod::new("test", name, containers.collect()).with_defaults(PodLevelResources::Count)
}

fn fits(node: &Node, rules: Rules, ledger: &Ledger, pod: &Pod) -> bool {
    matches!(node.attempt_under(rules, ledger, pod, &Replies::new()).verdict, Verdict::Admitted(_))
}

/// Makes the change, and attempts again.
fn holds(node: &Node, ledger: &Ledger, pod: &Pod, change: &Change) -> bool {
    let rules = node.rules();
    match change {
        Change::Wait(gone) => {
            let without = gone.iter().fold(ledger.clone(), |ledger, uid| ledger.release(uid));
            fits(node, rules, &without, pod)
        }
        Change::AskLess(less) => less_of_any_container(pod, less).any(|pod| fits(node, rules, ledger, &pod)),
        Change::MoreDevices { resource, node: id, count } => {
            let mut larger = ledger.inventory().clone();
            let more = (0..*count).map(|at| Device::new(&format!("another-{at}"), &[id.0]));
            larger.list(resource, ledger.inventory().devices(resource).cloned().chain(more));
            fits(node, rules, &ledger.with_inventory(larger), pod)
        }
        Change::Policy(policy) => fits(node, Rules { policy: *policy, ..rules }, ledger, pod),
        Change::Scope(scope) => fits(node, Rules { scope: *scope, ..rules }, ledger, pod),
        other => panic!("unknown change {other:?}"),
    }
}

/// The pod with the smaller amounts in one container, whichever asks for them.
fn less_of_any_container<'a>(
    pod: &'a Pod,
    less: &'a BTreeMap<ResourceName, Less>,
) -> impl Iterator<Item = Pod> + 'a {
    (0..pod.containers.len()).map(move |at| {
        let mut smaller = pod.clone();
        for (resource, less) in less {
            let amount = Quantity::from_units(i64::try_from(less.fits).unwrap(), Format::BinarySi);
            let asking: Vec<usize> = (0..pod.containers.len())
                .filter(|at| pod.containers[*at].limits.contains_key(resource.as_str()))
                .collect();
            let own = if let [only] = asking.as_slice() { *only } else { at };
            let container = &mut smaller.containers[own];
            container.requests.insert(resource.clone(), amount.clone());
            container.limits.insert(resource.clone(), amount);
        }
        smaller
    })
}

/// Every pod or pair of pods whose end is enough.
fn waits(node: &Node, ledger: &Ledger, pod: &Pod) -> bool {
    let others: Vec<_> = ledger.pods().map(|other| other.uid.clone()).collect();
    others.iter().any(|first| {
        others.iter().any(|second| fits(node, node.rules(), &ledger.release(first).release(second), pod))
    })
}

fn check(node: &Node, ledger: &Ledger, pod: &Pod, explained: &Explanation) -> Result<(), TestCaseError> {
    for fit in &explained.would_fit {
        prop_assert!(holds(node, ledger, pod, &fit.change), "{:?} was said to be enough", fit.change);
    }
    prop_assert_eq!(explained.search, Search::Complete);
    let told = explained.would_fit.iter().any(|fit| matches!(fit.change, Change::Wait(_)));
    prop_assert_eq!(told, waits(node, ledger, pod), "whether waiting helps");
    let empty = node.empty_ledger().with_inventory(ledger.inventory().clone());
    let on_empty =
        if fits(node, node.rules(), &empty, pod) { OnEmptyNode::Fits } else { OnEmptyNode::DoesNotFit };
    prop_assert_eq!(explained.on_empty_node, on_empty);
    Ok(())
}

#[test]
fn what_is_said_to_fit_fits_and_where_nothing_is_said_nothing_does() {
    let asked = (1_u8..10, 1_u8..12, 0_u8..5, 0_u8..4);
    let pods = prop::collection::vec(prop::collection::vec(asked, 1..3), 4..14);
    let policy = prop::sample::select(vec!["best-effort", "restricted", "single-numa-node", "none"]);
    let scope = prop::sample::select(vec![Scope::Container, Scope::Pod]);
    let strategy = (prop::sample::select(MACHINES.to_vec()), policy, scope, any::<bool>(), pods);
    let config =
        Config { cases: 120, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() };
    let refusals = Cell::new(0_u32);
    let result = TestRunner::new(config).run(&strategy, |(machine, policy, scope, whole_cores, pods)| {
        let node = node(machine, policy, scope.name(), whole_cores);
        let mut ledger = node.empty_ledger().with_inventory(inventory(&node));
        for (at, asked) in pods.iter().enumerate() {
            let pod = pod(&format!("pod-{at}"), asked);
            let replies = Replies::new();
            let (attempt, trace) = node.trace(&ledger, &pod, &replies);
            if let Verdict::Refused(refused) = &attempt.verdict {
                let explained = node.explain(&ledger, &pod, &replies, (refused, &trace), Tries::default());
                check(&node, &ledger, &pod, &explained)?;
                refusals.set(refusals.get() + 1);
            }
            ledger = ledger.commit(attempt).unwrap();
        }
        Ok(())
    });
    result.unwrap();
    assert!(refusals.get() >= 200, "only {} refusals were looked at", refusals.get());
}
