//! The next restart of a kubelet as lines of a document.

use std::sync::Arc;

use cpu_manager::{AllocateError, WholeCoresError};
use kubelet_release::{Fault, WholeCoreCheck};
use pod_spec::Pod;
use serde::Serialize;
use topology_admission::{Cause, Node, Reason, Refused};

use crate::folder::StateFolder;
use crate::restart::{PodFate, Readmitted};

/// What the next restart of the kubelet does, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Restart {
    /// What it comes to.
    pub outcome: RestartOutcome,
    /// Why the kubelet does not start, whatever the files are; absent: only the files can keep it from that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// How many pods the kubelet admits again.
    pub admitted: usize,
    /// The pods that it does not admit again, in its order.
    pub refused: Vec<RefusedAgain>,
    /// Why what becomes of other pods is not known; absent: all that run are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_known: Option<String>,
}

/// What a restart comes to, most harmful first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RestartOutcome {
    /// The kubelet does not start.
    DoesNotStart,
    /// It starts, and pods that run are not admitted again.
    RefusesPods,
    /// Nothing is known to keep it from starting; what becomes of pods that are not known is not known either.
    NotKnown,
    /// It starts, and admits every pod that runs again.
    AdmitsAll,
}

/// A pod that runs and is not admitted again, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedAgain {
    /// `NAMESPACE/NAME`, or the UID where the name is not known.
    pub pod: String,
    /// Its own.
    pub uid: String,
    /// The kubelet's reason.
    pub reason: String,
    /// The kubelet's message.
    pub message: String,
    /// What is behind it, in a sentence.
    pub cause: String,
    /// What helps.
    pub help: String,
}

impl Restart {
    /// A restart of which nothing is known, for this reason.
    #[must_use]
    pub fn not_known(why: String) -> Self {
        Self { outcome: RestartOutcome::NotKnown, not_known: Some(why), ..Self::impossible() }
    }

    /// One in which the kubelet does not start.
    #[must_use]
    pub const fn impossible() -> Self {
        Self {
            outcome: RestartOutcome::DoesNotStart,
            stopped: None,
            admitted: 0,
            refused: Vec::new(),
            not_known: None,
        }
    }

    /// What the kubelet of `node`, which is as strict as the kubelet, makes of the folder beside the pods. `not_known` says
    /// which others may run.
    #[must_use]
    pub fn of(folder: &StateFolder, node: &Node, pods: &[Arc<Pod>], not_known: Option<String>) -> Self {
        let Ok(all) = folder.restart(node, pods) else { return Self::impossible() };
        let refused: Vec<RefusedAgain> =
            all.iter().filter_map(|readmitted| refused_again(readmitted, node)).collect();
        let admitted = all.iter().filter(|one| matches!(one.fate, PodFate::Admitted)).count();
        let undecided = all.iter().filter(|one| matches!(one.fate, PodFate::NotDecided)).count();
        let plugins = || format!("device plugins would be asked for {undecided} of the pods first");
        let not_known = not_known.or_else(|| (undecided > 0).then(plugins));
        let outcome = match (refused.is_empty(), &not_known) {
            (false, _) => RestartOutcome::RefusesPods,
            (true, Some(_)) => RestartOutcome::NotKnown,
            (true, None) => RestartOutcome::AdmitsAll,
        };
        Self { outcome, stopped: None, admitted, refused, not_known }
    }

    /// What is wrong with it, each in one sentence.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        let stopped = self
            .stopped
            .iter()
            .map(|why| format!("the kubelet does not start, whatever the files are: {why}"));
        let refused = self.refused.iter().map(|RefusedAgain { pod, reason, cause, .. }| {
            format!("the next restart of the kubelet refuses {pod} ({reason}): {cause}")
        });
        stopped.chain(refused)
    }

    /// Whether something is wrong with it.
    #[must_use]
    pub const fn is_wrong(&self) -> bool {
        matches!(self.outcome, RestartOutcome::DoesNotStart | RestartOutcome::RefusesPods)
    }
}

