//! An admitted pod as it is kept on disk: its manifest, and what only this node knows of it.
//!
//! The kubelet's state files know pods by UID only. What a pod asked for, where it came from and which of its
//! containers run is kept in one file for each pod, below `topolet/pods`: a manifest that any reader of pods takes,
//! with a member `topolet` beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cpu_manager::ContainerId;
use pod_spec::{
    Container, ContainerName, Demand, NodeSelectorTerm, Origin, PlacedDevice, Pod, PodRules, PodUid,
    Requirement, ResourceList, Role, SupplementalGroups, Tolerated, Wishes,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use topology_admission::{Ledger, Node};
use topology_manifest::{ManifestError, Source as Text, plain_json, read_pods_with};

use crate::grants::{Grants, NoCpus, Wire};
use crate::manifest_file::ManifestFile;

/// Where a pod came from, which decides who takes it away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file of the watched folder: the pod goes when its manifest goes. `None`: an older release stored the pod
    /// without its file.
    Folder(Option<ManifestFile>),
    /// A client's request: the pod stays until a client deletes it.
    Request,
    /// An API server that has bound it to the node: it goes when its object goes or has ended.
    Cluster,
}

impl Source {
    /// Whether the pod came from the watched folder.
    #[must_use]
    pub const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// What [`Source::name`] can be.
    pub const NAMES: [&str; 3] = ["folder", "request", "cluster"];

    /// `folder`, `request` or `cluster`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::Request => "request",
            Self::Cluster => "cluster",
        }
    }

    /// The file of a pod of the folder.
    #[must_use]
    pub const fn file(&self) -> Option<&ManifestFile> {
        match self {
            Self::Folder(file) => file.as_ref(),
            Self::Request | Self::Cluster => None,
        }
    }
}

/// The source as it is stored, without the file.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Folder,
    Request,
    Cluster,
}

/// A container that runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Running {
    /// Its name in the pod.
    #[serde(with = "name")]
    pub container: ContainerName,
    /// Its cgroup, below the root of cgroups; `None`: nothing is written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
}

mod name {
    //! A container's name as text.

    use pod_spec::ContainerName;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(name: &ContainerName, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ContainerName, D::Error> {
        Ok(ContainerName::new(&String::deserialize(from)?))
    }
}

/// An admitted pod.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it is.
    pub pod: Arc<Pod>,
    /// Its manifest, as [`manifest`] writes it: two pods are the same if these are.
    pub manifest: Arc<Value>,
    /// Where it came from.
    pub source: Source,
    /// Counts admissions of this node.
    pub arrival: u64,
    /// When it was admitted by the clock on the wall, as the time since 1970; `None`: not known.
    pub admitted: Option<Duration>,
    /// Its containers that run, by id in the runtime.
    pub running: BTreeMap<ContainerId, Running>,
    /// Whether it was given other amounts while it ran.
    pub resized: bool,
    /// What it was granted; `None`: the state files alone know.
    pub grants: Option<Grants>,
    /// Why it may not have what it was granted, found at a start; it stays as it is until it is deleted.
    pub quarantine: Option<String>,
}

