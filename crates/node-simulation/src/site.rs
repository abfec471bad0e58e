//! One machine while the simulation runs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use admission_report::{Alignment, DecidedClaims};
use kubelet_fates::{Blocker, Fate, Kubelet};
use numa_bitmask::NodeMask;
use pod_spec::{Pod, PodUid, Role};
use topology_admission::{ContainerId, Ledger, Placement, Refused, Verdict};

use crate::claims::{ClaimSite, Claiming, Held, PrepareError, WithoutDevices, of_plugins, of_pod};
use crate::host::Host;
use crate::levels::{Demands, Levels};
use crate::scheduler::Account;

/// A machine with what runs on it.
pub(crate) struct HostState<'h> {
    /// Which kind it is.
    pub(crate) kind: usize,
    host: &'h Host<'h>,
    ledger: Ledger,
    /// What its pods claim; `None`: nothing is claimed there.
    pub(crate) claims: Option<ClaimSite>,
    pub(crate) levels: Levels,
    pub(crate) account: Account,
    /// The pods that run.
    pub(crate) running: BTreeMap<PodUid, Running>,
    /// The pod on which its kubelet crashes or hangs: it gets to no other.
    blocker: Option<Blocker>,
}

/// A pod that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Running {
    /// Its kind.
    pub(crate) template: usize,
    /// The number of its arrival.
    pub(crate) number: usize,
    /// When it leaves; `None`: it runs to the end.
    pub(crate) leaves: Option<Duration>,
}

/// What runs on a machine without claims, to be [restored](HostState::restore).
pub(crate) struct Saved {
    ledger: Ledger,
    account: Account,
    running: BTreeMap<PodUid, Running>,
}

impl Saved {
    /// How many pods run.
    pub(crate) fn running(&self) -> u64 {
        self.running.len() as u64
    }
}

/// What came of a pod that was sent to a machine.
pub(crate) enum Arrived {
    /// It runs.
    Admitted(Placement, Settled),
    /// The kubelet refuses it.
    Refused(Refused),
    /// kube-scheduler does not find the devices that it claims, for this reason.
    NoDevices(String),
    /// The kubelet admits it, and the CPU driver cannot prepare its CPUs.
    NotPrepared(PrepareError),
    /// Its kubelet does not simply admit or refuse it: it is not placed there.
    Fated(Fate),
    /// A device plugin did not answer.
    Unanswered,
}

/// Where an admitted pod is.
pub(crate) struct Settled {
    /// The NUMA nodes on which it holds something.
    pub(crate) places: NodeMask,
    /// Where its devices are beside its CPUs and memory; `None`: it has none.
    pub(crate) devices: Option<Alignment>,
}

impl<'h> HostState<'h> {
    /// A machine on which nothing runs. `kinds` are the kinds of pods as they claim devices; none where nothing is claimed.
    pub(crate) fn new(
        kind: usize,
        host: &'h Host<'h>,
        demands: &Demands,
        account: Account,
        kinds: &[Claiming],
    ) -> Self {
        let (levels, claims) = (Levels::new(host, demands), host.claim_site(kinds));
        let (ledger, running) = (host.empty.clone(), BTreeMap::new());
        Self { kind, host, ledger, claims, levels, account, running, blocker: None }
    }

