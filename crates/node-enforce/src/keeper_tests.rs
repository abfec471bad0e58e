//! Cgroups in memory: written, moved by others, gone, and in the way.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cgroup_cpuset::MemoryHierarchy;
use cpuset::CpuSet;
use node_config::CpuInterrupts;
use pod_spec::{ContainerKey, ContainerName, PodUid};
use topology_model::NodeId;

use super::super::bench::clock;
use super::super::isolation::Wanted;
use super::*;

/// A hierarchy that others write to as well.
#[derive(Clone)]
struct Kernel2(Arc<MemoryHierarchy>);

impl Files for Kernel2 {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        self.0.write(path, text)
    }
}

const CPUS: &str = "/sys/fs/cgroup/pods/a/cpuset.cpus";

fn keeper() -> (Keeper<Kernel2>, Kernel2) {
    let kernel = MemoryHierarchy::new("0-7".parse().unwrap(), [0, 1]).with("pods/a").with("pods/b");
    let kernel = Kernel2(Arc::new(kernel));
    (keeper_on(&kernel), kernel)
}

fn keeper_on(kernel: &Kernel2) -> Keeper<Kernel2> {
    let none = Path::new("/no-such-folder");
    let off = Isolation::load(None, none, none, clock()).unwrap();
    let quiet = Quiet::load(kernel.clone(), none, CpuInterrupts::Leave, none).unwrap();
    Keeper::new(Cgroups::on(kernel.clone(), "/sys/fs/cgroup").unwrap(), off, quiet, clock())
}

/// A round with these containers, which have exclusive CPUs.
fn kept(keeper: &mut Keeper<Kernel2>, places: &[(&Enforcement, CpuQuota)]) -> Outcome {
    keeper.ordered_round(places, &Wanted::default(), &CpuSet::new())
}

fn here(name: &str, cpus: &str, node: i64) -> Enforcement {
    let container = ContainerKey { pod: PodUid::new(name), container: ContainerName::new("app") };
    let pinning = Pinning { cpus: Some(cpus.parse().unwrap()), mems: Some(vec![NodeId(node)]), limits: None };
    Enforcement { container, id: name.into(), cgroup: Some(format!("pods/{name}").into()), pinning }
}

#[test]
fn a_container_is_where_it_belongs_and_without_quota_on_its_own_cpus() {
    let (mut keeper, kernel) = keeper();
    let outcome = keeper.write_container(&here("a", "2-3", 1), CpuQuota::Unlimited);
    assert_eq!((outcome.drifted, outcome.problems), (0, Vec::new()));
    assert_eq!(kernel.read(Path::new(CPUS)).unwrap().trim(), "2-3");
    assert_eq!(kernel.read(Path::new("/sys/fs/cgroup/pods/a/cpuset.mems")).unwrap().trim(), "1");
    assert_eq!(kernel.read(Path::new("/sys/fs/cgroup/pods/a/cpu.max")).unwrap().trim(), "max 100000");
}

#[test]
fn what_others_move_is_counted_and_put_back_and_what_the_node_moves_is_not() {
    let (mut keeper, kernel) = keeper();
    let (a, b) = (here("a", "2-3", 1), here("b", "0-1", 0));
    for one in [&a, &b] {
        keeper.write_container(one, CpuQuota::ByLimit);
    }
    assert_eq!(kept(&mut keeper, &[(&a, CpuQuota::ByLimit), (&b, CpuQuota::ByLimit)]).drifted, 0);
    kernel.write(Path::new(CPUS), "0-7").unwrap();
    let round = kept(&mut keeper, &[(&a, CpuQuota::ByLimit), (&b, CpuQuota::ByLimit)]);
    assert_eq!(round.drifted, 1);
    assert_eq!(round.problems.len(), 1);
    assert_eq!(kernel.read(Path::new(CPUS)).unwrap().trim(), "2-3");
    let moved = here("b", "4-5", 0);
    assert_eq!(kept(&mut keeper, &[(&a, CpuQuota::ByLimit), (&moved, CpuQuota::ByLimit)]).drifted, 0);
}

#[test]
fn a_failure_is_reported_once_until_it_ends_or_changes() {
    let (mut keeper, _) = keeper();
    // The machine has no such CPUs.
    let wrong = here("a", "30-31", 1);
    assert_eq!(keeper.write_container(&wrong, CpuQuota::ByLimit).problems.len(), 1);
    assert!(kept(&mut keeper, &[(&wrong, CpuQuota::ByLimit)]).problems.is_empty());
    assert!(kept(&mut keeper, &[(&here("a", "2", 1), CpuQuota::ByLimit)]).problems.is_empty());
    assert_eq!(keeper.write_container(&wrong, CpuQuota::ByLimit).problems.len(), 1);
}

#[test]
fn a_container_that_is_gone_or_has_no_cgroup_is_no_trouble() {
    let (mut keeper, kernel) = keeper();
    let a = here("a", "2-3", 1);
    keeper.write_container(&a, CpuQuota::ByLimit);
    kernel.0.remove("pods/a");
    let round = kept(
        &mut keeper,
        &[(&a, CpuQuota::ByLimit), (&Enforcement { cgroup: None, ..a.clone() }, CpuQuota::ByLimit)],
    );
    assert_eq!((round.drifted, round.problems), (0, Vec::new()));
}

#[test]
fn a_resized_container_has_its_new_limits_unless_it_uses_more() {
    const GI: u64 = 1 << 30;
    let kernel = MemoryHierarchy::new("0-7".parse().unwrap(), [0, 1]);
    let kernel = Kernel2(Arc::new(kernel.with_memory("pods/a", &(2 * GI).to_string(), GI)));
    let mut keeper = keeper_on(&kernel);
    let max = || kernel.read(Path::new("/sys/fs/cgroup/pods/a/memory.max")).unwrap().trim().to_owned();
    let with = |bytes: Option<u64>| {
        let limits = bytes.map(|bytes| node_agent::Limits { cpu: Some(2000), memory: Some(bytes) });
        let one = here("a", "2-3", 1);
        Enforcement { pinning: Pinning { limits, ..one.pinning.clone() }, ..one }
    };
    for (limit, expected) in [(None, 2 * GI), (Some(4 * GI), 4 * GI), (Some(3 * GI), 3 * GI)] {
        assert_eq!(keeper.write_container(&with(limit), CpuQuota::Unlimited).problems, Vec::new());
        assert_eq!(max(), expected.to_string());
    }
    let below = with(Some(GI));
    let problems: Vec<_> =
        (0..3).flat_map(|_| keeper.write_container(&below, CpuQuota::Unlimited).problems).collect();
    let why = "cgroup /pods/a uses 1073741824 bytes of memory or more, so that this limit is not written";
    assert_eq!(
        problems.iter().map(|problem| &problem.kind).collect::<Vec<_>>(),
        [&ContainerProblemKind::Limited(why.to_owned())]
    );
    assert!(keeper.takes_single_orders(), "it is where it belongs");
    assert_eq!(max(), (3 * GI).to_string());
    // It is written when less is in use; no other program had moved it.
    kernel.0.use_memory("pods/a", GI / 2);
    let outcome = keeper.write_container(&below, CpuQuota::Unlimited);
    assert_eq!((outcome.drifted, outcome.problems), (0, Vec::new()));
    assert_eq!(max(), GI.to_string());
}
