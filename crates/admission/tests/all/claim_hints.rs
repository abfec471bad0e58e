//! CPUs and memory that follow the devices of claims (`devices.claims: hint`).

use std::collections::BTreeSet;

use crate::fixture;
use crate::fixture::Asked;
use device_manager::{AllocateReply, Device, DeviceIds, Inventory, Question, Replies, Reply};
use k8s_quantity::{Format, Quantity};
use node_config::{ClaimHints, OwnOptions};
use pod_spec::{ContainerName, PlacedDevice, Pod};
use proptest::prelude::*;
use topology_admission::{Answered, Change, Compat, Detail, Node, Placement, RowKind, Tries, Verdict};
use topology_hint::Hint;

const MACHINE: &str = "pack:2 [numa(memory=16GiB)] core:4 pu:2";
const WIDE: &str = "pack:4 [numa(memory=8GiB)] core:3 pu:1";

fn node_of(machine: &str, policy: &str, scope: &str, compat: Compat, claim_hints: ClaimHints) -> Node {
    let info = fixture::machine(machine, 2);
    let options = OwnOptions { claim_hints, ..OwnOptions::default() };
    fixture::node(&info, &fixture::config(&info, policy, scope, 1), compat, options)
}

fn node(policy: &str, scope: &str) -> Node {
    node_of(MACHINE, policy, scope, Compat::default(), ClaimHints::Hint)
}

/// A container for each number of CPUs.
fn pod(name: &str, cpus: &[u64]) -> Pod {
    let asked: Vec<Asked> =
        cpus.iter().map(|cpus| Asked { cpus: *cpus, memory: 256, ..Asked::default() }).collect();
    fixture::pod(name, &asked)
}

/// The same, whose containers have devices of a claim on these NUMA nodes.
fn with_devices(mut pod: Pod, devices: &[(usize, i64)]) -> Pod {
    let names: Vec<ContainerName> = pod.containers.iter().map(|own| own.name.clone()).collect();
    pod.constraints.claim_places.known = devices
        .iter()
        .map(|(container, node)| PlacedDevice {
            claim: "gpu".to_owned(),
            containers: vec![names[*container].clone()],
            node: *node,
        })
        .collect();
    pod
}

/// The NUMA nodes of each container's CPUs, or the kubelet's message.
fn cpus_on(node: &Node, pod: &Pod) -> Result<Vec<BTreeSet<i64>>, String> {
    let view = node.origin().unwrap().view.clone();
    match node.admission(&node.empty_ledger(), pod).attempt().verdict {
        Verdict::Admitted(placement) => Ok(placement
            .containers
            .iter()
            .map(|placed| {
                let cpus = placed.cpus.as_ref().and_then(|granted| granted.exclusive()).unwrap();
                let on = |id: topology_model::NodeId| {
                    view.cpus().cpus_in_node(id).is_some_and(|own| !own.is_disjoint(cpus))
                };
                node.nodes().ids().filter(|id| on(*id)).map(|id| id.0).collect()
            })
            .collect()),
        Verdict::Refused(refused) => Err(refused.message),
        Verdict::NeedsPlugin(_) => unreachable!("there are no devices of plugins"),
    }
}

fn on(nodes: &[i64]) -> BTreeSet<i64> {
    nodes.iter().copied().collect()
}

#[test]
fn cpus_follow_the_devices_of_their_container() {
    for policy in ["best-effort", "restricted", "single-numa-node"] {
        let node = node(policy, "container");
        assert_eq!(cpus_on(&node, &pod("a", &[2])), Ok(vec![on(&[0])]), "{policy}");
        let own = with_devices(pod("a", &[2, 2]), &[(0, 1)]);
        assert_eq!(cpus_on(&node, &own), Ok(vec![on(&[1]), on(&[0])]), "{policy}");
    }
    // Policy none asks no provider.
    let node = node("none", "container");
    assert_eq!(cpus_on(&node, &with_devices(pod("a", &[2]), &[(0, 1)])), Ok(vec![on(&[0])]));
}

#[test]
fn a_pod_as_a_whole_follows_the_devices_of_all_its_containers() {
    let own = with_devices(pod("a", &[2, 2]), &[(1, 1)]);
    for policy in ["restricted", "single-numa-node"] {
        assert_eq!(cpus_on(&node(policy, "pod"), &own), Ok(vec![on(&[1]), on(&[1])]), "{policy}");
    }
}

#[test]
fn devices_on_two_nodes_want_both() {
    // More CPUs and memory than one node has: what would fit on one prefers one, as beside devices of plugins.
    let wide = fixture::pod("a", &[Asked { cpus: 10, memory: 20 << 10, ..Asked::default() }]);
    let own = with_devices(wide.clone(), &[(0, 0), (0, 1)]);
    assert!(cpus_on(&node("restricted", "container"), &with_devices(wide, &[(0, 1)])).is_err());
    assert_eq!(cpus_on(&node("restricted", "container"), &own), Ok(vec![on(&[0, 1])]));
    let few = with_devices(pod("a", &[2]), &[(0, 0), (0, 1)]);
    assert!(cpus_on(&node("restricted", "container"), &few).is_err());
    assert!(cpus_on(&node("single-numa-node", "container"), &few).is_err());
    assert!(cpus_on(&node("best-effort", "container"), &few).is_ok());
}

