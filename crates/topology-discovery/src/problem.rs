//! What a reading found wrong, and what it assumed instead.

use std::collections::BTreeMap;
use std::fmt;

/// Up to so many problems of one kind get a line each.
const MOST_OF_A_KIND: usize = 2;

/// Something missing or contradictory in a tree. The reading went on; [`ProblemKind::assumed`] says with what.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// The file or folder, from the root of the tree, without a leading `/`.
    pub path: String,
    /// What is wrong with it.
    pub lack: ProblemKind,
}

/// What is wrong with a file, and what stands in for it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ProblemKind {
    /// It is not there.
    Missing {
        /// What stands in for it.
        assumed: Substitute,
    },
    /// It is there and cannot be understood, or not be read.
    Unusable {
        /// Why.
        reason: String,
        /// What stands in for it.
        assumed: Substitute,
    },
    /// It is there and used, but for a part of it that is missing.
    Lacks {
        /// The part.
        what: String,
        /// What stands in for it.
        assumed: Substitute,
    },
    /// It says something else of a fact than another file, which says it too.
    Differs {
        /// What it says.
        value: String,
        /// The other file.
        other: String,
        /// What that says.
        other_value: String,
        /// Which of them is used.
        assumed: Substitute,
    },
    /// It cannot be right together with another file.
    Contradicts {
        /// The other file.
        other: String,
        /// Which of them was believed.
        assumed: Substitute,
    },
}

/// What stands in for something that is missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Substitute {
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
    /// The node has no CPUs.
    NodeWithoutCpus,
    /// The first node that names the CPU has it.
    FirstNode,
    /// The first node has the CPU, because no node names it.
    NodeOfNoOne,
    /// The CPU is a separate core.
    CoreOfItsOwn,
    /// The CPU's package is known from its number alone.
    PackageOfNumber,
    /// Packages and cores are counted from the folders of the CPUs.
    CpuFolders,
    /// The clock is zero.
    NoClock,
    /// Swap is zero.
    NoSwap,
    /// The machine's memory is the sum over its nodes.
    SumOfNodes,
    /// The entry is left out.
    LeftOut,
    /// The first that was read is right.
    FirstRead,
    /// Each is right in what it says.
    AsRead,
    /// What it says, and the CPU itself.
    WithItself,
    /// The other file is right.
    Other,
    /// A core has no CPUs of other packages.
    CoreInPackage,
    /// CPUs are of one core if they are siblings.
    CoreOfSiblings,
}

impl ProblemKind {
    /// Whether it is not there at all.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// What stands in for it.
    #[must_use]
    pub const fn assumed(&self) -> Substitute {
        let (Self::Missing { assumed }
        | Self::Unusable { assumed, .. }
        | Self::Lacks { assumed, .. }
        | Self::Differs { assumed, .. }
        | Self::Contradicts { assumed, .. }) = self;
        *assumed
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.lack {
            ProblemKind::Missing { assumed } => write!(f, "{path} is missing: {assumed}"),
            ProblemKind::Unusable { reason, assumed } => {
                write!(f, "{path} is unusable ({reason}): {assumed}")
            }
            ProblemKind::Lacks { what, assumed } => write!(f, "{path} has no {what}: {assumed}"),
            ProblemKind::Differs { value, other, other_value, assumed } => {
                write!(f, "{path} has {value}, but {other} has {other_value}: ")?;
                match assumed {
                    Substitute::Other => {
                        write!(f, "{} is believed", other.rsplit('/').next().unwrap_or(other))
                    }
                    assumed => assumed.fmt(f),
                }
            }
            ProblemKind::Contradicts { other, assumed } => write!(f, "{path} contradicts {other}: {assumed}"),
        }
    }
}

/// The problems for a person, a line each. Of those that differ in numbers alone, such as one for each of many
/// CPUs, the line shows the first of them and how many more there are.
///
/// ```
/// use topology_discovery::{Substitute, ProblemKind, Problem, fold};
///
/// let lost = |cpu: usize| Problem {
///     path: format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"),
///     lack: ProblemKind::Missing { assumed: Substitute::Unknown },
/// };
/// let problems: Vec<_> = (0..64).map(lost).collect();
/// assert_eq!(
///     fold(&problems),
///     ["sys/devices/system/cpu/cpu0/topology/core_id is missing: not known (and 63 more like it)"]
/// );
/// ```
#[must_use]
pub fn fold(problems: &[Problem]) -> Vec<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for problem in problems {
        *kinds.entry(kind(problem)).or_default() += 1;
    }
    let mut lines = Vec::new();
    for problem in problems {
        let Some(count) = kinds.get_mut(&kind(problem)) else { continue };
        match *count {
            0 => {}
            1..=MOST_OF_A_KIND => lines.push(problem.to_string()),
            many => {
                lines.push(format!("{problem} (and {} more like it)", many - 1));
                *count = 0;
            }
        }
    }
    lines
}

/// What problems that differ in numbers alone have in common.
fn kind(problem: &Problem) -> String {
    let text = problem.to_string();
    let is_number = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit() || ":.,-".contains(c));
    let mut kind = String::with_capacity(text.len());
    for part in text.split_inclusive(['/', ' ']) {
        // An address of a device is hexadecimal; other numbers end a name.
        if part.contains(|c: char| c.is_ascii_digit()) && is_number(part.trim_end_matches(['/', ' ', ':'])) {
            kind.push('/');
        } else {
            kind.extend(part.chars().filter(|c| !c.is_ascii_digit()));
        }
    }
    kind
}

impl fmt::Display for Substitute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not known",
            Self::CpusWithTopologyAreOnline => "every CPU with a topology folder is taken as online",
            Self::OneNode => "one node is taken to hold everything",
            Self::CpusOfMask => "the node's CPU mask is believed",
            Self::CpusOfLinks => "the node's CPU links are believed",
            Self::NodeWithoutCpus => "the node is taken to have no CPUs",
            Self::FirstNode => "the CPU stays in the first node that names it",
            Self::NodeOfNoOne => "no node names the CPU, the first node is taken",
            Self::CoreOfItsOwn => "the CPU is taken as a separate core",
            Self::PackageOfNumber => "CPUs with one package number are taken as one package",
            Self::CpuFolders => "packages and cores are counted from the CPU folders",
            Self::NoClock => "the clock is taken as zero",
            Self::NoSwap => "swap is taken as zero",
            Self::SumOfNodes => "the machine's memory is taken as the sum over its nodes",
            Self::LeftOut => "left out",
            Self::FirstRead => "what was read first is believed",
            Self::AsRead => "each is taken as it reads",
            Self::WithItself => "the CPU itself is added",
            Self::Other => "the other file is believed",
            Self::CoreInPackage => "a core has no CPUs of other packages",
            Self::CoreOfSiblings => "CPUs are one core where they are siblings",
        })
    }
}
