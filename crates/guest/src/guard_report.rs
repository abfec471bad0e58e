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
    text += &of_ends(&rows("end"));
    let costs = rows("cost");
    if !costs.is_empty() {
        text += "\n| cost in the guest, median | a write of `cpuset.cpus` | `runc update` | ratio |\n|---|---|---|---|\n";
    }
    for row in costs {
        let (write, update) = (number(row, "writeMicros").max(1), number(row, "updateMicros"));
        let _ = writeln!(text, "| | {write} µs | {} ms | 1 to {} |", update / 1000, update / write);
    }
    Some(text)
}

/// How the guard ended, and what became of the containers.
fn of_ends(ends: &[&Row]) -> String {
    if ends.is_empty() {
        return String::new();
    }
    let of = |how: &str| ends.iter().filter(|row| row.asked == how).count();
    let changed = ends.iter().filter(|row| !row.differences.is_empty()).count();
    let containers = ends.iter().map(|row| number(row, "containers")).min().unwrap_or(0);
    let longest = ends.iter().map(|row| number(row, "allMs")).max().unwrap_or(0);
    format!(
        "\n| the guard ends and starts again, {containers} containers run | |\n|---|---|\n\
         | killed, stopped | {}, {} |\n\
         | of these, the CPUs of a container changed | {changed} |\n\
         | longest from the end until the next one was connected, s | {} |\n",
        of("killed"),
        of("stopped"),
        in_seconds(longest)
    )
}

/// The least, the middle and the greatest.
fn seconds(rows: &[&Row], name: &str) -> String {
    let mut all: Vec<u64> = rows.iter().map(|row| number(row, name)).collect();
    all.sort_unstable();
    let at = |at: usize| all.get(at).map_or_else(|| "-".to_owned(), |ms| in_seconds(*ms));
    format!("{} to {}, median {}", at(0), at(all.len().saturating_sub(1)), at(all.len() / 2))
}

/// Milliseconds as seconds with one digit.
fn in_seconds(ms: u64) -> String {
    format!("{}.{}", ms / 1000, ms % 1000 / 100)
}

fn sum(rows: &[&Row], name: &str) -> u64 {
    rows.iter().map(|row| number(row, name)).sum()
}

/// A number of what was seen; 0: it was not.
fn number(row: &Row, name: &str) -> u64 {
    row.seen.as_ref().and_then(|seen| seen.get(name)).and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_all_boots_stand_in_one_table() {
        let row = |step: &str, asked: &str, seen: Value, differences: &[&str]| json!({"step": step, "pod": "p", "asked": asked, "configuration": "", "seen": seen, "differences": differences});
        let exclusive = |overlap: u64, with_others: u64| {
            json!({"stateToCgroup": 9000, "stateToRun": 10_500, "overlap": overlap, "samples": 100,
                "withOthers": with_others})
        };
        let boot = |seed: u64| -> Outcome {
            let rows = json!([
                row("without", "c0", exclusive(16_140, 70), &[]),
                row("without", "c1", exclusive(0, 0), &["CPUs at its first instruction: said 1, did 0-7"]),
                row("with", "c0", exclusive(0, 0), &[]),
                row("end", "killed", json!({"containers": 9, "endMs": 1, "allMs": 2500}), &[]),
                row("end", "stopped", json!({"containers": 9, "endMs": 1, "allMs": 900}), &["CPUs"]),
                row("cost", "", json!({"writeMicros": 200, "updateMicros": 300_000}), &[]),
            ]);
            let outcome = json!({"kubelet": "1.37.2", "machine": "m", "about": {"guard": {"seed": seed}}, "seconds": 1, "rows": rows});
            serde_json::from_value(outcome).unwrap_or_else(|error| panic!("{error}"))
        };
        let text = text(&[boot(1), boot(2)]).unwrap_or_default();
        for line in [
            "2 boots |",
            "| exclusive containers | 4 | 2 |",
            "CPUs of the kubelet's file | 2 | 2 |",
            "| how long, s | 0.0 to 16.1, median 16.1 | 0.0 to 0.0, median 0.0 |",
            "| samples after that | 400 | 200 |",
            "run on its CPUs | 140 | 0 |",
            "| killed, stopped | 2, 2 |",
            "| of these, the CPUs of a container changed | 2 |",
            "connected, s | 2.5 |",
            "| | 200 µs | 300 ms | 1 to 1500 |",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert_eq!(super::text(&[]), None);
    }
}
