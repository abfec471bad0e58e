//! Containers on a kernel in memory.

use std::io;
use std::path::{Path, PathBuf};

use cgroup_cpuset::{
    CgroupPath, Cgroups, Files, Limits, MemoryHierarchy, NotUsable, Partition, PartitionError, Place,
    PlaceError, Quota, QuotaError, Set, Written,
};
use proptest::prelude::*;
use topology_model::NodeId;

const ROOT: &str = "/sys/fs/cgroup";

fn kernel() -> MemoryHierarchy {
    MemoryHierarchy::new("0-15".parse().unwrap(), [0, 1])
        .with("kubepods/besteffort/pod1/app")
        .with("kubepods/pod2/app")
        .with("kubepods/pod2/side")
}

fn path(text: &str) -> CgroupPath {
    CgroupPath::new(text).unwrap()
}

fn place(cpus: &str, mems: &[i64]) -> Place {
    Place {
        cpus: (!cpus.is_empty()).then(|| cpus.parse().unwrap()),
        mems: (!mems.is_empty()).then(|| mems.iter().map(|id| NodeId(*id)).collect()),
    }
}

#[test]
fn the_controller_is_enabled_from_the_root_down_and_once() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    assert_eq!(cgroups.place(&path("kubepods/pod2/app"), &place("4-7", &[1])).unwrap(), Written::Changed);
    let written = |kernel: &MemoryHierarchy| -> Vec<String> {
        kernel.writes().into_iter().map(|(file, text)| format!("{}={text}", file.display())).collect()
    };
    let expected = [
        "cgroup.subtree_control=+cpuset",
        "kubepods/cgroup.subtree_control=+cpuset",
        "kubepods/pod2/cgroup.subtree_control=+cpuset",
        "kubepods/pod2/app/cpuset.mems=1",
        "kubepods/pod2/app/cpuset.cpus=4-7",
    ];
    assert_eq!(written(&kernel), expected);
    assert_eq!(cgroups.place(&path("/kubepods/pod2/app"), &place("4-7", &[1])).unwrap(), Written::Nothing);
    assert_eq!(
        cgroups.place(&path("kubepods/pod2/side"), &place("0-3,8-15", &[])).unwrap(),
        Written::Changed
    );
    assert_eq!(cgroups.placed_on(&path("kubepods/pod2/app")).unwrap(), Some("4-7".parse().unwrap()));
    assert_eq!(cgroups.placed_on(&path("kubepods/besteffort")).unwrap(), None);
    let more = ["kubepods/pod2/side/cpuset.cpus=0-3,8-15"];
    assert_eq!(written(&kernel)[expected.len()..], more, "what is there already is not written again");
    assert_eq!(
        cgroups.effective(&path("kubepods/pod2/side"), Set::Mems).unwrap().to_string(),
        "0-1",
        "nodes were left as they are"
    );
}

#[test]
fn a_set_that_does_not_take_effect_is_an_error_that_names_who_is_narrower() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    cgroups.place(&path("kubepods/pod2"), &place("0-3", &[])).unwrap();
    let error = cgroups.place(&path("kubepods/pod2/app"), &place("2-5", &[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cpuset.cpus of cgroup /kubepods/pod2/app is 2-5, but 2-3 is in effect, since cgroup /kubepods/pod2 has no more"
    );
    // Where nothing is left the kernel takes all that is above, which must not pass for right either.
    let error = cgroups.place(&path("kubepods/pod2/app"), &place("8", &[])).unwrap_err();
    assert!(matches!(error, PlaceError::NotEffective { effective, .. } if effective.to_string() == "0-3"));
}

#[test]
fn what_the_kernel_refuses_is_said_in_its_place() {
    let busy = MemoryHierarchy::new("0-3".parse().unwrap(), [0]).with("a/b").with_processes("a");
    for (kernel, cgroup, wanted, text) in [
        (kernel(), "kubepods/pod9/app", place("1", &[]), "cgroup /kubepods/pod9/app is gone"),
        (
            busy,
            "a/b",
            place("1", &[]),
            "/sys/fs/cgroup/a/cgroup.subtree_control cannot hand the cpuset controller down, since processes are in \
             that cgroup itself",
        ),
        (
            kernel(),
            "kubepods/pod2/app",
            Place { cpus: Some(cpuset::CpuSet::new()), mems: None },
            "cpuset.cpus of cgroup /kubepods/pod2/app is to be empty, which the kernel takes for everything",
        ),
        (
            kernel(),
            "kubepods/pod2/app",
            place("99", &[]),
            "failed to write \"99\" to /sys/fs/cgroup/kubepods/pod2/app/cpuset.cpus",
        ),
        (kernel(), "kubepods/pod2/app", place("", &[-1]), "NUMA node -1 is no node of a kernel"),
    ] {
        let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
        assert_eq!(cgroups.place(&path(cgroup), &wanted).unwrap_err().to_string(), text);
    }
}

#[test]
fn a_round_repairs_what_has_drifted_and_goes_on_after_a_failure() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let [app, side, other] =
        ["kubepods/pod2/app", "kubepods/pod2/side", "kubepods/besteffort/pod1/app"].map(path);
    let (own, pool) = (place("4-7", &[1]), place("0-3,8-15", &[]));
    let wanted = || [(&app, &own), (&side, &pool), (&other, &pool)];
    assert_eq!(cgroups.reconcile(wanted()).repaired.len(), 3, "nothing was there before");
    assert_eq!(cgroups.reconcile(wanted()).in_order, 3);

    kernel.write(Path::new("/sys/fs/cgroup/kubepods/pod2/app/cpuset.cpus"), "0-15").unwrap();
    kernel.write(Path::new("/sys/fs/cgroup/kubepods/pod2/cpuset.cpus"), "0-7").unwrap();
    kernel.remove("kubepods/besteffort/pod1/app");
    let round = cgroups.reconcile(wanted());
    assert_eq!((round.in_order, round.repaired, round.gone), (0, vec![app.clone()], vec![other]));
    let failed: Vec<_> =
        round.failed.iter().map(|(cgroup, error)| (cgroup.clone(), error.to_string())).collect();
    let text = "cpuset.cpus of cgroup /kubepods/pod2/side is 0-3,8-15, but 0-3 is in effect, since cgroup \
                /kubepods/pod2 has no more";
    assert_eq!(failed, [(side, text.to_owned())]);
}

