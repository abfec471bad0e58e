//! The release of the kubelet that a file with a configuration states, for the cluster or the nodes that it is for.

use super::kind::{GKE_GROUP, PLACES, names};
use super::{BOOTSTRAP, CAPI_NODES, CONTROL_PLANE, KUBEADM_GROUP};
use crate::Source;
use crate::kubelet::read_documents;
use crate::node::{Field, Value};

/// A release that a file states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedRelease {
    /// As it is written, such as `v1.34.2+rke2r1`; of an image its tag.
    pub version: String,
    /// The field, by its path.
    pub field: String,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// Where the objects of a kind have a version.
struct Place {
    /// Empty for documents without a kind.
    kind: &'static str,
    group: &'static str,
    path: &'static [&'static str],
}

const fn place(kind: &'static str, group: &'static str, path: &'static [&'static str]) -> Place {
    Place { kind, group, path }
}

const SPEC: &[&str] = &["spec", "version"];
const TEMPLATE: &[&str] = &["spec", "template", "spec", "version"];
const CAPI: &str = "cluster.x-k8s.io/";

/// By the types of each: `ClusterConfiguration` of kubeadm, `ClusterSpec` of kops, `Kubernetes` of Gardener, `ClusterMeta` of eksctl,
/// `MachineSpec` and `Topology` of Cluster API and the control planes of its providers, `ClusterSpec` of rancher/rancher, `PlanSpec` of
/// rancher/system-upgrade-controller, agent pools of AKS in its API and in Azure Service Operator, and node pools of GKE in Config
/// Connector.
const PLACES_OF_VERSIONS: [Place; 24] = [
    place("ClusterConfiguration", KUBEADM_GROUP, &["kubernetesVersion"]),
    place("Cluster", "kops.k8s.io/", &["spec", "kubernetesVersion"]),
    place("Shoot", "core.gardener.cloud/", &["spec", "kubernetes", "version"]),
    place("ClusterConfig", "eksctl.io/", &["metadata", "version"]),
    place("Cluster", "provisioning.cattle.io/", &["spec", "kubernetesVersion"]),
    place("Plan", "upgrade.cattle.io/", SPEC),
    place("Cluster", CAPI, &["spec", "topology", "version"]),
    place("Machine", CAPI, SPEC),
    place("MachineDeployment", CAPI, TEMPLATE),
    place("MachinePool", CAPI, TEMPLATE),
    place("MachineSet", CAPI, TEMPLATE),
    place("KubeadmControlPlane", CONTROL_PLANE, SPEC),
    place("RKE2ControlPlane", CONTROL_PLANE, SPEC),
    place("KThreesControlPlane", CONTROL_PLANE, SPEC),
    place("AWSManagedControlPlane", CONTROL_PLANE, SPEC),
    place("AzureManagedControlPlane", CAPI_NODES, SPEC),
    place("ManagedClustersAgentPool", "containerservice.azure.com/", &["spec", "orchestratorVersion"]),
    place("ContainerNodePool", GKE_GROUP, SPEC),
    place("ContainerCluster", GKE_GROUP, &["spec", "nodeVersion"]),
    place("KubeletConfig", "v1alpha1", &["image"]),
    place("", "", &["machine", "kubelet", "image"]),
    place("", "", &["currentOrchestratorVersion"]),
    place("", "", &["orchestratorVersion"]),
    place("", "", &["properties", "orchestratorVersion"]),
];

/// Names of images of Amazon, in which the release stands between hyphens: `amazon-eks-node-al2023-x86_64-standard-1.34-v20260101`.
const IMAGES_OF_AMAZON: [&str; 3] = ["amazon-eks-", "bottlerocket-aws-k8s-", "ubuntu-eks"];

/// The releases that a file states, each once, in its order; nothing where it is no YAML.
///
/// ```
/// use topology_manifest::{Source, stated_releases};
///
/// let text = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: own, version: '1.34'}\n";
/// let stated = stated_releases(&Source { name: "cluster.yaml", text });
/// assert_eq!((stated[0].version.as_str(), stated[0].line), ("1.34", 3));
/// ```
#[must_use]
pub fn stated_releases(source: &Source<'_>) -> Vec<StatedRelease> {
    let Ok(documents) = read_documents(source) else { return Vec::new() };
    let mut found: Vec<StatedRelease> = Vec::new();
    for node in &documents.nodes {
        let document = Field::document(source, node);
        let items = document.get("items").ok().flatten().and_then(|items| items.items().ok());
        for object in items.unwrap_or_else(|| vec![document]) {
            of_object(&object, &mut found);
        }
    }
    found
}

fn of_object(object: &Field<'_>, found: &mut Vec<StatedRelease>) {
    let (kind, version) = names(object);
    let own = PLACES_OF_VERSIONS.iter().filter(|place| {
        place.kind == kind && version.starts_with(place.group) && place.group.is_empty() == version.is_empty()
    });
    let mut paths: Vec<Vec<&str>> = own.map(|place| place.path.to_vec()).collect();
    if version.starts_with(BOOTSTRAP) || version.starts_with(CONTROL_PLANE) {
        let beneath =
            |place: &[&'static str]| [place, &["clusterConfiguration", "kubernetesVersion"]].concat();
        paths.extend(PLACES.into_iter().map(beneath));
    }
    for path in paths {
        if let Some(field) = object.descend(&path).ok().flatten() {
            add(&field, found);
        }
    }
    if kind == "EC2NodeClass" {
        let terms = object.descend(&["spec", "amiSelectorTerms"]).ok().flatten();
        for term in terms.and_then(|terms| terms.items().ok()).unwrap_or_default() {
            if let Some(name) = term.get("name").ok().flatten() {
                add(&name, found);
            }
        }
    }
}

fn add(field: &Field<'_>, found: &mut Vec<StatedRelease>) {
    // A version without quotes is a number.
    let text = match &field.node.value {
        Value::Text(text) | Value::Number(text) => text.as_str(),
        _ => return,
    };
    let Some(version) = version_in(text).filter(|own| found.iter().all(|known| known.version != *own)) else {
        return;
    };
    found.push(StatedRelease {
        version: version.to_owned(),
        field: field.path.clone(),
        line: field.place().position.line,
    });
}

/// The version in a value: a version, the tag of an image, a channel of kubeadm, or a part of the name of one of Amazon's images.
fn version_in(text: &str) -> Option<&str> {
    let is_version = |text: &&str| {
        let minor = text.strip_prefix('v').unwrap_or(text).strip_prefix("1.");
        minor.is_some_and(|minor| minor.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let channel = ["stable-", "latest-"].iter().find_map(|channel| text.strip_prefix(channel));
    let tag = text.split('@').next()?.rsplit_once(':').map(|(_, tag)| tag);
    let is_image = IMAGES_OF_AMAZON.iter().any(|start| text.starts_with(start));
    let part = text.split('-').find(|part| is_image && is_version(part));
    [Some(text), channel, tag, part].into_iter().flatten().find(is_version)
}
