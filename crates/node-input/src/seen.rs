//! A node as an API server has it: its Node object, its `NodeResourceTopology`, the configuration of its kubelet and the
//! pods that are bound to it. Each may be missing; then it is listed what may be wrong for want of it.

use std::fmt::Display;

use admission_report::UndecidedClaims;
use node_config::Rules;
use node_resource_topology::{NodeResourceTopology, PublishedPolicies, WholeNode, ZoneAmounts};
use pod_spec::{Pod, PodLevelResources, PodRules, QosClass, ResourceList, ResourceName};
use pods_api::KubeletPod;
use serde_json::{Value, json};
use topology_admission::Identity;
use topology_manifest::{NodeObject, Source, read_kubelet_config_of, read_node, read_pods_with};

/// A node as far as it could be seen.
#[derive(Debug)]
pub struct SeenNode {
    /// Its name.
    pub name: String,
    /// What pods demand of it besides resources; `None`: not known.
    pub identity: Option<Identity>,
    /// By what its kubelet decides.
    pub policies: PublishedPolicies,
    /// What each NUMA node has; `None`: not known.
    pub zones: Option<ZoneAmounts>,
    /// The pods that are bound to it; `None`: not known.
    pub pods: Option<Vec<Pod>>,
    /// Those that the kubelet refused, with its reason.
    pub refused: Vec<(String, String)>,
    /// What its kubelet offers to pods; `None`: not known.
    allocatable: Option<ResourceList>,
    /// What was not seen, and what may be wrong for want of it.
    pub gaps: Vec<String>,
    /// What the Node object says is wrong.
    pub problems: Vec<String>,
}

/// What a pod requests, with what became of it.
fn read_pod(object: &KubeletPod) -> Result<Pod, String> {
    let text = object.to_json().map_err(|error| error.to_string())?;
    let read = Source::from_bytes("the pod", text.as_bytes())
        .and_then(|text| read_pods_with(&text, PodRules::default()))
        .map_err(|error| error.to_string())?;
    read.into_iter().next().ok_or_else(|| "it is empty".to_owned())
}

/// Whether a kubelet has admitted the pod: what it holds is not among what is left.
#[must_use]
pub fn was_admitted(pod: &KubeletPod) -> bool {
    pod.has_container_statuses() && pod.rejection().is_none()
}

impl SeenNode {
    /// Nothing has been seen. `why` its agent does not answer is the first thing that is listed.
    #[must_use]
    pub fn new(name: &str, why: &str) -> Self {
        Self {
            name: name.to_owned(),
            identity: None,
            policies: PublishedPolicies::default(),
            zones: None,
            pods: None,
            refused: Vec::new(),
            allocatable: None,
            gaps: vec![format!("{why}; so which CPUs, memory and devices each pod holds is not known")],
            problems: Vec::new(),
        }
    }

    fn lacks(&mut self, what: &str, error: &dyn Display, so: &str) {
        self.gaps.push(format!("{what}: {error}; so {so}"));
    }

    /// Its Node object: labels, taints, amounts and conditions; an error: why it is not known.
    pub fn object(&mut self, node: Result<&Value, &dyn Display>) {
        let node = match node {
            Ok(node) => node,
            Err(error) => {
                return self.lacks(
                    "the Node object",
                    error,
                    "its labels and taints, and what the node as a whole has, are not looked at",
                );
            }
        };
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

    /// The pods that are bound to it.
    pub fn bound(&mut self, objects: Result<&[KubeletPod], &dyn Display>) {
        let objects = match objects {
            Ok(objects) => objects,
            Err(error) => {
                return self.lacks("the pods of the node", error, "what they request is not known");
            }
        };
        let mut pods = Vec::new();
        for one in objects {
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

    /// What NUMA nodes have, and the policies that are published beside it; `Ok(None)`: no program publishes it.
    pub fn published(&mut self, object: Result<Option<Value>, &dyn Display>) {
        let lacks = |seen: &mut Self, error: &dyn Display| {
            seen.lacks("the NodeResourceTopology", error, "what is free on each NUMA node is not known");
        };
        let object = match object {
            Ok(Some(object)) => object,
            Ok(None) => {
                let none = format!("no exporter has published one for {}", self.name);
                return lacks(self, &none);
            }
            Err(error) => return lacks(self, error),
        };
        let object: NodeResourceTopology = match serde_json::from_value(object) {
            Ok(object) => object,
            Err(error) => return lacks(self, &error),
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
            Err(error) => lacks(self, &error),
        }
        self.policies = object.policies();
    }

    /// The kubelet's own word on its policies, which replaces what is [published](Self::published).
    pub fn configuration(&mut self, config: Result<Value, String>) {
        let read = config.and_then(|config| {
            // As a kubelet's /configz has it.
            let text = json!({ "kubeletconfig": config }).to_string();
            Source::from_bytes("configz", text.as_bytes())
                .and_then(|text| read_kubelet_config_of(&text, Rules::default()))
                .map_err(|error| error.to_string())
        });
        match read {
            Ok(read) => self.policies = PublishedPolicies::from(&read.config),
            Err(error) => {
                let unknown = if self.policies == PublishedPolicies::default() {
                    "its policies are not known"
                } else {
                    "its policies are those of the NodeResourceTopology, and their options are not looked at"
                };
                self.lacks("the kubelet's configuration", &error, unknown);
            }
        }
    }

    /// What is not looked at of this pod.
    pub fn asked(&mut self, object: &KubeletPod, pod: &Pod) {
        let mut add = |text: &str| self.gaps.push(text.to_owned());
        let is_guaranteed = pod.qos_class(PodLevelResources::Count) == QosClass::Guaranteed;
        if is_guaranteed && (self.policies.cpus.is_none() || self.policies.memory.is_none()) {
            add("whether the kubelet pins CPUs and memory; so both are compared as if it did");
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
            add(&format!("its claims of devices ({}); so they are not compared", claims.names().join(", ")));
        }
        if was_admitted(object) {
            add("what the pod itself holds; so nothing is compared, since the kubelet has admitted it");
        }
    }

    /// What the node as a whole has, and those of its pods request that count; `None`: not known.
    #[must_use]
    pub fn whole(&self, counts: impl Fn(&Pod) -> bool) -> Option<WholeNode> {
        let pods = self.pods.as_ref()?.iter().filter(|pod| counts(pod));
        Some(WholeNode::new(self.allocatable.clone()?, pods))
    }

    /// What a pod requests of what a kubelet allocates by NUMA node, for people.
    #[must_use]
    pub fn aligned(&self, pod: &Pod) -> Vec<String> {
        let asked = self.policies.aligned(pod);
        let shown = asked.into_iter().map(|(resource, amount)| {
            let amount = resource.amount(u64::try_from(amount.value()).unwrap_or(u64::MAX));
            format!("{amount} {resource}")
        });
        shown.collect()
    }
}
