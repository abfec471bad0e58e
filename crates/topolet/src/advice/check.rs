//! What is wrong with a kubelet configuration on a machine.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use node_config::{InvalidField, KubeletConfiguration, ReservationError, ReservedFor};
use serde::Serialize;
use serde_json::Value;
use topology_admission::{Compat, Node, StartFault};
use topology_manifest::Warning;
use topology_model::KubeletView;

use super::Target;
use super::fields::copy;
use super::hazard::hazards;
use super::remedy::{group, remedy};

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
    /// What makes it go away; absent if nothing is known to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Expected>,
}

/// What makes a finding go away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Expected {
    /// All of these fields together; `null`: the field is left out.
    Fields(BTreeMap<String, Value>),
    /// What is to be written there.
    Text(String),
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Problem {
    /// The kubelet does not start.
    Refused,
    /// It starts and passes over it.
    WithoutEffect,
    /// It starts, and pods cannot be admitted, or harm each other.
    Harmful,
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
            expected: expected.map(|text| Expected::Text(text.to_owned())),
        }
    };
    warnings.iter().map(finding).collect()
}

/// What is wrong with `config`, whose text is `text`, the worst first. `proposal` is what is right.
pub(crate) fn check(
    config: &KubeletConfiguration,
    text: &str,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: Target,
) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for Fault { field, problem, text: what } in faults(config, proposal, view, target) {
        let is_there = |config: &KubeletConfiguration| {
            faults(config, proposal, view, target).iter().any(|fault| fault.field == field)
        };
        let fields = remedy(config, proposal, field, is_there)?;
        findings.push(Finding {
            field: field.to_owned(),
            line: line_of(field, text),
            problem,
            text: what,
            expected: (!fields.is_empty()).then_some(Expected::Fields(fields)),
        });
    }
    Ok(findings)
}

/// One thing that is wrong; a field has at most one.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    problem: Problem,
    text: String,
}

pub(super) fn faults(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: Target,
) -> Vec<Fault> {
    // The kubelet stops at the first fault; what it would come to next is seen with that one mended.
    let mut found: Vec<Fault> = Vec::new();
    let mut mended = config.clone();
    loop {
        let mut texts = stops(&mended, view);
        texts.retain(|(field, _)| found.iter().all(|known| known.field != *field));
        if texts.is_empty() {
            break;
        }
        for (field, text) in texts {
            for field in group(field) {
                copy(&mut mended, proposal, field);
            }
            found.push(Fault { field, problem: Problem::Refused, text });
        }
    }
    let harmful = hazards(config, view, target).into_iter();
    let harmful = harmful.map(|hazard| (hazard.field, Problem::Harmful, hazard.text));
    let doubtful = doubts(config, view).into_iter().map(|(field, text)| (field, Problem::Doubtful, text));
    for (field, problem, text) in harmful.chain(doubtful) {
        if found.iter().all(|known| known.field != field) {
            found.push(Fault { field, problem, text });
        }
    }
    found
}

/// What keeps the kubelet from starting, as far as it comes, by field.
fn stops(config: &KubeletConfiguration, view: &KubeletView) -> Vec<(&'static str, String)> {
    let invalid: Vec<_> =
        config.validate().iter().map(|wrong| (invalid_field(wrong.field()), wrong.to_string())).collect();
    if !invalid.is_empty() {
        return invalid;
    }
    match Node::start(view, config, None, Compat::KUBELET) {
        Ok(_) => Vec::new(),
        Err(error) => error.faults().iter().map(|fault| (fault_field(fault), fault.to_string())).collect(),
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

#[cfg(test)]
mod tests {
    use rayon::prelude::*;
    use topology_discovery::{SysfsTree, read};
    use topology_manifest::{Source, read_kubelet_config};

    use super::*;
    use crate::advice::{changes, propose};

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

    fn views() -> Vec<(&'static str, KubeletView)> {
        let view = |name| {
            let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
            (name, KubeletView::new(&read(&tree).unwrap().info).unwrap())
        };
        machine_fixtures::names().map(view).collect()
    }

    fn text(fields: &str) -> String {
        format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n")
    }

    fn checked(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Finding> {
        check(config, "", &propose(config, view, Target::Kubelet), view, Target::Kubelet).unwrap()
    }

    #[test]
    fn what_is_proposed_is_accepted_on_every_machine() {
        views().into_par_iter().for_each(|(name, view)| {
            for (fields, faults) in CONFIGS {
                let config = configuration(&text(fields));
                let proposal = propose(&config, &view, Target::Kubelet);
                let found = checked(&config, &view);
                for fault in faults {
                    let own = found.iter().find(|finding| finding.field == *fault);
                    assert!(own.is_some(), "{name}: {fields}: nothing said of {fault}: {found:?}");
                }
                let harmless = found.iter().all(|finding| finding.problem == Problem::Harmful);
                assert_eq!(faults.is_empty(), harmless, "{name}: {fields}: {found:?}");
                // As it is written and read again.
                let again = configuration(&serde_saphyr::to_string(&proposal).unwrap());
                let left = checked(&again, &view);
                assert!(left.is_empty(), "{name}: {fields}: {proposal:?} has {left:?}");
                let more = changes(&again, &propose(&again, &view, Target::Kubelet)).unwrap();
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
        });
    }

    #[test]
    fn what_is_expected_makes_its_finding_go_away_when_it_is_all_that_is_applied() {
        let applied = views().into_par_iter().map(|(name, view)| {
            let mut applied = 0;
            for (fields, _) in CONFIGS {
                let config = configuration(&text(fields));
                for finding in checked(&config, &view) {
                    let Some(Expected::Fields(expected)) = &finding.expected else {
                        panic!("{name}: {fields}: nothing is expected for {finding:?}")
                    };
                    // As it is printed, beside what was there.
                    let mut mended = serde_json::to_value(&config).unwrap();
                    let object = mended.as_object_mut().unwrap();
                    for (field, value) in expected {
                        match value {
                            Value::Null => object.remove(field),
                            value => object.insert(field.clone(), value.clone()),
                        };
                    }
                    let left = checked(&configuration(&mended.to_string()), &view);
                    let same = left.iter().find(|left| left.field == finding.field);
                    assert!(same.is_none(), "{name}: {fields}: {expected:?} leaves {same:?}");
                    applied += 1;
                }
            }
            applied
        });
        let applied: usize = applied.sum();
        assert!(applied > 300, "{applied}");
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
