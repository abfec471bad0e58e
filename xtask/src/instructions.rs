//! `cargo xtask instructions`: how many instructions the hot paths execute, compared with what they did.
//!
//! valgrind counts what a program does inside one function: nothing of what is set up before. Counts are the same from run to
//! run within a few in a thousand, whatever else the machine does and whatever the environment is.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use fs_err as fs;
use workspace_tools::debian;
use workspace_tools::workloads::{self, Counter};
use workspace_tools::workspace::root;

/// Counts the instructions of the hot paths with valgrind; against the committed counts none may be 5 % off.
#[derive(Debug, clap::Args)]
pub(crate) struct Instructions {
    /// Writes the counts as those to compare with from now on.
    #[arg(long)]
    pub(crate) write: bool,
    /// Installs valgrind with apt-get where it is missing; it is an error if that cannot be done.
    #[arg(long)]
    pub(crate) install: bool,
}

/// The committed counts.
const BASELINE: &str = "fixtures/instructions.json";
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
        let program = workloads::build()?;
        let counter = Counter::find(&program)?;
        let path = root().join(BASELINE);
        let before: BTreeMap<String, u64> = match fs::read(&path) {
            Ok(text) => {
                serde_json::from_slice(&text).with_context(|| format!("{BASELINE} is no table of counts"))?
            }
            Err(_) if self.write => BTreeMap::new(),
            Err(error) => return Err(error).with_context(|| format!("failed to read {BASELINE}")),
        };
        let mut counts = BTreeMap::new();
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
            fs::write(&path, serde_json::to_string_pretty(&counts)? + "\n")?;
        } else if !off.is_empty() {
            bail!(
                "more than {TOLERANCE} % off {BASELINE}: {}. If that is as it should be, `cargo xtask instructions \
                 --write` renews it",
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
