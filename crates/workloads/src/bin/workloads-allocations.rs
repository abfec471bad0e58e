//! Counts the allocations of everything that is measured. Counting takes time, so that nothing is timed here.
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use clap::Parser;
use serde_json::json;
use workloads::{Prepared, described};

/// Prints a line of JSON for each: how often memory is allocated, and how many bytes at the same time at most.
#[derive(Parser, Debug)]
struct Arguments {
    /// Only what has this in its name.
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> anyhow::Result<()> {
    let only = Arguments::parse().only;
    for (work, _) in described()?.into_iter().filter(|(work, _)| work.name.contains(&only)) {
        let prepared = Prepared::new(&work)?;
        // What is allocated the first time only is left out.
        prepared.once();
        let counted = allocation_counter::measure(|| prepared.once());
        let (allocations, peak) = (counted.count_total, counted.bytes_max);
        println!("{}", json!({"name": work.name, "allocs_per_op": allocations, "peak_bytes": peak}));
    }
    Ok(())
}
