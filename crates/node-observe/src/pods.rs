//! The pods of a kubelet as it tells of them, or an API server does: what they are called, what they request, and which
//! of them the kubelet refused.
//!
//! A pod comes up in the kubelet's pods API only once it has a status, a moment after the kubelet has written what it
//! holds. So a pod that has not been told of may run all the same; it is gone once that has been told. An API server
//! knows a pod before the kubelet does.

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

use super::source::{Silence, Source};

/// Between two tries to reach it.
const AGAIN: Duration = Duration::from_secs(1);
/// How long nothing may happen until the connection is looked at.
const SILENCE: Duration = Duration::from_mins(1);
/// How often it is looked whether there is a better source than the one that tells.
const BETTER: Duration = Duration::from_secs(30);
/// A kubelet's files list a pod that is gone for some seconds. What they have not listed for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_mins(5);
/// A kubelet decides on a pod within a fraction of this time.
const DECIDED: Duration = Duration::from_secs(2);
/// So many refusals wait to be explained. If there are more at once, the rest of them is only listed.
const WAITING: usize = 256;

/// All that is known of the kubelet's pods.
pub(super) struct KubeletPods {
    state: Mutex<Told>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Told {
    /// By UID. `None`: the kubelet has not told of all its pods yet.
    pods: Option<BTreeMap<PodUid, ToldPod>>,
    /// Pods that the kubelet says are gone, and since when.
    gone: BTreeMap<PodUid, Instant>,
    /// Pods that hold something by its files, and that it has not told of.
    untold: BTreeSet<PodUid>,
    /// One more with each change of the pods that run.
    version: u64,
    /// One more with each change of those that were refused.
    refused_version: u64,
    refusals: Vec<Refusal>,
    admissions: Vec<Admission>,
    /// Pods on which the kubelet has not decided, and since when; `None`: they have been taken.
    undecided: BTreeMap<PodUid, Option<Instant>>,
}

/// A pod as the kubelet has told of it.
#[derive(Clone)]
struct ToldPod {
    name: String,
    /// `Err`: why it is not known what it requests.
    pod: Result<Arc<Pod>, String>,
    has_ended: bool,
    /// The kubelet has written how its containers are: it has admitted the pod.
    is_admitted: bool,
    /// It has neither admitted nor refused the pod.
    is_undecided: bool,
    /// Its containers by their ids in the runtime.
    containers: Vec<(ContainerId, ContainerName)>,
    /// The pod with the kubelet's reason and message, if it did not admit it.
    refused: Option<ToldRefusal>,
}

/// What a kubelet says of a pod that it did not admit.
#[derive(Clone)]
struct ToldRefusal {
    reason: String,
    /// Without what it puts before each.
    message: String,
    /// As it is listed; `None`: it is not known what the pod requests.
    listed: Option<Arc<RefusedPod>>,
}

impl ToldRefusal {
    /// `None`: it did admit the pod.
    fn of(told: &KubeletPod, pod: Option<&Arc<Pod>>) -> Option<Self> {
        let (reason, message) = (told.reason().to_owned(), told.rejection()?.to_owned());
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

/// Which pods have changed: they are read again where they have.
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
    /// The kubelet's, without what it puts before each.
    pub(super) message: String,
    pub(super) heard: Heard,
}

/// A pod that the kubelet has just admitted.
pub(super) struct Admission {
    pub(super) pod: Arc<Pod>,
}

/// When a refusal was heard of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// As it happened.
    AtOnce,
    /// When the kubelet was listened to again: the node may have been another one when the pod was refused.
    Later,
}

impl Refusal {
    /// `None`: the pod is not refused, or was before.
    fn new(before: Option<&ToldPod>, now: &ToldPod, heard: Heard) -> Option<Self> {
        let was_refused = before.is_some_and(|before| before.refused.is_some());
        let ToldPod { name, pod, refused, .. } = now.clone();
        let ToldRefusal { reason, message, .. } = refused.filter(|_| !was_refused)?;
        Some(Self { name, pod, reason, message, heard })
    }
}

impl Admission {
    /// `None`: the kubelet has not decided on the pod, has refused it, or had admitted it before.
    fn new(before: Option<&ToldPod>, now: &ToldPod) -> Option<Self> {
        let was_admitted = before.is_some_and(|before| before.is_admitted);
        let pod = now.pod.as_ref().ok().filter(|_| now.is_admitted && !was_admitted && !now.has_ended)?;
        Some(Self { pod: pod.clone() })
    }
}

impl Told {
    fn refuse(&mut self, refusal: Option<Refusal>) {
        let room = WAITING.saturating_sub(self.refusals.len());
        self.refusals.extend(refusal.into_iter().take(room));
    }

    /// Whether the kubelet has still to decide on the pod, from now on.
    fn waits(&mut self, uid: &PodUid, pod: &ToldPod, now: Instant) {
        if pod.is_undecided {
            self.undecided.entry(uid.clone()).or_insert(Some(now));
        } else {
            self.undecided.remove(uid);
        }
    }

