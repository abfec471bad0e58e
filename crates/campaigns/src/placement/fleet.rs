//! `cargo xtask placement --fleet`: which node a scheduler chooses, on fleets of 4, 20 and 100 nodes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::cargo;

use super::machines::NumaNode;
use super::scenario::{gap, places, sized};
use super::workloads::{Runs, Workload};

/// Numbers of nodes, pods of a run for each, and the most runs: those of many nodes take long.
const SIZES: [(usize, u32, u32); 3] = [(4, 1500, 10), (20, 4000, 10), (100, 8000, 3)];

/// So many seconds longer a pod runs that was moved.
const PRICE: u32 = 300;

/// The NUMA nodes of a machine of the example `fleets` of `node-simulation`.
const NODES: [NumaNode; 2] =
    [NumaNode { id: 0, cpus: 48, bytes: 96 << 30 }, NumaNode { id: 1, cpus: 48, bytes: 96 << 30 }];

const HEADS: [&str; 7] = [
    "most left",
    "least left",
    "topology-match",
    "KAI's rule, as read",
    "ours",
    "ours, one move",
    "every placement",
];

/// Who decides on the nodes: the head of the table, and the word of the example.
const DECIDERS: [(&str, &str); 2] = [
    ("Nodes of kubelets: only the choice of node is ours", "kubelet"),
    ("Nodes of `topolet serve` with `keep-room`", "serve"),
];

/// A line of the example.
#[derive(Debug, Deserialize)]
struct Line {
    moves: Option<u64>,
    /// By run.
    refused: Vec<u64>,
}

/// Runs all of it and writes the tables.
pub(super) fn run(workloads: &[&'static Workload], seed: u64, runs: u32, write: bool) -> anyhow::Result<()> {
    let sizes =
        SIZES.map(|(count, pods, most)| format!("{} of {pods} pods on {count} nodes", runs.min(most)));
    let mut text = format!(
        "Runs from seed {seed}: {}, each of two NUMA nodes with 48 CPUs and 96 GiB under `single-numa-node`; a pod that was moved \
         runs {PRICE} s longer. Nobody waits: each pod is tried once.\n",
        sizes.join(", ")
    );
    for (title, decider) in DECIDERS {
        let mut rows = String::new();
        for (count, pods, most) in SIZES {
            for workload in workloads {
                let drawn = format!("{count} {pods} {seed} {}", runs.min(most));
                let lines = measured(&fleet(workload, count, &drawn, decider))?;
                let row = row(workload.name, count, &lines);
                print!("{row}");
                rows.push_str(&row);
            }
        }
        let _ = write!(
            text,
            "\n{title}. Refused in a run, on the average; *moves* are of *ours, one move*; the last column is ours without moves \
             against the better of kube-scheduler's two scores, of runs with the same pods, give or take two standard errors:\n\n\
             | workload | nodes | {} | moves | ours against |\n|{}\n{rows}",
            HEADS.join(" | "),
            "---|".repeat(HEADS.len() + 4)
        );
    }
    println!("\n{text}");
    if write {
        write_figures("docs/placement.md", "cargo xtask placement --fleet", &text)?;
    }
    Ok(())
}

/// A fleet as the example reads it.
fn fleet(workload: &Workload, count: usize, drawn: &str, decider: &str) -> String {
    let seconds = gap(workload, &NODES, count) * 60.0;
    let mut text = format!("fleet {drawn} {seconds} {PRICE} {decider}\n");
    for devices in workload.devices {
        for at in places(devices, NODES.len()) {
            let _ = writeln!(text, "devices {} {at} {}", devices.resource, devices.on_node);
        }
    }
    for kind in workload.pods {
        let (runs, hours) = match kind.runs {
            Runs::Exponential(hours) => ("exponential", hours),
            Runs::LogNormal(hours) => ("log-normal", hours),
        };
        let _ = writeln!(text, "pod {} {} {runs} {}", kind.name, kind.weight, hours * 3600.0);
        for container in kind.containers {
            let which = if container.cpus == 0 { "requests" } else { "limits" };
            let _ = writeln!(text, "container {which} {}", sized(workload, container, &NODES).words());
        }
    }
    text
}

/// The lines of the example for a fleet, in the order of [`HEADS`].
fn measured(fleet: &str) -> anyhow::Result<Vec<Line>> {
    let mut command = cargo(&["run", "--release", "--quiet", "-p", "node-simulation", "--example", "fleets"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cargo cannot be started")?;
    child.stdin.take().context("it has no standard input")?.write_all(fleet.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the example fails on\n{fleet}");
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Line>, _>>()?;
    ensure!(lines.len() == HEADS.len(), "the example prints {} lines", lines.len());
    Ok(lines)
}

/// The line of a workload on so many nodes.
fn row(workload: &str, count: usize, lines: &[Line]) -> String {
    let mean = |of: &Line| number(of.refused.iter().sum()) / number(of.refused.len().max(1) as u64);
    let columns: Vec<String> = lines.iter().map(|line| format!("{:.1}", mean(line))).collect();
    let moves =
        lines.iter().find_map(|line| Some(number(line.moves?) / number(line.refused.len().max(1) as u64)));
    format!(
        "| {workload} | {count} | {} | {:.1} | {} |\n",
        columns.join(" | "),
        moves.unwrap_or(0.0),
        against(lines)
    )
}

/// How ours differs from the better of kube-scheduler's two scores.
fn against(lines: &[Line]) -> String {
    let [spread, pack, _, _, ours, ..] = lines else { return String::new() };
    let sum = |line: &Line| line.refused.iter().sum::<u64>();
    let (name, best) = if sum(pack) < sum(spread) { ("least left", pack) } else { ("most left", spread) };
    let differences =
        ours.refused.iter().zip(&best.refused).map(|(own, other)| number(*own) - number(*other));
    let (mean, error) = mean_and_error(&differences.collect::<Vec<f64>>());
    format!("{name}: {mean:+.1} ± {error:.1}")
}

/// The mean of differences, and two standard errors.
pub(super) fn mean_and_error(differences: &[f64]) -> (f64, f64) {
    let count = number(differences.len().max(1) as u64);
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|own| (own - mean).powi(2)).sum();
    (mean, 2.0 * (squares / (count - 1.0).max(1.0) / count).sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
fn number(count: u64) -> f64 {
    count as f64
}
