//! A node in question, and its start by the rules of a release.

use cpu_manager::Holdings as CpuHoldings;
use device_manager::{Inventory, Moment};
use kubelet_checkpoint::Forms;
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::memory::MemoryFile;
use kubelet_checkpoint::store::StateFile;
use kubelet_release::Rules;
use node_config::{KubeletConfiguration, NodeCountCheck, OwnOptions};
use node_state::{Start, StateFolder, files};
use pod_spec::{Pod, PodRules, Role};
use serde::Serialize;
use topology_admission::{Compat, Identity, Ledger, Node, RunningPods, SourcesReady, StartOptions, Verdict};
use topology_model::KubeletView;

use crate::pod::{Outcome, PodHoldings, PodVerdict};

/// What is upgraded.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The machine.
    pub view: &'a KubeletView,
    /// What a kubelet with these rules reads of its configuration file.
    pub config: &'a dyn Fn(Rules) -> KubeletConfiguration,
    /// What of its flags keeps a kubelet with these rules from starting, in its words; `None`: nothing.
    pub refused_flag: &'a dyn Fn(Rules) -> Option<String>,
    /// Options of this project's own.
    pub options: &'a OwnOptions,
    /// What the node is called; `None`: no pod is refused for it.
    pub identity: Option<&'a Identity>,
    /// Devices, all healthy and registered before pods are attempted.
    pub inventory: &'a Inventory,
    /// The state files; `None`: the node is drained, or has none.
    pub folder: Option<&'a StateFolder>,
    /// Pods that run there, in the order in which they are attempted, as an API server has them.
    pub residents: &'a [Pod],
    /// Pods that are created after the upgrade, after the residents, without what is filled in at pod level.
    pub arrivals: &'a [Pod],
}

/// How the node comes up by the new release.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Way {
    /// A restart: the state files say what containers hold, and running pods are admitted again beside them.
    Restart,
    /// Without state files, as after a drain: every pod is placed anew.
    PlacedAnew,
}

/// A node that has started, and what became of its pods.
pub(crate) struct Started {
    pub(crate) node: Node,
    pub(crate) ledger: Ledger,
    pub(crate) pods: Vec<PodVerdict>,
}

impl Subject<'_> {
    pub(crate) const fn way(&self) -> Way {
        if self.folder.is_some() { Way::Restart } else { Way::PlacedAnew }
    }

    /// Everything that keeps a kubelet with these rules from starting with the configuration, in its words.
    pub(crate) fn faults(&self, rules: Rules) -> Vec<String> {
        // Flags are read before anything is checked.
        if let Some(text) = (self.refused_flag)(rules) {
            return vec![text];
        }
        let config = (self.config)(rules);
        let invalid = config.validate();
        // Gates are set before anything is checked.
        if config.gates().is_ok() && !invalid.is_empty() {
            return invalid.iter().map(ToString::to_string).collect();
        }
        match self.node(rules) {
            Ok(_) => Vec::new(),
            Err(error) => error.faults().iter().map(ToString::to_string).collect(),
        }
    }

    fn node(&self, rules: Rules) -> Result<Node, topology_admission::StartError> {
        // As the kubelet, but for its limit on nodes, which no release has otherwise.
        let compat = Compat { node_limit: NodeCountCheck::default(), ..Compat::KUBELET };
        let config = KubeletConfiguration { rules, ..(self.config)(rules) };
        let node = Node::start_with(
            self.view,
            &config,
            StartOptions::decided_as(compat).with_own(self.options.clone()),
        )?;
        Ok(match self.identity {
            Some(identity) => node.with_identity(identity.clone()),
            None => node,
        })
    }

    /// The node by these rules after a start, with every pod attempted.
    ///
    /// # Errors
    /// Why it does not start, in the kubelet's words.
    pub(crate) fn start(&self, rules: Rules) -> Result<Started, String> {
        if let Some(fault) = self.faults(rules).into_iter().next() {
            return Err(fault);
        }
        let node = self.node(rules).map_err(|error| error.to_string())?;
        let mut ledger = self.restored(&node)?;
        let mut pods = Vec::new();
        for pod in self.residents {
            // What an API server has filled in stays with the pod; a new one is made after a drain.
            let pod = match self.way() {
                Way::Restart => pod.clone(),
                Way::PlacedAnew => created(pod, node.pod_rules()),
            };
            let verdict;
            (ledger, verdict) = attempt(&node, ledger, &pod);
            pods.push(verdict);
        }
        ledger = ledger.with_sources(SourcesReady::Yes);
        for pod in self.arrivals {
            let verdict;
            (ledger, verdict) = attempt(&node, ledger, &created(pod, node.pod_rules()));
            pods.push(verdict);
        }
        Ok(Started { node, ledger, pods })
    }

    fn restored(&self, node: &Node) -> Result<Ledger, String> {
        let Some(folder) = self.folder else {
            return Ok(node.empty_ledger().with_inventory(self.inventory.clone()));
        };
        let forms = files::forms(node);
        let mut start = Start::default();
        start.stored.cpus = folder.cpu.as_deref().map(|file| cpus(file, forms, node)).transpose()?.flatten();
        start.stored.memory =
            folder.memory.as_deref().map(|file| memory(file, forms, node)).transpose()?.flatten();
        if let Some(read) = folder.device.as_deref().map(DeviceFile::read).filter(|read| read.fault.is_none())
        {
            start.stored.devices = files::devices(&read.state);
        }
        let stays = |pod: &Pod| {
            let containers = pod.containers.iter().filter(|container| container.role != Role::Init);
            containers.map(|container| pod.key(container)).collect::<Vec<_>>()
        };
        let running = self.residents.iter().flat_map(stays).collect();
        let pods = RunningPods { admitted: Vec::new(), running, sources: SourcesReady::No };
        start
            .ledger_with(node, pods, self.inventory.clone(), Moment::default())
            .map_err(|error| error.to_string())
    }
}

