//! The kubelet's side: validation and start, then one admission with its time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::Case;

/// What became of one proposal.
#[derive(Debug)]
pub(crate) enum Answer {
    /// An ordinary pod is admitted in this time.
    Admitted { nanoseconds: f64 },
    /// It is refused, and the proposal says so.
    RefusedAsSaid,
    /// Anything else.
    Wrong(String),
}

impl Answer {
    pub(crate) const fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(_))
    }
}

/// The ordinary pod: this many CPUs, and 1Gi.
const CPUS: &str = "2";

#[derive(Deserialize)]
struct Started {
    id: String,
    result: Option<StartResult>,
    panic: Option<String>,
    #[serde(default)]
    hang: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartResult {
    #[serde(default)]
    ok: bool,
    start: Option<String>,
    /// What the kubelet makes of it.
    effective: Option<Value>,
    decode_error: Option<String>,
    #[serde(default)]
    errors: Vec<String>,
    case_error: Option<String>,
}

#[derive(Deserialize)]
struct Timed {
    name: String,
    ns_per_op: Option<f64>,
    over_ns: Option<f64>,
    error: Option<String>,
}

/// Asks about all `cases`, whose machines are described in a folder.
pub(super) fn ask(program: &Path, machines: &Path, cases: &[Case]) -> anyhow::Result<Vec<Answer>> {
    let starts = starts(program, machines, cases)?;
    let mut work = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let path = machines.join(format!("{}.json", case.machine));
        let info: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        let fields = json!({"name": at.to_string(), "kind": "admit", "machine": info, "config": case.fields, "pod": pod()});
        work.push(fields);
    }
    // Once is enough, and a second is all that it may take.
    let timed = answers(program, &["bench", "-limit", "1s", "-each", "1ms"], machines, work.into_iter())?;
    let mut times = BTreeMap::new();
    for line in timed.lines() {
        let timed: Timed = serde_json::from_str(line).with_context(|| format!("no answer: {line}"))?;
        times.insert(timed.name.clone(), timed);
    }
    let answer = |(at, case): (usize, &Case)| {
        let id = at.to_string();
        match starts.get(&id) {
            None => Answer::Wrong("no answer about its start".to_owned()),
            Some(Some(_)) if says_that_it_does_not_start(case) => Answer::RefusedAsSaid,
            Some(Some(refusal)) => Answer::Wrong(refusal.clone()),
            Some(None) => admitted(times.get(&id), case),
        }
    };
    Ok(cases.iter().enumerate().map(answer).collect())
}

/// Why the kubelet does not start with each, by position; nothing if it does, with the file as with the drop-in.
fn starts(
    program: &Path,
    machines: &Path,
    cases: &[Case],
) -> anyhow::Result<BTreeMap<String, Option<String>>> {
    let mut lines = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        lines.push(
            json!({"id": at.to_string(), "kind": "config", "machine": case.machine, "yaml": case.file}),
        );
        if let Some((given, drop_in)) = &case.drop_in {
            let id = format!("{at}{MERGED}");
            lines.push(json!({"id": id, "kind": "config", "yaml": given, "dropIn": drop_in}));
        }
    }
    let mut all = BTreeMap::new();
    for line in answers(program, &["run"], machines, lines.into_iter())?.lines() {
        let started: Started = serde_json::from_str(line).with_context(|| format!("no answer: {line}"))?;
        all.insert(started.id.clone(), started);
    }
    let effective = |id: &str| all.get(id)?.result.as_ref()?.effective.clone();
    let refusal = |(id, started): (&String, &Started)| {
        let merged = format!("{id}{MERGED}");
        let is_otherwise = all.contains_key(&merged) && effective(&merged) != effective(id);
        let otherwise =
            is_otherwise.then(|| "the drop-in gives another configuration than the file".to_owned());
        (id.clone(), refusal_to_start(started).or(otherwise))
    };
    Ok(all.iter().filter(|(id, _)| !id.ends_with(MERGED)).map(refusal).collect())
}

/// What the name of a case ends in that has a drop-in.
const MERGED: &str = " merged";

fn says_that_it_does_not_start(case: &Case) -> bool {
    case.notes.iter().any(|note| note.starts_with("a kubelet does not start with this proposal"))
}

fn refusal_to_start(started: &Started) -> Option<String> {
    let Some(result) = &started.result else {
        let what = started.panic.clone().unwrap_or_else(|| "nothing".to_owned());
        return Some(if started.hang {
            "the start never ends".to_owned()
        } else {
            format!("the start: {what}")
        });
    };
    if let Some(error) = result.decode_error.as_ref().or(result.case_error.as_ref()) {
        return Some(error.clone());
    }
    if !result.ok {
        return Some(result.errors.join("; "));
    }
    result.start.clone().filter(|start| start != "ok")
}

fn admitted(timed: Option<&Timed>, case: &Case) -> Answer {
    let is_said = case.notes.iter().any(|note| {
        let numbers = note.strip_prefix("Guaranteed pods of ").and_then(|rest| rest.split(" CPUs").next());
        numbers.is_some_and(|numbers| numbers.split(", ").any(|own| own == CPUS))
    });
    match timed {
        Some(Timed { ns_per_op: Some(nanoseconds), .. }) if *nanoseconds <= 1e9 => {
            Answer::Admitted { nanoseconds: *nanoseconds }
        }
        Some(Timed { error: Some(_), .. }) if is_said => Answer::RefusedAsSaid,
        Some(Timed { error: Some(error), .. }) => Answer::Wrong(error.clone()),
        Some(Timed { over_ns: Some(_), .. } | Timed { ns_per_op: Some(_), .. }) => {
            Answer::Wrong("the admission takes more than a second".to_owned())
        }
        _ => Answer::Wrong("no answer about the pod".to_owned()),
    }
}

fn pod() -> Value {
    let amounts = json!({"cpu": CPUS, "memory": "1Gi"});
    let container =
        json!({"name": "main", "image": "app", "resources": {"limits": amounts, "requests": amounts}});
    json!({"metadata": {"name": "ordinary", "namespace": "default", "uid": "ordinary"}, "spec": {"containers": [container]}})
}

/// What the program answers to lines of JSON.
fn answers(
    program: &Path,
    arguments: &[&str],
    machines: &Path,
    lines: impl Iterator<Item = Value>,
) -> anyhow::Result<String> {
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let input = machines.join("asked.jsonl");
    fs::write(&input, text)?;
    let output = Command::new(program)
        .args(arguments)
        .env("ADMISSION_MACHINES", machines)
        .stdin(fs::File::open(&input)?.into_file())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start {}", program.display()))?;
    ensure!(output.status.success(), "the kubelet's side failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
