//! `cargo xtask scheduler-growth`: how long a scheduler's questions take on 10 to 10,000 nodes, as a table and a picture; and with
//! `--claims` those of pods with claims, as a table.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, root};

use crate::charts::curves::{Curve, Legend, picture};

/// Measures `scheduler-extender` on 10 to 10,000 nodes of which no two are alike.
#[derive(Debug, clap::Args)]
pub(crate) struct SchedulerGrowth {
    /// Writes the table to docs/scheduler.md, and the picture beside it.
    #[arg(long)]
    write: bool,
    /// Measures filters of pods with claims of devices instead, on 100 to 5,000 nodes with 16 devices each.
    #[arg(long)]
    claims: bool,
}

/// The numbers of nodes on which filters of pods with claims are measured.
const CLAIM_NODES: [&str; 3] = ["100", "1000", "5000"];

/// The output of the example with claims for a number of nodes.
#[derive(Debug, Deserialize)]
struct ClaimRow {
    nodes: u32,
    new_kind_ms: f64,
    known_kind_ms: f64,
    ten_changed_ms: f64,
    without_claims_ms: f64,
}

/// The numbers of nodes that are measured.
const NODES: [&str; 5] = ["10", "100", "1000", "5000", "10000"];

/// The output of the example for a number of nodes.
#[derive(Debug, Deserialize)]
struct Row {
    nodes: u32,
    new_shape_ms: f64,
    new_shape_two_threads_ms: f64,
    ten_changed_ms: f64,
    one_in_flight_ms: f64,
    bytes: f64,
}

impl SchedulerGrowth {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.claims {
            let rows = measured(["scheduler-service", "growth", "claims_growth"], &CLAIM_NODES)?;
            let table = claims_table(&rows);
            print!("{table}");
            return if self.write {
                write_figures("docs/scheduler.md", "cargo xtask scheduler-growth --claims", &table)
            } else {
                Ok(())
            };
        }
        let rows = measured(["scheduler-extender", "std", "growth"], &NODES)?;
        let table = table(&rows);
        print!("{table}");
        if self.write {
            let path = root().join("docs/scheduler-growth.svg");
            fs::write(&path, drawn(&rows))?;
            write_figures("docs/scheduler.md", "cargo xtask scheduler-growth", &table)?;
        }
        Ok(())
    }
}

/// The lines of an example, which is built for release with a feature of its crate.
fn measured<T: DeserializeOwned>(
    [package, feature, example]: [&str; 3],
    nodes: &[&str],
) -> anyhow::Result<Vec<T>> {
    let output = cargo(&["run", "--release", "--quiet", "-p", package, "--features", feature])
        .args(["--example", example, "--"])
        .args(nodes)
        .output()
        .context("cargo cannot be started")?;
    ensure!(output.status.success(), "the example fails: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<Vec<T>, _>>()?)
}

fn claims_table(rows: &[ClaimRow]) -> String {
    let mut text = "In milliseconds.\n\n\
         | nodes | pod without claims | new kind of claims | known kind | known kind, ten nodes changed |\n\
         |---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        // A String takes everything.
        let _ = writeln!(
            text,
            "| {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            row.nodes, row.without_claims_ms, row.new_kind_ms, row.known_kind_ms, row.ten_changed_ms
        );
    }
    text
}

fn table(rows: &[Row]) -> String {
    let mut text = "In milliseconds.\n\n\
         | nodes | new shape, one thread | two threads | known shape, ten nodes changed | new shape beside one in flight, two threads | memory |\n\
         |---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        // A String takes everything.
        let _ = writeln!(
            text,
            "| {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} MiB |",
            row.nodes,
            row.new_shape_ms,
            row.new_shape_two_threads_ms,
            row.ten_changed_ms,
            row.one_in_flight_ms,
            row.bytes / 1_048_576.0
        );
    }
    text
}

fn drawn(rows: &[Row]) -> String {
    let curve = |title: &'static str, milliseconds: fn(&Row) -> f64| Curve {
        title,
        axis: "nodes",
        ours: rows.iter().map(|row| (f64::from(row.nodes), milliseconds(row) * 1_000_000.0)).collect(),
        kubelet: Vec::new(),
        given_up: None,
    };
    let curves = [
        curve("New shape of pod, two threads", |row| row.new_shape_two_threads_ms),
        curve("Known shape, ten nodes changed", |row| row.ten_changed_ms),
    ];
    picture(&curves, Legend::Ours)
}
