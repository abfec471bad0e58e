//! Effective requests and limits, and the QoS class.
//!
//! Copies of a quantity in the big inner form share their number in the kubelet. Where it asks for what a pod needs with
//! overhead, the overhead of such an amount at pod level stays in the pod, and every later question sees it; so may the
//! limit that is a copy of the request, or the request of the limit. The product does not do that. A case that asks several questions is one of listed difference if the answers are the kubelet's when
//! each question leaves its overhead in exactly those amounts.

use std::collections::BTreeSet;

use pod_spec::{Amounts, Container, Overhead, Pod, PodLevelResources, PodRules, ResourceList};
use serde_json::{Map, Value, json};
use topology_admission::pod_rules;
use topology_manifest::{Source, read_pods_with};

use super::config::crashes_with_gates;
use super::node::configuration;

use crate::case::{Case, Listed, Outcome};
use crate::corpus::Corpus;

pub(super) fn effective(_: &Corpus, case: &Case) -> Outcome {
    let config = match configuration(case) {
        Ok(config) => config,
        Err(error) => return Outcome::unreadable(error),
    };
    if let Err(faults) = config.gates() {
        return crashes_with_gates(case, &faults);
    }
    let rules = pod_rules(&config);
    let manifest = case.input["pod"].to_string();
    let pod =
        Source::from_bytes("pod", manifest.as_bytes()).and_then(|source| read_pods_with(&source, rules));
    let pod = match pod.as_deref() {
        Ok([pod]) => pod,
        Ok(pods) => return Outcome::Failed { got: json!({ "pods": pods.len() }) },
        Err(error) => return Outcome::Failed { got: json!({ "error": error.to_string() }) },
    };
    let (apart, shared) = (BTreeSet::new(), copied(&case.input["pod"]["spec"]["resources"]));
    let report = |leaves, shared| report(Asked { pod: pod.clone(), leaves, shared }, rules);
    let is_left = |shared| case.compare(report(Leaves::Overhead, shared)) == Outcome::Passed;
    match case.compare(report(Leaves::Nothing, &apart)) {
        Outcome::Failed { .. } if is_left(&apart) || is_left(&shared) => Outcome::Listed(Listed::Reproduced),
        outcome => outcome,
    }
}

/// What a question leaves in the pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    Nothing,
    /// What it added, where numbers are shared.
    Overhead,
}

/// A pod that questions are asked about.
struct Asked<'a> {
    pod: Pod,
    leaves: Leaves,
    /// Whose requests and limits at pod level are one number.
    shared: &'a BTreeSet<String>,
}

/// What has a request or a limit in a manifest, of which the other is a copy.
fn copied(resources: &Value) -> BTreeSet<String> {
    let names = |of: &str| -> BTreeSet<String> {
        resources[of].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    names("requests").symmetric_difference(&names("limits")).cloned().collect()
}

impl Asked<'_> {
    fn effective(&mut self, which: Amounts, overhead: Overhead) -> Value {
        // The gate is for defaults and classes: amounts at pod level count whatever it says.
        let answer = listed(&self.pod.effective(which, PodLevelResources::Count, overhead));
        if self.leaves == Leaves::Overhead
            && overhead == Overhead::Added
            && let Some(resources) = &mut self.pod.resources
        {
            let (own, other) = match which {
                Amounts::Requests => (&mut resources.requests, &mut resources.limits),
                Amounts::Limits => (&mut resources.limits, &mut resources.requests),
            };
            for (resource, amount) in own.iter_mut().filter(|(resource, _)| resource.is_pod_level()) {
                let is_added = which == Amounts::Requests || !amount.is_zero();
                if let Some(more) = self.pod.overhead.get(resource).filter(|_| is_added && amount.is_big()) {
                    *amount += more;
                    if self.shared.contains(resource.as_str())
                        && let Some(copy) = other.get_mut(resource)
                    {
                        *copy += more;
                    }
                }
            }
        }
        answer
    }
}

/// The questions in the order in which they are asked.
fn report(mut asked: Asked, rules: PodRules) -> Value {
    let qos = asked.pod.qos_class(rules).name();
    let requests = asked.effective(Amounts::Requests, Overhead::Added);
    let requests_alone = asked.effective(Amounts::Requests, Overhead::LeftOut);
    let limits = asked.effective(Amounts::Limits, Overhead::Added);
    let limits_alone = asked.effective(Amounts::Limits, Overhead::LeftOut);
    let pod = asked.pod;
    let of_containers = pod.effective(Amounts::Requests, PodLevelResources::Ignored, Overhead::Added);
    let mut report = json!({
        "containerRequests": listed(&of_containers),
        "containers": pod.containers.iter().map(container).collect::<Vec<_>>(),
        "limits": limits,
        "limitsNoOverhead": limits_alone,
        "podLevelResourcesSet": pod.has_pod_level_resources(),
        "qos": qos,
        "requests": requests,
        "requestsNoOverhead": requests_alone,
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
