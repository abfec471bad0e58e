//! Pods: `kind: Pod` and lists of them, as the kubelet sees them after an API server's defaulting.
//!
//! Here a pod is taken as the kubelet would take it. What an API server would refuse before is not looked for; that
//! is [`read_manifests`](crate::read_manifests)' and [`read_accepted_pods`](crate::read_accepted_pods)'.

use std::collections::BTreeSet;

use pod_spec::{
    Container, ContainerName, CreationTime, Phase, Pod, PodLevelResources, PodResources, PodRules, PodUid,
    QosClass, ResourceList, Role,
};

use crate::claims::read_made;
use crate::constraints::read_constraints;
use crate::names::{check_name, check_namespace, check_uid};
use crate::node::{Field, Value};
use crate::quantity::resource_list;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source, api};

const KINDS: &str = "kind Pod, or List with pods as its items";

/// Reads every pod of a text, in order.
///
/// The text is YAML or JSON of at most 1 MiB: one or many documents of `kind: Pod` (`v1`), `List` or `PodList`.
/// Fields that do not decide placement are not looked at. Amounts are taken as written: bare `0644` is 644, `1e3` is
/// 1000. The pods come with an API server's defaults filled in ([`Pod::with_defaults`] with pod-level resources).
///
/// A pod without a namespace is in `default`. A pod without `metadata.uid` gets `NAMESPACE_NAME`, which is the same
/// each time it is read and is no other pod's, since `_` is in neither.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_pods(source: &Source<'_>) -> Result<Vec<Pod>, ManifestError> {
    read_pods_with(source, PodLevelResources::Count)
}

/// [`read_pods`] with what the release and the feature gates of a kubelet fill in at pod level.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_pods_with(source: &Source<'_>, rules: impl Into<PodRules>) -> Result<Vec<Pod>, ManifestError> {
    let rules = rules.into();
    let mut pods = Pods::default();
    for node in &documents(source, RepeatedKey::LastCounts)? {
        pods.read_object(&Field::document(source, node))?;
    }
    Ok(pods.read.into_iter().map(|pod| pod.with_defaults(rules)).collect())
}

/// A pod that another document holds, without `apiVersion` and `kind`.
pub(crate) fn read_inline_pod(field: &Field<'_>) -> Result<Pod, ManifestError> {
    if let Some(unknown) = api::unknown_fields_of(field, "Pod").into_iter().next() {
        return Err(unknown);
    }
    let mut pods = Pods::default();
    pods.read_pod(field, Header::Implied)?;
    pods.read.pop().ok_or_else(|| field.unexpected("a pod"))
}

/// Pods read so far.
#[derive(Default)]
struct Pods {
    read: Vec<Pod>,
    names: BTreeSet<(String, String)>,
    uids: BTreeSet<PodUid>,
}

/// Whether a pod says that it is one.
#[derive(Clone, Copy, PartialEq)]
enum Header {
    Required,
    /// The members of a `PodList` do not.
    Implied,
}

impl Pods {
    fn read_object(&mut self, object: &Field<'_>) -> Result<(), ManifestError> {
        let kind = object.require("kind", KINDS)?;
        match kind.text(KINDS)? {
            "Pod" => self.read_pod(object, Header::Required),
            list @ ("List" | "PodList") => {
                check_version(object)?;
                for item in object.get("items")?.map_or(Ok(Vec::new()), |items| items.items())? {
                    if list == "List" {
                        self.read_object(&item)?;
                    } else {
                        self.read_pod(&item, Header::Implied)?;
                    }
                }
                Ok(())
            }
            other => Err(kind.fail(Problem::Kind { found: other.to_owned(), expected: KINDS })),
        }
    }

    fn read_pod(&mut self, object: &Field<'_>, header: Header) -> Result<(), ManifestError> {
        if header == Header::Required {
            check_version(object)?;
        }
        let metadata = object.require("metadata", "a mapping with the pod's name")?;
        let name_field = metadata.require("name", "the pod's name")?;
        let name = check_name(&name_field)?.to_owned();
        let namespace = match metadata.get("namespace")? {
            Some(field) => check_namespace(&field)?.to_owned(),
            None => "default".to_owned(),
        };
        if !self.names.insert((namespace.clone(), name.clone())) {
            return Err(name_field.fail(Problem::DuplicatePod(format!("{namespace}/{name}"))));
        }
        let (uid, uid_field) = match metadata.get("uid")? {
            Some(field) => (PodUid::new(check_uid(&field)?), field),
            None => (PodUid::new(&format!("{namespace}_{name}")), name_field),
        };
        if !self.uids.insert(uid.clone()) {
            return Err(uid_field.fail(Problem::DuplicatePod(uid.to_string())));
        }
        let spec = object.require("spec", "a mapping with the pod's containers")?;
        let identity = Identity { uid, namespace, name };
        self.read.push(read_body(identity, Some(&metadata), &spec, Some(object))?);
        Ok(())
    }
}

