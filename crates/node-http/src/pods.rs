//! Pods as they are listed and described.

use std::collections::BTreeMap;

use admission_report::{ContainerClaim, ContainerReport, Deferred, Report};
use cpuset::CpuSet;
use device_manager::{Access, Moment, Setup};
use node_agent::{DeferredPod, RefusedPod, Snapshot};
use node_input::LoadedNode;
use node_output::{NodeLine, PodGroup, claimed, joined};
use node_state::{Record, Source};
use node_view::{KUBELET, LoggedDecision, Mode, NodeView, clock, sources};
use pod_spec::{Container, ContainerKey, ContainerName, Pod, PodUid};
use schemars::JsonSchema;
use serde::Serialize;
use terminal_text::Page;
use topology_admission::{Deferral, Ledger};

/// All pods, as they are written.
#[derive(Serialize, JsonSchema)]
pub(super) struct Pods<'a> {
    pub(super) node: &'a NodeLine,
    pub(super) pods: Vec<PodView>,
}

/// One pod and the last decision on it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Described<'a> {
    pub(super) node: &'a NodeLine,
    pub(super) pod: PodView,
    /// As it was sent, with what the node has filled in.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub(super) manifest: serde_json::Value,
    /// Absent if none is known since the daemon started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<&'a LoggedDecision>,
}

/// A pod.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Pod")]
#[serde(rename_all = "camelCase")]
pub(super) struct PodView {
    pub(super) namespace: String,
    pub(super) name: String,
    uid: String,
    status: PodState,
    /// Where it comes from; `kubelet` where one owns the node.
    #[schemars(schema_with = "sources")]
    source: &'static str,
    #[schemars(schema_with = "admission_report::schema::qos_class")]
    qos_class: &'static str,
    /// Why it was refused, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why it was refused, or quarantined.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// When it was admitted, as a time in UTC; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    admitted: Option<String>,
    /// For a table.
    #[serde(skip)]
    age: Option<String>,
    containers: Vec<ContainerView>,
}

/// What has become of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) enum PodState {
    /// It runs.
    Admitted,
    /// It does not run.
    Refused,
    /// It has not been decided on.
    Waiting,
    /// It is decided on again when a device plugin is back.
    Deferred,
    /// It runs, and may not have what it was granted.
    Quarantined,
}

impl PodState {
    const fn name(self) -> &'static str {
        match self {
            Self::Admitted => "Admitted",
            Self::Refused => "Refused",
            Self::Waiting => "Waiting",
            Self::Deferred => "Deferred",
            Self::Quarantined => "Quarantined",
        }
    }
}

/// A container and what it holds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PodContainer")]
#[serde(rename_all = "camelCase")]
struct ContainerView {
    #[serde(flatten)]
    held: ContainerReport,
    /// How it is to be set up for its devices, as their plugins want it.
    #[serde(skip_serializing_if = "Option::is_none")]
    setup: Option<SetupView>,
    /// Ids in the runtime under which it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    running: Vec<String>,
}

/// What device plugins want of a container.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContainerSetup")]
#[serde(rename_all = "camelCase")]
struct SetupView {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    envs: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mounts: Vec<MountView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    device_nodes: Vec<DeviceNodeView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cdi_devices: Vec<String>,
}

/// A folder or file of the host in a container.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Mount")]
#[serde(rename_all = "camelCase")]
struct MountView {
    container_path: String,
    host_path: String,
    read_only: bool,
}

/// A device of the host in a container.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeviceNode")]
#[serde(rename_all = "camelCase")]
struct DeviceNodeView {
    container_path: String,
    host_path: String,
    permissions: String,
}

impl SetupView {
    /// `None` if no plugin wants anything. An answer that cannot be read says nothing.
    fn new(ledger: &Ledger, pod: &PodUid, container: &ContainerName) -> Option<Self> {
        let replies = ledger.devices().of_container(pod, container);
        let each: Vec<Setup> =
            replies.filter_map(|(_, held)| device_plugin::container_setup(&held.reply).ok()).collect();
        let all = Setup::merged(&each);
        let Setup { envs, annotations, mounts, devices, cdi_devices } = all.clone();
        let mounts = mounts.into_iter().map(|mount| MountView {
            container_path: mount.container_path,
            host_path: mount.host_path,
            read_only: mount.access == Access::ReadOnly,
        });
        let device_nodes = devices.into_iter().map(|node| DeviceNodeView {
            container_path: node.container_path,
            host_path: node.host_path,
            permissions: node.permissions,
        });
        (all != Setup::default()).then(|| Self {
            envs,
            annotations,
            mounts: mounts.collect(),
            device_nodes: device_nodes.collect(),
            cdi_devices,
        })
    }
}

