//! What is wrong with a kubelet configuration on a machine, and what would be right.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use node_config::{InvalidField, KubeletConfiguration, ReservationError, ReservedFor};
use serde::Serialize;
use serde_json::Value;
use topology_admission::{Compat, Node, StartFault};
use topology_manifest::Warning;
use topology_model::KubeletView;

use crate::node;

/// One thing about a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// The field that it is about.
    pub(crate) field: String,
    /// Where the field is in the file; absent if it is not written there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    pub(crate) problem: Problem,
    /// The kubelet's words where it has some.
    pub(crate) text: String,
    /// What the proposal has in its place; absent if it leaves the field out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Value>,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Problem {
    /// The kubelet does not start.
    Refused,
    /// It starts and passes over it.
    WithoutEffect,
    /// It starts and does what is hardly meant.
    Doubtful,
}

/// What the kubelet passes over.
pub(crate) fn without_effect(warnings: &[Warning]) -> Vec<Finding> {
    let finding = |warning: &Warning| {
        let error = warning.as_error();
        let (field, expected) = match error.problem() {
            topology_manifest::Problem::MisspeltField { found, meant } => (found.as_str(), Some(*meant)),
            topology_manifest::Problem::UnknownField { found, .. } => (found.as_str(), None),
            other => (error.field(), other.expected()),
        };
        Finding {
            field: field.to_owned(),
            line: Some(error.line()),
            problem: Problem::WithoutEffect,
            text: error.problem().to_string(),
            expected: expected.map(Value::from),
        }
    };
    warnings.iter().map(finding).collect()
}

/// A field that the proposal has otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Change {
    pub(crate) field: String,
    /// Absent where nothing is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Value>,
    /// Absent where nothing is to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<Value>,
}

/// What is wrong with `config`, whose text is `text`. `proposal` says what is expected.
pub(crate) fn check(
    config: &KubeletConfiguration,
    text: &str,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
) -> anyhow::Result<Vec<Finding>> {
    let expected = fields(proposal)?;
    let finding = |field: &str, problem, text: String| Finding {
        field: field.to_owned(),
        line: None,
        problem,
        text,
        expected: expected.get(field).cloned(),
    };
    // The kubelet stops at the first fault; what it would come to next is seen with that one mended.
    let mut found: Vec<Finding> = Vec::new();
    let mut mended = config.clone();
    loop {
        let mut faults: Vec<(&str, String)> =
            mended.validate().iter().map(|wrong| (invalid_field(wrong.field()), wrong.to_string())).collect();
        if faults.is_empty()
            && let Err(error) = Node::start(view, &mended, None, Compat::KUBELET)
        {
            faults.extend(error.faults().iter().map(|fault| (fault_field(fault), fault.to_string())));
        }
        faults.retain(|(field, _)| found.iter().all(|known| known.field != *field));
        if faults.is_empty() {
            break;
        }
        for (field, text) in faults {
            mend(&mut mended, proposal, field);
            found.push(finding(field, Problem::Refused, text));
        }
    }
    let doubts =
        doubts(config, view).into_iter().filter(|(field, _)| found.iter().all(|known| known.field != *field));
    let doubts: Vec<Finding> = doubts.map(|(field, text)| finding(field, Problem::Doubtful, text)).collect();
    found.extend(doubts);
    for finding in &mut found {
        finding.line = line_of(&finding.field, text);
    }
    Ok(found)
}

/// Puts what is proposed for a field in its place.
fn mend(config: &mut KubeletConfiguration, proposal: &KubeletConfiguration, field: &str) {
    let from = proposal.clone();
    match field {
        "cpuManagerPolicy" => config.cpu_manager_policy = from.cpu_manager_policy,
        "cpuManagerPolicyOptions" => config.cpu_manager_policy_options = from.cpu_manager_policy_options,
        "reservedSystemCPUs" => config.reserved_system_cpus = from.reserved_system_cpus,
        "memoryManagerPolicy" => config.memory_manager_policy = from.memory_manager_policy,
        // What is reserved on nodes has to be what is reserved in all.
        "reservedMemory" | "kubeReserved" | "systemReserved" | "evictionHard" => {
            config.reserved_memory = from.reserved_memory;
            config.kube_reserved = from.kube_reserved;
            config.system_reserved = from.system_reserved;
            config.eviction_hard = from.eviction_hard;
        }
        "topologyManagerPolicy" => config.topology_manager_policy = from.topology_manager_policy,
        "topologyManagerScope" => config.topology_manager_scope = from.topology_manager_scope,
        "topologyManagerPolicyOptions" => {
            config.topology_manager_policy_options = from.topology_manager_policy_options;
        }
        "featureGates" => config.feature_gates = from.feature_gates,
        "maxPods" => config.max_pods = from.max_pods,
        "podsPerCore" => config.pods_per_core = from.pods_per_core,
        "systemCgroups" => config.system_cgroups = from.system_cgroups,
        _ => {
            config.enforce_node_allocatable = from.enforce_node_allocatable;
            config.cgroups_per_qos = from.cgroups_per_qos;
        }
    }
}

