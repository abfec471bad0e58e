//! A container as far as the kernel knows one: a process in a cgroup.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;

use crate::machine::{put, text};
use crate::node::{Holding, Node};
use crate::worker::Seen;

/// A running container; killed when it is dropped.
pub(crate) struct Container {
    pub(crate) group: PathBuf,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Container {
    /// Starts a pod's container in a new cgroup, and reports it to the daemon.
    pub(crate) fn start(node: &Node, pod: &str) -> anyhow::Result<Self> {
        let group = Path::new("/sys/fs/cgroup/pods").join(pod);
        fs::create_dir_all(&group).with_context(|| format!("failed to make {}", group.display()))?;
        let mut command = Command::new("/init");
        let mut child = command
            .arg("work")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start")?;
        put(group.join("cgroup.procs"), &child.id().to_string())?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        node.started(pod, child.id())?;
        Ok(Self { group, child, input, output })
    }

    /// The CPUs that its process may run on, as the kernel says.
    pub(crate) fn cpus(&self) -> anyhow::Result<CpuSet> {
        self.allowed("Cpus_allowed_list:")
    }

    /// The NUMA nodes that its process may take memory of, as the kernel says.
    pub(crate) fn nodes(&self) -> anyhow::Result<CpuSet> {
        self.allowed("Mems_allowed_list:")
    }

    fn allowed(&self, field: &str) -> anyhow::Result<CpuSet> {
        let status = text(format!("/proc/{}/status", self.child.id()))?;
        let line =
            status.lines().find_map(|line| line.strip_prefix(field)).context("the field is missing")?;
        Ok(line.trim().parse()?)
    }

    /// Checks that the process is allowed exactly the CPUs and NUMA nodes that its pod holds.
    pub(crate) fn is_at(&self, held: &Holding) -> anyhow::Result<()> {
        let (cpus, nodes) = (self.cpus()?, self.nodes()?);
        ensure!(cpus == held.cpus, "{} runs on CPUs {cpus} instead of {}", held.pod, held.cpus);
        ensure!(nodes == held.nodes, "{} has nodes {nodes} instead of {}", held.pod, held.nodes);
        Ok(())
    }

    /// Sends the process a command of [`crate::worker::work`], and waits until it is done.
    pub(crate) fn ask(&mut self, what: &str) -> anyhow::Result<()> {
        let answer = self.answer(what)?;
        ensure!(answer == "done", "the container cannot {what}: {answer}");
        Ok(())
    }

    /// What the process has seen of itself since it was asked last.
    pub(crate) fn seen(&mut self) -> anyhow::Result<Seen> {
        let answer = self.answer("seen")?;
        serde_json::from_str(&answer).with_context(|| format!("the container has seen {answer}"))
    }

    fn answer(&mut self, what: &str) -> anyhow::Result<String> {
        writeln!(self.input, "{what}").context("the container has ended")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).context("the container has ended")?;
        Ok(answer.trim().to_owned())
    }

    /// Bytes of the process's own memory by NUMA node, as `numa_maps` says.
    pub(crate) fn pages(&self) -> anyhow::Result<BTreeMap<usize, u64>> {
        let maps = text(format!("/proc/{}/numa_maps", self.child.id()))?;
        let mut bytes = BTreeMap::new();
        for line in maps.lines().filter(|line| line.contains(" anon=")) {
            let words = || line.split_whitespace().filter_map(|word| word.split_once('='));
            let size = words()
                .find(|(name, _)| *name == "kernelpagesize_kB")
                .and_then(|(_, size)| size.parse().ok());
            let size: u64 = size.unwrap_or(4);
            for (name, count) in words() {
                if let Some(node) = name.strip_prefix('N').and_then(|node| node.parse().ok()) {
                    *bytes.entry(node).or_default() += count.parse::<u64>()? * size * 1024;
                }
            }
        }
        Ok(bytes)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = fs::remove_file(format!("/dev/hugepages/{}", self.child.id()));
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir(&self.group);
    }
}
