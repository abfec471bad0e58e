//! Groups of nodes that an object has, or objects of a file, each with what its cluster sets beneath it: instance groups of kops,
//! and node groups of eksctl. Numbers of pods that stand beside the kubelet's fields go among them.

use super::field_names::rename;
use super::kind::{GKE, GKE_POOL, OLD_KOPS, names};
use crate::Source;
use crate::merge::{at_mut, merge};
use crate::node::{Entry, Field, Node, Value};

/// Whether a document is one of kops.
pub(super) fn is_kops(document: &Field<'_>) -> bool {
    let (_, version) = names(document);
    version.starts_with("kops.k8s.io/") || version.starts_with(OLD_KOPS)
}

/// The instance groups of kops with what their cluster sets beneath them; without one the cluster itself.
pub(super) fn instance_groups(source: &Source<'_>, documents: Vec<Node>) -> Vec<Node> {
    let is_cluster = |node: &Node| names(&Field::document(source, node)).0 == "Cluster";
    let (clusters, groups): (Vec<Node>, Vec<Node>) = documents.into_iter().partition(is_cluster);
    let role = |node: &Node| text(node, &["spec", "role"]).unwrap_or_default().to_owned();
    // A bastion runs no kubelet.
    let mut groups: Vec<Node> = groups.into_iter().filter(|node| role(node) != "Bastion").collect();
    if groups.is_empty() {
        return clusters;
    }
    let has_groups = |cluster: &Node| {
        groups
            .iter()
            .any(|group| own_clusters(group, &clusters).iter().any(|own| core::ptr::eq(*own, cluster)))
    };
    let without: Vec<Node> = clusters.iter().filter(|cluster| !has_groups(cluster)).cloned().collect();
    for group in &mut groups {
        let is_worker = matches!(role(group).as_str(), "Node" | "");
        let mut fields = Node { value: Value::Map(Vec::new()), span: group.span.clone() };
        for cluster in own_clusters(group, &clusters) {
            let own: &[&str] =
                if is_worker { &["kubelet"] } else { &["kubelet", "masterKubelet", "controlPlaneKubelet"] };
            for key in own {
                if let Some(beneath) = at(cluster, &["spec", key]) {
                    merge(&mut fields, beneath.clone());
                }
            }
        }
        if let Some(own) = at(group, &["spec", "kubelet"]) {
            merge(&mut fields, own.clone());
        }
        put(group, &["spec", "kubelet"], fields);
        for key in ["fileAssets", "hooks"] {
            let beneath = own_clusters(group, &clusters);
            let of_cluster = beneath.into_iter().filter_map(|cluster| at(cluster, &["spec", key]));
            let items = of_cluster.flat_map(|node| node.clone().into_items());
            let is_for = |item: &Node| is_for_role(item, &role(group));
            let mut items: Vec<Node> = items.filter(is_for).collect();
            items.extend(at(group, &["spec", key]).into_iter().flat_map(|node| node.clone().into_items()));
            let span = group.span.clone();
            put(group, &["spec", key], Node { value: Value::List(items), span });
        }
    }
    groups.extend(without);
    groups
}

/// The cluster of an instance group: the one that its label names, or else the one of the file.
fn own_clusters<'a>(group: &Node, clusters: &'a [Node]) -> Vec<&'a Node> {
    const LABEL: &str = "kops.k8s.io/cluster";
    let name = text(group, &["metadata", "labels", LABEL]);
    let is_own = |cluster: &&Node| text(cluster, &["metadata", "name"]) == name;
    match (clusters, name) {
        ([one], _) if name.is_none() || text(one, &["metadata", "name"]).is_none() => vec![one],
        (_, None) => Vec::new(),
        _ => clusters.iter().filter(is_own).collect(),
    }
}

/// Whether a file or a hook of a kops cluster is for the instance groups of a role.
fn is_for_role(item: &Node, role: &str) -> bool {
    let Some(Node { value: Value::List(roles), .. }) = item.value.get("roles") else { return true };
    let role = if role.is_empty() { "Node" } else { role };
    let is_it = |one: &Node| {
        let Value::Text(one) = &one.value else { return true };
        one == role || role != "Node" && one != "Node"
    };
    roles.is_empty() || roles.iter().any(is_it)
}

