//! The memory manager of a machine and a configuration, made in the kubelet's order.

use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::Forms;
use kubelet_release::Rules;
use memory_manager::{
    Config, ConfigError, PodLevel, Readmission, Reservation, Reservations, Static, UnevenGroup, WrappedTables,
};
use node_config::{MemoryPolicyName, ReservedMemory};
use pod_spec::{ResourceList, ResourceName};
use serde_json::Value;
use topology_model::{HugePages, NodeId, NodeMemory, Nodes};

use super::pods::amounts;
use crate::case::Case;

/// What a manager is made from.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    nodes: &'a Value,
    reserved: &'a Value,
    /// `None`: what is reserved.
    pub(super) nar: Option<&'a Value>,
    pub(super) policy: &'a str,
    gates: &'a Value,
    /// Of the release that answered.
    rules: Rules,
}

/// What came of it.
pub(super) struct Made {
    /// `None`: policy `None`.
    pub(super) policy: Option<Static>,
    pub(super) nodes: Nodes,
}

/// Why there is no manager.
pub(super) enum Fault {
    /// The case makes no sense here.
    Unreadable(String),
    /// The kubelet's errors, of which it reports any.
    Refused(Vec<String>),
}

impl Fault {
    /// The only error.
    #[expect(clippy::needless_pass_by_value, reason = "maps errors")]
    pub(super) fn refused(error: impl ToString) -> Self {
        Self::Refused(vec![error.to_string()])
    }
}

impl<'a> Setup<'a> {
    pub(super) fn new(case: &'a Case) -> Self {
        let input = &case.input;
        Self {
            nodes: &input["nodes"],
            reserved: &input["reserved"],
            nar: input.get("nar"),
            policy: input["policy"].as_str().unwrap_or("Static"),
            gates: &input["gates"],
            rules: Rules::of(case.release),
        }
    }

    /// With what a restart changes; the next one does not inherit it.
    pub(super) fn changed(self, step: &'a Value) -> Self {
        let mut wanted = self;
        wanted.nodes = step.get("nodes").unwrap_or(wanted.nodes);
        wanted.policy = step["policy"].as_str().unwrap_or(wanted.policy);
        if let Some(reserved) = step.get("reserved") {
            wanted.reserved = reserved;
            wanted.nar = step.get("nar");
        }
        wanted
    }
}

impl Setup<'_> {
    pub(super) fn make(self) -> Result<Made, Fault> {
        let nodes = self.nodes()?;
        match MemoryPolicyName::check(self.policy).map_err(Fault::refused)? {
            MemoryPolicyName::None => return Ok(Made { policy: None, nodes }),
            MemoryPolicyName::Static => {}
        }
        let reserved = reservations(self.reserved).map_err(|error| unreadable(&error))?;
        let node_allocatable = match self.nar {
            None => sums(&reserved),
            Some(said) => amounts(said).map_err(|error| unreadable(&error))?,
        };
        let config = Config {
            reserved: Reservations(reserved),
            node_allocatable,
            pod_level: self.pod_level(),
            wrapped_tables: WrappedTables::Wrap,
            readmission: Readmission::BookAgain,
            // Where the kubelet crashes when it starts, the recorded steps are answered beside the crash.
            uneven_group: UnevenGroup::Start,
            empty_request: self.rules.empty_memory_request,
        };
        let policy =
            Static::new(&nodes, &self.memory(), &config).map_err(|error| Fault::Refused(texts(&error)))?;
        Ok(Made { policy: Some(policy), nodes })
    }

    /// The machine's nodes.
    pub(super) fn nodes(self) -> Result<Nodes, Fault> {
        Nodes::new(self.memory().iter().map(|node| node.id)).map_err(|error| unreadable(&error))
    }

    fn memory(self) -> Vec<NodeMemory> {
        self.nodes.as_array().into_iter().flatten().map(node).collect()
    }

    /// How the state file is read and written.
    pub(super) fn forms(self) -> Forms {
        let pod_level = match self.pod_level() {
            PodLevel::Ignored | PodLevel::Unread | PodLevel::NotPinned => kubelet_checkpoint::PodLevel::Off,
            PodLevel::Managed => kubelet_checkpoint::PodLevel::On,
        };
        Forms { checkpoint: self.rules.checkpoints, ..Forms::plain(pod_level) }
    }

    /// By default resources at pod level count, and managers do not book for them.
    pub(super) fn pod_level(self) -> PodLevel {
        let gate = |name: &str, default| self.gates[name].as_bool().unwrap_or(default);
        match (gate("PodLevelResources", true), gate("PodLevelResourceManagers", false)) {
            (false, _) => PodLevel::off(&self.rules),
            (true, false) => PodLevel::NotPinned,
            (true, true) => PodLevel::Managed,
        }
    }
}

fn node(value: &Value) -> NodeMemory {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let pages = value["hugepages"].as_array().into_iter().flatten();
    let pages = pages.map(|size| HugePages { page_size_kib: number(&size[0]), num_pages: number(&size[1]) });
    NodeMemory {
        id: NodeId(value["id"].as_i64().unwrap_or_default()),
        memory: number(&value["memory"]),
        hugepages: pages.collect(),
        distances: None,
    }
}

fn reservations(value: &Value) -> Result<Vec<Reservation>, k8s_quantity::ParseError> {
    let each = value.as_array().into_iter().flatten();
    let read = |kept: &Value| {
        let node = NodeId(kept["node"].as_i64().unwrap_or_default());
        Ok(Reservation { node, limits: amounts(&kept["limits"])? })
    };
    each.map(read).collect()
}

/// The same as the configuration has it.
pub(super) fn reserved_memory(value: &Value) -> Result<Vec<ReservedMemory>, String> {
    let each = reservations(value).map_err(|error| error.to_string())?.into_iter();
    let typed = |kept: Reservation| {
        let limits = kept.limits.into_iter().map(|(name, amount)| (name.to_string(), amount));
        let numa_node = i32::try_from(kept.node.0).map_err(|error| error.to_string())?;
        Ok(ReservedMemory { numa_node, limits: limits.collect() })
    };
    each.map(typed).collect()
}

/// What the node keeps for itself where all of it is reserved on nodes.
pub(crate) fn sums(reserved: &[Reservation]) -> ResourceList {
    let mut sums = ResourceList::new();
    for (resource, amount) in reserved.iter().flat_map(|kept| &kept.limits) {
        let sum = sums.entry(ResourceName::clone(resource));
        let sum = sum.or_insert_with(|| Quantity::from_units(0, Format::DecimalSi));
        *sum = &*sum + amount;
    }
    sums
}

fn unreadable(what: &impl ToString) -> Fault {
    Fault::Unreadable(what.to_string())
}

fn texts(error: &ConfigError) -> Vec<String> {
    error.clone().alternatives().iter().map(ToString::to_string).collect()
}