/// Every pod, by namespace and name.
pub(super) fn all(view: &NodeView, snapshot: &Snapshot) -> Vec<PodView> {
    let node = view.node();
    let admitted = snapshot.pods.values().map(|record| PodView::admitted(view, &snapshot.ledger, record));
    let refused = snapshot.refused.values().map(|refused| PodView::refused(node, refused));
    let waiting =
        snapshot.waiting.iter().map(|pod| PodView::new(node, pod, PodState::Waiting, &Source::Request));
    let deferred = snapshot.deferred.iter().map(|deferred| PodView::deferred(node, deferred, snapshot.at));
    let mut pods: Vec<PodView> = admitted.chain(refused).chain(waiting).chain(deferred).collect();
    if view.mode() == Mode::Observe {
        for pod in &mut pods {
            pod.source = KUBELET;
        }
    }
    pods.sort_by(|one, two| (&one.namespace, &one.name).cmp(&(&two.namespace, &two.name)));
    pods
}

impl PodView {
    fn new(node: &LoadedNode, pod: &Pod, status: PodState, source: &Source) -> Self {
        Self {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.to_string(),
            status,
            source: source.name(),
            qos_class: pod.qos_class(node.node.pod_rules()).name(),
            reason: None,
            message: None,
            admitted: None,
            age: None,
            containers: Vec::new(),
        }
    }

    fn admitted(view: &NodeView, ledger: &Ledger, record: &Record) -> Self {
        let (node, pod) = (view.node(), &record.pod);
        let containers = pod.containers.iter().map(|container| {
            let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
            ContainerView::new(node, ledger, record, container).claiming(view.claims.of(&key))
        });
        let status = if record.quarantine.is_some() { PodState::Quarantined } else { PodState::Admitted };
        Self {
            containers: containers.collect(),
            message: record.quarantine.clone(),
            admitted: record.admitted.map(clock::text),
            age: record.admitted.map(|admitted| view.clock.age(admitted)),
            ..Self::new(node, pod, status, &record.source)
        }
    }

    fn deferred(node: &LoadedNode, deferred: &DeferredPod, now: Moment) -> Self {
        let waits = Deferred::new(&deferred.deferral, now);
        Self {
            reason: Some(Deferral::REASON.to_owned()),
            message: Some(waits.to_string()),
            ..Self::new(node, &deferred.pod, PodState::Deferred, &deferred.source)
        }
    }

    fn refused(node: &LoadedNode, refused: &RefusedPod) -> Self {
        Self {
            reason: Some(refused.reason.to_string()),
            message: Some(refused.message.clone()),
            ..Self::new(node, &refused.pod, PodState::Refused, &refused.source)
        }
    }
}

impl ContainerView {
    fn new(node: &LoadedNode, ledger: &Ledger, record: &Record, container: &Container) -> Self {
        let uid = &record.pod.uid;
        let running = record.running.iter().filter(|(_, running)| running.container == container.name);
        Self {
            held: ContainerReport::held(&node.node, ledger, uid, container),
            setup: SetupView::new(ledger, uid, &container.name),
            running: running.map(|(id, _)| id.to_string()).collect(),
        }
    }

    /// The same with the claims that it uses.
    fn claiming(mut self, claimed: Vec<ContainerClaim>) -> Self {
        self.held.claimed = claimed;
        self
    }
}

/// How much a table says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Columns {
    /// A line for each pod.
    Usual,
    /// The UID too, and the CPUs, memory and devices of each container by name.
    Wide,
}

impl PodView {
    /// Whether a word means it: its name, namespace and name, or UID.
    pub(super) fn is_called(&self, word: &str) -> bool {
        match word.split_once('/') {
            Some((namespace, name)) => self.namespace == namespace && self.name == name,
            None => self.name == word || self.uid == word,
        }
    }

    /// What its containers hold, by name.
    fn held_in_words(&self) -> String {
        let each = self.containers.iter().map(|container| &container.held);
        joined(each.filter_map(|held| Some(format!("{}: {}", held.name, held.holdings()?))))
    }
}

