//! What k3s adds to its kubelet.
//!
//! By its source of 2025 and 2026: the values of `--kubelet-arg` become flags; the kubelet gets `--config-dir`; k3s unpacks
//! itself to `DATA/data/HASH` and runs `DATA/data/HASH/bin/k3s`; it overwrites its arguments with a title as soon as it
//! runs. By process lists of nodes (RKE2 v1.34.4, whose agent is k3s'): that folder is `DATA/agent/etc/kubelet.conf.d`.
//! Releases before drop-ins have no such folder.
//!
//! `/proc` does not show the options in `/etc/rancher/k3s/config.yaml`, nor the flags that k3s adds for its kubelet
//! itself; none of those sets a policy of the managers of CPUs, memory and devices.

use std::path::{Component, Path, PathBuf};

use crate::flags::{last_value, values};

const DEFAULT: &str = "/var/lib/rancher/k3s";

/// The folder in which k3s keeps its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataDir {
    /// As the process sees it.
    pub path: PathBuf,
    /// What names it.
    pub named_by: NamedBy,
}

/// What names a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedBy {
    /// The argument `--data-dir`.
    Argument,
    /// The executable lies in it. It is certain unless it is `/var/lib/rancher/k3s`: an executable there serves other
    /// folders too.
    Executable,
    /// It is the default of root's processes, and nothing names another.
    Default,
}

impl DataDir {
    /// `agent/etc/kubelet.conf.d` in it.
    pub(crate) fn drop_ins(&self) -> PathBuf {
        self.path.join("agent/etc/kubelet.conf.d")
    }
}

/// The data folder, as far as it is known.
pub(crate) fn data_dir(arguments: &[&[u8]], executable: Option<&Path>, user: Option<u32>) -> Option<DataDir> {
    let arguments: Vec<&str> = arguments.iter().map(|one| str::from_utf8(one).unwrap_or_default()).collect();
    let named = |path: PathBuf, named_by| Some(DataDir { path, named_by });
    if let Some(path) = last_value(&arguments, &["data-dir", "d"]) {
        return named(path.into(), NamedBy::Argument);
    }
    if let Some(path) = executable.and_then(unpacked_in) {
        return named(path.to_path_buf(), NamedBy::Executable);
    }
    (user == Some(0)).then(|| DataDir { path: DEFAULT.into(), named_by: NamedBy::Default })
}

/// `DATA` of `DATA/data/HASH/bin/k3s`.
fn unpacked_in(executable: &Path) -> Option<&Path> {
    let is =
        |path: &Path, name: &str| path.components().next_back() == Some(Component::Normal(name.as_ref()));
    let bin = executable.parent().filter(|bin| is(bin, "bin"))?;
    bin.parent()?.parent().filter(|data| is(data, "data"))?.parent()
}

/// The kubelet's flags by `--kubelet-arg`. A name that ends in `+` or `-` adds to the value that k3s would give.
pub(crate) fn kubelet_flags(arguments: &[&str]) -> Vec<String> {
    let flag = |value: &str| {
        let (name, value) = value.split_once('=').unwrap_or((value, "true"));
        format!("--{}={value}", name.trim_start_matches("--").trim_end_matches(['+', '-']))
    };
    values(arguments, &["kubelet-arg"]).map(flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelets_flags() {
        let arguments = ["--kubelet-arg=cpu-manager-policy=static", "--kubelet-arg", "--v=2", "--x", "y"];
        assert_eq!(kubelet_flags(&arguments), ["--cpu-manager-policy=static", "--v=2"]);
        assert_eq!(
            kubelet_flags(&["--kubelet-arg=feature-gates+=A=true", "--kubelet-arg=fail-swap-on"]),
            ["--feature-gates=A=true", "--fail-swap-on=true"]
        );
    }

    #[test]
    fn the_data_folder() {
        let check = |line: &str, executable: &str, user, expected: Option<(&str, NamedBy)>| {
            let arguments: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let executable = (!executable.is_empty()).then_some(Path::new(executable));
            let found = data_dir(&arguments, executable, user);
            let expected = expected.map(|(path, named_by)| DataDir { path: path.into(), named_by });
            assert_eq!(found, expected, "{line} {executable:?}");
        };
        check("-d /a", "/b/data/0123/bin/k3s", Some(0), Some(("/a", NamedBy::Argument)));
        check("", "/b/data/0123/bin/k3s", Some(1000), Some(("/b", NamedBy::Executable)));
        check("", "/bin/k3s", Some(0), Some((DEFAULT, NamedBy::Default)));
        check("", "/usr/local/bin/k3s", Some(1000), None);
        check("", "", Some(0), Some((DEFAULT, NamedBy::Default)));
        check("", "", None, None);
    }
}
