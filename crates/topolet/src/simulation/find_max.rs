//! How many of one pod fit on a machine, under each policy, scope and option.

use std::collections::BTreeMap;
use std::sync::Arc;

use admission_report::unchecked_notice;
use node_config::{KubeletConfiguration, Scope, TopologyPolicyName};
use pod_spec::{Pod, PodUid};
use rayon::prelude::*;
use serde::Serialize;
use topology_admission::{Compat, Ledger, Node, Verdict};

use super::reservation::{ReservationFit, reservations};
use crate::arguments::{ADVICE, RulesArguments};
use crate::node::{DeviceText, LoadedMachine, LoadedNode};

/// Everything that was found out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FoundMax {
    pub(crate) pod: String,
    pub(crate) machine: String,
    pub(crate) configuration: String,
    /// Each option with each policy and scope.
    pub(crate) variants: Vec<Variant>,
    /// Other places for what is reserved for the system, with the configuration's own policy, scope and options: the
    /// one with which the most fit comes first.
    pub(crate) reservations: Vec<ReservationFit>,
    /// What in the configuration is without effect, and what of the pod nobody looks at, as text to be shown.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// One policy, scope and option.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Variant {
    /// An option beside those of the configuration; `None`: as configured.
    pub(crate) option: Option<&'static str>,
    pub(crate) policy: &'static str,
    pub(crate) scope: &'static str,
    #[serde(flatten)]
    pub(crate) capacity: Capacity,
}

/// How many fit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase", untagged)]
pub(crate) enum Capacity {
    /// So many; and why not one more.
    Fit {
        /// How many.
        fit: usize,
        /// The reason for which the next is refused.
        next: String,
    },
    /// A kubelet would not start like this.
    #[serde(rename_all = "camelCase")]
    NoStart {
        /// Why not.
        no_start: String,
    },
}

impl Capacity {
    pub(crate) const fn fit(&self) -> Option<usize> {
        match self {
            Self::Fit { fit, .. } => Some(*fit),
            Self::NoStart { .. } => None,
        }
    }

    fn no_start(error: &anyhow::Error) -> Self {
        Self::NoStart { no_start: format!("{error:#}") }
    }
}

/// An option, which manager has it, and the feature gate without which it cannot be set.
struct Choice {
    name: &'static str,
    of: Manager,
    gate: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Cpu,
    Topology,
}

const ALPHA: Option<&str> = Some("CPUManagerPolicyAlphaOptions");

const CHOICES: [Choice; 7] = [
    Choice { name: "full-pcpus-only", of: Manager::Cpu, gate: None },
    Choice { name: "strict-cpu-reservation", of: Manager::Cpu, gate: None },
    Choice { name: "distribute-cpus-across-numa", of: Manager::Cpu, gate: None },
    Choice { name: "distribute-cpus-across-cores", of: Manager::Cpu, gate: ALPHA },
    Choice { name: "align-by-socket", of: Manager::Cpu, gate: ALPHA },
    Choice { name: "prefer-align-cpus-by-uncorecache", of: Manager::Cpu, gate: None },
    Choice { name: "prefer-closest-numa-nodes", of: Manager::Topology, gate: None },
];

/// Policies with the scopes that differ under them.
pub(crate) const RULES: [(TopologyPolicyName, Scope); 7] = [
    (TopologyPolicyName::None, Scope::Container),
    (TopologyPolicyName::BestEffort, Scope::Container),
    (TopologyPolicyName::BestEffort, Scope::Pod),
    (TopologyPolicyName::Restricted, Scope::Container),
    (TopologyPolicyName::Restricted, Scope::Pod),
    (TopologyPolicyName::SingleNumaNode, Scope::Container),
    (TopologyPolicyName::SingleNumaNode, Scope::Pod),
];

impl Choice {
    fn set(&self, config: &mut KubeletConfiguration) {
        let options = match self.of {
            Manager::Cpu => &mut config.cpu_manager_policy_options,
            Manager::Topology => &mut config.topology_manager_policy_options,
        };
        options.insert(self.name.to_owned(), "true".to_owned());
        if let Some(gate) = self.gate {
            config.feature_gates.insert(gate.to_owned(), true);
        }
    }
}

