//! Whether the kubelet starts again from its files on the machine as that is now.
//!
//! A kubelet that runs goes on with the memory and huge pages that it counted when it started, and so does what is served
//! here. Its next start compares them with the machine, and fails where they differ. So the machine is read anew now and
//! then.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use conditions::State;
use node_input::NextStartFails;

use crate::conditions::NodeCondition::{KubeletStarts, MachineAsCounted};
use crate::node_sources::NodeSources;
use crate::shared::Shared;

/// The machine is read once in so many periods in which a kubelet looks at its containers (10 s unless configured).
const PERIODS: u32 = 3;
/// And as often as this at least.
const LONGEST: Duration = Duration::from_secs(30);
/// Reading takes at most one part in so many of the time.
const SHARE: u32 = 100;

/// Goes on reading for the rest of the program.
pub(super) fn start(sources: NodeSources, shared: Arc<Shared>) -> anyhow::Result<()> {
    let period = shared.node.keeping.period.saturating_mul(PERIODS).min(LONGEST);
    thread::Builder::new().name("next-start".to_owned()).spawn(move || {
        loop {
            let began = Instant::now();
            round(&sources, &shared);
            thread::sleep(period.max(began.elapsed().saturating_mul(SHARE)));
        }
    })?;
    Ok(())
}

fn round(sources: &NodeSources, shared: &Shared) {
    // What the files say is not known while they change.
    let Some(observed) = shared.observed.load_full().filter(|_| shared.conditions.why_stale().is_none())
    else {
        return;
    };
    let machine = match sources.machine_now() {
        Ok(machine) => machine,
        Err(error) => {
            tracing::debug!("whether the kubelet starts again is not known: {error:#}");
            return;
        }
    };
    let fails = shared.node.next_start_fails(&machine, &observed.folder, &observed.names);
    let Some(NextStartFails { why, changed }) = fails else {
        shared.conditions.works(MachineAsCounted);
        if shared.conditions.works(KubeletStarts) {
            tracing::info!("the next start of the kubelet does not fail any more");
        }
        return;
    };
    // The amounts may change all the time.
    let _ = shared.conditions.set(
        MachineAsCounted,
        "",
        changed.clone().map_or(State::Works, |changed| State::failed("MachineChanged", changed)),
    );
    let message = format!("the next start of the kubelet fails: {why}");
    if shared.conditions.set(KubeletStarts, "", State::failed("StartFails", message.clone())).is_some() {
        let changed = changed.map(|changed| format!("; {changed}")).unwrap_or_default();
        tracing::warn!("{message}{changed}");
    }
}
