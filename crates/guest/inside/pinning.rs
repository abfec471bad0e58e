//! Containers run where topolet says: their CPUs, NUMA nodes and pages as the kernel lists them.

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;

use crate::container::Container;
use crate::machine::{Guest, put, settles, text};
use crate::node::{Holding, Node, Wish, disjoint};

/// One pod of a core and 32 MiB for each NUMA node with two cores or more, since one core can be reserved; four at most.
fn exclusive(guest: &Guest) -> Vec<Wish> {
    let nodes = guest.shape.nodes.iter().filter(|node| node.cores > 1);
    let wish = |(at, _)| Wish::new(&format!("exclusive{at}"), guest.shape.threads * 1000, 32);
    nodes.enumerate().take(4).map(wish).collect()
}

/// Admits pods, and starts the container of each.
fn run(node: &Node, wishes: &[Wish]) -> anyhow::Result<Vec<(Holding, Container)>> {
    let mut running = Vec::new();
    for wish in wishes {
        let held = node.admit(wish)?;
        ensure!(!held.cpus.is_empty() && !held.nodes.is_empty(), "{held:?} has no CPUs or nodes of its own");
        let container = Container::start(node, &wish.name)?;
        running.push((held, container));
    }
    disjoint(&node.holdings()?)?;
    Ok(running)
}

pub(crate) fn containers(guest: &Guest) -> anyhow::Result<()> {
    let node = Node::fresh(guest, "containers")?;
    let running = run(&node, &exclusive(guest))?;
    for (held, container) in &running {
        settles(&held.pod, || container.is_at(held))?;
    }
    Ok(())
}

pub(crate) fn touched_pages(guest: &Guest) -> anyhow::Result<()> {
    const MIB: u64 = 16;
    let node = Node::fresh(guest, "touched")?;
    for (held, mut container) in run(&node, &exclusive(guest))? {
        settles(&held.pod, || container.is_at(&held))?;
        let before = container.pages()?;
        container.ask(&format!("touch {MIB}"))?;
        let after = container.pages()?;
        let mut own = 0;
        for (id, bytes) in after {
            let grown = bytes.saturating_sub(before.get(&id).copied().unwrap_or(0));
            let is_own = held.nodes.contains(id_of(id)?);
            own += if is_own { grown } else { 0 };
            ensure!(is_own || grown < 1 << 20, "{grown} bytes of {held:?} are on node {id}");
        }
        ensure!(own >= MIB << 20, "only {own} bytes of {held:?} are on its nodes");
    }
    Ok(())
}

fn id_of(node: usize) -> anyhow::Result<cpuset::CpuId> {
    Ok(cpuset::CpuId::new(node)?)
}

pub(crate) fn huge_pages(guest: &Guest) -> anyhow::Result<()> {
    const PAGES: u64 = 4;
    let count = guest.shape.nodes.len();
    let free = || -> anyhow::Result<Vec<u64>> {
        let file =
            |id| format!("/sys/devices/system/node/node{id}/hugepages/hugepages-2048kB/free_hugepages");
        (0..count).map(|id| Ok(text(file(id))?.parse()?)).collect()
    };
    let node = Node::fresh(guest, "huge")?;
    for mut wish in exclusive(guest) {
        wish.huge_pages = PAGES;
        for (held, mut container) in run(&node, &[wish])? {
            settles(&held.pod, || container.is_at(&held))?;
            let before = free()?;
            container.ask(&format!("huge {PAGES}"))?;
            let taken: Vec<u64> = before.iter().zip(free()?).map(|(before, after)| before - after).collect();
            for (id, pages) in taken.iter().enumerate() {
                ensure!(*pages == 0 || held.nodes.contains(id_of(id)?), "{held:?} took huge pages {taken:?}");
            }
            ensure!(taken.iter().sum::<u64>() == PAGES, "{held:?} took huge pages {taken:?}");
        }
    }
    Ok(())
}

/// Exclusive pods come and go while a pod shares CPUs.
pub(crate) fn shared_pool(guest: &Guest) -> anyhow::Result<()> {
    let all = guest.all_cpus()?;
    let node = Node::fresh(guest, "shared")?;
    node.admit(&Wish::new("shared", 100, 16))?;
    let shared = Container::start(&node, "shared")?;
    let leaves = |held: &[Holding]| -> anyhow::Result<()> {
        let taken = held.iter().fold(CpuSet::new(), |sum, own| &sum | &own.cpus);
        let cpus = shared.cpus()?;
        ensure!(cpus == &all - &taken, "the shared pod runs on {cpus} while exclusive ones hold {taken}");
        Ok(())
    };
    settles("the shared pod", || leaves(&[]))?;
    let mut names = Vec::new();
    for wish in exclusive(guest) {
        node.admit(&wish)?;
        names.push(wish.name);
        let held = node.holdings()?;
        disjoint(&held)?;
        settles("the shared pod", || leaves(&held))?;
    }
    for name in names {
        node.delete(&name)?;
    }
    settles("the shared pod", || leaves(&[]))
}

/// A cpuset is widened behind topolet's back, and topolet puts it right.
pub(crate) fn drift(guest: &Guest) -> anyhow::Result<()> {
    let all = guest.all_cpus()?;
    let node = Node::fresh(guest, "drift")?;
    for (held, container) in run(&node, &exclusive(guest))? {
        settles(&held.pod, || container.is_at(&held))?;
        put(container.group.join("cpuset.cpus"), &all.to_string())?;
        ensure!(container.cpus()? == all, "the kernel did not take the wider cpuset");
        settles(&held.pod, || container.is_at(&held))?;
    }
    Ok(())
}

/// An exclusive CPU goes offline, which is logged, and comes back to its owner.
pub(crate) fn offline(guest: &Guest) -> anyhow::Result<()> {
    let node = Node::fresh(guest, "offline")?;
    let wish =
        Wish::new("offline", 2 * guest.shape.threads.min(guest.shape.cpus() / 2 - 1).max(1) * 1000, 32);
    let (held, container) = run(&node, &[wish])?.pop().context("one pod")?;
    settles(&held.pod, || container.is_at(&held))?;
    let cpu = held.cpus.iter().last().context("it has CPUs")?;
    let online = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    put(&online, "0")?;
    let left = &held.cpus - &CpuSet::from_iter([cpu]);
    let seen = settles("a container without one CPU", || {
        ensure!(container.cpus()? == left, "it runs on {}", container.cpus()?);
        ensure!(node.log().contains("in effect"), "topolet does not log it: {}", node.log());
        ensure!(node.holdings()? == [held.clone()], "its pod holds {:?}", node.holdings()?);
        Ok(())
    });
    put(&online, "1")?;
    seen?;
    settles(&held.pod, || container.is_at(&held))
}
