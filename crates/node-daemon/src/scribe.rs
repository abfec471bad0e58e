//! Decisions written up: with their reasons, for who asked and for the log. Finding out what would have fitted takes a
//! while, so it happens here and not in the owner's thread.

use std::sync::Arc;
use std::thread;

use admission_report::{Facts, Report};
use crossbeam::channel::{self, Sender};
use device_manager::Replies;
use node_agent::PodDecision;
use node_input::ADVICE;
use tokio::sync::oneshot;

use super::clock;
use super::owner::{Told, Writer};
use super::shared::{LoggedDecision, Shared};

/// Decisions that may wait; then the owner waits too.
const WAITING: usize = 64;

/// A decision, and who waits for it.
pub(super) struct Job {
    pub(super) decided: Box<PodDecision>,
    pub(super) answer: Option<oneshot::Sender<Told>>,
}

/// Who writes decisions up.
pub(super) struct Scribe(Sender<Job>);

impl Scribe {
    /// Starts its thread, which ends with it.
    pub(super) fn start(shared: Arc<Shared>) -> anyhow::Result<Self> {
        let (sender, jobs) = channel::bounded::<Job>(WAITING);
        thread::Builder::new().name("scribe".to_owned()).spawn(move || {
            for job in jobs {
                job.done(&shared);
            }
        })?;
        Ok(Self(sender))
    }
}

impl Job {
    /// Writes it up, and tells who waits for it.
    pub(super) fn done(self, shared: &Shared) {
        let Self { decided, answer } = self;
        let report = Arc::new(written_up(shared, &decided));
        log(&decided, &report);
        let logged = LoggedDecision {
            time: clock::now(),
            uid: decided.pod.uid.clone(),
            source: decided.source.name(),
            took_microseconds: u64::try_from(decided.took.as_micros()).unwrap_or(u64::MAX),
            kubelet: None,
            free: node_output::free_cpus(&shared.node.node, &decided.before),
            asked: (!report.is_placed()).then(|| decided.pod.clone()),
            report: report.clone(),
        };
        shared.decided(&decided.pod, logged);
        let PodDecision { pod, made_room, .. } = *decided;
        for moved in &made_room {
            shared.moved(moved, &pod);
        }
        if let Some(answer) = answer {
            let told =
                if made_room.is_empty() { Told::Decided(report) } else { Told::Moved(report, made_room) };
            // Who asked may have gone.
            let _ = answer.send(told);
        }
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

fn written_up(shared: &Shared, decided: &PodDecision) -> Report {
    let PodDecision { pod, verdict, trace, before, after, moved, .. } = decided;
    shared.note_demands(pod);
    let facts = Facts { node: &shared.node.node, before, after, pod, trace, moved, advice: ADVICE };
    let mut report = Report::of(&facts, verdict, &Replies::default());
    shared.node.remark(before, pod, &mut report);
    report
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
