//! Whether the kubelet starts again from its files on the machine as that is now.
//!
//! A kubelet that runs goes on with the memory and huge pages that it counted when it started, and so does what is served
//! here. Its next start compares them with the machine, and fails where they differ. So the machine is read anew now and
//! then.

use std::thread;
use std::time::Duration;

use conditions::State;
use node_input::NextStartFails;
use node_view::NodeCondition::{KubeletStarts, MachineAsCounted};
use node_view::NodeView;
use node_view::node_sources::NodeSources;

/// The machine is read once in so many periods in which a kubelet looks at its containers (10 s unless configured).
const PERIODS: u32 = 3;
/// And as often as this at least.
const LONGEST: Duration = Duration::from_secs(30);
/// Reading takes at most one part in so many of the time.
const SHARE: u32 = 100;

/// Goes on reading for the rest of the program.
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
    // What the files say is not known while they change.
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
    // The amounts may change all the time.
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
