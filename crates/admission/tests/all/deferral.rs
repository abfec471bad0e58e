//! Pods that wait for device plugins: which pods wait, for how long, and that a pod does not wait if it would
//! be refused anyway.

use crate::fixture;
use std::time::Duration;

use crate::fixture::Asked;
use device_manager::{Device, Endpoint, Inventory, Life, Moment, PluginOptions, Replies};
use node_config::OwnOptions;
use pod_spec::{Pod, ResourceName};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use topology_admission::{Compat, Deferral, Ledger, Node, Verdict};

const GPU: &str = "example.com/gpu";
const VF: &str = "example.com/vf";

const fn seconds(count: u64) -> Moment {
    Moment(Duration::from_secs(count))
}

fn node(policy: &str, scope: &str, defer: u64) -> Node {
    let info = fixture::machine("pack:2 [numa(memory=32GiB)] core:8 pu:1", 4);
    let config = fixture::config(&info, policy, scope, 1);
    let defer = Duration::from_secs(defer);
    fixture::node(&info, &config, Compat::default(), OwnOptions { defer, ..OwnOptions::default() })
}

fn cards(kind: &str) -> Vec<Device> {
    (0..4).map(|at| Device::new(&format!("{kind}-{at}"), &[at % 2])).collect()
}

/// GPUs of a plugin that was there before a start at `since`; functions without a plugin.
fn started(node: &Node, since: Moment) -> Ledger {
    let mut inventory = Inventory::new(node.nodes().clone()).with(VF, cards("vf"));
    inventory.remember(&GPU.into(), since);
    node.empty_ledger().with_inventory(inventory)
}

fn back(ledger: &Ledger) -> Ledger {
    let mut inventory = ledger.inventory().clone();
    let options = Some(PluginOptions::default());
    inventory.set_endpoint(&GPU.into(), Endpoint::Plugin { options, life: Life::Running });
    inventory.list(&GPU.into(), cards("gpu"));
    ledger.with_inventory(inventory)
}

fn pod(name: &str, cpus: u64, gpus: u64, vfs: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 512, gpus, vfs, ..Asked::default() }])
}

fn is_refused(node: &Node, ledger: &Ledger, pod: &Pod) -> bool {
    matches!(node.admission(ledger, pod).attempt().verdict, Verdict::Refused(_))
}

fn deferral(node: &Node, ledger: &Ledger, pod: &Pod, now: Moment) -> Option<Deferral> {
    let refused = is_refused(node, ledger, pod);
    node.deferral(ledger, pod, &Replies::new(), now).filter(|_| refused)
}

#[test]
fn a_pod_waits_while_its_plugin_may_come_back() {
    let node = node("single-numa-node", "container", 60);
    let ledger = started(&node, seconds(10));
    let (asks, other) = (pod("a", 1, 1, 0), pod("b", 1, 0, 1));
    let expected = Deferral { resources: vec![GPU.into()], until: seconds(70) };
    assert_eq!(deferral(&node, &ledger, &asks, seconds(10)), Some(expected.clone()));
    assert_eq!(deferral(&node, &ledger, &asks, seconds(69)), Some(expected.clone()));
    assert_eq!(deferral(&node, &ledger, &asks, seconds(70)), None, "then it is refused as in the kubelet");
    assert_eq!(deferral(&node, &ledger, &other, seconds(10)), None, "it is admitted");
    assert_eq!(
        expected.to_string(),
        "the device plugin of example.com/gpu is not back yet; the pod is decided on when devices are listed, or after \
         devices.deferSeconds"
    );
    assert_eq!(expected.left(seconds(50)), Duration::from_secs(20));
    let ledger = back(&ledger);
    assert_eq!(deferral(&node, &ledger, &asks, seconds(11)), None, "its plugin is asked");
    assert_eq!(deferral(&node, &ledger, &pod("c", 1, 5, 0), seconds(11)), None, "there are four");
}

