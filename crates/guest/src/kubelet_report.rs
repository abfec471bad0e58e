//! The figures of the last run of each kubelet, and the page made of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use fs_err as fs;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::root;

use crate::guard_report;
use crate::kubelet::{Mode, Outcome, Row};

const HEAD: &str = "# Beside a real kubelet

`cargo xtask vm --kubelet VERSION --pods N --seed S --write` boots a guest with two NUMA nodes, in which the unmodified
kubelet runs static pods with containerd and runc, and writes this page. Before each pod, `topolet admit` says from the
node's own files what will happen. Afterwards phase, reason, message, exclusive CPUs, memory blocks, devices by node and
the pod resources service are compared with it. In every step the cgroups of all containers, `topolet state show` and
`topolet serve --observe`, which runs all the time, are compared with the kubelet's state files. The pods come from the
seed; the topology policy changes on an empty node, and the kubelet is killed and started again among them. Where
several releases are named, each takes over the disk and the running pods of the one before, and what `topolet upgrade
check` says of them is compared with what becomes of them.

";

const REFUSALS: &str = "
## Refusals, explained as they happen

With `--refusals` the kubelet gets pods that it refuses, kind by kind. `topolet serve --observe` hears of each from the
kubelet (from 1.37 on by its pods API, before by its HTTPS endpoint), and explains it: with the kubelet's own reason, or
it is a disagreement. Then what it says would fit is tried on that kubelet: of the first pod of each cause the first
change that can be made there, and each kind of change until it has been tried once. At the end the test changes the CPUs
of a container in its cgroup, and back: the observer has to find one container that drifted, and then none.

Static pods count as critical, so what the node as a whole lacks ends as a failed preemption (`UnexpectedAdmissionError`)
and not as `OutOfcpu`, which no pod here has.
";

const UNAIDED: &str = "
## Without any argument that names the kubelet

With `--unaided` topolet is given each pod and nothing else: `topolet admit -f POD` and `topolet status` find the kubelet
by its process and ask its sockets. Its configuration is a file elsewhere, a file with drop-ins, or a file with flags,
beside a file in the usual place that says something else; the plugin's devices are on one NUMA node, on both or on none,
free, half held or all held. Then 256 MiB of memory are plugged into NUMA node 0, and later its huge pages change, while
the kubelet runs. What `admit` says of each pod is compared with what the kubelet then does, and what `status` says of
the next restart with that restart. A pod that asks for devices is asked about a second time while the kubelet's sockets
are away: *not decided* is no disagreement there, a wrong verdict is one. With its sockets, a pod that is not decided since the
emulated kubelet did not answer within two seconds is asked about again, five times in all; after them it is a disagreement.

| kubelet | seed | pods | admitted | refused | without sockets | of them not decided | changes | restarts | disagreements | seconds |
|---|---|---|---|---|---|---|---|---|---|---|
";

/// Writes `docs/guest/VERSION.json`, and `docs/guest.md` of all such files; statuses go to fixtures.
pub(crate) fn write(outcome: &Outcome) -> anyhow::Result<()> {
    let folder = root().join("docs/guest");
    fs::create_dir_all(&folder)?;
    let about = match outcome.mode {
        Mode::Pods { .. } => String::new(),
        Mode::Unaided { .. } => "-unaided".to_owned(),
        Mode::Refusals => "-refusals".to_owned(),
        Mode::Guard { seed } => format!("-guard-{seed}"),
        Mode::Statuses => return write_statuses(outcome),
        // It has no figures.
        Mode::Cluster { .. } => return Ok(()),
    };
    let file = folder.join(format!("{}{about}.json", outcome.kubelet.replace(", ", "-")));
    fs::write(&file, serde_json::to_string_pretty(outcome)? + "\n")?;
    report()
}

/// Writes what the kubelet wrote about pods to `fixtures/kubelet-statuses/VERSION.json`.
fn write_statuses(outcome: &Outcome) -> anyhow::Result<()> {
    let folder = root().join("fixtures/kubelet-statuses");
    fs::create_dir_all(&folder)?;
    let seen: BTreeMap<&str, &serde_json::Value> =
        outcome.rows.iter().filter_map(|row| Some((row.pod.as_str(), row.seen.as_ref()?))).collect();
    let file = folder.join(format!("{}.json", outcome.kubelet));
    Ok(fs::write(&file, serde_json::to_string_pretty(&seen)? + "\n")?)
}

/// Writes `docs/guest.md` of the figures in `docs/guest`, and those of the guard to `docs/guard.md`.
pub(crate) fn report() -> anyhow::Result<()> {
    let folder = root().join("docs/guest");
    let mut files: Vec<_> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut all: Vec<Outcome> = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let text = fs::read_to_string(file)?;
        all.push(serde_json::from_str(&text).with_context(|| format!("{} is none of ours", file.display()))?);
    }
    if let Some(text) = guard_report::text(&all) {
        write_figures("docs/guard.md", "guest", &text)?;
    }
    Ok(fs::write(root().join("docs/guest.md"), page(&all))?)
}

