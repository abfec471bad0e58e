//! The guard itself: what it does at each event, as a value without threads, sockets or a runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cgroup_cpuset::{Cgroups, Files, Kernel, PlaceError};
use cpuset::CpuSet;
use nri_plugin::ContainerId;
use nri_plugin::messages::{Container, PodSandbox};

use crate::containers::{Containers, Known, SystemdWrites};
use crate::decision::{Decision, decide};
use crate::narrowing::{Narrowing, narrow};
use crate::report::GuardCondition::{GuardConnected, GuardEffective, GuardInTime};
use crate::report::{Counts, Log, Reason, Report, State};
use crate::request::Requested;
use crate::state_view::{Holding, NodeCpus, StateFiles, StateView};

/// What becomes of a container that runs on exclusive CPUs of others although these were taken from it before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Drift {
    /// It is reported.
    #[default]
    Report,
    /// It is reported, and they are taken from it again.
    Mend,
}

/// How a guard behaves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Settings {
    /// Whether cgroups that systemd makes are written.
    pub systemd: SystemdWrites,
    /// What becomes of drift.
    pub drift: Drift,
}

/// What a container that is created gets; `None`: what the request has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Answer {
    /// CPUs, at least one.
    pub cpus: Option<CpuSet>,
    /// NUMA nodes, at least one.
    pub mems: Option<CpuSet>,
}

/// Containers of a node beside the kubelet's files.
#[derive(Debug)]
pub struct Guard<F = Kernel> {
    state: StateFiles,
    cgroups: Cgroups<F>,
    settings: Settings,
    containers: Containers,
    /// Containers whose records at the runtime have to follow.
    records: BTreeSet<ContainerId>,
    /// Containers whose records the runtime did not change; they are tried again at the next look at all cgroups.
    refused: BTreeSet<ContainerId>,
    /// The container whose record the runtime is changing.
    in_flight: Option<ContainerId>,
    /// What is wrong, by container.
    wrong: BTreeMap<ContainerId, (Reason, String)>,
    /// Containers that had other CPUs at the last look than the kubelet's files say, which may be about to change.
    suspects: BTreeSet<ContainerId>,
    of_systemd: usize,
    /// What an earlier guard took from containers.
    taken_before: BTreeMap<String, CpuSet>,
    runtime: String,
    counts: Counts,
    log: Log,
}

impl<F: Files> Guard<F> {
    /// A guard that knows no container yet; `before` is what an earlier one reported.
    pub fn new(state: StateFiles, cgroups: Cgroups<F>, settings: Settings, before: Option<Report>) -> Self {
        Self {
            state,
            cgroups,
            settings,
            containers: Containers::new(),
            records: BTreeSet::new(),
            refused: BTreeSet::new(),
            in_flight: None,
            wrong: BTreeMap::new(),
            suspects: BTreeSet::new(),
            of_systemd: 0,
            taken_before: before.map(|report| report.taken_from).unwrap_or_default(),
            runtime: String::new(),
            counts: Counts::default(),
            log: Log::new(),
        }
    }

    /// A runtime is connected, or none is: why.
    pub fn connected(&mut self, runtime: Result<String, String>) {
        match runtime {
            Ok(runtime) => {
                self.runtime = runtime;
                self.log.set(GuardConnected, State::Works);
            }
            Err(why) => self.log.set(GuardConnected, State::failed(Reason::NotConnected, why)),
        }
    }

    /// All containers of the node, at the beginning of a connection. Nothing is written: [`look`](Self::look) follows.
    pub fn synchronize(&mut self, pods: &[PodSandbox], containers: &[Container]) {
        let pods: BTreeMap<&str, &PodSandbox> = pods.iter().map(|pod| (pod.id.as_str(), pod)).collect();
        let earlier = std::mem::take(&mut self.containers);
        self.records.clear();
        self.refused.clear();
        self.wrong.clear();
        self.suspects.clear();
        for container in containers {
            let Some(pod) = pods.get(container.pod_sandbox_id.as_str()) else { continue };
            let id = ContainerId::from(container);
            let mut known = Known::new(Requested::of(pod, container));
            let before = earlier.get(&id).and_then(|known| known.taken_from.clone());
            known.taken_from = before.or_else(|| self.taken_before.get(id.as_str()).cloned());
            // Whether its record is in effect is not known.
            known.has = None;
            self.containers.insert(id, known);
        }
        self.taken_before.clear();
    }

