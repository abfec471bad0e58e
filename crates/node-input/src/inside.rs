//! Paths of a machine whose root is a folder: its absolute links lead to files below that folder, not to the reader's.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most links that a path may lead over, as Linux has it.
const MOST_LINKS: usize = 40;

/// Where `path` of the machine is, with its links followed below `root`. What is not there stays as it is written; a path over
/// too many links is one that is not there.
pub(crate) fn inside(root: &Path, path: &str) -> PathBuf {
    if root == Path::new("/") {
        return root.join(path.trim_start_matches('/'));
    }
    let mut links = 0;
    let mut found = PathBuf::new();
    let mut left = parts(Path::new(path));
    while let Some(part) = left.pop() {
        if part == ".." {
            found.pop();
            continue;
        }
        let next = found.join(&part);
        match fs::read_link(root.join(&next)) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                if target.is_absolute() {
                    found = PathBuf::new();
                }
                left.extend(parts(&target));
            }
            _ => found = next,
        }
    }
    root.join(found)
}

/// The parts of a path, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<OsString> = parts.collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_below_the_root() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        fs::create_dir_all(root.join("data/kubelet"))?;
        fs::create_dir_all(root.join("var/lib"))?;
        symlink("/data/kubelet", root.join("var/lib/kubelet"))?;
        symlink("../".repeat(5) + "data", root.join("var/up"))?;
        symlink("/loop", root.join("loop"))?;
        let check =
            |path: &str, expected: &str| assert_eq!(inside(root, path), root.join(expected), "{path}");
        check("/var/lib/kubelet/pods", "data/kubelet/pods");
        check("/var/up/kubelet", "data/kubelet");
        check("/../../etc", "etc");
        check("/var/lib/other", "var/lib/other");
        assert!(!inside(root, "/loop/x").exists());
        assert_eq!(inside(Path::new("/"), "/var/lib"), Path::new("/var/lib"));
        Ok(())
    }
}
