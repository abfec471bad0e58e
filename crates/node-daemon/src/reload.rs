//! SIGHUP: configuration, machine, options and devices are read again. Files and state are those of the node as before, so
//! the program starts anew in its own process; until then nothing has changed.
//!
//! | changes | is |
//! |---|---|
//! | configuration, devices, options, labels | reloaded |
//! | what no kubelet would start from with the state of now: another policy, CPUs reserved that pods hold | refused, and logged |
//! | arguments of the command line, sockets, the token | of the process: `systemctl restart` |

use std::time::Duration;

use anyhow::Context as _;
use nix::sys::signal::{SigSet, Signal};
use node_state::StateFolder;
use node_view::Mode;

use super::setup::Setup;

/// State is written in several files; what does not fit together is looked at again.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// What is to be done when serving has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Ended {
    /// SIGTERM or SIGINT stopped it.
    Stop,
    /// Everything has to be read again: the program is to be executed anew, see [`reload_waits`].
    Reload,
}

/// Lets SIGHUP wait, so that none is lost or ends the program while it is executed anew. A daemon takes it up again when it
/// serves.
///
/// # Errors
/// The system does not do it.
pub fn reload_waits() -> anyhow::Result<()> {
    hangup().thread_block().context("failed to let SIGHUP wait")
}

pub(super) fn reload_is_heard() -> anyhow::Result<()> {
    hangup().thread_unblock().context("failed to take up SIGHUP")
}

fn hangup() -> SigSet {
    SigSet::from(Signal::SIGHUP)
}

/// Whether the node would start with what is there now.
///
/// # Errors
/// Why not.
pub(super) fn check(setup: &Setup<'_>, mode: Mode) -> anyhow::Result<()> {
    let (node, _) = setup.load(mode)?;
    if mode == Mode::Observe {
        return Ok(());
    }
    let starts = || -> anyhow::Result<()> {
        StateFolder::look(&setup.root)?.strict(&node.node)?;
        Ok(())
    };
    let mut last = starts();
    for _ in 1..LOOKS {
        if last.is_ok() {
            break;
        }
        std::thread::sleep(PAUSE);
        last = starts();
    }
    last.context("the state of now does not go with it")
}
