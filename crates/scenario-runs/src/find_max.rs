//! How many of one pod fit on a machine, under each policy, scope and option.

use std::collections::BTreeMap;
use std::sync::Arc;

use admission_report::unchecked_notice;
use anyhow::anyhow;
use dra_model::Features;
use node_config::KubeletConfiguration;
use node_input::{
    ADVICE, ClaimCount, DeviceText, IdentitySource, LoadedMachine, LoadedNode, NodeClaims, ResidentsSource,
    RulesSource,
};
use node_output::NodeLine;
use node_simulation::{POLICIES_AND_SCOPES, PolicyOption, ReservationPlace, SystemReservation};
use pod_claims::ClusterObjects;
use pod_spec::Pod;
use serde::Serialize;
use topology_admission::{Ledger, Node};
use topology_model::KubeletView;

use crate::claims::claims;
use crate::cores;

/// Everything that was found out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundMax {
    pub(crate) pod: String,
    pub(crate) machine: String,
    /// What the machine is imagined to have more than the real one, each such as `8 more intel.com/vf on NUMA node 1`; absent: it
    /// is the real one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) imagined: Vec<String>,
    pub(crate) configuration: String,
    /// Beside which pods, as text to be shown; `None`: nothing runs there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<String>,
    /// The pod's claims of devices, which are not decided here: so many fit without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) without_claims: Vec<String>,
    /// How many get devices for their claims, which are decided before other resources; no variant has more. `None`: it has
    /// none, or they were not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claims: Option<ClaimMax>,
    /// Each option with each policy and scope.
    pub(crate) variants: Vec<Variant>,
    /// Other places for what is reserved for the system, with the configuration's own policy, scope and options: the
    /// one with which the most fit comes first.
    pub(crate) reservations: Vec<ReservationFit>,
    /// The node as it is configured.
    #[serde(skip)]
    pub(crate) line: NodeLine,
    /// What in the configuration is without effect, and what of the pod is not looked at, as text to be shown.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
    /// What of the pod is not checked, as text to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unchecked: Option<String>,
}

impl FoundMax {
    /// What in the configuration is without effect, and what of the pod is not looked at, as text to be shown.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same with how many of the pod fit on the real machine; without, where more is unchecked there: the numbers do not count the
    /// same.
    #[must_use]
    pub fn beside_real(mut self, real: &Self) -> Self {
        if self.unchecked != real.unchecked {
            return self;
        }
        for variant in &mut self.variants {
            let same = |other: &&Variant| {
                (other.option, other.policy, other.scope) == (variant.option, variant.policy, variant.scope)
            };
            variant.fit_real = real.variants.iter().find(same).and_then(|other| other.capacity.fit());
        }
        self
    }

    /// Whether the pod has claims of devices, which are not decided here.
    #[must_use]
    pub const fn has_undecided_claims(&self) -> bool {
        !self.without_claims.is_empty()
    }
}

/// How many copies of a pod get devices for their claims.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimMax {
    /// How many: of more than fit otherwise it is not known.
    pub(crate) fit: usize,
    /// The reason for which the next one is not scheduled; `None`: no more fit otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// Whose decision it is: `kube-scheduler 1.37.2 with its default gates`.
    pub(crate) decided_as: String,
}

/// One policy, scope and option.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Variant {
    /// An option beside those of the configuration; `None`: as configured.
    pub(crate) option: Option<&'static str>,
    pub(crate) policy: &'static str,
    pub(crate) scope: &'static str,
    /// How many fit the real machine where this one is imagined; absent: it is the real one, or a kubelet would not start there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fit_real: Option<usize>,
    #[serde(flatten)]
    pub(crate) capacity: Capacity,
}

/// How many fit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", untagged)]
pub(crate) enum Capacity {
    /// So many; and why not one more.
    #[serde(rename_all = "camelCase")]
    Fit {
        /// How many.
        fit: usize,
        /// The reason for which the next is refused.
        next: String,
        /// The resources that the node has too little of for the next one, each by itself; none: they do not fit together, or no
        /// resource limits.
        limited_by: Vec<String>,
    },
    /// A kubelet would not start like this.
    #[serde(rename_all = "camelCase")]
    NoStart {
        /// Why not.
        no_start: String,
    },
}

impl Capacity {
    /// The resources that limit, each by itself.
    pub(crate) fn limited_by(&self) -> &[String] {
        match self {
            Self::Fit { limited_by, .. } => limited_by,
            Self::NoStart { .. } => &[],
        }
    }

    /// What the next one gets; `None`: a kubelet would not start.
    pub(crate) fn next(&self) -> Option<&str> {
        match self {
            Self::Fit { next, .. } => Some(next),
            Self::NoStart { .. } => None,
        }
    }

    pub(crate) const fn fit(&self) -> Option<usize> {
        match self {
            Self::Fit { fit, .. } => Some(*fit),
            Self::NoStart { .. } => None,
        }
    }

