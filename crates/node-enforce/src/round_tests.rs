//! The order of writes: containers that get each other's CPUs, and those that wait for a partition.

use cgroup_cpuset::Partition;
use cpuset::CpuId;
use proptest::prelude::*;

use super::super::bench::{Bench, problems_of};
use super::super::isolation;
use super::*;

const ISOLATED: Option<Partition> = Some(Partition::Isolated);

#[test]
fn no_cpu_has_two_owners_while_containers_get_those_of_each_other() {
    for (kind, restarts) in [(ISOLATED, false), (ISOLATED, true), (None, false), (None, true)] {
        for (before, after, expected) in [
            // They swap all.
            (
                [("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")],
                [("a", "4-5"), ("b", "2-3"), ("shared", "0-1,6-7")],
                &["a/c/cpus=0-1,6-7", "b/c/cpus=2-3", "a/c/cpus=4-5"][..],
            ),
            // They swap one, beside one that stays.
            (
                [("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")],
                [("a", "3-4"), ("b", "2,5"), ("shared", "0-1,6-7")],
                &["a/c/cpus=3", "b/c/cpus=2,5", "a/c/cpus=3-4"],
            ),
            // Each gains a CPU of another one.
            (
                [("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")],
                [("a", "2,4"), ("b", "5-6"), ("shared", "0-1,3,7")],
                &["a/c/cpus=2", "shared/c/cpus=0-1,3,7", "b/c/cpus=5-6", "a/c/cpus=2,4"],
            ),
        ] {
            let mut bench = Bench::new();
            bench.restart(kind);
            bench.round(&before);
            if restarts {
                bench.restart(kind);
            }
            bench.written();
            assert_eq!(problems_of(&bench.round(&after)), []);
            assert_eq!(bench.placed(), expected);
            bench.nothing_twice();
            for (name, cpus) in after {
                assert_eq!(bench.read(&format!("pods/{name}/c/cpuset.cpus.effective")), cpus);
            }
            for name in ["a", "b"] {
                let expected = if kind.is_some() { "isolated" } else { "member" };
                assert_eq!(bench.read(&format!("pods/{name}/c/cpuset.cpus.partition")), expected);
            }
        }
    }
}

fn waiting(outcome: &Outcome) -> Vec<String> {
    let each = outcome.problems.iter().map(|problem| match &problem.kind {
        ContainerProblemKind::Waits(why) => format!("{}: {why}", problem.id),
        other => panic!("{other:?}"),
    });
    each.collect()
}

#[test]
fn who_gets_cpus_of_a_partition_that_stays_waits_for_them() {
    let mut bench = Bench::new();
    bench.round(&[("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")]);
    bench.written();
    // It ends, and the cgroup above cannot be written.
    bench.refuse("pods/cpuset.cpus.exclusive");
    let next = [("b", "3-5"), ("shared", "0-2,6-7")];
    let outcome = bench.round(&next);
    // That of `b` stays too, since it is not known what the cgroup above leaves.
    let kept: Vec<_> = outcome.partition_problems.iter().map(|problem| &problem.kind).collect();
    assert!(
        matches!(
            kept[..],
            [
                isolation::PartitionProblemKind::NotReleased(_),
                isolation::PartitionProblemKind::NotReleased(_)
            ]
        ),
        "{kept:?}"
    );
    assert_eq!(
        waiting(&outcome),
        ["b: partition /pods/a/c still has 3", "shared: partition /pods/a/c still has 2",]
    );
    assert_eq!(bench.placed(), [""; 0]);
    assert_eq!(bench.read("pods/b/c/cpuset.cpus"), "4-5");
    // It is reported once.
    let again = bench.round(&next);
    assert_eq!((waiting(&again), again.partition_problems), (vec![], vec![]));
    bench.refuse_nothing();
    assert_eq!(problems_of(&bench.round(&next)), []);
    assert_eq!(bench.placed(), ["b/c/cpus=3-5", "shared/c/cpus=0-2,6-7"]);
    assert_eq!(bench.read("cpuset.cpus.isolated"), "3-5");
    bench.nothing_twice();
}

