//! The pods of a kubelet as a source reports them: their names and requests, and which of them the kubelet refused.
//!
//! A pod comes up in the kubelet's pods API only once it has a status, a moment after the kubelet has written what it
//! holds. So a pod that has not been reported may run; it is gone once a source has reported that. An API server knows a pod
//! before the kubelet does.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cpu_manager::ContainerId;
use node_agent::RefusedPod;
use node_input::told_pod;
use node_state::PodNames;
use node_view::NodeView;
use node_view::clock::Clock;
use parking_lot::Mutex;
use pod_spec::{ContainerKey, ContainerName, Phase, Pod, PodRules, PodUid};
use pods_api::{Event, KubeletPod};
use topology_admission::Reason;

use super::source::{Source, SourceError};

/// The pause between two tries to reach a source.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a connection may be idle until it is checked.
const SILENCE: Duration = Duration::from_mins(1);
/// How often a better source than the current one is looked for.
const BETTER: Duration = Duration::from_secs(30);
/// A kubelet's files list a deleted pod for some seconds. One that they have not listed for this time is forgotten.
const FORGOTTEN: Duration = Duration::from_mins(5);
/// A kubelet decides on a pod within a fraction of this time.
const DECIDED: Duration = Duration::from_secs(2);
/// At most this many refusals wait to be explained; further ones are only listed.
const WAITING: usize = 256;

/// The kubelet's pods as they were reported.
pub(super) struct KubeletPods {
    state: Mutex<Reported>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Reported {
    /// By UID. `None`: no source has listed all pods yet.
    pods: Option<BTreeMap<PodUid, ReportedPod>>,
    /// Pods that were reported as gone, and when.
    gone: BTreeMap<PodUid, Instant>,
    /// Pods that hold something by the kubelet's files, and that were not reported.
    unreported: BTreeSet<PodUid>,
    /// Increases with each change of running pods.
    version: u64,
    /// Increases with each change of refused pods.
    refused_version: u64,
    refusals: Vec<Refusal>,
    admissions: Vec<Admission>,
    /// Pods on which the kubelet has not decided, and since when; `None`: the pod was taken by `take_undecided`.
    undecided: BTreeMap<PodUid, Option<Instant>>,
}

/// A pod as a source reported it.
#[derive(Clone)]
struct ReportedPod {
    name: String,
    /// `Err`: why it is not known what it requests.
    pod: Result<Arc<Pod>, String>,
    has_ended: bool,
    /// The kubelet has admitted the pod: its status has container statuses.
    is_admitted: bool,
    /// It has neither admitted nor refused the pod.
    is_undecided: bool,
    /// Its containers by their ids in the runtime.
    containers: Vec<(ContainerId, ContainerName)>,
    /// The pod with the kubelet's reason and message, if it did not admit it.
    refused: Option<ReportedRefusal>,
}

/// A kubelet's refusal of a pod, by the pod's status.
#[derive(Clone)]
struct ReportedRefusal {
    reason: String,
    /// Without the kubelet's prefix.
    message: String,
    /// As it is listed; `None`: it is not known what the pod requests.
    listed: Option<Arc<RefusedPod>>,
}

impl ReportedRefusal {
    /// `None`: it did admit the pod.
    fn of(reported: &KubeletPod, pod: Option<&Arc<Pod>>) -> Option<Self> {
        let (reason, message) = (reported.reason().to_owned(), reported.rejection()?.to_owned());
        let listed = pod.map(|pod| {
            Arc::new(RefusedPod {
                pod: Arc::new(Pod { phase: Phase::Ended, ..Pod::clone(pod) }),
                source: node_state::Source::Request,
                reason: Reason::Other(reason.clone()),
                message: message.clone(),
            })
        });
        Some(Self { reason, message, listed })
    }
}

/// Versions of the reported pods: the node is read again when one has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version {
    /// Of those that run.
    pub(super) running: u64,
    /// Of those that were refused.
    pub(super) refused: u64,
}

/// A pod that the kubelet has just refused.
pub(super) struct Refusal {
    /// `NAMESPACE/NAME`.
    pub(super) name: String,
    /// `Err`: why it is not known what it requests.
    pub(super) pod: Result<Arc<Pod>, String>,
    /// The kubelet's.
    pub(super) reason: String,
    /// The kubelet's, without its prefix.
    pub(super) message: String,
    pub(super) timing: Timing,
}

/// A pod that the kubelet has just admitted.
pub(super) struct Admission {
    pub(super) pod: Arc<Pod>,
}

