//! Objects of the API server that say something of a node, and of the pods on it.

use hyper::Request;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use pods_api::KubeletPod;
use serde_json::Value;

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::pods::told;

/// A pod by namespace and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PodName {
    /// Its namespace.
    pub namespace: String,
    /// Its name in it.
    pub name: String,
}

/// A pod, and the node that it is bound to.
#[derive(Clone, PartialEq, Debug)]
pub struct BoundPod {
    /// The pod as a kubelet knows it.
    pub pod: KubeletPod,
    /// The node; `None`: no scheduler has found one yet.
    pub node: Option<String>,
}

impl Cluster {
    /// The namespace of those who name none.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// A pod.
    ///
    /// # Errors
    /// There is none of that name, or the right to get pods is missing.
    pub fn pod(&self, pod: &PodName) -> Result<BoundPod, ClusterError> {
        let all = ApiResource::erase::<Pod>(&());
        let pods = Api::<DynamicObject>::namespaced_with(self.client.clone(), &pod.namespace, &all);
        let found = self.wait(pods.get(&pod.name))?;
        let node = found.data["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()).map(str::to_owned);
        Ok(BoundPod { pod: told(found)?, node })
    }

    /// The pods that are bound to a node.
    ///
    /// # Errors
    /// The right to list pods is missing.
    pub fn pods_on(&self, node: &str) -> Result<Vec<KubeletPod>, ClusterError> {
        let pods = Api::<DynamicObject>::all_with(self.client.clone(), &ApiResource::erase::<Pod>(&()));
        let list = ListParams::default().fields(&format!("spec.nodeName={node}"));
        self.wait(pods.list(&list))?.items.into_iter().map(told).collect()
    }

    /// The scheduler's last message on a pod for which it found no node; `None`: there is none.
    ///
    /// # Errors
    /// The right to list events is missing.
    pub fn why_unscheduled(&self, pod: &PodName) -> Result<Option<String>, ClusterError> {
        let events = Api::<Event>::namespaced(self.client.clone(), &pod.namespace);
        let on = format!("involvedObject.kind=Pod,involvedObject.name={},reason=FailedScheduling", pod.name);
        let listed = self.wait(events.list(&ListParams::default().fields(&on)))?.items;
        let last = listed.into_iter().max_by_key(|event| {
            let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
            let single = event.event_time.as_ref();
            series.or(single).map(|time| time.0).or(event.last_timestamp.as_ref().map(|time| time.0))
        });
        Ok(last.and_then(|event| event.message))
    }

    /// The pods of a namespace by name.
    ///
    /// # Errors
    /// The right to list them is missing.
    pub fn pod_names(&self, namespace: &str) -> Result<Vec<String>, ClusterError> {
        let pods = Api::<Pod>::namespaced(self.client.clone(), namespace);
        let listed = self.wait(pods.list_metadata(&ListParams::default().match_any()))?;
        Ok(listed.items.into_iter().filter_map(|pod| pod.metadata.name).collect())
    }

    /// The nodes by name.
    ///
    /// # Errors
    /// The right to list them is missing.
    pub fn node_names(&self) -> Result<Vec<String>, ClusterError> {
        let nodes = Api::<Node>::all(self.client.clone());
        let listed = self.wait(nodes.list_metadata(&ListParams::default().match_any()))?;
        Ok(listed.items.into_iter().filter_map(|node| node.metadata.name).collect())
    }

    /// A node as its kubelet reports it.
    ///
    /// # Errors
    /// There is none of that name, or the right to get nodes is missing.
    pub fn node(&self, name: &str) -> Result<Node, ClusterError> {
        self.wait(Api::<Node>::all(self.client.clone()).get(name))
    }

    /// The configuration of a node's kubelet, as JSON of its kind `KubeletConfiguration` without `kind`.
    ///
    /// # Errors
    /// The right to get `nodes/proxy` is missing, or the kubelet cannot be reached.
    pub fn kubelet_configuration(&self, node: &str) -> Result<Value, ClusterError> {
        let request = Request::get(format!("/api/v1/nodes/{node}/proxy/configz")).body(Vec::new());
        let request = request.map_err(|error| ClusterError::Agent(error.to_string()))?;
        let mut answered: Value = self.wait(self.client.request(request))?;
        Ok(answered["kubeletconfig"].take())
    }

    /// What schedulers read of a node's NUMA nodes: its whole `NodeResourceTopology` of `topology.node.k8s.io/v1alpha2`.
    ///
    /// # Errors
    /// None is published for the node, or the right to get them is missing.
    pub fn node_resource_topology(&self, node: &str) -> Result<Value, ClusterError> {
        let kind = GroupVersionKind::gvk("topology.node.k8s.io", "v1alpha2", "NodeResourceTopology");
        let all = ApiResource::from_gvk_with_plural(&kind, "noderesourcetopologies");
        let found = self.wait(Api::<DynamicObject>::all_with(self.client.clone(), &all).get(node))?;
        serde_json::to_value(found).map_err(|error| ClusterError::Agent(error.to_string()))
    }
}
