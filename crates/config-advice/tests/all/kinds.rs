//! Kinds of configurations that were called good and are not, or were made worse by a proposal: what is found, and what is
//! proposed for the field.

use config_advice::{DecidedBy, Severity, changes, check, notes, propose};
use node_config::KubeletConfiguration;
use serde_json::{Value, json};
use topology_manifest::{Source, read_kubelet_config};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

const SERVER: &str = "pack:2 [numa(memory=96GiB)] core:24 pu:2";

fn server(text: &str) -> KubeletView {
    KubeletView::new(&text.parse::<MachineInfo>().unwrap()).unwrap()
}

/// Four cores of two threads, then eight of one.
fn hybrid() -> KubeletView {
    let threads = [vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]].into_iter();
    let cores = threads.chain((8..16).map(|cpu| vec![cpu]));
    let core = |own| MachineCore { thread_ids: Some(own), ..MachineCore::default() };
    let node =
        MachineNode { cores: Some(cores.map(core).collect()), memory: 32 << 30, ..MachineNode::default() };
    KubeletView::new(&MachineInfo {
        num_cpus: 16,
        num_sockets: 1,
        memory_capacity: 32 << 30,
        topology: Some(vec![node]),
        ..MachineInfo::default()
    })
    .unwrap()
}

fn configuration(fields: &str) -> KubeletConfiguration {
    let text = format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n");
    read_kubelet_config(&Source { name: "kubelet.yaml", text: &text }).unwrap().config
}

/// The finding in `field` has these words, and the proposal this value of it; `null`: it leaves the field out.
#[track_caller]
fn found(view: &KubeletView, fields: &str, expected: (&str, Severity, &str), proposed: &Value) {
    let (field, severity, words) = expected;
    let config = configuration(fields);
    let proposal = propose(&config, view, DecidedBy::Kubelet);
    let findings = check(&config, &proposal, view, DecidedBy::Kubelet);
    let Some(finding) = findings.iter().find(|own| own.field == field) else {
        panic!("{fields}: nothing is said of {field}: {findings:?}");
    };
    let text = finding.cause.to_string();
    assert_eq!(finding.cause.severity(), severity, "{fields}: {text}");
    assert!(text.contains(words), "{fields}: {text}");
    let written = serde_json::to_value(&proposal).unwrap();
    assert_eq!(written.get(field).unwrap_or(&Value::Null), proposed, "{fields}");
}

#[test]
fn a_half_reserved_core_where_cores_differ_is_harmful() {
    let expected = ("reservedSystemCPUs", Severity::Harmful, "does not start again then");
    let list = "cpuManagerPolicy: static\nreservedSystemCPUs: ";
    found(&hybrid(), &format!("{list}'1'"), expected, &json!("0-1"));
    found(&hybrid(), &format!("{list}'0,8'"), expected, &json!("0-1"));
    // Where all cores have two threads it never happens.
    let doubtful = ("reservedSystemCPUs", Severity::Doubtful, "never given out as a whole core");
    found(&server(SERVER), &format!("{list}'1'"), doubtful, &json!("0-1"));
}

#[test]
fn a_node_that_cannot_restart_when_it_is_full_is_not_called_good() {
    let strict = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\ncpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}";
    let expected = ("cpuManagerPolicyOptions", Severity::Harmful, "default cpuset cannot be empty");
    found(&server(SERVER), strict, expected, &Value::Null);
    let cores = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\ncpuManagerPolicyOptions: {full-pcpus-only: 'true'}";
    // Whole cores that were asked for stay: the fault is the kubelet's, and a note of the proposal.
    let (config, view) = (configuration(cores), server(SERVER));
    let proposal = propose(&config, &view, DecidedBy::Kubelet);
    assert!(check(&config, &proposal, &view, DecidedBy::Kubelet).is_empty());
    let notes = notes(&proposal, &view, DecidedBy::Kubelet);
    assert!(notes.iter().any(|note| note.to_string().contains("refuses running pods")), "{notes:?}");
}

#[test]
fn listed_cpus_beside_cgroups_leave_the_cgroups_out() {
    let fields = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\nkubeReservedCgroup: /runtime\nsystemReservedCgroup: /system";
    let expected = ("reservedSystemCPUs", Severity::Refused, "can't use reservedSystemCPUs");
    found(&server(SERVER), fields, expected, &json!("0-1"));
    let proposal = propose(&configuration(fields), &server(SERVER), DecidedBy::Kubelet);
    assert_eq!((proposal.kube_reserved_cgroup, proposal.system_reserved_cgroup), (None, None));
    // Who lists none keeps the cgroups, and the amount.
    let counted = "cpuManagerPolicy: static\nkubeReserved: {cpu: 310m}\nkubeReservedCgroup: /runtime";
    let proposal = propose(&configuration(counted), &server(SERVER), DecidedBy::Kubelet);
    assert_eq!(proposal.reserved_cpus(), "");
    assert_eq!(proposal.kube_reserved["cpu"], "310m");
}

#[test]
fn a_virtual_machine_keeps_most_of_its_cpus_and_memory() {
    for (machine, reserved) in [
        ("[numa(memory=8GiB)] pack:4 core:1 pu:1", "0"),
        ("[numa(memory=16GiB)] pack:8 core:1 pu:1", "0"),
        ("[numa(memory=64GiB)] pack:32 core:1 pu:1", "0-3"),
    ] {
        let proposal =
            propose(&configuration("cpuManagerPolicy: static"), &server(machine), DecidedBy::Kubelet);
        assert_eq!(proposal.reserved_cpus(), reserved, "{machine}");
        let findings = check(&proposal, &proposal, &server(machine), DecidedBy::Kubelet);
        assert!(findings.is_empty(), "{machine}: {findings:?}");
    }
    let all = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-3";
    let expected = ("reservedSystemCPUs", Severity::Harmful, "is ever admitted");
    found(&server("[numa(memory=8GiB)] pack:4 core:1 pu:1"), all, expected, &json!("0"));
}

#[test]
fn amounts_and_options_that_do_nothing_are_told() {
    let half = "kubeReserved: {memory: 500m}";
    let expected = ("kubeReserved", Severity::Doubtful, "memory 500m is half a byte; 500Mi?");
    found(&server(SERVER), half, expected, &json!({"memory": "500Mi"}));
    let socket = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\ntopologyManagerPolicy: none\n\
                  featureGates: {CPUManagerPolicyAlphaOptions: true}\ncpuManagerPolicyOptions: {align-by-socket: 'true'}";
    let expected = ("cpuManagerPolicyOptions", Severity::WithoutEffect, "topologyManagerPolicy is none");
    found(&server(SERVER), socket, expected, &Value::Null);
}

#[test]
fn what_is_right_is_not_written_anew() {
    let fields = "cpuManagerPolicy: static\nreservedSystemCPUs: '1,0'\nmemoryManagerPolicy: None\ntopologyManagerPolicy: best-effort";
    let config = configuration(fields);
    let proposal = propose(&config, &server(SERVER), DecidedBy::Kubelet);
    assert!(changes(&config, &proposal).is_empty(), "{proposal:?}");
}