/// When a refusal was reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timing {
    /// As it happened.
    AtOnce,
    /// In the first list after a break: the node may have changed since the pod was refused.
    Later,
}

impl Refusal {
    /// `None`: the pod is not refused, or was before.
    fn new(before: Option<&ReportedPod>, now: &ReportedPod, timing: Timing) -> Option<Self> {
        let was_refused = before.is_some_and(|before| before.refused.is_some());
        let ReportedPod { name, pod, refused, .. } = now.clone();
        let ReportedRefusal { reason, message, .. } = refused.filter(|_| !was_refused)?;
        Some(Self { name, pod, reason, message, timing })
    }
}

impl Admission {
    /// `None`: the kubelet has not decided on the pod, has refused it, or had admitted it before.
    fn new(before: Option<&ReportedPod>, now: &ReportedPod) -> Option<Self> {
        let was_admitted = before.is_some_and(|before| before.is_admitted);
        let pod = now.pod.as_ref().ok().filter(|_| now.is_admitted && !was_admitted && !now.has_ended)?;
        Some(Self { pod: pod.clone() })
    }
}

impl Reported {
    fn add_refusal(&mut self, refusal: Option<Refusal>) {
        let room = WAITING.saturating_sub(self.refusals.len());
        self.refusals.extend(refusal.into_iter().take(room));
    }

    /// Keeps since when the kubelet has not decided on the pod.
    fn track_undecided(&mut self, uid: &PodUid, pod: &ReportedPod, now: Instant) {
        if pod.is_undecided {
            self.undecided.entry(uid.clone()).or_insert(Some(now));
        } else {
            self.undecided.remove(uid);
        }
    }

    fn add_admission(&mut self, admission: Option<Admission>) {
        let room = WAITING.saturating_sub(self.admissions.len());
        self.admissions.extend(admission.into_iter().take(room));
    }
}

impl ReportedPod {
    fn new(pod: &KubeletPod, rules: PodRules) -> Self {
        let known = told_pod(pod, rules).map(Arc::new);
        let refused = ReportedRefusal::of(pod, known.as_ref().ok());
        Self {
            name: format!("{}/{}", pod.namespace(), pod.name()),
            has_ended: matches!(pod.phase(), "Failed" | "Succeeded"),
            is_admitted: pod.has_container_statuses() && refused.is_none(),
            is_undecided: matches!(pod.phase(), "" | "Pending")
                && !pod.has_container_statuses()
                && refused.is_none(),
            pod: known,
            containers: pod
                .containers()
                .filter_map(|(name, id)| Some((ContainerId::of_status(id)?, ContainerName::new(name))))
                .collect(),
            refused,
        }
    }
}

