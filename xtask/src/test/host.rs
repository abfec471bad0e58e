//! Hosts that tests run on: this one, and what it can be made to look like for one process and its children, by
//! mounts that no other process sees.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use fs_err::{self as fs, File};
use workspace_tools::workspace::{root, target};

/// What the tests find around them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Host {
    /// All that is here.
    #[value(skip)]
    This,
    /// Nothing beside the folder of the repository.
    Alone,
    /// cgroups of version 2 at /sys/fs/cgroup, with all controllers, read-only.
    Cgroup2,
    /// An empty /sys/fs/cgroup.
    NoCgroups,
    /// Another machine in /sys and /proc: 36 NUMA nodes with GPUs, and no cgroups.
    Machine,
    /// A kubelet's folder in /var/lib, with its configuration and the state of pods.
    Kubelet,
    /// A user without any rights.
    User,
}

/// The machine of [`Host::Machine`].
const MACHINE: &str = "gh200-quad-36node";
/// The user of [`Host::User`].
const USER: &str = "1000";

impl Host {
    /// As an option names it.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(|| "this host".to_owned(), |value| value.get_name().to_owned())
    }

    /// Whether this process may mount.
    pub(super) fn is_possible(self) -> bool {
        let tried = Command::new("unshare").args(["--mount", "--propagation", "private", "true"]).output();
        self == Self::This || tried.is_ok_and(|output| output.status.success())
    }

    /// The file in which the runner reports on the tests.
    pub(super) fn report(self) -> PathBuf {
        let folder = if self == Self::User { own_folder(self) } else { target() };
        folder.join("nextest/default/junit.xml")
    }

    /// A command as it runs on the host.
    pub(super) fn run_on(self, command: Command) -> anyhow::Result<Command> {
        if !self.is_possible() {
            let name = self.name();
            bail!("--host {name} mounts over parts of this host for the tests alone, which needs root");
        }
        let script = match self {
            Self::This => return Ok(command),
            Self::Alone => alone()?,
            Self::Cgroup2 => cgroup2()?,
            Self::NoCgroups => "mount -t tmpfs -o ro none /sys/fs/cgroup\n".to_owned(),
            Self::Machine => machine()?,
            Self::Kubelet => kubelet(),
            Self::User => user()?,
        };
        let temporary = in_memory()?;
        let script = format!("mount -t tmpfs -o mode=1777 none {}\n{script}exec \"$@\"", word(&temporary));
        let mut on_host = Command::new("unshare");
        on_host.args(["--mount", "--propagation", "private", "sh", "-euc", &script, "sh"]);
        if self == Self::User {
            on_host.args(["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all"]);
        }
        on_host.arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            on_host.current_dir(folder);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => on_host.env(name, value),
                None => on_host.env_remove(name),
            };
        }
        on_host.env("TMPDIR", temporary);
        if self == Self::User {
            on_host.env("HOME", own_folder(self).join("home"));
        }
        Ok(on_host)
    }
}

/// The folder of temporary files, over which memory is mounted: many tests unpack a machine, which is thousands of files, and
/// on a disk they take ten times as long. Its path is short, since those of sockets are.
fn in_memory() -> anyhow::Result<PathBuf> {
    let folder = env::temp_dir().join("topolet-tests");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A folder for what a host is made of.
fn own_folder(host: Host) -> PathBuf {
    target().join("hosts").join(host.name())
}

/// A path as a word of a shell.
fn word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Empty folders over all that lie beside the repository's.
fn alone() -> anyhow::Result<String> {
    let own = root().canonicalize().context("the repository has no folder")?;
    let hidden = beside(&own, &needed())?;
    Ok(hidden.iter().map(|folder| format!("mount -t tmpfs -o ro none {}\n", word(folder))).collect())
}

/// The folders beside `own`, but for those that hold what is needed.
fn beside(own: &Path, needed: &[PathBuf]) -> anyhow::Result<BTreeSet<PathBuf>> {
    let above = own.parent().context("the repository is the root of a file system")?;
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(above)? {
        // What a link leads to is hidden with it.
        let Ok(folder) = entry?.path().canonicalize() else { continue };
        let holds = |path: &Path| path.starts_with(&folder);
        let is_needed = holds(own) || needed.iter().any(|path| holds(path));
        if folder.is_dir() && !is_needed && !folder.starts_with(own) {
            all.insert(folder);
        }
    }
    Ok(all)
}

/// Folders that a build and tests use.
fn needed() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let of_rust = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]
        .map(|(name, usual)| env::var_os(name).map_or_else(|| home.join(usual), PathBuf::from));
    let path = env::var_os("PATH").unwrap_or_default();
    let own = [root(), target(), env::temp_dir()];
    let all = of_rust.into_iter().chain(own).chain(env::split_paths(&path));
    // Folders of the system do not count as folders beside the repository.
    let system = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var"];
    all.chain(system.map(PathBuf::from)).filter_map(|path| path.canonicalize().ok()).collect()
}

