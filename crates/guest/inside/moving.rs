//! A pod that runs is moved to another NUMA node so that a larger one fits.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use cpuset::{CpuId, CpuSet};

use crate::container::Container;
use crate::isolation;
use crate::machine::{Guest, settles};
use crate::node::{Holding, Node, Wish, disjoint};
use crate::worker::Seen;

/// Memory of the pod that moves, which it writes all the time, in MiB.
const WATCHED: u64 = 16;
/// How often the daemon is killed without `--kills`.
const KILLS: usize = 3;
/// After so many kills there is a line, so that a guest that hangs has shown how far it came.
const STRETCH: usize = 10;

/// Pods that leave room for a large one only if another one moves from the last NUMA node to the first.
struct Scene {
    /// CPUs that are free on the first node: as many as the pod that moves has.
    room: usize,
    /// CPUs of each node between the first and the last; pods fill these nodes.
    between: Vec<usize>,
    /// CPUs of the last node, all of which the large pod asks for.
    last: usize,
}

/// The two pods whose containers run before the move.
struct Running {
    stays: Holding,
    staying: Container,
    before: Holding,
    moving: Container,
}

impl Scene {
    /// `None`: the machine is too small.
    fn new(guest: &Guest) -> Option<Self> {
        let nodes = guest.shape.nodes.iter().filter(|node| node.cores > 0);
        let cpus: Vec<usize> = nodes.map(|node| node.cores * guest.shape.threads).collect();
        // On the first node a CPU is the system's, one stays taken, and the rest is for the pod that moves.
        let [first, ref between @ .., last] = cpus[..] else { return None };
        let room = first.checked_sub(2).filter(|room| *room > 0 && *room < last)?;
        Some(Self { room, between: between.to_vec(), last })
    }

    fn small(name: &str, cpus: usize) -> Wish {
        Wish::new(name, cpus * 1000, 32)
    }

    fn large(&self) -> Wish {
        Self::small("large", self.last)
    }

    /// Admits the pods, and starts two of them. The one that will move watches itself.
    fn start(&self, node: &Node) -> anyhow::Result<Running> {
        let stays = node.admit(&Self::small("stays", 1))?;
        let staying = Container::start(node, "stays")?;
        node.admit(&Self::small("filler", self.room))?;
        for (at, cpus) in self.between.iter().enumerate() {
            node.admit(&Self::small(&format!("between{at}"), *cpus))?;
        }
        let moves = Wish { is_live: true, memory: 2 * WATCHED, ..Self::small("moves", self.room) };
        let before = node.admit(&moves)?;
        node.delete("filler")?;
        let mut moving = Container::start(node, "moves")?;
        settles("moves", || moving.is_at(&before))?;
        moving.ask(&format!("watch {WATCHED}"))?;
        let mut looked = 0;
        settles("watching", || {
            looked += moving.seen()?.looks;
            ensure!(looked > 2, "it has looked {looked} times");
            Ok(())
        })?;
        let _ = moving.seen()?;
        Ok(Running { stays, staying, before, moving })
    }
}

/// The process of the pod that moves looks at its own CPUs and pages throughout. It never runs on a CPU of a pod that stays,
/// nor on one of the new pod once that one's container runs; its pages go with it and keep what they hold.
pub(crate) fn live(guest: &Guest) -> anyhow::Result<()> {
    let Some(scene) = Scene::new(guest) else { return Ok(()) };
    let node = Node::fresh(guest, "moving")?;
    let running = scene.start(&node)?;
    let moved = node.repack(&scene.large())?;
    ensure!(moved.len() == 1 && moved[0]["pod"] == "default/moves", "others have moved: {moved:?}");
    ensure!(moved[0]["manner"] == "live", "it has to be restarted: {moved:?}");
    running.ends_moved(&node)
}

