//! The figures of the last run of each kubelet, and the page made of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::Context as _;

use super::kubelet::{Outcome, Row};
use crate::root;

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

/// Writes `docs/guest/VERSION.json`, and `docs/guest.md` of all such files.
pub(crate) fn write(outcome: &Outcome) -> anyhow::Result<()> {
    let folder = root().join("docs/guest");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}.json", outcome.kubelet.replace(", ", "-")));
    fs::write(&file, serde_json::to_string_pretty(outcome)? + "\n")
        .with_context(|| format!("failed to write {}", file.display()))?;
    report()
}

/// Writes `docs/guest.md` of the figures in `docs/guest`.
pub(crate) fn report() -> anyhow::Result<()> {
    let folder = root().join("docs/guest");
    let mut files: Vec<_> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut all: Vec<Outcome> = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let text = fs::read_to_string(file)?;
        all.push(serde_json::from_str(&text).with_context(|| format!("{} is none of ours", file.display()))?);
    }
    Ok(fs::write(root().join("docs/guest.md"), page(&all))?)
}

fn page(all: &[Outcome]) -> String {
    let mut page = HEAD.to_owned();
    page += "| kubelet | machine | seed | pods | admitted | refused | deletions | restarts | disagreements | seconds |\n";
    page += "|---|---|---|---|---|---|---|---|---|---|\n";
    for run in all {
        let count = |is: &dyn Fn(&&Row) -> bool| run.rows.iter().filter(is).count();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            run.kubelet,
            run.machine,
            run.seed,
            count(&|row| row.step == "add"),
            count(&|row| row.step == "add" && row.did.as_deref() == Some("Running")),
            count(&|row| row.step == "add" && row.did.as_deref() != Some("Running")),
            count(&|row| row.step == "delete"),
            count(&|row| row.step == "restart"),
            run.disagreements(),
            run.seconds
        );
    }
    for run in all {
        let mut kinds: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
        for row in run.rows.iter().filter(|row| row.step == "add") {
            if let (Some(said), Some(did)) = (&row.said, &row.did) {
                *kinds.entry((&row.configuration, said, did)).or_default() += 1;
            }
        }
        let _ = write!(
            page,
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
        let wrong: Vec<&Row> = run.rows.iter().filter(|row| !row.differences.is_empty()).collect();
        if !wrong.is_empty() {
            page += "\nDisagreements:\n\n";
        }
        for row in wrong {
            let _ =
                writeln!(page, "- {} {} ({}): {}", row.step, row.pod, row.asked, row.differences.join("; "));
        }
    }
    page
}