#[test]
fn a_quota_is_written_where_it_is_another() {
    let kernel = kernel();
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let half = Quota { at_most: Some(50_000), period: 100_000 };
    let app = path("kubepods/pod2/app");
    for (quota, written) in [
        (half, Written::Changed),
        (half, Written::Nothing),
        (Quota::NONE, Written::Changed),
        (Quota::NONE, Written::Nothing),
    ] {
        assert_eq!(cgroups.limit(&app, quota).unwrap(), written, "{quota}");
    }
    let gone = cgroups.limit(&path("kubepods/pod3"), half).unwrap_err();
    assert_eq!(gone.to_string(), "cgroup /kubepods/pod3 is gone");
}

/// A host that is not of version 2.
#[derive(Debug)]
struct Other(&'static [(&'static str, &'static str)]);

impl Files for Other {
    fn read(&self, path: &Path) -> io::Result<String> {
        let found = self.0.iter().find(|(own, _)| Path::new(ROOT).join(own) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, _: &Path, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[test]
fn hosts_that_cannot_be_used_are_told_apart() {
    let root = || PathBuf::from(ROOT);
    let old = Cgroups::on(Other(&[("cpuset/cpuset.cpus", "0-3\n")]), ROOT).unwrap_err();
    assert!(matches!(&old, NotUsable::Version1(at) if *at == root()), "{old}");
    let none = Cgroups::on(Other(&[]), ROOT).unwrap_err();
    assert_eq!(none.to_string(), "/sys/fs/cgroup is no cgroup v2 hierarchy");
    let without = Cgroups::on(Other(&[("cgroup.controllers", "cpu io memory\n")]), ROOT).unwrap_err();
    assert_eq!(without.to_string(), "/sys/fs/cgroup has no cpuset controller, only: cpu io memory");
}

#[test]
fn this_process_is_in_some_cgroup_or_says_why_not() {
    match cgroup_cpuset::cgroup_of(Path::new("/proc"), i32::try_from(std::process::id()).unwrap()) {
        Ok(cgroup) => assert!(cgroup.to_string().len() > 1),
        Err(error) => assert!(error.to_string().starts_with("process "), "{error}"),
    }
    let gone = cgroup_cpuset::cgroup_of(Path::new("/proc"), i32::MAX).unwrap_err();
    assert_eq!(gone.to_string(), format!("failed to read the cgroup of process {}", i32::MAX));
}

proptest! {
    /// After a success every container is on exactly its CPUs, whatever was written before.
    #[test]
    fn what_succeeds_is_in_effect(
        steps in proptest::collection::vec((0..4_usize, proptest::collection::btree_set(0..16_usize, 1..6)), 1..12)
    ) {
        let kernel = kernel();
        let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
        let all = ["kubepods", "kubepods/pod2", "kubepods/pod2/app", "kubepods/pod2/side"].map(path);
        for (at, cpus) in steps {
            let cpus: cpuset::CpuSet = cpus.into_iter().map(|cpu| cpuset::CpuId::new(cpu).unwrap()).collect();
            let wanted = Place { cpus: Some(cpus.clone()), mems: None };
            if cgroups.place(&all[at], &wanted).is_ok() {
                prop_assert_eq!(cgroups.effective(&all[at], Set::Cpus).unwrap(), cpus);
            }
        }
    }
}

/// A kernel that removes a cgroup between a look at it and a write to it.
struct Removing(MemoryHierarchy);

impl Files for Removing {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.read(path)
    }

    fn write(&self, _: &Path, _: &str) -> io::Result<()> {
        const ENODEV: i32 = 19;
        Err(io::Error::from_raw_os_error(ENODEV))
    }
}

#[test]
fn a_cgroup_that_goes_while_it_is_written_is_gone() {
    let kernel = Removing(kernel());
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let app = path("kubepods/pod2/app");
    let quota = Quota { at_most: Some(50_000), period: 100_000 };
    assert!(matches!(cgroups.place(&app, &place("4-7", &[1])).unwrap_err(), PlaceError::Gone(_)));
    assert!(matches!(cgroups.limit(&app, quota).unwrap_err(), QuotaError::Gone(_)));
    // The controller is there, so that the sets themselves are written.
    for above in ["", "kubepods", "kubepods/pod2"] {
        kernel.0.write(&Path::new(ROOT).join(above).join("cgroup.subtree_control"), "+cpuset +cpu").unwrap();
    }
    let cpus = "4-7".parse().unwrap();
    assert!(matches!(cgroups.place(&app, &place("4-7", &[])).unwrap_err(), PlaceError::Gone(_)));
    assert!(matches!(cgroups.limit(&app, quota).unwrap_err(), QuotaError::Gone(_)));
    let made = cgroups.partition(&app, &cpus, Partition::Isolated);
    assert!(matches!(made.unwrap_err(), PartitionError::Gone(_)));
    kernel.0.write(&Path::new(ROOT).join("kubepods/cpuset.cpus.exclusive"), "4-7").unwrap();
    assert_eq!(cgroups.release(&app, &cpus, &[].into()).unwrap(), Written::Changed, "nothing is left to do");
}

#[test]
fn only_what_is_limited_gets_another_limit() {
    const GI: u64 = 1 << 30;
    let kernel = kernel()
        .with_memory("kubepods", "max", 3 * GI)
        .with_memory("kubepods/pod2", &(8 * GI).to_string(), GI)
        .with_memory("kubepods/pod2/app", &(2 * GI).to_string(), GI)
        .with_memory("kubepods/pod2/side", "max", GI);
    let cgroups = Cgroups::on(&kernel, ROOT).unwrap();
    let (app, side, other) =
        (path("kubepods/pod2/app"), path("kubepods/pod2/side"), path("kubepods/besteffort/pod1/app"));
    cgroups.limit(&app, Quota { at_most: Some(100_000), period: 50_000 }).unwrap();
    let change = |cgroup: &CgroupPath, cpu: Option<u64>, memory: Option<u64>| {
        cgroups.change_limits(cgroup, &Limits { cpu, memory }).map_err(|error| error.to_string())
    };
    assert_eq!(change(&app, Some(4000), Some(4 * GI + 5)), Ok(Written::Changed));
    let text = |file: &str| kernel.read(&Path::new(ROOT).join(file)).unwrap().trim().to_owned();
    assert_eq!(text("kubepods/pod2/app/cpu.max"), "200000 50000", "the period stays");
    assert_eq!(text("kubepods/pod2/app/memory.max"), (4 * GI).to_string());
    assert_eq!(change(&app, Some(4000), Some(4 * GI + 5)), Ok(Written::Nothing), "whole pages are kept");
    assert_eq!(change(&app, None, None), Ok(Written::Nothing));
    // What has no limit gets none.
    for unlimited in [&side, &other] {
        assert_eq!(change(unlimited, Some(1000), Some(GI)), Ok(Written::Nothing));
    }
    assert_eq!(
        change(&app, None, Some(GI / 2)).unwrap_err(),
        "cgroup /kubepods/pod2/app uses 536870912 bytes of memory or more, so that this limit is not written"
    );
    assert_eq!(text("kubepods/pod2/app/memory.max"), (4 * GI).to_string());
    assert_eq!(
        change(&app, None, Some(9 * GI)).unwrap_err(),
        "memory.max of cgroup /kubepods/pod2/app is 9663676416, and cgroup /kubepods/pod2 has only 8589934592"
    );
    cgroups.limit(&path("kubepods/pod2"), Quota { at_most: Some(300_000), period: 100_000 }).unwrap();
    assert_eq!(
        change(&app, Some(5000), None).unwrap_err(),
        "cpu.max of cgroup /kubepods/pod2/app is 250000 50000, and cgroup /kubepods/pod2 has only 300000 100000"
    );
    assert_eq!(change(&app, Some(3000), None), Ok(Written::Changed));
    // One that cannot be had keeps the other from nothing.
    change(&app, Some(2000), Some(9 * GI)).unwrap_err();
    assert_eq!(text("kubepods/pod2/app/cpu.max"), "100000 50000");
}
