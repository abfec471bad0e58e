//! Partitions in memory: made, let go in time, found again, invalid.

use std::fs;

use super::super::bench::{Bench, ROOT, clock, problems_of};
use super::super::start::release_elsewhere;
use super::*;

#[test]
fn cpus_are_let_go_before_others_get_them() {
    let mut bench = Bench::new();
    assert_eq!(problems_of(&bench.round(&[("shared", "0-7")])), []);
    bench.written();
    assert_eq!(problems_of(&bench.round(&[("a", "2-3"), ("shared", "0-1,4-7")])), []);
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
    assert_eq!(problems_of(&bench.round(&[("a", "2-3"), ("b", "4"), ("shared", "0-1,5-7")])), []);
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
    assert_eq!(problems_of(&bench.round(&[("a", "2-3"), ("b", "4"), ("shared", "0-1,5-7")])), []);
    assert_eq!(bench.written(), [""; 0], "all is as it should be");
    // One ends, and its CPUs go to both others.
    assert_eq!(problems_of(&bench.round(&[("b", "2,4"), ("shared", "0-1,3,5-7")])), []);
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
fn the_next_daemon_keeps_or_releases_what_it_finds() {
    let mut bench = Bench::new();
    bench.round(&[("a", "2-3"), ("b", "4")]);
    bench.written();
    bench.restart(Some(Partition::Isolated));
    assert_eq!(problems_of(&bench.round(&[("a", "2-3"), ("b", "4")])), []);
    assert_eq!(bench.written(), [""; 0], "kept");
    // One is gone when the daemon comes back.
    bench.kernel.0.hierarchy.remove("pods/b/c");
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
fn the_kernels_reason_is_reported_once_and_again_when_it_changes() {
    let mut bench = Bench::new();
    // A cgroup of another program beside the container has its CPUs.
    bench.kernel.0.hierarchy.create("pods/a/other");
    bench.round(&[("shared", "0-1")]);
    bench.write("pods/a/cgroup.subtree_control", "+cpuset");
    bench.write("pods/a/other/cpuset.cpus", "3-4");
    let outcome = bench.round(&[("a", "2-3")]);
    let [PartitionProblemKind::NotMade(why)] = &problems_of(&outcome)[..] else { panic!("{outcome:?}") };
    assert!(why.contains("\"isolated invalid (Cpu list in cpuset.cpus not exclusive)\""), "{why}");
    assert_eq!(problems_of(&bench.round(&[("a", "2-3")])), [], "it is known");
    let faults = bench.keeper.isolation.faults().map(|(_, fault)| (fault.reason(), fault.message()));
    assert_eq!(faults.collect::<Vec<_>>(), [(NOT_MADE, why.as_str())]);
    assert_eq!(bench.keeper.isolation.cpus().to_string(), "", "it is not valid");
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.effective"), "2-3", "it runs there all the same");
    bench.write("pods/a/other/cpuset.cpus", "4");
    assert_eq!(problems_of(&bench.round(&[("a", "2-3")])), []);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "isolated");
    assert_eq!(bench.keeper.isolation.faults().count(), 0);
    assert_eq!(bench.keeper.isolation.cpus().to_string(), "2-3");
    bench.write("pods/a/c/cpuset.cpus.partition", "member");
    assert_eq!(problems_of(&bench.round(&[("a", "2-3")])), [PartitionProblemKind::Repaired]);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "isolated");
}

#[test]
fn who_shares_cpus_is_no_partition_and_named_when_that_lasts() {
    let mut bench = Bench::new();
    for (round, expected) in [0, 2, 0].into_iter().enumerate() {
        let problems = problems_of(&bench.round(&[("a", "2-3"), ("b", "3")]));
        assert_eq!(problems.len(), expected, "round {round}: {problems:?}");
    }
    assert_eq!(bench.read("cpuset.cpus.isolated"), "");
    // The first of them has ended.
    assert_eq!(problems_of(&bench.round(&[("b", "3")])), []);
    assert_eq!(bench.read("cpuset.cpus.isolated"), "3");
}

