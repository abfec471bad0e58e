//! What is known of an admission before it is decided: the work, and what happens in place of the answer.

use cpu_manager::{Walk, WalkEnd};

use crate::fate::Fate;
use crate::work::Work;

/// What is known of an admission beforehand.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fates {
    /// Until the answer, or the crash, or the loop without end.
    pub work: Work,
    /// What happens in place of the answer, or with it.
    pub fate: Option<Fate>,
    /// Whether a search of ours was cut, so that the kubelet may answer otherwise.
    pub is_cut: bool,
}

/// The admission is over: refused, or with a fate.
pub(crate) struct Over;

impl Fates {
    pub(crate) fn ends(&mut self, fate: Fate) -> Result<(), Over> {
        self.fate = Some(fate);
        Err(Over)
    }

    pub(crate) fn walked(&mut self, walk: Walk) -> Result<(), Over> {
        self.work.shares += walk.steps;
        self.work.looks += walk.looks;
        match walk.end {
            WalkEnd::Found => Ok(()),
            WalkEnd::Never => self.ends(Fate::NeverAnswers),
            // So many steps take seconds: the answer is late in any case.
            WalkEnd::Cut => Err(Over),
        }
    }
}
