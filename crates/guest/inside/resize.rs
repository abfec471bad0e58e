//! A pod grows and shrinks under load, while another shares the rest.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use anyhow::{Context as _, anyhow, bail, ensure};
use cpuset::CpuSet;

use crate::container::Container;
use crate::machine::{Guest, put, settles, text};
use crate::node::{Node, Wish};

const OPTIONS: &str = "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ncpu: {resize: allow}\nmemory: {resize: allow}\n";

/// MiB of the pod when it is small and when it is large.
const MEMORY: [u64; 2] = [32, 64];

/// How often the pod grows and shrinks.
const ROUNDS: usize = 6;

fn written(group: &Path) -> anyhow::Result<CpuSet> {
    Ok(text(group.join("cpuset.cpus"))?.parse()?)
}

/// What the exclusive container had before and after the shared one was looked at; when both are the same it had that
/// meanwhile too.
fn looked(own: &Path, shared: &Path) -> anyhow::Result<Option<(CpuSet, CpuSet)>> {
    let before = written(own)?;
    let other = written(shared)?;
    Ok((written(own)? == before).then_some((before, other)))
}

pub(crate) fn under_load(guest: &Guest) -> anyhow::Result<()> {
    let threads = guest.shape.threads;
    let cores = guest.shape.nodes.iter().map(|node| node.cores).max().unwrap_or(0);
    // A core, and all of a node but one CPU, which can be the reserved one.
    let (small, large) = (threads, (cores * threads).saturating_sub(1));
    ensure!(small < large, "no node of this machine has room for a pod that grows");
    resized(guest, small, large)
}

fn resized(guest: &Guest, small: usize, large: usize) -> anyhow::Result<()> {
    let node = Node::fresh_with(guest, "resize", OPTIONS)?;
    node.admit(&Wish::new("shared", 100, 16))?;
    let mut shared = Container::start(&node, "shared")?;
    node.admit(&Wish::new("own", small * 1000, MEMORY[0]))?;
    let mut own = Container::start(&node, "own")?;
    for group in ["/sys/fs/cgroup", "/sys/fs/cgroup/pods"] {
        put(Path::new(group).join("cgroup.subtree_control"), "+memory")?;
    }
    put(own.group.join("memory.max"), &(MEMORY[0] << 20).to_string())?;
    for container in [&mut shared, &mut own] {
        container.ask(&format!("spin {large}"))?;
    }
    let baseline = own.cpus()?;
    let (is_over, seen) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        let watcher = scope.spawn(|| -> anyhow::Result<()> {
            while !is_over.load(Ordering::Relaxed) {
                if let Some((own, other)) = looked(&own.group, &shared.group)? {
                    ensure!(own.is_disjoint(&other), "CPUs {own} are exclusive, and shared are {other}");
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        });
        let done = (0..ROUNDS).try_for_each(|_| {
            for (cpus, memory) in [(large, MEMORY[1]), (small, MEMORY[0])] {
                let resized = node.resize("own", cpus, memory)?;
                resized.map_err(|why| anyhow!("it does not get {cpus} CPUs and {memory} MiB: {why}"))?;
                let limit = text(own.group.join("memory.max"))?;
                ensure!(limit == (memory << 20).to_string(), "it may use {limit} bytes, not {memory} MiB");
                let held = node.holdings()?;
                let held = held.iter().find(|held| held.pod == "own").context("it is not listed")?;
                settles("the pod", || {
                    let now = own.cpus()?;
                    ensure!(
                        now == held.cpus && now.len() == cpus,
                        "it runs on {now} instead of {}",
                        held.cpus
                    );
                    Ok(())
                })?;
                ensure!((&baseline - &held.cpus).is_empty(), "of {baseline} it has {}", held.cpus);
            }
            anyhow::Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        let watched = watcher.join().map_err(|_| anyhow!("the watcher has panicked"))?;
        done.and(watched)
    })?;
    in_use(&node, &mut own, large)?;
    let seen = seen.load(Ordering::Relaxed);
    ensure!(seen >= 100, "it was looked at {seen} times");
    Ok(())
}

/// What a container uses is not taken from it.
fn in_use(node: &Node, own: &mut Container, cpus: usize) -> anyhow::Result<()> {
    node.resize("own", cpus, MEMORY[1])?.map_err(|why| anyhow!("it does not grow: {why}"))?;
    own.ask(&format!("touch {}", MEMORY[0] + 4))?;
    let Err(why) = node.resize("own", cpus, MEMORY[0])? else { bail!("memory in use is taken") };
    ensure!(why.contains("below current usage"), "refused for another reason: {why}");
    let limit = text(own.group.join("memory.max"))?;
    ensure!(limit == (MEMORY[1] << 20).to_string(), "it may use {limit} bytes");
    Ok(())
}