impl KubeletPods {
    /// Without pods.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::default(), clock }
    }

    /// The versions of what was reported.
    pub(super) fn version(&self) -> Version {
        let reported = self.state.lock();
        Version { running: reported.version, refused: reported.refused_version }
    }

    /// The names of pods, and which of them run; `None`: no source has listed the pods.
    pub(super) fn names(&self, holders: Option<&BTreeSet<PodUid>>) -> Option<PodNames> {
        let reported = &mut *self.state.lock();
        let pods = reported.pods.as_ref()?;
        if let Some(holders) = holders {
            reported.gone.retain(|uid, since| holders.contains(uid) || self.clock.since(*since) < FORGOTTEN);
            let is_reported = |uid: &&PodUid| pods.contains_key(*uid) || reported.gone.contains_key(*uid);
            reported.unreported = holders.iter().filter(|uid| !is_reported(uid)).cloned().collect();
        }
        let (ended, running): (Vec<_>, Vec<_>) = pods.iter().partition(|(_, pod)| pod.has_ended);
        let known = |pods: &[(&PodUid, &ReportedPod)]| -> Vec<Arc<Pod>> {
            pods.iter().filter_map(|(_, reported)| reported.pod.as_ref().ok().cloned()).collect()
        };
        let (running_pods, ended_pods) = (known(&running), known(&ended));
        let all_are_known = running_pods.len() == running.len();
        let gone = ended.iter().map(|(uid, _)| *uid).chain(reported.gone.keys()).cloned();
        let names =
            PodNames::running(running_pods).with_ended(ended_pods.iter().map(AsRef::as_ref)).with_gone(gone);
        let all_are_reported = holders.is_some() && reported.unreported.is_empty();
        Some(if all_are_reported && all_are_known { names } else { names.with_unknown() })
    }

    /// The refused pods whose objects exist, as far as their specs are known.
    pub(super) fn refused(&self) -> BTreeMap<PodUid, Arc<RefusedPod>> {
        let reported = self.state.lock();
        let each =
            reported.pods.iter().flatten().filter_map(|(uid, reported)| {
                Some((uid.clone(), reported.refused.as_ref()?.listed.clone()?))
            });
        each.collect()
    }

    /// The containers of pods that run, by their ids in the runtime.
    pub(super) fn containers(&self) -> Vec<(ContainerId, ContainerKey)> {
        let reported = self.state.lock();
        let running = reported.pods.iter().flatten().filter(|(_, pod)| !pod.has_ended);
        let each = running.flat_map(|(uid, pod)| {
            pod.containers.iter().map(|(id, container)| {
                (id.clone(), ContainerKey { pod: uid.clone(), container: container.clone() })
            })
        });
        each.collect()
    }

    /// Takes the refusals since the last call.
    pub(super) fn take_refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.state.lock().refusals)
    }

    /// Takes the admissions since the last call.
    pub(super) fn take_admissions(&self) -> Vec<Admission> {
        std::mem::take(&mut self.state.lock().admissions)
    }

    /// The pods on which the kubelet has not decided for [`DECIDED`], each returned once.
    pub(super) fn take_undecided(&self) -> Vec<Arc<Pod>> {
        let reported = &mut *self.state.lock();
        let mut taken = Vec::new();
        for (uid, since) in &mut reported.undecided {
            if since.is_some_and(|since| self.clock.since(since) >= DECIDED) {
                *since = None;
                let pod = reported.pods.as_ref().and_then(|pods| pods.get(uid)?.pod.as_ref().ok());
                taken.extend(pod.cloned());
            }
        }
        taken
    }

    /// Whether the kubelet has not decided on the pod.
    pub(super) fn is_undecided(&self, uid: &PodUid) -> bool {
        self.state.lock().undecided.contains_key(uid)
    }

    /// Takes a new version of a pod.
    fn update(&self, pod: &KubeletPod, rules: PodRules) {
        let (uid, new) = (PodUid::new(pod.uid()), ReportedPod::new(pod, rules));
        let mut reported = self.state.lock();
        let held_nothing = reported.gone.remove(&uid).is_some() || !reported.unreported.contains(&uid);
        if reported.pods.is_none() {
            return;
        }
        reported.track_undecided(&uid, &new, self.clock.now());
        let Some(pods) = &mut reported.pods else { return };
        let before = pods.insert(uid, new.clone());
        // A refused pod never ran: only the version of refused pods changes.
        let was_refused = before.as_ref().map_or(held_nothing, |before| before.refused.is_some());
        if new.refused.is_some() && was_refused {
            reported.refused_version += 1;
        } else {
            reported.version += 1;
        }
        reported.add_refusal(Refusal::new(before.as_ref(), &new, Timing::AtOnce));
        reported.add_admission(Admission::new(before.as_ref(), &new));
    }

    /// Replaces all pods by a complete list.
    fn replace_all(&self, pods: BTreeMap<PodUid, ReportedPod>) {
        let mut reported = self.state.lock();
        reported.version += 1;
        let is_first = reported.pods.is_none();
        for (uid, new) in &pods {
            let before = reported.pods.as_ref().and_then(|before| before.get(uid));
            let refusal = Refusal::new(before, new, Timing::Later);
            // Pods that were admitted before this program started are not reported again.
            let admission = Admission::new(before, new).filter(|_| !is_first);
            reported.add_refusal(refusal);
            reported.add_admission(admission);
        }
        let gone = reported.pods.iter().flatten().map(|(uid, _)| uid).filter(|uid| !pods.contains_key(*uid));
        let now = self.clock.now();
        let gone: Vec<(PodUid, Instant)> = gone.map(|uid| (uid.clone(), now)).collect();
        reported.gone.retain(|uid, _| !pods.contains_key(uid));
        reported.gone.extend(gone);
        reported.undecided.retain(|uid, _| pods.contains_key(uid));
        for (uid, new) in &pods {
            reported.track_undecided(uid, new, now);
        }
        reported.pods = Some(pods);
    }

    fn remove(&self, uid: PodUid) {
        let mut reported = self.state.lock();
        reported.undecided.remove(&uid);
        let was = reported.pods.as_mut().and_then(|pods| pods.remove(&uid));
        if was.is_some_and(|was| was.refused.is_some()) {
            reported.refused_version += 1;
        } else {
            reported.version += 1;
        }
        reported.gone.insert(uid, self.clock.now());
    }
}

