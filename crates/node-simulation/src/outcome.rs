//! What came of a simulation.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use claim_allocator::{Cost, Timeout};
use pod_spec::ResourceName;
use topology_model::NodeId;

use crate::claims::DeviceAlignments;

/// What came of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// By kind of pod, in the order in which the kinds were given.
    pub templates: Vec<TemplateOutcome>,
    /// By kind of machine, in the order in which the kinds were given.
    pub hosts: Vec<HostOutcome>,
    /// How often pods were moved so that another one fits.
    pub moves: u64,
    /// Pods that were ended so that a critical one fits.
    pub preempted: u64,
    /// From the beginning to the last arrival.
    pub span: Duration,
    /// What kube-scheduler's searches for claimed devices cost; none where no pod claims any.
    pub searches: Searches,
    /// The course of time, at even distances from the beginning to the last arrival.
    pub steps: Vec<Step>,
}

/// What became of one kind of pods.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TemplateOutcome {
    /// What the kind is called.
    pub name: String,
    /// How many came.
    pub arrived: u64,
    /// How many were admitted.
    pub admitted: u64,
    /// How many of those hold anything that has a place.
    pub placed: u64,
    /// How many of those are on the fewest NUMA nodes that they could be on.
    pub aligned: u64,
    /// Of the admitted pods with devices, of plugins or claims, where these are beside the CPUs and memory of their containers.
    pub devices: DeviceAlignments,
    /// How many of those are on several NUMA nodes and may be on the fewest: the search for the fewest was cut.
    pub undecided: u64,
    /// The others: by the kubelet's reason, or one of [`Outcome::NO_ROOM`], [`Outcome::NO_DEVICES`], [`Outcome::TIMED_OUT`] and [`Outcome::NOT_DECIDED`] for
    /// those that the scheduler sent nowhere. Where pods are tried again, by the reason of the last try.
    pub refused: BTreeMap<String, u64>,
    /// Every refusal by a node, by the kubelet's reason: a pod that is tried again can be refused more than once.
    pub node_refusals: BTreeMap<String, u64>,
    /// How often pods were tried after their first try.
    pub retries: u64,
    /// How many of the admitted pods were admitted at their first try.
    pub at_first_try: u64,
    /// How long each admitted pod waited from its arrival, in the order of admission; empty where none is tried again.
    pub waits: Vec<Duration>,
}

/// Searches of kube-scheduler for claimed devices: one for each try of a pod and machine with enough in sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Searches {
    /// How many.
    pub count: u64,
    /// Calls of its inner search, in all of them; at most `u64::MAX`.
    pub steps: u64,
    /// Those of the longest one.
    pub most_steps: u64,
    /// How many may exceed kube-scheduler's limit of 10 s, which depends on its machine.
    pub may_time_out: u64,
    /// How many do.
    pub time_out: u64,
}

impl Searches {
    pub(crate) fn count(&mut self, cost: Cost) {
        let steps = u64::try_from(cost.steps()).unwrap_or(u64::MAX);
        self.count += 1;
        self.steps = self.steps.saturating_add(steps);
        self.most_steps = self.most_steps.max(steps);
        match cost.timeout() {
            Timeout::Within => {}
            Timeout::May => self.may_time_out += 1,
            Timeout::Will => self.time_out += 1,
        }
    }
}

/// How one kind of machine was used, on the average over its machines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HostOutcome {
    /// How many machines of the kind there are.
    pub machines: usize,
    /// By NUMA node in ascending order of ids.
    pub numa: Vec<NumaUse>,
    /// Of the pods which the free resources of a machine would hold in sum, the share for which no single NUMA node
    /// has room; from 0 to 1.
    pub fragmentation: f64,
}

/// How one NUMA node was used.
#[derive(Clone, PartialEq, Debug)]
pub struct NumaUse {
    /// Its id.
    pub node: NodeId,
    /// Of each resource that it has the share that was held, from 0 to 1.
    pub held: Vec<(ResourceName, f64)>,
    /// The share that was free while pods of the mix had no room there, each kind by its weight: FGD's measure of
    /// fragmentation; from 0 to 1.
    pub stranded: Vec<(ResourceName, f64)>,
}

/// How it stood at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Step {
    /// When, since the beginning.
    pub at: Duration,
    /// How many pods run.
    pub running: u64,
    /// How many have been refused so far.
    pub refused: u64,
    /// The share of all CPUs that containers have for themselves, from 0 to 1; 0 where CPUs are not managed.
    pub cpus_held: f64,
}

impl Outcome {
    /// What is counted among refusals for a pod for which no machine has enough in sum.
    pub const NO_ROOM: &'static str = "NoRoom";

    /// For a pod for whose claims no machine with enough in sum has the devices.
    pub const NO_DEVICES: &'static str = "NoDevices";

    /// For a pod for whose claims kube-scheduler searches longer than its limit of 10 s: then the pod is sent nowhere, whatever other
    /// machines have.
    pub const TIMED_OUT: &'static str = "DevicesTimedOut";

    /// For a pod for whose claims our own search takes too many steps, so that it is not known whether it would run.
    pub const NOT_DECIDED: &'static str = "DevicesNotDecided";

    /// For a pod that a kubelet admits and whose CPUs the CPU driver cannot prepare: the reason of the kubelet's event. The pod
    /// does not start, and counts as gone.
    pub const NOT_PREPARED: &'static str = "FailedPrepareDynamicResources";

    /// How many pods came.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.sum(|of| of.arrived)
    }

    /// How many were admitted.
    #[must_use]
    pub fn admitted(&self) -> u64 {
        self.sum(|of| of.admitted)
    }

    /// How many of those hold anything that has a place.
    #[must_use]
    pub fn placed(&self) -> u64 {
        self.sum(|of| of.placed)
    }

    /// How many of those are on the fewest NUMA nodes that they could be on.
    #[must_use]
    pub fn aligned(&self) -> u64 {
        self.sum(|of| of.aligned)
    }

    /// Where the devices of admitted pods are.
    #[must_use]
    pub fn devices(&self) -> DeviceAlignments {
        self.templates.iter().fold(DeviceAlignments::default(), |sum, of| sum.and(of.devices))
    }

    /// The others by reason.
    #[must_use]
    pub fn refused(&self) -> BTreeMap<&str, u64> {
        self.by_reason(|of| &of.refused)
    }

    /// Refusals by nodes, by reason.
    #[must_use]
    pub fn node_refusals(&self) -> BTreeMap<&str, u64> {
        self.by_reason(|of| &of.node_refusals)
    }

    /// How often pods were tried after their first try.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.sum(|of| of.retries)
    }

    /// How many pods were admitted at their first try.
    #[must_use]
    pub fn at_first_try(&self) -> u64 {
        self.sum(|of| of.at_first_try)
    }

    fn by_reason(&self, of: impl Fn(&TemplateOutcome) -> &BTreeMap<String, u64>) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        for (reason, count) in self.templates.iter().flat_map(of) {
            *all.entry(reason.as_str()).or_default() += count;
        }
        all
    }

    fn sum(&self, of: impl Fn(&TemplateOutcome) -> u64) -> u64 {
        self.templates.iter().map(of).sum()
    }
}
