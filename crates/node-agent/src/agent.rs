//! An owner with its files: what it plans is written, then done.

use std::fmt;

use device_manager::Moment;
use kubelet_checkpoint::store::{Disk, Fs, Store, StoreError};

use crate::effect::{Effect, Write, WriteOutcome};
use crate::event::Event;
use crate::owner::Owner;
use crate::snapshot::Snapshot;

/// An owner and the store in which its node is kept.
pub struct Agent<F: Fs = Disk> {
    owner: Owner,
    store: Store<F>,
}

impl<F: Fs> fmt::Debug for Agent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl<F: Fs> Agent<F> {
    /// The agent of a node that starts; what has to be written at once is.
    pub fn new(owner: Owner, store: Store<F>, clock: &dyn Fn() -> Moment) -> (Self, Vec<Effect>) {
        let mut agent = Self { owner, store };
        let effects = agent.work(clock);
        (agent, effects)
    }

    /// The owner, whose changes are on disk.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Whether a pod that waited for a device plugin is decided on at the next [`Event::Turn`].
    #[must_use]
    pub fn has_turn(&self, now: Moment) -> bool {
        self.owner.has_turn(now)
    }

    /// Everything, for those who look.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.owner.snapshot()
    }

    /// Takes an event in and does all that follows and can be done now. What the effects tell is safe on disk.
    pub fn handle(&mut self, clock: &dyn Fn() -> Moment, event: Event) -> Vec<Effect> {
        self.owner.handle(clock(), event);
        self.work(clock)
    }

    fn work(&mut self, clock: &dyn Fn() -> Moment) -> Vec<Effect> {
        loop {
            let began = clock();
            let Some(plan) = self.owner.next_timed(clock) else { break };
            let plan = plan.worked(clock().0.saturating_sub(began.0));
            let written = self.write(plan.writes());
            self.owner.settle(clock(), plan, &written);
        }
        self.owner.take_effects()
    }

    fn write(&self, writes: &[Write]) -> WriteOutcome {
        for (done, Write { file, text }) in writes.iter().enumerate() {
            let path = file.path();
            let result = match text {
                Some(text) => self.store.write_at(&path, text.as_bytes()),
                None => self.store.remove_at(&path),
            };
            if let Err(error) = result {
                return WriteOutcome::Failed { done, why: with_cause(&error) };
            }
        }
        WriteOutcome::All
    }
}

/// An error with the operating system's.
fn with_cause(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
