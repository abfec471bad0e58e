//! What a reading found wrong, and what it assumed instead.

use std::fmt;

/// Something missing or contradictory in a tree. The reading went on; [`Lack::assumed`] says with what.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// The file or folder, from the root of the tree, without a leading `/`.
    pub path: String,
    /// What is wrong with it.
    pub lack: Lack,
}

/// Kinds of problems.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Lack {
    /// It is not there.
    Missing {
        /// What stands in for it.
        assumed: Assumed,
    },
    /// It is there and cannot be understood, or not be read.
    Unusable {
        /// Why.
        reason: String,
        /// What stands in for it.
        assumed: Assumed,
    },
    /// It says something else than another file.
    Contradicts {
        /// The other file.
        other: String,
        /// Which of them was believed.
        assumed: Assumed,
    },
}

/// What stands in for something that is missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Assumed {
    /// Nothing: the value is not known.
    Unknown,
    /// All CPUs that have a topology folder are online.
    CpusWithTopologyAreOnline,
    /// One node holds every CPU and all memory.
    OneNode,
    /// The node's CPUs are those of its mask or list.
    CpusOfMask,
    /// The node's CPUs are those of its links.
    CpusOfLinks,
    /// The first node that names the CPU has it.
    FirstNode,
    /// The first node has the CPU, because no node names it.
    NodeOfNoOne,
    /// The CPU is a core of its own.
    CoreOfItsOwn,
    /// The CPU's package is known from its number alone.
    PackageOfNumber,
    /// It is zero.
    Zero,
    /// It is the sum over the nodes.
    SumOfNodes,
    /// The entry is left out.
    LeftOut,
    /// The first that was read is right.
    FirstRead,
}

impl Lack {
    /// Whether it is not there at all.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// What stands in for it.
    #[must_use]
    pub const fn assumed(&self) -> Assumed {
        let (Self::Missing { assumed } | Self::Unusable { assumed, .. } | Self::Contradicts { assumed, .. }) =
            self;
        *assumed
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.lack {
            Lack::Missing { assumed } => write!(f, "{path} is missing: {assumed}"),
            Lack::Unusable { reason, assumed } => write!(f, "{path} is unusable ({reason}): {assumed}"),
            Lack::Contradicts { other, assumed } => write!(f, "{path} contradicts {other}: {assumed}"),
        }
    }
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not known",
            Self::CpusWithTopologyAreOnline => "every CPU with a topology folder is taken as online",
            Self::OneNode => "one node is taken to hold everything",
            Self::CpusOfMask => "the node's CPU mask is believed",
            Self::CpusOfLinks => "the node's CPU links are believed",
            Self::FirstNode => "the CPU stays in the first node that names it",
            Self::NodeOfNoOne => "no node names the CPU, the first node is taken",
            Self::CoreOfItsOwn => "the CPU is taken as a core of its own",
            Self::PackageOfNumber => "CPUs with one package number are taken as one package",
            Self::Zero => "taken as zero",
            Self::SumOfNodes => "the sum over the nodes is taken",
            Self::LeftOut => "left out",
            Self::FirstRead => "what was read first is believed",
        })
    }
}
