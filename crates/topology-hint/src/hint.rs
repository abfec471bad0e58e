//! One hint.

use numa_bitmask::NodeMask;

/// Where something could be served.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Affinity {
    /// No opinion: any node will do. The kubelet's nil mask.
    Any,
    /// These nodes. The empty set is legal and means "no node".
    Nodes(NodeMask),
}

impl Affinity {
    /// The node set, if there is one.
    #[must_use]
    pub const fn nodes(self) -> Option<NodeMask> {
        match self {
            Self::Any => None,
            Self::Nodes(mask) => Some(mask),
        }
    }
}

/// Whether a node set is as narrow as the machine's *installed* resources allow; what is free does not matter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Preference {
    /// As narrow as can be.
    Preferred,
    /// It would do.
    Acceptable,
}

/// A node set and whether it is preferred.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hint {
    /// Where.
    pub affinity: Affinity,
    /// Whether as narrow as can be.
    pub preference: Preference,
}

impl Hint {
    /// `nodes` with `preference`.
    #[must_use]
    pub const fn on(nodes: NodeMask, preference: Preference) -> Self {
        Self { affinity: Affinity::Nodes(nodes), preference }
    }

    /// The nodes at positions that are written in a program, preferred: `Hint::preferred([0])`.
    ///
    /// # Panics
    /// A position is 64 or more, as in [`NodeMask::of`].
    #[must_use]
    pub const fn preferred<const N: usize>(positions: [usize; N]) -> Self {
        Self::on(NodeMask::of(positions), Preference::Preferred)
    }

    /// The nodes at positions that are written in a program, not preferred: `Hint::acceptable([0, 1])`.
    ///
    /// # Panics
    /// A position is 64 or more, as in [`NodeMask::of`].
    #[must_use]
    pub const fn acceptable<const N: usize>(positions: [usize; N]) -> Self {
        Self::on(NodeMask::of(positions), Preference::Acceptable)
    }

    /// "Do as you like": what a provider without an opinion stands for in a merge.
    pub const ANY: Self = Self { affinity: Affinity::Any, preference: Preference::Preferred };

    /// What is read where nothing is stored, and what a provider that cannot serve stands for in a merge.
    pub const NONE: Self = Self { affinity: Affinity::Any, preference: Preference::Acceptable };

    /// The kubelet's *less* between hints, which its providers use: the preferred one, else the one with the
    /// narrower node set. `None` where the kubelet crashes: equally preferred, and one has no node set.
    #[must_use]
    pub fn is_less(self, other: Self) -> Option<bool> {
        if self.preference != other.preference {
            return Some(self.preference < other.preference);
        }
        Some(self.affinity.nodes()?.cmp_narrow(other.affinity.nodes()?).is_lt())
    }

    /// Whether the hint is preferred.
    #[must_use]
    pub const fn is_preferred(self) -> bool {
        matches!(self.preference, Preference::Preferred)
    }
}

/// Node ids of an explicit hint that the machine lacks: bit *i* is node id *i*. They count in equality, size and
/// the single-node filter of a merge, and then vanish.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ForeignNodes(pub u64);

/// A hint of an explicit list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListedHint {
    /// The hint in nodes of the machine.
    pub hint: Hint,
    /// What else it named.
    pub foreign: ForeignNodes,
}

impl From<Hint> for ListedHint {
    fn from(hint: Hint) -> Self {
        Self { hint, foreign: ForeignNodes::default() }
    }
}

impl ListedHint {
    /// How many nodes the hint names, those that the machine lacks included; `None` without a node set.
    #[must_use]
    pub const fn width(self) -> Option<u32> {
        match self.hint.affinity {
            Affinity::Any => None,
            Affinity::Nodes(mask) => Some(mask.len() + self.foreign.0.count_ones()),
        }
    }
}
