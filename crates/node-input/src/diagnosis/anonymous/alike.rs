//! Whether the diagnosis of an anonymous bundle is that of the original, but for names.

use std::collections::BTreeMap;

use node_output::{Diagnosis, NodeDiagnosis, RefusedPod};

use super::names::{NameKind, Names};

/// In what the diagnosis of an anonymous bundle differs from that of the original, as text to be shown.
#[must_use]
pub fn differences(original: &Diagnosis, anonymous: &Diagnosis, names: &Names) -> Vec<String> {
    let of_kind = |kind, text: &str| {
        names
            .by_kind()
            .get(&kind)
            .and_then(|names| names.get(text))
            .cloned()
            .unwrap_or_else(|| text.to_owned())
    };
    let mut found = Vec::new();
    let others: BTreeMap<&str, &NodeDiagnosis> =
        anonymous.nodes.iter().filter_map(|node| Some((node.name.as_deref()?, node))).collect();
    for node in &original.nodes {
        let name = node.name.as_ref().map(|name| of_kind(NameKind::Node, name));
        let other = match &name {
            Some(name) => others.get(name.as_str()).copied(),
            None => anonymous
                .nodes
                .iter()
                .find(|node| node.name.as_ref().is_some_and(|name| name.starts_with("node-without-name"))),
        };
        let shown = name.as_deref().unwrap_or("the node without a name");
        let Some(other) = other else {
            found.push(format!("{shown} is not in it"));
            continue;
        };
        compare(shown, node, other, &mut found);
        let pod = |pod: &str| {
            let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
            format!("{}/{}", of_kind(NameKind::Namespace, namespace), of_kind(NameKind::Pod, name))
        };
        pods(shown, &node.refused, &other.refused, &pod, &mut found);
    }
    found
}

/// The answers about a node.
fn compare(shown: &str, one: &NodeDiagnosis, other: &NodeDiagnosis, found: &mut Vec<String>) {
    let mut same = |what: &str, is_same: bool| {
        if !is_same {
            found.push(format!("{shown}: {what}"));
        }
    };
    same("the release of its kubelet", one.kubelet.rules_of == other.kubelet.rules_of);
    let line = |node: &NodeDiagnosis| {
        node.node
            .as_ref()
            .map(|line| (line.topology_policy, line.topology_scope, line.cpu_policy, line.memory_policy))
    };
    same("its policies", line(one) == line(other));
    let findings = |node: &NodeDiagnosis| {
        node.configuration.as_ref().map(|config| {
            let mut all: Vec<_> = config
                .findings
                .iter()
                .filter(|finding| {
                    matches!(
                        finding.severity(),
                        config_advice::Severity::Refused | config_advice::Severity::Harmful
                    )
                })
                .map(|finding| finding.field().to_owned())
                .collect();
            all.sort();
            all
        })
    };
    same("what is wrong with its configuration", findings(one) == findings(other));
    let state = |node: &NodeDiagnosis| {
        node.state.as_ref().map(|state| {
            let findings: Vec<_> =
                state.findings.iter().map(|finding| (finding.problem, finding.file.clone())).collect();
            (findings, state.restart.outcome, state.restart.refused.len())
        })
    };
    same("what its state files are", state(one) == state(other));
    same("how often its kubelet failed to start", one.failed_starts.len() == other.failed_starts.len());
}

/// The decisions on refused pods.
fn pods(
    shown: &str,
    one: &[RefusedPod],
    other: &[RefusedPod],
    name: &impl Fn(&str) -> String,
    found: &mut Vec<String>,
) {
    let others: BTreeMap<&str, &RefusedPod> = other.iter().map(|pod| (pod.pod.as_str(), pod)).collect();
    let verdict = |pod: &RefusedPod| {
        pod.decision.as_ref().map(|report| report.refusal().map(|refusal| refusal.reason.to_string()))
    };
    if one.len() != other.len() {
        found.push(format!("{shown}: {} refused pods in place of {}", other.len(), one.len()));
    }
    for pod in one {
        let own = name(&pod.pod);
        match others.get(own.as_str()) {
            None => found.push(format!("{shown}: the refusal of {own} is not in it")),
            Some(other) if verdict(pod) != verdict(other) => {
                found.push(format!("{shown}: {own} is decided otherwise"));
            }
            Some(_) => {}
        }
    }
}
