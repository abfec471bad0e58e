//! `cargo xtask fuzz`: runs the fuzz targets with seeds made of the fixtures, and says how often each ran.

mod seeds;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde_json::{Value, json};
use workspace_tools::workspace::{root, run, target};

use crate::reliability;
use crate::soak::minutes;

/// Runs fuzz targets, one after the other; needs the nightly toolchain and `cargo install cargo-fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Fuzz {
    /// Which; without any all. `fuzz/README.md` says what each one reads.
    targets: Vec<String>,
    /// How long each one runs; parts of a minute are possible.
    #[arg(long, default_value_t = 3.0, value_parser = minutes)]
    minutes: f64,
    /// Writes the figures to docs/reliability, beside those of targets that do not run now.
    #[arg(long)]
    write: bool,
}

/// Every target of `fuzz/Cargo.toml`.
const TARGETS: [&str; 16] = [
    "values",
    "manifest",
    "state",
    "start",
    "repair",
    "machine_info",
    "machine",
    "archive",
    "plugin",
    "authority",
    "nri",
    "selector",
    "allocation",
    "commands",
    "requests",
    "clients",
];
/// An input that needs more seconds of a CPU is a fault, as is one that needs more memory. What an input of this size
/// may take by itself is a second.
const LONGEST: u64 = 10;
/// Seconds after which an input has failed that runs alone and uses no CPU.
const STUCK: u64 = 120;
const LARGEST_MEMORY: &str = "-rss_limit_mb=2048";
const LARGEST_INPUT: &str = "-max_len=65536";

impl Fuzz {
    #[expect(clippy::print_stdout, reason = "the output of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let unknown = self.targets.iter().find(|name| !TARGETS.contains(&name.as_str()));
        ensure!(unknown.is_none(), "there is no target {:?}; there are {}", unknown, TARGETS.join(", "));
        let all = TARGETS.iter().map(|name| (*name).to_owned());
        let targets: Vec<String> = if self.targets.is_empty() { all.collect() } else { self.targets.clone() };
        let seconds = Duration::from_secs_f64(self.minutes * 60.0).as_secs().max(1);
        let (mut lines, mut failed) = (Vec::new(), Vec::new());
        for name in &targets {
            let outcome = fuzz(name, seconds)?;
            let Stats { executions, slowest, memory } = outcome.stats;
            let found = if outcome.is_clean { "nothing found" } else { "FAILED" };
            let starved = match outcome.starved {
                0 => String::new(),
                times => format!(", {times} times short of CPU"),
            };
            lines.push(format!(
                "{name:<13} {executions:>11} executions, slowest {slowest} s, {memory} MB, {found}{starved}"
            ));
            if self.write {
                // After each target: a run overnight may be ended at any time, and another run may write at the same
                // time.
                let mut figures = figures_before();
                figures["targets"][name] = json!({
                    "minutes": self.minutes, "executions": executions, "slowestSeconds": slowest,
                    "megabytes": memory, "found": found, "starved": outcome.starved,
                });
                reliability::write("fuzz", "fuzz", "cargo xtask fuzz", &figures)?;
            }
            if !outcome.is_clean {
                failed.push(name.clone());
            }
        }
        println!("{}", lines.join("\n"));
        ensure!(failed.is_empty(), "found something: {}; see above and fuzz/README.md", failed.join(", "));
        Ok(())
    }
}

/// The figures of the targets that ran before; those that are gone are left out.
fn figures_before() -> Value {
    let path = reliability::folder().join("fuzz.json");
    let text = fs::read_to_string(path).unwrap_or_default();
    let before: Value = serde_json::from_str(&text).unwrap_or_default();
    let targets = before["targets"].as_object().into_iter().flatten();
    let targets = targets.filter(|(name, _)| TARGETS.contains(&name.as_str()));
    let targets: serde_json::Map<String, Value> =
        targets.map(|(name, row)| (name.clone(), row.clone())).collect();
    json!({ "targets": targets })
}

struct Ran {
    is_clean: bool,
    /// How often an input took long since the machine was busy.
    starved: u32,
    stats: Stats,
}

/// What the engine says in the end.
#[derive(Default)]
struct Stats {
    executions: u64,
    /// In seconds, by the clock on the wall.
    slowest: u64,
    /// In MB.
    memory: u64,
}

