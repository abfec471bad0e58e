//! How many fit, against closed forms: virtual machines over `k` of `n` NUMA nodes, any of which may go together (Gudkov,
//! Ponomareva and Pospelov, arXiv 2604.15033).

use node_config::KubeletConfiguration;
use node_simulation::capacity;
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, ResourceName, Role};
use proptest::prelude::*;
use topology_admission::{Ledger, Node, Verdict};
use topology_model::{KubeletView, MachineInfo};

/// CPUs of a NUMA node; on the first one is reserved.
const CPUS: u64 = 4;

/// The most machines that take a slot on each of `k` different nodes with so many slots.
fn closed_form(slots: &[u64], k: usize) -> u64 {
    let mut sorted = slots.to_vec();
    sorted.sort_unstable_by(|one, other| other.cmp(one));
    let without =
        |largest: usize| sorted[largest.min(sorted.len())..].iter().sum::<u64>() / (k - largest) as u64;
    (0..k).map(without).min().unwrap()
}

fn node(nodes: usize) -> Node {
    let machine = format!("pack:{nodes} [numa(memory=8GiB)] core:{CPUS} pu:1");
    let info: MachineInfo = machine.parse().unwrap();
    let text = |text: &str| Some(text.to_owned());
    let config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text("restricted"),
        ..KubeletConfiguration::default()
    };
    Node::start(&KubeletView::new(&info).unwrap(), &config).unwrap()
}

fn pod(name: &str, cpus: u64) -> Pod {
    pod_with(name, &[("cpu", &cpus.to_string()), ("memory", "1Mi")])
}

fn pod_with(name: &str, limits: &[(&str, &str)]) -> Pod {
    let limits: ResourceList =
        limits.iter().map(|(name, amount)| ((*name).into(), amount.parse().unwrap())).collect();
    let container = Container { name: "c".into(), role: Role::App, requests: limits.clone(), limits };
    let mut pod = Pod::new("default", name, vec![container]).with_defaults(PodLevelResources::Count);
    pod.uid = name.into();
    pod
}

fn admitted(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<Ledger> {
    let attempt = node.admission(ledger, pod).attempt();
    matches!(attempt.verdict, Verdict::Admitted(_)).then(|| ledger.commit(attempt).unwrap())
}

#[test]
fn closed_forms_are_those_of_the_paper() {
    assert_eq!(closed_form(&[3, 3, 3, 3], 2), 6);
    assert_eq!(closed_form(&[9, 1, 1, 1], 2), 3, "each machine needs one of the others");
    assert_eq!(closed_form(&[2, 2, 1, 1], 4), 1);
    assert_eq!(closed_form(&[5, 5, 0, 0, 0, 0, 0, 0], 4), 0);
}

#[test]
fn what_limits_is_what_would_not_fit_by_itself() {
    for (limits, fit, limited_by) in [
        (&[("cpu", "2"), ("memory", "1Mi")][..], 3, &["cpu"][..]),
        (&[("cpu", "1"), ("memory", "6Gi")], 2, &["memory"]),
        (&[("cpu", "4"), ("memory", "9Gi")], 1, &["cpu", "memory"]),
        // Of the CPUs none is left, not even a thousandth.
        (&[("cpu", "7"), ("memory", "1Gi")], 1, &["cpu"]),
        (&[("cpu", "500m"), ("memory", "1Mi")], 14, &["cpu"]),
        (&[("cpu", "1"), ("memory", "1Mi"), ("hugepages-2Mi", "2Mi")], 0, &["hugepages-2Mi"]),
    ] {
        let node = node(2);
        let found = capacity(&node, node.empty_ledger(), &pod_with("p", limits));
        let names: Vec<&str> = found.limited_by.iter().map(ResourceName::as_str).collect();
        assert_eq!((found.fit, &names[..]), (fit, limited_by), "{limits:?}: {}", found.limit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A pod that needs all CPUs of `k` nodes has one slot on each node of which none is taken.
    #[test]
    fn as_many_fit_as_the_closed_form_says(
        nodes in proptest::sample::select(vec![4_usize, 8]),
        k in proptest::sample::select(vec![2_usize, 4]),
        residents in proptest::collection::vec(1..=CPUS, 0..8),
    ) {
        let node = node(nodes);
        let mut ledger = node.empty_ledger();
        for (at, cpus) in residents.into_iter().enumerate() {
            if let Some(after) = admitted(&node, &ledger, &pod(&format!("resident-{at}"), cpus)) {
                ledger = after;
            }
        }
        let free = node.room(&ledger).into_iter().find(|(name, _)| name.as_str() == "cpu").unwrap().1;
        let slots: Vec<u64> = free.nodes.iter().map(|cell| u64::from(cell.free == CPUS)).collect();
        let found = capacity(&node, ledger, &pod("vm", k as u64 * CPUS)).fit as u64;
        prop_assert_eq!(found, closed_form(&slots, k), "{:?}", slots);
    }
}