#[test]
fn a_kubelet_and_a_node_without_the_option_ask_no_claims() {
    let own = with_devices(pod("a", &[2]), &[(0, 1)]);
    for (compat, hints) in [(Compat::KUBELET, ClaimHints::Hint), (Compat::default(), ClaimHints::Ignore)] {
        let node = node_of(MACHINE, "single-numa-node", "container", compat, hints);
        assert_eq!(cpus_on(&node, &own), Ok(vec![on(&[0])]));
    }
    let started = Compat::from(node_config::DecidedBy::Kubelet);
    assert!(!node_of(MACHINE, "restricted", "container", started, ClaimHints::Hint).has_claim_hints());
}

#[test]
fn a_device_on_a_node_that_the_machine_does_not_have_gives_no_hint() {
    let own = with_devices(pod("a", &[2]), &[(0, 7)]);
    assert_eq!(cpus_on(&node("single-numa-node", "container"), &own), Ok(vec![on(&[0])]));
}

#[test]
fn a_refusal_names_what_each_node_lacks_and_no_change_of_the_claim() {
    let node = node("single-numa-node", "container");
    let first = with_devices(pod("a", &[6]), &[(0, 1)]);
    let ledger = node.empty_ledger();
    let ledger = ledger.commit(node.admission(&ledger, &first).attempt()).unwrap();
    let second = with_devices(pod("b", &[4]), &[(0, 1)]);
    let admission = node.admission(&ledger, &second);
    let (attempt, trace) = admission.trace(Detail::Short);
    let Verdict::Refused(refused) = &attempt.verdict else { panic!("it fits") };
    let unit = trace.units.last().unwrap();
    let row = unit.resources.iter().find(|row| row.kind == RowKind::Claims).unwrap();
    assert_eq!(row.resource.as_str(), "claim gpu");
    let amounts = row.amounts.as_ref().unwrap();
    assert_eq!((amounts.asked, amounts.nodes[0].free, amounts.nodes[1].free), (1, 0, 1));
    assert!(matches!(row.answer, Answered::Sets { narrowest: 1, preferred: Some(1), .. }));
    let explained = admission.explain(refused, &trace, Tries::default());
    let changes: Vec<&Change> = explained.would_fit.iter().map(|fit| &fit.change).collect();
    assert!(matches!(changes.first(), Some(Change::Wait(pods)) if pods.len() == 1), "{changes:?}");
    let asks_for_claims = |change: &&Change| match change {
        Change::AskLess(asks) => asks.iter().any(|ask| ask.resource == row.resource),
        _ => false,
    };
    assert!(!changes.iter().any(asks_for_claims), "{changes:?}");
    // What ends is given back: there is nothing else booked.
    let ledger = ledger.release(&first.uid);
    assert!(matches!(node.admission(&ledger, &second).attempt().verdict, Verdict::Admitted(_)));
}

