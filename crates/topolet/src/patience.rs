//! Signs of life for a person who waits.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::render::Screen;

/// Between two signs.
pub(crate) const EVERY: Duration = Duration::from_secs(5);

/// Does some work, and says on a terminal what is being done for as long as it takes.
pub(crate) fn during<T>(what: &str, screen: Screen, work: impl FnOnce() -> T) -> T {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_long_is_told_of_until_it_ends() {
        let (said, hears) = mpsc::channel();
        let say = move || {
            // Nobody listens any more when the work is done.
            let _ = said.send(());
        };
        let heard = saying(Duration::from_millis(1), say, || [hears.recv(), hears.recv()]);
        assert_eq!(heard, [Ok(()), Ok(())]);
        assert_eq!(saying(EVERY, || (), || 1), 1, "nobody waits for the next sign");
    }
}
