//! Refused pods of which the kubelet keeps topology hints.

use admission_report::{Notice, Report};
use kubelet_release::Fault;
use node_config::DecidedBy;
use topology_admission::Reason;

use crate::node::LoadedNode;

/// How many refused pods left hints in a kubelet that decided on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeptHints(usize);

impl KeptHints {
    /// So many are worth a word.
    const MANY: usize = 1000;

    /// A pod leaves the hints of the containers that were merged before it was refused, and of one whose allocation failed.
    pub fn add(&mut self, report: &Report) {
        let Some(refusal) = report.refusal() else { return };
        let is_kept = match refusal.reason {
            Reason::UnexpectedAdmission | Reason::SmtAlignment => !report.units.is_empty(),
            _ => report.units.len() > 1,
        };
        self.0 += usize::from(is_kept);
    }

    /// What that does to the kubelet of `node`; `None`: nothing worth a word, or its release does not keep them.
    #[must_use]
    pub fn notice(self, node: &LoadedNode) -> Option<Notice> {
        let (Self(refused), fault) = (self, Fault::RefusedHints);
        let release = node.node.kubelet_rules().version.release();
        let is_told =
            refused >= Self::MANY && node.decided_by() == DecidedBy::Kubelet && fault.is_in(release);
        is_told.then(|| {
            Notice::warning(format!(
                "the kubelet keeps the hints of {refused} refused pods: {} ({}); {}",
                fault.consequence(),
                fault.page(),
                fault.cure()
            ))
        })
    }
}