/// The events of one source: its first list is applied as a whole, and what follows pod by pod.
struct Events<'a> {
    pods: &'a KubeletPods,
    rules: PodRules,
    /// The first list as far as it has come; `None`: it is complete.
    first: Option<BTreeMap<PodUid, ReportedPod>>,
}

/// The effect of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Applied {
    /// It is a part of the first list, or ends it a second time.
    Collected,
    /// The first list is complete, with so many pods.
    Listed(usize),
    /// A pod has changed or is gone.
    Changed,
}

impl<'a> Events<'a> {
    fn new(pods: &'a KubeletPods, rules: PodRules) -> Self {
        Self { pods, rules, first: Some(BTreeMap::new()) }
    }

    fn apply(&mut self, event: Event) -> Applied {
        match (event, &mut self.first) {
            (Event::Is(pod), Some(first)) => {
                first.insert(PodUid::new(pod.uid()), ReportedPod::new(&pod, self.rules));
                Applied::Collected
            }
            (Event::Is(pod), None) => {
                self.pods.update(&pod, self.rules);
                Applied::Changed
            }
            // A kubelet may send it again: only the first one ends a list.
            (Event::Complete, first) => first.take().map_or(Applied::Collected, |pods| {
                let count = pods.len();
                self.pods.replace_all(pods);
                Applied::Listed(count)
            }),
            (Event::Gone(pod), first) => {
                let uid = PodUid::new(pod.uid());
                if let Some(first) = first {
                    first.remove(&uid);
                }
                self.pods.remove(uid);
                Applied::Changed
            }
        }
    }
}

/// Watches the best of `sources` that can be watched, for the rest of the program, and calls `changed` after each change.
pub(super) fn listen(
    sources: Vec<Box<dyn Source>>,
    view: NodeView,
    pods: Arc<KubeletPods>,
    changed: impl Fn() + Send + 'static,
) -> anyhow::Result<()> {
    let listener = Listener { sources, view, pods, changed: Box::new(changed) };
    thread::Builder::new().name("pods".to_owned()).spawn(move || listener.run())?;
    Ok(())
}

struct Listener {
    /// Best first.
    sources: Vec<Box<dyn Source>>,
    view: NodeView,
    pods: Arc<KubeletPods>,
    changed: Box<dyn Fn() + Send>,
}

impl Listener {
    fn run(&self) {
        let mut logged = vec![None; self.sources.len()];
        loop {
            for (at, logged) in logged.iter_mut().enumerate() {
                let error = self.watch(at, logged);
                Self::log(&error, logged);
                // After a watch that worked the best source is tried first again.
                if matches!(error, SourceError::Ended(_)) {
                    break;
                }
            }
            self.view.clock.sleep(AGAIN);
        }
    }

    /// Logs, once for each text, why a source gives no events.
    fn log(error: &SourceError, logged: &mut Option<String>) {
        let text = error.to_string();
        match error {
            _ if logged.as_ref() == Some(&text) => {}
            // A kubelet before 1.37 does not serve the pods API.
            SourceError::NotServed(_) if logged.is_none() => {}
            SourceError::Starting(_) | SourceError::NotServed(_) => {
                tracing::debug!("a source does not list pods: {text}");
            }
            SourceError::Ended(_) => {
                tracing::info!("the watch of pods has ended, and the last known pods stay: {text}");
            }
            SourceError::Failed(_) => {
                tracing::warn!("a source does not list pods, and the last known pods stay: {text}");
            }
        }
        *logged = Some(text);
    }

    /// Watches a source; returns why the watch has ended.
    fn watch(&self, at: usize, logged: &mut Option<String>) -> SourceError {
        let (better, rest) = self.sources.split_at(at);
        let Some(source) = rest.first() else {
            return SourceError::NotServed("there is no source".to_owned());
        };
        let watched: Result<Infallible, _> = source.watch().and_then(|mut watch| {
            let mut events = Events::new(&self.pods, self.view.node().node.pod_rules());
            let clock = &*self.view.clock;
            let mut looked = clock.now();
            loop {
                if clock.since(looked) >= BETTER {
                    looked = clock.now();
                    if let Some(better) = better.iter().find(|better| better.may_be_there()) {
                        let text = format!("{} is watched instead of {}", better.name(), source.name());
                        return Err(SourceError::Ended(text));
                    }
                }
                let Some(event) = watch.next(SILENCE.min(BETTER))? else { continue };
                match events.apply(event) {
                    Applied::Collected => continue,
                    Applied::Listed(pods) => {
                        tracing::info!(pods, "{} lists the node's pods", source.name());
                        *logged = None;
                    }
                    Applied::Changed => {}
                }
                (self.changed)();
            }
        });
        match watched {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