    /// No more than get devices for their claims.
    fn limit(&mut self, claims: &ClaimMax) {
        if let (Self::Fit { fit, next, limited_by }, Some(why)) = (&mut *self, &claims.next)
            && claims.fit <= *fit
        {
            *fit = claims.fit;
            *limited_by = vec!["claims".to_owned()];
            next.clone_from(why);
        }
    }

    /// The first line says why.
    fn no_start(error: &anyhow::Error) -> Self {
        let text = format!("{error:#}");
        Self::NoStart { no_start: text.lines().next().unwrap_or_default().to_owned() }
    }
}

/// The node on which copies of a pod are counted.
pub struct Question<'a> {
    /// The machine.
    pub machine: &'a LoadedMachine,
    /// Its kubelet configuration and rules.
    pub rules: &'a RulesSource,
    /// Its devices.
    pub devices: Option<DeviceText>,
    /// What it is called, and its labels.
    pub identity: &'a IdentitySource,
    /// What runs on it already.
    pub residents: &'a ResidentsSource,
    /// The objects that decide on claims; none: claims are not decided.
    pub objects: &'a ClusterObjects,
    /// The gates by which claims are decided.
    pub features: Features,
}

impl Question<'_> {
    /// Loads the node after `change` was made to its configuration.
    fn node(&self, change: impl FnOnce(&mut KubeletConfiguration)) -> anyhow::Result<LoadedNode> {
        let node = LoadedNode::changed(self.machine, self.rules, self.devices.clone(), change)?;
        node.with_identity(self.identity)
    }

    /// The node with what runs on it; `Err`: a kubelet does not start with this configuration, or not beside these pods.
    fn startable(&self, node: anyhow::Result<LoadedNode>) -> Startable {
        let node = node?;
        // Pods that have ended hold nothing: collected below.
        let residents = node.residents(self.residents);
        let residents = residents.map_err(|error| anyhow!("not beside what runs: {}", error.root_cause()))?;
        let ledger = residents.ledger.collect();
        Ok((node.node, ledger))
    }
}

/// A node and its ledger, or why it does not start. It can be sent to another thread.
type Startable = Result<(Arc<Node>, Ledger), anyhow::Error>;

/// How many copies of `pod` the node admits one after the other.
fn capacity(node: &Startable, pod: &Pod) -> Capacity {
    match node {
        Ok((node, ledger)) => {
            let node_simulation::Capacity { fit, limit, limited_by } =
                node_simulation::capacity(node, ledger.clone(), pod);
            let limited_by = limited_by.iter().map(ToString::to_string).collect();
            Capacity::Fit { fit, next: limit.to_string(), limited_by }
        }
        Err(error) => Capacity::no_start(error),
    }
}

/// A reservation for the system, and how many fit beside it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReservationFit {
    #[serde(skip)]
    pub(crate) place: ReservationPlace,
    pub(crate) reservation: String,
    /// `reservedSystemCPUs`; `None` where CPUs are not managed.
    pub(crate) reserved_system_cpus: Option<String>,
    /// `reservedMemory` of `memory` by NUMA node, in bytes.
    pub(crate) reserved_memory: BTreeMap<i32, u64>,
    #[serde(flatten)]
    pub(crate) capacity: Capacity,
}

/// How many pods fit with each place for the system's reservation: the largest number first, and the configured place first
/// among equals.
fn reservations(
    question: &Question<'_>,
    base: &LoadedNode,
    config: &KubeletConfiguration,
    pod: &Pod,
) -> Vec<ReservationFit> {
    let Ok(view) = KubeletView::new(&question.machine.info) else { return Vec::new() };
    let candidates = SystemReservation::candidates(&base.node, config, &view).into_iter();
    let nodes: Vec<(SystemReservation, Startable)> = candidates
        .map(|candidate| {
            let node = question.node(|config| candidate.set(config));
            (candidate, question.startable(node))
        })
        .collect();
    let mut fits = cores::map(&nodes, |(candidate, node)| ReservationFit {
        place: candidate.place,
        reservation: candidate.to_string(),
        reserved_system_cpus: candidate.cpus.as_ref().map(ToString::to_string),
        reserved_memory: candidate.memory.clone().unwrap_or_default(),
        capacity: capacity(node, pod),
    });
    fits.sort_by_key(|fit| std::cmp::Reverse(fit.capacity.fit()));
    fits
}

