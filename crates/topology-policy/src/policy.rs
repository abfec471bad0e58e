//! The policies: what is made of the merged hint.

use numa_bitmask::NodeMask;
use thiserror::Error;
use topology_hint::{Affinity, Answers, Hint, Preference};

use crate::distance::{MissingDistance, Ties};
use crate::work::{Exhausted, WorkLimit};
use crate::{preferred, rooms, single};

/// Whether the unit may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// It may.
    Yes,
    /// It is refused.
    No,
}

/// The outcome of a merge.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Merged {
    /// Where the unit goes.
    pub hint: Hint,
    /// Whether it may run there.
    pub admit: Admit,
}

/// Why a merge has no exact answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum MergeError {
    /// The search was cut; `best` is what had been found, if anything.
    #[error("merge of topology hints not finished within {limit} steps")]
    Unfinished {
        /// How many steps were allowed.
        limit: u64,
        /// The best result so far.
        best: Option<Merged>,
    },
    /// Two node sets of equal size could not be told apart by distance.
    #[error(transparent)]
    MissingDistance(#[from] MissingDistance),
}

/// Turns all answers for one unit into one hint. The four Kubernetes policies implement it; so can you.
///
/// ```
/// use numa_bitmask::{NodeIndex, NodeMask};
/// use topology_hint::{Affinity, Answer, Answers, Hint, Preference};
/// use topology_policy::{Admit, MergeError, Merged, Policy, Ties, WorkLimit};
///
/// /// Everything on the first node, whatever the providers say.
/// struct FirstNode;
///
/// impl Policy for FirstNode {
///     fn merge(&self, nodes: NodeMask, _: Ties<'_>, _: &Answers, _: WorkLimit) -> Result<Merged, MergeError> {
///         let affinity = nodes.first().map_or(Affinity::Any, |first| Affinity::Nodes(first.into()));
///         Ok(Merged { hint: Hint { affinity, preference: Preference::Preferred }, admit: Admit::Yes })
///     }
/// }
///
/// let merged = FirstNode.merge(NodeMask::all(4), Ties::LowestNumber, &Answers::new(), WorkLimit::default())?;
/// assert_eq!(merged.hint.affinity, Affinity::Nodes(NodeMask::all(1)));
/// # Ok::<(), MergeError>(())
/// ```
pub trait Policy {
    /// Merges `answers` over the machine's `nodes`; `ties` decides between node sets of equal size.
    fn merge(
        &self,
        nodes: NodeMask,
        ties: Ties<'_>,
        answers: &Answers,
        limit: WorkLimit,
    ) -> Result<Merged, MergeError>;
}

/// The policies of the Kubernetes Topology Manager.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KubeletPolicy {
    /// No alignment: answers are not looked at.
    None,
    /// The best node set there is, admitted in any case.
    BestEffort,
    /// Refused unless the merged hint is preferred.
    Restricted,
    /// Refused unless one node can serve everything.
    SingleNumaNode,
}

impl KubeletPolicy {
    /// The policy's name in a kubelet configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BestEffort => "best-effort",
            Self::Restricted => "restricted",
            Self::SingleNumaNode => "single-numa-node",
        }
    }
}

impl Policy for KubeletPolicy {
    fn merge(
        &self,
        nodes: NodeMask,
        ties: Ties<'_>,
        answers: &Answers,
        limit: WorkLimit,
    ) -> Result<Merged, MergeError> {
        match self {
            Self::None => Ok(Merged { hint: Hint::NONE, admit: Admit::Yes }),
            Self::SingleNumaNode => Ok(single::merge(nodes, answers)),
            Self::BestEffort => {
                let hint = merge_all(nodes, ties, answers, limit, Admit::Yes)?;
                Ok(Merged { hint, admit: Admit::Yes })
            }
            Self::Restricted => {
                let hint = merge_all(nodes, ties, answers, limit, Admit::No)?;
                let admit = if hint.is_preferred() { Admit::Yes } else { Admit::No };
                Ok(Merged { hint, admit })
            }
        }
    }
}

/// The best preferred node set, else the best that can be reached; all nodes, not preferred, if there is none.
fn merge_all(
    nodes: NodeMask,
    ties: Ties<'_>,
    answers: &Answers,
    limit: WorkLimit,
    unpreferred: Admit,
) -> Result<Hint, MergeError> {
    let mut work = limit.start();
    let nodes_with = |mask, preference| Hint { affinity: Affinity::Nodes(mask), preference };
    if let Some(mask) = cut(preferred::best(nodes, ties, answers, &mut work), limit, unpreferred)? {
        return Ok(nodes_with(mask, Preference::Preferred));
    }
    let reached = cut(rooms::best(nodes, ties, answers, &mut work), limit, unpreferred)?;
    Ok(nodes_with(reached.unwrap_or(nodes), Preference::Acceptable))
}

/// Names what had been found when the work ran out. What is found is not known to be preferred then.
fn cut(
    search: Result<Option<NodeMask>, SearchError>,
    limit: WorkLimit,
    admit: Admit,
) -> Result<Option<NodeMask>, MergeError> {
    search.map_err(|error| match error {
        SearchError::MissingDistance(missing) => missing.into(),
        SearchError::Exhausted(Exhausted { best }) => MergeError::Unfinished {
            limit: limit.0,
            best: best.map(|mask| Merged {
                hint: Hint { affinity: Affinity::Nodes(mask), preference: Preference::Acceptable },
                admit,
            }),
        },
    })
}

/// Why one of the two searches stopped early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SearchError {
    /// A tie needs a distance that is not known.
    MissingDistance(MissingDistance),
    /// The work ran out.
    Exhausted(Exhausted),
}

impl From<MissingDistance> for SearchError {
    fn from(missing: MissingDistance) -> Self {
        Self::MissingDistance(missing)
    }
}

impl From<Exhausted> for SearchError {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}