fn page(all: &[Outcome]) -> String {
    let of_pods = |run: &&Outcome| matches!(run.mode, Mode::Pods { .. });
    let mut page = HEAD.to_owned();
    page += "| kubelet | machine | seed | pods | admitted | refused | deletions | restarts | disagreements | seconds |\n";
    page += "|---|---|---|---|---|---|---|---|---|---|\n";
    for run in all {
        let Mode::Pods { seed, .. } = run.mode else { continue };
        let runs = |row: &&Row| row.step == "add" && row.did.as_deref() == Some("Running");
        let (added, running) = (run.steps("add"), run.rows.iter().filter(runs).count());
        let _ = writeln!(
            page,
            "| {} | {} | {seed} | {added} | {running} | {} | {} | {} | {} | {} |",
            run.kubelet,
            run.machine,
            added - running,
            run.steps("delete"),
            run.steps("restart"),
            run.disagreements(),
            run.seconds
        );
    }
    for run in all.iter().filter(of_pods) {
        page += &of_drawn_pods(run);
        page += &disagreements(run);
    }
    let unaided: Vec<&Outcome> = all.iter().filter(|run| matches!(run.mode, Mode::Unaided { .. })).collect();
    if !unaided.is_empty() {
        page += UNAIDED;
        page.extend(unaided.iter().map(|run| of_unaided(run)));
        page.extend(unaided.iter().map(|run| disagreements(run)));
    }
    let refusals: Vec<&Outcome> = all.iter().filter(|run| run.mode == Mode::Refusals).collect();
    if !refusals.is_empty() {
        page += REFUSALS;
    }
    for run in refusals {
        page += &of_refusals(run);
        page += &disagreements(run);
    }
    page
}

fn of_drawn_pods(run: &Outcome) -> String {
    let mut kinds: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for row in run.rows.iter().filter(|row| row.step == "add") {
        if let (Some(said), Some(did)) = (&row.said, &row.did) {
            *kinds.entry((&row.configuration, said, did)).or_default() += 1;
        }
    }
    let mut page = format!(
        "\n## Kubelet {}\n\n| policy and scope | said | did | pods |\n|---|---|---|---|\n",
        run.kubelet
    );
    for ((configuration, said, did), pods) in kinds {
        let _ = writeln!(page, "| {configuration} | {said} | {did} | {pods} |");
    }
    let changes = run.rows.iter().filter(|row| row.step == "release");
    let changes: Vec<String> = changes
        .filter_map(|row| Some(format!("- said {}; did {}\n", row.said.as_ref()?, row.did.as_ref()?)))
        .collect();
    if !changes.is_empty() {
        page += &format!("\nChanges of the release:\n\n{}", changes.concat());
    }
    page
}

fn of_unaided(run: &Outcome) -> String {
    let Mode::Unaided { seed, .. } = run.mode else { return String::new() };
    let adds = || run.rows.iter().filter(|row| row.step == "add");
    let said =
        |text: &str| adds().filter(|row| row.said.as_ref().is_some_and(|said| said.contains(text))).count();
    let running = adds().filter(|row| row.did.as_deref() == Some("Running")).count();
    format!(
        "| {} | {seed} | {} | {running} | {} | {} | {} | {} | {} | {} | {} |\n",
        run.kubelet,
        run.steps("add"),
        run.steps("add") - running,
        said("without sockets"),
        said("without sockets undecided"),
        run.steps("change"),
        run.steps("restart"),
        run.disagreements(),
        run.seconds
    )
}

/// By kind, in the order in which they were tried.
fn of_refusals(run: &Outcome) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in run.rows.iter().filter_map(|row| row.kind.as_deref()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut page = format!(
        "\n### Kubelet {}: {} refusals for {} causes, {} changes tried, {} steps of drift, {} disagreements, {} s\n\n",
        run.kubelet,
        run.steps("refusal"),
        kinds.len(),
        run.steps("try"),
        run.steps("drift"),
        run.disagreements(),
        run.seconds
    );
    page += "| why | policy and scope | said and did | pods | would fit, tried | did |\n|---|---|---|---|---|---|\n";
    for kind in kinds {
        let of = |step: &'static str| {
            run.rows.iter().filter(move |row| row.step == step && row.kind.as_deref() == Some(kind))
        };
        let Some(first) = of("refusal").next() else { continue };
        let mut reasons: Vec<&str> = of("refusal").filter_map(|row| row.said.as_deref()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let column = |field: &dyn Fn(&Row) -> Option<String>| {
            of("try").filter_map(field).collect::<Vec<_>>().join("<br>")
        };
        let _ = writeln!(
            page,
            "| {kind} | {} | {} | {} | {} | {} |",
            first.configuration,
            reasons.join(", "),
            of("refusal").count(),
            column(&|row| row.said.clone()),
            column(&|row| row.did.clone())
        );
    }
    page
}

fn disagreements(run: &Outcome) -> String {
    let mut page = String::new();
    for row in run.rows.iter().filter(|row| !row.differences.is_empty()) {
        if page.is_empty() {
            page += "\nDisagreements:\n\n";
        }
        let _ = writeln!(page, "- {} {} ({}): {}", row.step, row.pod, row.asked, row.differences.join("; "));
    }
    page
}
