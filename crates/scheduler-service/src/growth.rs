//! How long filters of pods with claims take on many nodes: for `cargo xtask scheduler-growth`.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use cluster_node::SystemClock;
use dra_model::{
    AllocationMode, AllocationResult, Constraint, Device, DeviceClass, DeviceId, DeviceRequest, DeviceResult,
    Metadata, NodeSelection, Pool, RequestedDevices, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate,
    ResourceSlice, Selector,
};
use parking_lot::Mutex;
use pod_claims::ClusterObjects;
use scheduler_extender::topology_admission::Node;
use scheduler_extender::topology_admission::node_config::KubeletConfiguration;
use scheduler_extender::topology_admission::topology_model::{KubeletView, MachineInfo};
use scheduler_extender::{ClaimRule, NodeFacts, NodeState, StateVersion};
use serde_json::{Value, json};

use crate::answers::Answers;
use crate::claim_kinds::Kind;
use crate::claims::DevicePredictions;
use crate::metrics::Metrics;
use crate::outlook::{Asker, Outlook, Patience};

const NUMA: &str = "resource.kubernetes.io/numaNode";
/// Of each kind of device, half of them on either NUMA node.
const DEVICES: usize = 8;
/// On so many nodes claims get devices before a known kind of claims is asked about again.
const CHANGED: usize = 10;

/// How long the filter of a pod takes that claims a GPU and a network card of one NUMA node, on nodes with eight of each.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTimes {
    /// How many nodes.
    pub nodes: usize,
    /// How many of them the pod fits.
    pub fit: usize,
    /// Of a kind of claims that was not asked about before: devices are searched for on every node.
    pub new_kind: Duration,
    /// Of one that was.
    pub known_kind: Duration,
    /// The same after ten nodes have changed.
    pub ten_changed: Duration,
    /// A pod without claims.
    pub without_claims: Duration,
}

/// Measures filters on so many nodes.
///
/// # Errors
/// A filter fails, or the pod fits no node.
pub fn claim_times(nodes: usize) -> anyhow::Result<ClaimTimes> {
    let names: Vec<String> = (0..nodes).map(|at| format!("node-{at}")).collect();
    let answers = answers(&names)?;
    let claiming = |name: &str| pod(name, &json!([{ "name": "d", "resourceClaimTemplateName": "near" }]));
    let (without_claims, _) = filter(&answers, &names, &pod("a", &json!([])))?;
    let (new_kind, fit) = filter(&answers, &names, &claiming("b"))?;
    ensure!(fit == nodes, "the pod fits {fit} of {nodes} nodes");
    let (known_kind, _) = filter(&answers, &names, &claiming("c"))?;
    let holders = names.iter().take(CHANGED).map(|name| holder(name)).collect();
    answers.claims.lock().apply(ClusterObjects { claims: holders, ..ClusterObjects::default() });
    let (ten_changed, _) = filter(&answers, &names, &claiming("d"))?;
    Ok(ClaimTimes { nodes, fit, new_kind, known_kind, ten_changed, without_claims })
}

/// How long the filter of a pod takes, and how many nodes it fits.
fn filter(answers: &Answers, names: &[String], pod: &Value) -> anyhow::Result<(Duration, usize)> {
    let question = json!({ "Pod": pod, "NodeNames": names }).to_string();
    let clock = &answers.outlook.clock;
    let began = clock.now();
    let asked = serde_json::from_str(&question)?;
    let result = answers.filter(asked, Asker::Known).map_err(|why| anyhow!(why))?;
    let took = clock.now().saturating_duration_since(began);
    Ok((took, result.node_names.context("no node is named")?.len()))
}

