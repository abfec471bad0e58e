//! Which pods of manifests are decided on: those that have not ended, and those that their kubelet did not admit, which
//! are decided on again.

use std::collections::BTreeMap;

use admission_report::KubeletRefusal;
use pod_spec::{Phase, Pod, PodUid};
use topology_manifest::Failure;

/// Pods of manifests, as questions.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Those that are decided on: first those that have not ended, then those that were refused, each in their order.
    pub pods: Vec<Pod>,
    /// The kubelet's reason and message for those that it refused.
    pub refused: BTreeMap<PodUid, KubeletRefusal>,
    /// That others have ended, which hold nothing, as text to be shown.
    pub left_out: Option<String>,
}

impl Questions {
    /// Of pods and of why those have failed that have.
    #[must_use]
    pub fn of(pods: Vec<Pod>, failures: &BTreeMap<PodUid, Failure>) -> Self {
        let refusal = |uid: &PodUid| {
            let Failure { reason, message } = failures.get(uid)?;
            KubeletRefusal::of_status(reason, message)
        };
        let (mut pods, over): (Vec<Pod>, Vec<Pod>) =
            pods.into_iter().partition(|pod| pod.phase == Phase::Active);
        let (mut refused, mut ended) = (BTreeMap::new(), Vec::new());
        for pod in over {
            match refusal(&pod.uid) {
                Some(said) => {
                    refused.insert(pod.uid.clone(), said);
                    pods.push(Pod { phase: Phase::Active, ..pod });
                }
                None => ended.push(pod),
            }
        }
        Self { pods, refused, left_out: left_out(&ended, failures) }
    }
}

fn left_out(ended: &[Pod], failures: &BTreeMap<PodUid, Failure>) -> Option<String> {
    let [pod, others @ ..] = ended else { return None };
    let name = format!("{}/{}", pod.namespace, pod.name);
    if !others.is_empty() {
        return Some(format!("{} pods have ended and are left out, {name} the first of them", ended.len()));
    }
    let reason = failures.get(&pod.uid).map(|failure| &failure.reason).filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    Some(format!("pod {name} has ended{reason} and is left out"))
}
