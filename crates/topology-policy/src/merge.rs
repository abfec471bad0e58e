//! The merge that `best-effort` and `restricted` share.

use numa_bitmask::NodeMask;
use topology_hint::{Answers, Hint, Preference};

use crate::dense::DenseOutcome;
use crate::distance::{MissingDistance, Tie, Ties};
use crate::one_node::OneNode;
use crate::part::parts;
use crate::work::{Stop, WorkLimit};
use crate::{dense, one_node, preferred, rooms};

/// How far a merge goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// To the merged hint.
    Full,
    /// Only as far as it can be preferred.
    Preferred,
}

/// Why a merge has no exact answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// The work ran out; the hint is the best so far.
    Unfinished(Option<Hint>),
    MissingDistance(MissingDistance),
}

/// The best preferred node set, else the best that can be reached; all nodes, not preferred, if there is none.
/// `None` if it would not be preferred and only that is asked for.
pub(crate) fn merge(
    nodes: NodeMask,
    ties: Ties<'_>,
    answers: &Answers,
    limit: WorkLimit,
    extent: Extent,
) -> Result<Option<Hint>, Cut> {
    let cut = |stop, tie: &Tie<'_>, preference| match stop {
        Stop::MissingDistance(missing) => Cut::MissingDistance(missing),
        Stop::OutOfSteps => Cut::Unfinished(tie.best().map(|mask| Hint::on(mask, preference))),
    };
    let mut tie = Tie::new(ties);
    let found =
        dense::merge(nodes, answers, &mut tie).map_err(|stop| cut(stop, &tie, Preference::Acceptable))?;
    let preference = match found {
        DenseOutcome::Preferred => Preference::Preferred,
        DenseOutcome::Reached => Preference::Acceptable,
        DenseOutcome::NotHere => match (one_node::merge(nodes, answers, &mut tie), extent) {
            (OneNode::Preferred, _) => Preference::Preferred,
            (OneNode::NothingPreferred, Extent::Preferred) => Preference::Acceptable,
            (OneNode::NothingPreferred | OneNode::NotHere, _) => {
                let mut steps = limit.start();
                let parts = parts(nodes, answers);
                preferred::best(nodes, &parts, &mut tie, &mut steps)
                    .map_err(|stop| cut(stop, &tie, Preference::Preferred))?;
                if tie.best().is_some() {
                    Preference::Preferred
                } else {
                    if extent == Extent::Full {
                        rooms::best(nodes, &parts, &mut tie, &mut steps)
                            .map_err(|stop| cut(stop, &tie, Preference::Acceptable))?;
                    }
                    Preference::Acceptable
                }
            }
        },
    };
    if preference == Preference::Acceptable && extent == Extent::Preferred {
        return Ok(None);
    }
    Ok(Some(Hint::on(tie.best().unwrap_or(nodes), preference)))
}
