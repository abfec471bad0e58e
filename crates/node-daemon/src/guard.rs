//! The guard of exclusive CPUs, until a signal ends it.

use std::thread;

use anyhow::Context as _;
use node_guard::Options;
use tokio::signal::unix::{SignalKind, signal};

/// Guards the exclusive CPUs of a kubelet's node until SIGTERM or SIGINT.
///
/// # Errors
/// There are no cgroups that can be written, or the runtime refuses the plugin.
pub fn guard(options: &Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // A signal that comes before the guard has begun is kept.
    let entered = runtime.enter();
    let heard = |kind| signal(kind).context("failed to wait for signals");
    let (mut terminate, mut interrupt) = (heard(SignalKind::terminate())?, heard(SignalKind::interrupt())?);
    drop(entered);
    let mut waiting = Ok(());
    node_guard::run(options, |stop| {
        let wait = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            });
            stop.stop();
        };
        waiting = thread::Builder::new().name("signals".to_owned()).spawn(wait).map(|_| ());
    })?;
    waiting.context("failed to wait for signals")
}