    /// A container is about to be created: what it gets. Others lose its CPUs until `until`; it is created in any case.
    pub fn create(&mut self, pod: &PodSandbox, container: &Container, until: Option<Instant>) -> Answer {
        let began = Instant::now();
        let answer = self.created(pod, container, until);
        self.counts.creations += 1;
        let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.counts.slowest_creation_micros = self.counts.slowest_creation_micros.max(took);
        answer
    }

    fn created(&mut self, pod: &PodSandbox, container: &Container, until: Option<Instant>) -> Answer {
        let id = ContainerId::from(container);
        let request = Requested::of(pod, container);
        let shown = request.shown.clone();
        self.wrong.remove(&id);
        let view = self.state.read();
        let StateView::Fresh(node) = &view else {
            self.containers.insert(id, Known::new(request));
            self.unusable(&view);
            return Answer::default();
        };
        let mut answer = Answer::default();
        let decision = if request.not_guarded.is_none() { decide(node, &request) } else { Decision::Leave };
        let mut known = Known::new(request);
        match decision {
            Decision::Leave => {}
            Decision::Set { cpus, mems } => {
                if let Some(cpus) = &cpus {
                    match known.request.cpus.clone() {
                        // The kubelet asked for more before its state changed, and may give it back.
                        Some(asked) if known.is_shared(node) => known.lost(asked, cpus.clone()),
                        _ => known.asked(cpus.clone()),
                    }
                }
                self.counts.adjusted += 1;
                answer = Answer { cpus, mems };
            }
            Decision::Differs { requested, held } => {
                let why = format!(
                    "container {shown} is created on CPUs {requested}, and the kubelet's files give it {held}: another \
                     NRI plugin has set them, or the files are old"
                );
                self.wrong.insert(id.clone(), (Reason::OtherCpus, why));
            }
            Decision::OlderThanPod(why) => {
                self.containers.insert(id, known);
                self.unusable(&StateView::OlderThanPod(why));
                return Answer::default();
            }
        }
        let narrowing = self.narrow(node, until);
        if narrowing.left.is_empty() {
            self.log.set(GuardInTime, State::Works);
        } else {
            self.counts.late += 1;
            let left = narrowing.left.len();
            let message = format!(
                "container {shown} is created while {left} of {} containers may still run on exclusive CPUs: there was no \
                 time for more",
                self.containers.len()
            );
            self.log.set(GuardInTime, State::failed(Reason::Late, message));
        }
        self.containers.insert(id, known);
        self.report_effect();
        answer
    }

    /// A container is about to run its first instruction: its own CPUs are looked at, and if it holds exclusive ones
    /// also those of all others.
    pub fn start(&mut self, pod: &PodSandbox, container: &Container, until: Option<Instant>) {
        let id = ContainerId::from(container);
        let request = Requested::of(pod, container);
        let known = self.containers.entry(id.clone()).or_insert_with(|| Known::new(request.clone()));
        if known.request.cgroup.is_none() {
            known.request.cgroup = request.cgroup;
        }
        let StateView::Fresh(node) = self.state.read() else { return };
        match known.holding(&node) {
            Holding::OfPod => return,
            Holding::Shared => {
                known.has = None;
                self.narrow(&node, until);
            }
            Holding::Exclusive(cpus) => {
                let cpus = cpus.clone();
                self.verify_exclusive(&id, &cpus);
                self.look_at_others(&node, &cpus, until);
            }
        }
        self.report_effect();
    }

    /// The kubelet, or a plugin before, is about to give a container these CPUs; `None`: it changes something else.
    pub fn update(&mut self, id: &str, cpus: Option<CpuSet>) {
        if let (Some(known), Some(cpus)) = (self.containers.get_mut(id), cpus) {
            known.asked(cpus);
            self.records.remove(id);
        }
    }

    /// A container has been changed by the runtime, which writes all that it has on record.
    pub fn updated(&mut self, id: &str) {
        let StateView::Fresh(node) = self.state.read() else { return };
        if let Some(known) = self.containers.get_mut(id) {
            known.has = None;
            self.narrow(&node, None);
            self.report_effect();
        }
    }

    /// A container has stopped or is gone.
    pub fn gone(&mut self, id: &str) {
        self.containers.remove(id);
        self.records.remove(id);
        self.refused.remove(id);
        self.wrong.remove(id);
        self.suspects.remove(id);
    }

    /// Narrows what is known to need it, after the kubelet's files have changed or there was no time for it.
    pub fn look(&mut self) {
        if let Some(node) = self.usable() {
            self.narrow(&node, None);
            self.report_effect();
        }
    }

