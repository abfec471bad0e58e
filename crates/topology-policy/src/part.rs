//! What each answer brings to a merge on one machine.

use node_cover::{Cover, OutOfSteps, Steps};
use numa_bitmask::NodeMask;
use smallvec::SmallVec;
use topology_hint::{
    Affinity, Answer, Answers, Family, ForeignNodes, Hint, ListedHint, Preference, Preferred,
};

/// One answer. Sets of a family that leave the machine do not exist; hints of a list may name such nodes.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most parts are families, and a box would allocate")]
pub(crate) enum Part<'a> {
    /// No node set at all.
    Free(Preference),
    List(&'a [ListedHint]),
    Family(Rule<'a>),
}

/// A family that accepts something.
#[derive(Debug)]
pub(crate) struct Rule<'a> {
    pub(crate) family: Family<'a>,
    /// Its open part, if that accepts anything.
    pub(crate) cover: Option<Cover<'a>>,
    nodes: NodeMask,
}

/// All answers of a merge.
pub(crate) type Parts<'a> = SmallVec<[Part<'a>; 4]>;

pub(crate) fn parts(nodes: NodeMask, answers: &Answers) -> Parts<'_> {
    answers.iter().map(|(_, answer)| Part::new(nodes, answer)).collect()
}

impl<'a> Part<'a> {
    fn new(nodes: NodeMask, answer: Answer<'a>) -> Self {
        match answer {
            Answer::NoOpinion => Self::Free(Preference::Preferred),
            Answer::Impossible => Self::Free(Preference::Acceptable),
            Answer::List(list) => Self::List(list),
            Answer::Family(family) => {
                let rule = Rule { family, cover: family.cover(nodes), nodes };
                let accepts_nothing =
                    family.any().is_none() && rule.cover.is_none() && rule.masks().next().is_none();
                if accepts_nothing { Self::Free(Preference::Acceptable) } else { Self::Family(rule) }
            }
        }
    }

    /// Whether there is a preferred hint without a node set.
    pub(crate) fn leaves_open(&self) -> bool {
        match self {
            Self::Free(preference) => *preference == Preference::Preferred,
            Self::List(list) => list.iter().any(|listed| listed.hint == Hint::ANY),
            Self::Family(rule) => rule.family.any() == Some(Preference::Preferred),
        }
    }

    /// Whether there is a hint without a node set.
    pub(crate) fn leaves_all(&self) -> bool {
        match self {
            Self::Free(_) => true,
            Self::List(list) => list.iter().any(|listed| listed.hint.affinity == Affinity::Any),
            Self::Family(rule) => rule.family.any().is_some(),
        }
    }

    /// Whether exactly this set of the machine is named and preferred.
    pub(crate) fn prefers(&self, mask: NodeMask) -> bool {
        match self {
            Self::Free(_) => false,
            Self::Family(rule) => rule.prefers(mask),
            Self::List(list) => list.iter().any(|listed| {
                listed.hint.is_preferred()
                    && listed.hint.affinity == Affinity::Nodes(mask)
                    && listed.foreign == ForeignNodes::default()
            }),
        }
    }

    /// The open part.
    pub(crate) fn cover(&self) -> Option<&Cover<'a>> {
        match self {
            Self::Family(rule) => rule.cover.as_ref(),
            Self::Free(_) | Self::List(_) => None,
        }
    }

    /// The size of the smallest node set offered, nodes that the machine lacks included.
    pub(crate) fn narrowest(&self, steps: &mut Steps) -> Result<Option<u32>, OutOfSteps> {
        match self {
            Self::Free(_) => Ok(None),
            Self::List(list) => Ok(list.iter().filter_map(|listed| listed.width()).min()),
            Self::Family(rule) => {
                let open = rule.cover.as_ref().map(|cover| cover.narrowest(steps)).transpose()?;
                Ok(rule.masks().map(|(mask, _)| mask.len()).chain(open).min())
            }
        }
    }
}

impl<'a> Rule<'a> {
    /// The exact sets.
    pub(crate) fn masks(&self) -> impl Iterator<Item = (NodeMask, Preference)> + use<'a> {
        let nodes = self.nodes;
        self.family.masks().iter().copied().filter(move |(mask, _)| mask.is_subset(nodes))
    }

    /// Whether sets of the open part can be preferred.
    pub(crate) fn prefers_open(&self) -> bool {
        self.cover.is_some() && !matches!(self.family.preferred(), Preferred::PerMask)
    }

    /// Whether exactly this set is accepted.
    pub(crate) fn accepts(&self, mask: NodeMask) -> bool {
        self.masks().any(|(exact, _)| exact == mask)
            || self.cover.as_ref().is_some_and(|cover| cover.accepts(mask))
    }

    /// Whether exactly this set is accepted and preferred.
    pub(crate) fn prefers(&self, mask: NodeMask) -> bool {
        let exact = self.masks().filter(|(exact, _)| *exact == mask).map(|(_, preference)| preference).min();
        let is_open = || self.cover.as_ref().is_some_and(|cover| cover.accepts(mask));
        match self.family.preferred() {
            Preferred::PerMask => exact == Some(Preference::Preferred),
            by_shape => by_shape.of_shape(mask) == Preference::Preferred && (exact.is_some() || is_open()),
        }
    }
}