    fn admit(&mut self, admission: Option<Admission>) {
        let room = WAITING.saturating_sub(self.admissions.len());
        self.admissions.extend(admission.into_iter().take(room));
    }
}

impl ToldPod {
    fn new(pod: &KubeletPod, rules: PodRules) -> Self {
        let known = told_pod(pod, rules).map(Arc::new);
        let refused = ToldRefusal::of(pod, known.as_ref().ok());
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
    /// Nothing is known.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::default(), clock }
    }

    /// Changes whenever the kubelet tells something.
    pub(super) fn version(&self) -> Version {
        let told = self.state.lock();
        Version { running: told.version, refused: told.refused_version }
    }

    /// Which of these pods, and of others, run; `None`: the kubelet has not told of its pods.
    pub(super) fn names(&self, holders: Option<&BTreeSet<PodUid>>) -> Option<PodNames> {
        let told = &mut *self.state.lock();
        let pods = told.pods.as_ref()?;
        if let Some(holders) = holders {
            told.gone.retain(|uid, since| holders.contains(uid) || self.clock.since(*since) < FORGOTTEN);
            let is_told = |uid: &&PodUid| pods.contains_key(*uid) || told.gone.contains_key(*uid);
            told.untold = holders.iter().filter(|uid| !is_told(uid)).cloned().collect();
        }
        let (ended, running): (Vec<_>, Vec<_>) = pods.iter().partition(|(_, pod)| pod.has_ended);
        let known = |pods: &[(&PodUid, &ToldPod)]| -> Vec<Arc<Pod>> {
            pods.iter().filter_map(|(_, told)| told.pod.as_ref().ok().cloned()).collect()
        };
        let (running_pods, ended_pods) = (known(&running), known(&ended));
        let all_are_known = running_pods.len() == running.len();
        let gone = ended.iter().map(|(uid, _)| *uid).chain(told.gone.keys()).cloned();
        let names =
            PodNames::running(running_pods).with_ended(ended_pods.iter().map(AsRef::as_ref)).with_gone(gone);
        let all_are_told = holders.is_some() && told.untold.is_empty();
        Some(if all_are_told && all_are_known { names } else { names.with_unknown() })
    }

    /// Those that the kubelet refused and that are still there, as far as their specs are known.
    pub(super) fn refused(&self) -> BTreeMap<PodUid, Arc<RefusedPod>> {
        let told = self.state.lock();
        let each = told
            .pods
            .iter()
            .flatten()
            .filter_map(|(uid, told)| Some((uid.clone(), told.refused.as_ref()?.listed.clone()?)));
        each.collect()
    }

    /// The containers of pods that run, by their ids in the runtime.
    pub(super) fn containers(&self) -> Vec<(ContainerId, ContainerKey)> {
        let told = self.state.lock();
        let running = told.pods.iter().flatten().filter(|(_, pod)| !pod.has_ended);
        let each = running.flat_map(|(uid, pod)| {
            pod.containers.iter().map(|(id, container)| {
                (id.clone(), ContainerKey { pod: uid.clone(), container: container.clone() })
            })
        });
        each.collect()
    }

    /// The refusals that nobody has taken.
    pub(super) fn take_refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.state.lock().refusals)
    }

    /// The pods that were admitted and that nobody has taken.
    pub(super) fn take_admissions(&self) -> Vec<Admission> {
        std::mem::take(&mut self.state.lock().admissions)
    }

    /// The pods on which the kubelet has not decided for [`DECIDED`], each returned once.
    pub(super) fn take_undecided(&self) -> Vec<Arc<Pod>> {
        let told = &mut *self.state.lock();
        let mut taken = Vec::new();
        for (uid, since) in &mut told.undecided {
            if since.is_some_and(|since| self.clock.since(since) >= DECIDED) {
                *since = None;
                let pod = told.pods.as_ref().and_then(|pods| pods.get(uid)?.pod.as_ref().ok());
                taken.extend(pod.cloned());
            }
        }
        taken
    }

    /// Whether the kubelet has not decided on the pod.
    pub(super) fn is_undecided(&self, uid: &PodUid) -> bool {
        self.state.lock().undecided.contains_key(uid)
    }

    /// Something has been told of a pod.
    fn is(&self, pod: &KubeletPod, rules: PodRules) {
        let (uid, new) = (PodUid::new(pod.uid()), ToldPod::new(pod, rules));
        let mut told = self.state.lock();
        let held_nothing = told.gone.remove(&uid).is_some() || !told.untold.contains(&uid);
        if told.pods.is_none() {
            return;
        }
        told.waits(&uid, &new, self.clock.now());
        let Some(pods) = &mut told.pods else { return };
        let before = pods.insert(uid, new.clone());
        // Then it has not been among those that run, and is not now.
        let was_refused = before.as_ref().map_or(held_nothing, |before| before.refused.is_some());
        if new.refused.is_some() && was_refused {
            told.refused_version += 1;
        } else {
            told.version += 1;
        }
        told.refuse(Refusal::new(before.as_ref(), &new, Heard::AtOnce));
        told.admit(Admission::new(before.as_ref(), &new));
    }

    /// These are all.
    fn are(&self, pods: BTreeMap<PodUid, ToldPod>) {
        let mut told = self.state.lock();
        told.version += 1;
        let is_first = told.pods.is_none();
        for (uid, new) in &pods {
            let before = told.pods.as_ref().and_then(|before| before.get(uid));
            let refusal = Refusal::new(before, new, Heard::Later);
            // Those that ran before this program did are no news.
            let admission = Admission::new(before, new).filter(|_| !is_first);
            told.refuse(refusal);
            told.admit(admission);
        }
        let gone = told.pods.iter().flatten().map(|(uid, _)| uid).filter(|uid| !pods.contains_key(*uid));
        let now = self.clock.now();
        let gone: Vec<(PodUid, Instant)> = gone.map(|uid| (uid.clone(), now)).collect();
        told.gone.retain(|uid, _| !pods.contains_key(uid));
        told.gone.extend(gone);
        told.undecided.retain(|uid, _| pods.contains_key(uid));
        for (uid, new) in &pods {
            told.waits(uid, new, now);
        }
        told.pods = Some(pods);
    }

    fn gone(&self, uid: PodUid) {
        let mut told = self.state.lock();
        told.undecided.remove(&uid);
        let was = told.pods.as_mut().and_then(|pods| pods.remove(&uid));
        if was.is_some_and(|was| was.refused.is_some()) {
            told.refused_version += 1;
        } else {
            told.version += 1;
        }
        told.gone.insert(uid, self.clock.now());
    }
}

