//! The CPU manager of a machine and a configuration, made in the kubelet's order.

use std::collections::{BTreeMap, BTreeSet};

use cpu_manager::{
    Alignment, Baselines, BusySibling, CacheAlignment, Config, Fit, FullNode, Options, Order, PodBubble,
    PodLevel, Reserved, ReservedCpus, Static, WholeCores,
};
use cpuset::CpuSet;
use k8s_quantity::Quantity;
use kubelet_checkpoint::Forms;
use kubelet_release::{CheckpointForm, DefaultedBy, QosBy};
use node_config::{
    CpuFacts, CpuOption, CpuPolicyName, FeatureGates, Gate, KubeletConfiguration, Rules, TopologyPolicyName,
    cpu_options,
};
use pod_spec::PodRules;
use serde_json::Value;
use topology_model::{CpuTable, Nodes};

use super::machine::Machine;
use crate::case::{Case, text};
use crate::corpus::Corpus;

/// What the manager of a case is made from. A restart may change parts of it.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub(super) machine: &'a Value,
    pub(super) policy: &'a str,
    pub(super) options: &'a Value,
    pub(super) gates: &'a Value,
    topology_policy: &'a str,
    /// Of the release that answered.
    pub(super) rules: Rules,
    reserved_set: &'a Value,
    reserved_cpu: &'a Value,
}

/// What a manager is made from, besides the machine.
pub(crate) struct Wanted<'a> {
    pub(crate) policy: &'a str,
    pub(crate) options: &'a BTreeMap<String, String>,
    pub(crate) gates: &'a FeatureGates,
    pub(crate) topology_policy: TopologyPolicyName,
    pub(crate) rules: Rules,
    pub(crate) reserved_set: CpuSet,
    pub(crate) reserved_amount: Option<&'a Quantity>,
}

/// What came of it.
pub(crate) enum Made {
    /// Policy `none`, on a machine with these CPUs.
    Nothing(CpuSet),
    Manager(Box<Manager>),
}

impl Made {
    /// The name of the policy.
    pub(super) const fn policy_name(&self) -> &'static str {
        match self {
            Self::Nothing(_) => "none",
            Self::Manager(_) => "static",
        }
    }
}

pub(crate) struct Manager {
    pub(crate) policy: Static,
    pub(crate) nodes: Nodes,
}

/// Why there is no manager.
pub(super) enum Fault {
    /// The case makes no sense here.
    Unreadable(String),
    /// The kubelet's errors, of which it reports any.
    Refused(Vec<String>),
}

impl<'a> Setup<'a> {
    pub(super) fn new(case: &'a Case) -> Self {
        let input = &case.input;
        let or = |name: &str, default| match text(&input[name]) {
            "" => default,
            named => named,
        };
        Self {
            machine: &input["machine"],
            policy: or("policy", "static"),
            options: &input["options"],
            gates: &input["gates"],
            rules: Rules::of(case.release),
            topology_policy: or("topologyManagerPolicy", "best-effort"),
            reserved_set: &input["reservedSet"],
            reserved_cpu: &input["reservedCPU"],
        }
    }

    /// Takes over what a restart changes.
    pub(super) fn change(&mut self, step: &'a Value) {
        for (place, name) in
            [(&mut self.machine, "machine"), (&mut self.options, "options"), (&mut self.gates, "gates")]
        {
            *place = step.get(name).unwrap_or(place);
        }
        self.policy = step["policy"].as_str().unwrap_or(self.policy);
    }

    pub(super) fn make(&self, corpus: &Corpus) -> Result<Made, Fault> {
        let machine = Machine::named(corpus, text(self.machine)).map_err(|error| unreadable(&error))?;
        let amount = self.reserved_cpu.as_str().map(str::parse::<Quantity>).transpose();
        let amount = amount.map_err(|error| unreadable(&error))?;
        let wanted = Wanted {
            policy: self.policy,
            options: &strings(self.options),
            gates: &self.feature_gates()?,
            topology_policy: self.topology_policy()?,
            rules: self.rules,
            reserved_set: text(self.reserved_set).parse::<CpuSet>().map_err(|error| unreadable(&error))?,
            reserved_amount: amount.as_ref(),
        };
        wanted.make(&machine.cpus).map_err(Fault::Refused)
    }

    /// The options that are on.
    pub(super) fn options(&self, cpus: &CpuTable, gates: &FeatureGates) -> Result<Options, Fault> {
        options(cpus, &strings(self.options), gates, &self.rules, self.topology_policy()?)
            .map_err(Fault::Refused)
    }

    /// Which state files are written.
    pub(super) fn forms(&self) -> Result<Forms, Fault> {
        let gates = self.feature_gates()?;
        let pod_level = match pod_level(&gates, &self.rules) {
            PodLevel::Managed => kubelet_checkpoint::PodLevel::On,
            PodLevel::Ignored | PodLevel::Unread | PodLevel::NotPinned => kubelet_checkpoint::PodLevel::Off,
        };
        let baselines = match baselines(&gates, self.rules) {
            Baselines::Kept => kubelet_checkpoint::Baselines::On,
            Baselines::Forgotten => kubelet_checkpoint::Baselines::Off,
        };
        Ok(Forms { checkpoint: self.rules.checkpoints, pod_level, baselines })
    }

    /// The gates of a case: those that differ from the defaults.
    pub(super) fn feature_gates(&self) -> Result<FeatureGates, Fault> {
        let changes = gates(self.gates, self.rules);
        FeatureGates::check(self.rules.gates, &changes).map_err(|faults| Fault::Refused(texts(faults)))
    }

