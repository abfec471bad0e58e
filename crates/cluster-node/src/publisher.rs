//! What is kept published at an API server: written when it changes and once in a while, no faster than its pace, and again
//! after a failure, with credentials that may have been renewed.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::connection::{Cluster, Woken};
use crate::connector::Connector;
use crate::error::ClusterError;

/// How long a wait is that nothing ends but what is waited for.
const LONG: Duration = Duration::from_hours(1);

/// Something that is kept published.
pub trait Publication {
    /// Writes it as it is now, and reports how that went.
    fn publish(&mut self, why: Woken, now: Instant) -> Published;

    /// Waits until it may have to be written; `None`: nothing has happened within that time.
    fn wait(&mut self, now: Instant, within: Duration) -> Option<Woken>;

    /// Goes on with another connection.
    fn reconnect(&mut self, cluster: Cluster);
}

/// How writing went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Published {
    /// It was written.
    Written,
    /// It need not be.
    Same,
    /// Another producer has it: it is not tried again before something happens.
    Left,
    /// It failed.
    Failed,
    /// It failed, and another connection may help.
    Lost,
}

impl Published {
    /// What a call has failed with.
    #[must_use]
    pub const fn failed(error: &ClusterError) -> Self {
        if error.is_lost() { Self::Lost } else { Self::Failed }
    }
}

/// When something is published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The least time from one write to the next.
    pub least: Duration,
    /// It is written so often though nothing has changed; `None`: it is not.
    pub resync: Option<Duration>,
    /// The longest pause after a failure.
    pub again: Duration,
}

/// What is done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Publish(Woken),
    /// Nothing until then, whatever happens.
    Rest {
        until: Instant,
        then: Then,
    },
    /// Until something happens, or that time.
    Wait {
        until: Option<Instant>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    Publish,
    Wait,
}

/// Keeps something published.
pub struct Publisher<P> {
    publication: P,
    connector: Connector,
    clock: Arc<dyn Clock>,
    pace: Pace,
    backoff: Backoff,
    next: Next,
}

impl<P: Publication> Publisher<P> {
    /// One that has published nothing yet.
    pub fn new(publication: P, connector: Connector, pace: Pace) -> Self {
        let clock = connector.clock().clone();
        let backoff = Backoff::up_to(pace.again);
        Self { publication, connector, clock, pace, backoff, next: Next::Publish(Woken::ByTime) }
    }

    /// Goes on for the rest of the program, in a thread of that name.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(mut self, thread: &str) -> io::Result<()>
    where
        P: Send + 'static,
    {
        thread::Builder::new().name(thread.to_owned()).spawn(move || {
            loop {
                self.step(LONG);
            }
        })?;
        Ok(())
    }

    /// One step: something is written, or time passes until something is to be done, no longer than `within`.
    pub fn step(&mut self, within: Duration) {
        let now = self.clock.now();
        self.next = match self.next {
            Next::Publish(why) => self.publish(why, now),
            Next::Rest { until, .. } if until > now => {
                self.clock.sleep(until.duration_since(now).min(within));
                return;
            }
            Next::Rest { then: Then::Publish, .. } => Next::Publish(Woken::ByTime),
            Next::Rest { then: Then::Wait, .. } => self.waiting(now),
            Next::Wait { until } => {
                let left = until.map_or(within, |until| until.saturating_duration_since(now).min(within));
                match self.publication.wait(now, left) {
                    Some(woken) => Next::Publish(woken),
                    None if until.is_some_and(|until| until <= self.clock.now()) => {
                        Next::Publish(Woken::ByTime)
                    }
                    None => return,
                }
            }
        };
    }

    fn publish(&mut self, why: Woken, began: Instant) -> Next {
        let published = self.publication.publish(why, began);
        let now = self.clock.now();
        let then = match published {
            Published::Same => return self.waiting(now),
            Published::Written => {
                self.backoff.reset();
                return Next::Rest { until: began + self.pace.least, then: Then::Wait };
            }
            Published::Left => Then::Wait,
            Published::Failed => Then::Publish,
            Published::Lost => {
                if let Ok(renewed) = self.connector.connect() {
                    self.publication.reconnect(renewed);
                }
                Then::Publish
            }
        };
        Next::Rest { until: now + self.backoff.pause(self.clock.random()), then }
    }

    fn waiting(&self, now: Instant) -> Next {
        Next::Wait { until: self.pace.resync.map(|resync| now + resync) }
    }
}