/// Where and by which rules.
pub(crate) struct Question<'a> {
    pub(crate) machine: &'a LoadedMachine,
    pub(crate) rules: &'a RulesArguments,
    pub(crate) devices: Option<DeviceText>,
}

impl Question<'_> {
    /// The node with something changed in its configuration.
    pub(super) fn node(&self, change: impl FnOnce(&mut KubeletConfiguration)) -> anyhow::Result<LoadedNode> {
        LoadedNode::changed(self.machine, self.rules, self.devices.clone(), Compat::default(), change)
    }
}

/// A node and its empty ledger, or why there is none: what can be handed to another thread.
pub(super) type Startable = Result<(Arc<Node>, Ledger), anyhow::Error>;

pub(super) fn startable(node: anyhow::Result<LoadedNode>) -> Startable {
    node.map(|node| (node.empty_ledger(), node)).map(|(ledger, node)| (node.node, ledger))
}

pub(super) fn capacity(node: &Startable, pod: &Pod) -> Capacity {
    match node {
        Ok((node, ledger)) => fill(node, ledger.clone(), pod),
        Err(error) => Capacity::no_start(error),
    }
}

/// Admits copies of `pod` until one is refused.
pub(crate) fn fill(node: &Node, mut ledger: Ledger, pod: &Pod) -> Capacity {
    let mut fit = 0;
    loop {
        let copy = Pod {
            uid: PodUid::new(&format!("{}-{fit}", pod.uid)),
            name: format!("{}-{fit}", pod.name),
            ..pod.clone()
        };
        let attempt = node.admission(&ledger, &copy).attempt();
        let next = match &attempt.verdict {
            Verdict::Admitted(placement) if placement.preempted.is_empty() => None,
            Verdict::Admitted(_) => Some("it would end one of the others".to_owned()),
            Verdict::Refused(refused) => Some(refused.reason.to_string()),
            Verdict::NeedsPlugin(question) => Some(format!("nobody answers for {}", question.resource())),
        };
        if let Some(next) = next {
            return Capacity::Fit { fit, next };
        }
        match ledger.commit(attempt) {
            Ok(after) => ledger = after,
            Err(stale) => return Capacity::Fit { fit, next: stale.to_string() },
        }
        fit += 1;
    }
}

/// Looks at every policy, scope and option, and at every reservation.
pub(crate) fn find_max(question: &Question<'_>, pod: &Pod) -> anyhow::Result<FoundMax> {
    let base = question.node(|_| ())?;
    let has_cpus = base.node.cpus().is_some();
    let own = |config: &KubeletConfiguration, choice: &Choice| match choice.of {
        Manager::Cpu => config.cpu_manager_policy_options.contains_key(choice.name),
        Manager::Topology => config.topology_manager_policy_options.contains_key(choice.name),
    };
    let mut config = KubeletConfiguration::default();
    question.node(|given| config = given.clone())?;
    let choices =
        CHOICES.iter().filter(|choice| !own(&config, choice) && (choice.of == Manager::Topology || has_cpus));
    let mut nodes = Vec::new();
    for choice in std::iter::once(None).chain(choices.map(Some)) {
        for (policy, scope) in RULES {
            let node = question.node(|config| {
                config.topology_manager_policy = Some(policy.name().to_owned());
                config.topology_manager_scope = Some(scope.name().to_owned());
                if let Some(choice) = choice {
                    choice.set(config);
                }
            });
            nodes.push((choice.map(|choice| choice.name), policy, scope, startable(node)));
        }
    }
    let variants = nodes.par_iter().map(|(option, policy, scope, node)| Variant {
        option: *option,
        policy: policy.name(),
        scope: scope.name(),
        capacity: capacity(node, pod),
    });
    let unchecked = unchecked_notice(&base.node, &base.inventory, pod, ADVICE);
    Ok(FoundMax {
        pod: format!("{}/{}", pod.namespace, pod.name),
        machine: base.line.machine.clone(),
        configuration: base.line.configuration.clone(),
        variants: variants.collect(),
        reservations: reservations(question, &base, &config, pod),
        warnings: unchecked
            .iter()
            .map(ToString::to_string)
            .chain(base.warnings.iter().map(ToString::to_string))
            .collect(),
    })
}

