//! One machine while the simulation runs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;

use device_manager::Replies;
use kubelet_fates::{Blocker, Fate, Kubelet};
use pod_spec::{Pod, PodUid, Role};
use topology_admission::{ContainerId, Ledger, Verdict};

use crate::host::Host;
use crate::levels::{Demands, Levels};
use crate::scheduler::Account;

/// A machine with what runs on it.
pub(crate) struct HostState<'h> {
    /// Which kind it is.
    pub(crate) kind: usize,
    host: &'h Host<'h>,
    ledger: Ledger,
    pub(crate) levels: Levels,
    pub(crate) account: Account,
    /// The kinds of the pods that run.
    pub(crate) running: BTreeMap<PodUid, usize>,
    /// The pod on which its kubelet crashes or hangs: it gets to no other.
    blocker: Option<Blocker>,
}

/// What came of a pod that was sent to a machine.
pub(crate) enum Arrived {
    /// It was decided on.
    Decided(Verdict),
    /// Its kubelet does not simply admit or refuse it: it is not placed there.
    Fated(Fate),
}

impl<'h> HostState<'h> {
    pub(crate) fn new(kind: usize, host: &'h Host<'h>, demands: &Demands, account: Account) -> Self {
        let levels = Levels::new(host, demands);
        let (ledger, running) = (host.empty.clone(), BTreeMap::new());
        Self { kind, host, ledger, levels, account, running, blocker: None }
    }

    /// Admits `pod` if it fits, and starts its containers.
    pub(crate) fn arrive(&mut self, pod: &Pod) -> Arrived {
        if let Some(blocker) = &self.blocker {
            return Arrived::Fated(Fate::NotReached(Box::new(blocker.clone())));
        }
        let mut replies = Replies::new();
        let attempt = loop {
            let attempt = self.host.node.admission(&self.ledger, pod).with(&replies).attempt();
            let Verdict::NeedsPlugin(question) = &attempt.verdict else { break attempt };
            let reply = self.host.plugins.answer(question);
            replies.insert(question.clone(), reply);
        };
        let fate = Kubelet::of(self.host.node).and_then(|own| own.fate(&self.ledger, pod, &replies));
        match fate {
            // It runs there, with harm that a simulation without restarts does not see.
            Some(Fate::GivesTwice(_) | Fate::CannotRestart(_) | Fate::LosesCpus) | None => {}
            Some(fate) if fate.is_waited_for() => {}
            Some(fate) => {
                self.blocker = Blocker::of(pod, &fate);
                return Arrived::Fated(fate);
            }
        }
        let verdict = attempt.verdict.clone();
        if let Ok(after) = self.ledger.commit(attempt) {
            self.ledger = after;
        }
        // What init containers hand on is only handed on when the next one starts.
        let hands_on = pod.containers.iter().any(|container| container.role == Role::Init);
        if hands_on && matches!(verdict, Verdict::Admitted(_)) {
            for container in &pod.containers {
                let id = ContainerId::from(format!("{}/{}", pod.uid, container.name).as_str());
                self.ledger = self.ledger.create(&pod.key(container), id);
            }
        }
        self.host.measure(&self.ledger, &mut self.levels.free);
        Arrived::Decided(verdict)
    }

    /// What the machine's pods hold.
    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// `pod` is gone, and what it held is free.
    pub(crate) fn leave(&mut self, pod: &PodUid) {
        self.ledger = self.ledger.release(pod);
        self.host.measure(&self.ledger, &mut self.levels.free);
    }

    /// How many CPUs containers have for themselves, and how many they could have.
    pub(crate) fn cpus(&self) -> (u64, u64) {
        if self.host.resources.first().is_none_or(|first| first.as_str() != "cpu") {
            return (0, 0);
        }
        let numa = self.host.numa();
        let sum = |amounts: &[u64]| amounts.iter().take(numa).sum::<u64>();
        let all = sum(&self.host.capacity);
        (all.saturating_sub(sum(&self.levels.free)), all)
    }
}
