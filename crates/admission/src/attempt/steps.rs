//! One attempt, done on a copy of the ledger: the kubelet's steps in the kubelet's order.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use device_manager::{Choice, Choices, Question, Replies};
use memory_manager::Moved;
use node_config::{Regroup, Scope, Strategy};
use pod_spec::{Container, ContainerName, Pod, PodLevel, Unit};
use topology_hint::{Answers, Hint};
use topology_policy::{Admit, KubeletPolicy, MergeError, MergeTrace, Merged, NodeScores, Ties};

use crate::attempt::counted::Counted;
use crate::attempt::refusal::{AlignedAs, Cause, Refused};
use crate::attempt::trace::Search;
use crate::attempt::trace::{Detail, Trace, UnitTrace};
use crate::attempt::{Attempt, Placement, Rules, Verdict};
use crate::ledger::dead::Point;
use crate::ledger::residents::Requests;
use crate::ledger::{Ledger, Version};
use crate::node::Node;
use crate::node::fit::Shortage;
use crate::node::identity::{Mismatch, operating_system};
use crate::placement::Scoring;

/// The state of one attempt.
pub(crate) struct Steps<'a> {
    pub(crate) node: &'a Node,
    pub(crate) rules: Rules,
    pub(crate) pod: &'a Pod,
    pub(crate) replies: &'a Replies,
    trace: Option<&'a mut Trace>,
    clock: &'a dyn Fn() -> Duration,
    before: Version,
    requests: Requests,
    pub(crate) after: Ledger,
    pub(crate) answers: Answers,
    /// Links that devices of the unit come from.
    pub(crate) chosen: Vec<Choice>,
    pub(crate) placement: Placement,
    pub(crate) counted: Counted,
    moved: Vec<Moved>,
    pub(crate) device_file: DeviceFile,
    wanted: Wanted,
    scoring: Scoring,
    operation: Operation,
}

/// What is done to the pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Add,
    /// It runs, and is to have other amounts; that preempts no pod.
    Resize,
}

/// Whether the kubelet has written which devices were given out. It writes them after each container; only what is
/// there in the end matters, and a copy made on the way would have each container copy what the pod holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceFile {
    Written,
    Due,
}

/// What of an attempt is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    /// Whether the pod is admitted, and where it runs then; not why it is refused.
    Verdict,
}

/// The hint of a refusal when only the verdict is wanted.
const UNKNOWN: Merged = Merged { hint: Hint::NONE, admit: Admit::No };

impl<'a> Steps<'a> {
    pub(crate) fn new(
        node: &'a Node,
        rules: Rules,
        mut after: Ledger,
        pod: &'a Arc<Pod>,
        replies: &'a Replies,
    ) -> Self {
        let before = after.version();
        // The pod under admission is active while it is admitted.
        let requests = node.requests(pod);
        after.enter(Arc::clone(pod), Arc::clone(&requests));
        Self {
            node,
            rules,
            pod,
            replies,
            trace: None,
            clock: &|| Duration::ZERO,
            before,
            requests,
            after,
            answers: Answers::with_storage(),
            chosen: Vec::new(),
            placement: Placement::default(),
            counted: Counted { requests: 1, ..Counted::default() },
            moved: Vec::new(),
            device_file: DeviceFile::Written,
            wanted: Wanted::All,
            scoring: Scoring::default(),
            operation: Operation::Add,
        }
    }

    /// For a pod that runs and is to have other amounts.
    pub(crate) fn resizing(self) -> Self {
        Self { operation: Operation::Resize, ..self }
    }