/// What works and is hardly meant.
fn doubts(config: &KubeletConfiguration, view: &KubeletView) -> Vec<(&'static str, String)> {
    let mut doubts = Vec::new();
    let reserved: CpuSet = config.reserved_cpus().parse().unwrap_or_default();
    let split: Vec<String> = view
        .cpus()
        .cores()
        .filter(|(_, core)| !core.is_disjoint(&reserved) && !core.is_subset(&reserved))
        .map(|(_, core)| core.to_string())
        .collect();
    if !split.is_empty() && config.cpu_policy() == "static" {
        doubts.push((
            "reservedSystemCPUs",
            format!(
                "{reserved} has only a part of the cores {}: the rest is never given out as a whole core",
                split.join(" and ")
            ),
        ));
    }
    let policy = config.topology_policy();
    if policy != "none" && config.cpu_policy() != "static" && config.memory_policy() != "Static" {
        doubts.push((
            "topologyManagerPolicy",
            format!("{policy} aligns devices alone: cpuManagerPolicy is none, and memoryManagerPolicy None"),
        ));
    }
    if config.memory_policy() != "Static" && !config.reserved_memory.is_empty() {
        doubts.push(("reservedMemory", "without effect: memoryManagerPolicy is None".to_owned()));
    }
    doubts
}

fn invalid_field(wrong: &InvalidField) -> &'static str {
    match wrong {
        InvalidField::SystemCgroupsWithoutRoot => "systemCgroups",
        InvalidField::NegativeMaxPods(_) => "maxPods",
        InvalidField::NegativePodsPerCore(_) => "podsPerCore",
        InvalidField::TopologyPolicy(_) => "topologyManagerPolicy",
        InvalidField::TopologyScope(_) => "topologyManagerScope",
        InvalidField::SystemReservedWithoutCgroup => "systemReservedCgroup",
        InvalidField::KubeReservedWithoutCgroup => "kubeReservedCgroup",
        InvalidField::ReservedCpusBesideCgroups | InvalidField::ReservedCpus { .. } => "reservedSystemCPUs",
        InvalidField::ReservedType { .. }
        | InvalidField::ReservedZero { .. }
        | InvalidField::ReservedTwice { .. } => "reservedMemory",
        InvalidField::NoCgroups(_) => "cgroupsPerQOS",
        _ => "enforceNodeAllocatable",
    }
}

fn fault_field(fault: &StartFault) -> &'static str {
    match fault {
        StartFault::Gate(_) => "featureGates",
        StartFault::Reservation(ReservationError::CpuList(_) | ReservationError::NotOnline { .. })
        | StartFault::CpuReservation(_) => "reservedSystemCPUs",
        StartFault::Reservation(ReservationError::Amount { of: ReservedFor::Kube, .. }) => "kubeReserved",
        StartFault::Reservation(ReservationError::Eviction(_)) => "evictionHard",
        StartFault::Reservation(_) | StartFault::ReservedTooMuch(_) => "systemReserved",
        StartFault::Topology(_) => "topologyManagerPolicyOptions",
        StartFault::MemoryConfig(_) => "memoryManagerPolicy",
        StartFault::Memory(_) => "reservedMemory",
        StartFault::CpuConfig(node_config::CpuConfigError::UnknownPolicy(_)) => "cpuManagerPolicy",
        _ => "cpuManagerPolicyOptions",
    }
}

/// The line that writes a field, from 1.
fn line_of(field: &str, text: &str) -> Option<usize> {
    let writes = |line: &str| {
        line.split([',', '{', ' ', '\t']).any(|word| {
            let name = word.strip_suffix(':').or_else(|| word.split_once(':').map(|(name, _)| name));
            name.is_some_and(|name| name.trim_matches(['"', '\'']) == field)
        })
    };
    let not_comment = |line: &str| line.split('#').next().unwrap_or_default().to_owned();
    text.lines().position(|line| writes(&not_comment(line))).map(|at| at + 1)
}

