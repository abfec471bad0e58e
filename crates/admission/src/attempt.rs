//! One admission, done on a copy: the kubelet's steps in the kubelet's order.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use cpu_manager::Granted as GrantedCpus;
use device_manager::{DeviceIds, Outcome, Question, Replies, Request};
use memory_manager::Granted as GrantedMemory;
use node_config::Scope;
use pod_spec::{Container, ContainerName, Pod, ResourceName, Role, Unit};
use topology_hint::{Answers, Held, Hint};
use topology_policy::{Admit, KubeletPolicy, MergeError, Merged, Policy, WorkLimit};

use crate::compat::RefusedPod;
use crate::ledger::{Ledger, Version};
use crate::node::Node;
use crate::refusal::{Cause, Refused};
use crate::trace::{Trace, UnitTrace};

/// An admission that has been worked out and not yet happened.
#[must_use]
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What came out.
    pub verdict: Verdict,
    /// The ledger as the steps left it; after a refusal it holds what was taken before.
    pub after: Ledger,
    pub(crate) made_against: Version,
    pub(crate) refused_pod: RefusedPod,
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

impl Node {
    /// Works out whether `pod` may run beside what `ledger` holds. `replies` is what plugins have answered so far.
    pub fn attempt(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Attempt {
        self.attempt_under(self.policy, ledger, pod, replies)
    }

    /// The same under another policy than the node's.
    pub fn attempt_under(
        &self,
        policy: KubeletPolicy,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
    ) -> Attempt {
        Steps::new(self, policy, ledger, pod, replies).run()
    }

    /// The same, with what was looked at on the way.
    pub fn trace(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> (Attempt, Trace) {
        let mut trace = Trace::default();
        let steps = Steps::new(self, self.policy, ledger, pod, replies);
        let attempt = Steps { trace: Some(&mut trace), ..steps }.run();
        (attempt, trace)
    }
}

/// The state of one attempt.
struct Steps<'a> {
    node: &'a Node,
    policy: KubeletPolicy,
    pod: &'a Pod,
    replies: &'a Replies,
    trace: Option<&'a mut Trace>,
    before: Version,
    after: Ledger,
    answers: Answers,
    placement: Placement,
}

impl<'a> Steps<'a> {
    fn new(
        node: &'a Node,
        policy: KubeletPolicy,
        ledger: &Ledger,
        pod: &'a Pod,
        replies: &'a Replies,
    ) -> Self {
        let mut after = ledger.clone();
        // The pod under admission is active while it is admitted.
        after.pods.insert(pod.uid.clone(), Arc::new(pod.clone()));
        after.collect();
        Self {
            node,
            policy,
            pod,
            replies,
            trace: None,
            before: ledger.version,
            after,
            answers: Answers::new(),
            placement: Placement::default(),
        }
    }

    fn run(mut self) -> Attempt {
        let aligned = match (self.policy, self.node.scope) {
            (KubeletPolicy::None, _) => {
                self.each_container(|steps, container| steps.allocate(container, None))
            }
            (_, Scope::Container) => self.each_container(Self::align_container),
            (_, Scope::Pod) => self.align_pod(),
        };
        let verdict = match aligned.and_then(|()| self.check_fit()) {
            Ok(()) => Verdict::Admitted(self.placement),
            Err(Stop::Ask(question)) => Verdict::NeedsPlugin(question),
            Err(Stop::Refused(refused)) => {
                // Not active any more from the moment of the refusal.
                self.after.pods.remove(&self.pod.uid);
                Verdict::Refused(*refused)
            }
        };
        Attempt {
            verdict,
            after: self.after,
            made_against: self.before,
            refused_pod: self.node.compat.refused_pod,
        }
    }

