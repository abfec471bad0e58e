//! The report on a pod that was decided on.

use admission_report::{Facts, Report};
use anyhow::bail;
use device_manager::Replies;
use node_input::{ADVICE, FateOfPod, LoadedNode};
use pod_spec::Pod;
use topology_admission::{Decided, Ledger, Outcome};

/// Why and where, of a pod after whose decision the node holds `after`.
pub(crate) fn report(
    node: &LoadedNode,
    pod: &Pod,
    decided: &Decided,
    after: &Ledger,
) -> anyhow::Result<Report> {
    let Decided { before, trace, moved, outcome } = decided;
    let facts = Facts { node: &node.node, before, after, pod, trace, moved, advice: ADVICE };
    let report = match outcome {
        Outcome::Admitted(placement) => Report::admitted(&facts, placement),
        Outcome::Refused(refused, explanation) => Report::refused(&facts, refused, explanation),
        Outcome::NeedsPlugin(question) => {
            bail!("the device plugin of {} would have to be asked, and there is none", question.resource())
        }
    };
    Ok(match node.fate(before, pod, &Replies::default()) {
        Some(FateOfPod { fate, avoided_by }) => report.with_fate(fate, avoided_by),
        None => report,
    })
}
