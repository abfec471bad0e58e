//! The process of a container. By commands on its standard input it touches memory, reserves huge pages, keeps CPUs busy, and
//! watches on which CPUs it runs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufRead as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::fcntl::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;

/// What a process has seen of itself.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// How often it looked.
    pub(crate) looks: u64,
    /// The CPUs on which it ran at these looks.
    pub(crate) on: BTreeSet<usize>,
    /// The CPUs on which it was allowed to run, as lists of the kernel.
    pub(crate) allowed: BTreeSet<String>,
    /// Pages that did not hold what the process had written.
    pub(crate) wrong_pages: u64,
}

/// Answers each line `touch MIB`, `huge PAGES`, `spin THREADS` or `watch MIB` with `done`, or with what failed, and `seen` with
/// what was seen since it was asked last. Ends with its input.
#[expect(clippy::print_stdout, reason = "its answers")]
pub(crate) fn work() {
    let mut touched: Vec<Vec<u8>> = Vec::new();
    let mut files = Vec::new();
    let seen = Arc::<Mutex<Seen>>::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (what, count) = line.split_once(' ').unwrap_or((&line, ""));
        let count: usize = count.parse().unwrap_or(0);
        match what {
            "touch" => {
                touched.push(vec![1; count * MIB]);
                println!("done");
            }
            "spin" => {
                for _ in 0..count {
                    std::thread::spawn(|| {
                        loop {
                            std::hint::spin_loop();
                        }
                    });
                }
                println!("done");
            }
            "huge" => match huge(count) {
                Ok(file) => {
                    files.push(file);
                    println!("done");
                }
                Err(error) => println!("{error}"),
            },
            "watch" => {
                let (memory, seen) = (vec![0; count * MIB], seen.clone());
                std::thread::spawn(move || watch(memory, &seen));
                println!("done");
            }
            "seen" => {
                let taken = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
                println!("{}", serde_json::json!(taken));
            }
            _ => println!("{line}: unknown"),
        }
    }
}

/// Looks at itself again and again, and at each page of its memory, which it writes anew each time.
fn watch(mut memory: Vec<u8>, seen: &Mutex<Seen>) {
    let mut mark = 0_u8;
    loop {
        let mut wrong_pages = 0;
        let next = mark.wrapping_add(1);
        for page in memory.chunks_mut(PAGE) {
            if let Some(first) = page.first_mut() {
                wrong_pages += u64::from(*first != mark);
                *first = next;
            }
        }
        mark = next;
        let (on, allowed) = (cpu(), allowed());
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.looks += 1;
        seen.wrong_pages += wrong_pages;
        seen.on.extend(on);
        seen.allowed.extend(allowed);
        drop(seen);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The CPU on which this thread is.
fn cpu() -> Option<usize> {
    let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name before may have spaces. `processor` is the 39th field, and the third follows the name.
    stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
}

/// The CPUs on which this thread may be.
fn allowed() -> Option<String> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

/// Works for a moment and sleeps for a longer one, for ever: the scheduler may put it on any CPU each time.
pub(crate) fn tick() -> ! {
    const WORK: Duration = Duration::from_millis(1);
    loop {
        let began = Instant::now();
        while began.elapsed() < WORK {
            std::hint::spin_loop();
        }
        std::thread::sleep(9 * WORK);
    }
}

/// A file of so many huge pages, which the kernel takes from a node at once.
fn huge(pages: usize) -> std::io::Result<File> {
    let file = File::create(format!("/dev/hugepages/{}", std::process::id()))?;
    let size = i64::try_from(2 * pages * MIB).map_err(std::io::Error::other)?;
    fallocate(&file, FallocateFlags::empty(), 0, size)?;
    Ok(file)
}
