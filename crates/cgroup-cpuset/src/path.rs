//! Where a cgroup is, below the root of the hierarchy.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// The path of a cgroup below the root of the hierarchy; the root itself is none, since it has no sets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CgroupPath(PathBuf);

/// Why a text is no path of a cgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NotAPath {
    /// Nothing, or only slashes.
    #[error("the root cgroup has no cpuset files to write")]
    Root,
    /// `..` or the like.
    #[error("the path of a cgroup has no parts such as `..`")]
    Leaves,
}

impl CgroupPath {
    /// The cgroup at `path`; slashes in front, as `/proc/PID/cgroup` has them, are left out.
    ///
    /// # Errors
    /// No path below the root.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, NotAPath> {
        let mut below = PathBuf::new();
        for part in path.as_ref().components() {
            match part {
                Component::Normal(name) => below.push(name),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => return Err(NotAPath::Leaves),
            }
        }
        if below.as_os_str().is_empty() { Err(NotAPath::Root) } else { Ok(Self(below)) }
    }

    /// Relative to the root.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Those above it from the root, which is the empty path, down to its parent.
    pub(crate) fn ancestors(&self) -> Vec<&Path> {
        let mut above: Vec<&Path> = self.0.ancestors().skip(1).collect();
        above.reverse();
        above
    }
}

impl fmt::Display for CgroupPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_root() {
        for (text, path) in [
            ("kubepods/pod1", Ok("/kubepods/pod1")),
            ("/kubepods//./pod1/", Ok("/kubepods/pod1")),
            ("", Err(NotAPath::Root)),
            ("/", Err(NotAPath::Root)),
            ("/a/../../etc", Err(NotAPath::Leaves)),
        ] {
            assert_eq!(
                CgroupPath::new(text).map(|path| path.to_string()),
                path.map(str::to_owned),
                "{text:?}"
            );
        }
        let path = CgroupPath::new("/a/b/c").unwrap();
        assert_eq!(path.ancestors(), ["", "a", "a/b"].map(Path::new));
    }
}
