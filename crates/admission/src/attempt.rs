//! One admission, done on a copy: the kubelet's steps in the kubelet's order.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use cpu_manager::Granted;
use node_config::Scope;
use pod_spec::{Container, ContainerName, Pod, Role, Unit};
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
    pub cpus: Option<Granted>,
}

impl Node {
    /// Works out whether `pod` may run beside what `ledger` holds.
    pub fn attempt(&self, ledger: &Ledger, pod: &Pod) -> Attempt {
        Steps::new(self, ledger, pod, None).run()
    }

    /// The same, with what was looked at on the way.
    pub fn trace(&self, ledger: &Ledger, pod: &Pod) -> (Attempt, Trace) {
        let mut trace = Trace::default();
        let attempt = Steps::new(self, ledger, pod, Some(&mut trace)).run();
        (attempt, trace)
    }
}

/// The state of one attempt.
struct Steps<'a> {
    node: &'a Node,
    pod: &'a Pod,
    trace: Option<&'a mut Trace>,
    before: Version,
    after: Ledger,
    answers: Answers,
    placement: Placement,
}

impl<'a> Steps<'a> {
    fn new(node: &'a Node, ledger: &Ledger, pod: &'a Pod, trace: Option<&'a mut Trace>) -> Self {
        let mut after = ledger.clone();
        // The pod under admission is active while it is admitted.
        after.pods.insert(pod.uid.clone(), Arc::new(pod.clone()));
        after.collect();
        Self {
            node,
            pod,
            trace,
            before: ledger.version,
            after,
            answers: Answers::new(),
            placement: Placement::default(),
        }
    }

    fn run(mut self) -> Attempt {
        let outcome = match (self.node.policy, self.node.scope) {
            (KubeletPolicy::None, _) => {
                self.each_container(|steps, container| steps.allocate(container, None))
            }
            (_, Scope::Container) => self.each_container(Self::align_container),
            (_, Scope::Pod) => self.align_pod(),
        };
        let verdict = match outcome {
            Ok(()) => Verdict::Admitted(self.placement),
            Err(refused) => {
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
        mut step: impl FnMut(&mut Self, &'a Container) -> Result<(), Box<Refused>>,
    ) -> Result<(), Box<Refused>> {
        self.pod.containers.iter().try_for_each(|container| step(self, container))
    }

    fn align_container(&mut self, container: &'a Container) -> Result<(), Box<Refused>> {
        let hint = self.align(Unit::Container(self.pod, container), Some(&container.name))?;
        self.store(container, hint);
        self.allocate(container, Some(hint))
    }

    fn align_pod(&mut self) -> Result<(), Box<Refused>> {
        let hint = self.align(Unit::Pod(self.pod), None)?;
        self.each_container(|steps, container| {
            steps.store(container, hint);
            steps.allocate(container, Some(hint))
        })
    }

    /// Asks everybody and merges; refuses if the policy does.
    fn align(&mut self, unit: Unit<'_>, container: Option<&ContainerName>) -> Result<Hint, Box<Refused>> {
        self.answers.clear();
        self.node.answers(&self.after, unit, &mut self.answers);
        let merged = self.node.merge(&self.answers);
        if let Some(trace) = &mut self.trace {
            trace.units.push(UnitTrace::new(self.node, &self.after, unit, &self.answers, merged.ok()));
        }
        match merged {
            Ok(Merged { hint, admit: Admit::Yes }) => Ok(hint),
            Ok(refused) => Err(Box::new(Refused::new(container, Cause::NotAligned(refused)))),
            Err(error) => Err(Box::new(Refused::new(container, Cause::MergeFailed(error)))),
        }
    }

    fn store(&mut self, container: &Container, hint: Hint) {
        self.after.hints.insert(self.pod.key(container), hint);
    }

    /// Every manager allocates for one container near `hint`; without one anywhere.
    fn allocate(&mut self, container: &'a Container, hint: Option<Hint>) -> Result<(), Box<Refused>> {
        let node = self.node;
        let near = hint.unwrap_or(Hint::NONE);
        let refuse = |cause| Box::new(Refused::new(Some(&container.name), cause));

        let mut cpus = None;
        if let (Some(policy), Some(held)) = (&node.cpus, &self.after.cpus) {
            let allocation = policy
                .allocate(held, self.pod, container, near.affinity)
                .map_err(|error| refuse(Cause::Cpus(error)))?;
            cpus = Some(allocation.granted);
            self.after.cpus = Some(allocation.after);
        }

        for provider in &node.others {
            let held = self.after.others.entry(provider.name().into()).or_default();
            let unit = Unit::Container(self.pod, container);
            let grant = provider
                .allocate(held, unit, near.affinity)
                .map_err(|refusal| refuse(Cause::Provider { name: provider.name().into(), refusal }))?;
            if let Some(grant) = grant {
                held.insert(self.pod.key(container), grant);
            }
        }

        self.placement.containers.push(Placed {
            name: container.name.clone(),
            role: container.role,
            hint,
            cpus,
        });
        Ok(())
    }
}

impl Node {
    /// The answers of every provider for `unit`, in the kubelet's order.
    pub(crate) fn answers(&self, ledger: &Ledger, unit: Unit<'_>, answers: &mut Answers) {
        if let (Some(policy), Some(held)) = (&self.cpus, &ledger.cpus) {
            policy.hints(held, unit, answers);
        }
        let nothing = Held::new();
        for provider in &self.others {
            provider.hints(ledger.others.get(provider.name()).unwrap_or(&nothing), unit, answers);
        }
    }

    pub(crate) fn merge(&self, answers: &Answers) -> Result<Merged, MergeError> {
        self.policy.merge(self.nodes.all(), self.ties(), answers, WorkLimit::default())
    }
}
