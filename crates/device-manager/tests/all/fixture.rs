//! Pods, machines and plugins of a line.

use device_manager::{
    Allocation, Device, DeviceId, DeviceIds, Devices, Endpoint, Failure, Health, Holdings, Inventory, Life,
    Outcome, PluginOptions, Question, Replies, Reply, Request, Topology,
};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role};
use topology_hint::Affinity;
use topology_model::{NodeId, Nodes};

pub(crate) const GPU: &str = "vendor.io/gpu";

pub(crate) fn gpu() -> ResourceName {
    ResourceName::new(GPU)
}

/// Containers by name, role and limits: `"vendor.io/gpu=2 cpu=1500m"`.
pub(crate) fn pod(uid: &str, containers: &[(&str, Role, &str)]) -> Pod {
    let container = |(name, role, limits): &(&str, Role, &str)| {
        let limit = |word: &str| {
            let (name, amount) = word.split_once('=').expect("name=amount");
            (ResourceName::new(name), amount.parse().expect("an amount"))
        };
        let limits: ResourceList = limits.split_whitespace().map(limit).collect();
        Container { name: ContainerName::new(name), role: *role, requests: limits.clone(), limits }
    };
    Pod { uid: PodUid::new(uid), ..Pod::new("ns", uid, containers.iter().map(container).collect()) }
}

/// One container that asks for so many GPUs.
pub(crate) fn asking(uid: &str, gpus: u32) -> Pod {
    pod(uid, &[("app", Role::App, &format!("{GPU}={gpus}"))])
}

pub(crate) fn ids(names: &str) -> DeviceIds {
    names.split_whitespace().map(DeviceId::new).collect()
}

pub(crate) fn names(ids: &DeviceIds) -> String {
    ids.iter().map(DeviceId::as_str).collect::<Vec<_>>().join(" ")
}

/// Devices in words: `a:0` on node 0, `b:0,1` on both, `c` without a word about nodes, `d:` on none, `e:0!` sick.
pub(crate) fn devices(words: &str) -> Vec<Device> {
    let device = |word: &str| {
        let (word, health) = match word.strip_suffix('!') {
            Some(word) => (word, Health::said("Unhealthy")),
            None => (word, Health::Healthy),
        };
        let (id, topology) = match word.split_once(':') {
            None => (word, Topology::Absent),
            Some((id, nodes)) => {
                let nodes = nodes.split(',').filter(|node| !node.is_empty());
                (id, Topology::Nodes(nodes.map(|node| NodeId(node.parse().expect("a node"))).collect()))
            }
        };
        Device { id: DeviceId::new(id), health, topology }
    };
    words.split_whitespace().map(device).collect()
}

pub(crate) fn machine(nodes: &[i64]) -> Inventory {
    Inventory::new(Nodes::new(nodes.iter().copied().map(NodeId)).expect("few nodes"))
}

/// A plugin that is there.
pub(crate) fn running(options: PluginOptions) -> Endpoint {
    Endpoint::Plugin { options: Some(options), life: Life::Running }
}

/// Two nodes and a plugin for GPUs.
pub(crate) fn plugged(words: &str, options: PluginOptions) -> Inventory {
    let mut inventory = machine(&[0, 1]);
    inventory.set_endpoint(&gpu(), running(options));
    inventory.list(&gpu(), devices(words));
    inventory
}

pub(crate) fn near(inventory: &Inventory, nodes: &[i64]) -> Affinity {
    Affinity::Nodes(inventory.nodes().mask_of(nodes.iter().copied().map(NodeId)))
}

pub(crate) type Decision<E> =
    fn(Devices, &Inventory, &Holdings, &Request<'_>, &Replies) -> Result<Outcome, Failure<E>>;

/// Decides, with `answer` for the plugins; what was asked, and what came of it.
pub(crate) fn settle<E: core::error::Error>(
    decide: Decision<E>,
    policy: Devices,
    inventory: &Inventory,
    held: &Holdings,
    request: &Request<'_>,
    answer: impl Fn(&Question) -> Reply,
) -> (Vec<Question>, Result<Allocation, Failure<E>>) {
    let (mut asked, mut replies) = (Vec::new(), Replies::new());
    loop {
        match decide(policy, inventory, held, request, &replies) {
            Ok(Outcome::NeedsPlugin(question)) => {
                assert!(!asked.contains(&question), "asked twice: {question:?}");
                replies.insert(question.clone(), answer(&question));
                asked.push(question);
            }
            Ok(Outcome::Done(allocation)) => return (asked, Ok(allocation)),
            Err(failure) => return (asked, Err(failure)),
        }
    }
}

/// Serves a pod's containers in order, near `affinity`; the holdings, and what each got or why not.
pub(crate) fn serve(
    inventory: &Inventory,
    held: &Holdings,
    pod: &Pod,
    affinity: Affinity,
) -> (Holdings, Vec<String>) {
    let (mut held, mut told) = (held.clone(), Vec::new());
    for container in &pod.containers {
        let request = Request::new(pod, container, affinity);
        match settle(Devices::allocate, Devices::default(), inventory, &held, &request, Reply::willing).1 {
            Ok(allocation) => {
                told.push(allocation.granted.get(&gpu()).map(names).unwrap_or_default());
                held = allocation.after;
            }
            Err(failure) => {
                told.push(failure.error.to_string());
                held = failure.after;
            }
        }
    }
    (held, told)
}
