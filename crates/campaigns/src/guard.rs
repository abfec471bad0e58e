//! `cargo xtask guard`: the guard of exclusive CPUs beside a scripted runtime on NRI's own code, on a machine of 16 NUMA nodes
//! whose cgroups are a folder: what it costs, and that it holds while it is killed.

mod node;
mod runtime;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cpuset::CpuSet;
use fs_err as fs;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, run, target};

use self::node::Node;
use self::runtime::Runtime;
use crate::nri;

/// Measures the guard of exclusive CPUs beside a scripted runtime with NRI 0.12.3, and kills it while pods come and go. Needs Go.
#[derive(Debug, clap::Args)]
pub(crate) struct Guard {
    /// The folder with the runtime (`src`), as of `cargo xtask nri`; nothing is written there.
    folder: PathBuf,
    /// Containers that are created and removed.
    #[arg(long, default_value_t = 2000)]
    containers: usize,
    /// Once in so many of them the guard is killed while one is created.
    #[arg(long, default_value_t = 50)]
    kill_each: usize,
    /// The seed of what comes and goes.
    #[arg(long, default_value_t = 59)]
    seed: u64,
    /// Writes the figures to docs/guard.md.
    #[arg(long)]
    write: bool,
}

/// A file system in memory.
const MEMORY: &str = "/dev/shm";
/// Containers that run while creations are timed.
const RUNNING: usize = 200;
/// Creations of each kind that are timed, with the guard and without.
const TIMED: usize = 200;
/// A sandbox takes longer: the runtime starts runc twice for it, which takes 4 ms or more each time.
const SANDBOX: Duration = Duration::from_millis(8);
/// Containers of a synchronization that is timed.
const SYNCHRONIZED: usize = 1000;
/// Containers that run at once while they come and go.
const AT_ONCE: usize = 150;

