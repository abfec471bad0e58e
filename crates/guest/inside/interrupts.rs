//! Interrupts and the CPUs of partitions, as `/proc/irq` has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;

use crate::container::Container;
use crate::isolation::{fresh, is_isolated, isolated, isolating, wish, with_options};
use crate::machine::{Guest, put, settles, text};

const COUNTED: &str = "topolet_cpuset_partition_interrupts";
const MOVING: &str = "partition: isolated, interrupts: move";

/// The CPUs that may serve each interrupt which the kernel lets be moved.
fn movable() -> anyhow::Result<BTreeMap<u32, CpuSet>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc/irq").context("failed to read /proc/irq")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let cpus = text(file(number))?;
        // The kernel refuses to move others wherever they are to go.
        if put(file(number), &cpus).is_ok() {
            all.insert(number, cpus.parse()?);
        }
    }
    Ok(all)
}

fn file(number: u32) -> PathBuf {
    PathBuf::from(format!("/proc/irq/{number}/smp_affinity_list"))
}

/// Each interrupt may be served where it was before, but for these CPUs.
fn are_off(taken: &CpuSet, before: &BTreeMap<u32, CpuSet>) -> anyhow::Result<()> {
    for (number, had) in before {
        let now: CpuSet = text(file(*number))?.parse()?;
        let left = had - taken;
        let is_right = if left.is_empty() { now.is_disjoint(taken) } else { now == left };
        ensure!(is_right, "interrupt {number} is on {now}, where {had} without {taken} is right");
    }
    Ok(())
}

pub(crate) fn leave_and_come_back(guest: &Guest) -> anyhow::Result<()> {
    let root = fresh("moving");
    let node = with_options(guest, &root, MOVING)?;
    let mut before = movable()?;
    let held = node.admit(&wish(guest, "quiet"))?;
    let container = Container::start(&node, &held.pod)?;
    let own = before.values().filter(|cpus| !cpus.is_disjoint(&held.cpus)).count();
    ensure!(own > 1, "only {own} interrupts of {before:?} may be served on {}", held.cpus);
    settles("interrupts that leave", || {
        is_isolated(&container, &held)?;
        are_off(&held.cpus, &before)?;
        let left = node.metric(COUNTED)? - node.metric("topolet_cpuset_partition_unmovable_interrupts")?;
        ensure!(left == 0.0, "{left} interrupts could be moved and are still there");
        Ok(())
    })?;
    // The next daemon knows where they were, and keeps to what others have written.
    let root = node.kill()?;
    let other = *before.keys().next().context("no interrupt can be moved")?;
    put(file(other), "0")?;
    before.insert(other, "0".parse()?);
    let node = with_options(guest, &root, MOVING)?;
    settles("interrupts after a restart", || are_off(&held.cpus, &before))?;
    node.delete(&held.pod)?;
    settles("interrupts that come back", || {
        ensure!(isolated()?.is_empty(), "{} are isolated", isolated()?);
        are_off(&CpuSet::new(), &before)
    })
}

pub(crate) fn counted(guest: &Guest) -> anyhow::Result<()> {
    let before = movable()?;
    let node = isolating(guest, &fresh("counted"))?;
    let held = node.admit(&wish(guest, "counted"))?;
    let container = Container::start(&node, &held.pod)?;
    settles(&held.pod, || is_isolated(&container, &held))?;
    for number in before.keys() {
        put(file(*number), &held.cpus.to_string())?;
    }
    let counted = settles("interrupts on isolated CPUs", || {
        let (count, ready) = (node.metric(COUNTED)?, node.ready()?);
        ensure!(count > 0.0, "no interrupt is counted");
        let note = format!("CPUs {} of partitions serve {count} interrupt", held.cpus);
        ensure!(ready.contains(&note), "/readyz does not have {note:?}: {ready}");
        are_on(&held.cpus, &before)
    });
    for (number, cpus) in &before {
        put(file(*number), &cpus.to_string())?;
    }
    counted
}

/// Fails unless all interrupts are on these CPUs.
fn are_on(cpus: &CpuSet, all: &BTreeMap<u32, CpuSet>) -> anyhow::Result<()> {
    for number in all.keys() {
        let now: CpuSet = text(file(*number))?.parse()?;
        ensure!(now == *cpus, "interrupt {number} is on {now} instead of {cpus}");
    }
    Ok(())
}
