//! `cargo xtask scheduler-growth`: how long a scheduler's questions take on 10 to 10,000 nodes, as a table and a picture.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, root};

use crate::charts::curves::{Curve, Legend, picture};

/// Measures `scheduler-extender` on 10 to 10,000 nodes of which no two are alike.
#[derive(Debug, clap::Args)]
pub(crate) struct SchedulerGrowth {
    /// Writes the table to docs/scheduler.md, and the picture beside it.
    #[arg(long)]
    write: bool,
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
        let arguments =
            ["run", "--release", "--quiet", "-p", "scheduler-extender", "--features", "std", "--example"];
        let output = cargo(&arguments)
            .args(["growth", "--"])
            .args(NODES)
            .output()
            .context("cargo cannot be started")?;
        ensure!(output.status.success(), "the example fails: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        let rows = text.lines().map(serde_json::from_str).collect::<Result<Vec<Row>, _>>()?;
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