/// Numbers that depend on a seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// On 100 random nodes a pod with claims is admitted where the kubelet admits it with devices of plugins that lie where those of the
/// claims do, and to the same NUMA nodes: all devices of each resource are asked for, so that none can be chosen. Policy
/// `best-effort` is left out: there the device manager offers no node without devices, and of two answers that are not preferred
/// the narrower one wins.
#[test]
fn claims_are_hinted_as_devices_of_plugins_are_where_none_can_be_chosen() {
    let machines = ["xeon-2s-96cpu-sriov", "spr-8480-snc4-8node", "gb200-nvl4-34node", WIDE];
    let (mut admitted, mut refused, mut spread) = (0, 0, 0);
    for seed in 0..100_u64 {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let machine = machines[random.below(4)];
        let policy = ["restricted", "single-numa-node"][random.below(2)];
        let of = |hints| node_of(machine, policy, "container", Compat::default(), hints);
        let (hinted, plain) = (of(ClaimHints::Hint), of(ClaimHints::Ignore));
        let view = plain.origin().unwrap().view.clone();
        let has_cpus =
            |id: &topology_model::NodeId| view.cpus().cpus_in_node(*id).is_some_and(|own| !own.is_empty());
        let ids: Vec<i64> = plain.nodes().ids().filter(has_cpus).map(|id| id.0).collect();
        let mut ledger = plain.empty_ledger();
        for resident in 0..random.below(6) {
            let resident = pod(&format!("r{resident}"), &[1 + random.below(30) as u64]);
            let attempt = plain.admission(&ledger, &resident).attempt();
            if matches!(attempt.verdict, Verdict::Admitted(_)) {
                ledger = ledger.commit(attempt).unwrap();
            }
        }
        let containers = 1 + random.below(2);
        let cpus: Vec<u64> = (0..containers).map(|_| 1 + random.below(40) as u64).collect();
        let mut devices: Vec<(usize, i64)> = Vec::new();
        for container in 0..containers {
            let near = ids[random.below(ids.len())];
            for _ in 0..random.below(4) {
                let node = if random.below(5) == 0 { ids[random.below(ids.len())] } else { near };
                devices.push((container, node));
            }
        }
        let with_claims = with_devices(pod("p", &cpus), &devices);
        let mut with_plugins = pod("p", &cpus);
        let mut inventory = Inventory::new(plain.nodes().clone());
        for container in 0..containers {
            let own: Vec<i64> =
                devices.iter().filter(|(of, _)| *of == container).map(|(_, node)| *node).collect();
            if own.is_empty() {
                continue;
            }
            let resource = format!("example.com/claim-{container}");
            let listed = own.iter().enumerate().map(|(at, node)| Device::new(&format!("d{at}"), &[*node]));
            inventory = inventory.with(resource.as_str(), listed);
            let count = Quantity::from_units(i64::try_from(own.len()).unwrap(), Format::DecimalSi);
            with_plugins.containers[container].limits.insert(resource.as_str().into(), count);
        }
        let claims = hinted.admission(&ledger, &with_claims).attempt().verdict;
        let ledger = ledger.with_inventory(inventory);
        let mut replies = Replies::new();
        let plugins = loop {
            match plain.admission(&ledger, &with_plugins).with(&replies).attempt().verdict {
                Verdict::NeedsPlugin(question) => {
                    let reply = match &question {
                        Question::Preferred { .. } => Reply::Preferred(DeviceIds::new()),
                        Question::Allocate { .. } => Reply::Allocated(AllocateReply::default()),
                        Question::PreStart { .. } => Reply::Started,
                    };
                    replies.insert(question, reply);
                }
                verdict => break verdict,
            }
        };
        match (claims, plugins) {
            (Verdict::Admitted(claims), Verdict::Admitted(plugins)) => {
                let hints = |placement: &Placement| {
                    placement.containers.iter().map(|placed| placed.hint).collect::<Vec<_>>()
                };
                assert_eq!(hints(&claims), hints(&plugins), "seed {seed}");
                let is_wide = |hint: &Option<Hint>| {
                    hint.and_then(|hint| hint.affinity.nodes()).is_some_and(|own| own.len() > 1)
                };
                spread += usize::from(hints(&claims).iter().any(is_wide));
                admitted += 1;
            }
            (Verdict::Refused(_), Verdict::Refused(_)) => refused += 1,
            (claims, plugins) => panic!("seed {seed}: {claims:?} is not {plugins:?}"),
        }
    }
    println!("{admitted} admitted, {spread} on several nodes, {refused} refused");
    assert!(admitted >= 30 && refused >= 20, "{admitted} {refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The plain way: under `single-numa-node` a container is admitted if its devices are on one node at most and that node, or any
    /// where it has none, has its CPUs free.
    #[test]
    fn single_node_admissions_are_those_of_brute_force(
        held in proptest::collection::vec(0..3_u64, 4),
        cpus in 1..4_u64,
        devices in proptest::collection::vec(0..4_i64, 0..3),
    ) {
        let node = node_of(WIDE, "single-numa-node", "container", Compat::default(), ClaimHints::Hint);
        let mut ledger = node.empty_ledger();
        // One CPU of node 0 is reserved.
        let mut free = [2, 3, 3, 3_u64];
        for (at, count) in held.iter().enumerate() {
            if *count > 0 {
                let own = with_devices(pod(&format!("r{at}"), &[(*count).min(free[at])]), &[(0, i64::try_from(at).unwrap())]);
                let attempt = node.admission(&ledger, &own).attempt();
                prop_assert!(matches!(attempt.verdict, Verdict::Admitted(_)));
                ledger = ledger.commit(attempt).unwrap();
                free[at] -= (*count).min(free[at]);
            }
        }
        let wanted: BTreeSet<i64> = devices.iter().copied().collect();
        let expected = (0..4).filter(|at| free[*at] >= cpus).find(|at| wanted.iter().all(|node| usize::try_from(*node) == Ok(*at)));
        let placed: Vec<(usize, i64)> = devices.iter().map(|node| (0, *node)).collect();
        let own = with_devices(pod("p", &[cpus]), &placed);
        let found = match node.admission(&ledger, &own).attempt().verdict {
            Verdict::Admitted(placement) => {
                let hint = placement.containers[0].hint.unwrap().affinity.nodes().unwrap();
                prop_assert_eq!(hint.len(), 1);
                hint.first().map(numa_bitmask::NodeIndex::get)
            }
            _ => None,
        };
        prop_assert_eq!(found.is_some(), expected.is_some());
        if !wanted.is_empty() {
            prop_assert_eq!(found, expected);
        }
    }
}