    pub(crate) fn traced(self, trace: &'a mut Trace) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// Measures merges by a clock.
    pub(crate) fn timed(self, clock: &'a dyn Fn() -> Duration) -> Self {
        Self { clock, ..self }
    }

    /// For those who only want to know whether.
    pub(crate) fn verdict(self) -> Verdict {
        self.briefly().run().verdict
    }

    /// For those who do not look at why a pod is refused.
    pub(crate) fn briefly(self) -> Self {
        Self { wanted: Wanted::Verdict, ..self }
    }

    pub(crate) fn run(mut self) -> Attempt {
        if let Err(error) = self.node.chosen(self.pod) {
            return self.ended(Err(Stop::refused(None, Cause::PodPolicy(error))));
        }
        if self.operation == Operation::Add {
            self.regroup();
        }
        let aligned = match (self.rules.policy, self.rules.scope) {
            (KubeletPolicy::None, _) => self.each_container(|steps, container| {
                steps.choose_links(Unit::Container(steps.pod, container), Some(&container.name))?;
                steps.allocate(container, None)
            }),
            (_, Scope::Container) => self.each_container(Self::align_container),
            (_, Scope::Pod) => self.align_pod(),
        };
        if matches!(aligned, Err(Stop::Refused(_))) && self.rules.policy != KubeletPolicy::None {
            self.counted.errors = 1;
        }
        if self.device_file == DeviceFile::Due {
            self.after.store_devices();
        }
        let admitted = aligned.and_then(|()| self.check_node());
        self.ended(admitted)
    }

    fn ended(mut self, admitted: Result<(), Stop>) -> Attempt {
        let verdict = match admitted {
            Ok(()) => Verdict::Admitted(self.placement),
            Err(Stop::Ask(question)) => Verdict::NeedsPlugin(question),
            Err(Stop::Refused(refused)) => {
                if let Some(trace) = &mut self.trace {
                    trace.held_back = self.node.held_back(&self.after, self.pod, &refused);
                }
                // Not active any more from the moment of the refusal.
                self.after.remove_pod(&self.pod.uid);
                Verdict::Refused(*refused)
            }
        };
        Attempt {
            verdict,
            after: self.after,
            counted: self.counted,
            moved: self.moved,
            pod: self.pod.uid.clone(),
            made_against: self.before,
            refused_pod: self.node.compat.refused_pod,
        }
    }

    /// Dissolves the groups of nodes that no running pod needs any more, before the managers give hints.
    fn regroup(&mut self) {
        if let (Regroup::WhenUnneeded, Some(policy)) = (self.node.options.regroup, &self.node.memory) {
            let moved = self.after.book_memory(|held| {
                let regrouped = policy.regroup(held);
                *held = regrouped.after;
                regrouped.moved
            });
            self.moved = moved.unwrap_or_default();
        }
    }

    fn each_container(
        &mut self,
        mut step: impl FnMut(&mut Self, &'a Container) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.pod.containers.iter().try_for_each(|container| step(self, container))
    }

    fn align_container(&mut self, container: &'a Container) -> Result<(), Stop> {
        let hint = self.align_linked(Unit::Container(self.pod, container), Some(&container.name))?;
        self.store(container, hint);
        self.allocate(container, Some(hint))?;
        self.count_aligned();
        Ok(())
    }

    fn count_aligned(&mut self) {
        if self.rules.policy == KubeletPolicy::SingleNumaNode {
            self.counted.aligned += 1;
        }
    }

    fn align_pod(&mut self) -> Result<(), Stop> {
        if self.is_managed_whole() {
            // Such a pod is given no devices.
            let hint = self.align(Unit::Pod(self.pod), None)?;
            for container in &self.pod.containers {
                self.store(container, hint);
            }
            self.allocate_whole(hint)?;
        } else {
            let hint = self.align_linked(Unit::Pod(self.pod), None)?;
            self.each_container(|steps, container| {
                steps.store(container, hint);
                steps.allocate(container, Some(hint))
            })?;
        }
        self.count_aligned();
        Ok(())
    }

    /// Whether resources at pod level are managed, and the pod has some.
    fn is_managed_whole(&self) -> bool {
        self.node.pod_level == PodLevel::Managed && self.pod.has_pod_level_resources()
    }

    /// What a placement strategy makes of the nodes for `unit`. To be asked once for each unit.
    pub(crate) fn scores(&mut self, unit: Unit<'_>) -> Option<NodeScores> {
        if self.node.options.placement.strategy == Strategy::LowestNumber {
            return None;
        }
        // As it is before the providers are asked.
        self.after.collect_all();
        self.scoring.scores(self.node, self.rules.scope, &mut self.after, unit)
    }

    /// Asks everybody and merges; refuses if the policy does.
    pub(crate) fn align(&mut self, unit: Unit<'_>, container: Option<&ContainerName>) -> Result<Hint, Stop> {
        let scores = self.scores(unit);
        self.align_scored(unit, container, scores.as_ref())
    }

    /// The same with the scores of the nodes.
    pub(crate) fn align_scored(
        &mut self,
        unit: Unit<'_>,
        container: Option<&ContainerName>,
        scores: Option<&NodeScores>,
    ) -> Result<Hint, Stop> {
        self.ask_on(unit, None);
        let ties = self.node.ties(scores);
        // What the hint of a refused unit would have been can be the dearer part of the work.
        if self.trace.is_none() {
            match self.node.admit(self.rules.policy, ties, &self.answers) {
                Ok(Some(hint)) => return Ok(hint),
                Ok(None) if self.wanted == Wanted::Verdict => {
                    return Err(Stop::refused(container, Cause::NotAligned(UNKNOWN)));
                }
                Ok(None) | Err(_) => {}
            }
        }
        let began = (self.clock)();
        let merged = self.node.merge(self.rules.policy, ties, &self.answers);
        let took = (self.clock)().saturating_sub(began);
        if let Some(trace) = &mut self.trace {
            let mut traced =
                UnitTrace::new(self.node, &self.after, unit, &self.answers, merged, trace.detail);
            traced.took = took;
            if trace.detail == Detail::Merges {
                traced.merge = Some(self.node.merge_trace(self.rules.policy, ties, &self.answers));
            }
            trace.units.push(traced);
        }
        let refused = match merged {
            Ok(Merged { hint, admit: Admit::Yes }) => return Ok(hint),
            // The best so far is good enough for a policy that takes what there is.
            Err(MergeError::Unfinished { best: Some(best), .. })
                if self.rules.policy == KubeletPolicy::BestEffort =>
            {
                return Ok(best.hint);
            }
            Ok(refused) => Cause::NotAligned(refused),
            Err(error) => Cause::MergeFailed(error),
        };
        if self.rules.policy == KubeletPolicy::SingleNumaNode {
            self.counted.not_aligned += 1;
        }
        let level = match (self.is_managed_whole(), unit) {
            (false, _) => AlignedAs::Containers,
            (true, Unit::Container(..)) => AlignedAs::PodByContainers,
            (true, Unit::Pod(_)) => AlignedAs::Pod,
        };
        Err(Stop::Refused(Box::new(Refused::not_aligned(container, refused, level))))
    }

    /// Collects the answers of every provider, in the kubelet's order; each collects dead pods first. Devices may be those
    /// of some links only.
    pub(crate) fn ask_on(&mut self, unit: Unit<'_>, links: Option<Choices<'_>>) {
        let Self { node, after, answers, .. } = self;
        answers.clear();
        after.collect_at(Point::Devices);
        node.devices.hints_on(after.inventory(), after.devices(), unit, links, answers);
        after.collect_at(Point::Cpus);
        if let (Some(policy), Some(held)) = (&node.cpus, after.cpus()) {
            policy.hints(held, unit, answers);
        }
        after.collect_at(Point::Memory);
        if let (Some(policy), Some(held)) = (&node.memory, after.memory()) {
            // Why it may have no opinion is seen again when it allocates.
            let _ = policy.hints(held, unit, answers);
        }
        after.collect_at(Point::Others);
        for provider in &node.others {
            provider.hints(&node.nodes, after.held_of(provider.name()), unit, answers);
        }
    }

    /// The unit that is served now was decided on by a search that `is_cut`, or not.
    pub(crate) fn mark_cut(&mut self, is_cut: bool) {
        if is_cut && let Some(unit) = self.trace.as_mut().and_then(|trace| trace.units.last_mut()) {
            unit.search = Search::Cut;
        }
    }

    /// The unit that is served now is placed by another hint than its merge gave: by that of the answers as they are now.
    pub(crate) fn merged_otherwise(&mut self, hint: Hint, scores: Option<&NodeScores>) {
        let Some(trace) = &mut self.trace else { return };
        let Some(unit) = trace.units.last_mut() else { return };
        unit.merged = Some(Merged { hint, admit: Admit::Yes });
        if trace.detail == Detail::Merges {
            let ties = self.node.ties(scores);
            unit.merge = Some(self.node.merge_trace(self.rules.policy, ties, &self.answers));
        }
    }

    fn store(&mut self, container: &Container, hint: Hint) {
        self.after.store_hint(self.pod.key(container), hint);
    }

    /// The kubelet looks at the node as a whole only after everything has been allocated.
    fn check_node(&mut self) -> Result<(), Stop> {
        operating_system(self.pod).map_err(Stop::mismatch)?;
        let shortages = self.node.shortages(&self.after, self.pod, &self.requests);
        let mismatch = self.node.mismatches(&self.after, self.pod).into_iter().next();
        // For a critical pod room can be made; a mismatch cannot be mended and is what is reported.
        let is_critical = self.pod.constraints.is_critical() && self.operation == Operation::Add;
        match mismatch {
            Some(mismatch) if is_critical || shortages.is_empty() => return Err(Stop::mismatch(mismatch)),
            None if is_critical && !shortages.is_empty() => self.preempt(&shortages)?,
            _ if !shortages.is_empty() => return Err(Stop::refused(None, Cause::Shortage(shortages))),
            _ => {}
        }
        if self.node.pod_level.is_refused() && self.pod.has_pod_level_resources() {
            return Err(Stop::mismatch(Mismatch::PodLevelResources));
        }
        Ok(())
    }

    /// Ends pods so that this one fits. What they hold is free with the next collection; their hints go with their
    /// containers.
    fn preempt(&mut self, shortages: &[Shortage]) -> Result<(), Stop> {
        let preempted = self
            .node
            .preempted(&self.after, self.pod, shortages)
            .map_err(|error| Stop::refused(None, Cause::NobodyToPreempt(error)))?;
        for pod in &preempted {
            self.after.remove_pod(pod);
        }
        self.placement.preempted = preempted;
        Ok(())
    }
}

/// Why the steps stopped before the end.
pub(crate) enum Stop {
    Refused(Box<Refused>),
    Ask(Question),
}

impl Stop {
    pub(crate) fn refused(container: Option<&ContainerName>, cause: Cause) -> Self {
        Self::Refused(Box::new(Refused::new(container, cause)))
    }

    fn mismatch(mismatch: Mismatch) -> Self {
        Self::refused(None, Cause::Mismatch(mismatch))
    }
}

impl Node {
    fn merge(&self, policy: KubeletPolicy, ties: Ties<'_>, answers: &Answers) -> Result<Merged, MergeError> {
        policy.merge_with(self.nodes.all(), answers, ties.into())
    }

    pub(crate) fn admit(
        &self,
        policy: KubeletPolicy,
        ties: Ties<'_>,
        answers: &Answers,
    ) -> Result<Option<Hint>, MergeError> {
        policy.admit_with(self.nodes.all(), answers, ties.into())
    }

    fn merge_trace(&self, policy: KubeletPolicy, ties: Ties<'_>, answers: &Answers) -> MergeTrace {
        policy.trace_with(self.nodes.all(), answers, ties.into())
    }
}
