//! Interrupts beside partitions in memory; `/proc` is a folder.

use std::fs;
use std::path::PathBuf;

use cgroup_cpuset::{Noise, Partition};

use super::super::bench::Bench;
use super::*;

const ISOLATED: Option<Partition> = Some(Partition::Isolated);
const OWN: [(&str, &str); 2] = [("a", "2-3"), ("shared", "0-1,4-7")];
const NONE: [(&str, &str); 1] = [("shared", "0-7")];

impl Bench {
    fn moving(interrupts: &[(u32, &str)]) -> Self {
        let mut bench = Self::new();
        for (number, cpus) in interrupts {
            fs::create_dir_all(bench.proc.path().join(format!("irq/{number}/driver"))).unwrap();
            bench.put(&format!("irq/{number}/smp_affinity_list"), cpus);
        }
        bench.boot("first");
        bench.restart_with(CpuInterrupts::Move, ISOLATED);
        bench
    }

    fn put(&self, file: &str, text: &str) {
        fs::write(self.proc.path().join(file), text).unwrap();
    }

    fn boot(&self, id: &str) {
        fs::create_dir_all(self.proc.path().join("sys/kernel/random")).unwrap();
        self.put("sys/kernel/random/boot_id", id);
    }

    fn restart_with(&mut self, rule: CpuInterrupts, kind: Option<Partition>) {
        self.rule = rule;
        self.restart(kind);
    }

    /// A round; what is found then, and where interrupts are.
    fn look(&mut self, containers: &[(&str, &str)]) -> (Findings, Vec<String>) {
        self.round(containers);
        let mut found = Findings { cpus: self.keeper.isolation.cpus(), ..Findings::default() };
        self.keeper.move_interrupts(&mut found);
        self.keeper.find_noise(&mut found);
        let mut all: Vec<PathBuf> =
            fs::read_dir(self.proc.path().join("irq")).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        let each = all.iter().map(|irq| fs::read_to_string(irq.join("smp_affinity_list")).unwrap());
        (found, each.collect())
    }
}

#[test]
fn interrupts_leave_when_a_partition_is_made_and_come_back_when_it_ends() {
    let mut bench = Bench::moving(&[(1, "0-7"), (2, "0-1"), (3, "3")]);
    assert_eq!(bench.look(&NONE).1, ["0-7", "0-1", "3"]);
    let (found, at) = bench.look(&OWN);
    assert_eq!(
        (found.note(), at),
        (None, vec!["0-1,4-7".to_owned(), "0-1".to_owned(), "0-1,4-7".to_owned()])
    );
    // The next daemon knows where they were, and that another program has moved one.
    bench.restart(ISOLATED);
    bench.put("irq/3/smp_affinity_list", "5");
    assert_eq!(bench.look(&OWN).1, ["0-1,4-7", "0-1", "5"]);
    bench.restart(ISOLATED);
    assert_eq!(bench.look(&NONE).1, ["0-7", "0-1", "5"]);
    bench.restart(None);
    assert!(bench.keeper.is_off(), "nothing is left to do");
}

#[test]
fn without_the_option_they_come_back() {
    for (rule, kind) in [(CpuInterrupts::Leave, ISOLATED), (CpuInterrupts::Leave, None)] {
        let mut bench = Bench::moving(&[(1, "0-7")]);
        bench.look(&OWN);
        bench.restart_with(rule, kind);
        assert!(!bench.keeper.is_off());
        assert_eq!(bench.look(&OWN).1, ["0-7"]);
        assert_eq!(bench.keeper.is_off(), kind.is_none());
    }
}

#[test]
fn what_an_earlier_boot_moved_is_not_known_any_more() {
    let mut bench = Bench::moving(&[(1, "0-7")]);
    bench.look(&OWN);
    bench.boot("second");
    bench.restart(ISOLATED);
    assert_eq!(bench.look(&NONE).1, ["0-1,4-7"]);
}

