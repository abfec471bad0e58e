//! The guest's machine: what QEMU was asked for, and what its kernel says; and helpers that all tests use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cpuset::CpuSet;
use serde_json::Value;

use crate::shape::Shape;
use crate::tests::Phase;

/// The arguments of every test.
pub(crate) struct Guest {
    /// The machine that QEMU was asked for.
    pub(crate) shape: Shape,
    pub(crate) phase: Phase,
    /// Only tests whose names contain one of these, which commas separate.
    pub(crate) test: Option<String>,
    pub(crate) wrong_cpusets: bool,
}

impl Guest {
    /// From the kernel's command line and the files beside the program.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let shape = fs::read_to_string("/shape.json").context("failed to read /shape.json")?;
        let phase = match Self::parameter("phase")?.as_deref() {
            // A guest with a kubelet has one boot.
            Some("First") | None => Phase::First,
            Some("AfterPowerLoss") => Phase::AfterPowerLoss,
            Some("LessMemory") => Phase::LessMemory,
            other => bail!("there is no phase {other:?}"),
        };
        Ok(Self {
            shape: serde_json::from_str(&shape).context("/shape.json is no machine")?,
            phase,
            test: Self::parameter("test")?,
            wrong_cpusets: Self::parameter("wrong")?.as_deref() == Some("cpusets"),
        })
    }

    /// The value of `guest.NAME=` on the kernel's command line.
    pub(crate) fn parameter(name: &str) -> anyhow::Result<Option<String>> {
        let line = text("/proc/cmdline")?;
        let mut words = line.split_whitespace();
        Ok(words.find_map(|word| word.strip_prefix(&format!("guest.{name}="))).map(str::to_owned))
    }

    /// All CPUs of the machine.
    pub(crate) fn all_cpus(&self) -> anyhow::Result<CpuSet> {
        Ok(format!("0-{}", self.shape.cpus() - 1).parse()?)
    }

    /// CPUs by node and core, as the kernel numbers them: package by package, in each by node, core and thread.
    pub(crate) fn cores(&self) -> Vec<Vec<Vec<usize>>> {
        let (nodes, threads) = (&self.shape.nodes, self.shape.threads);
        let mut cores = vec![Vec::new(); nodes.len()];
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&node| nodes[node].package);
        let mut next = 0;
        for node in order {
            for _ in 0..nodes[node].cores {
                cores[node].push((next..next + threads).collect());
                next += threads;
            }
        }
        cores
    }

    /// The CPUs of a node.
    pub(crate) fn cpus_of(&self, node: usize) -> anyhow::Result<CpuSet> {
        let own: Vec<String> = self.cores()[node].iter().flatten().map(ToString::to_string).collect();
        Ok(own.join(",").parse()?)
    }

    /// A kubelet configuration that pins on this machine. CPU 0, and 32 MiB of each node, are reserved for the system.
    pub(crate) fn configuration(&self) -> String {
        let nodes: Vec<usize> =
            (0..self.shape.nodes.len()).filter(|&node| self.shape.nodes[node].memory > 0).collect();
        let reserved: String =
            nodes.iter().map(|node| format!("- {{numaNode: {node}, limits: {{memory: 32Mi}}}}\n")).collect();
        format!(
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nreservedSystemCPUs: \"0\"\n\
             cpuManagerPolicy: static\ncpuManagerReconcilePeriod: 1s\nmemoryManagerPolicy: Static\n\
             topologyManagerPolicy: restricted\nevictionHard: {{memory.available: 16Mi}}\n\
             systemReserved: {{memory: {}Mi}}\nreservedMemory:\n{reserved}",
            32 * nodes.len() - 16
        )
    }
}

/// Runs topolet to its end, and returns what it prints.
///
/// # Errors
/// It fails; the error has its messages.
pub(crate) fn topolet(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("/bin/topolet").args(arguments).output().context("failed to start topolet")?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "topolet {} ended with {}: {error}", arguments.join(" "), output.status);
    String::from_utf8(output.stdout).context("topolet printed no text")
}

/// The same, parsed as JSON.
pub(crate) fn json(arguments: &[&str]) -> anyhow::Result<Value> {
    json_of_line(&topolet(arguments)?)
}

/// Parses JSON from a program or a file.
pub(crate) fn json_of_line(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).with_context(|| format!("this is no JSON: {text}"))
}

/// The text of a file of the kernel, without the end of its last line.
pub(crate) fn text(path: impl AsRef<Path>) -> anyhow::Result<String> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(text.trim_end().to_owned())
}

/// Writes to a file of the kernel.
pub(crate) fn put(path: impl AsRef<Path>, text: &str) -> anyhow::Result<()> {
    let path = path.as_ref();
    fs::write(path, text).with_context(|| format!("failed to write {text} to {}", path.display()))
}

/// The device file of the disk with this serial number, since the kernel numbers disks in any order. Waits up to 20 s for it.
pub(crate) fn disk(serial: &str) -> Option<PathBuf> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        for entry in fs::read_dir("/sys/block").ok()?.flatten() {
            if text(entry.path().join("device/serial")).is_ok_and(|own| own.trim() == serial) {
                return Some(Path::new("/dev").join(entry.file_name()));
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    None
}

/// How long something may take to become true.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it then has to stay true.
const STEADY: Duration = Duration::from_millis(1500);

/// Waits until `check` has passed for [`STEADY`] without a break.
///
/// # Errors
/// `check` fails after [`PATIENCE`]; its last error.
pub(crate) fn settles(what: &str, mut check: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut fine_since = None;
    loop {
        match check() {
            Ok(()) => {
                let since = *fine_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= STEADY {
                    return Ok(());
                }
            }
            Err(error) if began.elapsed() > PATIENCE => {
                return Err(error.context(format!("{what} never settles")));
            }
            Err(_) => fine_since = None,
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A thread that widens the cpusets of all containers again and again: beside it the tests of pinning have to fail.
pub(crate) struct WrongWrites(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl WrongWrites {
    pub(crate) fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !other.load(Ordering::Relaxed) {
                for group in containers() {
                    if let Ok(all) = text("/sys/devices/system/cpu/online") {
                        let _ = fs::write(group.join("cpuset.cpus"), all);
                    }
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Self(ends, Some(thread))
    }
}

impl Drop for WrongWrites {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}

/// The cgroups of containers: those two levels below the root.
fn containers() -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect()
    };
    below(Path::new("/sys/fs/cgroup")).iter().flat_map(|group| below(group)).collect()
}