#[test]
fn nothing_is_made_that_the_next_daemon_would_not_know_of() {
    let mut bench = Bench::new();
    fs::create_dir(bench.folder.path().join("cgroup_partitions.json.tmp")).unwrap();
    let outcome = bench.round(&[("a", "2-3")]);
    assert!(
        matches!(&problems_of(&outcome)[..], [PartitionProblemKind::NotMade(why)] if why.contains("failed to write")),
        "{outcome:?}"
    );
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "member");
}

/// As after a loss of power, and as no daemon writes it.
#[test]
fn a_file_that_makes_no_sense_is_put_aside_and_the_daemon_starts() {
    let mut bench = Bench::new();
    let file = bench.folder.path().join(FILE);
    let all: [&[u8]; 6] = [
        b"",
        b"[",
        b"\xff",
        br#"{"partitions": {"pods/a/c": "2"}}"#,
        br#"{"root": "/sys/fs/cgroup", "partitions": {"pods/a/c": "x"}}"#,
        br#"{"root": "/sys/fs/cgroup", "partitions": {"../a": "2"}}"#,
    ];
    for (at, damaged) in all.into_iter().enumerate() {
        fs::write(&file, damaged).unwrap();
        assert!(Isolation::load(None, bench.folder.path(), Path::new(ROOT), clock()).unwrap().is_off());
        assert!(!file.exists());
        assert_eq!(fs::read(bench.folder.path().join(format!("{FILE}.bak-{}", at + 1))).unwrap(), damaged);
    }
    bench.restart(Some(Partition::Isolated));
    assert_eq!(problems_of(&bench.round(&[("a", "2-3")])), []);
    assert_eq!(bench.read("cpuset.cpus.isolated"), "2-3");
}

/// A host on which there are no cgroups.
struct NoCgroups;

impl Files for NoCgroups {
    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn write(&self, _: &Path, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[test]
fn partitions_below_another_root_are_released_or_stay_known() {
    for now in [None, Some(Path::new("/elsewhere"))] {
        let mut bench = Bench::new();
        bench.round(&[("a", "2-3"), ("shared", "0-1,4-7")]);
        let folder = bench.folder.path().to_owned();
        // Below the same root they are kept, and below none that is there they cannot be released.
        assert!(!release_elsewhere(bench.kernel.clone(), &folder, Some(Path::new(ROOT)), &clock()).unwrap());
        assert!(release_elsewhere(NoCgroups, &folder, now, &clock()).unwrap());
        assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "isolated");
        assert_eq!(Isolation::made_below(&folder).unwrap().as_deref(), Some(Path::new(ROOT)));
        release_elsewhere(bench.kernel.clone(), &folder, now, &clock()).unwrap();
        assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "member");
        assert_eq!(bench.read("pods/cpuset.cpus.exclusive"), "");
        assert_eq!(Isolation::made_below(&folder).unwrap(), None);
    }
}

#[test]
fn the_same_hierarchy_at_another_place_is_held_on() {
    let mut bench = Bench::new();
    let all = [("a", "2-3"), ("shared", "0-1,4-7")];
    bench.round(&all);
    let folder = bench.folder.path().to_owned();
    // The daemon had it elsewhere, where nothing is any more.
    let elsewhere = fs::read_to_string(folder.join(FILE)).unwrap().replace(ROOT, "/host/cgroup");
    fs::write(folder.join(FILE), elsewhere).unwrap();
    let isolation = Isolation::load(Some(Partition::Isolated), &folder, Path::new(ROOT), clock()).unwrap();
    assert!(release_elsewhere(bench.kernel.clone(), &folder, Some(Path::new(ROOT)), &clock()).unwrap());
    isolation.keep().unwrap();
    assert_eq!(Isolation::made_below(&folder).unwrap().as_deref(), Some(Path::new(ROOT)));
    bench.restart(Some(Partition::Isolated));
    bench.written();
    assert_eq!(problems_of(&bench.round(&all)), []);
    assert_eq!(bench.written(), [""; 0], "it is as it should be");
    assert_eq!(problems_of(&bench.round(&[("shared", "0-7")])), []);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "member");
}