fn answers(names: &[String]) -> anyhow::Result<Answers> {
    let machine: MachineInfo = "pack:2 [numa(memory=64GiB)] core:16 pu:2".parse()?;
    let text = |text: &str| Some(text.to_owned());
    let config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text("single-numa-node"),
        ..KubeletConfiguration::default()
    };
    let node = Arc::new(Node::start(&KubeletView::new(&machine)?, &config)?);
    let patience = Patience { binding: Duration::ZERO, ..Patience::USUAL };
    let outlook = Arc::new(Outlook::new(Arc::new(SystemClock), patience));
    for name in names {
        let facts = NodeFacts::Exact { node: Arc::clone(&node), ledger: node.empty_ledger() };
        let version = StateVersion { run: 1, change: 1 };
        outlook.update(name, NodeState { version, facts, told: BTreeSet::new() });
    }
    let mut claims = DevicePredictions::default();
    claims.apply(ClusterObjects {
        slices: names.iter().flat_map(|name| ["gpu", "nic"].map(|kind| slice(name, kind))).collect(),
        classes: ["gpu", "nic"].map(class).into(),
        templates: vec![template()],
        ..ClusterObjects::default()
    });
    for kind in Kind::ALL {
        claims.heard(kind);
    }
    Ok(Answers {
        outlook,
        claims: Arc::new(Mutex::new(claims)),
        claim_rule: ClaimRule::Prefer,
        metrics: Arc::new(Metrics::new()),
        threads: NonZeroUsize::MIN,
        within: Duration::from_mins(10),
        best_score: 10,
    })
}

fn slice(node: &str, kind: &str) -> ResourceSlice {
    let devices = (0_i64..).take(DEVICES).map(|at| {
        let mut device = Device::new(&format!("{kind}-{at}"));
        device.attributes.insert(NUMA.into(), (at % 2).into());
        device
    });
    ResourceSlice {
        metadata: Metadata::named(&format!("{node}-{kind}")),
        driver: format!("{kind}.example.com").as_str().into(),
        pool: Pool { name: node.into(), generation: 1, slice_count: 1 },
        nodes: NodeSelection { node_name: Some(node.to_owned()), ..NodeSelection::default() },
        devices: Some(devices.collect()),
        ..ResourceSlice::default()
    }
}

fn class(kind: &str) -> DeviceClass {
    let selectors = vec![Selector::cel(&format!("device.driver == '{kind}.example.com'"))];
    DeviceClass { metadata: Metadata::named(kind), selectors, ..DeviceClass::default() }
}

fn spec() -> ResourceClaimSpec {
    let requests = ["gpu", "nic"].map(|kind| {
        let mode = AllocationMode::ExactCount(1);
        let exactly = Some(RequestedDevices { class: kind.into(), mode, ..RequestedDevices::default() });
        DeviceRequest { name: kind.into(), exactly, ..DeviceRequest::default() }
    });
    let constraint = Constraint { match_attribute: Some(NUMA.into()), ..Constraint::default() };
    ResourceClaimSpec {
        requests: requests.into(),
        constraints: vec![constraint],
        ..ResourceClaimSpec::default()
    }
}

fn template() -> ResourceClaimTemplate {
    let metadata = Metadata { namespace: "default".to_owned(), ..Metadata::named("near") };
    ResourceClaimTemplate { metadata, spec: spec(), ..ResourceClaimTemplate::default() }
}

/// A claim that holds the first GPU of a node.
fn holder(node: &str) -> ResourceClaim {
    let id = DeviceId { driver: "gpu.example.com".into(), pool: node.into(), device: "gpu-0".into() };
    let result = DeviceResult { request: "gpu".into(), device: id, ..DeviceResult::default() };
    let metadata = Metadata { namespace: "default".to_owned(), ..Metadata::named(node) };
    let mut claim = ResourceClaim { metadata, spec: spec(), ..ResourceClaim::default() };
    claim.status.allocation = Some(AllocationResult { results: vec![result], ..AllocationResult::default() });
    claim
}

/// A pod with two CPUs and these claims.
fn pod(name: &str, claims: &Value) -> Value {
    let uses = if *claims == json!([]) { json!([]) } else { json!([{ "name": "d" }]) };
    let resources = json!({ "limits": { "cpu": "2", "memory": "1Gi" }, "claims": uses });
    json!({ "metadata": { "name": name, "namespace": "default", "uid": name },
        "spec": { "resourceClaims": claims,
            "containers": [{ "name": "app", "image": "none", "resources": resources }] } })
}
