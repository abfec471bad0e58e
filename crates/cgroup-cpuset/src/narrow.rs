//! CPUs taken from a cgroup, and never given.

use cpuset::CpuSet;

use crate::cgroups::Cgroups;
use crate::files::Files;
use crate::path::CgroupPath;
use crate::place::{PlaceError, Set};

/// The CPUs of a cgroup before and after it was narrowed; equal where it had nothing to lose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Narrowed {
    /// What stood in its file, or, where that was empty, what was in effect.
    pub from: CpuSet,
    /// What stands there now.
    pub to: CpuSet,
}

impl Narrowed {
    /// Whether CPUs were taken.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.from != self.to
    }
}

impl<F: Files> Cgroups<F> {
    /// Takes from a cgroup all CPUs that are not in `within`, in one write, and reads back what came of it. CPUs that it
    /// did not have are never added. A cgroup whose file is empty has those in effect.
    ///
    /// # Errors
    /// The cgroup is gone or has no cpuset, it would have no CPU left, which the kernel takes for all of them, the kernel
    /// refuses, or other CPUs are in effect afterwards.
    pub fn narrow(&self, cgroup: &CgroupPath, within: &CpuSet) -> Result<Narrowed, PlaceError> {
        let own = self.own_cpus(cgroup)?;
        let effective = self.effective_of(cgroup)?;
        let from = match &effective {
            Some(effective) if own.is_empty() => effective.clone(),
            _ => own,
        };
        let to = &from & within;
        if to == from && !from.is_empty() {
            return Ok(Narrowed { from, to });
        }
        // The kernel takes a set of which nothing can be had for none, and none for all.
        let can_be_had = effective.is_none_or(|effective| !effective.is_disjoint(&to));
        if to.is_empty() || !can_be_had {
            return Err(PlaceError::Empty { cgroup: cgroup.clone(), set: Set::Cpus });
        }
        self.write(cgroup, Set::Cpus, &to)?;
        let (now, effective) = (self.own_cpus(cgroup)?, self.effective_of(cgroup)?);
        let effective = effective.unwrap_or_else(|| now.clone());
        if now == to && effective.is_subset(within) {
            return Ok(Narrowed { from, to });
        }
        let above = "the cgroup above".into();
        let cgroup = cgroup.clone();
        Err(PlaceError::NotEffective { cgroup, set: Set::Cpus, wanted: to, effective, above })
    }

    /// The CPUs on which the processes of a cgroup run: those in effect, or those in its file where nothing says what is
    /// in effect.
    ///
    /// # Errors
    /// The cgroup is gone, has no cpuset, or cannot be read.
    pub fn runs_on(&self, cgroup: &CgroupPath) -> Result<CpuSet, PlaceError> {
        match self.effective_of(cgroup)? {
            Some(effective) => Ok(effective),
            None => self.own_cpus(cgroup),
        }
    }

    fn own_cpus(&self, cgroup: &CgroupPath) -> Result<CpuSet, PlaceError> {
        let own = self.read_list(&self.root.join(cgroup.as_path()).join(Set::Cpus.file()))?;
        own.ok_or_else(|| PlaceError::Gone(cgroup.clone()))
    }

    fn effective_of(&self, cgroup: &CgroupPath) -> Result<Option<CpuSet>, PlaceError> {
        self.read_list(&self.root.join(cgroup.as_path()).join(Set::Cpus.effective()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryHierarchy;
    use crate::place::Place;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn hierarchy() -> (Cgroups<MemoryHierarchy>, CgroupPath) {
        let kernel = MemoryHierarchy::new(set("0-7"), [0]).with("kubepods/pod1/app");
        let cgroups = Cgroups::on(kernel, "/sys/fs/cgroup").unwrap_or_else(|error| panic!("{error}"));
        let app = CgroupPath::new("kubepods/pod1/app").unwrap_or_else(|error| panic!("{error}"));
        let place = Place { cpus: Some(set("0-5")), mems: None };
        assert!(cgroups.place(&app, &place).is_ok());
        (cgroups, app)
    }

    #[test]
    fn cpus_are_taken_and_never_given() {
        for (within, left) in [("0-7", "0-5"), ("4-7", "4-5"), ("0-1,5", "0-1,5"), ("0-5", "0-5")] {
            let (cgroups, app) = hierarchy();
            let narrowed = cgroups.narrow(&app, &set(within)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((narrowed.from, narrowed.to), (set("0-5"), set(left)), "{within}");
            assert_eq!(cgroups.runs_on(&app).ok(), Some(set(left)), "{within}");
        }
    }

    #[test]
    fn a_container_keeps_what_it_has_where_nothing_would_be_left() {
        let (cgroups, app) = hierarchy();
        assert!(matches!(cgroups.narrow(&app, &set("6-7")), Err(PlaceError::Empty { .. })));
        assert_eq!(cgroups.runs_on(&app).ok(), Some(set("0-5")));
        let gone = CgroupPath::new("kubepods/pod2/app").unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(cgroups.narrow(&gone, &set("0")), Err(PlaceError::Gone(_))));
    }
}