/// The variants by option, in their order.
pub(crate) fn by_option(variants: &[Variant]) -> Vec<(Option<&'static str>, Vec<&Variant>)> {
    let mut rows: Vec<(Option<&'static str>, Vec<&Variant>)> = Vec::new();
    for variant in variants {
        match rows.last_mut().filter(|(option, _)| *option == variant.option) {
            Some((_, row)) => row.push(variant),
            None => rows.push((variant.option, vec![variant])),
        }
    }
    rows
}

/// Why a kubelet would not start, each with a number from 1, in the order in which they come.
pub(crate) fn notes(variants: &[Variant]) -> Vec<(&str, usize)> {
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    for variant in variants {
        if let Capacity::NoStart { no_start } = &variant.capacity {
            let next = notes.len() + 1;
            notes.entry(no_start).or_insert(next);
        }
    }
    let mut notes: Vec<(&str, usize)> = notes.into_iter().collect();
    notes.sort_by_key(|(_, number)| *number);
    notes
}

#[cfg(test)]
mod tests {
    use topology_manifest::{Source, read_pods};

    use super::*;
    use crate::arguments::MachineArguments;

    fn pods() -> Vec<Pod> {
        let text = "\
apiVersion: v1
kind: Pod
metadata: {name: dpdk}
spec: {containers: [{name: app, resources: {limits: {cpu: 6, memory: 3Gi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: a, resources: {limits: {cpu: 9, memory: 9Gi}}}, {name: b, resources: {limits: {cpu: 3, memory: 1Gi}}}]}
";
        let pods = read_pods(&Source { name: "pods", text }).unwrap();
        pods.into_iter().map(Pod::delivered).collect()
    }

    fn rules() -> RulesArguments {
        RulesArguments { config: None, topolet_config: None, policy: None, scope: None, devices: None }
    }

    /// What a person would do: one `admit` after the other, of pods that are written down.
    fn one_by_one(machine: &LoadedMachine, policy: &str, scope: &str, pod: &Pod) -> usize {
        let rules =
            RulesArguments { policy: Some(policy.to_owned()), scope: Some(scope.to_owned()), ..rules() };
        let node = LoadedNode::on(machine, &rules, None).unwrap();
        let mut ledger = node.empty_ledger();
        for number in 0.. {
            let mut own = Pod::new("default", &format!("own-{number}"), pod.containers.clone());
            own.uid = PodUid::new(&format!("own-{number}"));
            let attempt = node.node.admission(&ledger, &own).attempt();
            if !matches!(attempt.verdict, Verdict::Admitted(_)) {
                return number;
            }
            ledger = ledger.commit(attempt).unwrap();
        }
        unreachable!("every machine is full at last")
    }

    #[test]
    fn as_many_fit_as_can_be_admitted_one_by_one_on_every_machine() {
        let mut seen = BTreeMap::new();
        for name in machine_fixtures::names() {
            let arguments = MachineArguments { machine: name.to_owned(), hugepages: None, memory: None };
            let machine = LoadedMachine::load(&arguments).unwrap();
            let (rules, pods) = (rules(), pods());
            let question = Question { machine: &machine, rules: &rules, devices: None };
            // Of a large machine one kind of pod is enough.
            let some = if machine.info.num_cpus > 256 { &pods[1..] } else { &pods[..] };
            for pod in some {
                for (policy, scope) in RULES {
                    let node = question.node(|config| {
                        config.topology_manager_policy = Some(policy.name().to_owned());
                        config.topology_manager_scope = Some(scope.name().to_owned());
                    });
                    let found = capacity(&startable(node), pod).fit().unwrap();
                    let expected = one_by_one(&machine, policy.name(), scope.name(), pod);
                    assert_eq!(found, expected, "{name} {} {} {}", pod.name, policy.name(), scope.name());
                    *seen.entry(policy.name()).or_insert(0) += found;
                }
            }
        }
        assert!(seen.values().all(|fit| *fit > 20), "{seen:?}");
    }
}
