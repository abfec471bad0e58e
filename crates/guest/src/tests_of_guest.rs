//! The tests of one machine that run in a guest: its three boots, and a summary. The tests themselves are in `inside/tests.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::boot::{Boot, Next, disk};
use crate::image::Programs;
use crate::needs::folder;
use crate::shape::Shape;
use crate::translate::{arguments, kernel_line};

/// The guest loses power after so many confirmed changes of its pods.
const CHANGES: usize = 24;
/// Memory in MiB that a node lacks in the last boot.
const LESS: u64 = 64;

/// A run of the tests of one machine.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) kernel: PathBuf,
    pub(crate) programs: Programs,
    pub(crate) shape: Shape,
    /// Parts of the names of the tests that run; none: all run.
    pub(crate) test: Vec<String>,
    /// How often topolet is killed amid moves of running pods; `None`: a few times.
    pub(crate) kills: Option<u32>,
    /// Which moments those are.
    pub(crate) seed: u64,
    pub(crate) limit: Duration,
    pub(crate) wrong_cpusets: bool,
}

/// The boots of a machine, in their order. They share a disk with topolet's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Ends with a power loss amid changes.
    First,
    AfterPowerLoss,
    /// The last node with CPUs has less memory.
    LessMemory,
}

/// The results of the tests of all boots so far.
#[derive(Default, Debug)]
struct Summary {
    passed: usize,
    failed: Vec<String>,
    /// Lines `ack ...` of the guest, which name changes that topolet has confirmed.
    acknowledged: Vec<String>,
    /// Whether the present boot came to its end: its last line was seen, or its power was cut.
    is_done: bool,
}

impl Run {
    /// Boots the guest for each phase, and prints a line for each test and a summary.
    ///
    /// # Errors
    /// A test fails, a guest does not end, or no test ran.
    #[expect(clippy::print_stdout, reason = "its result")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let began = Instant::now();
        let nodes = self.shape.nodes.len();
        println!(
            "guest {}: {nodes} NUMA nodes, {} CPUs, {} MiB",
            self.shape.machine,
            self.shape.cpus(),
            self.shape.nodes.iter().map(|node| node.memory).sum::<u64>()
        );
        // Each machine has its own files, so that guests of several can run at once.
        let state = self.file("state.ext4");
        make_disk(&state)?;
        let mut summary = Summary::default();
        for phase in [Phase::First, Phase::AfterPowerLoss, Phase::LessMemory] {
            let took = self.boot(phase, &state, &mut summary)?;
            eprintln!("boot {phase:?}: {:.1} s", took.as_secs_f64());
        }
        let result = if summary.failed.is_empty() { "ok" } else { "FAILED" };
        println!(
            "\nguest {}: {result}. {} passed, {} failed, in {:.1} s",
            self.shape.machine,
            summary.passed,
            summary.failed.len(),
            began.elapsed().as_secs_f64()
        );
        ensure!(summary.failed.is_empty(), "tests failed in the guest: {}", summary.failed.join(", "));
        ensure!(summary.passed > 0, "no test has such a name; `cargo xtask vm --list` lists them");
        Ok(())
    }

    /// A file of this machine's guest.
    fn file(&self, name: &str) -> PathBuf {
        folder().join(format!("{}.{name}", self.shape.machine.replace('/', "_")))
    }

    fn boot(&self, phase: Phase, state: &Path, summary: &mut Summary) -> anyhow::Result<Duration> {
        let mut shape = self.shape.clone();
        if phase == Phase::LessMemory
            && let Some(node) = shape.nodes.iter_mut().rfind(|node| node.package.is_some() && node.memory > 0)
        {
            node.memory -= LESS.min(node.memory / 2);
        }
        let archive = self.file("archive.cpio");
        self.programs.archive(&archive, &shape, &[("acknowledged", summary.acknowledged.join("\n"))])?;
        let mut command_line = format!("{} guest.phase={phase:?}", kernel_line(&shape));
        if !self.test.is_empty() {
            command_line += &format!(" guest.test={}", self.test.join(","));
        }
        if let Some(kills) = self.kills {
            command_line += &format!(" guest.kills={kills} guest.seed={}", self.seed);
        }
        if self.wrong_cpusets {
            command_line += " guest.wrong=cpusets";
        }
        let machine = [arguments(&shape), disk(state, "state")].concat();
        let log = self.file(&format!("{phase:?}.log"));
        let boot = Boot {
            kernel: self.kernel.clone(),
            archive,
            machine,
            command_line,
            limit: self.limit,
            log,
            spare: None,
        };
        summary.is_done = false;
        let took = boot.run(|line| summary.read(line))?;
        ensure!(summary.is_done, "the guest ended amid its tests; its console is in {}", boot.log.display());
        Ok(took)
    }
}

impl Summary {
    /// Reads a line of the console, and prints it if it is about a test.
    #[expect(clippy::print_stdout, reason = "its result")]
    fn read(&mut self, line: &str) -> Next {
        if let Some(test) = line.strip_prefix("test ") {
            println!("{line}");
            let (name, result) = test.split_once(" ... ").unwrap_or((test, ""));
            if result == "ok" || result.starts_with("ok ") {
                self.passed += 1;
            } else if result.starts_with("FAILED") {
                self.failed.push(name.to_owned());
            }
        } else if line.starts_with("    ") {
            println!("{line}");
        } else if let Some(change) = line.strip_prefix("ack ") {
            self.acknowledged.push(change.to_owned());
            if self.acknowledged.len() >= CHANGES {
                println!("power lost after {CHANGES} changes");
                self.is_done = true;
                return Next::CutPower;
            }
        } else if line == "guest: done" {
            self.is_done = true;
        }
        Next::Listen
    }
}

/// An empty file system with a journal.
fn make_disk(file: &Path) -> anyhow::Result<()> {
    let made = std::fs::File::create(file).and_then(|disk| disk.set_len(48 << 20));
    made.with_context(|| format!("failed to make {}", file.display()))?;
    let mke2fs = ["/usr/sbin/mke2fs", "/sbin/mke2fs"].into_iter().find(|path| Path::new(path).is_file());
    let mut command = Command::new(mke2fs.unwrap_or("mke2fs"));
    let status = command.args(["-q", "-F", "-t", "ext4", "-m", "0"]).arg(file).status();
    ensure!(status.context("failed to start mke2fs")?.success(), "mke2fs failed on {}", file.display());
    Ok(())
}