impl Guard {
    #[expect(clippy::print_stdout, reason = "the result of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = self.folder.canonicalize();
        let folder = folder.with_context(|| format!("there is no folder {}", self.folder.display()))?;
        // A file of a cgroup costs no disk.
        let place = tempfile::tempdir_in(MEMORY).with_context(|| format!("no folder in {MEMORY}"))?;
        let programs = place.path().join("programs");
        nri::build(&folder.join("src"), &programs)?;
        run(&mut cargo(&["build", "--release", "--package", "node-guard", "--example", "guard"]))?;
        let program = programs.join("0.12.3/runtime");
        let cost = cost(&program, place.path())?;
        let held = self.held(&program, place.path())?;
        let text = format!("{cost}\n{held}");
        println!("{text}");
        if self.write {
            write_figures("docs/guard.md", "guard", &text)?;
        }
        Ok(())
    }

    /// Pods come and go while the guard is killed.
    fn held(&self, program: &Path, place: &Path) -> anyhow::Result<String> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut node = Node::new(&place.join("held"))?;
        let mut runtime = Runtime::start(program, &node.socket())?;
        let mut guard = Process::start(&node)?;
        runtime.synchronized()?;
        let (mut overlaps, mut amid_kills, mut kills) = (0, 0, 0);
        let mut back = Vec::new();
        let mut exclusive = 0;
        for made in 0..self.containers {
            while node.pods.len() >= AT_ONCE || node.shared.len() < 16 {
                let gone = node.pods.keys().nth(random.usize(..node.pods.len())).cloned();
                let gone = gone.context("a pod to remove")?;
                runtime.remove(&gone)?;
                node.leave(&gone)?;
            }
            let name = format!("n{made}");
            let count = if random.u8(..10) < 4 { random.usize(1..=8) } else { 0 };
            let asked = node.admit(&name, count)?;
            exclusive += usize::from(node.pods.get(&name).is_some_and(Option::is_some));
            runtime.sandbox(&name)?;
            let is_killed = made % self.kill_each == self.kill_each - 1;
            runtime.begin_create(&name, &asked)?;
            if is_killed {
                kills += 1;
                std::thread::sleep(Duration::from_micros(random.u64(..1500)));
                guard.kill()?;
            }
            let applied = runtime.created(&name)?;
            // What the new container will have, and what the others have when its creation returns.
            let found = node.overlaps_with(&name)?;
            if is_killed {
                amid_kills += usize::from(!found.is_empty());
                let killed = Instant::now();
                guard = Process::start(&node)?;
                runtime.synchronized()?;
                while !node.overlaps_with(&name)?.is_empty() {
                    ensure!(killed.elapsed() < Duration::from_secs(20), "{:?}", node.overlaps_with(&name)?);
                    std::thread::sleep(Duration::from_millis(1));
                }
                back.push(killed.elapsed());
            } else {
                overlaps += usize::from(!found.is_empty());
            }
            node.make_cgroup(&name, &applied)?;
            runtime.start_container(&name)?;
            let found = node.overlaps()?;
            ensure!(found.is_empty(), "after {name} has started: {found:?}");
            // The kubelet's reconciliation of one of them.
            if random.u8(..20) == 0 {
                let shared = node.shared_pods();
                if let Some(name) = shared.get(random.usize(..shared.len().max(1))) {
                    let cpus = node.shared.to_string();
                    node.make_cgroup(name, &cpus)?;
                    runtime.update(name, &cpus)?;
                }
            }
        }
        ensure!(overlaps == 0, "{overlaps} containers had been created while others were on their CPUs");
        let records = follow(&mut runtime, &node)?;
        guard.kill()?;
        back.sort();
        let longest = back.last().copied().unwrap_or_default();
        Ok(format!(
            "| come and gone, 256 CPUs, 16 NUMA nodes | |\n|---|---|\n\
             | containers created, of them exclusive | {}, {exclusive} |\n\
             | exclusive containers that shared a CPU | 0 |\n\
             | creations after which another container was on an exclusive CPU, guard alive | {overlaps} |\n\
             | guard killed while a container was created | {kills} |\n\
             | of these, another container was on an exclusive CPU when the creation returned | {amid_kills} |\n\
             | longest time from the kill until a new guard had freed it | {} ms |\n\
             | containers that started while another one was on their CPUs | 0 |\n\
             | containers with shared CPUs at the end, none with an exclusive one on the runtime's record | {records} |\n",
            self.containers,
            longest.as_millis(),
        ))
    }
}

