//! The policies: what is made of the merged hint.

use numa_bitmask::NodeMask;
use topology_hint::{Answers, Hint};

use crate::merge::{Cut, Extent, merge};
use crate::options::MergeOptions;
use crate::outcome::{Admit, MergeError, Merged};
use crate::single;

/// The policies of the Kubernetes Topology Manager.
///
/// A policy of your own is a function that looks at the answers, merges by one of these, or both:
///
/// ```
/// use numa_bitmask::NodeMask;
/// use topology_hint::{Affinity, Answer, Answers, Hint};
/// use topology_policy::{KubeletPolicy, MergeError, Merged};
///
/// /// Keeps whatever fits on node 0 there, even where another node is preferred; else as best-effort does.
/// fn node_zero_first(nodes: NodeMask, answers: &Answers) -> Result<Merged, MergeError> {
///     let zero = NodeMask::of([0]);
///     let fits = answers.iter().all(|(_, answer)| match answer {
///         Answer::NoOpinion => true,
///         Answer::Impossible => false,
///         Answer::Family(family) => family.any().is_some() || family.accepts(zero).is_some(),
///         Answer::List(list) => {
///             list.iter().any(|listed| listed.hint.affinity.nodes().is_none_or(|at| at == zero))
///         }
///     });
///     let mut merged = KubeletPolicy::BestEffort.merge(nodes, answers)?;
///     if fits {
///         merged.hint.affinity = Affinity::Nodes(zero);
///     }
///     Ok(merged)
/// }
///
/// let mut answers = Answers::new();
/// answers.push_list("licence", [Hint::acceptable([0]), Hint::preferred([1])]);
/// let merged = node_zero_first(NodeMask::all(2), &answers)?;
/// assert_eq!(merged.hint.affinity, Affinity::Nodes(NodeMask::of([0])));
/// # Ok::<(), MergeError>(())
/// ```
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

    /// Merges `answers` over the machine's `nodes`. Of node sets of equal size the lowest number wins.
    pub fn merge(self, nodes: NodeMask, answers: &Answers) -> Result<Merged, MergeError> {
        self.merge_with(nodes, answers, MergeOptions::default())
    }

    /// The same with other ties, or with another limit to the search.
    pub fn merge_with(
        self,
        nodes: NodeMask,
        answers: &Answers,
        options: MergeOptions<'_>,
    ) -> Result<Merged, MergeError> {
        let hint = match self {
            Self::None => return Ok(Merged { hint: Hint::NONE, admit: Admit::Yes }),
            Self::SingleNumaNode => return Ok(single::merge(nodes, options.ties, answers)),
            Self::BestEffort | Self::Restricted => {
                self.merge_to(nodes, answers, options, Extent::Full)?.unwrap_or(Hint::NONE)
            }
        };
        let admit = if self == Self::BestEffort || hint.is_preferred() { Admit::Yes } else { Admit::No };
        Ok(Merged { hint, admit })
    }

    /// Where the unit goes if it may run, `None` if it may not: [`merge`](Self::merge) for callers that do not need
    /// the hint of a refused unit, which can be the dearer part of the work.
    pub fn admit(self, nodes: NodeMask, answers: &Answers) -> Result<Option<Hint>, MergeError> {
        self.admit_with(nodes, answers, MergeOptions::default())
    }

    /// The same with other ties, or with another limit to the search.
    pub fn admit_with(
        self,
        nodes: NodeMask,
        answers: &Answers,
        options: MergeOptions<'_>,
    ) -> Result<Option<Hint>, MergeError> {
        if self == Self::Restricted {
            return self.merge_to(nodes, answers, options, Extent::Preferred);
        }
        self.merge_with(nodes, answers, options).map(Merged::admitted)
    }

    fn merge_to(
        self,
        nodes: NodeMask,
        answers: &Answers,
        options: MergeOptions<'_>,
        extent: Extent,
    ) -> Result<Option<Hint>, MergeError> {
        let MergeOptions { ties, limit } = options;
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