#[test]
fn an_unknown_boot_is_another_one() {
    let mut bench = Bench::moving(&[(1, "0-7")]);
    bench.boot("");
    bench.restart(ISOLATED);
    bench.look(&OWN);
    bench.restart(ISOLATED);
    assert_eq!(bench.look(&NONE).1, ["0-1,4-7"]);
}

#[test]
fn all_come_back_where_nothing_is_enforced_any_more() {
    let mut bench = Bench::moving(&[(1, "0-7"), (2, "2")]);
    bench.look(&OWN);
    bench.restart(None);
    bench.keeper.quiet.give_back();
    assert!(bench.keeper.quiet.is_off());
    assert_eq!(bench.look(&OWN).1, ["0-7", "2"]);
}

#[test]
fn what_comes_and_goes_is_logged_once() {
    let mut logged = Conditions::new();
    let mut says = |interrupts: &[u32], threads: &[&str]| {
        let threads = (0..).zip(threads).map(|(id, name)| (id, (*name).to_owned()));
        let noise =
            Noise { interrupts: interrupts.iter().copied().collect(), kernel_threads: threads.collect() };
        has_news(&mut logged, &Findings { noise, ..Findings::default() }, Duration::ZERO)
    };
    assert!(says(&[1], &["kworker/u8:0"]));
    assert!(!says(&[1], &[]));
    assert!(!says(&[], &["kworker/u8:0", "kworker/u8:0"]));
    assert!(says(&[1], &["kworker/u8:1"]));
    assert!(says(&[1, 2], &[]));
}

#[test]
fn what_stays_is_counted() {
    let mut bench = Bench::moving(&[(1, "0-7"), (2, "2")]);
    bench.put("irq/2/managed", "");
    let file = bench.proc.path().join("irq/2/smp_affinity_list");
    let why = format!("failed to write \"0-1,4-7\" to {}: Input/output error (os error 5)", file.display());
    let note = format!("CPUs 2-3 of partitions serve 1 interrupt, of which 1 cannot be moved ({why})");
    for _ in 0..2 {
        let (found, at) = bench.look(&OWN);
        assert_eq!(
            ([found.note().as_slice(), &found.failed].concat(), found.unmovable_there().count()),
            (vec![note.clone()], 1)
        );
        assert_eq!(at, ["0-1,4-7", "2"]);
    }
    // They are not moved, and are all counted.
    bench.restart_with(CpuInterrupts::Leave, ISOLATED);
    let (found, at) = bench.look(&OWN);
    assert_eq!(found.note().as_deref(), Some("CPUs 2-3 of partitions serve 2 interrupts"));
    assert_eq!(at, ["0-7", "2"]);
    assert_eq!(bench.look(&NONE).0.note(), None);
}

#[test]
fn a_damaged_file_and_a_full_disk_are_reported() {
    let mut bench = Bench::moving(&[(1, "0-7")]);
    fs::create_dir(bench.folder.path().join("moved_interrupts.json.tmp")).unwrap();
    let (found, at) = bench.look(&OWN);
    assert_eq!((&found.noise.interrupts, at), (&[1].into(), vec!["0-7".to_owned()]), "it is not moved");
    let file = bench.folder.path().join(FILE);
    let why = format!(
        "failed to move interrupts: failed to write {}: Is a directory (os error 21)",
        file.display()
    );
    assert_eq!(found.failed, [why]);
    let all = ["[", r#"{"boot": "first", "interrupts": {"1": {"home": "x", "away": []}}}"#];
    for (at, text) in all.into_iter().enumerate() {
        fs::write(bench.folder.path().join(FILE), text).unwrap();
        let proc = bench.proc.path();
        let loaded = Quiet::load(bench.kernel.clone(), proc, CpuInterrupts::Move, bench.folder.path());
        assert!(loaded.unwrap().is_off(), "{text}");
        let aside = bench.folder.path().join(format!("{FILE}.bak-{}", at + 1));
        assert_eq!(fs::read_to_string(aside).unwrap(), text);
    }
}