    /// Looks at the cgroups of all containers: at what others have changed, and at CPUs that may be given back since the
    /// kubelet's files say so.
    pub fn audit(&mut self) {
        let Some(node) = self.usable() else { return };
        self.records.append(&mut self.refused);
        self.narrow(&node, None);
        // What is wrong once may be a change under way, of the kubelet or of the runtime: it counts when it is seen again.
        let before = std::mem::take(&mut self.suspects);
        let (mut drifted, mut exclusive) = (Vec::new(), Vec::new());
        for (id, known) in &self.containers {
            let Some((cgroup, _)) = &known.request.cgroup else { continue };
            let Ok(now) = self.cgroups.runs_on(cgroup) else { continue };
            if known.is_shared(&node) {
                if !now.is_subset(&node.shared) {
                    self.suspects.insert(id.clone());
                    drifted.extend(before.contains(id).then(|| id.clone()));
                } else if let Some(record) = known.record(&node)
                    && (record != now || Some(&record) != known.on_record())
                {
                    self.records.insert(id.clone());
                }
            } else if let Holding::Exclusive(cpus) = known.holding(&node) {
                if now != *cpus {
                    self.suspects.insert(id.clone());
                }
                if now == *cpus || before.contains(id) {
                    exclusive.push((id.clone(), cpus.clone()));
                }
            }
        }
        for id in drifted {
            self.drifted(&id, &node);
        }
        let suspects = &self.suspects;
        self.wrong.retain(|id, (reason, _)| *reason != Reason::Overlap || suspects.contains(id));
        for (id, cpus) in exclusive {
            self.verify_exclusive(&id, &cpus);
        }
        self.report_effect();
    }

    /// The next container whose record at the runtime has to change, with its CPUs.
    pub fn next_record(&mut self) -> Option<(ContainerId, CpuSet)> {
        let StateView::Fresh(node) = self.state.read() else { return None };
        while let Some(id) = self.records.pop_first() {
            let Some(known) = self.containers.get(&id).filter(|known| known.is_shared(&node)) else {
                continue;
            };
            // A record that is right already does no harm where the cgroup has to follow it.
            let is_right = |cpus: &CpuSet| {
                Some(cpus) == known.on_record() && known.has.as_ref().is_none_or(|has| has == cpus)
            };
            if let Some(cpus) = known.record(&node).filter(|cpus| !is_right(cpus)) {
                self.in_flight = Some(id.clone());
                return Some((id, cpus));
            }
        }
        None
    }

    /// The runtime has changed the record of a container, and its cgroup with it, or has failed to: why.
    pub fn recorded(&mut self, id: &ContainerId, cpus: &CpuSet, done: Result<(), String>) {
        self.in_flight = None;
        let Some(known) = self.containers.get_mut(id) else { return };
        match done {
            Ok(()) => {
                self.counts.records += 1;
                known.recorded = Some(cpus.clone());
                let shown = known.request.shown.clone();
                match &known.taken_from {
                    // It has everything back.
                    Some(from) if from == cpus => known.taken_from = None,
                    Some(_) => {}
                    // The kubelet has asked meanwhile, and the older set may be on record now.
                    None => {
                        if let Some(asked) = known.request.cpus.clone().filter(|asked| asked != cpus) {
                            known.taken_from = Some(asked);
                            self.records.insert(id.clone());
                        }
                    }
                }
                known.has = None;
                self.wrong.retain(|of, (reason, _)| of != id || *reason != Reason::OldRecord);
                tracing::debug!(container = %shown, "the runtime's record is CPUs {cpus}");
                self.look();
            }
            Err(why) => {
                let why =
                    format!("the runtime keeps the old CPUs of container {}: {why}", known.request.shown);
                self.wrong.insert(id.clone(), (Reason::OldRecord, why));
                self.refused.insert(id.clone());
                self.report_effect();
            }
        }
    }

    /// What it reports at a time since 1970.
    pub fn report(&self, now: Duration) -> Report {
        let taken = self
            .containers
            .iter()
            .filter_map(|(id, known)| Some((id.as_str().to_owned(), known.taken_from.clone()?)));
        Report {
            written_at: now.as_secs(),
            runtime: self.runtime.clone(),
            conditions: self.log.states().clone(),
            counts: self.counts,
            taken_from: self.taken_before.clone().into_iter().chain(taken).collect(),
        }
    }

    fn usable(&mut self) -> Option<std::sync::Arc<NodeCpus>> {
        match self.state.read() {
            StateView::Fresh(node) => Some(node),
            other => {
                self.unusable(&other);
                None
            }
        }
    }

