//! Faults of the kubelet that affect a pod although it is admitted or refused as usual, each with its cause. A fault that
//! replaces the kubelet's answer is a fate.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cpu_manager::{AllocateError, WholeCoresError};
use k8s_quantity::Quantity;
use kubelet_release::{Fault, Release, WholeCoreCheck};
use pod_spec::{PodLevelResources, ResourceName};
use topology_admission::{Cause, Searches, Verdict};

use crate::facts::Facts;

/// Faults that affect an admitted pod, where a kubelet decides.
pub(crate) fn of_admitted(facts: &Facts<'_>) -> impl Iterator<Item = (Fault, String)> {
    let rules = facts.node.kubelet_rules();
    let decides = facts.node.compat().searches == Searches::AsTheKubelet;
    let found = decides.then(|| [refused_after_restart(facts), overhead_counted_again(facts)]);
    let release = rules.version.release();
    found.into_iter().flatten().flatten().filter(move |(fault, _)| fault.is_in(release))
}

/// A restarted kubelet requires as many free whole cores as a running container already holds.
fn refused_after_restart(facts: &Facts<'_>) -> Option<(Fault, String)> {
    let rules = facts.node.kubelet_rules();
    if rules.whole_core_check != WholeCoreCheck::Everyone || facts.node.cpus().is_none() {
        return None;
    }
    let again = facts.node.admission(facts.after, facts.pod).attempt();
    let Verdict::Refused(refused) = again.verdict else { return None };
    let Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotEnough { .. })) = refused.cause else {
        return None;
    };
    let release = rules.version.release();
    let because = format!(
        "full-pcpus-only is on, and a kubelet of {release} that restarts requires as many free whole cores as the pod holds; \
         fewer are free"
    );
    Some((Fault::SmtAfterRestart, because))
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