/// What identifies a pod.
pub(crate) struct Identity {
    pub(crate) uid: PodUid,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Identity {
    /// Of a pod that no API server has seen: no other pod's, and the same each time.
    pub(crate) fn made_up(namespace: String, name: String) -> Self {
        Self { uid: PodUid::new(&format!("{namespace}_{name}")), namespace, name }
    }
}

/// What a pod is besides: `object` has its status, where there is one.
pub(crate) fn read_body(
    identity: Identity,
    metadata: Option<&Field<'_>>,
    spec: &Field<'_>,
    object: Option<&Field<'_>>,
) -> Result<Pod, ManifestError> {
    let overhead = spec.get("overhead")?.map(|amounts| resource_list(&amounts)).transpose()?;
    let status = object.map_or(Ok(None), |object| object.get("status"))?;
    let Identity { uid, namespace, name } = identity;
    let mut constraints = read_constraints(metadata, spec)?;
    if let Some(status) = &status {
        read_made(&mut constraints.claims, status)?;
    }
    Ok(Pod {
        uid,
        namespace,
        name,
        containers: read_containers(spec)?.into(),
        resources: spec.get("resources")?.map(|resources| read_resources(&resources)).transpose()?,
        overhead: overhead.unwrap_or_default(),
        status_qos: read_status_qos(status.as_ref())?,
        constraints,
        phase: read_phase(status.as_ref())?,
        created: read_creation(metadata)?,
    })
}

fn check_version(object: &Field<'_>) -> Result<(), ManifestError> {
    const EXPECTED: &str = "apiVersion v1";
    let version = object.require("apiVersion", EXPECTED)?;
    match version.text(EXPECTED)? {
        "v1" => Ok(()),
        other => Err(version.fail(Problem::ApiVersion { found: other.to_owned(), expected: EXPECTED })),
    }
}

/// Init containers, then app containers.
fn read_containers(spec: &Field<'_>) -> Result<Vec<Container>, ManifestError> {
    const EXPECTED: &str = "a list of at least one container";
    let inits = spec.get("initContainers")?.map_or(Ok(Vec::new()), |list| list.items())?;
    let list = spec.require("containers", EXPECTED)?;
    let apps = list.items()?;
    if apps.is_empty() {
        return Err(list.fail(Problem::Unexpected { found: "an empty list".to_owned(), expected: EXPECTED }));
    }
    let mut names = BTreeSet::new();
    let mut containers = Vec::with_capacity(inits.len() + apps.len());
    let inits = inits.into_iter().map(|field| init_role(&field).map(|role| (field, role)));
    for container in inits.chain(apps.into_iter().map(|field| Ok((field, Role::App)))) {
        let (field, role) = container?;
        let name_field = field.require("name", "the container's name")?;
        let name = check_name(&name_field)?;
        if !names.insert(name) {
            return Err(name_field.fail(Problem::DuplicateContainer(name.to_owned())));
        }
        let PodResources { requests, limits } = field
            .get("resources")?
            .map_or_else(|| Ok(PodResources::default()), |field| read_resources(&field))?;
        containers.push(Container { name: ContainerName::new(name), role, requests, limits });
    }
    Ok(containers)
}

/// An init container that is always restarted stays: a sidecar.
fn init_role(container: &Field<'_>) -> Result<Role, ManifestError> {
    match container.get("restartPolicy")? {
        Some(policy) if policy.text("Always, or another restart policy")? == "Always" => Ok(Role::Sidecar),
        _ => Ok(Role::Init),
    }
}

fn read_resources(field: &Field<'_>) -> Result<PodResources, ManifestError> {
    let list =
        |key| field.get(key)?.map_or_else(|| Ok(ResourceList::new()), |amounts| resource_list(&amounts));
    Ok(PodResources { requests: list("requests")?, limits: list("limits")? })
}

/// A text that is no moment is none.
fn read_creation(metadata: Option<&Field<'_>>) -> Result<Option<CreationTime>, ManifestError> {
    let field = metadata.map_or(Ok(None), |metadata| metadata.get("creationTimestamp"))?;
    Ok(field.and_then(|field| CreationTime::parse(field.text("a moment").ok()?)))
}

fn read_phase(status: Option<&Field<'_>>) -> Result<Phase, ManifestError> {
    let Some(phase) = status.map_or(Ok(None), |status| status.get("phase"))? else {
        return Ok(Phase::Active);
    };
    Ok(match phase.text("Pending, Running, Succeeded, Failed or Unknown")? {
        "Succeeded" | "Failed" => Phase::Ended,
        _ => Phase::Active,
    })
}

fn read_status_qos(status: Option<&Field<'_>>) -> Result<Option<QosClass>, ManifestError> {
    const EXPECTED: &str = "Guaranteed, Burstable or BestEffort";
    let Some(class) = status.map_or(Ok(None), |status| status.get("qosClass"))? else {
        return Ok(None);
    };
    match &class.node.value {
        Value::Text(text) => match text.as_str() {
            "" => Ok(None),
            "Guaranteed" => Ok(Some(QosClass::Guaranteed)),
            "Burstable" => Ok(Some(QosClass::Burstable)),
            "BestEffort" => Ok(Some(QosClass::BestEffort)),
            _ => Err(class.unexpected(EXPECTED)),
        },
        _ => Err(class.unexpected(EXPECTED)),
    }
}
