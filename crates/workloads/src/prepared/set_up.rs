//! A node as work has it.

use anyhow::{Context as _, bail};
use device_manager::{Device, Inventory};
use node_config::{OwnOptions, Placement, Scope};
use pod_spec::Pod;
use topology_admission::{Ledger, Node, Rules, StartOptions, Verdict};
use topology_manifest::{Source, read_kubelet_config, read_pods};
use topology_model::KubeletView;
use topology_policy::KubeletPolicy;

use crate::work::NodeWork;

/// The node with its residents, and the pod that comes.
pub(super) struct SetUp {
    pub(super) node: Node,
    pub(super) ledger: Ledger,
    pub(super) pod: Pod,
}

impl SetUp {
    pub(super) fn new(work: &NodeWork) -> anyhow::Result<Self> {
        let view = KubeletView::new(&work.machine)?;
        let mut config = work.config.clone();
        config["apiVersion"] = "kubelet.config.k8s.io/v1beta1".into();
        config["kind"] = "KubeletConfiguration".into();
        let config = read_kubelet_config(&Source { name: "config", text: &config.to_string() })?.config;
        let placement = Placement { strategy: work.strategy, ..Placement::default() };
        let options = OwnOptions { placement, ..OwnOptions::default() };
        let node = Node::start_with(&view, &config, StartOptions::default().with_own(options))?;
        let mut inventory = Inventory::new(view.nodes().clone());
        for list in &work.devices {
            let devices = list.devices.iter().map(|device| Device::new(&device.id, &device.numa));
            inventory = inventory.with(list.resource, devices);
        }
        let mut ledger = node.empty_ledger().with_inventory(inventory);
        let unaligned = Rules { policy: KubeletPolicy::None, scope: Scope::Container };
        for resident in &work.residents {
            let attempt = node.admission(&ledger, &the_pod(resident)?).under(unaligned).attempt();
            if let Verdict::Refused(refused) = &attempt.verdict {
                bail!("a resident has no room: {}: {}", refused.reason, refused.message);
            }
            ledger = ledger.commit(attempt)?;
        }
        Ok(Self { node, ledger, pod: the_pod(&work.pod)? })
    }
}

fn the_pod(json: &serde_json::Value) -> anyhow::Result<Pod> {
    let mut pods = read_pods(&Source { name: "pod", text: &json.to_string() })?;
    pods.pop().filter(|pod| !pod.containers.is_empty()).context("a pod without containers")
}
