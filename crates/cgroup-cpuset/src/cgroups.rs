//! The hierarchy, and whether it can be used.

use std::io;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use thiserror::Error;

use crate::files::{Files, Kernel};

/// Where every distribution mounts it.
const MOUNTED: &str = "/sys/fs/cgroup";

/// A cgroup v2 hierarchy with the cpuset controller.
#[derive(Clone, Debug)]
pub struct Cgroups<F = Kernel> {
    pub(crate) files: F,
    pub(crate) root: PathBuf,
}

/// Why CPUs and memory of containers cannot be kept on this host.
#[derive(Debug, Error)]
pub enum NotUsable {
    /// The hierarchies of old.
    #[error("{} is cgroup v1, where containers are not kept on their CPUs; cgroup v2 is needed", .0.display())]
    Version1(PathBuf),
    /// Not a hierarchy at all.
    #[error("{} is no cgroup v2 hierarchy", .0.display())]
    NoHierarchy(PathBuf),
    /// The kernel, or what is above in a container, has no cpuset controller.
    #[error("{} has no cpuset controller, only: {has}", root.display())]
    NoCpuset {
        /// The hierarchy.
        root: PathBuf,
        /// The controllers that it has.
        has: String,
    },
    /// It cannot be read.
    #[error("failed to read {}", path.display())]
    Unreadable {
        /// What was read.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl Cgroups<Kernel> {
    /// The running kernel's at its usual place.
    ///
    /// # Errors
    /// It is not there, or is cgroup v1.
    pub fn live() -> Result<Self, NotUsable> {
        let root = Path::new(MOUNTED);
        let kind = statfs(root)
            .map_err(|error| NotUsable::Unreadable { path: root.to_owned(), source: error.into() })?;
        if kind.filesystem_type() != CGROUP2_SUPER_MAGIC {
            // A mount of temporary files with one folder for each old controller.
            let is_old = root.join("cpuset").is_dir() || root.join("unified").is_dir();
            let root = root.to_owned();
            return Err(if is_old { NotUsable::Version1(root) } else { NotUsable::NoHierarchy(root) });
        }
        Self::on(Kernel, root)
    }
}

impl<F: Files> Cgroups<F> {
    /// The hierarchy at `root` in these files.
    ///
    /// # Errors
    /// No hierarchy is there, or none with cpusets.
    pub fn on(files: F, root: impl Into<PathBuf>) -> Result<Self, NotUsable> {
        let root = root.into();
        let path = root.join("cgroup.controllers");
        let has = match files.read(&path) {
            Ok(has) => has,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let is_old = files.read(&root.join("cpuset/cpuset.cpus")).is_ok();
                return Err(if is_old { NotUsable::Version1(root) } else { NotUsable::NoHierarchy(root) });
            }
            Err(source) => return Err(NotUsable::Unreadable { path, source }),
        };
        if !has.split_whitespace().any(|one| one == "cpuset") {
            return Err(NotUsable::NoCpuset { root, has: has.trim().to_owned() });
        }
        Ok(Self { files, root })
    }

    /// Where it is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Gives the children of every cgroup on the way to `below` a controller, from the root down.
    pub(crate) fn enable(&self, controller: &str, above: &[&Path]) -> Result<(), (PathBuf, io::Error)> {
        for cgroup in above {
            let path = self.root.join(cgroup).join("cgroup.subtree_control");
            let has = self.files.read(&path).map_err(|error| (path.clone(), error))?;
            if !has.split_whitespace().any(|one| one == controller) {
                self.files.write(&path, &format!("+{controller}")).map_err(|error| (path, error))?;
            }
        }
        Ok(())
    }
}