/// Why a pod's file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It is no manifest.
    #[error("failed to read the pod: {0}")]
    Manifest(Box<ManifestError>),
    /// It holds another number of pods than one.
    #[error("expected one pod, found {0}")]
    Count(usize),
    /// The member `topolet` is not there or is other than it should be.
    #[error("failed to read what is kept beside the manifest")]
    Own(#[source] serde_json::Error),
    /// What it was granted is not as it should be.
    #[error("failed to read what it was granted: {0}")]
    Grants(#[from] NoCpus),
    /// Its checksum is not that of its contents.
    #[error("changed after it was written")]
    Corrupt,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Own {
    arrival: u64,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admitted: Option<u64>,
    source: Kind,
    /// The file of a pod of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest_file: Option<String>,
    /// The devices of claims that its CPUs and memory follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Claimed>,
    #[serde(default)]
    running: BTreeMap<String, Running>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    resized: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grants: Option<Wire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quarantine: Option<String>,
}

/// A device of a claim on a NUMA node.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claimed {
    claim: String,
    containers: Vec<String>,
    numa_node: i64,
}

impl From<&PlacedDevice> for Claimed {
    fn from(device: &PlacedDevice) -> Self {
        let PlacedDevice { claim, containers, node } = device;
        let containers = containers.iter().map(ToString::to_string).collect();
        Self { claim: claim.clone(), containers, numa_node: *node }
    }
}

impl From<Claimed> for PlacedDevice {
    fn from(device: Claimed) -> Self {
        let containers = device.containers.iter().map(|name| ContainerName::new(name)).collect();
        Self { claim: device.claim, containers, node: device.numa_node }
    }
}

impl Record {
    /// A pod that comes now.
    #[must_use]
    pub fn new(pod: Arc<Pod>, source: Source, arrival: u64) -> Self {
        let manifest = Arc::new(manifest(&pod));
        let (running, resized) = (BTreeMap::new(), false);
        Self {
            pod,
            manifest,
            source,
            arrival,
            admitted: None,
            running,
            resized,
            grants: None,
            quarantine: None,
        }
    }

    /// The same with what the pod holds.
    #[must_use]
    pub fn holding(mut self, node: &Node, ledger: &Ledger) -> Self {
        self.grants = Some(Grants::of(node, ledger, &self.pod.uid));
        self
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> String {
        let running = self.running.iter().map(|(id, running)| (id.to_string(), running.clone()));
        let own = Own {
            arrival: self.arrival,
            admitted: self.admitted.map(|since| since.as_secs()),
            source: match self.source {
                Source::Folder(_) => Kind::Folder,
                Source::Request => Kind::Request,
                Source::Cluster => Kind::Cluster,
            },
            manifest_file: self.source.file().map(ToString::to_string),
            claims: self.pod.constraints.claim_places.known.iter().map(Claimed::from).collect(),
            running: running.collect(),
            resized: self.resized,
            grants: self.grants.as_ref().map(Wire::from),
            quarantine: self.quarantine.clone(),
        };
        let mut file = Value::clone(&self.manifest);
        file["topolet"] = json!(own);
        let checksum = hash(&file.to_string());
        file["topolet"][CHECKSUM] = json!(checksum);
        file.to_string()
    }

    /// Reads a file; errors call it `name`.
    ///
    /// # Errors
    /// It is not one that this wrote.
    pub fn read(name: &str, text: &[u8], rules: impl Into<PodRules>) -> Result<Self, RecordError> {
        let record = Self::read_unchecked(name, text, rules.into())?;
        let mut file: Value = serde_json::from_slice(text).map_err(RecordError::Own)?;
        let stored =
            file.get_mut("topolet").and_then(Value::as_object_mut).and_then(|own| own.remove(CHECKSUM));
        match stored {
            Some(stored) if stored != json!(hash(&file.to_string())) => Err(RecordError::Corrupt),
            _ => Ok(record),
        }
    }

    /// The same without the checksum: the file may have been edited.
    pub(crate) fn read_unchecked(name: &str, text: &[u8], rules: PodRules) -> Result<Self, RecordError> {
        let pods = |text: &[u8]| {
            Text::from_bytes(name, text)
                .and_then(|text| read_pods_with(&text, rules))
                .map_err(|error| RecordError::Manifest(Box::new(error)))
        };
        let mut file: Value = match serde_json::from_slice(text) {
            Ok(file) => file,
            // A reader of manifests says better where it is torn.
            Err(error) => return pods(text).and(Err(RecordError::Own(error))),
        };
        // What plugins say may be long, and have characters that no manifest has.
        let own = file.as_object_mut().and_then(|members| members.remove("topolet")).unwrap_or_default();
        let pods = pods(plain_json(&file.to_string()).as_bytes())?;
        let count = pods.len();
        let Some(mut pod) = pods.into_iter().next().filter(|_| count == 1) else {
            return Err(RecordError::Count(count));
        };
        let own: Own = serde_json::from_value(own).map_err(RecordError::Own)?;
        let running = own.running.into_iter().map(|(id, running)| (ContainerId::from(id.as_str()), running));
        pod.constraints.claim_places.known = own.claims.into_iter().map(PlacedDevice::from).collect();
        let pod = Arc::new(pod);
        Ok(Self {
            manifest: Arc::new(manifest(&pod)),
            pod,
            source: match own.source {
                Kind::Folder => Source::Folder(own.manifest_file.as_deref().map(ManifestFile::new)),
                Kind::Request => Source::Request,
                Kind::Cluster => Source::Cluster,
            },
            arrival: own.arrival,
            admitted: own.admitted.map(Duration::from_secs),
            running: running.collect(),
            resized: own.resized,
            grants: own.grants.map(Grants::try_from).transpose()?,
            quarantine: own.quarantine,
        })
    }
}

/// The longest UID that a file is called by.
const LONGEST: usize = 180;

/// The folder of the pods' files, below the root.
pub const PODS: &str = "topolet/pods";

/// The path of a pod's file, below the root.
#[must_use]
pub fn path(uid: &PodUid) -> PathBuf {
    PathBuf::from(PODS).join(file_name(uid))
}

fn file_name(uid: &PodUid) -> String {
    let text = uid.as_str();
    if text.len() <= LONGEST {
        return format!("{text}.json");
    }
    format!("{}_{}.json", text.get(..LONGEST).unwrap_or_default(), hash(text))
}

/// The member that tells whether the file is as it was written.
const CHECKSUM: &str = "checksum";

/// 64-bit FNV-1a.
pub(crate) fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// A pod as a manifest that gives the same pod when it is read.
#[must_use]
pub fn manifest(pod: &Pod) -> Value {
    let mut metadata = json!({ "namespace": pod.namespace, "name": pod.name });
    // Who reads a manifest without a UID makes this one.
    if pod.uid.as_str() != format!("{}_{}", pod.namespace, pod.name) {
        metadata["uid"] = json!(pod.uid.as_str());
    }
    let demands = &pod.constraints;
    if let Some(label) = &demands.os_label {
        metadata["labels"] = json!({ "kubernetes.io/os": label });
    }
    match demands.origin {
        Origin::ApiServer => {}
        Origin::Static => metadata["annotations"] = json!({ "kubernetes.io/config.source": "file" }),
        Origin::Mirror => metadata["annotations"] = json!({ "kubernetes.io/config.mirror": "mirror" }),
    }
    for (name, value) in demands.wishes.iter() {
        metadata["annotations"][format!("{}{name}", Wishes::PREFIX)] = json!(value);
    }
    let (apps, inits): (Vec<&Container>, Vec<&Container>) =
        pod.containers.iter().partition(|container| container.role == Role::App);
    let mut spec = json!({ "containers": apps.into_iter().map(container).collect::<Vec<_>>() });
    if !inits.is_empty() {
        spec["initContainers"] = inits.into_iter().map(container).collect();
    }
    if let Some(resources) = &pod.resources {
        spec["resources"] = both(&resources.requests, &resources.limits);
    }
    if !pod.overhead.is_empty() {
        spec["overhead"] = amounts(&pod.overhead);
    }
    constraints(pod, &mut spec);
    let mut manifest = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
    if let Some(class) = pod.status_qos {
        manifest["status"] = json!({ "qosClass": class.name() });
    }
    manifest
}

fn constraints(pod: &Pod, spec: &mut Value) {
    let demands = &pod.constraints;
    if let Some(os) = &demands.os {
        spec["os"] = json!({ "name": os });
    }
    if let Some(node) = &demands.node_name {
        spec["nodeName"] = json!(node);
    }
    if !demands.node_selector.is_empty() {
        spec["nodeSelector"] = json!(demands.node_selector);
    }
    if let Some(terms) = &demands.node_affinity {
        let terms: Vec<Value> = terms.iter().map(term).collect();
        let required = json!({ "nodeSelectorTerms": terms });
        spec["affinity"] =
            json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required } });
    }
    if !demands.tolerations.is_empty() {
        let toleration = |toleration: &pod_spec::Toleration| {
            let (operator, value) = match &toleration.values {
                Tolerated::Equal(value) => ("Equal", value.as_str()),
                Tolerated::Exists => ("Exists", ""),
            };
            json!({
                "key": toleration.key, "operator": operator, "value": value, "effect": toleration.effect
            })
        };
        spec["tolerations"] = demands.tolerations.iter().map(toleration).collect();
    }
    if demands.priority != 0 {
        spec["priority"] = json!(demands.priority);
    }
    if demands.supplemental_groups == SupplementalGroups::Strict {
        spec["securityContext"] = json!({ "supplementalGroupsPolicy": "Strict" });
    }
    // Which container takes a port does not matter.
    if !demands.host_ports.is_empty() {
        let ports = demands.host_ports.iter().map(|port| {
            json!({
                "containerPort": port.port, "hostPort": port.port, "hostIP": port.address,
                "protocol": port.protocol
            })
        });
        spec["containers"][0]["ports"] = ports.collect();
    }
}