#[test]
fn no_more_pods_wait_than_the_node_may_run() {
    let node = node("single-numa-node", "container", 60);
    let ledger = started(&node, seconds(10));
    let asks = pod("a", 1, 1, 0);
    let Verdict::Refused(refused) = node.admission(&ledger, &asks).attempt().verdict else {
        panic!("its plugin is away")
    };
    let most = node.most_deferred();
    assert_eq!(most, 1000, "maxPods of the fixture");
    let defer =
        |pod: &Pod, now, waiting| node.defer(&ledger, pod, &Replies::new(), refused.clone(), now, waiting);
    assert!(defer(&asks, seconds(10), most - 1).is_ok());
    let full = defer(&asks, seconds(10), most).map_err(|refused| refused.message);
    let says =
        "; the pod cannot wait for the device plugin: 1000 pods wait already, as many as maxPods allows";
    assert_eq!(full, Err(format!("{}{says}", refused.message)));
    let late = defer(&asks, seconds(70), most).map_err(|refused| refused.message);
    assert_eq!(late, Err(refused.message.clone()), "it would not wait anyway");
}

#[test]
fn a_plugin_that_has_registered_and_not_listed_is_waited_for() {
    let node = node("none", "container", 60);
    let ledger = started(&node, seconds(0));
    let mut inventory = ledger.inventory().clone();
    let options = Some(PluginOptions::default());
    inventory.set_endpoint(&GPU.into(), Endpoint::Plugin { options, life: Life::Running });
    let registered = ledger.with_inventory(inventory.clone());
    let asks = pod("a", 1, 1, 0);
    assert!(deferral(&node, &registered, &asks, seconds(5)).is_some());
    // It goes away again: the time runs since the start.
    inventory.disconnect(&GPU.into(), seconds(30));
    assert_eq!(inventory.late_since(&GPU.into()), Some(seconds(0)));
    // One that has been there is waited for since it went away.
    let mut inventory = back(&ledger).inventory().clone();
    inventory.disconnect(&GPU.into(), seconds(100));
    let gone = ledger.with_inventory(inventory);
    let until = deferral(&node, &gone, &asks, seconds(120)).map(|deferral| deferral.until);
    assert_eq!(until, Some(seconds(160)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A pod waits exactly where it asks for devices of a plugin that has been gone for less than the option
    /// says, is refused, and would not be if it asked for none of them. Without the option no pod waits.
    #[test]
    fn who_waits_lacks_nothing_but_plugins(
        policy in proptest::sample::select(vec!["none", "best-effort", "restricted", "single-numa-node"]),
        scope in proptest::sample::select(vec!["container", "pod"]),
        defer in proptest::sample::select(vec![0, 30, 120]),
        since in 0..100_u64,
        waited in 0..150_u64,
        running in proptest::collection::vec((1..5_u64, 0..3_u64), 0..4),
        asked in (1..12_u64, 0..3_u64, 0..4_u64),
        is_back in proptest::bool::ANY,
    ) {
        let node = node(policy, scope, defer);
        let mut ledger = started(&node, seconds(since));
        if is_back {
            ledger = back(&ledger);
        }
        for (at, (cpus, vfs)) in running.into_iter().enumerate() {
            let attempt = node.admission(&ledger, &pod(&format!("r{at}"), cpus, 0, vfs)).attempt();
            ledger = ledger.commit(attempt).unwrap();
        }
        let (cpus, gpus, vfs) = asked;
        let now = seconds(since + waited);
        let found = deferral(&node, &ledger, &pod("p", cpus, gpus, vfs), now);
        let waits = !is_back
            && gpus > 0
            && waited < defer
            && is_refused(&node, &ledger, &pod("p", cpus, gpus, vfs))
            && !is_refused(&node, &ledger, &pod("p", cpus, 0, vfs));
        let expected = waits.then(|| Deferral {
            resources: vec![ResourceName::new(GPU)],
            until: seconds(since + defer),
        });
        prop_assert_eq!(found, expected);
    }
}
