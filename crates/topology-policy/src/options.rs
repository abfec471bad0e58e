//! What a merge may be asked besides its answers.

use crate::distance::Ties;
use crate::work::WorkLimit;

/// How a merge decides ties, and how long it may search. The default is what the kubelet does without policy options.
///
/// `Ties` alone become options too: `policy.merge_with(nodes, &answers, Ties::Closest(&distances).into())`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MergeOptions<'a> {
    /// What decides between node sets of equal size.
    pub ties: Ties<'a>,
    /// After how many steps a search ends without an answer.
    pub limit: WorkLimit,
}

impl<'a> From<Ties<'a>> for MergeOptions<'a> {
    fn from(ties: Ties<'a>) -> Self {
        Self { ties, limit: WorkLimit::default() }
    }
}
