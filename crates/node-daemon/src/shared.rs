//! What readers share with the owner.

use std::collections::VecDeque;
use std::sync::{Arc, Once};

use admission_report::{Conclusion, ContainerReport, Refusal, Report};
use arc_swap::{ArcSwap, ArcSwapOption};
use cgroup_cpuset::Cgroups;
use cpuset::CpuSet;
use machine_picture::Reserved;
use node_agent::{DeferredPod, Manner, PodMove, Snapshot};
use node_input::{LoadedNode, Requests};
use parking_lot::Mutex;
use pod_spec::{Pod, PodUid};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Notify;
use topology_admission::Deferral;
use topology_model::Machine;

use super::changed::Changed;
use super::conditions::NodeConditions;
use super::events::{Events, Kind, reason};
use super::manifests::Manifests;
use super::metrics::{Exposition, Metrics, Now};
use super::news::News;
use super::observe::Observed;

/// So many decisions are kept.
pub(super) const DECISIONS: usize = 1000;

/// The node, its latest moment and its last decisions.
pub(super) struct Shared {
    pub(super) node: LoadedNode,
    /// The machine as `topolet topology -o json` has it.
    pub(super) machine: serde_json::Value,
    /// And for people.
    pub(super) drawing: String,
    /// What pictures of the node are drawn of; `None` where only cAdvisor's view of the machine is known.
    pub(super) hardware: Option<Hardware>,
    pub(super) snapshot: ArcSwap<Snapshot>,
    pub(super) metrics: Metrics,
    pub(super) log: Log,
    pub(super) events: Events,
    pub(super) mode: Mode,
    /// The cgroups that containers are kept in.
    pub(super) cgroups: Option<Cgroups>,
    /// What is assumed about the node for as long as it is served, each as a sentence.
    pub(super) assumed: Vec<String>,
    pub(super) manifests: Manifests,
    /// Whether the node is well.
    pub(super) conditions: Arc<NodeConditions>,
    /// What a kubelet has written, where one owns the node.
    pub(super) observed: ArcSwapOption<Observed>,
    /// Whether there is a snapshot that has not been published.
    pub(super) changed: Changed,
    /// The same, for who publishes the node itself.
    pub(super) state_changed: Changed,
    /// For who reports on pods.
    pub(super) news: News,
    /// What was wrong with the node when it was looked at last.
    pub(super) problems: Mutex<Vec<String>>,
    /// Whether the log says that demands of pods are not looked at.
    pub(super) demands_noted: Once,
    /// Somebody has found that everything has to be read again, as with SIGHUP.
    pub(super) reload: Notify,
}

/// A machine with what stays as it is while its node is served.
pub(super) struct Hardware {
    pub(super) machine: Machine,
    /// Below the name of the machine in a picture.
    pub(super) summary: String,
    pub(super) reserved: Reserved,
}

impl Shared {
    /// Says once in the log what pods demand and nobody knows of the node.
    pub(super) fn note_demands(&self, pod: &Pod) {
        let notes = self.node.not_looked_at([pod]);
        if !notes.is_empty() {
            self.demands_noted.call_once(|| notes.iter().for_each(|note| tracing::warn!("{note}")));
        }
    }

    /// Which requests of the pods that run are known.
    pub(super) fn requests(&self) -> Requests {
        match (self.mode, self.observed.load().as_deref()) {
            (Mode::Serve, _) => Requests::OfEveryPod,
            (Mode::Observe, observed) => observed.map_or(Requests::WhatIsHeld, |observed| observed.requests),
        }
    }

    /// A pod has been decided on.
    pub(super) fn decided(&self, pod: &Pod, decision: LoggedDecision) {
        let (kind, reason, message) = decision.in_one_line();
        self.log.add(decision);
        self.events.add(Some(pod.into()), kind, &reason, message);
    }

    /// A pod has moved so that another one fits.
    pub(super) fn moved(&self, PodMove { pod, manner }: &PodMove, other: &Pod) {
        let (name, other) =
            (format!("{}/{}", pod.namespace, pod.name), format!("{}/{}", other.namespace, other.name));
        let message = format!("moved so that {other} fits: {manner}");
        let (kind, reason) = if matches!(manner, Manner::Restart(_)) {
            tracing::warn!(pod = name, "pod {message}");
            (Kind::Warning, reason::RESTART_NEEDED)
        } else {
            tracing::info!(pod = name, "pod {message}");
            (Kind::Normal, reason::MOVED)
        };
        self.events.add(Some((&**pod).into()), kind, reason, message);
    }

