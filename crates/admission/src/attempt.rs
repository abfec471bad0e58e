//! An admission that has been worked out: what came of it, and what it would change.

pub(crate) mod admission;
pub(crate) mod steps;
pub(crate) mod allocate;
pub(crate) mod linked;
pub(crate) mod not_linked;
pub(crate) mod deferral;
pub(crate) mod preempt;
pub(crate) mod refusal;
pub(crate) mod counted;
pub(crate) mod trace;
pub(crate) mod standing;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cpu_manager::Granted as GrantedCpus;
use device_manager::{DeviceIds, Question};
use memory_manager::{Granted as GrantedMemory, Moved};
use node_config::Scope;
use pod_spec::{ContainerName, PodUid, ResourceName, Role};
use topology_hint::Hint;
use topology_policy::KubeletPolicy;

use crate::attempt::counted::Counted;
use crate::attempt::refusal::Refused;
use crate::ledger::{Ledger, Stale, Version};
use crate::node::compat::RefusedPod;

/// An admission that has been worked out and not yet happened.
#[must_use]
#[derive(Clone, PartialEq, Debug)]
pub struct Attempt {
    /// What came out.
    pub verdict: Verdict,
    /// The ledger as the steps left it; after a refusal it holds what was taken before. The same ledger where a plugin
    /// must be asked.
    pub after: Ledger,
    /// What the counters gain, refused or not.
    pub counted: Counted,
    /// Containers of other pods whose memory moves to one node, since the group that it was booked in is not needed any
    /// more: their `cpuset.mems` is to be written anew. Only with [`Regroup::WhenUnneeded`](node_config::Regroup).
    pub moved: Vec<Moved>,
    pub(crate) pod: PodUid,
    pub(crate) made_against: Version,
    pub(crate) refused_pod: RefusedPod,
}

impl Attempt {
    /// Half served, a pod that waits for a plugin leaves nothing.
    pub(crate) fn unless_asking(self, before: &Ledger) -> Self {
        match self.verdict {
            Verdict::NeedsPlugin(_) => Self { after: before.clone(), ..self },
            Verdict::Admitted(_) | Verdict::Refused(_) => self,
        }
    }
}

/// What an attempt came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// The pod may run, and this is where.
    Admitted(Placement),
    /// The pod may not run.
    Refused(Refused),
    /// A device plugin must be asked first; attempt again with its answer among the replies.
    NeedsPlugin(Question),
}

/// Where an admitted pod runs: its containers in the order in which they were served.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Placement {
    /// One entry for each container.
    pub containers: Vec<Placed>,
    /// Other pods that are ended so that this one, which is critical, fits; in that order.
    pub preempted: Vec<PodUid>,
}

/// What one container was given.
#[derive(Clone, PartialEq, Debug)]
pub struct Placed {
    /// Its name.
    pub name: ContainerName,
    /// When it runs.
    pub role: Role,
    /// The merged hint; `None` under policy `none`.
    pub hint: Option<Hint>,
    /// Exclusive CPUs, or why it has none; `None` under CPU manager policy `none`.
    pub cpus: Option<GrantedCpus>,
    /// Memory booked, or why none is; `None` under memory manager policy `None`.
    pub memory: Option<GrantedMemory>,
    /// Devices by resource, those that it held before included.
    pub devices: BTreeMap<ResourceName, DeviceIds>,
}

/// How the units of a pod are cut and what is made of their merged hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The policy.
    pub policy: KubeletPolicy,
    /// The scope.
    pub scope: Scope,
}

impl Ledger {
    /// The ledger after `attempt`: an admission books what it took; a refusal leaves what
    /// [`Compat::refused_pod`](crate::Compat::refused_pod) says; an attempt that waits for a plugin changes nothing.
    ///
    /// # Errors
    /// The ledger has changed since the attempt was made.
    pub fn commit(&self, attempt: Attempt) -> Result<Self, Stale> {
        if attempt.made_against != self.version() {
            return Err(Stale { made_against: attempt.made_against, current: self.version() });
        }
        Ok(self.committed(attempt))
    }

    /// The ledger after an attempt that was made against it.
    pub(crate) fn committed(&self, attempt: Attempt) -> Self {
        let after = match (&attempt.verdict, attempt.refused_pod) {
            (Verdict::Admitted(_), _) | (Verdict::Refused(_), RefusedPod::KeepBooked) => {
                let mut after = attempt.after;
                if self.knows(&attempt.pod) {
                    // It may have lost containers on the way.
                    after.forget_mix();
                } else {
                    after.recount_mix(self, &attempt.pod);
                }
                after
            }
            (Verdict::Refused(_), RefusedPod::HoldNothing) => self.without(&attempt.pod),
            (Verdict::NeedsPlugin(_), _) => self.clone(),
        };
        after.follow(self)
    }
}
