//! Partitions on a kernel in memory.

use std::collections::BTreeMap;
use std::path::Path;

use cgroup_cpuset::{
    CgroupPath, Cgroups, Files, MemoryHierarchy, Partition, PartitionError, Place, Set, Written,
};
use cpuset::CpuSet;
use proptest::prelude::*;

const ROOT: &str = "/sys/fs/cgroup";

fn kernel() -> MemoryHierarchy {
    MemoryHierarchy::new("0-7".parse().unwrap(), [0])
        .with("kubepods/pod1/app")
        .with("kubepods/pod1/side")
        .with("kubepods/pod2/app")
}

fn path(text: &str) -> CgroupPath {
    CgroupPath::new(text).unwrap()
}

fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn read(kernel: &MemoryHierarchy, file: &str) -> String {
    kernel.read(&Path::new(ROOT).join(file)).unwrap().trim().to_owned()
}

/// What was written to files of partitions since the last time.
fn written(kernel: &MemoryHierarchy, from: &mut usize) -> Vec<String> {
    let all = kernel.writes();
    let new = all[*from..].iter().map(|(file, text)| format!("{}={text}", file.display()));
    *from = all.len();
    new.filter(|one| one.contains("cpuset.cpus.")).collect()
}

fn place(cgroups: &Cgroups<&MemoryHierarchy>, at: &str, list: &str) {
    let place = Place { cpus: Some(cpus(list)), mems: None };
    cgroups.place(&path(at), &place).unwrap();
}

#[test]
fn two_containers_become_partitions_and_members_again() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let (one, two) = (path("kubepods/pod1/app"), path("kubepods/pod2/app"));
    let mut from = 0;
    place(&cgroups, "kubepods/pod1/side", "0-1,4-7");
    place(&cgroups, "kubepods/pod1/app", "2-3");
    assert_eq!(cgroups.partition(&one, &cpus("2-3"), Partition::Isolated).unwrap(), Written::Changed);
    assert_eq!(
        written(&kernel, &mut from),
        [
            "kubepods/cpuset.cpus.exclusive=2-3",
            "kubepods/pod1/cpuset.cpus.exclusive=2-3",
            "kubepods/pod1/app/cpuset.cpus.exclusive=2-3",
            "kubepods/pod1/app/cpuset.cpus.partition=isolated",
        ]
    );
    assert_eq!(read(&kernel, "cpuset.cpus.isolated"), "2-3");
    assert_eq!(cgroups.effective(&one, Set::Cpus).unwrap(), cpus("2-3"));
    assert_eq!(cgroups.effective(&path("kubepods/pod2"), Set::Cpus).unwrap(), cpus("0-1,4-7"));
    assert_eq!(cgroups.in_no_partition().unwrap(), cpus("0-1,4-7"));
    assert_eq!(cgroups.partition(&one, &cpus("2-3"), Partition::Isolated).unwrap(), Written::Nothing);

    place(&cgroups, "kubepods/pod1/side", "0-1,6-7");
    place(&cgroups, "kubepods/pod2/app", "4-5");
    assert_eq!(cgroups.partition(&two, &cpus("4-5"), Partition::Root).unwrap(), Written::Changed);
    assert_eq!(
        written(&kernel, &mut from),
        [
            "kubepods/cpuset.cpus.exclusive=2-5",
            "kubepods/pod2/cpuset.cpus.exclusive=4-5",
            "kubepods/pod2/app/cpuset.cpus.exclusive=4-5",
            "kubepods/pod2/app/cpuset.cpus.partition=root",
        ]
    );
    assert_eq!(read(&kernel, "kubepods/pod1/app/cpuset.cpus.partition"), "isolated", "the first stays valid");

    let beside: BTreeMap<_, _> = [(one.clone(), cpus("2-3")), (two.clone(), cpus("4-5"))].into();
    assert_eq!(cgroups.release(&one, &cpus("2-3"), &beside).unwrap(), Written::Changed);
    assert_eq!(
        written(&kernel, &mut from),
        [
            "kubepods/pod1/app/cpuset.cpus.partition=member",
            "kubepods/pod1/app/cpuset.cpus.exclusive=",
            "kubepods/pod1/cpuset.cpus.exclusive=",
            "kubepods/cpuset.cpus.exclusive=4-5",
        ]
    );
    assert_eq!(read(&kernel, "kubepods/pod2/app/cpuset.cpus.partition"), "root", "the second stays valid");
    assert_eq!(cgroups.release(&one, &cpus("2-3"), &beside).unwrap(), Written::Nothing);
    place(&cgroups, "kubepods/pod1/side", "0-3,6-7");
    assert_eq!(cgroups.effective(&path("kubepods/pod1/side"), Set::Cpus).unwrap(), cpus("0-3,6-7"));
}

