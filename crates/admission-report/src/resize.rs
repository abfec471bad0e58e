//! A resize of a pod that runs: what its containers have before and after it, or why they cannot have it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use k8s_quantity::Quantity;
use pod_spec::{Container, ContainerName, PodUid, ResourceName};
use serde::Serialize;
use topology_admission::{Largest, Ledger, Node, ResizeAttempt, Sizes};
use topology_model::NodeIds;

use crate::container::MemoryBlock;
use crate::facts::full_name;
use crate::json;

/// A resize, worked out.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResizeReport {
    /// Namespace and name.
    pub pod: String,
    /// Whether its containers can have the new amounts.
    pub resized: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<ResizeRefusal>,
    /// Its containers that can be resized, in the order of the pod.
    pub containers: Vec<ResizedContainer>,
}

/// Why a resize is refused.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResizeRefusal {
    /// `Deferred`: it can be made when others have gone; `Infeasible`: never here.
    pub reason: String,
    /// For people; the kubelet's message where the kubelet refuses too.
    pub message: String,
    /// The container that cannot have what it asks for.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub container: Option<ContainerName>,
    /// What each NUMA node has for that container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeOfResize>,
    /// The largest amount that fits now, everything else as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_fit: Option<LargestSize>,
}

/// What a NUMA node has for a container.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeOfResize {
    /// The node.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub node: NodeIds,
    /// CPUs of the container's own there.
    pub own_cpus: usize,
    /// CPUs free there.
    pub free_cpus: usize,
    /// CPUs that pods can have there.
    pub allocatable_cpus: usize,
}

/// The largest amount that fits.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LargestSize {
    /// The container.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub container: ContainerName,
    /// `cpu` or `memory`.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub resource: ResourceName,
    /// The amount.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub amount: Quantity,
    /// What was asked for.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub instead_of: Quantity,
}

/// A container before and after a resize. After a refused one both are the same.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResizedContainer {
    /// Its name.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: ContainerName,
    /// Its CPU request before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpu_before: Option<Quantity>,
    /// Its CPU request that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpu: Option<Quantity>,
    /// Its exclusive CPUs, after the resize; `None` if it shares CPUs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub exclusive_cpus: Option<CpuSet>,
    /// The NUMA nodes of these.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpu_nodes: Option<NodeIds>,
    /// The CPUs that it was admitted with, which it never loses.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub baseline: Option<CpuSet>,
    /// CPUs that it gets.
    #[serde(skip_serializing_if = "CpuSet::is_empty", serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String", default))]
    pub added: CpuSet,
    /// CPUs that it gives back.
    #[serde(skip_serializing_if = "CpuSet::is_empty", serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String", default))]
    pub given_back: CpuSet,
    /// Its memory that is bound to nodes, after the resize.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryBlock>,
}

impl ResizeReport {
    /// The report on a resize that has been made, between two ledgers; `None` if the pod is not in the later one.
    #[must_use]
    pub fn made(node: &Node, before: &Ledger, after: &Ledger, uid: &PodUid) -> Option<Self> {
        let pod = after.pod(uid)?;
        let resizable = pod.containers.iter().filter(|container| container.role != pod_spec::Role::Init);
        let containers = resizable.map(|container| {
            let was = before.pod(uid).and_then(|pod| pod.container(&container.name));
            ResizedContainer::new(node, before, after, uid, was, container)
        });
        Some(Self { pod: full_name(pod), resized: true, refusal: None, containers: containers.collect() })
    }

    /// The report on `attempt` to resize a pod of `before` to `sizes`. Of a refused one the largest size that fits is
    /// looked for, which takes some milliseconds.
    #[must_use]
    pub fn of(node: &Node, before: &Ledger, sizes: &Sizes, attempt: &ResizeAttempt) -> Self {
        let pod = &attempt.pod;
        let resizable = pod.containers.iter().filter(|container| container.role != pod_spec::Role::Init);
        let containers = resizable.map(|container| {
            let was = before.pod(&pod.uid).and_then(|pod| pod.container(&container.name));
            ResizedContainer::new(node, before, &attempt.after, &pod.uid, was, container)
        });
        let refusal = attempt.verdict.as_ref().err().map(|refused| {
            let largest = node.largest_resize(before, &pod.uid, sizes);
            let container = refused.container.clone();
            let container = container.or_else(|| largest.as_ref().map(|largest| largest.container.clone()));
            ResizeRefusal {
                reason: refused.when.to_string(),
                message: refused.message.clone(),
                nodes: container.as_ref().map_or_else(Vec::new, |name| nodes(node, before, &pod.uid, name)),
                would_fit: largest.and_then(|largest| LargestSize::new(largest, &pod.containers)),
                container,
            }
        });
        Self { pod: full_name(pod), resized: refusal.is_none(), refusal, containers: containers.collect() }
    }
}

impl ResizedContainer {
    fn new(
        node: &Node,
        before: &Ledger,
        after: &Ledger,
        pod: &PodUid,
        was: Option<&Container>,
        is: &Container,
    ) -> Self {
        let own = |ledger: &Ledger| ledger.cpus().and_then(|held| held.assigned(pod, &is.name)).cloned();
        let (had, has) = (own(before), own(after));
        let cpu = |of: &Container| of.requests.get("cpu").cloned();
        let minus = |all: &Option<CpuSet>, less: &Option<CpuSet>| {
            let empty = CpuSet::new();
            all.as_ref().unwrap_or(&empty) - less.as_ref().unwrap_or(&empty)
        };
        let policy = node.cpus();
        let blocks = after.memory().and_then(|held| held.assigned(pod, &is.name)).unwrap_or(&[]);
        Self {
            name: is.name.clone(),
            cpu_before: was.and_then(cpu),
            cpu: cpu(is),
            added: minus(&has, &had),
            given_back: minus(&had, &has),
            cpu_nodes: policy
                .zip(has.as_ref())
                .map(|(policy, cpus)| node.nodes().listed(policy.nodes_of(cpus))),
            baseline: policy
                .zip(after.cpus())
                .and_then(|(policy, held)| policy.baseline(held, pod, &is.name))
                .cloned(),
            exclusive_cpus: has,
            memory: blocks.iter().map(|block| MemoryBlock::new(node.nodes(), block)).collect(),
        }
    }
}

/// What each NUMA node with CPUs has for a container.
fn nodes(node: &Node, ledger: &Ledger, pod: &PodUid, container: &ContainerName) -> Vec<NodeOfResize> {
    let (Some(policy), Some(held)) = (node.cpus(), ledger.cpus()) else { return Vec::new() };
    let Some(own) = held.assigned(pod, container) else { return Vec::new() };
    let of_node = |on: cpu_manager::OnNode| NodeOfResize {
        node: node.nodes().listed(on.node),
        own_cpus: own.iter().filter(|cpu| policy.nodes_of(&CpuSet::from_iter([*cpu])).meets(on.node)).count(),
        free_cpus: on.free,
        allocatable_cpus: on.allocatable,
    };
    policy.on_nodes(held, &PodUid::new("")).map(of_node).collect()
}

impl LargestSize {
    fn new(largest: Largest, containers: &[Container]) -> Option<Self> {
        let Largest { container, resource, amount } = largest;
        let asked = containers.iter().find(|asked| asked.name == container)?;
        let instead_of = asked.requests.get(&resource)?.clone();
        Some(Self { container, resource, amount, instead_of })
    }
}

impl fmt::Display for LargestSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { container, resource, amount, instead_of } = self;
        f.pad(&format!("{resource} {amount} instead of {instead_of} for {container}"))
    }
}
