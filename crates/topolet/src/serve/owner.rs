//! The owner's thread: events come in by one channel, effects go where they belong, readers get a snapshot.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use device_manager::{Moment, Question, Reply};
use kubelet_checkpoint::store::Fs;
use node_agent::{Agent, Answer, Effect, Enforcement, Event, Request, Ticket};
use tokio::sync::oneshot;

use super::scribe::{Job, Scribe};
use super::shared::Shared;
use crate::decision::Decision;

/// Events that may wait; who sends more waits itself.
pub(super) const WAITING: usize = 1024;
/// How often the owner looks at what was put off.
const EVERY: Duration = Duration::from_secs(5);

/// What the thread is told.
pub(super) enum Message {
    /// Something happened.
    Event(Event),
    /// Something happened, and somebody waits until it has been taken in.
    EventThen(Event, Box<dyn FnOnce() + Send>),
    /// Somebody asks for something.
    Ask(Request, oneshot::Sender<Told>),
    /// It is over.
    Stop,
}

/// What who asked is told.
#[derive(Debug)]
pub(super) enum Told {
    /// A pod has been decided on.
    Decided(Arc<Decision>),
    /// Anything else.
    Answer(Answer),
}

/// Who asks plugins.
pub(super) trait Plugins: Send {
    /// Asks, and has `answered` called with the answer, from any thread.
    fn ask(&self, question: Question, answered: Box<dyn FnOnce(Question, Reply) + Send>);
}

/// Who writes CPUs and memory nodes of running containers.
pub(super) trait Enforcer: Send {
    /// Writes them; what cannot be written is tried again by whoever looks after it.
    fn enforce(&mut self, enforcement: Enforcement);

    /// Calls `then` when all that it was told before is written.
    fn after(&mut self, then: Box<dyn FnOnce() + Send>);
}

/// Everything that the thread works with.
pub(super) struct OwnerThread<F: Fs> {
    pub(super) agent: Agent<F>,
    pub(super) shared: Arc<Shared>,
    pub(super) events: Receiver<Message>,
    /// The other end of it, for answers of plugins.
    pub(super) sender: SyncSender<Message>,
    pub(super) scribe: Scribe,
    pub(super) plugins: Box<dyn Plugins>,
    pub(super) enforcer: Box<dyn Enforcer>,
    pub(super) began: Instant,
    /// Who waits for an answer.
    pub(super) waiting: HashMap<Ticket, oneshot::Sender<Told>>,
    pub(super) tickets: u64,
}

impl<F: Fs> OwnerThread<F>
where
    Agent<F>: Send + 'static,
{
    /// Starts it; `effects` are what the agent had to say when it started.
    pub(super) fn start(mut self, effects: Vec<Effect>) -> anyhow::Result<JoinHandle<()>> {
        let thread = thread::Builder::new().name("owner".to_owned()).spawn(move || {
            self.publish();
            self.apply(effects);
            self.run();
        })?;
        Ok(thread)
    }

    fn run(&mut self) {
        let mut next = Instant::now() + EVERY;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            let (event, then) = match self.events.recv_timeout(wait) {
                Ok(Message::Event(event)) => (event, None),
                Ok(Message::EventThen(event, then)) => (event, Some(then)),
                Ok(Message::Ask(request, answer)) => {
                    let ticket = Ticket(self.tickets);
                    self.tickets += 1;
                    self.waiting.insert(ticket, answer);
                    (Event::Request(ticket, request), None)
                }
                Err(RecvTimeoutError::Timeout) => {
                    next = Instant::now() + EVERY;
                    (Event::Timer, None)
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            };
            let began = self.began;
            let effects = self.agent.handle(&move || Moment(began.elapsed()), event);
            if let Some(then) = then {
                then();
            }
            // Who is answered sees what it was told.
            self.publish();
            self.apply(effects);
        }
    }

    fn publish(&self) {
        self.shared.snapshot.store(Arc::new(self.agent.snapshot()));
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        // A container that starts is where it belongs before who asked goes on.
        let (places, others): (Vec<Effect>, Vec<Effect>) =
            effects.into_iter().partition(|effect| matches!(effect, Effect::Enforce(_)));
        let is_placed = !places.is_empty();
        for effect in places.into_iter().chain(others) {
            match effect {
                Effect::Answer(ticket, answer) if is_placed => {
                    if let Some(asked) = self.waiting.remove(&ticket) {
                        self.enforcer.after(Box::new(move || {
                            // Who asked may have gone.
                            let _ = asked.send(Told::Answer(answer));
                        }));
                    }
                }
                Effect::Answer(ticket, answer) => self.answer(ticket, Told::Answer(answer)),
                Effect::Decided(decided) => {
                    self.shared.metrics.decided(&decided);
                    let answer = decided.ticket.and_then(|ticket| self.waiting.remove(&ticket));
                    self.scribe.write(Job { decided, answer });
                }
                Effect::Ask(question) => {
                    let owner = self.sender.clone();
                    let answered = move |question, reply| {
                        // Nobody is left to be told once the owner has stopped.
                        let _ = owner.send(Message::Event(Event::Replied(question, reply)));
                    };
                    self.plugins.ask(question, Box::new(answered));
                }
                Effect::Enforce(enforcement) => self.enforcer.enforce(enforcement),
                Effect::Ended(uid, why) => tracing::info!(%uid, ?why, "pod ended"),
                Effect::Counted(changes) => self.shared.metrics.cpus(&changes),
                Effect::NotWritten(why) => {
                    self.shared.metrics.not_written();
                    tracing::error!("state is behind on disk: {why}");
                }
            }
        }
    }

    fn answer(&mut self, ticket: Ticket, told: Told) {
        if let Some(answer) = self.waiting.remove(&ticket) {
            // Who asked may have gone.
            let _ = answer.send(told);
        }
    }
}
