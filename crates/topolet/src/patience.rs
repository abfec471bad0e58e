//! Signs of life for a person who waits.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use node_input::Listener;
use node_output::Format;

use crate::screen::Screen;

/// Between two signs.
const EVERY: Duration = Duration::from_secs(5);

/// What is found while pods are read goes to standard error.
impl Listener for Screen {
    fn warn(&self, text: impl Display) {
        Self::warn(*self, text);
    }

    fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        during(what, *self, work)
    }
}

/// Does some work, and says on a terminal what is being done for as long as it takes.
fn during<T>(what: &str, screen: Screen, work: impl FnOnce() -> T) -> T {
    if std::io::stderr().is_terminal() { saying(EVERY, || screen.warn(what), work) } else { work() }
}

fn saying<T>(every: Duration, say: impl Fn() + Send, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (working, ends) = mpsc::channel::<()>();
        scope.spawn(move || {
            while ends.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// Says on standard error how many pods are decided on, where that takes long.
pub(crate) struct Progress {
    all: usize,
    decided: usize,
    told: Instant,
}

impl Progress {
    pub(crate) fn new(all: usize) -> Self {
        Self { all, decided: 0, told: Instant::now() }
    }

    /// One more. Tables on a terminal are a sign of life themselves.
    pub(crate) fn decided(&mut self, format: Format, screen: Screen) {
        self.decided += 1;
        let is_seen = format == Format::Table && std::io::stdout().is_terminal();
        if !is_seen && self.told.elapsed() >= EVERY && std::io::stderr().is_terminal() {
            self.told = Instant::now();
            screen.warn(format_args!("decided {} of {} pods", self.decided, self.all));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_long_is_told_of_until_it_ends() {
        let (said, hears) = mpsc::channel();
        let say = move || {
            // The receiver is gone when the work is done.
            let _ = said.send(());
        };
        let heard = saying(Duration::from_millis(1), say, || [hears.recv(), hears.recv()]);
        assert_eq!(heard, [Ok(()), Ok(())]);
        assert_eq!(saying(EVERY, || (), || 1), 1, "nobody waits for the next sign");
    }
}
