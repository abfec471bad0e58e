//! Partitions in memory: made, let go in time, found again, invalid.

use std::path::Path;
use std::sync::Arc;

use cgroup_cpuset::MemoryHierarchy;
use cpu_manager::CpuQuota;
use node_agent::{Enforcement, Pinning};
use pod_spec::{ContainerKey, ContainerName, PodUid};
use tempfile::TempDir;

use super::super::{Keeper, Outcome};
use super::*;

const ROOT: &str = "/sys/fs/cgroup";

/// A hierarchy that others write to as well.
#[derive(Clone)]
struct Kernel(Arc<MemoryHierarchy>);

impl Files for Kernel {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        self.0.write(path, text)
    }
}

struct Bench {
    kernel: Kernel,
    folder: TempDir,
    keeper: Keeper<Kernel>,
    from: usize,
}

fn keeper(kernel: &Kernel, kind: Option<Partition>, folder: &Path) -> Keeper<Kernel> {
    let cgroups = Cgroups::on(kernel.clone(), ROOT).unwrap();
    Keeper::new(cgroups, Isolation::load(kind, folder).unwrap())
}

impl Bench {
    fn new() -> Self {
        let kernel = MemoryHierarchy::new("0-7".parse().unwrap(), [0, 1]);
        let kernel =
            ["a", "b", "shared"].iter().fold(kernel, |kernel, name| kernel.with(&format!("pods/{name}/c")));
        let kernel = Kernel(Arc::new(kernel));
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(&kernel, Some(Partition::Isolated), folder.path());
        Self { kernel, folder, keeper, from: 0 }
    }

    fn restart(&mut self, kind: Option<Partition>) {
        self.keeper = keeper(&self.kernel, kind, self.folder.path());
    }

    /// A round with these containers; the one that is called `shared` has no CPUs of its own.
    fn round(&mut self, containers: &[(&str, &str)]) -> Outcome {
        let places: Vec<Enforcement> = containers.iter().map(|(name, cpus)| here(name, cpus)).collect();
        let wanted = Wanted::split(places.iter().map(|one| {
            let cgroup = CgroupPath::new(one.cgroup.as_ref().unwrap()).unwrap();
            let is_own = one.id.as_str() != "shared";
            (is_own.then_some(cgroup), one.pinning.cpus.as_ref().unwrap())
        }));
        let places: Vec<_> = places.iter().map(|one| (one, CpuQuota::Unlimited)).collect();
        self.keeper.isolating_round(&places, &wanted)
    }

    /// What was written to cpusets since the last time, by container and without what all names begin with.
    fn written(&mut self) -> Vec<String> {
        let all = self.kernel.0.writes();
        let new = all[self.from..].iter().map(|(file, text)| format!("{}={text}", file.display()));
        self.from = all.len();
        new.filter(|line| line.contains("cpuset.cpus"))
            .map(|line| line.replace("cpuset.", "").replace("pods/", ""))
            .collect()
    }

    fn read(&self, file: &str) -> String {
        self.kernel.read(&Path::new(ROOT).join(file)).unwrap().trim().to_owned()
    }

    fn write(&self, file: &str, text: &str) {
        self.kernel.write(&Path::new(ROOT).join(file), text).unwrap();
    }
}

fn here(name: &str, cpus: &str) -> Enforcement {
    let container = ContainerKey { pod: PodUid::new(name), container: ContainerName::new("c") };
    let pinning = Pinning { cpus: Some(cpus.parse().unwrap()), mems: None };
    Enforcement { container, id: name.into(), cgroup: Some(format!("pods/{name}/c").into()), pinning }
}

fn said(outcome: &Outcome) -> Vec<What> {
    assert!(outcome.trouble.is_empty(), "{:?}", outcome.trouble);
    outcome.partitions.iter().map(|trouble| trouble.what.clone()).collect()
}

#[test]
fn cpus_are_let_go_before_others_get_them() {
    let mut bench = Bench::new();
    assert_eq!(said(&bench.round(&[("shared", "0-7")])), []);
    bench.written();
    assert_eq!(said(&bench.round(&[("a", "2-3"), ("shared", "0-1,4-7")])), []);
    assert_eq!(
        bench.written(),
        [
            "shared/c/cpus=0-1,4-7",
            "a/c/cpus=2-3",
            "cpus.exclusive=2-3",
            "a/cpus.exclusive=2-3",
            "a/c/cpus.exclusive=2-3",
            "a/c/cpus.partition=isolated",
        ]
    );
    assert_eq!(said(&bench.round(&[("a", "2-3"), ("b", "4"), ("shared", "0-1,5-7")])), []);
    assert_eq!(
        bench.written(),
        [
            "shared/c/cpus=0-1,5-7",
            "b/c/cpus=4",
            "cpus.exclusive=2-4",
            "b/cpus.exclusive=4",
            "b/c/cpus.exclusive=4",
            "b/c/cpus.partition=isolated",
        ]
    );
    assert_eq!(bench.read("cpuset.cpus.isolated"), "2-4");
    assert_eq!(said(&bench.round(&[("a", "2-3"), ("b", "4"), ("shared", "0-1,5-7")])), []);
    assert_eq!(bench.written(), [""; 0], "all is as it should be");
    // One ends, and its CPUs go to both others.
    assert_eq!(said(&bench.round(&[("b", "2,4"), ("shared", "0-1,3,5-7")])), []);
    assert_eq!(
        bench.written(),
        [
            "a/c/cpus.partition=member",
            "a/c/cpus.exclusive=",
            "a/cpus.exclusive=",
            "cpus.exclusive=4",
            "b/c/cpus.partition=member",
            "b/c/cpus.exclusive=",
            "b/cpus.exclusive=",
            "cpus.exclusive=",
            "b/c/cpus=2,4",
            "shared/c/cpus=0-1,3,5-7",
            "cpus.exclusive=2,4",
            "b/cpus.exclusive=2,4",
            "b/c/cpus.exclusive=2,4",
            "b/c/cpus.partition=isolated",
        ]
    );
}

