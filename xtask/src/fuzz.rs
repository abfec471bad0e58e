//! `cargo xtask fuzz`: runs the fuzz targets with seeds made of the fixtures, and says how often each ran.

mod seeds;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::soak::minutes;
use crate::{cargo, reliability, root, run, target};

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
const TARGETS: [&str; 12] = [
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
    "commands",
    "requests",
];
/// An input that takes longer is a fault, as is one that needs more memory. Machines of CI are slow and busy; what an
/// input of this size may take by itself is a second.
const LONGEST: &str = "-timeout=10";
const LARGEST_MEMORY: &str = "-rss_limit_mb=2048";
const LARGEST_INPUT: &str = "-max_len=65536";

impl Fuzz {
    #[expect(clippy::print_stdout, reason = "what came of it is what the command is for")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let unknown = self.targets.iter().find(|name| !TARGETS.contains(&name.as_str()));
        ensure!(unknown.is_none(), "there is no target {:?}; there are {}", unknown, TARGETS.join(", "));
        let all = TARGETS.iter().map(|name| (*name).to_owned());
        let targets: Vec<String> = if self.targets.is_empty() { all.collect() } else { self.targets.clone() };
        let seconds = std::time::Duration::from_secs_f64(self.minutes * 60.0).as_secs().max(1);
        let (mut lines, mut failed) = (Vec::new(), Vec::new());
        let mut figures = self.figures_before();
        for name in &targets {
            let outcome = fuzz(name, seconds)?;
            let Stats { executions, slowest, memory } = outcome.stats;
            let found = if outcome.is_clean { "nothing found" } else { "FAILED" };
            lines.push(format!(
                "{name:<13} {executions:>11} executions, slowest {slowest} s, {memory} MB, {found}"
            ));
            let number = |text: &str| text.parse::<u64>().unwrap_or_default();
            figures["targets"][name] = json!({
                "minutes": self.minutes, "executions": number(&executions), "slowestSeconds": number(&slowest),
                "megabytes": number(&memory), "found": found,
            });
            if self.write {
                // After each target: a run over night may be ended at any time.
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

impl Fuzz {
    /// The figures of the targets that ran before; those that are gone are left out.
    fn figures_before(&self) -> Value {
        let path = reliability::folder().join("fuzz.json");
        let text = fs::read_to_string(path).unwrap_or_default();
        let before: Value = serde_json::from_str(&text).unwrap_or_default();
        let targets = before["targets"].as_object().into_iter().flatten();
        let targets = targets.filter(|(name, _)| self.write && TARGETS.contains(&name.as_str()));
        let targets: serde_json::Map<String, Value> =
            targets.map(|(name, row)| (name.clone(), row.clone())).collect();
        json!({ "targets": targets })
    }
}

/// Whether all targets still compile: the toolchain that is pinned will do for that, and no engine is needed.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut check = cargo(&["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    run(check.arg(target().join("fuzz-check")).env("RUSTFLAGS", "--cfg fuzzing --deny warnings"))
}

struct Ran {
    is_clean: bool,
    stats: Stats,
}

/// What the engine says in the end, as it writes it.
#[derive(Default)]
struct Stats {
    executions: String,
    slowest: String,
    memory: String,
}

impl Stats {
    fn read(said: &str) -> Self {
        let find = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            line.map_or("?", |rest| rest.trim_start_matches(':').trim()).to_owned()
        };
        Self {
            executions: find("number_of_executed_units"),
            slowest: find("slowest_unit_time_sec"),
            memory: find("peak_rss_mb"),
        }
    }
}

/// Builds a target, and runs it.
fn fuzz(name: &str, seconds: u64) -> anyhow::Result<Ran> {
    let corpus = root().join("fuzz/corpus").join(name);
    fs::create_dir_all(&corpus).with_context(|| format!("failed to make {}", corpus.display()))?;
    seeds::write(name, &corpus)?;
    // All code is safe: what the sanitizers find cannot be there, and they take half of the speed.
    let built = target().join("fuzz");
    let nightly = |command: &str| {
        let mut cargo = Command::new("cargo");
        // Another toolchain than that which runs this.
        cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").current_dir(root());
        cargo
            .args(["+nightly", "fuzz", command, "--sanitizer", "none", "--target-dir"])
            .arg(&built)
            .arg(name);
        cargo
    };
    run(&mut nightly("build"))?;
    let dictionary = root().join("fuzz/dictionaries").join(dictionary(name));
    let mut engine = nightly("run");
    engine.arg(&corpus).arg("--").args([LONGEST, LARGEST_MEMORY, LARGEST_INPUT]);
    engine.args(["-print_final_stats=1", "-close_fd_mask=1"]).arg(format!("-max_total_time={seconds}"));
    engine.arg(format!("-dict={}", dictionary.display()));
    eprintln!("\n{name}: {seconds} s");
    let output =
        engine.stdin(Stdio::null()).stdout(Stdio::null()).output().context("failed to start cargo fuzz")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        let from = said.lines().count().saturating_sub(60);
        said.lines().skip(from).for_each(|line| eprintln!("{line}"));
    }
    Ok(Ran { is_clean: output.status.success(), stats: Stats::read(&said) })
}

/// Words that a target's inputs are made of.
fn dictionary(name: &str) -> PathBuf {
    PathBuf::from(match name {
        "values" | "machine" | "machine_info" | "archive" => "values.dict",
        "state" | "start" => "state.dict",
        "plugin" | "authority" => "wire.dict",
        _ => "manifest.dict",
    })
}
