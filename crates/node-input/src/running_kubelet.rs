//! The kubelet that runs on a machine, by its process: its command line says where its configuration and its files are.
//!
//! A process counts if it is root's or the user's own: any other user could give a process the arguments of a kubelet. Of
//! several kubelets the one that sees the machine's own mounts and processes is taken, if it is the only one; the others are
//! those of containers, such as the nodes of kind.

use std::error::Error as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use kubelet_process::{Found, KubeletProcess, MountNamespace, NoArguments, PidNamespace};
use node_config::KubeletFlags;

use crate::configuration::drop_ins;
use crate::found_config::FoundConfig;
use crate::inside::inside;
use crate::kubelet_version::KubeletVersion;
use crate::packed::{Gap, Running};
use crate::pod_names::OWN;

/// So many of several kubelets are named.
const SHOWN: usize = 8;
/// The most bytes of a configuration file.
const MAX_CONFIG: u64 = 3 << 20;

/// What a look for the kubelet of a machine has found.
pub(crate) struct Search {
    pub(crate) kubelet: Option<RunningKubelet>,
    pub(crate) running: Running,
    /// Why the usual places are looked at although a kubelet may run, or what is not known of the one that does, as text to be
    /// shown.
    pub(crate) note: Option<String>,
}

/// A kubelet that runs.
pub(crate) struct RunningKubelet {
    process: KubeletProcess,
    flags: Result<KubeletFlags, String>,
}

impl Search {
    /// Looks for the kubelet with this process id, or without one for the only one.
    ///
    /// # Errors
    /// No kubelet has that process id.
    pub(crate) fn new(root: &Path, pid: Option<u32>) -> anyhow::Result<Self> {
        let found = kubelet_process::find(root);
        if let Some(pid) = pid {
            return Ok(Self::of(chosen(found.context("--kubelet-pid")?, pid)?));
        }
        let Found { kubelets, not_seen } = match found {
            Ok(found) => found,
            Err(error) => {
                return Ok(Self::none(Running::NotKnown, Some(format!("{:#}", anyhow::Error::from(error)))));
            }
        };
        let own = nix::unistd::geteuid().as_raw();
        let (mut kubelets, others): (Vec<_>, Vec<_>) = kubelets
            .into_iter()
            .partition(|kubelet| kubelet.user.is_none_or(|user| user == 0 || user == own));
        let is_own = |kubelet: &KubeletProcess| {
            kubelet.mount_namespace != MountNamespace::Other && kubelet.pid_namespace != PidNamespace::Below
        };
        if kubelets.len() > 1 && kubelets.iter().filter(|kubelet| is_own(kubelet)).count() == 1 {
            kubelets.retain(is_own);
        }
        let is_machine = root.join("proc/1").exists();
        Ok(match kubelets.len() {
            0 if !others.is_empty() => Self::none(
                Running::NotKnown,
                Some(format!(
                    "process {} looks like a kubelet and is another user's, so it is not taken for the node's; --kubelet-pid \
                     takes it",
                    pids(others.iter().map(|kubelet| kubelet.pid))
                )),
            ),
            0 if not_seen.is_none() && is_machine => Self::none(Running::No, None),
            0 => Self::none(
                Running::NotKnown,
                not_seen.map(|why| format!("whether a kubelet runs is not known: {why}")),
            ),
            1 => kubelets.pop().map_or_else(|| Self::none(Running::No, None), Self::of),
            count => Self::none(
                Running::NotKnown,
                Some(format!(
                    "{count} kubelets run here, as processes {}; --kubelet-pid chooses one, without it the usual places are \
                     looked at",
                    pids(kubelets.iter().map(|kubelet| kubelet.pid))
                )),
            ),
        })
    }

    fn of(process: KubeletProcess) -> Self {
        let mut note = None;
        let flags = match &process.arguments {
            Ok(arguments) => KubeletFlags::parse(arguments.iter().map(String::as_str))
                .map_err(|error| format!("its command line keeps a kubelet from starting: {error}")),
            // Its drop-ins have what it gives its kubelet itself.
            Err(hidden @ NoArguments::Hidden { .. }) if process.default_config_dir().is_some() => {
                note = Some(format!("{hidden}: its --kubelet-arg are not known here"));
                Ok(KubeletFlags::default())
            }
            Err(error) => Err(match error.source() {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            }),
        };
        Self { kubelet: Some(RunningKubelet { process, flags }), running: Running::Yes, note }
    }

    const fn none(running: Running, note: Option<String>) -> Self {
        Self { kubelet: None, running, note }
    }
}

fn chosen(found: Found, pid: u32) -> anyhow::Result<KubeletProcess> {
    let there = pids(found.kubelets.iter().map(|kubelet| kubelet.pid));
    let chosen = found.kubelets.into_iter().find(|kubelet| kubelet.pid == pid);
    match (chosen, there.as_str(), found.not_seen) {
        (Some(kubelet), ..) => Ok(kubelet),
        (None, "", None) => bail!("--kubelet-pid: process {pid} is no kubelet, and none runs here"),
        (None, "", Some(why)) => bail!("--kubelet-pid: process {pid} is no kubelet that is seen here: {why}"),
        (None, there, _) => bail!("--kubelet-pid: process {pid} is no kubelet; kubelets here: {there}"),
    }
}

/// Process ids as a line has room for them.
fn pids(pids: impl Iterator<Item = u32>) -> String {
    let all: Vec<String> = pids.map(|pid| pid.to_string()).collect();
    match all.split_at_checked(SHOWN) {
        Some((first, [_, ..])) => format!("{} and {} more", first.join(", "), all.len() - SHOWN),
        _ => all.join(", "),
    }
}

