//! Claims as they grow, decided by topolet and by kube-scheduler's own allocator in the same minutes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use workspace_tools::document::write_figures;
use workspace_tools::workloads::output;
use workspace_tools::workspace::{root, target};

use super::effort::Effort;
use super::kubelet::{Answer, ask};
use crate::charts::curves::{Curve, Legend, picture, time};

/// The module of the program in Go.
const MODULE: &str = "crates/workspace-tools/allocator";
/// kube-scheduler ends a search then, for each pod and node.
const LIMIT: &str = "10s";

/// One point of a curve on our side.
#[derive(Debug, Deserialize)]
struct Ours {
    name: String,
    #[serde(rename = "ns_per_op")]
    nanoseconds: f64,
    curve: String,
    axis: String,
    at: f64,
    /// Of the other side, by formula.
    steps: Option<String>,
}

/// Measures both sides and prints the table, or writes it to a document.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub(super) fn run(program: &Path, effort: Effort, document: Option<&str>) -> anyhow::Result<()> {
    let allocator = build()?;
    eprintln!("measuring ours");
    let arguments: Vec<&str> = ["measure-claims"].into_iter().chain(effort.argument()).collect();
    let text = output(program, &arguments)?;
    let ours: serde_json::Result<Vec<Ours>> = text.lines().map(serde_json::from_str).collect();
    let ours = ours.context("the program `workloads` printed something else than measurements")?;
    let each = match effort {
        Effort::Quick => "200ms",
        Effort::Whole => "1s",
    };
    let work = output(program, &["describe-claims"])?;
    let theirs = ask(Command::new(allocator).args(["-limit", LIMIT, "-each", each]), &work)?;
    let table = table(&ours, &theirs)?;
    print!("{table}");
    if let Some(document) = document {
        fs::write(root().join("docs/claims.svg"), picture(&curves(&ours, &theirs), Legend::Allocator))?;
        write_figures(document, "cargo xtask bench --against allocator", &table)?;
    }
    Ok(())
}

fn build() -> anyhow::Result<PathBuf> {
    let version = Command::new("go").arg("version").stdout(Stdio::null()).status();
    ensure!(version.is_ok_and(|status| status.success()), "Go is not installed");
    let program = target().join("kubelet/allocator");
    eprintln!("building kube-scheduler's allocator (a minute the first time)");
    let status = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(root().join(MODULE))
        .status()
        .context("failed to start Go")?;
    ensure!(status.success(), "`go build` failed, which needs the network the first time: {status}");
    Ok(program)
}

fn table(ours: &[Ours], theirs: &BTreeMap<String, Answer>) -> anyhow::Result<String> {
    let mut text = "| claim | | steps of the allocator | topolet | kube-scheduler's allocator |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for point in ours {
        let other = match theirs.get(&point.name).context("a claim was not decided")? {
            Answer::Took { nanoseconds, .. } => time(*nanoseconds),
            Answer::Over { nanoseconds } => format!("no answer in {}", time(*nanoseconds)),
            // Both have to find the same.
            Answer::Failed(why) => anyhow::bail!("{}: {why}", point.name),
        };
        let steps = point.steps.as_deref().unwrap_or("not counted");
        let Ours { curve, axis, at, nanoseconds, .. } = point;
        // A String takes everything.
        let _ = writeln!(text, "| {curve} | {at:.0} {axis} | {steps} | {} | {other} |", time(*nanoseconds));
    }
    Ok(text)
}

fn curves<'a>(ours: &'a [Ours], theirs: &BTreeMap<String, Answer>) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for point in ours {
        if curves.last().is_none_or(|curve| curve.title != point.curve) {
            let (ours, kubelet) = (Vec::new(), Vec::new());
            curves.push(Curve { title: &point.curve, axis: &point.axis, ours, kubelet, given_up: None });
        }
        let Some(curve) = curves.last_mut() else { continue };
        curve.ours.push((point.at, point.nanoseconds));
        match theirs.get(&point.name) {
            Some(Answer::Took { nanoseconds, .. }) => curve.kubelet.push((point.at, *nanoseconds)),
            Some(Answer::Over { nanoseconds }) if curve.given_up.is_none() => {
                curve.given_up = Some((point.at, *nanoseconds));
            }
            _ => {}
        }
    }
    curves
}
