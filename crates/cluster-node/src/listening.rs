//! Listens to objects of a kind, whatever becomes of the API server: all of them are listed, then each change is heard, and
//! after each break all are listed anew, so that it is heard which have gone meanwhile.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::connector::Connector;
use crate::error::ClusterError;
use crate::object::WatchedObject;
use crate::watch::{Happened, ObjectWatch, Watched};

/// How long nothing may happen until the connection is looked at.
const SILENCE: Duration = Duration::from_mins(1);

/// What a listener hears.
#[derive(Clone, PartialEq, Debug)]
pub enum ObjectEvent {
    /// All objects are about to be listed.
    Listing,
    /// An object is there as it is here: new, or changed.
    Is(WatchedObject),
    /// An object is gone.
    Gone {
        /// Its name, or the UID of a pod.
        id: String,
        /// What it was; `None`: it was deleted while no watch was open.
        last: Option<WatchedObject>,
    },
    /// All objects that there are have been heard of, and those that have gone meanwhile.
    Complete {
        /// How many there are.
        known: usize,
    },
}

/// Who listens.
pub trait Listener {
    /// Something has happened. `Break` ends listening for good.
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()>;

    /// The objects cannot be listened to, which is tried again. An API server that stops is no failure.
    fn failed(&mut self, error: &ClusterError);
}

/// Objects that are listened to.
pub struct Listening<L> {
    connector: Connector,
    clock: Arc<dyn Clock>,
    watched: Watched,
    listener: L,
    watch: Option<ObjectWatch>,
    known: Known,
    backoff: Backoff,
    /// Nothing is tried before.
    not_before: Instant,
}

impl<L: Listener> Listening<L> {
    /// Listens to these objects. After a break it is tried again, at the latest after `again`.
    pub fn new(connector: Connector, watched: Watched, again: Duration, listener: L) -> Self {
        let clock = connector.clock().clone();
        let (backoff, not_before) = (Backoff::up_to(again), clock.now());
        let known = Known::default();
        Self { connector, clock, watched, listener, watch: None, known, backoff, not_before }
    }

    /// Goes on until the listener ends it, in a thread of that name.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(mut self, thread: &str) -> io::Result<()>
    where
        L: Send + 'static,
    {
        thread::Builder::new()
            .name(thread.to_owned())
            .spawn(move || while self.step(SILENCE).is_continue() {})?;
        Ok(())
    }

    /// One step: one event is heard, or time passes, no longer than `within`. `Break`: the listener has ended it.
    pub fn step(&mut self, within: Duration) -> ControlFlow<()> {
        let left = self.not_before.saturating_duration_since(self.clock.now());
        if !left.is_zero() {
            self.clock.sleep(left.min(within));
            return ControlFlow::Continue(());
        }
        match self.advance(within) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(event)) => {
                if matches!(event, ObjectEvent::Complete { .. }) {
                    self.backoff.reset();
                }
                self.listener.heard(event)
            }
            Err(error) => {
                self.watch = None;
                if !matches!(error, ClusterError::Ended(_) | ClusterError::Expired(_)) {
                    self.listener.failed(&error);
                }
                self.not_before = self.clock.now() + self.backoff.pause(self.clock.random());
                ControlFlow::Continue(())
            }
        }
    }

    fn advance(&mut self, within: Duration) -> Result<Option<ObjectEvent>, ClusterError> {
        if let Some(id) = self.known.next_gone() {
            return Ok(Some(ObjectEvent::Gone { id, last: None }));
        }
        if self.known.take_completed() {
            let known = self.known.all.as_ref().map_or(0, BTreeSet::len);
            return Ok(Some(ObjectEvent::Complete { known }));
        }
        let Some(watch) = &mut self.watch else {
            self.watch = Some(ObjectWatch::new(self.connector.connect()?, &self.watched)?);
            self.known.begin(&self.watched);
            return Ok(Some(ObjectEvent::Listing));
        };
        Ok(match watch.next(within)? {
            None => None,
            Some(Happened::Complete) => {
                self.known.complete();
                None
            }
            Some(Happened::Is(object)) => {
                self.known.is(self.watched.id(&object));
                Some(ObjectEvent::Is(object))
            }
            Some(Happened::Gone(object)) => {
                let id = self.watched.id(&object).to_owned();
                self.known.is_gone(&id).then_some(ObjectEvent::Gone { id, last: Some(object) })
            }
        })
    }
}

/// Which objects there are: after each break those that are not listed have gone.
#[derive(Debug, Default)]
struct Known {
    /// `None`: nothing is listed, and whatever goes is heard of.
    all: Option<BTreeSet<String>>,
    /// Those that have been listed so far.
    listed: BTreeSet<String>,
    is_listing: bool,
    gone: Vec<String>,
    is_completed: bool,
}

impl Known {
    /// A list begins.
    fn begin(&mut self, watched: &Watched) {
        let all = self.all.take().unwrap_or_default();
        let gone = std::mem::take(&mut self.gone);
        *self = Self { all: watched.is_listed().then_some(all), is_listing: true, ..Self::default() };
        // They were to be heard of when the connection broke.
        if let Some(all) = &mut self.all {
            all.extend(gone);
        }
    }

    fn is(&mut self, id: &str) {
        let Some(all) = &mut self.all else { return };
        if self.is_listing {
            self.listed.insert(id.to_owned());
        }
        if !all.contains(id) {
            all.insert(id.to_owned());
        }
    }

    /// Whether it was known.
    fn is_gone(&mut self, id: &str) -> bool {
        self.all.as_mut().is_none_or(|all| all.remove(id))
    }

    /// The list is complete.
    fn complete(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        if let Some(all) = &mut self.all {
            self.gone = all.extract_if(.., |id| !listed.contains(id)).collect();
        }
        (self.is_listing, self.is_completed) = (false, true);
    }

    fn next_gone(&mut self) -> Option<String> {
        self.gone.pop()
    }

    /// Whether the list has become complete.
    const fn take_completed(&mut self) -> bool {
        std::mem::replace(&mut self.is_completed, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_again_has_gone() {
        let mut known = Known::default();
        let list = |known: &mut Known, names: &[&str]| {
            known.begin(&Watched::NodeStates);
            for name in names {
                known.is(name);
            }
            known.complete();
            let gone: Vec<String> = std::iter::from_fn(|| known.next_gone()).collect();
            (gone, known.take_completed())
        };
        assert_eq!(list(&mut known, &["a", "b", "a"]), (vec![], true));
        assert_eq!(list(&mut known, &["b", "c"]), (vec!["a".to_owned()], true));
        assert!(known.is_gone("b") && !known.is_gone("a"));
        assert!(!known.take_completed(), "no list has begun");
    }

    #[test]
    fn what_is_not_listed_at_all_is_not_kept() {
        let mut known = Known::default();
        known.begin(&Watched::PodEnds);
        known.is("a");
        assert!(known.is_gone("b") && known.all.is_none() && known.listed.is_empty());
    }
}
