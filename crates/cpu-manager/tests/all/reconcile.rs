//! Containers that run: what is written for them and when, and what is counted.

use crate::machines::machine;
use crate::pods::{pod, policy};
use cpu_manager::{
    Change, Config, ContainerId, ContainerState, Containers, Holdings, Options, Reserved, Static, Status,
    WholeCores,
};
use kubelet_release::MetricPrefix;
use pod_spec::{Pod, Role};
use topology_hint::Affinity;

/// A node in the middle of its life.
struct Node {
    policy: Static,
    held: Holdings,
    containers: Containers,
}

impl Node {
    fn new() -> Self {
        let policy =
            policy(&machine(2, 1, 1, 4), Config { reserved: Reserved::count(2), ..Config::default() });
        Self { held: policy.initial(), policy, containers: Containers::default() }
    }

    fn admit(&mut self, pod: &Pod) {
        for container in &pod.containers {
            self.held = self.policy.allocate(&self.held, pod, container, Affinity::Any).unwrap().after;
        }
    }

    /// One round for one pod, of which the runtime takes every update or none.
    fn round(&mut self, pod: &Pod, runtime: Runtime, statuses: &[(&str, ContainerState)]) -> Vec<String> {
        let mut sent = Vec::new();
        for (container, &(id, state)) in pod.containers.iter().zip(statuses) {
            let status = Status { id: id.into(), state };
            let (containers, update) = self.containers.reconcile(&self.held, pod, &container.name, &status);
            self.containers = containers;
            if let Some(update) = update {
                sent.push(format!("{} {}", update.id, update.cpus));
                if runtime == Runtime::Works {
                    self.containers = self.containers.wrote(&update);
                }
            }
        }
        sent
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    Works,
    Fails,
}

#[test]
fn containers_are_written_when_their_cpus_change() {
    use ContainerState::{Running, Terminated, Waiting};
    use Runtime::{Fails, Works};
    let mut node = Node::new();
    let own = pod("p", &[("own", Role::App, "2"), ("shares", Role::App, "500m")]);
    node.admit(&own);
    node.containers = node.containers.start("x1".into(), own.key(&own.containers[0]), &node.held);
    let both = [("containerd://x1", Running), ("containerd://x2", Running)];
    assert_eq!(node.round(&own, Fails, &both), ["x2 0,2-8,10-15"], "the other was created with its CPUs");
    assert_eq!(node.round(&own, Works, &both), ["x2 0,2-8,10-15"], "once more, since it failed");
    assert!(node.round(&own, Works, &both).is_empty());
    let again = [("containerd://x1", Running), ("containerd://x3", Running)];
    assert!(node.round(&own, Works, &again).is_empty(), "a new id of an old name is right already");

    let other = pod("q", &[("app", Role::App, "4")]);
    node.admit(&other);
    for (state, sent) in [(Waiting, false), (Terminated, false), (Running, true)] {
        let statuses = [both[0], ("containerd://x3", state)];
        assert_eq!(!node.round(&own, Works, &statuses).is_empty(), sent, "{state:?}");
    }
    for id in ["", "x9", "a://b://c"] {
        assert!(node.round(&other, Works, &[(id, Running)]).is_empty(), "{id:?} is no id");
    }
    // After a restart of the kubelet nothing is known to be written.
    node.containers = Containers::default();
    assert_eq!(node.round(&own, Works, &both), ["x1 1,9", "x2 0,4-8,12-15"]);
}

#[test]
fn removal_by_id_gives_back() {
    let mut node = Node::new();
    let own = pod("p", &[("own", Role::App, "2")]);
    node.admit(&own);
    let key = own.key(&own.containers[0]);
    node.containers = node.containers.start("x1".into(), key.clone(), &node.held);
    let (same, collected) = node.containers.remove(&"unknown".into(), &node.held);
    assert_eq!((same, collected.after), (node.containers.clone(), node.held.clone()));
    let (gone, collected) = node.containers.remove(&"x1".into(), &node.held);
    assert_eq!((gone.get(&ContainerId::from("x1")), gone.written(&key)), (None, None));
    assert_eq!(collected.after, node.policy.initial());
    assert_eq!(node.containers.retain(|_, _| false), gone);
}

fn shown(changes: &[Change]) -> Vec<String> {
    let show = |change: &Change| match change {
        Change::Add(metric, by) => format!("{} {by:+}", metric.named(MetricPrefix::Bare)),
        Change::Set(metric, to) => format!("{} = {to}", metric.named(MetricPrefix::Bare)),
    };
    changes.iter().map(show).collect()
}

#[test]
fn metrics_are_changes() {
    const ALIGNED: &str = "kubelet_container_aligned_compute_resources_count{boundary=";
    let options = Options { whole_cores: WholeCores::Required, ..Options::default() };
    let config = Config { options, reserved: Reserved::count(2), ..Config::default() };
    let policy = policy(&machine(2, 1, 1, 4), config);
    let even = pod("p", &[("app", Role::App, "4")]);
    let odd = pod("q", &[("app", Role::App, "3")]);
    let count = |held: &mut Holdings, pod: &Pod| {
        shown(&policy.allocate_in(held, pod, &pod.containers[0], Affinity::Any).counted)
    };
    let expected = [
        "kubelet_cpu_manager_pinning_requests_total +1".to_owned(),
        format!("{ALIGNED}physical_cpu,scope=container}} +1"),
        "kubelet_cpu_manager_shared_pool_size_millicores -4000".to_owned(),
        "kubelet_cpu_manager_exclusive_cpu_allocation_count +4".to_owned(),
        format!("{ALIGNED}uncore_cache,scope=container}} +1"),
        "kubelet_cpu_manager_allocation_per_numa{numa_node=0} = 4".to_owned(),
    ];
    let mut after = policy.initial();
    assert_eq!(count(&mut after, &even), expected);
    assert_eq!(count(&mut after, &even), expected[..2], "it is there already");
    assert_eq!(
        count(&mut after, &odd),
        [
            "kubelet_cpu_manager_pinning_requests_total +1",
            "kubelet_cpu_manager_pinning_errors_total +1",
            "kubelet_container_aligned_compute_resources_failure_count{boundary=physical_cpu,scope=container} +1",
        ]
    );
    let collected = after.collect(|_, _| false);
    assert_eq!(
        shown(&policy.metrics_of_collection(&after, &collected)),
        [
            "kubelet_cpu_manager_shared_pool_size_millicores +4000",
            "kubelet_cpu_manager_exclusive_cpu_allocation_count -4",
        ],
        "the last CPU of a node leaves its old value"
    );
    let at_start = shown(&policy.metrics_at_start(&after));
    assert!(at_start.contains(&"kubelet_cpu_manager_shared_pool_size_millicores = 10000".to_owned()));
    assert!(at_start.contains(&"kubelet_cpu_manager_allocation_per_numa{numa_node=0} = 4".to_owned()));
}
