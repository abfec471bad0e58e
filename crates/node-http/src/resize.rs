//! Pods that run and get other amounts.

use std::collections::BTreeMap;
use std::fmt;

use admission_report::ResizeReport;
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::Peer;
use cgroup_cpuset::{CgroupPath, Cgroups};
use k8s_quantity::Quantity;
use node_agent::{Answer, Request, Snapshot};
use node_output::NodeLine;
use node_view::OwnerReply;
use pod_spec::{ContainerName, PodUid, ResourceList, ResourceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology_admission::{Size, Sizes, When};

use super::failure::Failure;
use super::json::{object, objects, parsed, unique};
use super::node::{Answered, Node, body, failed, find, no_pod};
use super::reply::Shape;
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
    #[serde(deserialize_with = "object")]
    spec: SpecBody,
}

/// The containers of which amounts change.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PodResizeSpec")]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SpecBody {
    #[serde(default, deserialize_with = "objects")]
    containers: Vec<ContainerBody>,
    /// Sidecars.
    #[serde(default, deserialize_with = "objects")]
    init_containers: Vec<ContainerBody>,
}

/// A container and its new amounts.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ContainerResize")]
#[serde(deny_unknown_fields)]
struct ContainerBody {
    /// Its name.
    name: String,
    #[serde(deserialize_with = "object")]
    resources: ResourcesBody,
}

/// Amounts of `cpu` and `memory`; what is not named stays.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ContainerResizeResources")]
#[serde(deny_unknown_fields)]
struct ResourcesBody {
    #[serde(default, deserialize_with = "unique")]
    requests: BTreeMap<String, AmountBody>,
    #[serde(default, deserialize_with = "unique")]
    limits: BTreeMap<String, AmountBody>,
}

/// A quantity, as text or as a number.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ContainerResizeAmount")]
#[serde(untagged, expecting = "an amount is a quantity such as 4 or \"8Gi\"")]
enum AmountBody {
    Text(String),
    Number(serde_json::Number),
}

impl fmt::Display for AmountBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl ResizeBody {
    fn sizes(self) -> Result<Sizes, Failure> {
        let mut sizes = Sizes::default();
        let SpecBody { containers, init_containers } = self.spec;
        let lists = [("containers", containers), ("initContainers", init_containers)];
        let each = lists.into_iter().flat_map(|(list, containers)| {
            let place = move |at: usize| format!("spec.{list}[{at}]");
            containers.into_iter().enumerate().map(move |(at, container)| (place(at), container))
        });
        for (of, container) in each {
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

fn amounts(of: &BTreeMap<String, AmountBody>, field: &str) -> Result<ResourceList, Failure> {
    let amount = |(name, amount): (&String, &AmountBody)| {
        let text = amount.to_string();
        let amount: Quantity = text.parse().map_err(|error| {
            Failure::wrong(format!("body: {field}.{name}: {text:?} is no quantity, expected an amount such as 2, 500m or 1.5Gi: {error}"))
        })?;
        // As an API server hands it on: 1.5Gi is no whole number of bytes for the kubelet's managers, 1536Mi is.
        let amount = amount.canonical().to_string().parse().unwrap_or(amount);
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
    if let Some(cgroups) = &changer.control.cgroups {
        can_shrink(cgroups, &before, &uid, &sizes)?;
    }
    let request = Request::Resize(uid.clone(), sizes);
    let (before, after) = match node.ask(changer, &format!("{namespace}/{name}"), request).await? {
        OwnerReply::Answer(Answer::Resized { before, after }) => (before, after),
        OwnerReply::Answer(Answer::Failed(error)) => return Err(failed(&error)),
        OwnerReply::Answer(_) | OwnerReply::Decided(_) | OwnerReply::Moved(..) => {
            return Err(no_pod(&namespace, &name));
        }
    };
    let report = ResizeReport::made(&node.view.node().node, &before, &after, &uid);
    let resize = report.ok_or_else(|| no_pod(&namespace, &name))?;
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
