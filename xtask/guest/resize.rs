//! A pod grows and shrinks under load, while another shares the rest.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;

use crate::container::Container;
use crate::machine::{Guest, settles, text};
use crate::node::{Node, Wish};

const OPTIONS: &str = "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ncpu: {resize: allow}\n";

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
    node.admit(&Wish::new("own", small * 1000, 32))?;
    let mut own = Container::start(&node, "own")?;
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
            for cpus in [large, small] {
                node.resize("own", cpus)?;
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
        let watched = watcher.join().map_err(|_| anyhow::anyhow!("the watcher has panicked"))?;
        done.and(watched)
    })?;
    let seen = seen.load(Ordering::Relaxed);
    ensure!(seen >= 100, "it was looked at {seen} times");
    Ok(())
}