/// Counts how many copies of `pod` fit under every policy, scope and option, and with every reservation, on all cores.
///
/// # Errors
/// Something cannot be read, or a kubelet does not start with the configuration itself.
pub fn find_max(question: &Question<'_>, pod: &Pod) -> anyhow::Result<FoundMax> {
    let base = question.node(|_| ())?;
    let residents = base.residents(question.residents)?;
    // The configuration as it was read, before any change.
    let mut config = KubeletConfiguration::default();
    question.node(|read| config = read.clone())?;
    let options = PolicyOption::unset(&config, &base.node);
    let mut nodes = Vec::new();
    for option in std::iter::once(None).chain(options.map(Some)) {
        for (policy, scope) in POLICIES_AND_SCOPES {
            let node = question.node(|config| {
                config.topology_manager_policy = Some(policy.name().to_owned());
                config.topology_manager_scope = Some(scope.name().to_owned());
                if let Some(option) = option {
                    option.set(config);
                }
            });
            nodes.push((option.map(PolicyOption::name), policy, scope, question.startable(node)));
        }
    }
    // What claims serve is not asked of device plugins.
    let counted = |most| NodeClaims::on(&base, question.objects.clone(), question.features).count(pod, most);
    let rest = match counted(1) {
        ClaimCount::Counted { rest, .. } => *rest,
        ClaimCount::None | ClaimCount::Undecided(_) => pod.clone(),
    };
    let mut variants = cores::map(&nodes, |(option, policy, scope, node)| Variant {
        option: *option,
        policy: policy.name(),
        scope: scope.name(),
        fit_real: None,
        capacity: capacity(node, &rest),
    });
    let mut reservations = reservations(question, &base, &config, &rest);
    let (mut claims, mut undecided) = (None, None);
    let capacities = variants.iter_mut().map(|variant| &mut variant.capacity);
    let mut capacities: Vec<&mut Capacity> =
        capacities.chain(reservations.iter_mut().map(|fit| &mut fit.capacity)).collect();
    let most = capacities.iter().filter_map(|capacity| capacity.fit()).max().unwrap_or_default();
    match counted(most.saturating_add(1)) {
        ClaimCount::Counted { fit, next, decided_as, .. } => {
            let counted = ClaimMax { fit, next, decided_as };
            for capacity in &mut capacities {
                capacity.limit(&counted);
            }
            claims = Some(counted);
        }
        ClaimCount::Undecided(why) => undecided = Some(why),
        ClaimCount::None => {}
    }
    let unchecked = unchecked_notice(&base.node, &base.inventory, &rest, ADVICE);
    let notes = NodeClaims::on(&base, question.objects.clone(), question.features)
        .notes(&base, std::slice::from_ref(pod));
    Ok(FoundMax {
        pod: format!("{}/{}", pod.namespace, pod.name),
        machine: base.line.machine.clone(),
        imagined: base.line.imagined.clone(),
        configuration: base.line.configuration.clone(),
        line: base.line.clone(),
        beside: residents.line,
        without_claims: if claims.is_some() { Vec::new() } else { self::claims(pod) },
        claims,
        variants,
        reservations,
        unchecked: unchecked.map(|notice| notice.text),
        warnings: notes
            .into_iter()
            .chain(undecided.map(|why| format!("claims are not decided: {why}")))
            .chain(base.first_notes())
            .chain(base.warnings.iter().map(ToString::to_string))
            .chain(residents.notes)
            .collect(),
    })
}

/// The variants as rows of a table, one for each option, in their order.
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

/// The reasons for which a kubelet would not start, numbered from 1 in order of appearance.
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
    use pod_spec::PodUid;
    use topology_admission::Verdict;
    use topology_manifest::{Source, read_pods};

    use super::*;
    use node_config::DecidedBy;
    use node_input::MachineSource;

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

    /// Those of topolet: a kubelet of dozens of NUMA nodes admits none within a minute.
    fn rules() -> RulesSource {
        RulesSource { decided_by: Some(DecidedBy::Topolet), ..RulesSource::default() }
    }

    /// What a person would do: one `admit` after the other, of pods that are written down.
    fn one_by_one(machine: &LoadedMachine, policy: &str, scope: &str, pod: &Pod) -> usize {
        let rules = RulesSource { policy: Some(policy.to_owned()), scope: Some(scope.to_owned()), ..rules() };
        let node = LoadedNode::without_devices(machine, &rules).unwrap();
        let mut ledger = node.empty_ledger();
        for number in 0.. {
            let mut own = Pod::new("default", &format!("own-{number}"), pod.containers.to_vec());
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
            let arguments = MachineSource::named(name);
            let machine = LoadedMachine::load(&arguments).unwrap();
            let (rules, pods, nothing) = (rules(), pods(), ResidentsSource::default());
            let question = Question {
                machine: &machine,
                rules: &rules,
                devices: None,
                identity: &IdentitySource::default(),
                residents: &nothing,
                objects: &ClusterObjects::default(),
                features: Features::DEFAULT,
            };
            // Of a large machine one kind of pod is enough.
            let some = if machine.info.num_cpus > 256 { &pods[1..] } else { &pods[..] };
            for pod in some {
                for (policy, scope) in POLICIES_AND_SCOPES {
                    let node = question.node(|config| {
                        config.topology_manager_policy = Some(policy.name().to_owned());
                        config.topology_manager_scope = Some(scope.name().to_owned());
                    });
                    let found = capacity(&question.startable(node), pod).fit().unwrap();
                    let expected = one_by_one(&machine, policy.name(), scope.name(), pod);
                    assert_eq!(found, expected, "{name} {} {} {}", pod.name, policy.name(), scope.name());
                    *seen.entry(policy.name()).or_insert(0) += found;
                }
            }
        }
        assert!(seen.values().all(|fit| *fit > 20), "{seen:?}");
    }
}