    /// A pod waits for device plugins.
    pub(super) fn deferred(&self, deferred: &DeferredPod) {
        let DeferredPod { pod, deferral, .. } = deferred;
        let message = deferral.to_string();
        tracing::warn!(pod = format!("{}/{}", pod.namespace, pod.name), "pod deferred: {message}");
        self.metrics.deferred();
        self.events.add(Some((&**pod).into()), Kind::Normal, Deferral::REASON, message);
    }

    /// The node is so now. Pods that are not on it any more have ended.
    pub(super) fn becomes(&self, snapshot: Snapshot) {
        let before = self.snapshot.swap(Arc::new(snapshot));
        self.changed.mark();
        self.state_changed.mark();
        let now = self.snapshot.load();
        for (uid, record) in before.pods.iter().filter(|(uid, _)| !now.pods.contains_key(*uid)) {
            // One that state files alone list has its UID for a name.
            if record.pod.name != uid.as_str() {
                self.events.add(Some((&*record.pod).into()), Kind::Normal, reason::ENDED, String::new());
            }
        }
        self.news.changed();
    }

    /// What is wrong with the node, each in one sentence.
    pub(super) fn problems(&self, snapshot: &Snapshot) -> Vec<String> {
        let behind = snapshot.behind.iter().map(|why| format!("state is behind on disk: {why}"));
        let conditions = &self.conditions;
        let unready = [
            conditions.why_stale(),
            self.manifests.why_not_ready(snapshot),
            conditions.why_not_served(),
            conditions.why_no_member(),
        ];
        let quarantined = snapshot.pods.values().filter_map(|record| {
            let (why, Pod { namespace, name, .. }) = (record.quarantine.as_ref()?, &*record.pod);
            Some(format!("{namespace}/{name} is quarantined: {why}"))
        });
        behind
            .chain(unready.into_iter().flatten())
            .chain(conditions.unpublished())
            .chain(quarantined)
            .chain(conditions.drifted())
            .chain(conditions.next_start_fails())
            .chain(conditions.invalid_partitions())
            .collect()
    }

    /// What does not keep the node from deciding, and has to be known.
    pub(super) fn remarks(&self) -> Vec<String> {
        let conditions = &self.conditions;
        let partitions = [conditions.invalid_partitions(), conditions.of_partitions()].concat();
        let next_start = [conditions.next_start_fails(), conditions.machine_changed()];
        conditions
            .unpublished()
            .into_iter()
            .chain(partitions)
            .chain(next_start.into_iter().flatten())
            .collect()
    }

    /// What must be known beside any answer.
    pub(super) fn notes(&self) -> Vec<String> {
        self.assumed.iter().cloned().chain(self.conditions.why_stale()).collect()
    }

    /// Looks for problems; those that are new and those that are solved become events.
    pub(super) fn look_for_problems(&self) {
        let now = self.problems(&self.snapshot.load());
        let before = std::mem::replace(&mut *self.problems.lock(), now.clone());
        for solved in before.iter().filter(|one| !now.contains(one)) {
            self.events.add(None, Kind::Normal, reason::SOLVED, solved.clone());
        }
        for new in now.iter().filter(|one| !before.contains(one)) {
            self.events.add(None, Kind::Warning, reason::PROBLEM, new.clone());
        }
    }

    /// All metrics as they are now.
    pub(super) fn exposed(&self, exposition: Exposition) -> String {
        let Self { node, manifests, conditions, .. } = self;
        self.metrics.text(
            exposition,
            &Now {
                node,
                snapshot: &self.snapshot.load(),
                manifests,
                is_stale: conditions.why_stale().is_some(),
                drifted: conditions.drifted().len(),
                next_start_fails: conditions.next_start_fails().is_some(),
            },
        )
    }
}

/// What is done with the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// It is owned.
    Serve,
    /// A kubelet owns it, and is watched.
    Observe,
}

/// The last decisions, oldest first.
#[derive(Default)]
pub(super) struct Log(Mutex<Decisions>);

#[derive(Default)]
struct Decisions {
    /// So many there were in all.
    all: u64,
    last: VecDeque<Arc<LoggedDecision>>,
}

/// A decision and when it was made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoggedDecision {
    /// In UTC, by the clock on the wall.
    pub(super) time: String,
    /// That of the pod: another one may have had its name.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub(super) uid: PodUid,
    /// Where the pod comes from; `kubelet` where the kubelet decided, and this is what is to be said of it.
    #[schemars(schema_with = "crate::api::sources")]
    pub(super) source: &'static str,
    /// From the first look to safe files; of a kubelet's decision the time to explain it.
    pub(super) took_microseconds: u64,
    /// What the kubelet decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kubelet: Option<KubeletDecision>,
    /// The CPUs that containers could get for themselves before it; `None`: containers get none.
    #[serde(skip)]
    pub(super) free: Option<CpuSet>,
    /// Of a refusal the pod as it was asked for.
    #[serde(skip)]
    pub(super) asked: Option<Arc<Pod>>,
    #[serde(flatten)]
    pub(super) report: Arc<Report>,
}