    fn each_container(
        &mut self,
        mut step: impl FnMut(&mut Self, &'a Container) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.pod.containers.iter().try_for_each(|container| step(self, container))
    }

    fn align_container(&mut self, container: &'a Container) -> Result<(), Stop> {
        let hint = self.align(Unit::Container(self.pod, container), Some(&container.name))?;
        self.store(container, hint);
        self.allocate(container, Some(hint))
    }

    fn align_pod(&mut self) -> Result<(), Stop> {
        let hint = self.align(Unit::Pod(self.pod), None)?;
        self.each_container(|steps, container| {
            steps.store(container, hint);
            steps.allocate(container, Some(hint))
        })
    }

    /// Asks everybody and merges; refuses if the policy does.
    fn align(&mut self, unit: Unit<'_>, container: Option<&ContainerName>) -> Result<Hint, Stop> {
        self.answers.clear();
        self.node.answers(&self.after, unit, &mut self.answers);
        let merged = self.node.merge(self.policy, &self.answers);
        if let Some(trace) = &mut self.trace {
            trace.units.push(UnitTrace::new(self.node, &self.after, unit, &self.answers, merged.ok()));
        }
        match merged {
            Ok(Merged { hint, admit: Admit::Yes }) => Ok(hint),
            Ok(refused) => Err(Stop::refused(container, Cause::NotAligned(refused))),
            Err(error) => Err(Stop::refused(container, Cause::MergeFailed(error))),
        }
    }

    fn store(&mut self, container: &Container, hint: Hint) {
        self.after.hints.insert(self.pod.key(container), hint);
    }

    /// Every manager allocates for one container near `hint`; without one anywhere.
    fn allocate(&mut self, container: &'a Container, hint: Option<Hint>) -> Result<(), Stop> {
        let near = hint.unwrap_or(Hint::NONE);
        let devices = self.allocate_devices(container, near)?;
        let cpus = self.allocate_cpus(container, near)?;
        let memory = self.allocate_memory(container, near)?;
        self.allocate_others(container, near)?;
        self.placement.containers.push(Placed {
            name: container.name.clone(),
            role: container.role,
            hint,
            cpus,
            memory,
            devices,
        });
        Ok(())
    }

    fn allocate_devices(
        &mut self,
        container: &Container,
        near: Hint,
    ) -> Result<BTreeMap<ResourceName, DeviceIds>, Stop> {
        let Ledger { inventory, devices: held, .. } = &self.after;
        let request = Request::new(self.pod, container, near.affinity);
        match self.node.devices.allocate(inventory, held, &request, self.replies) {
            Ok(Outcome::Done(allocation)) => self.after.devices = allocation.after,
            Ok(Outcome::NeedsPlugin(question)) => return Err(Stop::Ask(question)),
            Err(failure) => {
                self.after.devices = failure.after;
                return Err(Stop::refused(Some(&container.name), Cause::Devices(failure.error)));
            }
        }
        let held = self.after.devices.of_container(&self.pod.uid, &container.name);
        Ok(held.map(|(resource, held)| (resource.clone(), held.devices())).collect())
    }

    fn allocate_cpus(&mut self, container: &Container, near: Hint) -> Result<Option<GrantedCpus>, Stop> {
        let (Some(policy), Some(held)) = (&self.node.cpus, &self.after.cpus) else { return Ok(None) };
        let allocation = policy
            .allocate(held, self.pod, container, near.affinity)
            .map_err(|error| Stop::refused(Some(&container.name), Cause::Cpus(error)))?;
        self.after.cpus = Some(allocation.after);
        Ok(Some(allocation.granted))
    }

    fn allocate_memory(&mut self, container: &Container, near: Hint) -> Result<Option<GrantedMemory>, Stop> {
        let (Some(policy), Some(held)) = (&self.node.memory, &self.after.memory) else { return Ok(None) };
        let allocation = policy
            .allocate(held, self.pod, container, near)
            .map_err(|error| Stop::refused(Some(&container.name), Cause::Memory(error)))?;
        self.after.memory = Some(allocation.after);
        Ok(Some(allocation.granted))
    }

    fn allocate_others(&mut self, container: &Container, near: Hint) -> Result<(), Stop> {
        for provider in &self.node.others {
            let held = self.after.others.entry(provider.name().into()).or_default();
            let unit = Unit::Container(self.pod, container);
            let grant = provider.allocate(held, unit, near.affinity).map_err(|refusal| {
                Stop::refused(
                    Some(&container.name),
                    Cause::Provider { name: provider.name().into(), refusal },
                )
            })?;
            if let Some(grant) = grant {
                held.insert(self.pod.key(container), grant);
            }
        }
        Ok(())
    }

    /// The kubelet looks whether the node has enough only after everything has been allocated.
    fn check_fit(&self) -> Result<(), Stop> {
        let shortages = self.node.shortages(&self.after, self.pod);
        if shortages.is_empty() { Ok(()) } else { Err(Stop::refused(None, Cause::Shortage(shortages))) }
    }
}

/// Why the steps stopped before the end.
enum Stop {
    Refused(Box<Refused>),
    Ask(Question),
}

impl Stop {
    fn refused(container: Option<&ContainerName>, cause: Cause) -> Self {
        Self::Refused(Box::new(Refused::new(container, cause)))
    }
}

impl Node {
    /// The answers of every provider for `unit`, in the kubelet's order.
    fn answers(&self, ledger: &Ledger, unit: Unit<'_>, answers: &mut Answers) {
        self.devices.hints(&ledger.inventory, &ledger.devices, unit, answers);
        if let (Some(policy), Some(held)) = (&self.cpus, &ledger.cpus) {
            policy.hints(held, unit, answers);
        }
        if let (Some(policy), Some(held)) = (&self.memory, &ledger.memory) {
            // Why it may have no opinion is seen again when it allocates.
            let _ = policy.hints(held, unit, answers);
        }
        let nothing = Held::new();
        for provider in &self.others {
            provider.hints(ledger.others.get(provider.name()).unwrap_or(&nothing), unit, answers);
        }
    }

    fn merge(&self, policy: KubeletPolicy, answers: &Answers) -> Result<Merged, MergeError> {
        policy.merge(self.nodes.all(), self.ties(), answers, WorkLimit::default())
    }
}