/// The events of one source: its first list is applied as a whole, and what follows pod by pod.
struct Events<'a> {
    pods: &'a KubeletPods,
    rules: PodRules,
    /// The first list as far as it has come; `None`: it is complete.
    first: Option<BTreeMap<PodUid, ToldPod>>,
}

/// What became of an event.
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
                first.insert(PodUid::new(pod.uid()), ToldPod::new(&pod, self.rules));
                Applied::Collected
            }
            (Event::Is(pod), None) => {
                self.pods.is(&pod, self.rules);
                Applied::Changed
            }
            // A kubelet may send it again: only the first one ends a list.
            (Event::Complete, first) => first.take().map_or(Applied::Collected, |pods| {
                let count = pods.len();
                self.pods.are(pods);
                Applied::Listed(count)
            }),
            (Event::Gone(pod), first) => {
                let uid = PodUid::new(pod.uid());
                if let Some(first) = first {
                    first.remove(&uid);
                }
                self.pods.gone(uid);
                Applied::Changed
            }
        }
    }
}

/// Listens for the rest of the program to the best of `sources` that tells anything, and calls `changed` whenever it has.
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
        let mut said = vec![None; self.sources.len()];
        loop {
            for (at, said) in said.iter_mut().enumerate() {
                let silence = self.watch(at, said);
                Self::tell(&silence, said);
                // Who told until now is asked again first, and then the others in turn.
                if matches!(silence, Silence::Ended(_)) {
                    break;
                }
            }
            self.view.clock.sleep(AGAIN);
        }
    }

    /// Says once why nothing is told.
    fn tell(silence: &Silence, said: &mut Option<String>) {
        let text = silence.to_string();
        match silence {
            _ if said.as_ref() == Some(&text) => {}
            // A kubelet before 1.37 does not serve it, and there is no harm in that.
            Silence::NotServed(_) if said.is_none() => {}
            Silence::Starting(_) | Silence::NotServed(_) => {
                tracing::debug!("pods are not told of: {text}");
            }
            Silence::Ended(_) => tracing::info!("what is known of pods stays as it was: {text}"),
            Silence::Failed(_) => {
                tracing::warn!("pods are not told of, what is known of them stays as it was: {text}");
            }
        }
        *said = Some(text);
    }

    /// Why the watch of a source is over.
    fn watch(&self, at: usize, said: &mut Option<String>) -> Silence {
        let (better, rest) = self.sources.split_at(at);
        let Some(source) = rest.first() else { return Silence::NotServed("nobody is there".to_owned()) };
        let watched: Result<Infallible, _> = source.watch().and_then(|mut watch| {
            let mut events = Events::new(&self.pods, self.view.node().node.pod_rules());
            let clock = &*self.view.clock;
            let mut looked = clock.now();
            loop {
                if clock.since(looked) >= BETTER {
                    looked = clock.now();
                    if let Some(better) = better.iter().find(|better| better.may_be_there()) {
                        let text = format!("{} is listened to instead of {}", better.name(), source.name());
                        return Err(Silence::Ended(text));
                    }
                }
                let Some(event) = watch.next(SILENCE.min(BETTER))? else { continue };
                match events.apply(event) {
                    Applied::Collected => continue,
                    Applied::Listed(pods) => {
                        tracing::info!(pods, "{} tells of its pods", source.name());
                        *said = None;
                    }
                    Applied::Changed => {}
                }
                (self.changed)();
            }
        });
        match watched {
            Ok(never) => match never {},
            Err(silence) => silence,
        }
    }
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
