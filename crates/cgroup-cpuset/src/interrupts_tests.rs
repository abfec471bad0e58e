//! Interrupts of a kernel that is a folder of files.

use super::*;
use crate::files::Kernel;

/// Files that forget what was there, as the kernel's do, and that keep managed interrupts where they are.
struct Folder;

impl Files for Folder {
    fn read(&self, path: &Path) -> io::Result<String> {
        Kernel.read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        if path.with_file_name("managed").exists() {
            return Err(io::Error::from_raw_os_error(5));
        }
        // Some controllers take one CPU at a time.
        let one = path.with_file_name("single").exists();
        let text = if one { text.split(['-', ',']).next().unwrap() } else { text };
        fs::write(path, text)
    }
}

/// What a kernel says of a thread that ran on CPU 1 last.
const STAT: &str = "2778 (kworker/u8:3-flush-254:0) I 2 0 0 0 -1 69238880 0 0 0 0 0 6 0 0 20 0 1 0 4604307 0 0 \
                    18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

struct Proc {
    folder: tempfile::TempDir,
    kernel: Interrupts<Folder>,
}

impl Proc {
    /// Interrupts with their CPUs.
    fn new(interrupts: &[(u32, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (number, cpus) in interrupts {
            let at = folder.path().join(format!("irq/{number}"));
            fs::create_dir_all(at.join("nic-rx")).unwrap();
            fs::write(at.join("smp_affinity_list"), format!("{cpus}\n")).unwrap();
        }
        let kernel = Interrupts::new(Folder, folder.path());
        Self { folder, kernel }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn put(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    /// A process with name, parent, last CPU and CPUs.
    fn process(&self, id: u32, (name, parent, last, allowed): (&str, u32, usize, &str)) {
        fs::create_dir(self.path(&id.to_string())).unwrap();
        let stat = STAT.replace("kworker/u8:3-flush-254:0", name);
        let stat = stat.replace(" I 2 ", &format!(" I {parent} ")).replace(" 17 1 ", &format!(" 17 {last} "));
        self.put(&format!("{id}/stat"), &stat);
        self.put(&format!("{id}/status"), &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"));
    }

    fn affinities(&self) -> Vec<String> {
        let numbers = self.kernel.numbers().unwrap().into_iter();
        numbers.map(|number| self.kernel.affinity(number).unwrap().to_string()).collect()
    }

    /// On a machine with CPUs 0 to 3.
    fn keep_off(&mut self, taken: &str, moved: &mut Moved) -> (Vec<String>, BTreeSet<u32>) {
        let stuck = self.kernel.keep_off(&cpus(taken), &cpus("0-3"), moved, |_| Ok(())).unwrap();
        (self.affinities(), stuck.into_keys().collect())
    }
}

fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn moved<const N: usize>(all: [(u32, &str, &[&str]); N]) -> Moved {
    let one = |(number, home, away): (u32, &str, &[&str])| {
        (number, Move { home: cpus(home), away: away.iter().map(|away| cpus(away)).collect() })
    };
    all.into_iter().map(one).collect()
}

#[test]
fn what_may_run_elsewhere_is_counted() {
    let proc = Proc::new(&[(1, "0-3"), (2, "0-1"), (3, "2"), (4, "2")]);
    fs::remove_dir(proc.path("irq/4/nic-rx")).unwrap();
    for (id, process) in [
        (10, ("kworker/u8:0+events_unbound", 2, 2, "0-3")),
        (11, ("ksoftirqd/2", 2, 2, "2")),
        (12, ("odd) name (", 2, 3, "0-3")),
        (13, ("kworker/u8:1", 2, 1, "0-3")),
        (14, ("bash", 1, 2, "0-3")),
        (15, ("kswapd0", 2, 2, "0-1")),
        (16, ("kworker/R-mm_percpu_wq", 2, 2, "0-3")),
    ] {
        proc.process(id, process);
    }
    let noise = proc.kernel.noise(&cpus("2-3")).unwrap();
    assert_eq!(noise.interrupts, [1, 3].into(), "nobody handles the fourth");
    let names: Vec<&str> = noise.kernel_threads.values().map(String::as_str).collect();
    assert_eq!(names, ["kworker/u8:0", "odd) name (", "kworker/R-mm_percpu_wq"]);
    assert_eq!(proc.kernel.noise(&cpus("")).unwrap(), Noise::default());
    // Where the kernel serves it counts, not where it might.
    proc.put("irq/1/effective_affinity_list", "1\n");
    proc.put("irq/3/effective_affinity_list", "\n");
    assert_eq!(proc.kernel.noise(&cpus("2-3")).unwrap().interrupts, [].into());
    // It was moved, and has not come since.
    proc.put("irq/2/effective_affinity_list", "3\n");
    assert_eq!(proc.kernel.noise(&cpus("2-3")).unwrap().interrupts, [].into());
    proc.put("irq/2/smp_affinity_list", "0-3\n");
    assert_eq!(proc.kernel.noise(&cpus("2-3")).unwrap().interrupts, [2].into());
    let error = Interrupts::new(Folder, "/no-such-folder").noise(&cpus("2")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to list /no-such-folder/irq: No such file or directory (os error 2)"
    );
}

#[test]
fn interrupts_move_away_and_get_back_what_they_lost() {
    let mut proc = Proc::new(&[(1, "0-3"), (2, "0-1"), (3, "2")]);
    let mut own = Moved::new();
    assert_eq!(proc.keep_off("2-3", &mut own).0, ["0-1", "0-1", "0-1"]);
    assert_eq!(own, moved([(1, "0-3", &["0-1"]), (3, "2", &["0-1"])]));
    assert_eq!(proc.keep_off("2-3", &mut own), (vec!["0-1".to_owned(); 3], [].into()));
    // One of two partitions is released.
    assert_eq!(proc.keep_off("3", &mut own).0, ["0-2", "0-1", "2"]);
    assert_eq!(own, moved([(1, "0-3", &["0-2"])]));
    assert_eq!(proc.keep_off("", &mut own).0, ["0-3", "0-1", "2"]);
    assert!(own.is_empty());
}

#[test]
fn what_others_wrote_meanwhile_stands() {
    let mut proc = Proc::new(&[(1, "0-3"), (2, "0-3"), (3, "0-3")]);
    let mut own = Moved::new();
    proc.keep_off("2-3", &mut own);
    proc.put("irq/1/smp_affinity_list", "1\n");
    proc.put("irq/2/smp_affinity_list", "1-2\n");
    assert_eq!(proc.keep_off("2-3", &mut own).0, ["1", "1", "0-1"]);
    assert_eq!(own, moved([(2, "1-2", &["1"]), (3, "0-3", &["0-1"])]));
    assert_eq!(proc.keep_off("", &mut own).0, ["1", "1-2", "0-3"]);
    // Gone, and another one with its number.
    proc.keep_off("2-3", &mut own);
    fs::remove_dir_all(proc.path("irq/3")).unwrap();
    assert_eq!(proc.keep_off("2-3", &mut own).0, ["1", "1"]);
    assert_eq!(own, moved([(2, "1-2", &["1"])]));
}

#[test]
fn what_is_noted_is_enough_wherever_it_ends() {
    // With each step an end before it, after the note and after each write.
    for (home, steps) in [("0-3", ["2-3", "3", ""]), ("2", ["2-3", "1-2", ""]), ("1-2", ["2", "", "1-2"])] {
        for end in 0..3_usize {
            for taken in 0..steps.len() {
                let mut proc = Proc::new(&[(1, home), (2, home)]);
                let mut own = Moved::new();
                for step in &steps[..taken] {
                    proc.keep_off(step, &mut own);
                }
                let (before, mut noted) = (proc.affinities(), own.clone());
                let remember = |to_note: &Moved| {
                    // The note after the writes never comes.
                    if proc.affinities() == before && end > 0 {
                        noted = to_note.clone();
                    }
                    Ok(())
                };
                let others = cpus("0-3");
                let mut kernel = Interrupts::new(Folder, proc.folder.path());
                kernel.keep_off(&cpus(steps[taken]), &others, &mut own, remember).unwrap();
                // Only so many were written.
                for number in [1_u32, 2].into_iter().skip(end.saturating_sub(1)) {
                    let file = format!("irq/{number}/smp_affinity_list");
                    proc.put(&file, &before[usize::try_from(number - 1).unwrap()]);
                }
                let mut next = noted;
                proc.keep_off(steps[taken], &mut next);
                assert_eq!(proc.keep_off("", &mut next).0, [home; 2], "{home} {steps:?} {taken} {end}");
                assert!(next.is_empty());
            }
        }
    }
}

#[test]
fn what_the_kernel_keeps_is_counted_and_tried_again() {
    let mut proc = Proc::new(&[(1, "0-3"), (2, "2-3")]);
    proc.put("irq/1/managed", "");
    let mut own = Moved::new();
    let (affinities, refused) = proc.keep_off("3", &mut own);
    assert_eq!((affinities, refused), (vec!["0-3".to_owned(), "2".to_owned()], [1].into()));
    assert_eq!(own, moved([(2, "2-3", &["2"])]));
    // One that cannot be moved back for now is not forgotten.
    proc.put("irq/2/managed", "");
    assert_eq!(proc.keep_off("", &mut own).1, [2].into());
    assert_eq!(own, moved([(2, "2-3", &["2"])]));
    fs::remove_file(proc.path("irq/2/managed")).unwrap();
    assert_eq!(proc.keep_off("", &mut own).1, [2].into(), "it is not tried each time");
    proc.kernel.try_again();
    assert_eq!(proc.keep_off("", &mut own), (vec!["0-3".to_owned(), "2-3".to_owned()], [].into()));
    // What the controller made of it is what counts.
    proc.put("irq/2/single", "");
    assert_eq!(proc.keep_off("3", &mut own), (vec!["0-3".to_owned(), "2".to_owned()], [1].into()));
    assert_eq!(proc.keep_off("2", &mut own).0, ["0-3", "3"]);
    // All CPUs are taken.
    assert_eq!(proc.keep_off("0-3", &mut own).0, ["0-3", "3"]);
}

#[test]
fn what_stays_costs_no_further_write() {
    let mut proc = Proc::new(&[(1, "0-3"), (2, "0-3"), (3, "0-3")]);
    proc.put("irq/1/managed", "");
    proc.put("irq/2/single", "");
    let (taken, others, mut own, mut noted) = (cpus("3"), cpus("0-3"), Moved::new(), 0);
    for expected in [2, 2] {
        let remember = |_: &Moved| {
            noted += 1;
            Ok(())
        };
        let stuck = proc.kernel.keep_off(&taken, &others, &mut own, remember).unwrap();
        assert_eq!(noted, expected, "before and after the first writes");
        let irq = proc.path("irq");
        let of = |number: u32, text: &str| (number, text.replace("IRQ", irq.to_str().unwrap()));
        let why = [
            of(1, "failed to write \"0-2\" to IRQ/1/smp_affinity_list: Input/output error (os error 5)"),
            of(2, "IRQ/2/smp_affinity_list is 0 after 0-2 was written"),
        ];
        assert_eq!(stuck, why.into());
    }
    assert_eq!(own, moved([(2, "0-3", &["0"]), (3, "0-3", &["0-2"])]));
}

#[test]
fn what_cannot_be_remembered_is_not_written() {
    let mut proc = Proc::new(&[(1, "0-3")]);
    let mut own = Moved::new();
    let full = |_: &Moved| Err(io::ErrorKind::StorageFull.into());
    proc.kernel.keep_off(&cpus("3"), &cpus("0-3"), &mut own, full).unwrap_err();
    assert_eq!((proc.affinities(), own), (vec!["0-3".to_owned()], Moved::new()));
}
