//! What would have fitted, as values.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use pod_spec::PodUid;

use crate::attempt::Placement;
use crate::attempt::trace::Search;
use crate::explain::change::Change;

/// How many attempts an explanation may make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tries(pub usize);

/// When an explanation ends though there are more candidates.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    pub(crate) tries: Tries,
    pub(crate) stop: &'a dyn Fn() -> ControlFlow<()>,
    pub(crate) kept: &'a BTreeSet<PodUid>,
}

/// No pod is kept where it is.
static NOBODY: BTreeSet<PodUid> = BTreeSet::new();

impl<'a> Limits<'a> {
    /// Ends too when `stop`, which is asked before each attempt, breaks.
    #[must_use]
    pub fn until(self, stop: &'a dyn Fn() -> ControlFlow<()>) -> Self {
        Self { stop, ..self }
    }

    /// No move of these pods is tried, such as those that are quarantined.
    #[must_use]
    pub const fn keeping(self, kept: &'a BTreeSet<PodUid>) -> Self {
        Self { kept, ..self }
    }
}

impl From<Tries> for Limits<'_> {
    fn from(tries: Tries) -> Self {
        Self { tries, stop: &|| ControlFlow::Continue(()), kept: &NOBODY }
    }
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Tries::default().into()
    }
}

impl fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits").field("tries", &self.tries).finish_non_exhaustive()
    }
}

impl Default for Tries {
    fn default() -> Self {
        Self(500)
    }
}

/// What would have to be otherwise for a refused pod.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Whether it fits the node when nothing else runs there.
    pub on_empty_node: OnEmptyNode,
    /// What would fit, ranked as [`Admission::explain`](crate::Admission::explain) says.
    pub would_fit: Vec<WouldFit>,
    /// Whether everything was looked at.
    pub search: Search,
    /// How many attempts were made.
    pub tries: usize,
}

/// Whether a pod fits a node on which nothing else runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEmptyNode {
    /// It does: not now, rather than never.
    Fits,
    /// It does not, and waiting is of no use.
    DoesNotFit,
    /// Not known: there were too few tries.
    #[default]
    Unknown,
}

/// A change under which the pod is admitted.
#[derive(Clone, Debug)]
pub struct WouldFit {
    /// What changes.
    pub change: Change,
    /// Where the pod runs then.
    pub placement: Placement,
    /// What is taken for granted.
    pub plugins: Plugins,
}

/// Whether device plugins would have to agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Plugins {
    /// Every plugin that has to be asked has answered.
    #[default]
    HaveAnswered,
    /// Some would have to be asked, and are taken to prefer no device and to refuse none.
    TakenAsWilling,
}
