//! CPUs taken from a cgroup, and never given.

use cpuset::CpuSet;

use crate::cgroups::Cgroups;
use crate::files::{Files, is_gone};
use crate::path::CgroupPath;
use crate::place::{PlaceError, Set, list};

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
    /// Takes from a cgroup all CPUs that are not in `within`, in one write, and reads back what stands in its file. CPUs
    /// that it did not have are never added. A cgroup whose file is empty has those in effect.
    ///
    /// What is in effect afterwards is not read: the kernel puts the part of a set in effect that is in effect above, and
    /// some of it was before. [`runs_on`](Self::runs_on) says it.
    ///
    /// # Errors
    /// The cgroup is gone or has no cpuset, it would have no CPU left, which the kernel takes for all of them, the kernel
    /// refuses, or the file has other CPUs afterwards.
    pub fn narrow(&self, cgroup: &CgroupPath, within: &CpuSet) -> Result<Narrowed, PlaceError> {
        let effective = self.effective_of(cgroup)?;
        let path = self.root.join(cgroup.as_path()).join(Set::Cpus.file());
        let mut decided = None;
        let edited = self.files.edit(&path, &mut |text| {
            let narrowed = list(&path, text).and_then(|own| {
                narrowed(own, effective.as_ref(), within)
                    .ok_or_else(|| PlaceError::Empty { cgroup: cgroup.clone(), set: Set::Cpus })
            });
            let written = narrowed.as_ref().ok().filter(|narrowed| narrowed.is_change());
            let written = written.map(|narrowed| narrowed.to.to_string());
            decided = Some(narrowed);
            written
        });
        let text = match (edited, &decided) {
            (Ok(text), _) => text,
            (Err(error), _) if is_gone(&error) => return Err(PlaceError::Gone(cgroup.clone())),
            (Err(source), Some(Ok(narrowed))) if narrowed.is_change() => {
                return Err(PlaceError::Write { path, text: narrowed.to.to_string(), source });
            }
            (Err(source), _) => return Err(PlaceError::Read { path, source }),
        };
        let narrowed = decided.ok_or_else(|| PlaceError::Gone(cgroup.clone()))??;
        if narrowed.is_change() {
            let found = list(&path, &text)?;
            if found != narrowed.to {
                return Err(PlaceError::Overwritten { cgroup: cgroup.clone(), wanted: narrowed.to, found });
            }
        }
        Ok(narrowed)
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

/// The part of a cgroup's CPUs that is within others. `None`: there is none that can be had.
fn narrowed(own: CpuSet, effective: Option<&CpuSet>, within: &CpuSet) -> Option<Narrowed> {
    let from = match effective {
        Some(effective) if own.is_empty() => effective.clone(),
        _ => own,
    };
    let to = &from & within;
    // The kernel takes a set of which nothing can be had for none, and none for all.
    let can_be_had = effective.is_none_or(|effective| !effective.is_disjoint(&to));
    ((to == from && !from.is_empty()) || (!to.is_empty() && can_be_had)).then_some(Narrowed { from, to })
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
