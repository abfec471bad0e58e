//! Decisions written up: with their reasons, for who asked and for the log. Finding out what would have fitted takes a
//! while, so it happens here and not in the owner's thread.

use std::sync::{Arc, Once};
use std::thread;

use admission_report::{Facts, Report};
use crossbeam::channel::{self, Sender};
use device_manager::Replies;
use node_agent::{Manner, PodDecision, PodMove};
use node_input::ADVICE;
use node_view::clock::Clock;
use node_view::{DecisionWriter, Events, Kind, LoggedDecision, NodeView, OwnerReply, ServedNode, reason};
use pod_spec::Pod;

use super::owner::{Job, Writer};

/// Decisions that may wait; then the owner waits too.
const WAITING: usize = 64;

/// Who writes decisions up.
pub(super) struct Scribe(Sender<Job>);

/// What decisions are written up with, and where they go.
pub(super) struct Writing {
    served: Arc<ServedNode>,
    decisions: DecisionWriter,
    events: Arc<Events>,
    clock: Arc<dyn Clock>,
    /// Whether the log says that demands of pods are not looked at.
    demands_noted: Once,
}

impl Scribe {
    /// Starts its thread, which ends with it.
    pub(super) fn start(writing: Writing) -> anyhow::Result<Self> {
        let (sender, jobs) = channel::bounded::<Job>(WAITING);
        thread::Builder::new().name("scribe".to_owned()).spawn(move || {
            for job in jobs {
                writing.write_up(job);
            }
        })?;
        Ok(Self(sender))
    }
}

impl Writer for Scribe {
    fn write(&self, job: Job) {
        // It ends only after its owner.
        let _ = self.0.send(job);
    }

    fn is_free(&self) -> bool {
        self.0.is_empty()
    }
}

impl Writing {
    pub(super) fn new(view: &NodeView, decisions: DecisionWriter) -> Self {
        let NodeView { served, events, clock, .. } = view.clone();
        Self { served, decisions, events, clock, demands_noted: Once::new() }
    }

    /// Writes a decision up, and answers who waits for it.
    pub(super) fn write_up(&self, job: Job) {
        let Job { decided, answer } = job;
        let report = Arc::new(self.report(&decided));
        log(&decided, &report);
        let logged = LoggedDecision {
            time: self.clock.text(),
            uid: decided.pod.uid.clone(),
            source: decided.source.name(),
            took_microseconds: u64::try_from(decided.took.as_micros()).unwrap_or(u64::MAX),
            kubelet: None,
            free: node_output::free_cpus(&self.served.node.node, &decided.before),
            asked: (!report.is_placed()).then(|| decided.pod.clone()),
            report: report.clone(),
        };
        self.decisions.add(&decided.pod, logged);
        let PodDecision { pod, made_room, .. } = *decided;
        for moved in &made_room {
            self.moved(moved, &pod);
        }
        if let Some(answer) = answer {
            let told = if made_room.is_empty() {
                OwnerReply::Decided(report)
            } else {
                OwnerReply::Moved(report, made_room)
            };
            // Who asked may have gone.
            let _ = answer.send(told);
        }
    }

    fn report(&self, decided: &PodDecision) -> Report {
        let PodDecision { pod, verdict, trace, before, after, moved, .. } = decided;
        let node = &self.served.node;
        self.note_demands(pod);
        let facts = Facts { node: &node.node, before, after, pod, trace, moved, advice: ADVICE };
        let mut report = Report::of(&facts, verdict, &Replies::default());
        node.remark(before, pod, &mut report);
        report
    }

    /// Says once in the log what pods demand and is not known of the node.
    fn note_demands(&self, pod: &Pod) {
        let notes = self.served.node.not_looked_at([pod]);
        if !notes.is_empty() {
            self.demands_noted.call_once(|| notes.iter().for_each(|note| tracing::warn!("{note}")));
        }
    }

    /// A pod has moved so that another one fits.
    fn moved(&self, PodMove { pod, manner }: &PodMove, other: &Pod) {
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
}

fn log(decided: &PodDecision, report: &Report) {
    let pod = &report.pod;
    match report.refusal() {
        None => {
            let took = decided.took.as_micros();
            tracing::info!(pod, took_us = took, "pod admitted");
        }
        Some(refusal) => {
            let why = refusal.why().unwrap_or_default();
            let reason = refusal.reason.to_string();
            tracing::warn!(pod, reason, text = refusal.message, why, "pod refused");
        }
    }
}
