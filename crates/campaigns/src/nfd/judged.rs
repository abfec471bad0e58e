//! The figures as a document, with a verdict on each kind of difference: its cause, and which side is right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, ensure};

use super::compare::{Comparison, Difference};
use super::latency::Latency;
use super::updater::RELEASE;

/// The comparison of a machine with a configuration.
pub(super) struct Outcome {
    pub(super) machine: &'static str,
    pub(super) configuration: &'static str,
    pub(super) comparison: Comparison,
}

/// A kind of difference: which fields it covers, and the verdict.
struct Kind {
    name: &'static str,
    is_it: fn(&Outcome, &Difference) -> bool,
    verdict: &'static str,
}

/// The first kind that matches counts.
const KINDS: &[Kind] = &[
    Kind {
        name: "attributes of ours",
        is_it: |_, found| found.theirs.is_none() && found.field.contains(" attribute topolet.dev/"),
        verdict: "only here: free whole cores and memory groups, which amounts do not show",
    },
    Kind {
        name: "placement of containers",
        is_it: |_, found| {
            found.theirs.is_none() && found.field.contains("attribute topology.node.k8s.io/numaplacement")
        },
        verdict: "only here, in the form of the resource topology exporter; the scheduler plugins need it to simulate an \
                  eviction",
    },
    Kind {
        name: "method and annotation of the fingerprint",
        is_it: |_, found| {
            found.theirs.is_none()
                && (found.field == "attribute nodeTopologyPodsFingerprintMethod"
                    || found.field.starts_with("annotation "))
        },
        verdict: "the fingerprints are equal; readers take a missing method for `all`, so both are right",
    },
    Kind {
        name: "policies of managers",
        is_it: |_, found| {
            let names = ["cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerMaxNUMANodes"];
            found.theirs.is_none() && names.iter().any(|name| found.field == format!("attribute {name}"))
        },
        verdict: "only here; the scheduler plugins read the number of NUMA nodes, and take 8 without it",
    },
    Kind {
        name: "NUMA nodes whose ids have gaps",
        is_it: |outcome, found| outcome.comparison.is_of_lonely_zone(&found.field),
        verdict: "here: the updater takes the place of a node for its id, names nodes that the machine lacks, and leaves \
                  out those that it has",
    },
    Kind {
        name: "CPUs where the CPU manager's policy is `none`",
        is_it: |outcome, found| {
            let is_none = found.theirs.as_deref().is_none_or(|theirs| theirs == "0");
            outcome.configuration == "none"
                && found.field.contains(" cpu ")
                && is_none
                && found.ours.is_some()
        },
        verdict: "here: the kubelet gives out all CPUs, and no node limits a pod. A scheduler that reads 0, or nothing, takes no \
                  Guaranteed pod for the node once the topology manager's policy is another one",
    },
    Kind {
        name: "memory and huge pages where the memory manager's policy is `None`",
        is_it: |outcome, found| {
            let is_memory = found.field.contains(" memory ") || found.field.contains(" hugepages-");
            outcome.configuration == "none" && is_memory && found.theirs.is_none()
        },
        verdict: "here, for the same reason: the kubelet binds no memory, and a scheduler takes a resource that no zone \
                  has for one that is nowhere",
    },
    Kind {
        name: "CPUs of nodes without CPUs",
        is_it: |_, found| {
            found.field.contains(" cpu ") && found.theirs.as_deref() == Some("0") && found.ours.is_none()
        },
        verdict: "both: 0 there, no such resource here",
    },
];

/// The document.
pub(super) fn text(outcomes: &[Outcome], latency: &Latency) -> anyhow::Result<String> {
    let mut text = format!(
        "nfd-topology-updater v{RELEASE}, built from its Go module and unmodified, read the pod resources of the same \
         nodes.\n\n| machine | policies | equal fields | differences |\n|---|---|---|---|\n"
    );
    let mut kinds: BTreeMap<usize, Vec<(&Outcome, &Difference)>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for outcome in outcomes {
        for difference in &outcome.comparison.differences {
            match KINDS.iter().position(|kind| (kind.is_it)(outcome, difference)) {
                Some(kind) => kinds.entry(kind).or_default().push((outcome, difference)),
                None => unknown.push(format!(
                    "{}, {}: {}",
                    outcome.machine,
                    outcome.configuration,
                    shown(difference)
                )),
            }
        }
        let Outcome { machine, configuration, comparison } = outcome;
        let _ = writeln!(
            text,
            "| {machine} | {configuration} | {} | {} |",
            comparison.equal,
            comparison.differences.len()
        );
    }
    ensure!(unknown.is_empty(), "differences without a verdict in judged.rs:\n{}", unknown.join("\n"));
    text.push_str("\n| difference | fields | for instance | who is right |\n|---|---|---|---|\n");
    for (kind, found) in kinds {
        let (outcome, example) = found.first().context("a kind without a difference")?;
        let Kind { name, verdict, .. } = &KINDS[kind];
        let _ = writeln!(
            text,
            "| {name} | {} | {}: {} | {verdict} |",
            found.len(),
            outcome.machine,
            shown(example)
        );
    }
    let Latency { admissions, mean, objects } = latency;
    let noun = if *objects == 1 { "object" } else { "objects" };
    let _ = writeln!(
        text,
        "\nFrom an admission until the API server has the object with it: {:.1} ms, the mean of {admissions} admissions \
         more than a\nsecond apart on an idle control plane. {admissions} admissions at once gave {objects} {noun}. The \
         updater looks every 60 s, and when\na state file changes.",
        mean.as_secs_f64() * 1e3,
    );
    Ok(text)
}

fn shown(difference: &Difference) -> String {
    let value =
        |value: &Option<String>| value.as_ref().map_or("nothing".to_owned(), |value| format!("`{value}`"));
    format!("{}: {}, here {}", difference.field, value(&difference.theirs), value(&difference.ours))
}
