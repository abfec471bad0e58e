//! The owner's thread: events come in by one channel, effects go where they belong, readers get a snapshot.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError};
use device_manager::{Moment, Question};
use kubelet_checkpoint::store::Fs;
use node_agent::{Agent, DeferredPod, Effect, Event, PodDecision, PodMove, Ticket};
use node_enforce::Enforcer;
use node_view::{Events, Kind, Message, Metrics, News, OwnerReply, SnapshotWriter};
use tokio::sync::oneshot;
use topology_admission::Deferral;

/// How often the owner looks at what was put off.
const EVERY: Duration = Duration::from_secs(5);
/// How often it looks whether the next pod that waited for a plugin can have its turn.
const SOON: Duration = Duration::from_millis(5);

/// The end of the channel where the owner is.
pub(super) trait Inbox: Send {
    /// The next message, if one comes in time.
    fn next(&mut self, within: Duration) -> Result<Message, RecvTimeoutError>;
}

impl Inbox for Receiver<Message> {
    fn next(&mut self, within: Duration) -> Result<Message, RecvTimeoutError> {
        self.recv_timeout(within)
    }
}

/// Who asks plugins.
pub(super) trait Plugins: Send {
    /// Asks. The answer comes as a message, from another thread: this one may not wait for room among them.
    fn ask(&self, question: Question);
}

/// A decision that is to be written up.
pub(super) struct Job {
    pub(super) decided: Box<PodDecision>,
    /// Where its answer goes.
    pub(super) answer: Option<oneshot::Sender<OwnerReply>>,
}

/// Who writes decisions up, and answers who waits for them.
pub(super) trait Writer: Send {
    /// Has it written. May wait until others are.
    fn write(&self, job: Job);

    /// Whether a decision that is given now is the next to be written.
    fn is_free(&self) -> bool;
}

/// Everything that the thread works with.
pub(super) struct OwnerThread<F: Fs> {
    pub(super) agent: Agent<F>,
    pub(super) snapshots: SnapshotWriter,
    pub(super) metrics: Arc<Metrics>,
    pub(super) events: Arc<Events>,
    pub(super) news: Arc<News>,
    pub(super) inbox: Box<dyn Inbox>,
    pub(super) scribe: Box<dyn Writer>,
    pub(super) plugins: Box<dyn Plugins>,
    pub(super) enforcer: Box<dyn Enforcer>,
    pub(super) clock: Box<dyn Fn() -> Moment + Send>,
    /// Who waits for an answer.
    pub(super) waiting: HashMap<Ticket, oneshot::Sender<OwnerReply>>,
    pub(super) tickets: u64,
}

impl<F: Fs> OwnerThread<F> {
    /// Starts it; `effects` are what the agent had to say when it started.
    pub(super) fn start(mut self, effects: Vec<Effect>) -> anyhow::Result<JoinHandle<()>>
    where
        Agent<F>: Send + 'static,
    {
        Ok(thread::Builder::new().name("owner".to_owned()).spawn(move || self.run(effects))?)
    }

    /// Works until `Message::Stop`.
    pub(super) fn run(&mut self, effects: Vec<Effect>) {
        self.publish();
        self.apply(effects);
        let mut timer = (self.clock)().0 + EVERY;
        loop {
            let now = (self.clock)();
            let left = timer.saturating_sub(now.0);
            let (has_turn, is_free) = (self.agent.has_turn(now), self.scribe.is_free());
            // A request does not wait for all pods that waited for a plugin, or for their decisions to be
            // written up.
            let within = match (has_turn, is_free) {
                (false, _) => left,
                (true, true) => Duration::ZERO,
                (true, false) => left.min(SOON),
            };
            // What was put off is looked at however much comes in.
            let received =
                if left.is_zero() { Err(RecvTimeoutError::Timeout) } else { self.inbox.next(within) };
            let (event, then) = match received {
                Ok(Message::Event(event)) => (event, None),
                Ok(Message::EventThen(event, then)) => (event, Some(then)),
                Ok(Message::Ask(request, answer)) => {
                    let ticket = Ticket(self.tickets);
                    self.tickets += 1;
                    self.waiting.insert(ticket, answer);
                    (Event::Request(ticket, request), None)
                }
                Err(RecvTimeoutError::Timeout) if !left.is_zero() && has_turn => {
                    if !is_free {
                        continue;
                    }
                    (Event::Turn, None)
                }
                Err(RecvTimeoutError::Timeout) => {
                    timer = (self.clock)().0 + EVERY;
                    (Event::Timer, None)
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            };
            let effects = self.agent.handle(&*self.clock, event);
            self.announce(&effects);
            // The snapshot is there before the answer.
            self.publish();
            if let Some(then) = then {
                then();
            }
            self.apply(effects);
        }
    }

    /// Who sees that a pod is gone knows why.
    fn announce(&self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Ended(uid, why) = effect {
                self.news.ended(uid, why);
            }
        }
    }

    fn publish(&self) {
        self.snapshots.publish(self.agent.snapshot());
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        // A container that starts is where it belongs before who asked goes on.
        let (places, others): (Vec<Effect>, Vec<Effect>) =
            effects.into_iter().partition(|effect| matches!(effect, Effect::Enforce(_)));
        let is_placed = !places.is_empty();
        for effect in places.into_iter().chain(others) {
            match effect {
                Effect::Answer(ticket, answer) if is_placed => {
                    if let Some(asked) = self.asked(ticket) {
                        self.enforcer.after(Box::new(move || {
                            // Who asked may have gone.
                            let _ = asked.send(OwnerReply::Answer(answer));
                        }));
                    }
                }
                Effect::Answer(ticket, answer) => self.answer(ticket, OwnerReply::Answer(answer)),
                Effect::Decided(mut decided) => {
                    if !self.enforcer.is_enforcing() {
                        decided.made_room.iter_mut().for_each(PodMove::is_not_enforced);
                    }
                    self.metrics.decided(&decided);
                    let answer = decided.ticket.and_then(|ticket| self.asked(ticket));
                    self.scribe.write(Job { decided, answer });
                }
                Effect::Deferred(deferred) => self.deferred(&deferred),
                Effect::Ask(question) => self.plugins.ask(question),
                Effect::Enforce(enforcement) => self.enforcer.enforce(enforcement),
                Effect::Ended(uid, why) => tracing::info!(%uid, ?why, "pod ended"),
                Effect::Counted(changes) => self.metrics.cpus(&changes),
                Effect::NotWritten(why) => {
                    self.metrics.not_written();
                    tracing::error!("state is behind on disk: {why}");
                }
            }
        }
    }

    /// A pod waits for device plugins.
    fn deferred(&self, DeferredPod { pod, deferral, .. }: &DeferredPod) {
        let message = deferral.to_string();
        tracing::warn!(pod = format!("{}/{}", pod.namespace, pod.name), "pod deferred: {message}");
        self.metrics.deferred();
        self.events.add(Some((&**pod).into()), Kind::Normal, Deferral::REASON, message);
    }

    fn answer(&mut self, ticket: Ticket, told: OwnerReply) {
        if let Some(answer) = self.asked(ticket) {
            // Who asked may have gone.
            let _ = answer.send(told);
        }
    }

    /// Who waits for the answer to a request. There is one answer to each.
    fn asked(&mut self, ticket: Ticket) -> Option<oneshot::Sender<OwnerReply>> {
        let asked = self.waiting.remove(&ticket);
        debug_assert!(asked.is_some(), "{ticket:?} is answered twice");
        asked
    }
}

#[cfg(test)]
mod models;