/// The fields that are written.
fn fields(config: &KubeletConfiguration) -> anyhow::Result<BTreeMap<String, Value>> {
    let value = node::configuration_value(config)?;
    let fields = value.as_object().cloned().unwrap_or_default().into_iter();
    Ok(fields.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind")).collect())
}

/// In what the proposal differs.
pub(crate) fn changes(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
) -> anyhow::Result<Vec<Change>> {
    let (from, to) = (fields(config)?, fields(proposal)?);
    let mut names: Vec<&String> = from.keys().chain(to.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| from.get(*name) != to.get(*name));
    Ok(changed
        .map(|name| Change { field: name.clone(), from: from.get(name).cloned(), to: to.get(name).cloned() })
        .collect())
}

#[cfg(test)]
mod tests {
    use topology_discovery::{SysfsTree, read};
    use topology_manifest::{Source, read_kubelet_config};

    use super::*;

    /// Configurations, most of them broken, and the fields that are at fault on any machine.
    const CONFIGS: [(&str, &[&str]); 18] = [
        ("", &[]),
        ("cpuManagerPolicy: static", &["reservedSystemCPUs"]),
        ("cpuManagerPolicy: dynamic", &["cpuManagerPolicy"]),
        ("memoryManagerPolicy: Static", &["reservedMemory"]),
        ("memoryManagerPolicy: static", &["memoryManagerPolicy"]),
        (
            "topologyManagerPolicy: strict\ntopologyManagerScope: node",
            &["topologyManagerPolicy", "topologyManagerScope"],
        ),
        ("cpuManagerPolicy: static\nreservedSystemCPUs: 0-9000", &["reservedSystemCPUs"]),
        ("cpuManagerPolicy: static\nreservedSystemCPUs: all", &["reservedSystemCPUs"]),
        (
            "cpuManagerPolicy: static\nkubeReserved: {cpu: 1500m}\ncpuManagerPolicyOptions: {full-pcpus-only: 'yes', align-by-socket: 'true'}",
            &["cpuManagerPolicyOptions"],
        ),
        (
            "memoryManagerPolicy: Static\nkubeReserved: {memory: 1Gi}\nsystemReserved: {memory: 500M}\nevictionHard: {memory.available: 5%}\nreservedMemory: [{numaNode: 0, limits: {memory: 3Gi}}]",
            &["reservedMemory"],
        ),
        (
            "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 77, limits: {memory: 1Gi, hugepages-1Gi: 1Gi}}, {numaNode: 77, limits: {memory: 0}}]",
            &["reservedMemory"],
        ),
        ("systemReserved: {memory: 100Ti, cpu: 100k}\nkubeReserved: {memory: lots}", &["kubeReserved"]),
        ("evictionHard: {}\nmemoryManagerPolicy: Static", &["reservedMemory"]),
        ("evictionHard: {memory.available: 900Ti}", &["systemReserved"]),
        (
            "systemReservedCgroup: /system\nreservedSystemCPUs: '0'\ncpuManagerPolicy: static\nenforceNodeAllocatable: [pods, system-reserved]",
            &["reservedSystemCPUs"],
        ),
        (
            "enforceNodeAllocatable: [pods, pods, none]\ncgroupsPerQOS: false\nmaxPods: -1",
            &["enforceNodeAllocatable", "cgroupsPerQOS", "maxPods"],
        ),
        ("featureGates: {NoSuchGate: true, CPUManagerPolicyAlphaOptions: true}", &["featureGates"]),
        (
            "topologyManagerPolicy: best-effort\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: '2', no-such-option: 'true'}",
            &["topologyManagerPolicyOptions"],
        ),
    ];

    fn configuration(text: &str) -> KubeletConfiguration {
        read_kubelet_config(&Source { name: "kubelet.yaml", text }).unwrap().config
    }

    #[test]
    fn what_is_proposed_is_accepted_on_every_machine() {
        let mut machines = 0;
        for name in machine_fixtures::names() {
            let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
            let view = KubeletView::new(&read(&tree).unwrap().info).unwrap();
            for (fields, faults) in CONFIGS {
                let text = format!(
                    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n"
                );
                let config = configuration(&text);
                let proposal = node::propose(&config, &view);
                let found = check(&config, &text, &proposal, &view).unwrap();
                for fault in faults {
                    let own = found.iter().find(|finding| finding.field == *fault);
                    assert!(own.is_some(), "{name}: {fields}: nothing said of {fault}: {found:?}");
                }
                assert_eq!(faults.is_empty(), found.is_empty(), "{name}: {fields}: {found:?}");
                // As it is written and read again.
                let again = configuration(&node::configuration_text(&proposal).unwrap());
                let left = check(&again, "", &node::propose(&again, &view), &view).unwrap();
                assert!(left.is_empty(), "{name}: {fields}: {proposal:?} has {left:?}");
                let more = changes(&again, &node::propose(&again, &view)).unwrap();
                assert!(more.is_empty(), "{name}: {fields}: {proposal:?} is not the last word: {more:?}");
                let cores = view.cpus().cores();
                let reserved: CpuSet = again.reserved_cpus().parse().unwrap();
                assert!(
                    cores
                        .into_iter()
                        .all(|(_, core)| core.is_disjoint(&reserved) || core.is_subset(&reserved)),
                    "{name}: {fields}: {reserved} splits cores"
                );
            }
            machines += 1;
        }
        assert_eq!(machines, machine_fixtures::names().count());
    }

    #[test]
    fn fields_are_found_in_the_file() {
        let text = "a: 1 # cpuManagerPolicy: no\n{\"cpuManagerPolicy\": \"static\",\n  maxPods: 1, podsPerCore: 2}\n- evictionHard:\n";
        for (field, line) in [
            ("cpuManagerPolicy", Some(2)),
            ("maxPods", Some(3)),
            ("podsPerCore", Some(3)),
            ("evictionHard", Some(4)),
            ("cgroupRoot", None),
        ] {
            assert_eq!(line_of(field, text), line, "{field}");
        }
    }
}
