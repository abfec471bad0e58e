//! Faults of the kubelet that affect a pod although it is admitted or refused as usual, each with its cause. A fault that
//! replaces the kubelet's answer is a fate.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cpu_manager::{AllocateError, WholeCoresError};
use k8s_quantity::Quantity;
use kubelet_release::{Fault, Release, WholeCoreCheck};
use pod_spec::{Pod, PodLevelResources, ResourceName};
use topology_admission::{Cause, Ledger, Node, Searches, Verdict};

use crate::facts::Facts;

/// Faults that affect an admitted pod, where a kubelet decides.
pub(crate) fn of_admitted(facts: &Facts<'_>) -> impl Iterator<Item = (Fault, String)> {
    let rules = facts.node.kubelet_rules();
    let decides = facts.node.compat().searches == Searches::AsTheKubelet;
    let found = decides.then(|| [refused_after_restart(facts), overhead_counted_again(facts)]);
    let release = rules.version.release();
    found.into_iter().flatten().flatten().filter(move |(fault, _)| fault.is_in(release))
}

/// A restarted kubelet requires as many free whole cores as a running container already holds: the pod's own, or one that
/// was admitted before it.
fn refused_after_restart(facts: &Facts<'_>) -> Option<(Fault, String)> {
    let rules = facts.node.kubelet_rules();
    if rules.whole_core_check != WholeCoreCheck::Everyone {
        return None;
    }
    let own = lacks_whole_cores(facts.node, facts.after, facts.pod).then(|| "the pod".to_owned());
    let pods: Vec<String> = own.into_iter().chain(others_that_lack(facts)).collect();
    let holds = match pods.len() {
        0 => return None,
        1 => "holds",
        _ => "each hold",
    };
    let release = rules.version.release();
    let because = format!(
        "full-pcpus-only is on, and a kubelet of {release} that restarts requires as many free whole cores as {} {holds}; \
         with this pod fewer are free",
        pods.join(" and ")
    );
    Some((Fault::SmtAfterRestart, because))
}

/// Pods with exclusive CPUs that a restarted kubelet admits without `facts.pod`, and refuses with it.
fn others_that_lack(facts: &Facts<'_>) -> Vec<String> {
    let (Some(before), Some(after)) = (facts.before.cpus(), facts.after.cpus()) else { return Vec::new() };
    if before.shared() == after.shared() {
        return Vec::new();
    }
    let others = facts.before.pods().filter(|pod| {
        pod.uid != facts.pod.uid
            && before.of_pod(&pod.uid).next().is_some()
            && facts.after.has_pod(&pod.uid)
            && lacks_whole_cores(facts.node, facts.after, pod)
            && !lacks_whole_cores(facts.node, facts.before, pod)
    });
    others.map(|pod| facts.named(&pod.uid).name).collect()
}

/// Whether a kubelet that admits the pod again finds too few free whole cores.
fn lacks_whole_cores(node: &Node, ledger: &Ledger, pod: &Pod) -> bool {
    let Verdict::Refused(refused) = node.admission(ledger, pod).attempt().verdict else { return false };
    matches!(refused.cause, Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotEnough { .. })))
}

/// The kubelet adds the overhead to the pod's own amount, where Go keeps that as a big decimal.
fn overhead_counted_again(facts: &Facts<'_>) -> Option<(Fault, String)> {
    if facts.node.pod_rules().pod_level != PodLevelResources::Count {
        return None;
    }
    let own = facts.pod.resources.as_ref()?;
    let mut amounts = own.requests.iter().chain(&own.limits);
    let is_added_to = |(resource, amount): &(&ResourceName, &Quantity)| {
        amount.is_big() && facts.pod.overhead.contains_key(*resource)
    };
    let (resource, _) = amounts.find(is_added_to)?;
    let because = format!(
        "the pod has overhead, and its {resource} at pod level is written with a fraction or many digits"
    );
    Some((Fault::OverheadAlias, because))
}

/// Faults that can explain the message with which a kubelet of `release` refused a pod.
pub(crate) fn of_refusal(message: &str, release: Release) -> impl Iterator<Item = (Fault, String)> {
    let found = if message.contains("no containers return in allocation response") {
        vec![(Fault::BlockedDevices, String::from("its device plugin answered without any container"))]
    } else if message.contains("requested number of devices unavailable for") {
        vec![
            (
                Fault::ReplacedPlugin,
                String::from("a plugin of the resource may have ended after its successor had registered"),
            ),
            (
                Fault::BlockedDevices,
                String::from("a plugin of the resource may once have answered without any container"),
            ),
        ]
    } else {
        Vec::new()
    };
    found.into_iter().filter(move |(fault, _)| fault.is_in(release))
}