    fn narrow(&mut self, node: &NodeCpus, until: Option<Instant>) -> Narrowing {
        // The runtime may have written it since it was looked at.
        if let Some(known) = self.in_flight.as_ref().and_then(|id| self.containers.get_mut(id)) {
            known.has = None;
        }
        let systemd = self.settings.systemd;
        let narrowing = narrow(&self.cgroups, &mut self.containers, node, systemd, until);
        self.counts.narrowed += u64::try_from(narrowing.narrowed.len()).unwrap_or_default();
        self.records.extend(narrowing.narrowed.iter().chain(&narrowing.records).cloned());
        self.wrong.retain(|_, (reason, _)| *reason != Reason::NotNarrowed);
        for (id, why) in &narrowing.failed {
            self.wrong.insert(id.clone(), (Reason::NotNarrowed, why.clone()));
        }
        self.of_systemd = narrowing.of_systemd.len();
        narrowing
    }

    /// Whether a container has exactly the CPUs that it holds. It is not written in any case.
    fn verify_exclusive(&mut self, id: &ContainerId, cpus: &CpuSet) {
        let Some(known) = self.containers.get(id) else { return };
        let Some((cgroup, _)) = &known.request.cgroup else { return };
        let shown = &known.request.shown;
        let why = match self.cgroups.runs_on(cgroup) {
            Ok(now) if now == *cpus => None,
            Ok(now) => {
                Some(format!("container {shown} has CPUs {now}, and the kubelet's files give it {cpus}"))
            }
            Err(PlaceError::Gone(_)) => None,
            Err(error) => Some(format!("the CPUs of container {shown} are not known: {error}")),
        };
        match why {
            Some(why) => _ = self.wrong.insert(id.clone(), (Reason::OtherCpus, why)),
            None => _ = self.wrong.remove(id),
        }
    }

    /// Before a container with exclusive CPUs runs: whether others run there, by their cgroups.
    fn look_at_others(&mut self, node: &NodeCpus, cpus: &CpuSet, until: Option<Instant>) {
        self.narrow(node, until);
        let overlapping =
            self.containers.iter().filter(|(_, known)| known.is_shared(node)).filter(|(_, known)| {
                let cgroup = known.request.cgroup.as_ref();
                cgroup.is_some_and(|(cgroup, _)| {
                    self.cgroups.runs_on(cgroup).is_ok_and(|now| !now.is_disjoint(cpus))
                })
            });
        let overlapping: Vec<ContainerId> = overlapping.map(|(id, _)| id.clone()).collect();
        for id in overlapping {
            self.drifted(&id, node);
        }
    }

    /// A container is on CPUs that were taken from it.
    fn drifted(&mut self, id: &ContainerId, node: &NodeCpus) {
        let Some(known) = self.containers.get_mut(id) else { return };
        let Some((cgroup, _)) = &known.request.cgroup else { return };
        let now = self.cgroups.runs_on(cgroup).unwrap_or_default();
        let others = &now - &node.shared;
        let shown = known.request.shown.clone();
        let is_new = !self.wrong.contains_key(id);
        self.counts.drifted += u64::from(is_new);
        if self.settings.drift == Drift::Mend {
            tracing::warn!(container = %shown, "it was on exclusive CPUs {others} again, which are taken from it");
            known.has = None;
            self.narrow(node, None);
            return;
        }
        let why = format!("container {shown} runs on exclusive CPUs {others} of others");
        self.wrong.insert(id.clone(), (Reason::Overlap, why));
    }

    fn unusable(&mut self, view: &StateView) {
        let state = match view {
            StateView::Fresh(_) => return,
            StateView::NotStatic(_) => State::Pending(view.to_string()),
            _ => State::failed(Reason::StateUnusable, format!("{view}; nothing is done")),
        };
        self.log.set(GuardEffective, state);
    }

    fn report_effect(&mut self) {
        let first = self.wrong.values().next();
        let state = match first {
            Some((reason, why)) if self.wrong.len() == 1 => State::failed(*reason, why.clone()),
            Some((reason, why)) => {
                State::failed(*reason, format!("{why}; containers beside it: {}", self.wrong.len() - 1))
            }
            None if self.of_systemd > 0 => State::failed(
                Reason::SystemdDriver,
                format!(
                    "containers ({}) may run on exclusive CPUs until the kubelet changes them: systemd has made their \
                     cgroups, and a write lasts until it reloads; --write-systemd writes them all the same",
                    self.of_systemd
                ),
            ),
            None => State::Works,
        };
        self.log.set(GuardEffective, state);
    }
}