fn text<S: serde::Serializer>(uid: &PodUid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(uid.as_str())
}

/// A kubelet's refusal, beside the decision that is made of what is known here.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KubeletDecision {
    /// As in the pod's status.
    pub(super) reason: String,
    /// As in the pod's status, without `Pod was rejected: `.
    pub(super) message: String,
    /// Whether the decision here is a refusal for the same reason.
    pub(super) agrees: bool,
    /// The pod was refused before the kubelet was listened to, and is decided on the node as it was then.
    #[serde(rename = "late", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_late: bool,
}

impl LoggedDecision {
    /// As an event: its kind, its reason, and in one line where the pod runs, or why it does not and what would fit.
    fn in_one_line(&self) -> (Kind, String, String) {
        let refusal = self.report.refusal();
        let line = refusal.map(Refusal::in_one_line).filter(|line| !line.is_empty());
        match (&self.kubelet, refusal) {
            (Some(kubelet), _) if !kubelet.agrees => {
                let here = match (self.report.fated(), refusal) {
                    (Some(fated), _) => fated.fate.brief().to_owned(),
                    (None, Some(refusal)) => refusal.reason.to_string(),
                    (None, None) => "it is admitted".to_owned(),
                };
                let line = line.map(|line| format!(": {line}")).unwrap_or_default();
                let message = format!("{}; decided here: {here}{line}", kubelet.message);
                (Kind::Warning, kubelet.reason.clone(), message)
            }
            _ if let Some(fated) = self.report.fated() => {
                let ways_out = fated.ways_out().join("; or ");
                (Kind::Warning, fated.fate.reason().to_owned(), format!("{fated}; avoided by {ways_out}"))
            }
            (_, Some(refusal)) => {
                (Kind::Warning, refusal.reason.to_string(), line.unwrap_or_else(|| refusal.message.clone()))
            }
            (_, None) => {
                let held = holdings(self.report.containers());
                let open = match &self.report.conclusion {
                    Conclusion::WithoutClaims(_, claims) => Some(claims.to_string()),
                    Conclusion::Undecided(why) => Some(why.to_string()),
                    _ => None,
                };
                let message = open.map_or_else(|| held.clone(), |open| format!("{open}; {held}"));
                (Kind::Normal, reason::ADMITTED.to_owned(), message)
            }
        }
    }
}

/// What containers hold, in one line.
pub(super) fn holdings(containers: &[ContainerReport]) -> String {
    let each = containers.iter().map(|held| match held.holdings() {
        Some(holdings) => format!("{}: {holdings}", held.name),
        None => format!("{}: shared CPUs", held.name),
    });
    each.collect::<Vec<_>>().join("; ")
}

impl Log {
    fn add(&self, decision: LoggedDecision) {
        let mut log = self.0.lock();
        if log.last.len() == DECISIONS {
            log.last.pop_front();
        }
        log.last.push_back(Arc::new(decision));
        log.all += 1;
    }

    /// The last `count`, oldest first.
    pub(super) fn last(&self, count: usize) -> Vec<Arc<LoggedDecision>> {
        let log = &self.0.lock().last;
        log.iter().skip(log.len().saturating_sub(count)).cloned().collect()
    }

    /// How many there were in all, and those of the last that came after the first `after`, oldest first.
    pub(super) fn since(&self, after: u64) -> (u64, Vec<Arc<LoggedDecision>>) {
        let log = self.0.lock();
        // A page may have counted those of an earlier daemon.
        let count = log.all.checked_sub(after).unwrap_or(log.all);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let last = log.last.iter().skip(log.last.len().saturating_sub(count)).cloned().collect();
        (log.all, last)
    }

    /// The last one on a pod, by namespace and name.
    pub(super) fn last_of(&self, pod: &str) -> Option<Arc<LoggedDecision>> {
        let log = &self.0.lock().last;
        log.iter().rev().find(|logged| logged.report.pod == pod).cloned()
    }

    /// The last one on the pod of that UID.
    pub(super) fn last_on(&self, uid: &PodUid) -> Option<Arc<LoggedDecision>> {
        let log = &self.0.lock().last;
        log.iter().rev().find(|logged| logged.uid == *uid).cloned()
    }
}