/// Waits until the runtime's record of no container with shared CPUs has others; gives how many there are.
fn follow(runtime: &mut Runtime, node: &Node) -> anyhow::Result<usize> {
    let began = Instant::now();
    loop {
        let mut other = Vec::new();
        for name in node.shared_pods() {
            let record: CpuSet = runtime.record(&name)?.parse()?;
            if !record.is_subset(&node.shared) {
                other.push(format!("{name}: {record}"));
            }
        }
        if other.is_empty() {
            return Ok(node.shared_pods().len());
        }
        if began.elapsed() > Duration::from_secs(40) {
            bail!("records do not follow to {}: {}", node.shared, other.join("; "));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// How soon after the kubelet's decision a container is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// Its pod's sandbox is made in between, as a kubelet does it.
    AsKubelet,
    /// At once, so that the guard had no time before it.
    AtOnce,
}

/// What the guard costs.
fn cost(program: &Path, place: &Path) -> anyhow::Result<String> {
    let mut lines =
        "| added to a creation, release build, ms, median and 99 % | without | with, as a kubelet does it | \
                     with, at once |\n|---|---|---|---|\n"
            .to_owned();
    let runs = [(false, Order::AsKubelet), (true, Order::AsKubelet), (true, Order::AtOnce)];
    let mut timed = Vec::new();
    for (at, (with_guard, order)) in runs.into_iter().enumerate() {
        let mut node = Node::new(&place.join(format!("cost-{at}")))?;
        let mut runtime = Runtime::start(program, &node.socket())?;
        let mut guard = None;
        if with_guard {
            guard = Some(Process::start(&node)?);
            runtime.synchronized()?;
        }
        for made in 0..RUNNING {
            create(&mut node, &mut runtime, &format!("r{made}"), 0, Order::AtOnce)?;
        }
        let mut times = [Vec::new(), Vec::new()];
        for made in 0..2 * TIMED {
            let name = format!("t{made}");
            // Every other one is exclusive.
            let count = made % 2 * 4;
            let took = create(&mut node, &mut runtime, &name, count, order)?;
            times[made % 2].push(took);
            runtime.remove(&name)?;
            node.leave(&name)?;
            if count > 0 {
                // The kubelet gives all others its CPUs again, so that they lose them with the next one.
                let cpus = node.shared.to_string();
                for name in node.shared_pods() {
                    node.make_cgroup(&name, &cpus)?;
                    runtime.update(&name, &cpus)?;
                }
            }
        }
        if let Some(guard) = &mut guard {
            guard.kill()?;
        }
        timed.push(times);
    }
    for (at, kind) in ["shared", "exclusive"].into_iter().enumerate() {
        let of = |run: &[Vec<Duration>; 2]| {
            let mut times = run[at].clone();
            times.sort();
            let at = |percent: usize| {
                times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1000.0
            };
            format!("{:.2}, {:.2}", at(50), at(99))
        };
        let columns: Vec<String> = timed.iter().map(of).collect();
        lines += &format!("| {kind} container beside {RUNNING} | {} |\n", columns.join(" | "));
    }
    lines += "\n| cost, release build | |\n|---|---|\n";
    let (none, _) = synchronize(program, &place.join("none"), 0)?;
    let (all, memory) = synchronize(program, &place.join("all"), SYNCHRONIZED)?;
    lines += &format!(
        "| start to synchronized, ms, with no container and with {SYNCHRONIZED} | {}, {} |\n",
        none.as_millis(),
        all.as_millis()
    );
    lines += &format!("| most memory then, MiB | {} |\n", memory.div_ceil(1024));
    Ok(lines)
}

/// Creates and starts a container; how long the runtime took to create it.
fn create(
    node: &mut Node,
    runtime: &mut Runtime,
    name: &str,
    count: usize,
    order: Order,
) -> anyhow::Result<Duration> {
    let asked = match order {
        Order::AsKubelet => {
            let asked = node.admit(name, count)?;
            std::thread::sleep(SANDBOX);
            runtime.sandbox(name)?;
            asked
        }
        Order::AtOnce => {
            runtime.sandbox(name)?;
            node.admit(name, count)?
        }
    };
    let began = Instant::now();
    runtime.begin_create(name, &asked)?;
    let applied = runtime.created(name)?;
    let took = began.elapsed();
    node.make_cgroup(name, &applied)?;
    runtime.start_container(name)?;
    Ok(took)
}

/// How long a guard takes from its start until it is synchronized with so many containers, and its most memory in KiB.
fn synchronize(program: &Path, folder: &Path, containers: usize) -> anyhow::Result<(Duration, u64)> {
    let node = Node::new(folder)?;
    let mut runtime = Runtime::start(program, &node.socket())?;
    if containers > 0 {
        runtime.fill(containers)?;
    }
    let began = Instant::now();
    let mut guard = Process::start(&node)?;
    runtime.synchronized()?;
    let took = began.elapsed();
    std::thread::sleep(Duration::from_millis(500));
    let memory = guard.most_memory()?;
    guard.kill()?;
    Ok((took, memory))
}

/// A running guard.
struct Process(Child);

impl Process {
    fn start(node: &Node) -> anyhow::Result<Self> {
        let mut command = Command::new(target().join("release/examples/guard"));
        command.args([node.kubelet(), node.cgroups(), node.socket(), node.report()]).stderr(Stdio::inherit());
        Ok(Self(command.spawn().context("failed to start the guard")?))
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// In KiB.
    fn most_memory(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended, unless a check has failed.
        let _ = self.kill();
    }
}
