//! Ordinary pods, tried on an empty node: which of them a configuration admits, and which it refuses although the node has
//! room.
//!
//! An ordinary pod is Guaranteed, has one container, and asks for 1 to 8 CPUs and for 1Gi of memory, or for an eighth of
//! the machine's memory where that is less.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use node_config::KubeletConfiguration;
use topology_admission::{Compat, Node, Verdict};
use topology_model::KubeletView;

use crate::DecidedBy;
use crate::full_node::full_node;
use crate::given_out::cores_differ;
use crate::note::{Note, StartProblem};
use crate::ordinary_pod::{memory_of_pod, pod};

/// Numbers of CPUs that an ordinary pod asks for.
const CPUS: core::ops::RangeInclusive<u8> = 1..=8;

/// Ordinary pods that the node has room for in sum and refuses, as their numbers of CPUs by reason.
pub(crate) type Refused = BTreeMap<String, Vec<u8>>;

/// What became of ordinary pods on an empty node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// How many CPUs the admitted pods ask for.
    pub admitted: Vec<u8>,
    /// How many the refused ones do, by the kubelet's reason.
    pub refused: BTreeMap<String, Vec<u8>>,
    /// What each asks for beside CPUs.
    pub memory: Quantity,
    /// Whether the kubelet starts again on a full node, and refuses no pod that runs.
    pub restarts: bool,
}

impl Trial {
    /// The trial of a configuration; `None`: a kubelet does not start with it.
    pub fn of(config: &KubeletConfiguration, view: &KubeletView) -> Option<Self> {
        let nodes = Nodes::start(config, view)?;
        let (mut admitted, mut refused) = (Vec::new(), Refused::new());
        for cpus in CPUS {
            match nodes.answer(&nodes.pinning, cpus) {
                Ok(()) => admitted.push(cpus),
                Err(reason) => refused.entry(reason).or_default().push(cpus),
            }
        }
        let restarts = full_node(config, view).is_none();
        Some(Self { admitted, refused, memory: nodes.memory, restarts })
    }
}

/// A node, and the same node if it pinned nothing.
struct Nodes {
    pinning: Node,
    unpinned: Node,
    memory: Quantity,
}

impl Nodes {
    /// `None` where a kubelet does not start with it.
    fn start(config: &KubeletConfiguration, view: &KubeletView) -> Option<Self> {
        let unpinned = KubeletConfiguration {
            cpu_manager_policy: None,
            cpu_manager_policy_options: BTreeMap::new(),
            memory_manager_policy: None,
            topology_manager_policy: None,
            topology_manager_policy_options: BTreeMap::new(),
            ..config.clone()
        };
        let start = |config| Node::start_as(view, config, Compat::KUBELET).ok();
        Some(Self { pinning: start(config)?, unpinned: start(&unpinned)?, memory: memory_of_pod(view) })
    }

    /// The answer to each ordinary pod that fits in sum, one after the other.
    fn answers(&self) -> impl Iterator<Item = (u8, Result<(), String>)> {
        CPUS.filter(|cpus| self.answer(&self.unpinned, *cpus).is_ok())
            .map(|cpus| (cpus, self.answer(&self.pinning, cpus)))
    }

    /// Whether an empty node admits the ordinary pod of so many CPUs, or why not.
    fn answer(&self, node: &Node, cpus: u8) -> Result<(), String> {
        let attempt = node.admission(&node.empty_ledger(), &pod("ordinary", cpus, &self.memory)).attempt();
        match attempt.verdict {
            Verdict::Refused(refused) => Err(refused.reason.to_string()),
            Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => Ok(()),
        }
    }
}

/// Tries pods under `config`; nothing is refused where a kubelet does not start with it.
pub(crate) fn refused(config: &KubeletConfiguration, view: &KubeletView) -> Refused {
    let mut refused = Refused::new();
    let Some(nodes) = Nodes::start(config, view) else { return refused };
    for (cpus, answer) in nodes.answers() {
        if let Err(reason) = answer {
            refused.entry(reason).or_default().push(cpus);
        }
    }
    refused
}

/// No ordinary pod is admitted.
pub(crate) struct NothingAdmitted {
    /// The kubelet's reason for the first refused pod. The managers come before the check for room.
    pub(crate) reason: String,
    /// The reason of the node as a whole, if there is no room for any.
    pub(crate) no_room: Option<String>,
    /// What each pod asks for beside CPUs.
    pub(crate) memory: Quantity,
}

/// Why no ordinary pod is admitted; `None`: one is, or a kubelet does not start.
pub(crate) fn admits_nothing(config: &KubeletConfiguration, view: &KubeletView) -> Option<NothingAdmitted> {
    let nodes = Nodes::start(config, view)?;
    let mut first = None;
    for (_, answer) in nodes.answers() {
        // One that is admitted is enough.
        first = first.or(Some(answer.err()?));
    }
    let smallest = *CPUS.start();
    let no_room = if first.is_some() { None } else { Some(nodes.answer(&nodes.unpinned, smallest).err()?) };
    let reason = first.or_else(|| nodes.answer(&nodes.pinning, smallest).err())?;
    Some(NothingAdmitted { reason, no_room, memory: nodes.memory })
}

/// What the user of a proposal has to know: that a kubelet does not start with it, or which ordinary pods never run.
pub fn notes(config: &KubeletConfiguration, view: &KubeletView, target: DecidedBy) -> Vec<Note> {
    let fault = config.validate().first().map(ToString::to_string).or_else(|| {
        let started = Node::start_as(view, config, Compat::KUBELET);
        started.err().map(|error| error.to_string())
    });
    if let Some(fault) = fault {
        let problem = if view.memory_capacity() == 0 {
            StartProblem::MemoryNotKnown
        } else {
            StartProblem::NothingFound
        };
        return vec![Note::NoStart { problem, fault }];
    }
    let mut never = Refused::new();
    let Some(nodes) = Nodes::start(config, view) else { return Vec::new() };
    for cpus in CPUS {
        // A machine with too few CPUs needs no note.
        let has_cpus = nodes.answer(&nodes.unpinned, cpus).err().is_none_or(|reason| reason != "OutOfcpu");
        if has_cpus && let Err(reason) = nodes.answer(&nodes.pinning, cpus) {
            never.entry(reason).or_default().push(cpus);
        }
    }
    let memory = &nodes.memory;
    let note = |(reason, cpus)| Note::NeverAdmitted { reason, cpus, memory: memory.clone() };
    let mut notes: Vec<Note> = never.into_iter().map(note).collect();
    if target == DecidedBy::Kubelet {
        notes.extend(full_node(config, view).map(Note::AtRestart));
        if config.cpu_policy() == "static" && cores_differ(view) {
            notes.push(Note::CoresDiffer);
        }
        if config.memory_policy() == "Static" {
            notes.push(Note::AnotherBoot);
        }
    }
    notes
}
