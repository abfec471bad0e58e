//! `cargo xtask bench`: what we take, and what the kubelet's own code takes for the same in the same minutes.

mod allocator;
mod chart;
mod effort;
mod kubelet;
mod result;
mod ours;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use workspace_tools::workloads::{self, Counter};
use workspace_tools::workspace::root;

use crate::bench::effort::Effort;
use crate::bench::kubelet::Answer;
use crate::bench::ours::Ours;
use crate::bench::result::Result;

/// Measures what must be reached and the curves of growth: time, allocations, memory, instructions.
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Measures beside ours the other side's own code, which needs Go and some minutes to build the first time.
    #[arg(long, value_name = "WHOM")]
    against: Option<Against>,
    /// Repeats for a fifth of a second instead of one, and gives the kubelet 5 seconds for each instead of 20.
    #[arg(long)]
    quick: bool,
    /// Only what has this in its name.
    #[arg(long, default_value = "", value_name = "TEXT")]
    only: String,
    /// How to print: a table, or a line of JSON for each.
    #[arg(short, long, default_value = "table", value_name = "FORMAT")]
    output: Format,
    /// Draws the curves of growth anew: the picture of the guide, where they are complete.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "docs/growth.svg")]
    chart: Option<PathBuf>,
    /// Against the allocator: writes the table to docs/claims.md, and the picture beside it.
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Against {
    /// v1.36.3, as `crates/workspace-tools/kubelet` requires it.
    Kubelet,
    /// kube-scheduler's allocator of resource claims, v1.37.2: the growth of claims alone.
    Allocator,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

impl Bench {
    /// Programs that this machine lacks are named, and the rest is measured.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let effort = if self.quick { Effort::Quick } else { Effort::Whole };
        let program = workloads::build()?;
        if self.against == Some(Against::Allocator) {
            return allocator::run(&program, effort, self.write.then_some("docs/claims.md"));
        }
        eprintln!("measuring ours");
        let measured = ours::measure(&program, &self.only, effort)?;
        let counter = Counter::find(&program);
        if let Err(missing) = &counter {
            eprintln!("instructions are not counted: {missing}");
        }
        let mut kubelet = BTreeMap::new();
        if self.against == Some(Against::Kubelet) {
            match kubelet::build() {
                Ok(built) => {
                    kubelet = kubelet::measure(&built, &ours::described(&program, &self.only)?, effort)?;
                }
                Err(missing) => eprintln!("the kubelet is not measured: {missing:#}"),
            }
        }
        let mut results = Vec::new();
        for ours in measured {
            let instructions = match &counter {
                Ok(counter) if ours.target().is_some() => Some(counter.count(&ours.name)?),
                _ => None,
            };
            let kubelet = kubelet.remove(&ours.name);
            results.push(Result { ours, instructions, kubelet });
        }
        match self.output {
            Format::Table => table::print(&results),
            Format::Json => print_json(&results),
        }
        if let Some(file) = &self.chart {
            let path = root().join(file);
            if let Some(folder) = path.parent() {
                fs_err::create_dir_all(folder)?;
            }
            fs_err::write(&path, chart::draw(&results))?;
            eprintln!("drawn: {}", file.display());
        }
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn print_json(results: &[Result]) {
    for result in results {
        let Ours { name, nanoseconds, allocated, .. } = &result.ours;
        let mut line = Map::new();
        let mut set = |field: &str, value: Value| line.insert(field.to_owned(), value);
        set("name", name.as_str().into());
        set("ns_per_op", (*nanoseconds).into());
        set("allocs_per_op", allocated.times.into());
        set("peak_bytes", allocated.peak.into());
        if let Some(count) = result.instructions {
            set("instructions_per_op", count.into());
        }
        if let Some((must_reach, _)) = result.ours.target() {
            set("target_ns", must_reach.into());
        }
        match &result.kubelet {
            Some(Answer::Took { nanoseconds, allocations }) => {
                set("kubelet_ns_per_op", (*nanoseconds).into());
                set("kubelet_allocs_per_op", (*allocations).into());
                set("ratio", result.ratio().into());
            }
            Some(Answer::Over { nanoseconds }) => {
                set("kubelet_over_ns", (*nanoseconds).into());
                set("ratio_at_least", result.ratio().into());
            }
            Some(Answer::Failed(why)) => {
                set("kubelet_error", why.as_str().into());
            }
            None => {}
        }
        println!("{}", Value::Object(line));
    }
}