/// Where kops has fields: those of all nodes, and those of the control plane.
const KOPS: [&str; 3] = ["kubelet", "masterKubelet", "controlPlaneKubelet"];

/// Fields that kops has as one text, as the kubelet has them.
fn parse_texts(fields: &mut Node) {
    let Value::Map(entries) = &mut fields.value else { return };
    for Entry { key, value, .. } in entries {
        let span = value.span.clone();
        let node = |value| Node { value, span: span.clone() };
        match (key.as_str(), &mut value.value) {
            ("evictionHard", Value::Text(text)) => {
                let pairs = text.split(',').filter_map(|pair| pair.split_once('<'));
                let entry = |(signal, amount): (&str, &str)| Entry {
                    key: signal.trim().to_owned(),
                    key_span: span.clone(),
                    value: node(Value::Text(amount.trim().to_owned())),
                };
                value.value = Value::Map(pairs.map(entry).collect());
            }
            ("enforceNodeAllocatable", Value::Text(text)) => {
                let items = text.split(',').map(|item| node(Value::Text(item.trim().to_owned())));
                value.value = Value::List(items.collect());
            }
            ("featureGates", Value::Map(gates)) => {
                for gate in gates {
                    let switch = match &gate.value.value {
                        Value::Text(text) => text.parse().ok(),
                        _ => None,
                    };
                    gate.value.value = switch.map_or_else(|| gate.value.value.clone(), Value::Bool);
                }
            }
            _ => {}
        }
    }
}

