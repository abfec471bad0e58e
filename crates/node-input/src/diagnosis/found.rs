//! What a bundle has of a node, and what it lacks, with what gives it.

use node_output::{FoundPart, MissingPart};
use pod_spec::Phase;
use support_bundle::{DocumentKind, LogRead, NodeEvidence, Sourced, StateName};

use super::kubelet::FoundKubelet;
use super::machine::FoundMachine;
use super::residents::FoundResidents;

/// The parts that were found, and those that are missing.
pub(super) fn parts(
    evidence: &NodeEvidence,
    machine: Option<&FoundMachine>,
    kubelet: &FoundKubelet,
    residents: &FoundResidents,
) -> (Vec<FoundPart>, Vec<MissingPart>) {
    let node = evidence.name.as_deref().unwrap_or("NODE");
    let packed = machine.and_then(|found| found.machine.packed.as_deref());
    let mut parts = Parts::default();
    match machine {
        Some(FoundMachine { machine, files }) => {
            let nodes = machine.info.topology.as_ref().map_or(0, Vec::len);
            parts.found("machine", format!("{}, {}", count(machine.info.num_cpus, "CPU", "CPUs"), count(nodes, "NUMA node", "NUMA nodes")), files.clone());
        }
        None => parts.missing(
            "machine",
            "`topolet capture NODE.tar.zst` on the node packs it; or `lscpu -e` and `numactl --hardware` in files".to_owned(),
        ),
    }
    if kubelet.config.is_some() {
        parts.found("configuration", "of its kubelet".to_owned(), kubelet.files.clone());
    } else if packed.is_some_and(|packed| packed.config.is_some()) {
        parts.found("configuration", "in the node file".to_owned(), Vec::new());
    } else {
        parts.missing(
            "configuration",
            format!("`kubectl get --raw /api/v1/nodes/{node}/proxy/configz > configz.json`"),
        );
    }
    let kept =
        [StateName::Cpu, StateName::Memory, StateName::Device, StateName::Allocated, StateName::Claims];
    let kept: Vec<_> = kept.into_iter().filter_map(|name| Some((name, evidence.state(name)?))).collect();
    let has_none = kept.is_empty() && packed.is_none_or(|packed| packed.state.is_none());
    if let Some(listed) = residents.listed.as_ref().filter(|_| has_none) {
        parts.found("state", "what pods hold, as the kubelet lists it".to_owned(), vec![listed.name.clone()]);
    } else if has_none {
        parts.missing(
            "state",
            "/var/lib/kubelet/{cpu,memory}_manager_state and device-plugins/kubelet_internal_checkpoint"
                .to_owned(),
        );
    } else {
        let names: Vec<&str> = kept.iter().map(|(name, _)| name.file_name()).collect();
        let what = if names.is_empty() { "in the node file".to_owned() } else { names.join(", ") };
        parts.found("state", what, kept.iter().map(|(_, document)| document.path.clone()).collect());
    }
    pods(evidence, node, &mut parts);
    let statics: Vec<String> =
        evidence.of_kind(DocumentKind::StaticPod).map(|document| document.path.clone()).collect();
    if !statics.is_empty() {
        parts.found("static pods", count(statics.len(), "manifest", "manifests"), statics);
    }
    match (&residents.devices, evidence.of_kind(DocumentKind::PodResources).next()) {
        (Some(devices), _) => {
            parts.found("devices", "as the kubelet lists them".to_owned(), vec![devices.name.clone()]);
        }
        (None, held)
            if residents.state.device.is_none() && packed.is_none_or(|packed| packed.devices.is_none()) =>
        {
            let held =
                held.map(|held| format!("{} lists only what pods hold; ", held.path)).unwrap_or_default();
            parts.missing("devices", format!("{held}`topolet capture --node` on the node asks its kubelet"));
        }
        _ => {}
    }
    match &evidence.object {
        Some(object) => parts.found("node object", object.value.name.clone(), vec![object.path.clone()]),
        None => parts.missing("node object", format!("`kubectl get node {node} -o yaml > node.yaml`")),
    }
    logs(evidence, &mut parts);
    let events = evidence.events.len();
    if events > 0 {
        parts.found("events", count(events, "event about pods", "events about pods"), once(&evidence.events));
    }
    (parts.found, parts.missing)
}

fn pods(evidence: &NodeEvidence, node: &str, parts: &mut Parts) {
    if evidence.pods.is_empty() {
        let command =
            format!("`kubectl get pods -A --field-selector spec.nodeName={node} -o yaml > pods.yaml`");
        parts.missing("pods", command);
        return;
    }
    let active = evidence.pods.iter().filter(|pod| pod.pod.phase == Phase::Active).count();
    let ended = evidence.pods.len() - active;
    let what = if ended == 0 {
        count(active, "pod", "pods")
    } else {
        format!(
            "{}, and {ended} that {} ended",
            count(active, "pod", "pods"),
            if ended == 1 { "has" } else { "have" }
        )
    };
    let mut files: Vec<String> = evidence.pods.iter().map(|pod| pod.path.clone()).collect();
    files.sort();
    files.dedup();
    parts.found("pods", what, files);
}

fn logs(evidence: &NodeEvidence, parts: &mut Parts) {
    // A journal that has rotated its lines away prints that it has none.
    let (others, logs): (Vec<&LogRead>, Vec<&LogRead>) =
        evidence.logs.iter().partition(|log| log.is_empty() || !log.has_kubelet);
    if logs.is_empty() {
        let next = "`journalctl -u kubelet --no-pager > kubelet.log` on the node";
        parts.missing(
            "log",
            match others.first() {
                Some(log) => {
                    let none =
                        if log.is_empty() { "no lines" } else { "no line that is known as a kubelet's" };
                    format!("{} has {none}; {next}, if they are not rotated away there too", log.path)
                }
                None => next.to_owned(),
            },
        );
    }
    for LogRead { path, lines, is_end_alone, span, .. } in logs {
        let span = span.as_ref().map(|(first, last)| format!(", {first} to {last}")).unwrap_or_default();
        let end = if *is_end_alone { ", the last GiB of it" } else { "" };
        parts.found("log", format!("{}{span}{end}", count(*lines, "line", "lines")), vec![path.clone()]);
    }
}

#[derive(Default)]
struct Parts {
    found: Vec<FoundPart>,
    missing: Vec<MissingPart>,
}

impl Parts {
    fn found(&mut self, part: &str, what: String, files: Vec<String>) {
        self.found.push(FoundPart { part: part.to_owned(), what, files });
    }

    fn missing(&mut self, part: &str, next: String) {
        self.missing.push(MissingPart { part: part.to_owned(), next });
    }
}

fn once<T>(all: &[Sourced<T>]) -> Vec<String> {
    let mut files: Vec<String> = all.iter().map(|one| one.path.clone()).collect();
    files.sort();
    files.dedup();
    files
}

/// `1 CPU`, `2 CPUs`.
fn count(count: impl std::fmt::Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    format!("{count} {}", if count == "1" { one } else { many })
}
