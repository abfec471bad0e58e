//! Whole nodes: pods after defaulting, configurations, and what is reserved.

mod node;
mod config;
mod reserved;
mod plugins;
mod show;
mod choice;
mod sequence;
#[cfg(test)]
mod simulation;

use pod_spec::{Amounts, Container, Overhead, Pod, PodLevelResources, ResourceList};
use serde_json::{Map, Value, json};
use topology_manifest::{Source, read_pods_with};

use crate::case::{Case, Outcome, Runner};
use crate::corpus::Corpus;

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "effective" => effective,
        "config" => config::config,
        "reserved" => reserved::reserved,
        "sequence" => sequence::sequence,
        _ => return None,
    })
}

/// Effective requests and limits, and the QoS class.
fn effective(_: &Corpus, case: &Case) -> Outcome {
    let gate = case.input["config"]["featureGates"]["PodLevelResources"].as_bool();
    let pod_level = if gate == Some(false) { PodLevelResources::Ignored } else { PodLevelResources::Count };
    let manifest = case.input["pod"].to_string();
    let pod =
        Source::from_bytes("pod", manifest.as_bytes()).and_then(|source| read_pods_with(&source, pod_level));
    let pod = match pod.as_deref() {
        Ok([pod]) => pod,
        Ok(pods) => return Outcome::Failed { got: json!({ "pods": pods.len() }) },
        Err(error) => return Outcome::Failed { got: json!({ "error": error.to_string() }) },
    };
    case.compare(report(pod, pod_level))
}

fn report(pod: &Pod, pod_level: PodLevelResources) -> Value {
    // The gate is for defaults and classes: amounts at pod level count whatever it says.
    let effective = |which, overhead| listed(&pod.effective(which, PodLevelResources::Count, overhead));
    let of_containers = pod.effective(Amounts::Requests, PodLevelResources::Ignored, Overhead::Added);
    let mut report = json!({
        "containerRequests": listed(&of_containers),
        "containers": pod.containers.iter().map(container).collect::<Vec<_>>(),
        "limits": effective(Amounts::Limits, Overhead::Added),
        "limitsNoOverhead": effective(Amounts::Limits, Overhead::LeftOut),
        "podLevelResourcesSet": pod.has_pod_level_resources(),
        "qos": pod.qos_class(pod_level).name(),
        "requests": effective(Amounts::Requests, Overhead::Added),
        "requestsNoOverhead": effective(Amounts::Requests, Overhead::LeftOut),
    });
    if let Some(resources) = &pod.resources {
        report["podResources"] = amounts(&resources.requests, &resources.limits);
    }
    report
}

fn container(container: &Container) -> Value {
    let mut shown = amounts(&container.requests, &container.limits);
    shown["name"] = json!(container.name.as_str());
    shown["guaranteedEquivalent"] = json!(container.is_guaranteed_equivalent());
    shown
}

fn amounts(requests: &ResourceList, limits: &ResourceList) -> Value {
    json!({ "requests": listed(requests), "limits": listed(limits) })
}

fn listed(list: &ResourceList) -> Value {
    let amounts = list.iter().map(|(name, amount)| (name.to_string(), json!(amount.canonical().to_string())));
    Value::Object(amounts.collect::<Map<_, _>>())
}
