//! The answers as a table in Markdown: a row for each machine, a column for each configuration.

use std::collections::{BTreeMap, BTreeSet};

use super::asked::Answer;
use super::case::Case;

/// The whole document.
pub(super) fn text(cases: &[Case], answers: &[Answer], unusable: &[String]) -> String {
    let mut text = "# Proposals, asked of the kubelet\n\n\
        What `topolet config check --propose` prints for these machines and configurations, given to the code of kubelet\n\
        v1.36.3: its validation accepts each, its managers start, and an ordinary Guaranteed pod of 2 CPUs and 1Gi is\n\
        admitted within a second, in the time that the table shows. *said*: the pod is refused, and the proposal says why.\n\
        Made by `cargo xtask proposals --write --machines DIR`, where DIR has captured machines that are not in this\n\
        repository; without it the machines that are built in are asked.\n\n"
        .to_owned();
    let columns: Vec<&str> = unique(cases.iter().map(|case| case.configuration.as_str()));
    let mut cells: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for (case, answer) in cases.iter().zip(answers) {
        cells.insert((&case.machine, &case.configuration), cell(case, answer));
    }
    text.push_str(&format!("| machine | {} |\n|---|{}\n", columns.join(" | "), "---|".repeat(columns.len())));
    for machine in unique(cases.iter().map(|case| case.machine.as_str())) {
        let row = columns.iter().map(|column| cells.get(&(machine, *column)).map_or("-", String::as_str));
        text.push_str(&format!("| {machine} | {} |\n", row.collect::<Vec<_>>().join(" | ")));
    }
    let count = |matching: fn(&Answer) -> bool| answers.iter().filter(|answer| matching(answer)).count();
    let slowest = answers.iter().filter_map(|answer| match answer {
        Answer::Admitted { nanoseconds } => Some(*nanoseconds / 1e6),
        _ => None,
    });
    text.push_str(&format!(
        "\nOf {} proposals {} admit the pod, the slowest in {:.0} ms; {} say why they refuse it; {} fail.\n",
        cases.len(),
        count(|answer| matches!(answer, Answer::Admitted { .. })),
        slowest.fold(0.0, f64::max),
        count(|answer| matches!(answer, Answer::RefusedAsSaid)),
        count(Answer::is_wrong),
    ));
    for (case, answer) in cases.iter().zip(answers) {
        if let Answer::Wrong(why) = answer {
            text.push_str(&format!("- {}, {}: {why}\n", case.machine, case.configuration));
        }
    }
    for what in unusable {
        text.push_str(&format!("- nothing is proposed, with the reason: {what}\n"));
    }
    text
}

/// The policies that are proposed, and the answer.
fn cell(case: &Case, answer: &Answer) -> String {
    let field = |name: &str| case.fields.get(name).and_then(serde_json::Value::as_str).unwrap_or("none");
    let memory = if field("memoryManagerPolicy") == "Static" { " + Static" } else { "" };
    let policies = format!("{}{memory}", field("topologyManagerPolicy"));
    match answer {
        Answer::Admitted { nanoseconds } => format!("{policies}: {:.1} ms", nanoseconds / 1e6),
        Answer::RefusedAsSaid => format!("{policies}: said"),
        Answer::Wrong(_) => format!("{policies}: **fails**"),
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}