#[test]
fn a_partition_with_other_cpus_is_a_member_in_between() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let one = path("kubepods/pod1/app");
    place(&cgroups, "kubepods/pod1/app", "2-3");
    cgroups.partition(&one, &cpus("2-3"), Partition::Isolated).unwrap();
    let mut from = kernel.writes().len();
    cgroups.partition(&one, &cpus("2-4"), Partition::Isolated).unwrap();
    assert_eq!(
        written(&kernel, &mut from),
        [
            "kubepods/cpuset.cpus.exclusive=2-4",
            "kubepods/pod1/cpuset.cpus.exclusive=2-4",
            "kubepods/pod1/app/cpuset.cpus.partition=member",
            "kubepods/pod1/app/cpuset.cpus.exclusive=2-4",
            "kubepods/pod1/app/cpuset.cpus.partition=isolated",
        ]
    );
    assert_eq!(cgroups.partition(&one, &cpus("2-4"), Partition::Root).unwrap(), Written::Changed);
    assert_eq!(read(&kernel, "kubepods/pod1/app/cpuset.cpus.partition"), "root");
}

#[test]
fn what_stands_above_a_container_that_is_gone_is_taken_away() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let one = path("kubepods/pod1/app");
    place(&cgroups, "kubepods/pod1/app", "2-3");
    kernel.write(&Path::new(ROOT).join("kubepods/cpuset.cpus.exclusive"), "7").unwrap();
    cgroups.partition(&one, &cpus("2-3"), Partition::Isolated).unwrap();
    assert_eq!(read(&kernel, "kubepods/cpuset.cpus.exclusive"), "2-3,7");
    kernel.remove("kubepods/pod1/app");
    assert!(matches!(
        cgroups.partition(&one, &cpus("2-3"), Partition::Isolated).unwrap_err(),
        PartitionError::Gone(_)
    ));
    cgroups.release(&one, &cpus("2-3"), &BTreeMap::new()).unwrap();
    assert_eq!(read(&kernel, "kubepods/pod1/cpuset.cpus.exclusive"), "");
    assert_eq!(read(&kernel, "kubepods/cpuset.cpus.exclusive"), "7", "what others wrote stays");
}

#[test]
fn the_kernels_own_words_are_reported() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    place(&cgroups, "kubepods/pod1/side", "3-7");
    place(&cgroups, "kubepods/pod1/app", "2-3");
    let app = path("kubepods/pod1/app");
    let error = cgroups.partition(&app, &cpus("2-3"), Partition::Isolated).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/sys/fs/cgroup/kubepods/pod1/app/cpuset.cpus.partition is \"isolated invalid (Cpu list in cpuset.cpus not \
         exclusive)\" instead of \"isolated\""
    );
    // It becomes valid when it can.
    place(&cgroups, "kubepods/pod1/side", "4-7");
    assert_eq!(cgroups.partition(&app, &cpus("2-3"), Partition::Isolated).unwrap(), Written::Changed);
    // All that one beside it may run on.
    place(&cgroups, "kubepods/pod2/app", "5");
    kernel.create("kubepods/pod2/side");
    let side = path("kubepods/pod2/side");
    let error = cgroups.partition(&side, &cpus("5"), Partition::Isolated).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to write \"5\" to /sys/fs/cgroup/kubepods/pod2/side/cpuset.cpus.exclusive"
    );
}

#[test]
fn an_old_kernel_has_no_such_partitions() {
    let kernel = kernel().without_partitions();
    let error = Cgroups::on(&kernel, ROOT).unwrap().can_partition().unwrap_err();
    assert_eq!(
        error.to_string(),
        "/sys/fs/cgroup has no cpuset.cpus.isolated: partitions below other cgroups need the hierarchy's own root and \
         Linux 6.8"
    );
    assert!(Cgroups::on(&self::kernel(), ROOT).unwrap().can_partition().is_ok());
}

proptest! {
    /// However containers come and go, those that run are valid partitions, and every cgroup above has exactly their CPUs.
    #[test]
    fn above_is_the_union_of_what_is_below(steps in prop::collection::vec((0_usize..4, 1_usize..8), 0..30)) {
        let names = ["kubepods/a/one", "kubepods/a/two", "kubepods/b/one", "system/c"];
        let kernel = names.iter().fold(MemoryHierarchy::new(cpus("0-7"), [0]), |kernel, name| kernel.with(name));
        let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
        let mut held: BTreeMap<CgroupPath, CpuSet> = BTreeMap::new();
        for (which, cpu) in steps {
            let one = path(names[which]);
            if let Some(own) = held.remove(&one) {
                cgroups.release(&one, &own, &held).unwrap();
                // What is left of it must not be in the way of the next.
                kernel.remove(names[which]);
                kernel.create(names[which]);
            }
            let own: CpuSet = cpus(&cpu.to_string());
            if held.values().all(|other| other.is_disjoint(&own)) {
                place(&cgroups, names[which], &cpu.to_string());
                cgroups.partition(&one, &own, Partition::Isolated).unwrap();
                held.insert(one, own);
            }
            for above in ["kubepods", "kubepods/a", "kubepods/b", "system"] {
                let below = held.iter().filter(|(one, _)| one.as_path().starts_with(above));
                let expected = below.fold(CpuSet::new(), |sum, (_, cpus)| &sum | cpus);
                let file = Path::new(ROOT).join(above).join("cpuset.cpus.exclusive");
                let found = kernel.read(&file).unwrap_or_default();
                prop_assert_eq!(found.trim(), expected.to_string());
            }
            let all = held.values().fold(CpuSet::new(), |sum, cpus| &sum | cpus);
            prop_assert_eq!(read(&kernel, "cpuset.cpus.isolated"), all.to_string());
        }
    }
}
