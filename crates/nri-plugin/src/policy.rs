//! What a runtime does when a plugin does not answer in time.

use std::time::Duration;

use crate::messages;

/// What becomes of a request that the plugin does not answer in time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LateRequest {
    /// It goes on without the plugin: containers run as if it were not there.
    #[default]
    GoOn,
    /// It fails.
    Fail,
}

/// What becomes of a plugin that does not answer in time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LateConnection {
    /// The runtime drops it; it connects again.
    #[default]
    Drop,
    /// It stays, and each further request may cost the whole time again.
    Keep,
}

/// What the plugin asks of the runtime for the case that it does not answer in time. Runtimes before NRI 0.12.5 go on
/// without the plugin and drop it, whatever it asks: [`OwnDeadline`] answers before that happens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FailurePolicy {
    /// The request.
    pub request: LateRequest,
    /// The plugin.
    pub connection: LateConnection,
}

impl FailurePolicy {
    /// As the protocol has it; what is the default anyway is not there.
    pub(crate) fn message(self) -> Option<messages::FailurePolicy> {
        (self != Self::default()).then_some(messages::FailurePolicy {
            fail_request: self.request == LateRequest::Fail,
            keep_connected: self.connection == LateConnection::Keep,
        })
    }
}

/// When an answer is due, before the runtime's own deadline.
///
/// What is not answered by then is answered with an error, so that the request fails and the plugin stays. Silence
/// would let the container run without the plugin, and cost the plugin its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnDeadline {
    /// So many percent of the time that the runtime gives, at most 100.
    Percent(u8),
    /// There is none: a request that takes longer than the runtime waits goes on without the plugin.
    None,
}

impl Default for OwnDeadline {
    /// Three quarters: 1.5 s of the runtime's 2 s.
    fn default() -> Self {
        Self::Percent(75)
    }
}

impl OwnDeadline {
    /// How long an answer may take when the runtime waits for this time.
    pub(crate) fn within(self, runtime: Duration) -> Option<Duration> {
        match self {
            Self::Percent(percent) => Some(runtime * u32::from(percent.min(100)) / 100),
            Self::None => None,
        }
    }
}

/// When the next attempt to connect follows.
///
/// While a plugin is synchronized no container of the node starts or stops, so it does not connect again in a hurry:
/// the time doubles with each connection, up to `most`, and begins again after one that has lasted for `most`. An
/// attempt that finds no runtime costs it nothing and is made again after `first`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    /// The shortest time.
    pub first: Duration,
    /// The longest time.
    pub most: Duration,
}

impl Default for Backoff {
    /// From one second to a minute.
    fn default() -> Self {
        Self { first: Duration::from_secs(1), most: Duration::from_mins(1) }
    }
}

/// The times of [`Backoff`], one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    backoff: Backoff,
    next: Duration,
}

impl Attempts {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { backoff, next: backoff.first }
    }

    /// No runtime listened.
    pub(crate) fn after_none(&self) -> Duration {
        self.backoff.first
    }

    /// A connection has ended that had lasted so long.
    pub(crate) fn after(&mut self, lasted: Duration) -> Duration {
        if lasted >= self.backoff.most {
            self.next = self.backoff.first;
        }
        let now = self.next.min(self.backoff.most);
        self.next = now.saturating_mul(2);
        now
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Attempts, Backoff, FailurePolicy, OwnDeadline};

    #[test]
    fn times_double_until_a_connection_has_lasted() {
        let seconds = Duration::from_secs;
        let mut attempts = Attempts::new(Backoff::default());
        let short: Vec<u64> = (0..8).map(|_| attempts.after(seconds(59)).as_secs()).collect();
        assert_eq!(short, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(attempts.after_none(), seconds(1));
        assert_eq!([60, 3, 3].map(|lasted| attempts.after(seconds(lasted)).as_secs()), [1, 2, 4]);
    }

    #[test]
    fn an_answer_is_due_before_the_runtime_gives_up() {
        let runtime = Duration::from_secs(2);
        assert_eq!(OwnDeadline::default().within(runtime), Some(Duration::from_millis(1500)));
        assert_eq!(OwnDeadline::Percent(200).within(runtime), Some(runtime));
        assert_eq!(OwnDeadline::None.within(runtime), None);
        assert_eq!(FailurePolicy::default().message(), None);
    }
}
