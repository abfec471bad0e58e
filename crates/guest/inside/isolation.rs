//! CPUs of a container on which no other process runs, as the kernel counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;

use crate::container::Container;
use crate::machine::{Guest, put, settles, text};
use crate::node::{Holding, Node, Wish};

const GROUPS: &str = "/sys/fs/cgroup";
const OPTIONS: &str = "/etc/topolet.yaml";

/// Processes in no container that the scheduler may put on every CPU.
struct Tickers(Vec<Child>);

impl Tickers {
    fn start(count: usize) -> anyhow::Result<Self> {
        let start = |_| Command::new("/init").arg("tick").spawn();
        Ok(Self((0..count).map(start).collect::<Result<_, _>>().context("failed to start")?))
    }
}

impl Drop for Tickers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A daemon whose exclusive CPUs are isolated.
pub(crate) fn isolating(guest: &Guest, root: &Path) -> anyhow::Result<Node> {
    with_options(guest, root, "partition: isolated")
}

/// A daemon with these options of `cgroup`.
pub(crate) fn with_options(guest: &Guest, root: &Path, cgroup: &str) -> anyhow::Result<Node> {
    let options =
        format!("apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ncgroup: {{{cgroup}}}\n");
    fs::create_dir_all(root).with_context(|| format!("failed to make {}", root.display()))?;
    fs::write(OPTIONS, options).with_context(|| format!("failed to write {OPTIONS}"))?;
    Node::start_with(guest, root, &["--topolet-config", OPTIONS])
}

pub(crate) fn fresh(name: &str) -> PathBuf {
    let root = Path::new("/run/nodes").join(name);
    let _ = fs::remove_dir_all(&root);
    root
}

pub(crate) fn wish(guest: &Guest, name: &str) -> Wish {
    Wish::new(name, guest.shape.threads * 1000, 32)
}

/// What the scheduler says of these CPUs: how long tasks have run on them, and in how many domains they are.
fn scheduled(cpus: &CpuSet) -> anyhow::Result<(Duration, usize)> {
    let (mut time, mut domains, mut is_own) = (Duration::ZERO, 0, false);
    for line in text("/proc/schedstat")?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(cpu) = words.first().and_then(|word| word.strip_prefix("cpu")) {
            is_own = cpus.contains(cpuset::CpuId::new(cpu.parse()?)?);
            let ran = words.get(7).context("the kernel does not count time")?.parse()?;
            time += if is_own { Duration::from_nanos(ran) } else { Duration::ZERO };
        } else if is_own && line.starts_with("domain") {
            domains += 1;
        }
    }
    Ok((time, domains))
}

/// Which part of the time tasks run on these CPUs.
fn share(cpus: &CpuSet, during: Duration) -> anyhow::Result<f64> {
    let before = scheduled(cpus)?.0;
    std::thread::sleep(during);
    let ran = scheduled(cpus)?.0.saturating_sub(before);
    Ok(ran.as_secs_f64() / during.as_secs_f64() / f64::from(u32::try_from(cpus.len())?))
}

pub(crate) fn isolated() -> anyhow::Result<CpuSet> {
    Ok(text(format!("{GROUPS}/cpuset.cpus.isolated"))?.parse()?)
}

pub(crate) fn is_isolated(container: &Container, held: &Holding) -> anyhow::Result<()> {
    let says = text(container.group.join("cpuset.cpus.partition"))?;
    ensure!(says == "isolated", "the partition of {} is {says}", held.pod);
    ensure!(held.cpus.is_subset(&isolated()?), "{} of {held:?} are isolated", isolated()?);
    container.is_at(held)
}

