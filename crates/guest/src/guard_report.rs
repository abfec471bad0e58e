//! The figures of `topolet guard` beside a kubelet, of all boots together.

use std::fmt::Write as _;

use serde_json::Value;

use crate::kubelet::{Mode, Outcome, Row};

/// As tables; `None`: no boot was one of the guard.
pub(crate) fn text(all: &[Outcome]) -> Option<String> {
    let boots: Vec<&Outcome> = all.iter().filter(|run| matches!(run.mode, Mode::Guard { .. })).collect();
    let kubelet = &boots.first()?.kubelet;
    let rows = |step: &'static str| {
        let all = boots.iter().flat_map(|run| &run.rows);
        all.filter(move |row| row.step == step).collect::<Vec<_>>()
    };
    let both = ["without", "with"].map(rows);
    let line = |what: &str, of: &dyn Fn(&[&Row]) -> String| {
        let [without, with] = &both;
        format!("| {what} | {} | {} |\n", of(without), of(with))
    };
    let mut text = format!(
        "| kubelet {kubelet}, reconciliation each 60 s, {} boots | without | with the guard |\n|---|---|---|\n",
        boots.len()
    );
    text += &line("exclusive containers", &|rows| rows.len().to_string());
    text += &line("of them, first instruction on exactly the CPUs of the kubelet's file", &|rows| {
        rows.iter().filter(|row| !row.differences.iter().any(|one| one.contains("first"))).count().to_string()
    });
    text += &line("kubelet's file to the container's cgroup, s", &|rows| seconds(rows, "stateToCgroup"));
    text += &line("kubelet's file to its first instruction, s", &|rows| seconds(rows, "stateToRun"));
    text += &line("containers on whose CPUs others were allowed after that", &|rows| {
        rows.iter().filter(|row| number(row, "overlap") > 0).count().to_string()
    });
    text += &line("how long, s", &|rows| seconds(rows, "overlap"));
    text += &line("samples after that", &|rows| sum(rows, "samples").to_string());
    text += &line("of them, a thread of another container had run on its CPUs", &|rows| {
        sum(rows, "withOthers").to_string()
    });
    let ends = rows("end");
    let of = |how: &str| ends.iter().filter(|row| row.asked == how).count();
    let changed = ends.iter().filter(|row| !row.differences.is_empty()).count();
    let containers = ends.iter().map(|row| number(row, "containers")).min().unwrap_or(0);
    let longest = ends.iter().map(|row| number(row, "allMs")).max().unwrap_or(0);
    let _ = write!(
        text,
        "\n| the guard ends and starts again, {containers} containers run | |\n|---|---|\n\
         | killed, stopped | {}, {} |\n\
         | of these, the CPUs of a container changed | {changed} |\n\
         | longest from the end until the next one was connected, s | {:.1} |\n\
         \n| cost in the guest, median | a write of `cpuset.cpus` | `runc update` | ratio |\n|---|---|---|---|\n",
        of("killed"),
        of("stopped"),
        longest as f64 / 1000.0
    );
    for row in rows("cost") {
        let (write, update) = (number(row, "writeMicros").max(1), number(row, "updateMicros"));
        let _ = writeln!(text, "| | {write} µs | {} ms | 1 to {} |", update / 1000, update / write);
    }
    Some(text)
}

/// The least, the middle and the greatest.
fn seconds(rows: &[&Row], name: &str) -> String {
    let mut all: Vec<u64> = rows.iter().map(|row| number(row, name)).collect();
    all.sort_unstable();
    let at = |at: usize| all.get(at).map_or_else(|| "-".to_owned(), |ms| format!("{:.1}", *ms as f64 / 1000.0));
    format!("{} to {}, median {}", at(0), at(all.len().saturating_sub(1)), at(all.len() / 2))
}

fn sum(rows: &[&Row], name: &str) -> u64 {
    rows.iter().map(|row| number(row, name)).sum()
}

/// A number of what was seen; 0: it was not.
fn number(row: &Row, name: &str) -> u64 {
    row.seen.as_ref().and_then(|seen| seen.get(name)).and_then(Value::as_u64).unwrap_or(0)
}