impl RunningKubelet {
    /// A path of the kubelet's as it is seen here.
    pub(crate) fn below(&self, path: &str) -> PathBuf {
        inside(&self.process.files, path)
    }

    /// Its root folder.
    pub(crate) fn root_dir(&self) -> PathBuf {
        self.below(self.named_root().unwrap_or(OWN))
    }

    /// That its root folder is not known, since it is relative, as text to be shown.
    pub(crate) fn relative_root(&self) -> Option<String> {
        let root = self.named_root().filter(|root| !root.starts_with('/'))?;
        Some(format!(
            "what runs on this node is not known: --root-dir {root} is relative to the folder that the kubelet with PID {} was \
             started in; --state names it",
            self.process.pid
        ))
    }

    fn named_root(&self) -> Option<&str> {
        self.flags.as_ref().ok().and_then(KubeletFlags::root_dir)
    }

    /// Its release, as its executable has it.
    pub(crate) fn release(&self) -> Option<KubeletVersion> {
        KubeletVersion::of_executable(self.process.release.as_deref()?)
    }

    /// Its configuration: the file and the drop-ins that its command line names, with its flags over them.
    pub(crate) fn config(&self) -> Result<Option<FoundConfig>, Gap> {
        let pid = self.process.pid;
        let failed = |why: &dyn std::fmt::Display| {
            Gap::Config(format!(
                "the configuration of the kubelet that runs as process {pid} is not known: {why}; --config names it"
            ))
        };
        let flags = self.flags.as_ref().map_err(|why| failed(why))?;
        let mut texts = Vec::new();
        let mut names = Vec::new();
        if let Some(path) = flags.config() {
            texts.push((path.to_owned(), self.read(path).map_err(|error| failed(&format!("{error:#}")))?));
            names.push(path.to_owned());
        }
        if let Some(folder) = self.config_dir() {
            let paths = self.drop_ins(&folder).map_err(|error| failed(&format!("{error:#}")))?;
            if !paths.is_empty() {
                let drop_ins = if paths.len() == 1 { "drop-in" } else { "drop-ins" };
                names.push(format!("{} {drop_ins} of {folder}", paths.len()));
            }
            for path in paths {
                let text = self.read(&path).map_err(|error| failed(&format!("{error:#}")))?;
                texts.push((path, text));
            }
        }
        let overriding: Vec<&str> = flags.overriding().collect();
        match overriding.as_slice() {
            [] => {}
            [flag] => names.push(format!("flag {flag}")),
            many if many.len() <= 3 => names.push(format!("flags {}", many.join(", "))),
            many => names.push(format!("{} flags", many.len())),
        }
        if names.is_empty() {
            names.push("kubelet defaults".to_owned());
        }
        let name = format!("{} of the kubelet with PID {pid}", names.join(" with "));
        Ok(Some(FoundConfig::of_flags(name, texts, flags.clone())))
    }

    /// That a file of its configuration has changed since it started, as text to be shown; `None`: none has.
    pub(crate) fn changed_since(&self) -> Option<String> {
        let started = self.process.started?;
        let flags = self.flags.as_ref().ok()?;
        let folder = self.config_dir().and_then(|folder| self.drop_ins(&folder).ok()).unwrap_or_default();
        let paths = flags.config().map(str::to_owned).into_iter().chain(folder);
        let is_newer = |path: &String| {
            let changed = self.process.open(Path::new(path)).ok()?.metadata().ok()?.modified().ok()?;
            // The start is exact to a second.
            (changed > started.checked_add(Duration::from_secs(2))?).then_some(())
        };
        let newer: Vec<String> = paths.filter(|path| is_newer(path).is_some()).collect();
        let (have, they) = if newer.len() == 1 { ("was", "it") } else { ("were", "they") };
        (!newer.is_empty()).then(|| {
            format!(
                "{} {have} changed after the kubelet with PID {} had started: it runs with what {they} had before, and what \
                 is decided here is what it does after its next start",
                newer.join(", "),
                self.process.pid
            )
        })
    }

    fn config_dir(&self) -> Option<String> {
        let named = self.flags.as_ref().ok().and_then(KubeletFlags::config_dir).map(str::to_owned);
        named.or_else(|| {
            // Releases of k3s without drop-ins have no such folder.
            let folder = self.process.default_config_dir()?.display().to_string();
            self.below(&folder).is_dir().then_some(folder)
        })
    }

    /// The paths of drop-ins, as the kubelet sees them, in the order in which it reads them.
    fn drop_ins(&self, folder: &str) -> anyhow::Result<Vec<String>> {
        ensure!(
            folder.starts_with('/'),
            "{folder} is relative to the folder that the kubelet was started in"
        );
        let here = self.below(folder);
        let mut files = Vec::new();
        drop_ins(&here, &mut files).with_context(|| format!("failed to read folder {folder}"))?;
        let seen = |path: PathBuf| {
            Some(Path::new(folder).join(path.strip_prefix(&here).ok()?).display().to_string())
        };
        Ok(files.into_iter().filter_map(seen).collect())
    }

    fn read(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        let failed = || format!("failed to read {path}");
        ensure!(path.starts_with('/'), "{path} is relative to the folder that the kubelet was started in");
        let file = self.process.open(Path::new(path)).with_context(failed)?;
        let mut text = Vec::new();
        file.take(MAX_CONFIG + 1).read_to_end(&mut text).with_context(failed)?;
        ensure!(text.len() as u64 <= MAX_CONFIG, "{path} has more than {} MiB", MAX_CONFIG >> 20);
        Ok(text)
    }
}