/// The kernel's hierarchy of version 2, whatever it is mounted at, with a list of controllers that those may lack which are
/// in use by hierarchies of version 1.
fn cgroup2() -> anyhow::Result<String> {
    let folder = own_folder(Host::Cgroup2);
    fs::create_dir_all(&folder)?;
    let controllers = folder.join("cgroup.controllers");
    fs::write(&controllers, "cpuset cpu io memory hugetlb pids rdma misc\n")?;
    Ok(format!(
        "mount -t cgroup2 none /sys/fs/cgroup\nmount --bind {} /sys/fs/cgroup/cgroup.controllers\n\
         mount -o remount,bind,ro /sys/fs/cgroup\n",
        word(&controllers)
    ))
}

/// The files of a built-in machine in the place of this one's.
fn machine() -> anyhow::Result<String> {
    let folder = own_folder(Host::Machine);
    let archive = root().join(format!("crates/machine-fixtures/machines/{MACHINE}.tar.zst"));
    let packed = File::open(&archive)?;
    let _ = fs::remove_dir_all(&folder);
    tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(packed)?)
        .unpack(&folder)
        .with_context(|| format!("failed to write {}", folder.display()))?;
    let from = word(&folder);
    Ok(format!(
        "for file in cpuinfo meminfo; do mount --bind {from}/proc/$file /proc/$file; done\nmount --bind {from}/sys /sys\n"
    ))
}

/// A kubelet that has run on another machine: two pods hold CPUs, memory and devices.
fn kubelet() -> String {
    let fixtures = word(&root().join("fixtures"));
    format!(
        "mount -t tmpfs none /var/lib\ncp -r {fixtures}/state/healthy /var/lib/kubelet\n\
         cp {fixtures}/configs/cpu-plain.yaml /var/lib/kubelet/config.yaml\nmkdir -p /var/lib/kubelet/device-plugins\n"
    )
}

/// Folders that a user may write to in the place of those that the tests write to, and a way to cargo where root's home is
/// closed to others.
fn user() -> anyhow::Result<String> {
    let own = own_folder(Host::User);
    let mut script = String::new();
    for (name, over) in [("tmp", Some("tmp")), ("nextest", Some("nextest")), ("home", None)] {
        let folder = own.join(name);
        fs::create_dir_all(&folder)?;
        script += &format!("chown -R {USER}:{USER} {}\n", word(&folder));
        if let Some(over) = over.map(|over| target().join(over)) {
            fs::create_dir_all(&over)?;
            script += &format!("mount --bind {} {}\n", word(&folder), word(&over));
        }
    }
    let home = env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    let home = home.canonicalize().with_context(|| format!("there is no {}", home.display()))?;
    let inside: Vec<PathBuf> = needed().into_iter().filter(|path| path.starts_with(&home)).collect();
    let aside = env::temp_dir().join("topolet-home");
    script += &format!("mkdir -p {0}\nmount --rbind {1} {0}\n", word(&aside), word(&home));
    script += &format!("mount -t tmpfs -o mode=755 none {}\n", word(&home));
    for path in &inside {
        let below = path.strip_prefix(&home).unwrap_or(path);
        script += &format!("mkdir -p {0}\nmount --rbind {1} {0}\n", word(path), word(&aside.join(below)));
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_lies_beside_is_hidden_and_what_is_needed_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let above = folder.path().canonicalize().unwrap();
        for name in ["own/target", "shared/machines", "other", "rust/bin"] {
            fs::create_dir_all(above.join(name)).unwrap();
        }
        fs::write(above.join("file"), "").unwrap();
        symlink("other", above.join("link")).unwrap();
        symlink("own/target", above.join("inside")).unwrap();
        symlink(&above, above.join("up")).unwrap();
        symlink("nowhere", above.join("broken")).unwrap();
        let hidden = beside(&above.join("own"), &[above.join("rust/bin")]).unwrap();
        assert_eq!(hidden, ["other", "shared"].map(|name| above.join(name)).into());
    }

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(word(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
