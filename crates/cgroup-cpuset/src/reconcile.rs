//! Many containers at once, over and over: what others changed is put right and counted.

use crate::cgroups::Cgroups;
use crate::files::Files;
use crate::path::CgroupPath;
use crate::place::{Place, PlaceError, Written};

/// What a round found.
#[derive(Debug, Default)]
pub struct Reconciled {
    /// Containers that were as they should be.
    pub in_order: usize,
    /// Containers that had drifted and are right again.
    pub repaired: Vec<CgroupPath>,
    /// Containers whose cgroup is gone: a report of their exit is to follow.
    pub gone: Vec<CgroupPath>,
    /// Containers that are not where they belong, and why.
    pub failed: Vec<(CgroupPath, PlaceError)>,
}

/// Whether a container is where it belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It was all along, or is again.
    Yes,
    /// It is not.
    No,
}

impl<F: Files> Cgroups<F> {
    /// Puts each container where it belongs. A failure does not keep the others from it.
    pub fn reconcile<'a>(&self, wanted: impl IntoIterator<Item = (&'a CgroupPath, &'a Place)>) -> Reconciled {
        let mut round = Reconciled::default();
        for (cgroup, place) in wanted {
            match self.place(cgroup, place) {
                Ok(Written::Nothing) => round.in_order += 1,
                Ok(Written::Changed) => round.repaired.push(cgroup.clone()),
                Err(PlaceError::Gone(_)) => round.gone.push(cgroup.clone()),
                Err(error) => round.failed.push((cgroup.clone(), error)),
            }
        }
        round
    }
}

impl Reconciled {
    /// Whether this container is where it belongs.
    #[must_use]
    pub fn kept(&self, cgroup: &CgroupPath) -> Kept {
        let is_failed = self.failed.iter().any(|(failed, _)| failed == cgroup);
        if is_failed || self.gone.contains(cgroup) { Kept::No } else { Kept::Yes }
    }
}