    /// Admits `pod`, as it is sent to the machine, if it fits, and starts its containers.
    pub(crate) fn arrive(&mut self, pod: &Pod) -> Arrived {
        if let Some(blocker) = &self.blocker {
            return Arrived::Fated(Fate::NotReached(Box::new(blocker.clone())));
        }
        let mut held = match (&mut self.claims, &self.host.claims) {
            (Some(site), Some(host)) => match site.decide(host, pod) {
                Ok(held) => held,
                Err(WithoutDevices::NotFound(found)) => {
                    let (decision, why) = *found;
                    return Arrived::NoDevices(site.explain(&decision, why));
                }
                Err(WithoutDevices::NotDecided) => {
                    return Arrived::NoDevices("the search takes more than a million steps".into());
                }
            },
            _ => None,
        };
        let admission = self.host.node.admission(&self.ledger, pod);
        let (attempt, replies) = admission.attempt_with(|question| self.host.plugins.answer(question));
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
        if let (Verdict::Admitted(_), Some(site), Some(host), Some(held)) =
            (&verdict, &self.claims, &self.host.claims, &mut held)
            && let Err(error) = site.prepare(host, held)
        {
            return Arrived::NotPrepared(error);
        }
        if let Ok(after) = self.ledger.commit(attempt) {
            self.ledger = after;
        }
        let placement = match verdict {
            Verdict::Admitted(placement) => placement,
            Verdict::Refused(refused) => {
                self.measure();
                return Arrived::Refused(refused);
            }
            // Every question has been answered.
            Verdict::NeedsPlugin(_) => return Arrived::Unanswered,
        };
        // What init containers hand on is only handed on when the next one starts.
        let hands_on = pod.containers.iter().any(|container| container.role == Role::Init);
        if hands_on {
            for container in &pod.containers {
                let id = ContainerId::from(format!("{}/{}", pod.uid, container.name).as_str());
                self.ledger = self.ledger.create(&pod.key(container), id);
            }
        }
        let settled = self.settled(pod, &placement, held.as_ref());
        if let Some(site) = &mut self.claims {
            placement.preempted.iter().for_each(|gone| site.release(gone));
            if let Some(held) = held {
                site.hold(pod, held);
            }
        }
        self.measure();
        Arrived::Admitted(placement, settled)
    }

    fn settled(&self, pod: &Pod, placement: &Placement, held: Option<&Held>) -> Settled {
        let host = self.host;
        let nodes = host.node.nodes();
        let mut claimed = match (held, &host.claims) {
            (Some(held), Some(claims)) => ClaimSite::located(claims, pod, held),
            _ => DecidedClaims {
                decided_as: String::new(),
                claims: Vec::new(),
                search: None,
                remarks: Vec::new(),
            },
        };
        let node = |resource: &_, id: &_| nodes.id(host.device_place(resource, id)?);
        claimed.claims.extend(of_plugins(placement, node));
        Settled {
            places: host.places(placement, held),
            devices: of_pod(placement, nodes, |placed| host.cpu_places(placed), &claimed),
        }
    }

    fn measure(&mut self) {
        self.host.measure(&self.ledger, self.claims.as_ref(), &mut self.levels.free);
    }

    /// Whether `pod` would be admitted if these had left.
    pub(crate) fn fits_without(&self, pods: &[PodUid], pod: &Pod) -> bool {
        let without = pods.iter().fold(self.ledger.clone(), |ledger, pod| ledger.release(pod));
        let admission = self.host.node.admission(&without, pod);
        let (attempt, replies) = admission.attempt_with(|question| self.host.plugins.answer(question));
        let fate = || Kubelet::of(self.host.node).and_then(|own| own.fate(&without, pod, &replies));
        matches!(attempt.verdict, Verdict::Admitted(_)) && self.blocker.is_none() && fate().is_none()
    }

    /// What runs on it.
    pub(crate) fn saved(&self) -> Saved {
        Saved { ledger: self.ledger.clone(), account: self.account.clone(), running: self.running.clone() }
    }

    /// As it was then.
    pub(crate) fn restore(&mut self, saved: Saved) {
        (self.ledger, self.account, self.running) = (saved.ledger, saved.account, saved.running);
        self.measure();
    }

    /// What the machine's pods hold.
    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// `pod` is gone, and what it held is free.
    pub(crate) fn leave(&mut self, pod: &PodUid) {
        self.ledger = self.ledger.release(pod);
        if let Some(site) = &mut self.claims {
            site.release(pod);
        }
        self.measure();
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
