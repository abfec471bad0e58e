//! What was measured of one piece of work.

use super::kubelet::Answer;
use super::ours::Ours;

/// One piece of work with all that was measured of it.
#[derive(Debug)]
pub(super) struct Result {
    pub(super) ours: Ours,
    /// For one repetition; `None`: not counted.
    pub(super) instructions: Option<u64>,
    pub(super) kubelet: Option<Answer>,
}

impl Result {
    /// How much longer the kubelet takes; at least so much where it was not waited for.
    pub(super) fn ratio(&self) -> Option<f64> {
        match self.kubelet.as_ref()? {
            Answer::Took { nanoseconds, .. } | Answer::Over { nanoseconds } => {
                Some(nanoseconds / self.ours.nanoseconds)
            }
            Answer::Failed(_) => None,
        }
    }
}
