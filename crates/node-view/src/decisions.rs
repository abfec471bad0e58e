//! The last decisions on pods: one thread adds them, readers look them up.

use std::collections::VecDeque;
use std::sync::Arc;

use admission_report::{Conclusion, ContainerReport, Refusal, Report};
use cpuset::CpuSet;
use node_state::Source;
use parking_lot::Mutex;
use pod_spec::{Pod, PodUid};
use schemars::JsonSchema;
use serde::Serialize;

use super::events::{Events, Kind, reason};

/// How many decisions are kept.
pub const DECISIONS: usize = 1000;

/// The source of pods that a kubelet runs.
pub const KUBELET: &str = "kubelet";

/// The sources of pods and decisions, as a schema.
pub fn sources(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    admission_report::schema::one_of(Source::NAMES.into_iter().chain([KUBELET]))
}

/// The last decisions, for readers.
#[derive(Clone, Default)]
pub struct Decisions(Arc<Mutex<Kept>>);

/// Oldest first.
#[derive(Default)]
struct Kept {
    /// The number of all decisions since the start.
    all: u64,
    last: VecDeque<Arc<LoggedDecision>>,
}

/// A decision and when it was made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedDecision {
    /// In UTC, by the clock on the wall.
    pub time: String,
    /// That of the pod: another one may have had its name.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub uid: PodUid,
    /// Where the pod comes from; `kubelet` where the kubelet decided, and this explains it.
    #[schemars(schema_with = "sources")]
    pub source: &'static str,
    /// From the first look to safe files; of a kubelet's decision the time to explain it.
    pub took_microseconds: u64,
    /// What the kubelet decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletDecision>,
    /// The CPUs that containers could get for themselves before it; `None`: containers get none.
    #[serde(skip)]
    pub free: Option<CpuSet>,
    /// Of a refusal the pod as it was asked for.
    #[serde(skip)]
    pub asked: Option<Arc<Pod>>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "the fields of the report are those of the decision")]
    pub report: Arc<Report>,
}

fn text<S: serde::Serializer>(uid: &PodUid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(uid.as_str())
}

/// A kubelet's refusal, beside the decision that is made of what is known here.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KubeletDecision {
    /// As in the pod's status.
    pub reason: String,
    /// As in the pod's status, without `Pod was rejected: `.
    pub message: String,
    /// Whether the decision here is a refusal for the same reason.
    pub agrees: bool,
    /// The pod was refused before the kubelet was listened to, and is decided on the node as it was then.
    #[serde(rename = "late", skip_serializing_if = "std::ops::Not::not")]
    pub is_late: bool,
}

impl LoggedDecision {
    /// As an event: its type, its reason, and in one line where the pod runs, or why not and what would fit.
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
                    Conclusion::Unschedulable(why) => Some(why.to_string()),
                    Conclusion::Undecided(why) => Some(why.to_string()),
                    _ => None,
                };
                let message = open.map_or_else(|| held.clone(), |open| format!("{open}; {held}"));
                (Kind::Normal, reason::ADMITTED.to_owned(), message)
            }
        }
    }
}

/// The holdings of containers, in one line.
pub fn holdings(containers: &[ContainerReport]) -> String {
    let each = containers.iter().map(|held| match held.holdings() {
        Some(holdings) => format!("{}: {holdings}", held.name),
        None => format!("{}: shared CPUs", held.name),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The write handle of the thread that makes or explains decisions.
pub struct DecisionWriter {
    decisions: Decisions,
    events: Arc<Events>,
}

impl DecisionWriter {
    /// Each decision is also added to `events`.
    pub fn new(events: Arc<Events>) -> Self {
        Self { decisions: Decisions::default(), events }
    }

    /// For readers.
    pub fn decisions(&self) -> Decisions {
        self.decisions.clone()
    }

    /// Adds the decision on a pod.
    pub fn add(&self, pod: &Pod, decision: LoggedDecision) {
        let (kind, reason, message) = decision.in_one_line();
        {
            let mut kept = self.decisions.0.lock();
            if kept.last.len() == DECISIONS {
                kept.last.pop_front();
            }
            kept.last.push_back(Arc::new(decision));
            kept.all += 1;
        }
        self.events.add(Some(pod.into()), kind, &reason, message);
    }
}

impl Decisions {
    /// The last `count`, oldest first.
    pub fn last(&self, count: usize) -> Vec<Arc<LoggedDecision>> {
        let kept = &self.0.lock().last;
        kept.iter().skip(kept.len().saturating_sub(count)).cloned().collect()
    }

    /// The number of all decisions, and those numbered above `after` that are kept, oldest first.
    pub fn since(&self, after: u64) -> (u64, Vec<Arc<LoggedDecision>>) {
        let kept = self.0.lock();
        // The number may come from an earlier daemon: then all are returned.
        let count = kept.all.checked_sub(after).unwrap_or(kept.all);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let last = kept.last.iter().skip(kept.last.len().saturating_sub(count)).cloned().collect();
        (kept.all, last)
    }

    /// The last decision on a pod, by namespace and name.
    pub fn last_of(&self, pod: &str) -> Option<Arc<LoggedDecision>> {
        let kept = &self.0.lock().last;
        kept.iter().rev().find(|logged| logged.report.pod == pod).cloned()
    }

    /// The last decision on the pod with this UID.
    pub fn last_on(&self, uid: &PodUid) -> Option<Arc<LoggedDecision>> {
        let kept = &self.0.lock().last;
        kept.iter().rev().find(|logged| logged.uid == *uid).cloned()
    }
}
