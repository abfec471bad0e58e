//! Decisions written up: with their reasons, for who asked and for the log. Finding out what would have fitted takes a
//! while, so it happens here and not in the owner's thread.

use std::sync::Arc;
use std::thread;

use crossbeam::channel::{self, Sender};
use device_manager::Replies;
use node_agent::Decided;
use tokio::sync::oneshot;
use topology_admission::{Tries, Verdict};

use super::clock;
use super::owner::{Told, Writer};
use super::shared::{LoggedDecision, Shared};
use crate::decision::{Decision, Facts};

/// Decisions that may wait; then the owner waits too.
const WAITING: usize = 64;

/// A decision, and who waits for it.
pub(super) struct Job {
    pub(super) decided: Box<Decided>,
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
        let decision = Arc::new(written_up(shared, &decided));
        log(&decided, &decision);
        shared.log.add(LoggedDecision {
            time: clock::now(),
            source: decided.source.name(),
            took_microseconds: u64::try_from(decided.took.as_micros()).unwrap_or(u64::MAX),
            decision: decision.clone(),
        });
        if let Some(answer) = answer {
            // Who asked may have gone.
            let _ = answer.send(Told::Decided(decision));
        }
    }
}

impl Writer for Scribe {
    fn write(&self, job: Job) {
        // It ends only after its owner.
        let _ = self.0.send(job);
    }
}

fn written_up(shared: &Shared, decided: &Decided) -> Decision {
    let Decided { pod, verdict, trace, before, after, moved, .. } = decided;
    shared.note_demands(pod);
    let facts = Facts { node: &shared.node, before, ledger: after, pod, trace, moved };
    match verdict {
        Verdict::Admitted(placement) => facts.admitted(placement),
        Verdict::Refused(refused) => {
            let node = &shared.node.node;
            let replies = Replies::default();
            let explained = node.explain(before, pod, &replies, (refused, trace), Tries::default());
            facts.refused(refused, &explained)
        }
        // It is no decision then, and does not come here.
        Verdict::NeedsPlugin(_) => facts.undecided(),
    }
}

fn log(decided: &Decided, decision: &Decision) {
    let pod = &decision.pod;
    match &decision.refusal {
        None => {
            let took = decided.took.as_micros();
            tracing::info!(pod, took_us = took, "pod admitted");
        }
        Some(refusal) => {
            let why = refusal.why.as_deref().unwrap_or_default();
            tracing::warn!(pod, reason = refusal.reason, text = refusal.message, why, "pod refused");
        }
    }
}
