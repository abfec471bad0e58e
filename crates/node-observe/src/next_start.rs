//! Checks whether the kubelet would start again from its files on the machine as it is now.
//!
//! A running kubelet keeps the memory and huge pages that it counted at its start, and so does topolet. Its next start compares
//! them with the machine, and fails where they differ. So the machine is read again from time to time.

use std::thread;
use std::time::Duration;

use conditions::State;
use node_input::NextStartFails;
use node_view::NodeCondition::{KubeletStarts, MachineAsCounted};
use node_view::NodeView;
use node_view::node_sources::NodeSources;

/// The machine is read once in this many reconcile periods of the CPU manager (10 s unless configured).
const PERIODS: u32 = 3;
/// The longest time between two reads.
const LONGEST: Duration = Duration::from_secs(30);
/// Reading takes at most 1 % of the time: the pause is this many times as long as the read.
const SHARE: u32 = 100;

/// Checks for the rest of the program.
pub(super) fn start(sources: NodeSources, view: NodeView) -> anyhow::Result<()> {
    let period = view.node().keeping.period.saturating_mul(PERIODS).min(LONGEST);
    thread::Builder::new().name("next-start".to_owned()).spawn(move || {
        loop {
            let began = view.clock.now();
            round(&sources, &view);
            let took = view.clock.since(began);
            view.clock.sleep(period.max(took.saturating_mul(SHARE)));
        }
    })?;
    Ok(())
}

fn round(sources: &NodeSources, view: &NodeView) {
    // The files are not known while they change.
    let Some(observed) = view.observed.latest().filter(|_| view.conditions.why_stale().is_none()) else {
        return;
    };
    let machine = match sources.machine_now() {
        Ok(machine) => machine,
        Err(error) => {
            tracing::debug!("whether the kubelet starts again is not known: {error:#}");
            return;
        }
    };
    let fails = view.node().next_start_fails(&machine, &observed.folder, &observed.names);
    let Some(NextStartFails { why, changed }) = fails else {
        view.conditions.works(MachineAsCounted);
        if view.conditions.works(KubeletStarts) {
            tracing::info!("the next start of the kubelet does not fail any more");
        }
        return;
    };
    // The amounts may change all the time, so that this is not logged.
    let _ = view.conditions.set(
        MachineAsCounted,
        "",
        changed.clone().map_or(State::Works, |changed| State::failed("MachineChanged", changed)),
    );
    let message = format!("the next start of the kubelet fails: {why}");
    if view.conditions.set(KubeletStarts, "", State::failed("StartFails", message.clone())).is_some() {
        let changed = changed.map(|changed| format!("; {changed}")).unwrap_or_default();
        tracing::warn!("{message}{changed}");
    }
}