/// What a kubelet's CPU manager takes of a file; `None`: it is off.
pub(crate) fn cpus(file: &[u8], forms: Forms, node: &Node) -> Result<Option<CpuHoldings>, String> {
    let state = CpuFile::read(file, forms, &ContainerIds::new())
        .and_then(|read| read.restore(files::cpu_policy(node)))
        .map_err(|error| format!("start cpu manager error: {}", error.refused(&path(StateFile::Cpu))))?;
    Ok(node.cpus().map(|_| files::cpus(&state)))
}

/// The same of the memory manager.
pub(crate) fn memory(
    file: &[u8],
    forms: Forms,
    node: &Node,
) -> Result<Option<topology_admission::memory_manager::Stored>, String> {
    let refused = |error: kubelet_checkpoint::memory::MemoryError| {
        format!("start memory manager error: {}", error.refused(&path(StateFile::Memory)))
    };
    let read = MemoryFile::read(file, forms).map_err(|error| refused(error.into()))?;
    let state = read.restore(files::memory_policy(node)).map_err(refused)?;
    let stored = node.memory().map(|_| files::memory(state)).transpose();
    stored.map_err(|error| format!("start memory manager error: {error}"))
}

fn path(file: StateFile) -> String {
    format!("/var/lib/kubelet/{}", file.path())
}

/// The pod as it is after it has been created again.
fn created(pod: &Pod, rules: PodRules) -> Pod {
    pod.clone().with_defaults(rules).delivered()
}

fn attempt(node: &Node, ledger: Ledger, pod: &Pod) -> (Ledger, PodVerdict) {
    let attempt = node.admission(&ledger, pod).attempt();
    let verdict = attempt.verdict.clone();
    let after = ledger.commit(attempt).unwrap_or(ledger);
    let outcome = match verdict {
        Verdict::Admitted(_) => Outcome::Admitted(PodHoldings::new(node, &after, pod)),
        Verdict::Refused(refused) => {
            Outcome::Refused { reason: refused.reason.to_string(), message: refused.message }
        }
        Verdict::NeedsPlugin(question) => Outcome::NeedsPlugin { resource: question.resource().to_string() },
    };
    (after, PodVerdict { qos_class: pod.qos_class(node.pod_rules()), outcome })
}