#[test]
fn a_container_loses_what_another_gets_in_the_same_round() {
    let mut bench = Bench::new();
    bench.round(&[("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")]);
    bench.written();
    // Before `a` gets 4, `b` has lost it; before `shared` gets 3, `a` has.
    assert_eq!(said(&bench.round(&[("a", "2,4"), ("b", "5-6"), ("shared", "0-1,3,7")])), []);
    let sets: Vec<String> = bench.written().into_iter().filter(|line| line.contains("/cpus=")).collect();
    assert_eq!(
        sets,
        [
            "a/c/cpus=2",
            "b/c/cpus=5",
            "shared/c/cpus=0-1,7",
            "a/c/cpus=2,4",
            "b/c/cpus=5-6",
            "shared/c/cpus=0-1,3,7",
        ]
    );
    assert_eq!(bench.read("cpuset.cpus.isolated"), "2,4-6");
}

#[test]
fn the_next_daemon_keeps_or_releases_what_it_finds() {
    let mut bench = Bench::new();
    bench.round(&[("a", "2-3"), ("b", "4")]);
    bench.written();
    bench.restart(Some(Partition::Isolated));
    assert_eq!(said(&bench.round(&[("a", "2-3"), ("b", "4")])), []);
    assert_eq!(bench.written(), [""; 0], "kept");
    // One is gone when the daemon comes back.
    bench.kernel.0.remove("pods/b/c");
    bench.restart(Some(Partition::Isolated));
    bench.round(&[("a", "2-3")]);
    assert_eq!(bench.written(), ["b/cpus.exclusive=", "cpus.exclusive=2-3"]);
    // Without the option the other is let go too.
    bench.restart(None);
    assert!(!bench.keeper.isolation.is_off());
    bench.round(&[("a", "2-3")]);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "member");
    assert_eq!(bench.read("pods/cpuset.cpus.exclusive"), "");
    assert!(bench.keeper.isolation.is_off());
    bench.restart(None);
    assert!(bench.keeper.isolation.is_off());
}

#[test]
fn what_the_kernel_says_is_said_once_and_again_when_it_changes() {
    let mut bench = Bench::new();
    // Somebody else's cgroup beside the container has its CPUs.
    bench.kernel.0.create("pods/a/other");
    bench.round(&[("shared", "0-1")]);
    bench.write("pods/a/cgroup.subtree_control", "+cpuset");
    bench.write("pods/a/other/cpuset.cpus", "3-4");
    let outcome = bench.round(&[("a", "2-3")]);
    let [What::NotMade(why)] = &said(&outcome)[..] else { panic!("{outcome:?}") };
    assert!(why.contains("\"isolated invalid (Cpu list in cpuset.cpus not exclusive)\""), "{why}");
    assert_eq!(said(&bench.round(&[("a", "2-3")])), [], "it is known");
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.effective"), "2-3", "it runs there all the same");
    bench.write("pods/a/other/cpuset.cpus", "4");
    assert_eq!(said(&bench.round(&[("a", "2-3")])), []);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "isolated");
    bench.write("pods/a/c/cpuset.cpus.partition", "member");
    assert_eq!(said(&bench.round(&[("a", "2-3")])), [What::Repaired]);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "isolated");
}

#[test]
fn who_shares_cpus_is_no_partition_and_named_when_that_lasts() {
    let mut bench = Bench::new();
    for (round, expected) in [0, 2, 0].into_iter().enumerate() {
        let told = said(&bench.round(&[("a", "2-3"), ("b", "3")]));
        assert_eq!(told.len(), expected, "round {round}: {told:?}");
    }
    assert_eq!(bench.read("cpuset.cpus.isolated"), "");
    // The first of them has ended.
    assert_eq!(said(&bench.round(&[("b", "3")])), []);
    assert_eq!(bench.read("cpuset.cpus.isolated"), "3");
}

#[test]
fn nothing_is_made_that_the_next_daemon_would_not_know_of() {
    let mut bench = Bench::new();
    fs::create_dir(bench.folder.path().join("cgroup_partitions.json.tmp")).unwrap();
    let outcome = bench.round(&[("a", "2-3")]);
    assert!(
        matches!(&said(&outcome)[..], [What::NotMade(why)] if why.contains("failed to write")),
        "{outcome:?}"
    );
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "member");
    fs::write(bench.folder.path().join(FILE), "[").unwrap();
    assert!(Isolation::load(None, bench.folder.path()).is_err());
}
