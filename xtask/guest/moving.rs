//! A pod that runs is moved to another NUMA node so that a larger one fits.

use std::collections::BTreeSet;

use anyhow::ensure;
use cpuset::{CpuId, CpuSet};

use crate::container::Container;
use crate::machine::{Guest, settles};
use crate::node::{Node, Wish, disjoint};
use crate::worker::Seen;

/// Memory of the pod that moves, which it writes all the time, in MiB.
const WATCHED: u64 = 16;

/// The process of the pod that moves looks at its own CPUs and pages throughout. It never runs on a CPU of a pod that stays,
/// nor on one of the new pod once that one's container runs; its pages go with it and keep what they hold.
pub(crate) fn live(guest: &Guest) -> anyhow::Result<()> {
    let nodes: Vec<usize> =
        (0..guest.shape.nodes.len()).filter(|node| guest.shape.nodes[*node].cores > 0).collect();
    let cpus: Vec<usize> =
        nodes.iter().map(|node| guest.shape.nodes[*node].cores * guest.shape.threads).collect();
    // On the first node a CPU is the system's, one stays taken, and the rest is for the pod that moves.
    let [first, .., last] = cpus[..] else { return Ok(()) };
    let Some(room) = first.checked_sub(2).filter(|room| *room > 0 && *room < last) else { return Ok(()) };
    let node = Node::fresh(guest, "moving")?;
    let small = |name: &str, cpus: usize| Wish::new(name, cpus * 1000, 32);
    let stays = node.admit(&small("stays", 1))?;
    let staying = Container::start(&node, "stays")?;
    node.admit(&small("filler", room))?;
    for (at, cpus) in cpus[1..cpus.len() - 1].iter().enumerate() {
        node.admit(&small(&format!("between{at}"), *cpus))?;
    }
    let before = node.admit(&Wish { is_live: true, memory: 2 * WATCHED, ..small("moves", room) })?;
    node.delete("filler")?;
    let mut moving = Container::start(&node, "moves")?;
    settles("moves", || moving.is_at(&before))?;
    moving.ask(&format!("watch {WATCHED}"))?;
    let mut looked = 0;
    settles("watching", || {
        looked += moving.seen()?.looks;
        ensure!(looked > 2, "it has looked {looked} times");
        Ok(())
    })?;
    let _ = moving.seen()?;

    let moved = node.repack(&small("large", last))?;
    ensure!(moved.len() == 1 && moved[0]["pod"] == "default/moves", "others have moved: {moved:?}");
    ensure!(moved[0]["manner"] == "live", "it has to be restarted: {moved:?}");
    let (after, large) = (node.holding("moves")?, node.holding("large")?);
    disjoint(&node.holdings()?)?;
    ensure!(after.cpus.is_disjoint(&before.cpus), "{after:?} was {before:?}");
    let larger = Container::start(&node, "large")?;
    // From here on the new pod's container is where it belongs.
    let meanwhile = moving.seen()?;
    within(&meanwhile, &[&before.cpus, &after.cpus])?;
    settles("moves", || moving.is_at(&after))?;
    settles("large", || larger.is_at(&large))?;
    settles("its pages", || pages_are_on(&moving, &after.nodes))?;
    let since = moving.seen()?;
    ensure!(since.looks > 0, "it has not looked since");
    within(&since, &[&after.cpus])?;
    staying.is_at(&stays)
}

/// A process was on these CPUs only, could not have been on others, and its memory was as it had written it.
fn within(seen: &Seen, allowed: &[&CpuSet]) -> anyhow::Result<()> {
    let all = allowed.iter().fold(CpuSet::new(), |all, cpus| &all | cpus);
    let on: CpuSet = seen.on.iter().map(|cpu| CpuId::new(*cpu)).collect::<Result<_, _>>()?;
    ensure!((&on - &all).is_empty(), "it ran on CPUs {on}: {seen:?}");
    let lists: BTreeSet<String> = allowed.iter().map(ToString::to_string).collect();
    ensure!(seen.allowed.is_subset(&lists), "it could run elsewhere than on {lists:?}: {seen:?}");
    ensure!(seen.wrong_pages == 0, "pages were not as it had written them: {seen:?}");
    Ok(())
}

/// The memory that a process writes is on these nodes; a little of its own may be elsewhere, such as that of its program.
fn pages_are_on(container: &Container, nodes: &CpuSet) -> anyhow::Result<()> {
    let pages = container.pages()?;
    let on: CpuSet = pages.keys().map(|node| CpuId::new(*node)).collect::<Result<_, _>>()?;
    let is_own = |node: usize| CpuId::new(node).is_ok_and(|node| nodes.contains(node));
    let own: u64 = pages.iter().filter(|(node, _)| is_own(**node)).map(|(_, bytes)| bytes).sum();
    let others = pages.values().sum::<u64>() - own;
    ensure!(own >= WATCHED << 20, "its pages are on nodes {on}: {pages:?}");
    ensure!(others < 1 << 20, "pages are elsewhere than on nodes {nodes}: {pages:?}");
    Ok(())
}
