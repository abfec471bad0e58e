//! What an API server tells of a node: its Node object, its `NodeResourceTopology`, the configuration of its kubelet and
//! the pods that are bound to it. Each may be missing; what may be wrong for want of it is said.

use admission_report::UndecidedClaims;
use anyhow::anyhow;
use node_config::Rules;
use node_daemon::cluster_node::pods_api::KubeletPod;
use node_daemon::cluster_node::{Cluster, ClusterError};
use node_resource_topology::{NodeResourceTopology, PublishedPolicies, WholeNode, ZoneAmounts};
use pod_spec::{Pod, PodLevelResources, PodRules, QosClass, ResourceList, ResourceName};
use serde_json::{Value, json};
use topology_admission::Identity;
use topology_manifest::{NodeObject, Source, read_kubelet_config_of, read_node, read_pods_with};

use super::agent::NoAnswer;

/// A node as far as it could be seen.
pub(super) struct Seen {
    /// Its name.
    pub(super) name: String,
    /// What pods demand of it besides resources; `None`: not known.
    pub(super) identity: Option<Identity>,
    /// By what its kubelet decides.
    pub(super) policies: PublishedPolicies,
    /// What each NUMA node has; `None`: not known.
    pub(super) zones: Option<ZoneAmounts>,
    /// The pods that are bound to it; `None`: not known.
    pub(super) pods: Option<Vec<Pod>>,
    /// Those that the kubelet refused, with its reason.
    pub(super) refused: Vec<(String, String)>,
    /// What its kubelet offers to pods; `None`: not known.
    allocatable: Option<ResourceList>,
    /// What was not seen, and what may be wrong for want of it.
    pub(super) gaps: Vec<String>,
    /// What the Node object says is wrong.
    pub(super) problems: Vec<String>,
}

/// What a kubelet was asked to run.
pub(super) fn read_pod(told: &KubeletPod) -> anyhow::Result<Pod> {
    let text = told.to_json()?;
    let read = Source::from_bytes("the pod", text.as_bytes())
        .and_then(|text| read_pods_with(&text, PodRules::default()))
        .map_err(|error| anyhow!("{error}"))?;
    read.into_iter().next().ok_or_else(|| anyhow!("it is empty"))
}

/// Whether a kubelet has admitted the pod: what it holds is not among what is left.
pub(super) fn was_admitted(told: &KubeletPod) -> bool {
    told.has_container_statuses() && told.rejection().is_none()
}

impl Seen {
    /// Looks at all of it. `why` no agent answers is the first thing that was not seen.
    pub(super) fn look(cluster: &Cluster, name: &str, why: &NoAnswer) -> anyhow::Result<Self> {
        let mut seen = Self {
            name: name.to_owned(),
            identity: None,
            policies: PublishedPolicies::default(),
            zones: None,
            pods: None,
            refused: Vec::new(),
            allocatable: None,
            gaps: vec![format!("{}; so which CPUs, memory and devices each pod holds is not known", why.0)],
            problems: Vec::new(),
        };
        match cluster.node(name) {
            Ok(node) => seen.of_node(&serde_json::to_value(node)?),
            // Without an API server there is nothing to be said at all.
            Err(error @ (ClusterError::Unreachable { .. } | ClusterError::Unauthorized { .. })) => {
                return Err(error.into());
            }
            Err(error) => seen.lacks(
                "the Node object",
                &error,
                "its labels and taints, and what the node as a whole has, are not looked at",
            ),
        }
        match cluster.pods_on(name) {
            Ok(pods) => seen.of_pods(&pods),
            Err(error) => {
                seen.lacks("the pods of the node", &error, "what they request is not known");
            }
        }
        let published = seen.of_topology(cluster);
        seen.of_configuration(cluster, published);
        Ok(seen)
    }

    fn lacks(&mut self, what: &str, error: &dyn std::fmt::Display, so: &str) {
        self.gaps.push(format!("{what}: {error}; so {so}"));
    }

    /// Labels, taints, amounts and conditions.
    fn of_node(&mut self, node: &Value) {
        let text = node.to_string();
        let read = Source::from_bytes("the Node object", text.as_bytes()).and_then(|text| read_node(&text));
        match read {
            Ok(NodeObject { name, labels, taints, .. }) => {
                self.identity = Some(Identity { name, labels, taints });
            }
            Err(error) => {
                self.lacks("the Node object", &error, "its labels and taints are not looked at");
            }
        }
        let status = &node["status"];
        let amounts = status["allocatable"].as_object().into_iter().flatten();
        let amounts: ResourceList = amounts
            .filter_map(|(name, amount)| Some((ResourceName::new(name), amount.as_str()?.parse().ok()?)))
            .collect();
        if amounts.is_empty() {
            let none = "it lists nothing that pods may request";
            self.lacks("the Node object", &none, "what the node as a whole has is not known");
        } else {
            self.allocatable = Some(amounts);
        }
        for condition in status["conditions"].as_array().into_iter().flatten() {
            let field = |name: &str| condition[name].as_str().unwrap_or_default();
            let is_good = if field("type") == "Ready" { "True" } else { "False" };
            if field("status") != is_good {
                let (kind, status) = (field("type"), field("status"));
                self.problems.push(format!("condition {kind} is {status}: {}", field("message")));
            }
        }
    }