fn term(term: &NodeSelectorTerm) -> Value {
    let each = |requirements: &[Requirement]| requirements.iter().map(requirement).collect::<Vec<_>>();
    json!({ "matchExpressions": each(&term.labels), "matchFields": each(&term.fields) })
}

fn requirement(requirement: &Requirement) -> Value {
    let (operator, values) = match &requirement.demand {
        Demand::In(values) => ("In", values.clone()),
        Demand::NotIn(values) => ("NotIn", values.clone()),
        Demand::Exists => ("Exists", Vec::new()),
        Demand::DoesNotExist => ("DoesNotExist", Vec::new()),
        Demand::Above(bound) => ("Gt", vec![bound.to_string()]),
        Demand::Below(bound) => ("Lt", vec![bound.to_string()]),
    };
    let mut shown = json!({ "key": requirement.key, "operator": operator });
    if !values.is_empty() {
        shown["values"] = json!(values);
    }
    shown
}

fn container(container: &Container) -> Value {
    let mut shown = json!({ "name": container.name.as_str() });
    if container.role == Role::Sidecar {
        shown["restartPolicy"] = json!("Always");
    }
    if !container.requests.is_empty() || !container.limits.is_empty() {
        shown["resources"] = both(&container.requests, &container.limits);
    }
    shown
}

fn both(requests: &ResourceList, limits: &ResourceList) -> Value {
    let mut both = json!({});
    if !requests.is_empty() {
        both["requests"] = amounts(requests);
    }
    if !limits.is_empty() {
        both["limits"] = amounts(limits);
    }
    both
}

fn amounts(list: &ResourceList) -> Value {
    list.iter().map(|(resource, amount)| (resource.to_string(), json!(amount.to_string()))).collect()
}
