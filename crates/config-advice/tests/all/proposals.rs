//! Broken configurations on every built-in machine: each fault is found, each remedy repairs, each proposal is accepted.

use config_advice::{Cause, DecidedBy, Finding, Hazard, Severity, changes, check, propose};
use cpuset::CpuSet;
use node_config::KubeletConfiguration;
use rayon::prelude::*;
use serde_json::Value;
use topology_discovery::{SysfsTree, read};
use topology_manifest::{Source, read_kubelet_config};
use topology_model::KubeletView;

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
    check(config, &propose(config, view, DecidedBy::Kubelet), view, DecidedBy::Kubelet)
}

/// Whether a kubelet refuses running pods for `full-pcpus-only`, which is kept where it is asked for.
fn is_of_whole_cores(finding: &Finding) -> bool {
    matches!(&finding.cause, Cause::Hazard(Hazard::RefusedAtRestart { reason, .. }) if reason == "SMTAlignmentError")
}

#[test]
fn what_is_proposed_is_accepted_on_every_machine() {
    views().into_par_iter().for_each(|(name, view)| {
        for (fields, faults) in CONFIGS {
            let config = configuration(&text(fields));
            let proposal = propose(&config, &view, DecidedBy::Kubelet);
            let found = checked(&config, &view);
            for fault in faults {
                let own = found.iter().find(|finding| finding.field == *fault);
                assert!(own.is_some(), "{name}: {fields}: nothing said of {fault}: {found:?}");
            }
            let harmless = found.iter().all(|finding| finding.cause.severity() == Severity::Harmful);
            assert_eq!(faults.is_empty(), harmless, "{name}: {fields}: {found:?}");
            // As it is written and read again.
            let again = configuration(&serde_saphyr::to_string(&proposal).unwrap());
            let mut left = checked(&again, &view);
            if fields.contains("full-pcpus-only") {
                left.retain(|finding| !is_of_whole_cores(finding));
            }
            assert!(left.is_empty(), "{name}: {fields}: {proposal:?} has {left:?}");
            let more = changes(&again, &propose(&again, &view, DecidedBy::Kubelet));
            assert!(more.is_empty(), "{name}: {fields}: {proposal:?} is not the last word: {more:?}");
            let cores = view.cpus().cores();
            let reserved: CpuSet = again.reserved_cpus().parse().unwrap();
            assert!(
                cores.into_iter().all(|(_, core)| core.is_disjoint(&reserved) || core.is_subset(&reserved)),
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
            for finding in checked(&config, &view).into_iter().filter(|own| !is_of_whole_cores(own)) {
                let expected = &finding.remedy;
                assert!(!expected.is_empty(), "{name}: {fields}: nothing is expected for {finding:?}");
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
                let mut left = left.iter().filter(|left| !is_of_whole_cores(left));
                let same = left.find(|left| left.field == finding.field);
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
fn a_name_that_is_mistyped_becomes_the_one_that_is_meant() {
    let (_, view) = views().into_iter().find(|(name, _)| *name == "xeon-2s-96cpu-sriov").unwrap();
    for (policy, scope, meant) in [
        ("single-numa", "pods", ("single-numa-node", "pod")),
        ("Single_NUMA_Node", "Pod", ("single-numa-node", "pod")),
        ("besteffort", "containers", ("best-effort", "container")),
        ("strict", "node", ("restricted", "container")),
        ("-", "?", ("restricted", "container")),
    ] {
        let given = text(&format!("topologyManagerPolicy: {policy:?}\ntopologyManagerScope: {scope:?}"));
        let proposal = propose(&configuration(&given), &view, DecidedBy::default());
        assert_eq!((proposal.topology_policy(), proposal.topology_scope()), meant, "{policy}, {scope}");
    }
}
