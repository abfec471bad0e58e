//! Pods that run and get other amounts.

use std::collections::BTreeMap;

use admission_report::ResizeReport;
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::Peer;
use cgroup_cpuset::{CgroupPath, Cgroups};
use k8s_quantity::Quantity;
use node_agent::{Request, Snapshot};
use node_output::NodeLine;
use pod_spec::{ContainerName, PodUid, ResourceList, ResourceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology_admission::{Size, Sizes, When};

use super::containers::parsed;
use super::reply::{Failure, Shape};
use super::routes::{Answered, Node, body, find};
use super::segments::Segments;

/// A resize that has been made.
#[derive(Serialize, JsonSchema)]
pub(super) struct Resized<'a> {
    node: &'a NodeLine,
    #[serde(flatten)]
    resize: ResizeReport,
}

/// New amounts, as a patch of a pod has them.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PodResize")]
#[serde(deny_unknown_fields)]
pub(super) struct ResizeBody {
    spec: SpecBody,
}

/// The containers of which amounts change.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PodResizeSpec")]
#[serde(deny_unknown_fields)]
struct SpecBody {
    containers: Vec<ContainerBody>,
}

/// A container and its new amounts.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ContainerResize")]
#[serde(deny_unknown_fields)]
struct ContainerBody {
    /// Its name.
    name: String,
    resources: ResourcesBody,
}

/// Amounts of `cpu` and `memory`; what is not named stays.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ContainerResizeResources")]
#[serde(deny_unknown_fields)]
struct ResourcesBody {
    #[serde(default)]
    requests: BTreeMap<String, String>,
    #[serde(default)]
    limits: BTreeMap<String, String>,
}

impl ResizeBody {
    fn sizes(self) -> Result<Sizes, Failure> {
        let mut sizes = Sizes::default();
        for (at, container) in self.spec.containers.into_iter().enumerate() {
            let of = format!("spec.containers[{at}]");
            let ResourcesBody { requests, limits } = container.resources;
            let size = Size {
                requests: amounts(&requests, &format!("{of}.resources.requests"))?,
                limits: amounts(&limits, &format!("{of}.resources.limits"))?,
            };
            if sizes.0.insert(ContainerName::new(&container.name), size).is_some() {
                let text = format!("body: {of}.name: container {} is there twice", container.name);
                return Err(Failure::wrong(text));
            }
        }
        if sizes.0.values().all(|size| size.requests.is_empty() && size.limits.is_empty()) {
            let text = "body: spec.containers: expected a container with requests or limits of cpu or memory";
            return Err(Failure::wrong(text));
        }
        Ok(sizes)
    }
}

fn amounts(of: &BTreeMap<String, String>, field: &str) -> Result<ResourceList, Failure> {
    let amount = |(name, text): (&String, &String)| {
        let amount: Quantity = text.parse().map_err(|error| {
            Failure::wrong(format!("body: {field}.{name}: {text:?} is no quantity such as 4 or 8Gi: {error}"))
        })?;
        Ok((ResourceName::new(name), amount))
    };
    of.iter().map(amount).collect()
}

pub(super) async fn resize(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    Segments((namespace, name)): Segments<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let changer = node.changeable(&peer, &headers)?;
    let sizes = parsed::<ResizeBody>(&body(sent).await?)?.sizes()?;
    let before = node.snapshot();
    let uid = find(&before, &namespace, &name)?.uid.clone();
    if let Some(cgroups) = &node.shared.cgroups {
        can_shrink(cgroups, &before, &uid, &sizes)?;
    }
    node.change(changer, &format!("{namespace}/{name}"), Request::Resize(uid.clone(), sizes)).await?;
    let after = node.snapshot();
    let report = ResizeReport::made(&node.shared.node.node, &before.ledger, &after.ledger, &uid);
    let resize = report.ok_or_else(|| super::routes::no_pod(&namespace, &name))?;
    let resized = Resized { node: node.line(), resize };
    shape.document("Resize", resized, |resized, page| node_output::resize(&resized.resize, page))
}

/// Whether all memory limits that become lower are above what is in use, as the kubelet asks before it writes them.
fn can_shrink(cgroups: &Cgroups, before: &Snapshot, uid: &PodUid, sizes: &Sizes) -> Result<(), Failure> {
    let Some(record) = before.pods.get(uid) else { return Ok(()) };
    for running in record.running.values() {
        let container = record.pod.container(&running.container);
        let limit = sizes.0.get(&running.container).and_then(|size| size.limits.get("memory"));
        let (Some(container), Some(limit), Some(cgroup)) = (container, limit, &running.cgroup) else {
            continue;
        };
        let has = container.limits.get("memory");
        if has.is_some_and(|has| has <= limit) {
            continue;
        }
        let limit = u64::try_from(limit.value()).unwrap_or(0);
        // What cannot be read is refused again when it is written.
        let used =
            CgroupPath::new(cgroup).ok().and_then(|cgroup| cgroups.memory_in_use(&cgroup).ok().flatten());
        if let Some(used) = used.filter(|used| *used >= limit) {
            let name = &running.container;
            let why = format!(
                "attempting to set container \"{name}\" memory limit ({limit}) below current usage ({used})"
            );
            return Err(Failure::new(StatusCode::CONFLICT, format!("{}: {why}", When::Deferred)));
        }
    }
    Ok(())
}
