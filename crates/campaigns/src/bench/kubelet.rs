//! The kubelet's side: a Go program of `crates/workspace-tools/kubelet`, given the same work as lines of JSON.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use workspace_tools::kubelet::go_build;
use workspace_tools::workspace::target;

use super::effort::Effort;

/// What came of one piece of work.
#[derive(Debug)]
pub(super) enum Answer {
    /// For one repetition.
    Took { nanoseconds: f64, allocations: u64 },
    /// It was not waited for any longer.
    Over { nanoseconds: f64 },
    /// It could not be done, and why.
    Failed(String),
}

#[derive(Deserialize)]
struct Line {
    name: String,
    ns_per_op: Option<f64>,
    #[serde(default)]
    allocs_per_op: u64,
    over_ns: Option<f64>,
    error: Option<String>,
}

/// Builds the program; an error says what is missing.
pub(super) fn build() -> anyhow::Result<PathBuf> {
    go_build(&["admission"]).map(|folder| folder.join("admission"))
}

/// Does all of `work`, and says on the way how far it is: some is slow.
pub(super) fn measure(
    program: &Path,
    work: &str,
    effort: Effort,
) -> anyhow::Result<BTreeMap<String, Answer>> {
    let (limit, each) = match effort {
        Effort::Quick => ("5s", "200ms"),
        Effort::Whole => ("20s", "1s"),
    };
    let arguments = ["bench", "-limit", limit, "-each", each];
    ask(Command::new(program).args(arguments), work)
}

/// Has a program in Go do all of `work`, a line each.
pub(super) fn ask(program: &mut Command, work: &str) -> anyhow::Result<BTreeMap<String, Answer>> {
    let described = target().join("workloads.jsonl");
    fs::write(&described, work)?;
    let mut child = program
        .stdin(fs::File::open(&described)?.into_file())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {}", program.get_program().display()))?;
    let total = work.lines().count();
    let mut answers = BTreeMap::new();
    let output = child.stdout.take().context("the program has no output")?;
    for line in BufReader::new(output).lines() {
        let line: Line = serde_json::from_str(&line?).context("the other side printed no measurement")?;
        eprintln!("the other side: {} of {total}: {}", answers.len() + 1, line.name);
        let answer = match (line.error, line.over_ns, line.ns_per_op) {
            (Some(error), ..) => Answer::Failed(error),
            (_, Some(nanoseconds), _) => Answer::Over { nanoseconds },
            (.., Some(nanoseconds)) => Answer::Took { nanoseconds, allocations: line.allocs_per_op },
            _ => Answer::Failed("no time was measured".to_owned()),
        };
        answers.insert(line.name, answer);
    }
    let status = child.wait()?;
    ensure!(status.success(), "the other side failed: {status}");
    Ok(answers)
}