    /// How the node classifies pods, whose class the managers do not work out.
    pub(super) fn pod_rules(&self) -> PodRules {
        let feature_gates = gates(self.gates, self.rules);
        let rules = self.rules;
        topology_admission::pod_rules(&KubeletConfiguration { rules, feature_gates, ..Default::default() })
    }

    fn topology_policy(&self) -> Result<TopologyPolicyName, Fault> {
        let name = self.topology_policy;
        TopologyPolicyName::from_name(name).ok_or_else(|| unreadable(&format!("no policy {name:?}")))
    }
}

impl Wanted<'_> {
    /// The manager for a machine with these CPUs; else the kubelet's errors, of which it reports any.
    pub(crate) fn make(self, cpus: &CpuTable) -> Result<Made, Vec<String>> {
        match CpuPolicyName::check(self.policy, self.options).map_err(|error| texts([error]))? {
            CpuPolicyName::None => return Ok(Made::Nothing(cpus.all().clone())),
            CpuPolicyName::Static => {}
        }
        let reserved = Reserved::configured(self.reserved_set, self.reserved_amount);
        let reserved = reserved.map_err(|error| texts([error]))?;
        let config = Config {
            options: options(cpus, self.options, self.gates, &self.rules, self.topology_policy)?,
            reserved,
            pod_level: pod_level(self.gates, &self.rules),
            baselines: baselines(self.gates, self.rules),
            ..kubelet(self.rules)
        };
        let nodes = Nodes::new(cpus.nodes().map(|(id, _)| id)).map_err(|error| texts([error]))?;
        let policy = Static::new(cpus, &nodes, config)
            .map_err(|error| texts([format!("new static policy error: {error}")]))?;
        Ok(Made::Manager(Box::new(Manager { policy, nodes })))
    }
}

/// Every choice the kubelet's.
pub(super) fn kubelet(rules: Rules) -> Config {
    Config {
        aligned_share: rules.aligned_share,
        whole_core_check: rules.whole_core_check,
        busy_sibling: BusySibling::HandOut,
        pod_bubble: PodBubble::Lose,
        full_node: FullNode::Refuse,
        cache_alignment: CacheAlignment::BestEffort,
        fit: Fit::First,
        ..Config::default()
    }
}

fn options(
    cpus: &CpuTable,
    named: &BTreeMap<String, String>,
    gates: &FeatureGates,
    rules: &Rules,
    topology_policy: TopologyPolicyName,
) -> Result<Options, Vec<String>> {
    let facts = CpuFacts { sockets: cpus.num_sockets(), nodes_with_cpus: cpus.num_nodes(), topology_policy };
    cpu_options(named, gates, rules, facts).map(|on| typed(&on)).map_err(texts)
}

/// Those that differ from the defaults.
fn gates(changed: &Value, rules: Rules) -> BTreeMap<String, bool> {
    let each = changed.as_object().into_iter().flatten();
    let mut changes: BTreeMap<String, bool> =
        each.map(|(name, value)| (name.clone(), value.as_bool() == Some(true))).collect();
    // What builds on it is off with it.
    if changes.get(Gate::PodLevelResources.name()) == Some(&false) {
        let resize = "InPlacePodLevelResourcesVerticalScaling";
        if FeatureGates::knows(rules.gates, resize) {
            changes.insert(resize.into(), false);
        }
        if rules.pod_level_defaults == DefaultedBy::ApiServer {
            changes.insert(Gate::PodLevelResourcesFixDefaulting.name().into(), false);
        }
        if rules.qos == QosBy::Containers {
            changes.insert(Gate::PodLevelResourcesFixKubeletQosClass.name().into(), false);
        }
    }
    changes
}

/// Whether the first CPUs of containers are remembered.
pub(super) fn baselines(gates: &FeatureGates, rules: Rules) -> Baselines {
    match rules.checkpoints {
        CheckpointForm::Embedded if gates.is_on(Gate::InPlacePodVerticalScalingExclusiveCpus) => {
            Baselines::Kept
        }
        CheckpointForm::Embedded | CheckpointForm::Plain | CheckpointForm::Single => Baselines::Forgotten,
    }
}

pub(super) fn pod_level(gates: &FeatureGates, rules: &Rules) -> PodLevel {
    match (gates.is_on(Gate::PodLevelResources), gates.is_on(Gate::PodLevelResourceManagers)) {
        (false, _) => PodLevel::off(rules),
        (true, false) => PodLevel::NotPinned,
        (true, true) => PodLevel::Managed,
    }
}

fn typed(on: &BTreeSet<CpuOption>) -> Options {
    let mut options = Options::default();
    for option in on {
        match option {
            CpuOption::AlignBySocket => options.alignment = Alignment::BySocket,
            CpuOption::DistributeAcrossCores => options.order = Order::AcrossCores,
            CpuOption::DistributeAcrossNuma => options.order = Order::AcrossNodes,
            CpuOption::PreferAlignByUncoreCache => options.order = Order::ByCache,
            CpuOption::FullPcpusOnly => options.whole_cores = WholeCores::Required,
            CpuOption::StrictReservation => options.reserved = ReservedCpus::SystemOnly,
        }
    }
    options
}

fn strings(map: &Value) -> BTreeMap<String, String> {
    let each = map.as_object().into_iter().flatten();
    each.map(|(name, value)| (name.clone(), text(value).to_owned())).collect()
}

fn unreadable(what: &impl ToString) -> Fault {
    Fault::Unreadable(what.to_string())
}

fn texts(errors: impl IntoIterator<Item: ToString>) -> Vec<String> {
    errors.into_iter().map(|error| error.to_string()).collect()
}