/// The lists with the node groups of a cluster of eksctl.
pub(super) fn group_lists(document: &Field<'_>) -> Vec<&'static str> {
    let (kind, version) = names(document);
    if kind != "ClusterConfig" || !version.starts_with("eksctl.io/") {
        return Vec::new();
    }
    let is_list = |key: &&str| matches!(document.node.value.get(key), Some(Node { value: Value::List(items), .. }) if !items.is_empty());
    ["nodeGroups", "managedNodeGroups"].into_iter().filter(is_list).collect()
}

/// The document once for each node group, with that one alone.
pub(super) fn groups(document: &Node, lists: &[&'static str]) -> Vec<(String, Node)> {
    let mut groups = Vec::new();
    for list in lists {
        let Some(Node { value: Value::List(items), .. }) = document.value.get(list) else { continue };
        for item in items {
            let mut alone = document.clone();
            if let Value::Map(entries) = &mut alone.value {
                entries.retain(|entry| entry.key == *list || !lists.contains(&entry.key.as_str()));
                for entry in entries.iter_mut().filter(|entry| entry.key == *list) {
                    entry.value.value = Value::List(vec![item.clone()]);
                }
            }
            let name = item.value.get("name").and_then(|name| match &name.value {
                Value::Text(name) => Some(name.clone()),
                _ => None,
            });
            groups.push((name.unwrap_or_default(), alone));
        }
    }
    groups
}

/// Where forms of AKS have a number of pods beside the fields that are the kubelet's (`AzureManagedMachinePoolClassSpec` in
/// kubernetes-sigs/cluster-api-provider-azure, `AKSNodeClassSpec` in Azure/karpenter-provider-azure, and `AgentPool` of the API of
/// AKS).
const PODS: [(&str, &[&str], &str, &str); 4] = [
    ("AzureManagedMachinePool", &["spec"], "maxPods", "kubeletConfig"),
    ("AzureManagedMachinePoolTemplate", &["spec", "template", "spec"], "maxPods", "kubeletConfig"),
    ("AKSNodeClass", &["spec"], "maxPods", "kubelet"),
    ("ManagedClustersAgentPool", &["spec"], "maxPods", "kubeletConfig"),
];

/// Puts a number of pods that stands beside the kubelet's fields among them, and the fields of kops as the kubelet has them.
pub(super) fn with_pods(source: &Source<'_>, document: &mut Node) {
    rename(source, document);
    let lists = group_lists(&Field::document(source, document));
    for list in lists {
        let Some(Node { value: Value::List(items), .. }) = at_mut(document, &[list]) else { continue };
        for item in items {
            moved(item, "maxPodsPerNode", "kubeletExtraConfig");
        }
    }
    if is_kops(&Field::document(source, document)) {
        for key in KOPS {
            if let Some(fields) = at_mut(document, &["spec", key]) {
                parse_texts(fields);
            }
        }
    }
    pods_of_gke(document);
    let kind = text(document, &["kind"]).unwrap_or_default().to_owned();
    for (_, path, number, into) in PODS.iter().filter(|(of, ..)| *of == kind) {
        if let Some(spec) = at_mut(document, path) {
            moved(spec, number, into);
        }
    }
}

/// Where objects of Config Connector, and node pools as `gcloud` prints them, have a number of pods, and what it is put into
/// (`MaxPodsConstraint` of the GKE API). The kubelet gets it as its own.
const PODS_OF_GKE: [(&str, &[&str], &[&str]); 3] = [
    ("ContainerNodePool", &["spec", "maxPodsPerNode"], GKE),
    ("ContainerCluster", &["spec", "defaultMaxPodsPerNode"], GKE),
    ("", &["maxPodsConstraint", "maxPodsPerNode"], GKE_POOL),
];

/// Whether a document of GKE has a number of pods.
pub(super) fn has_pods_of_gke(document: &Node) -> bool {
    let kind = text(document, &["kind"]).unwrap_or_default();
    PODS_OF_GKE.iter().any(|(own, path, _)| *own == kind && at(document, path).is_some())
}

fn pods_of_gke(document: &mut Node) {
    let kind = text(document, &["kind"]).unwrap_or_default();
    let Some((_, path, into)) = PODS_OF_GKE.iter().find(|(own, ..)| *own == kind) else { return };
    let Some(mut number) = at(document, path).filter(|number| number.value != Value::Null).cloned() else {
        return;
    };
    // The API has numbers of 64 bits as texts.
    if let Value::Text(digits) = &number.value
        && digits.parse::<u32>().is_ok()
    {
        number.value = Value::Number(digits.clone());
    }
    put(document, &[*into, &["maxPods"]].concat(), number);
}

/// Adds the number at `key` as `maxPods` to the mapping `into`.
fn moved(spec: &mut Node, key: &str, into: &str) {
    let Some(number) = spec.value.get(key).filter(|node| node.value != Value::Null).cloned() else { return };
    let Value::Map(entries) = &mut spec.value else { return };
    let span = number.span.clone();
    let entry = Entry { key: "maxPods".to_owned(), key_span: span.clone(), value: number };
    if let Some(Entry { value: Node { value: Value::Map(fields), .. }, .. }) =
        entries.iter_mut().find(|own| own.key == into)
    {
        if !fields.iter().any(|field| field.key == "maxPods") {
            fields.push(entry);
        }
        return;
    }
    entries.retain(|own| own.key != into);
    let value = Node { value: Value::Map(vec![entry]), span: span.clone() };
    entries.push(Entry { key: into.to_owned(), key_span: span, value });
}

pub(super) fn at<'a>(node: &'a Node, path: &[&str]) -> Option<&'a Node> {
    path.iter().try_fold(node, |node, key| node.value.get(key))
}

pub(super) fn text<'a>(node: &'a Node, path: &[&str]) -> Option<&'a str> {
    match &at(node, path)?.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Sets the value at the end of a path of keys, the mappings up to which are there or are made.
pub(super) fn put(node: &mut Node, path: &[&str], value: Node) {
    let Some((key, rest)) = path.split_first() else {
        *node = value;
        return;
    };
    if !matches!(node.value, Value::Map(_)) {
        node.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut node.value else { return };
    let at = entries.iter().rposition(|entry| entry.key == *key).unwrap_or_else(|| {
        let empty = Node { value: Value::Null, span: value.span.clone() };
        entries.push(Entry { key: (*key).to_owned(), key_span: value.span.clone(), value: empty });
        entries.len() - 1
    });
    if let Some(entry) = entries.get_mut(at) {
        put(&mut entry.value, rest, value);
    }
}