/// The pods as kubectl lists them, one line for each.
pub(super) fn table(pods: &Pods<'_>, columns: Columns, page: Page) -> String {
    if pods.pods.is_empty() {
        return "no pods\n".to_owned();
    }
    let mut head =
        ["NAMESPACE", "NAME", "STATUS", "QOS", "CPUS", "NUMA", "DEVICES", "SOURCE", "AGE"].to_vec();
    if columns == Columns::Wide {
        head.extend(["UID", "HOLDS"]);
    }
    let rows = pods.pods.iter().map(|pod| {
        let held = || pod.containers.iter().map(|container| &container.held);
        let own = held().filter_map(|held| held.exclusive_cpus.as_ref());
        // Init containers hand theirs on.
        let own = own.fold(CpuSet::new(), |sum, cpus| &sum | cpus);
        let cpus = match (pod.status, own.is_empty()) {
            (PodState::Admitted | PodState::Quarantined, true) => "shared".to_owned(),
            (_, true) => "-".to_owned(),
            (_, false) => own.to_string(),
        };
        let blocks = held().flat_map(|held| &held.memory);
        let mut nodes: Vec<String> = blocks.map(|block| block.nodes.to_string()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let devices: usize = held().flat_map(|held| &held.devices).map(|devices| devices.ids.len()).sum();
        let mut row = vec![
            pod.namespace.clone(),
            pod.name.clone(),
            pod.reason.clone().unwrap_or_else(|| pod.status.name().to_owned()),
            pod.qos_class.to_owned(),
            cpus,
            if nodes.is_empty() { "-".to_owned() } else { nodes.join(" ") },
            if devices == 0 { "-".to_owned() } else { devices.to_string() },
            pod.source.to_owned(),
            pod.age.clone().unwrap_or_else(|| "-".to_owned()),
        ];
        if columns == Columns::Wide {
            row.extend([pod.uid.clone(), pod.held_in_words()]);
        }
        row
    });
    let head = head.into_iter().map(str::to_owned).collect();
    page.table(std::iter::once(head).chain(rows), 2, "")
}

/// Everything about one pod.
pub(super) fn description(described: &Described<'_>, page: Page) -> String {
    let PodView {
        namespace,
        name,
        uid,
        status,
        source,
        qos_class,
        reason,
        message,
        admitted,
        containers,
        ..
    } = &described.pod;
    let mut rows = vec![
        ["Name", name],
        ["Namespace", namespace],
        ["UID", uid],
        ["Node", &described.node.machine],
        ["Source", source],
        ["QoS class", qos_class],
        ["Status", status.name()],
    ];
    if let Some(reason) = reason {
        rows.push(["Reason", reason]);
    }
    if let Some(message) = message {
        rows.push(["Message", message]);
    }
    let time = described.decision.map_or_else(|| "-".to_owned(), |logged| logged.time.clone());
    rows.push(["Decided", &time]);
    if let Some(admitted) = admitted {
        rows.push(["Admitted", admitted]);
    }
    let mut text =
        page.columns(rows.iter().map(|[head, value]| vec![format!("{head}:"), (*value).to_owned()]), "");
    if !containers.is_empty() {
        let head = ["CONTAINER", "ROLE", "CPUS", "MEMORY", "DEVICES", "RUNNING"];
        let rows = containers.iter().map(|ContainerView { held, running, .. }| {
            vec![
                held.name.to_string(),
                held.role.name().to_owned(),
                held.exclusive_cpus.as_ref().map_or_else(|| "shared".to_owned(), CpuSet::to_string),
                joined(held.memory.iter().map(ToString::to_string)),
                joined(held.devices.iter().map(ToString::to_string).chain(held.claimed.iter().map(claimed))),
                joined(running.iter().cloned()),
            ]
        });
        text.push('\n');
        text.push_str(&page.columns(std::iter::once(head.map(str::to_owned).to_vec()).chain(rows), ""));
    }
    if let Some(logged) = described.decision {
        let text_of_decision = node_output::decision(
            &PodGroup::from(Report::clone(&logged.report)),
            Some(&described.node.line(page)),
            page,
        );
        text.push('\n');
        text.push_str(&text_of_decision);
    }
    text
}
