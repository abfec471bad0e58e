//! What happens to a kubelet, known before it decides on a pod.

use alloc::boxed::Box;
use alloc::vec::Vec;

use cpu_manager::StateError;
use cpuset::CpuSet;
use device_manager::{BlockedDevices, Devices, Replies};
use kubelet_release::Fault;
use pod_spec::{Pod, PodUid};
use topology_admission::{Admission, Ledger, RestoreError, Verdict};

use crate::fate::Fate;
use crate::fates::Fates;
use crate::kubelet::Kubelet;
use crate::possible::Possible;
use crate::replay::{Held, Replay};

/// What a start of the kubelet walks through to choose reserved CPUs that are not listed. What keeps it from starting is
/// what `Node::start` says.
pub fn of_configuration(kubelet: Kubelet<'_>) -> Fates {
    let mut fates = Fates::default();
    if let Some(cpus) = kubelet.node.cpus().filter(|_| kubelet.config.reserved_cpus().is_empty()) {
        let _ = fates.walked(cpus.walk_of_reservation());
    }
    fates
}

/// What is known before `pod` is admitted on what `ledger` holds.
pub fn of_pod(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Fates {
    let ledger = ledger.collect();
    let admission = kubelet.node.admission(&ledger, pod).with(replies);
    let mut replay = Replay {
        kubelet,
        devices: Devices::new(kubelet.node.kubelet_rules(), BlockedDevices::UntilPodGoes),
        held: Held {
            cpus: ledger.cpus().cloned(),
            memory: ledger.memory().cloned(),
            devices: ledger.devices().clone(),
        },
        ledger: &ledger,
        pod,
        replies,
        fates: Fates::default(),
    };
    // A step that stops ends the admission, with a fate or a refusal.
    let _ = replay.play(admission);
    let mut fates = replay.fates;
    if fates.fate.is_none() {
        fates.fate = given_twice(kubelet, &ledger, pod, admission).map(Fate::GivesTwice);
    }
    fates
}

/// What is known of a restart before each of `pods`, in the order in which the kubelet admits them again, on the ledger
/// with which it starts. A pod that is refused holds its share until all are admitted.
pub fn of_restart(kubelet: Kubelet<'_>, ledger: &Ledger, pods: &[Pod]) -> Vec<(PodUid, Fates)> {
    let (mut ledger, mut known) = (ledger.clone(), Vec::new());
    for pod in pods {
        let fates = of_pod(kubelet, &ledger, pod, &Replies::new());
        let ends = matches!(fates.fate, Some(Fate::Crashes(_) | Fate::NeverAnswers));
        known.push((pod.uid.clone(), fates));
        if ends {
            break;
        }
        let attempt = kubelet.node.admission(&ledger, pod).attempt();
        ledger = ledger.commit(attempt).unwrap_or(ledger);
    }
    known
}

/// CPUs that the pod would be given and that are reserved, or held by others.
fn given_twice(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod, admission: Admission<'_>) -> Option<CpuSet> {
    let attempt = admission.attempt();
    let (policy, before, after) = (kubelet.node.cpus()?, ledger.cpus()?, attempt.after.cpus()?);
    if !matches!(attempt.verdict, Verdict::Admitted(_)) {
        return None;
    }
    let mut others = policy.reserved().clone();
    for (_, _, cpus) in before.iter().filter(|(uid, ..)| **uid != pod.uid) {
        others |= cpus;
    }
    for (_, cpus) in before.whole_pods().filter(|(uid, _)| **uid != pod.uid) {
        others |= cpus;
    }
    let mut own = after.whole_pod(&pod.uid).cloned().unwrap_or_default();
    for (_, cpus) in after.of_pod(&pod.uid) {
        own |= cpus;
    }
    let twice = &own & &others;
    (!twice.is_empty()).then_some(twice)
}

/// An answer that takes longer is late.
const LATE: f64 = 1.0;

impl Kubelet<'_> {
    /// What happens in place of the answer on `pod` beside what `ledger` holds, or with it; `None`: it is answered at once,
    /// as [`Node::admission`](topology_admission::Node::admission) says.
    #[must_use]
    pub fn fate(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Option<Fate> {
        if Possible::of(*self, ledger, pod) == Possible::Something {
            let known = of_pod(*self, ledger, pod, replies);
            match known.fate {
                Some(fate) => return Some(fate),
                None if known.work.seconds() > LATE => return Some(Fate::AnswersLate(known.work)),
                None => {}
            }
        }
        self.loses(ledger, pod, replies).or_else(|| self.does_not_restart(ledger, pod, replies))
    }

    /// Whether the pod gets CPUs at pod level, which a restarted kubelet does not find.
    fn loses(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Option<Fate> {
        let is_in = Fault::PodCpusLost.is_in(self.node.kubelet_rules().version.release());
        if !is_in || !self.node.cpus()?.allocates_whole(pod) {
            return None;
        }
        let attempt = self.node.admission(ledger, pod).with(replies).attempt();
        let is_admitted = matches!(attempt.verdict, Verdict::Admitted(_));
        let own = attempt.after.cpus()?.whole_pod(&pod.uid)?;
        (is_admitted && !own.is_empty()).then_some(Fate::LosesCpus)
    }

    /// Whether the pod is the one beside which no kubelet starts again.
    fn does_not_restart(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Option<Fate> {
        let (may_fill, may_bind) = (self.may_fill(ledger), self.may_bind_uneven(ledger));
        if !may_fill && !may_bind {
            return None;
        }
        let attempt = self.node.admission(ledger, pod).with(replies).attempt();
        if !matches!(attempt.verdict, Verdict::Admitted(_)) {
            return None;
        }
        let error = if may_fill && attempt.after.cpus().is_some_and(is_full) {
            RestoreError::from(StateError::EmptySharedPool)
        } else {
            let (policy, held) = self.node.memory().zip(attempt.after.memory()).filter(|_| may_bind)?;
            RestoreError::Crash(policy.uneven_pages(held)?)
        };
        Some(Fate::CannotRestart(Box::new(error)))
    }

    /// Whether a pod can empty the shared pool, from which no kubelet starts; with `false` it is empty, or keeps the reserved
    /// CPUs.
    fn may_fill(&self, ledger: &Ledger) -> bool {
        let Some(policy) = self.node.cpus() else { return false };
        let keeps_reserved = policy.reserved().is_subset(policy.initial().shared());
        !keeps_reserved && !ledger.cpus().is_some_and(is_full)
    }

    /// Whether a pod can bind nodes together that do not list the same sizes of huge pages; with `false` some are bound so, or
    /// all list the same.
    fn may_bind_uneven(&self, ledger: &Ledger) -> bool {
        let Some((policy, held)) = self.node.memory().zip(ledger.memory()) else { return false };
        !policy.lists_same_pages() && policy.uneven_pages(held).is_none()
    }
}

/// Whether the shared pool is empty beside CPUs of containers.
fn is_full(held: &cpu_manager::Holdings) -> bool {
    held.shared().is_empty() && held.iter().next().is_some()
}