impl Stats {
    fn read(printed: &str) -> Self {
        let find = |name: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            line.and_then(|rest| rest.trim_start_matches(':').trim().parse().ok()).unwrap_or_default()
        };
        Self {
            executions: find("number_of_executed_units"),
            slowest: find("slowest_unit_time_sec"),
            memory: find("peak_rss_mb"),
        }
    }

    /// Those of two runs.
    fn and(&self, other: &Self) -> Self {
        Self {
            executions: self.executions + other.executions,
            slowest: self.slowest.max(other.slowest),
            memory: self.memory.max(other.memory),
        }
    }
}

/// Builds a target, and runs it.
fn fuzz(name: &str, seconds: u64) -> anyhow::Result<Ran> {
    let corpus = root().join("fuzz/corpus").join(name);
    fs::create_dir_all(&corpus)?;
    seeds::write(name, &corpus)?;
    run(&mut nightly("build", name))?;
    // What targets write goes to memory: a slow disk is not what they are about.
    let memory = Some(Path::new("/dev/shm")).filter(|memory| memory.is_dir());
    let place = memory.map_or_else(tempfile::tempdir, tempfile::tempdir_in);
    let place = place.context("failed to make a folder")?;
    let began = Instant::now();
    let mut ran = Ran { is_clean: true, starved: 0, stats: Stats::default() };
    loop {
        let left = seconds.saturating_sub(began.elapsed().as_secs());
        if left == 0 {
            return Ok(ran);
        }
        eprintln!("\n{name}: {left} s");
        let dictionary = root().join("fuzz/dictionaries").join(dictionary(name));
        let mut engine = nightly("run", name);
        engine
            .arg(&corpus)
            .arg("--")
            .args([LARGEST_MEMORY, LARGEST_INPUT])
            .arg(format!("-timeout={LONGEST}"));
        engine.args(["-print_final_stats=1", "-close_fd_mask=1"]).arg(format!("-max_total_time={left}"));
        engine.arg(format!("-dict={}", dictionary.display())).env("TMPDIR", place.path());
        let output = engine.stdin(Stdio::null()).stdout(Stdio::null()).output();
        let output = output.context("failed to start cargo fuzz")?;
        let printed = String::from_utf8_lossy(&output.stderr);
        ran.stats = ran.stats.and(&Stats::read(&printed));
        if output.status.success() {
            return Ok(ran);
        }
        let from = printed.lines().count().saturating_sub(60);
        printed.lines().skip(from).for_each(|line| eprintln!("{line}"));
        match timed_out(&printed) {
            Some(input) if is_fast(name, &input, place.path())? => {
                eprintln!("{name}: the input is fast when it runs alone: the machine was busy");
                ran.starved += 1;
                fs::remove_file(&input)?;
            }
            _ => {
                ran.is_clean = false;
                return Ok(ran);
            }
        }
    }
}

/// A command of cargo-fuzz's for a target.
fn nightly(command: &str, name: &str) -> Command {
    let mut cargo = Command::new("cargo");
    // Another toolchain than that which runs this.
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").current_dir(root());
    // All code is safe: what the sanitizers find cannot be there, and they take half of the speed.
    cargo.args(["+nightly", "fuzz", command, "--sanitizer", "none", "--target-dir"]);
    cargo.arg(target().join("fuzz")).arg(name);
    cargo
}

/// The input that took too long by the clock on the wall, if that ended a run.
fn timed_out(printed: &str) -> Option<PathBuf> {
    let path =
        printed.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path)?;
    let path = root().join(path.trim());
    path.file_name()?.to_str()?.starts_with("timeout-").then_some(path)
}

/// Whether an input that runs alone needs less than [`LONGEST`] of a CPU. The engine counts by the clock on the wall,
/// by which a busy machine is a slow input.
fn is_fast(name: &str, input: &Path, place: &Path) -> anyhow::Result<bool> {
    let alone = nightly("run", name);
    // The system ends what uses more.
    let mut bounded = Command::new("sh");
    bounded.args(["-c", &format!("ulimit -t {LONGEST} && exec \"$@\""), "sh"]).arg(alone.get_program());
    bounded.args(alone.get_args()).arg(input).arg("--").arg(format!("-timeout={STUCK}"));
    bounded.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env("TMPDIR", place).current_dir(root());
    let output = bounded.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    Ok(output.context("failed to start sh")?.success())
}

/// Words that a target's inputs are made of.
fn dictionary(name: &str) -> PathBuf {
    PathBuf::from(match name {
        "values" | "machine" | "machine_info" | "archive" => "values.dict",
        "state" | "start" => "state.dict",
        "plugin" | "authority" | "nri" => "wire.dict",
        "clients" => "http.dict",
        "selector" => "selector.dict",
        _ => "manifest.dict",
    })
}