    fn of_pods(&mut self, told: &[KubeletPod]) {
        let mut pods = Vec::new();
        for one in told {
            let name = format!("{}/{}", one.namespace(), one.name());
            if one.rejection().is_some() {
                self.refused.push((name.clone(), one.reason().to_owned()));
            }
            match read_pod(one) {
                Ok(pod) => pods.push(pod),
                Err(error) => self.lacks(&format!("pod {name}"), &error, "what it requests is not counted"),
            }
        }
        self.pods = Some(pods);
    }

    /// What NUMA nodes have, and the policies that are published beside it.
    fn of_topology(&mut self, cluster: &Cluster) -> PublishedPolicies {
        let so = "what is free on each NUMA node is not known";
        let object = match cluster.node_resource_topology(&self.name) {
            Ok(object) => object,
            Err(ClusterError::NotFound(_)) => {
                let none = format!("nobody publishes one for {}", self.name);
                self.lacks("the NodeResourceTopology", &none, so);
                return PublishedPolicies::default();
            }
            Err(error) => {
                self.lacks("the NodeResourceTopology", &error, so);
                return PublishedPolicies::default();
            }
        };
        let object: NodeResourceTopology = match serde_json::from_value(object) {
            Ok(object) => object,
            Err(error) => {
                self.lacks("the NodeResourceTopology", &error, so);
                return PublishedPolicies::default();
            }
        };
        match object.amounts() {
            Ok(zones) => {
                self.zones = Some(zones);
                self.gaps.push(
                    "which CPUs are free, which devices are near several NUMA nodes, and what has changed since its \
                     exporter wrote the NodeResourceTopology; so whole cores, sockets, caches and groups of memory are \
                     not looked at, and the amounts may be out of date"
                        .to_owned(),
                );
            }
            Err(error) => self.lacks("the NodeResourceTopology", &error, so),
        }
        object.policies()
    }

    /// The kubelet's own word on its policies, else what is published.
    fn of_configuration(&mut self, cluster: &Cluster, published: PublishedPolicies) {
        let read = cluster.kubelet_configuration(&self.name).map_err(|error| error.to_string());
        let read = read.and_then(|config| {
            // As a kubelet's /configz has it.
            let text = json!({ "kubeletconfig": config }).to_string();
            Source::from_bytes("configz", text.as_bytes())
                .and_then(|text| read_kubelet_config_of(&text, Rules::default()))
                .map_err(|error| error.to_string())
        });
        match read {
            Ok(read) => self.policies = PublishedPolicies::from(&read.config),
            Err(error) => {
                self.policies = published;
                let unknown = if published == PublishedPolicies::default() {
                    "its policies are not known"
                } else {
                    "its policies are those of the NodeResourceTopology, and their options are not looked at"
                };
                self.lacks("the kubelet's configuration", &error, unknown);
            }
        }
    }

    /// What is not looked at of this pod.
    pub(super) fn of_pod(&mut self, told: &KubeletPod, pod: &Pod) {
        let mut add = |text: &str| self.gaps.push(text.to_owned());
        let is_guaranteed = pod.qos_class(PodLevelResources::Count) == QosClass::Guaranteed;
        if is_guaranteed && (self.policies.cpus.is_none() || self.policies.memory.is_none()) {
            add(
                "whether the kubelet gives containers CPUs and memory of their own; so both are compared as if it did",
            );
        }
        if self.policies.scope.is_none() {
            add("the scope of the kubelet's policy; so containers are compared one by one");
        } else if pod.containers.len() > 1 && self.policies.scope == Some(node_config::Scope::Container) {
            add(
                "what containers of the pod take from each other; so each is compared with all that is available",
            );
        }
        if pod.has_pod_level_resources() {
            add("resources of the pod as a whole by NUMA node; so those of its containers are compared");
        }
        if let Some(claims) = UndecidedClaims::of(pod) {
            add(&format!(
                "its claims of devices ({}); so nothing is said of them",
                claims.names().join(", ")
            ));
        }
        if was_admitted(told) {
            add("what the pod itself holds; so nothing is compared, since the kubelet has admitted it");
        }
    }

    /// What the node as a whole has, and those of its pods request that count; `None`: not known.
    pub(super) fn whole(&self, counts: impl Fn(&Pod) -> bool) -> Option<WholeNode> {
        let pods = self.pods.as_ref()?.iter().filter(|pod| counts(pod));
        Some(WholeNode::new(self.allocatable.clone()?, pods))
    }

    /// What a pod requests of what a kubelet allocates by NUMA node, for people.
    pub(super) fn aligned(&self, pod: &Pod) -> Vec<String> {
        let asked = self.policies.aligned(pod);
        let shown = asked.into_iter().map(|(resource, amount)| {
            let amount = resource.amount(u64::try_from(amount.value()).unwrap_or(u64::MAX));
            format!("{amount} {resource}")
        });
        shown.collect()
    }
}
