//! `cargo xtask instructions`: how many instructions the hot paths execute, compared with what they did.
//!
//! valgrind counts what a program does inside one function: nothing of what is set up before. Counts are the same from run to
//! run within a few in a thousand, whatever else the machine does and whatever the environment is.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use workspace_tools::debian;
use workspace_tools::workloads::{self, Counter};
use workspace_tools::workspace::root;

/// How the program is built whose instructions are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Build {
    /// As it is released.
    Release,
    /// As tests are: with them it is built in seconds, and what takes more steps takes more instructions there too.
    Tests,
}

/// Counts the instructions of the hot paths with valgrind; against the committed counts none may be 5 % off.
#[derive(Debug, clap::Args)]
pub(crate) struct Instructions {
    /// How the program is built.
    #[arg(long, value_enum, default_value_t = Build::Release)]
    pub(crate) build: Build,
    /// Writes the counts as those to compare with from now on.
    #[arg(long)]
    pub(crate) write: bool,
    /// Installs valgrind with apt-get where it is missing; it is an error if that cannot be done.
    #[arg(long)]
    pub(crate) install: bool,
}

/// The committed counts, those of each build.
const BASELINE: &str = "fixtures/instructions.json";

/// Counts by the name of what is done.
type Counts = BTreeMap<String, u64>;

#[derive(Default, Deserialize, Serialize)]
struct Committed {
    release: Counts,
    tests: Counts,
}

impl Committed {
    fn of(&mut self, build: Build) -> &mut Counts {
        match build {
            Build::Release => &mut self.release,
            Build::Tests => &mut self.tests,
        }
    }
}
/// In percent.
const TOLERANCE: u64 = 5;

impl Instructions {
    #[expect(clippy::print_stdout, reason = "the counts are what the command is for")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if !Counter::is_possible() {
            if !self.install {
                eprintln!("skipped: instructions are not counted, since valgrind is not installed");
                return Ok(());
            }
            debian::install(debian::VALGRIND)?;
        }
        let program = match self.build {
            Build::Release => workloads::build(),
            Build::Tests => workloads::build_as_tests(),
        }?;
        let counter = Counter::find(&program)?;
        let path = root().join(BASELINE);
        let mut committed: Committed = serde_json::from_slice(&fs::read(&path)?)
            .with_context(|| format!("{BASELINE} is no table of counts"))?;
        let before = committed.of(self.build);
        let mut counts = Counts::new();
        let mut off = Vec::new();
        for name in workloads::output(&program, &["hot-paths"])?.lines() {
            let count = counter.count(name)?;
            println!(
                "{name:<50} {count:>12} {}",
                before.get(name).map_or_else(String::new, |old| change(*old, count))
            );
            if before.get(name).is_none_or(|old| old.abs_diff(count) * 100 > old * TOLERANCE) {
                off.push(name.to_owned());
            }
            counts.insert(name.to_owned(), count);
        }
        if self.write {
            *before = counts;
            fs::write(&path, serde_json::to_string_pretty(&committed)? + "\n")?;
        } else if !off.is_empty() {
            bail!(
                "more than {TOLERANCE} % off {BASELINE}: {}. If that is as it should be, `cargo xtask instructions \
                 --write` renews it, and the same with `--build tests`",
                off.join("; ")
            );
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn change(old: u64, new: u64) -> String {
    format!("{:+.1} %", (new as f64 / old as f64 - 1.0) * 100.0)
}