#[test]
fn who_waits_keeps_what_it_has_and_who_starts_shares() {
    let mut bench = Bench::new();
    bench.round(&[("a", "2-3"), ("b", "4"), ("shared", "0-1,5-7")]);
    bench.written();
    bench.refuse("pods/a/c/cpuset.cpus.partition");
    bench.kernel.0.hierarchy.create("pods/new/c");
    // `b` cannot go where `a` is, so that who starts does not get what `b` has.
    let next = [("a", "5-6"), ("b", "2-3"), ("new", "4"), ("shared", "0-1,7")];
    let outcome = bench.round(&next);
    assert_eq!(
        waiting(&outcome),
        [
            "a: it gets 5-6 when its own partition is released",
            "b: partition /pods/a/c or container a still has 2-3",
            "new: container b still has 4",
        ]
    );
    let partitions: Vec<String> =
        outcome.partition_problems.iter().map(|one| format!("{} {:?}", one.cgroup, one.kind)).collect();
    assert_eq!(
        partitions,
        [
            "/pods/a/c NotReleased(\"failed to write \\\"member\\\" to /sys/fs/cgroup/pods/a/c/cpuset.cpus.partition: \
             Device or resource busy (os error 16)\")",
            "/pods/b/c NotMade(\"not all of CPUs 2-3 are free yet\")",
            "/pods/new/c NotMade(\"not all of CPUs 4 are free yet\")",
        ]
    );
    assert_eq!(bench.keeper.isolation.cpus().to_string(), "2-3", "that of `a` is still there");
    let again = bench.round(&next);
    assert_eq!((waiting(&again), again.partition_problems), (vec![], vec![]), "it is reported once");
    assert_eq!(bench.keeper.isolation.faults().count(), 3);
    assert_eq!(bench.placed(), ["new/c/cpus=0-1,7", "shared/c/cpus=0-1,7"]);
    bench.refuse_nothing();
    assert_eq!(problems_of(&bench.round(&next)), []);
    assert_eq!(bench.placed(), ["a/c/cpus=5-6", "b/c/cpus=2-3", "new/c/cpus=4"]);
    assert_eq!(bench.read("cpuset.cpus.isolated"), "2-6");
    bench.nothing_twice();
}

#[test]
fn who_gets_cpus_of_a_container_that_cannot_be_moved_waits_for_them() {
    for kind in [None, ISOLATED] {
        let mut bench = Bench::new();
        bench.restart(kind);
        bench.round(&[("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")]);
        bench.written();
        bench.refuse("pods/a/c/cpuset.cpus");
        // It gives CPU 3 to `b` and CPU 2 to all.
        let next = [("a", "6"), ("b", "3-4"), ("shared", "0-2,5,7")];
        let outcome = bench.round(&next);
        let why: Vec<String> =
            outcome.problems.iter().map(|one| format!("{}: {:?}", one.id, one.kind)).collect();
        let failed = "failed to write \\\"6\\\" to /sys/fs/cgroup/pods/a/c/cpuset.cpus: Device or resource busy (os error 16)";
        assert_eq!(
            why,
            [
                format!("a: Failed(\"{failed}\")"),
                "b: Waits(\"container a still has 3\")".to_owned(),
                "shared: Waits(\"container a still has 2\")".to_owned(),
            ]
        );
        assert_eq!(bench.placed(), ["b/c/cpus=4", "shared/c/cpus=0-1,5,7"]);
        // It is reported once, and no cgroup is written again.
        let again = bench.round(&next);
        assert_eq!((again.problems, again.drifted, bench.placed()), (vec![], 0, vec![]));
        assert!(!bench.keeper.takes_single_orders());
        bench.refuse_nothing();
        assert_eq!(problems_of(&bench.round(&next)), []);
        for (name, cpus) in next {
            assert_eq!(bench.read(&format!("pods/{name}/c/cpuset.cpus.effective")), cpus);
        }
        assert_eq!(bench.keeper.takes_single_orders(), kind.is_none());
        bench.nothing_twice();
    }
}

#[test]
fn a_partition_whose_container_lacks_cpus_is_checked_and_no_container_waits_for_it() {
    let mut bench = Bench::new();
    let all = [("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")];
    bench.round(&all);
    // Another program takes CPU 3 from all of them, and ends the partition.
    bench.write("pods/cpuset.cpus", "0-2,4-7");
    bench.write("pods/a/c/cpuset.cpus.partition", "member");
    bench.write("pods/a/c/cpu.max", "200000 100000");
    let outcome = bench.round(&all);
    let lacks = "cpuset.cpus of cgroup /pods/a/c is 2-3, but 2 is in effect, since cgroup /pods has no more";
    let problems: Vec<_> = outcome.problems.iter().map(|one| (one.id.as_str(), &one.kind)).collect();
    assert_eq!(problems, [("a", &ContainerProblemKind::Failed(lacks.to_owned()))]);
    let partitions: Vec<_> = outcome.partition_problems.iter().map(|one| &one.kind).collect();
    assert_eq!(partitions, [&isolation::PartitionProblemKind::Repaired]);
    assert_eq!(bench.read("pods/a/c/cpuset.cpus.partition"), "isolated");
    assert_eq!(bench.read("pods/a/c/cpu.max"), "max 100000", "it has no quota all the same");
    assert_eq!(bench.round(&all).partition_problems, []);
}