fn refused_again(Readmitted { pod, fate }: &Readmitted, node: &Node) -> Option<RefusedAgain> {
    let name = |pod: &Pod| {
        let Pod { namespace, name, uid, .. } = pod;
        if namespace.is_empty() || name.is_empty() { uid.to_string() } else { format!("{namespace}/{name}") }
    };
    let (reason, message, cause, help) = match fate {
        PodFate::Admitted | PodFate::NotDecided => return None,
        PodFate::Refused(refused) => {
            let (cause, help) = cause_and_help(refused, node);
            (refused.reason.to_string(), refused.message.clone(), cause, help)
        }
        PodFate::Preempted(by) => (
            "Preempting".to_owned(),
            "Preempted in order to admit critical pod".to_owned(),
            format!("{} is critical and has no room beside it", name(by)),
            NO_ROOM.to_owned(),
        ),
    };
    Some(RefusedAgain { pod: name(pod), uid: pod.uid.to_string(), reason, message, cause, help })
}

const NO_ROOM: &str = "reserve less, or delete pods before the kubelet restarts";
const DELETE: &str = "delete the pod before the kubelet restarts, so that it is placed anew";

/// What is behind a refusal, and what helps.
fn cause_and_help(refused: &Refused, node: &Node) -> (String, String) {
    let policy = node.policy().name();
    match (&refused.cause, &refused.reason) {
        (Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotMultiple { .. })), _) => (
            "full-pcpus-only is on, and the pod runs with a part of a core".to_owned(),
            format!("turn full-pcpus-only off, or {DELETE}"),
        ),
        (Cause::Cpus(AllocateError::WholeCores(_)), _) if asks_again(node) => (
            format!(
                "full-pcpus-only is on, and a kubelet of {} looks for free whole cores before it looks at what the pod holds \
                 ({})",
                node.kubelet_rules().version.release(),
                Fault::SmtAfterRestart.page()
            ),
            "turn full-pcpus-only off, leave as many CPUs free as the largest pod holds, or run kubelet 1.37"
                .to_owned(),
        ),
        (Cause::Cpus(_), _) => (
            "the files do not list its CPUs, and those that are free do not serve it".to_owned(),
            DELETE.to_owned(),
        ),
        (Cause::NotAligned(_) | Cause::MergeFailed(_), _) => (
            format!("policy {policy} does not accept where the pod runs now"),
            format!(
                "set the topology policy, its scope and options as they were when the pod came, or {DELETE}"
            ),
        ),
        (Cause::Memory(_), _) => (
            "the files do not list its memory as it requests it, and what is free does not serve it"
                .to_owned(),
            DELETE.to_owned(),
        ),
        (Cause::Devices(_), _) => (
            "the files do not list its devices, and no plugin has registered when the kubelet admits it"
                .to_owned(),
            DELETE.to_owned(),
        ),
        (Cause::Shortage(_), Reason::OutOf(resource)) if resource.as_str() == "pods" => (
            "more pods run than maxPods and podsPerCore allow".to_owned(),
            "allow more pods, or delete some before the kubelet restarts".to_owned(),
        ),
        (Cause::Shortage(_), Reason::OutOf(resource)) if resource.as_str().contains('/') => {
            (format!("the pods that run request more {resource} than the files list"), DELETE.to_owned())
        }
        (Cause::Shortage(_) | Cause::NobodyToPreempt(_), Reason::OutOf(resource)) => (
            format!(
                "the pods that run request more {resource} than is left beside what the configuration reserves"
            ),
            NO_ROOM.to_owned(),
        ),
        _ => ("the node is not any more what the pod demands".to_owned(), DELETE.to_owned()),
    }
}

/// Whether containers that run are asked for whole cores again.
fn asks_again(node: &Node) -> bool {
    node.kubelet_rules().whole_core_check == WholeCoreCheck::Everyone
}
