//! Measures our side, tells the other side what to measure, and does one thing alone under an instrument.
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use node_config::Strategy;
use serde_json::Value;
use workloads::{
    Effort, Prepared, Task, Work, allocator_steps, described, described_claims, growth, hot_paths, row,
};

/// The work that this project's speed is measured on.
#[derive(Parser, Debug)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Prints everything that the kubelet has too, one a line, as its side reads it.
    Describe {
        /// Only what has this in its name.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Measures and prints, one line of JSON each.
    Measure {
        /// Only what has this in its name.
        #[arg(long, default_value = "")]
        only: String,
        /// Repeats for a fifth of a second instead of one.
        #[arg(long)]
        quick: bool,
    },
    /// Prints claims, one question a line, as kube-scheduler's side reads it.
    DescribeClaims,
    /// Measures claims and prints, one line of JSON each, with the steps of kube-scheduler's allocator.
    MeasureClaims {
        /// Repeats for a fifth of a second instead of one.
        #[arg(long)]
        quick: bool,
    },
    /// Names the work of which instructions are counted.
    HotPaths,
    /// Does one thing once, and then so often where instructions are counted, and says nothing.
    Once {
        /// The name.
        name: String,
        /// How often.
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Describe { only } => describe(&only),
        Command::Measure { only, quick } => measure(&only, effort(quick)),
        Command::DescribeClaims => {
            for (work, _) in described_claims() {
                println!("{}", serde_json::to_string(&work)?);
            }
            Ok(())
        }
        Command::MeasureClaims { quick } => measure_claims(effort(quick)),
        Command::HotPaths => {
            for name in hot_paths() {
                println!("{name}");
            }
            Ok(())
        }
        Command::Once { name, times } => {
            let mut points = growth().into_iter().flat_map(|curve| curve.points);
            let found = match row(&name)? {
                Some(work) => Some(work),
                None => points.find(|point| point.work.name == name).map(|point| point.work),
            };
            let prepared = Prepared::new(&found.with_context(|| format!("nothing is called {name:?}"))?)?;
            // What is filled by the first time is not counted.
            prepared.once();
            counted(&prepared, times);
            Ok(())
        }
    }
}

/// Does the work so often. valgrind counts the instructions of this function alone, which it finds by its name.
#[inline(never)]
fn counted(prepared: &Prepared, times: u32) {
    for _ in 0..times {
        prepared.once();
    }
}

fn describe(only: &str) -> anyhow::Result<()> {
    let has_it = |work: &Work| match &work.task {
        Task::Discover { .. } | Task::Claims(_) | Task::Filter(_) => false,
        Task::Admit(work) => work.strategy == Strategy::LowestNumber,
        _ => true,
    };
    for (work, _) in described()?.iter().filter(|(work, _)| work.name.contains(only) && has_it(work)) {
        println!("{}", serde_json::to_string(work)?);
    }
    Ok(())
}

const fn effort(quick: bool) -> Effort {
    if quick { Effort::Quick } else { Effort::Thorough }
}

fn measure(only: &str, effort: Effort) -> anyhow::Result<()> {
    for (work, line) in described()?.into_iter().filter(|(work, _)| work.name.contains(only)) {
        println!("{}", measured(&work, line, effort)?);
    }
    Ok(())
}

fn measure_claims(effort: Effort) -> anyhow::Result<()> {
    for (work, mut line) in described_claims() {
        if let Task::Claims(claims) = &work.task {
            line["steps"] = allocator_steps(claims)?.map(|steps| steps.to_string()).into();
        }
        println!("{}", measured(&work, line, effort)?);
    }
    Ok(())
}

/// A line with what was measured.
fn measured(work: &Work, mut line: Value, effort: Effort) -> anyhow::Result<Value> {
    let measured = serde_json::to_value(Prepared::new(work)?.measure(effort))?;
    line["name"] = work.name.as_str().into();
    for (field, value) in measured.as_object().into_iter().flatten() {
        line[field] = value.clone();
    }
    Ok(line)
}
