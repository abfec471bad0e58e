//! The table about the devices of pods, where some configuration claims them.

use terminal_text::Page;

use crate::claims::ClaimWay;
use crate::device_figures::DevicePlacement;
use crate::report::Report;

/// What the columns about claims mean.
pub(crate) const LEGEND: [(&str, &str); 8] = [
    (
        "NoDevices",
        "kube-scheduler found no node with enough of everything that has the devices which the pod claims; DevicesTimedOut: not \
         within its limit of 10 s; DevicesNotDecided: our own search was cut",
    ),
    (
        "FailedPrepare...",
        "FailedPrepareDynamicResources: the kubelet admitted the pod, and the CPU driver could not prepare its CPUs; it counts as gone",
    ),
    (
        "BY",
        "how pods get devices: of one ATTRIBUTE means that matchAttribute has all devices of a claim agree in it",
    ),
    (
        "PODS",
        "admitted pods with devices, of plugins or of claims; of these ALIGNED are those that are none of the following",
    ),
    (
        "MISALIGNED",
        "pods of which a container has a device on another NUMA node than its exclusive CPUs or its bound memory; Kubernetes \
         does not report it",
    ),
    ("UNKNOWN", "pods of which a device has no known NUMA node, and none is known to be misaligned"),
    ("NOT PINNED", "pods whose containers have neither exclusive CPUs nor bound memory"),
    (
        "SEARCH STEPS",
        "calls of kube-scheduler's search for claimed devices, in all; MOST is those of the longest search",
    ),
];

/// The table of where the devices of admitted pods are, under each configuration; empty where no pod claims devices.
pub(crate) fn devices(report: &Report, page: Page) -> String {
    if !report.has_claims() {
        return String::new();
    }
    let head =
        ["DEVICES", "BY", "PODS", "ALIGNED", "MISALIGNED", "UNKNOWN", "NOT PINNED", "SEARCH STEPS", "MOST"];
    let rows = report.configurations.iter().map(|summary| {
        let mut row = vec![summary.configuration.clone(), way(summary.claims.as_ref())];
        row.push(summary.devices.map_or(0, DevicePlacement::pods).to_string());
        let counts = summary.devices.map(|of| [of.aligned, of.misaligned, of.unknown, of.nothing_pinned]);
        row.extend(counts.unwrap_or_default().map(|count| count.to_string()));
        row.extend(match &summary.searches {
            Some(searches) => [searches.steps.to_string(), searches.most_steps.to_string()],
            None => ["-".to_owned(), "-".to_owned()],
        });
        row
    });
    let head = head.map(str::to_owned).to_vec();
    format!("\n{}", page.columns(std::iter::once(head).chain(rows), ""))
}

/// How pods get devices: `plugins`, `claims of one numaNode, CPUs by numanode`.
fn way(claims: Option<&ClaimWay>) -> String {
    let Some(claims) = claims else { return "plugins".to_owned() };
    let mut text = "claims".to_owned();
    if let Some(attribute) = &claims.match_attribute {
        let id = attribute.split_once('/').map_or(attribute.as_str(), |(_, id)| id);
        text.push_str(&format!(" of one {id}"));
    }
    match claims.cpus {
        Some("individual") => text.push_str(", individual CPUs"),
        Some(group) => text.push_str(&format!(", CPUs by {group}")),
        None => {}
    }
    text
}