pub(crate) fn nothing_else_runs(guest: &Guest) -> anyhow::Result<()> {
    const LEAST: f64 = 0.02;
    const MOST: f64 = 0.005;
    // Twice as many as CPUs, each for a tenth of the time.
    let tickers = || Tickers::start(2 * guest.shape.cpus());
    let node = Node::fresh(guest, "pinned")?;
    let held = node.admit(&wish(guest, "pinned"))?;
    let running = tickers()?;
    let container = Container::start(&node, &held.pod)?;
    settles(&held.pod, || container.is_at(&held))?;
    let others = share(&held.cpus, Duration::from_secs(2))?;
    ensure!(others > LEAST, "others ran on {} for {others:.4} of the time, although they may", held.cpus);
    drop((running, container, node));

    let node = isolating(guest, &fresh("isolated"))?;
    let held = node.admit(&wish(guest, "isolated"))?;
    let _running = tickers()?;
    let container = Container::start(&node, &held.pod)?;
    settles(&held.pod, || is_isolated(&container, &held))?;
    let (_, domains) = scheduled(&held.cpus)?;
    ensure!(domains == 0, "isolated CPUs {} are in {domains} scheduling domains", held.cpus);
    let others = share(&held.cpus, Duration::from_secs(10))?;
    ensure!(others < MOST, "others ran on isolated CPUs {} for {others:.4} of the time", held.cpus);
    node.delete(&held.pod)?;
    settles("the end of isolation", || {
        ensure!(isolated()?.is_empty(), "{} are isolated", isolated()?);
        Ok(())
    })?;
    let others = share(&held.cpus, Duration::from_secs(2))?;
    ensure!(others > LEAST, "others ran on released CPUs {} for {others:.4} of the time", held.cpus);
    Ok(())
}

pub(crate) fn outlives(guest: &Guest) -> anyhow::Result<()> {
    let all = guest.all_cpus()?;
    let above = Path::new(GROUPS).join("pods");
    // Another program's cgroup with every CPU, beside those of containers.
    let other = above.join("other");
    fs::create_dir_all(&other).with_context(|| format!("failed to make {}", other.display()))?;
    let root = fresh("partitions");
    let node = isolating(guest, &root)?;
    node.admit(&Wish::new("shared", 100, 16))?;
    let shared = Container::start(&node, "shared")?;
    put(other.join("cpuset.cpus"), &all.to_string())?;
    let held = node.admit(&wish(guest, "partition"))?;
    let container = Container::start(&node, &held.pod)?;
    let invalid = settles("an invalid partition", || {
        let says = text(container.group.join("cpuset.cpus.partition"))?;
        ensure!(says.starts_with("isolated invalid ("), "the partition is {says}");
        let log = node.log();
        ensure!(log.contains(&says), "the log does not have {says:?}: {log}");
        ensure!(log.matches(&says).count() == 1, "it is said more than once: {log}");
        let faults = node.metric("topolet_cpuset_partition_faults_total")?;
        ensure!((faults - 1.0).abs() < f64::EPSILON, "{faults} faults are counted");
        let invalid = node.metric("topolet_cpuset_invalid_partitions")?;
        ensure!((invalid - 1.0).abs() < f64::EPSILON, "{invalid} invalid partitions are counted");
        let ready = node.ready()?;
        ensure!(ready.contains(&says), "/readyz does not have {says:?}: {ready}");
        container.is_at(&held)
    });
    fs::remove_dir(&other).with_context(|| format!("failed to remove {}", other.display()))?;
    invalid?;
    settles(&held.pod, || {
        is_isolated(&container, &held)?;
        let (invalid, ready) = (node.metric("topolet_cpuset_invalid_partitions")?, node.ready()?);
        ensure!(invalid == 0.0 && !ready.contains("invalid"), "{invalid} are invalid: {ready}");
        Ok(())
    })?;
    let root = node.kill()?;
    is_isolated(&container, &held)?;
    let node = isolating(guest, &root)?;
    settles(&held.pod, || is_isolated(&container, &held))?;
    ensure!(shared.cpus()? == &all - &held.cpus, "the shared pod runs on {}", shared.cpus()?);
    // Released while no daemon runs: the container is gone, and what stood above it is still there.
    let root = node.kill()?;
    drop(container);
    let left: CpuSet = text(above.join("cpuset.cpus.exclusive"))?.parse()?;
    ensure!(left == held.cpus, "the cgroup above has {left} instead of {}", held.cpus);
    let node = isolating(guest, &root)?;
    node.delete(&held.pod)?;
    settles("the shared pod", || {
        let left = text(above.join("cpuset.cpus.exclusive"))?;
        ensure!(left.is_empty(), "the cgroup above has {left}");
        ensure!(isolated()?.is_empty(), "{} are isolated", isolated()?);
        ensure!(shared.cpus()? == all, "the shared pod runs on {}", shared.cpus()?);
        Ok(())
    })
}
