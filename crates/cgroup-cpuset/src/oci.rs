//! Cgroups as container runtimes write them, in the OCI configuration of a container.

use std::path::PathBuf;

use crate::path::{CgroupPath, NotAPath};

/// Which program makes the cgroups of containers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CgroupDriver {
    /// The runtime itself.
    Cgroupfs,
    /// systemd, which writes its own values again when it reloads its units.
    Systemd,
}

impl CgroupPath {
    /// The cgroup of a container by `linux.cgroupsPath` of its configuration, and who makes it: a path, or for systemd
    /// `SLICE:PREFIX:NAME`.
    ///
    /// # Errors
    /// It is empty, or leaves the hierarchy.
    pub fn of_oci(text: &str) -> Result<(Self, CgroupDriver), NotAPath> {
        let mut parts = text.split(':');
        let (Some(slice), Some(prefix), Some(name), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Ok((Self::new(text)?, CgroupDriver::Cgroupfs));
        };
        let unit = match prefix {
            _ if name.strip_suffix(".slice").is_some() => name.to_owned(),
            "" => format!("{name}.scope"),
            _ => format!("{prefix}-{name}.scope"),
        };
        Ok((Self::new(slice_path(slice).join(unit))?, CgroupDriver::Systemd))
    }
}

/// Where systemd has a slice: `a-b.slice` is in `a.slice`.
fn slice_path(slice: &str) -> PathBuf {
    let name = slice.strip_suffix(".slice").unwrap_or(slice);
    let mut path = PathBuf::new();
    if name == "-" {
        // The root slice.
        return path;
    }
    let ends = name.match_indices('-').map(|(at, _)| at).chain([name.len()]);
    for end in ends.filter(|end| *end > 0) {
        path.push(format!("{}.slice", &name[..end]));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_paths() {
        for (text, path, driver) in [
            ("/kubepods/burstable/pod1/0ab", "/kubepods/burstable/pod1/0ab", CgroupDriver::Cgroupfs),
            (
                "kubepods-burstable-pod1_2.slice:cri-containerd:0ab",
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-0ab.scope",
                CgroupDriver::Systemd,
            ),
            ("system.slice::0ab", "/system.slice/0ab.scope", CgroupDriver::Systemd),
            ("-.slice:crio:0ab", "/crio-0ab.scope", CgroupDriver::Systemd),
        ] {
            let (found, by) = CgroupPath::of_oci(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((found.to_string().as_str(), by), (path, driver), "{text}");
        }
        for text in ["", "/", "../../etc:a:b", "/kubepods/../../x"] {
            assert!(CgroupPath::of_oci(text).is_err(), "{text}");
        }
    }
}