#[test]
fn a_container_with_none_of_its_cpus_makes_no_other_wait() {
    let mut bench = Bench::new();
    bench.restart(None);
    bench.round(&[("a", "2-3"), ("b", "4"), ("shared", "0-1,5-7")]);
    bench.write("pods/cpuset.cpus", "0-1,4-7");
    let next = [("a", "2-3"), ("b", "4-5"), ("shared", "0-1,6-7")];
    let outcome = bench.round(&next);
    let who: Vec<_> = outcome.problems.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(who, ["a"], "{outcome:?}");
    assert_eq!(bench.read("pods/b/c/cpuset.cpus"), "4-5");
    assert_eq!(bench.round(&next).problems, []);
}

/// One round: who has each CPU, of which the first is shared; who cannot be written, and which of its files; whether the
/// daemon restarts before.
type Step = (Vec<usize>, Option<(usize, &'static str)>, bool);

const REFUSED: &[&str] = &["cpuset.cpus.exclusive", "c/cpuset.cpus.exclusive", "c/cpuset.cpus"];
const NAMES: [&str; 4] = ["shared", "a", "b", "d"];

fn places(owners: &[usize]) -> Vec<(&'static str, String)> {
    let of = |owner: usize| -> CpuSet {
        let own = (0..).zip(owners).filter(|(_, of)| **of == owner);
        own.map(|(cpu, _)| CpuId::new(cpu).unwrap()).collect()
    };
    let all = (0..NAMES.len()).map(|owner| (NAMES[owner], of(owner)));
    all.filter(|(_, cpus)| !cpus.is_empty()).map(|(name, cpus)| (name, cpus.to_string())).collect()
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owners = prop::collection::vec(0..NAMES.len(), 7).prop_map(|rest| [vec![0], rest].concat());
    let refused = prop::option::of((0..NAMES.len(), prop::sample::select(REFUSED)));
    prop::collection::vec((owners, refused, any::<bool>()), 1..6)
}

proptest! {
    /// However CPUs change hands, whatever is not let go or not moved and wherever the daemon restarts: no two containers
    /// have a CPU that only one of them should have, and all are where they belong when they can be.
    #[test]
    fn cpus_have_one_owner_at_every_write(steps in steps(), kind in prop::sample::select(&[None, ISOLATED][..])) {
        let mut bench = Bench::new();
        bench.restart(kind);
        let mut last = Vec::new();
        for (owners, refused, restarts) in &steps {
            if *restarts {
                bench.restart(kind);
            }
            bench.refuse_nothing();
            last = places(owners);
            let hierarchy = &bench.kernel.0.hierarchy;
            for name in NAMES {
                let cgroup = format!("pods/{name}/c");
                if last.iter().any(|(running, _)| *running == name) {
                    hierarchy.create(&cgroup);
                } else {
                    hierarchy.remove(&cgroup);
                }
            }
            if let Some((refused, file)) = refused {
                bench.refuse(&format!("pods/{}/{file}", NAMES[*refused]));
            }
            let round: Vec<(&str, &str)> = last.iter().map(|(name, cpus)| (*name, cpus.as_str())).collect();
            bench.round(&round);
            prop_assert_eq!(&*bench.kernel.0.twice.lock(), &[""; 0]);
        }
        bench.refuse_nothing();
        let round: Vec<(&str, &str)> = last.iter().map(|(name, cpus)| (*name, cpus.as_str())).collect();
        bench.round(&round);
        prop_assert_eq!(&*bench.kernel.0.twice.lock(), &[""; 0]);
        for (name, cpus) in &last {
            prop_assert_eq!(&bench.read(&format!("pods/{name}/c/cpuset.cpus.effective")), cpus);
            let expected = if *name == "shared" || kind.is_none() { "member" } else { "isolated" };
            prop_assert_eq!(bench.read(&format!("pods/{name}/c/cpuset.cpus.partition")), expected);
        }
    }
}
