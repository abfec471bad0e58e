//! An admission that has been worked out: what came of it, and what it would change.

pub(crate) mod steps;
pub(crate) mod allocate;
pub(crate) mod preempt;
pub(crate) mod refusal;
pub(crate) mod counted;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use cpu_manager::Granted as GrantedCpus;
use device_manager::{DeviceIds, Question, Replies};
use memory_manager::{Granted as GrantedMemory, Moved};
use node_config::Scope;
use pod_spec::{ContainerName, Pod, PodUid, ResourceName, Role};
use topology_hint::Hint;
use topology_policy::KubeletPolicy;

use crate::attempt::counted::Counted;
use crate::attempt::refusal::Refused;
use crate::attempt::steps::Steps;
use crate::explain::trace::{Detail, Trace};
use crate::ledger::{Ledger, Version};
use crate::node::Node;
use crate::node::compat::RefusedPod;

/// An admission that has been worked out and not yet happened.
#[must_use]
#[derive(Clone, Debug)]
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
    fn unless_asking(self, before: &Ledger) -> Self {
        match self.verdict {
            Verdict::NeedsPlugin(_) => Self { after: before.clone(), ..self },
            Verdict::Admitted(_) | Verdict::Refused(_) => self,
        }
    }
}

/// What an attempt came to.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The pod may run, and this is where.
    Admitted(Placement),
    /// The pod may not run.
    Refused(Refused),
    /// A device plugin must be asked first; attempt again with its answer among the replies.
    NeedsPlugin(Question),
}

/// Where an admitted pod runs: its containers in the order in which they were served.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// One entry for each container.
    pub containers: Vec<Placed>,
    /// Other pods that are ended so that this one, which is critical, fits; in that order.
    pub preempted: Vec<PodUid>,
}

/// What one container was given.
#[derive(Clone, Debug)]
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

impl Node {
    /// The rules in force.
    #[must_use]
    pub const fn rules(&self) -> Rules {
        Rules { policy: self.policy, scope: self.scope }
    }

    /// Works out whether `pod` may run beside what `ledger` holds. `replies` is what plugins have answered so far.
    pub fn attempt(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Attempt {
        self.attempt_under(self.rules(), ledger, pod, replies)
    }

    /// The same under other rules than the node's.
    pub fn attempt_under(&self, rules: Rules, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Attempt {
        let pod = Arc::new(self.classified(pod.clone()));
        Steps::new(self, rules, ledger.clone(), &pod, replies).run().unless_asking(ledger)
    }

    /// What an attempt would come to, for those who will not commit it and do not need the ledger any more.
    pub(crate) fn verdict_under(
        &self,
        rules: Rules,
        ledger: Ledger,
        pod: &Arc<Pod>,
        replies: &Replies,
    ) -> Verdict {
        Steps::new(self, rules, ledger, pod, replies).verdict()
    }

    /// The pod with its QoS class, which every manager would work out anew for every container.
    pub(crate) fn classified(&self, pod: Pod) -> Pod {
        Pod { status_qos: Some(pod.qos_class(self.pod_level.counts())), ..pod }
    }

    /// The same, with what was looked at on the way.
    pub fn trace(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> (Attempt, Trace) {
        self.trace_with(Detail::Short, ledger, pod, replies)
    }

    /// The same, with how long each merge took by a clock, which is read before and after it.
    pub fn trace_timed(
        &self,
        clock: &dyn Fn() -> Duration,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
    ) -> (Attempt, Trace) {
        self.traced(Detail::Short, clock, ledger, (pod, replies))
    }

    /// The same, with as much as is asked for.
    pub fn trace_with(
        &self,
        detail: Detail,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
    ) -> (Attempt, Trace) {
        self.traced(detail, &|| Duration::ZERO, ledger, (pod, replies))
    }

    fn traced(
        &self,
        detail: Detail,
        clock: &dyn Fn() -> Duration,
        ledger: &Ledger,
        (pod, replies): (&Pod, &Replies),
    ) -> (Attempt, Trace) {
        let mut trace = Trace { detail, ..Trace::default() };
        let pod = Arc::new(self.classified(pod.clone()));
        let steps = Steps::new(self, self.rules(), ledger.clone(), &pod, replies);
        let attempt = steps.timed(clock).traced(&mut trace).run();
        let attempt = attempt.unless_asking(ledger);
        (attempt, trace)
    }
}
