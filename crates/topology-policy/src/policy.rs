//! The policies: what is made of the merged hint.

use numa_bitmask::NodeMask;
use topology_hint::{Answers, Hint};

use crate::distance::Ties;
use crate::merge::{Cut, Extent, merge};
use crate::outcome::{Admit, MergeError, Merged};
use crate::single;
use crate::work::WorkLimit;

/// Turns all answers for one unit into one hint. The four Kubernetes policies implement it; so can you.
///
/// ```
/// use numa_bitmask::NodeMask;
/// use topology_hint::{Affinity, Answer, Answers, Hint, Preference};
/// use topology_policy::{KubeletPolicy, MergeError, Merged, Policy, Ties, WorkLimit};
///
/// /// Keeps whatever fits on node 0 there, even where another node is preferred; else as best-effort does.
/// struct NodeZeroFirst;
///
/// impl Policy for NodeZeroFirst {
///     fn merge(
///         &self,
///         nodes: NodeMask,
///         ties: Ties<'_>,
///         answers: &Answers,
///         limit: WorkLimit,
///     ) -> Result<Merged, MergeError> {
///         let zero = NodeMask::all(1);
///         let fits = answers.iter().all(|(_, answer)| match answer {
///             Answer::NoOpinion => true,
///             Answer::Impossible => false,
///             Answer::Family(family) => family.any().is_some() || family.accepts(zero).is_some(),
///             Answer::List(list) => {
///                 list.iter().any(|listed| listed.hint.affinity.nodes().is_none_or(|at| at == zero))
///             }
///         });
///         let mut merged = KubeletPolicy::BestEffort.merge(nodes, ties, answers, limit)?;
///         if fits {
///             merged.hint.affinity = Affinity::Nodes(zero);
///         }
///         Ok(merged)
///     }
/// }
///
/// let machine = NodeMask::all(2);
/// let mut answers = Answers::new();
/// let hint = |bits, preference| Hint { affinity: Affinity::Nodes(NodeMask::from_bits(bits)), preference };
/// let hints = [hint(0b01, Preference::Acceptable), hint(0b10, Preference::Preferred)];
/// answers.push_list("licence".into(), hints.map(Into::into));
/// let merged = NodeZeroFirst.merge(machine, Ties::LowestNumber, &answers, WorkLimit::default())?;
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

    /// Where the unit goes if it may run, `None` if it may not: [`Policy::merge`] for those who do not need to know
    /// what the hint of a refused unit would have been, which can be the dearer part of the work.
    fn admit(
        &self,
        nodes: NodeMask,
        ties: Ties<'_>,
        answers: &Answers,
        limit: WorkLimit,
    ) -> Result<Option<Hint>, MergeError> {
        self.merge(nodes, ties, answers, limit).map(Merged::admitted)
    }
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
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::None, Self::BestEffort, Self::Restricted, Self::SingleNumaNode];

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
            Self::SingleNumaNode => Ok(single::merge(nodes, ties, answers)),
            Self::BestEffort => {
                let hint = self.merge_to(nodes, ties, answers, limit, Extent::Full)?;
                Ok(Merged { hint: hint.unwrap_or(Hint::NONE), admit: Admit::Yes })
            }
            Self::Restricted => {
                let hint = self.merge_to(nodes, ties, answers, limit, Extent::Full)?.unwrap_or(Hint::NONE);
                let admit = if hint.is_preferred() { Admit::Yes } else { Admit::No };
                Ok(Merged { hint, admit })
            }
        }
    }

    fn admit(
        &self,
        nodes: NodeMask,
        ties: Ties<'_>,
        answers: &Answers,
        limit: WorkLimit,
    ) -> Result<Option<Hint>, MergeError> {
        if *self == Self::Restricted {
            return self.merge_to(nodes, ties, answers, limit, Extent::Preferred);
        }
        self.merge(nodes, ties, answers, limit).map(Merged::admitted)
    }
}

impl KubeletPolicy {
    fn merge_to(
        self,
        nodes: NodeMask,
        ties: Ties<'_>,
        answers: &Answers,
        limit: WorkLimit,
        extent: Extent,
    ) -> Result<Option<Hint>, MergeError> {
        merge(nodes, ties, answers, limit, extent).map_err(|cut| match cut {
            Cut::MissingDistance(missing) => missing.into(),
            Cut::Unfinished(best) => {
                // What is found so far may be surpassed, so it is not enough for a policy that refuses.
                let admit = if self == Self::BestEffort { Admit::Yes } else { Admit::No };
                MergeError::Unfinished { limit: limit.0, best: best.map(|hint| Merged { hint, admit }) }
            }
        })
    }
}
