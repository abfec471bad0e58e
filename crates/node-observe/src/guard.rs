//! What a guard of exclusive CPUs on the node reports, as conditions of the node. Where none has ever reported there are no
//! such conditions.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use node_guard::{GuardCondition, Report};
use node_view::{NodeCondition, NodeView};

/// How often the report is read; a guard writes it as often.
const PERIOD: Duration = Duration::from_secs(5);

/// Reads the report for the rest of the program.
pub(super) fn start(path: PathBuf, view: NodeView) -> anyhow::Result<()> {
    thread::Builder::new().name("guard".to_owned()).spawn(move || {
        loop {
            look(&path, &view);
            view.clock.sleep(PERIOD);
        }
    })?;
    Ok(())
}

fn look(path: &Path, view: &NodeView) {
    let report = match Report::read(path) {
        Ok(Some(report)) => report,
        Ok(None) => return view.conditions.forget_guard(),
        Err(error) => {
            tracing::debug!("what the guard reports is not known: {error}");
            return view.conditions.forget_guard();
        }
    };
    for (kind, state) in report.conditions_at(view.conditions.clock().since_1970()) {
        let of = match kind {
            GuardCondition::GuardConnected => NodeCondition::GuardConnected,
            GuardCondition::GuardInTime => NodeCondition::GuardInTime,
            GuardCondition::GuardEffective => NodeCondition::GuardEffective,
        };
        let state = conditions::State::from(state);
        let message = match &state {
            conditions::State::Failed { message, .. } => message.clone(),
            _ => String::new(),
        };
        if view.conditions.set(of, "", state).is_some() && !message.is_empty() {
            tracing::warn!("guard: {message}");
        }
    }
}