/// The daemon is killed amid such moves of pods that run in partitions. Each time all have moved or none, no
/// process runs on CPUs of others, and the move is possible afterwards if it was not done.
#[expect(clippy::print_stdout, reason = "its figures")]
pub(crate) fn killed(guest: &Guest) -> anyhow::Result<()> {
    let Some(scene) = Scene::new(guest) else { return Ok(()) };
    let kills = Guest::parameter("kills")?.map_or(Ok(KILLS), |word| word.parse())?;
    let seed = Guest::parameter("seed")?.map_or(Ok(1), |word| word.parse())?;
    let mut random = fastrand::Rng::with_seed(seed);
    let root = isolation::fresh("killed");
    let mut node = isolation::isolating(guest, &root)?;
    // The first move is not disturbed, and says how long one takes.
    let mut longest = None;
    let (mut done, mut undone) = (0, 0);
    for kill in 0..=kills {
        let running = scene.start(&node)?;
        let began = Instant::now();
        match longest {
            None => {
                node.repack(&scene.large())?;
                longest = Some(began.elapsed().mul_f64(1.2));
            }
            Some(longest) => {
                let asked = node.repack_in_thread(&scene.large());
                std::thread::sleep(longest.mul_f64(random.f64()));
                node.kill()?;
                let is_answered = asked.join().is_ok_and(|status| status == Some(200));
                node = isolation::isolating(guest, &root)?;
                let is_done = running.is_all_or_none(&node).with_context(|| format!("kill {kill}"))?;
                ensure!(is_done || !is_answered, "kill {kill}: a move is undone that was answered");
                if is_done {
                    done += 1;
                } else {
                    undone += 1;
                    node.repack(&scene.large()).with_context(|| format!("kill {kill}"))?;
                }
            }
        }
        running.ends_moved(&node).with_context(|| format!("kill {kill}"))?;
        for held in node.holdings()? {
            node.delete(&held.pod)?;
        }
        if kill % STRETCH == 0 && (1..kills).contains(&kill) {
            println!("    {kill} kills: {done} moves done, {undone} not begun");
        }
    }
    println!("    {kills} kills: {done} moves were done at the start after it, {undone} were not begun");
    println!("    {} times the daemon ended itself since the kernel hung in a write", Node::hung());
    Ok(())
}

impl Running {
    /// Whether the pods have moved; an error if a part of them has.
    fn is_all_or_none(&self, node: &Node) -> anyhow::Result<bool> {
        let held = node.holdings()?;
        disjoint(&held)?;
        ensure!(node.holding("stays")? == self.stays, "who stays has moved: {held:?}");
        let is_there = held.iter().any(|own| own.pod == "large");
        let has_moved = node.holding("moves")? != self.before;
        ensure!(is_there == has_moved, "a part has moved: {held:?}");
        Ok(is_there)
    }

    /// Checks that the pod has moved with its process and its memory, and that the large pod runs in its place.
    fn ends_moved(mut self, node: &Node) -> anyhow::Result<()> {
        let (before, moving) = (&self.before, &mut self.moving);
        let (after, large) = (node.holding("moves")?, node.holding("large")?);
        disjoint(&node.holdings()?)?;
        ensure!(after.cpus.is_disjoint(&before.cpus), "{after:?} was {before:?}");
        let larger = Container::start(node, "large")?;
        // From here on the new pod's container is where it belongs.
        let meanwhile = moving.seen()?;
        within(&meanwhile, &[&before.cpus, &after.cpus])?;
        settles("moves", || moving.is_at(&after))?;
        settles("large", || larger.is_at(&large))?;
        settles("its pages", || pages_are_on(moving, &after.nodes))?;
        let since = moving.seen()?;
        ensure!(since.looks > 0, "it has not looked since");
        within(&since, &[&after.cpus])?;
        self.staying.is_at(&self.stays)
    }
}

/// Checks that a process ran on these CPUs only, was allowed no others, and found its memory as it had written it.
fn within(seen: &Seen, allowed: &[&CpuSet]) -> anyhow::Result<()> {
    let all = allowed.iter().fold(CpuSet::new(), |all, cpus| &all | cpus);
    let on: CpuSet = seen.on.iter().map(|cpu| CpuId::new(*cpu)).collect::<Result<_, _>>()?;
    ensure!((&on - &all).is_empty(), "it ran on CPUs {on}: {seen:?}");
    let lists: BTreeSet<String> = allowed.iter().map(ToString::to_string).collect();
    ensure!(seen.allowed.is_subset(&lists), "it could run elsewhere than on {lists:?}: {seen:?}");
    ensure!(seen.wrong_pages == 0, "pages were not as it had written them: {seen:?}");
    Ok(())
}

/// Checks that the memory that a process writes is on these nodes. Less than 1 MiB, as of its program, may be elsewhere.
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
