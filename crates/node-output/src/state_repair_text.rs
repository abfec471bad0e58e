//! What was repaired in a folder of state, for a person.

use node_state::QUARANTINE;
use terminal_text::Page;

use crate::state_repair::StateRepair;

/// More pods of one finding are not shown; the document has all.
const PODS: usize = 10;

/// What a quarantine is.
const MARKED: &str = "no file proves all that was granted, so the mark stays until the pod is deleted";

/// `a, b, c`, or the first ten and how many more there are.
fn first_of(pods: &[String]) -> String {
    let shown = pods.iter().take(PODS).cloned().collect::<Vec<_>>().join(", ");
    match pods.len().saturating_sub(PODS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What was found, assumed and done, and where the old files are.
#[must_use]
pub fn repairs(told: &StateRepair<'_>, page: Page) -> String {
    let mut text = String::new();
    for repair in &told.repairs {
        let mark = if repair.quarantined.is_empty() { "!" } else { page.no() };
        text.push_str(&format!("{mark} {}   {}\n", repair.file, repair.found));
        let mut rows = Vec::new();
        if let Some(assumed) = &repair.assumed {
            rows.push(vec!["assumed".to_owned(), assumed.clone()]);
        }
        rows.push(vec![if told.written { "done" } else { "to do" }.to_owned(), repair.done.clone()]);
        if !repair.quarantined.is_empty() {
            rows.push(vec!["quarantined".to_owned(), first_of(&repair.quarantined)]);
        }
        text.push_str(&page.columns(rows, "  "));
        text.push('\n');
    }
    if let Some(pod) = &told.unfinished {
        let done = if told.written { "it is completed" } else { "it would be completed" };
        text.push_str(&format!(
            "{} a change of {pod} was cut short between two files: {done} from pods' own files\n",
            page.yes()
        ));
    }
    for file in &told.files {
        let is_aside = told.aside.contains(&file.file);
        text.push_str(&match (&file.backup, told.written, &told.unfinished) {
            (_, false, None) if is_aside => format!("would put {0} aside as {0}.bak-N\n", file.file),
            (Some(backup), true, _) if is_aside => format!("put {} aside as {backup}\n", file.file),
            (_, false, None) => format!("would rewrite {0} (the old file is kept as {0}.bak-N)\n", file.file),
            (_, false, Some(_)) => format!("would complete {}\n", file.file),
            (Some(backup), true, _) => format!("rewrote {} (the old file is kept as {backup})\n", file.file),
            (None, true, Some(_)) => format!("completed {}\n", file.file),
            (None, true, None) => format!("wrote {}\n", file.file),
        });
    }
    for earlier in told.still_quarantined.values() {
        let (no, name, why) = (page.no(), &earlier.name, &earlier.why);
        text.push_str(&format!(
            "{no} {name} is still quarantined since an earlier repair: {why}{}\n",
            earlier.kept()
        ));
    }
    if !(told.still_quarantined.is_empty() && (told.quarantined.is_empty() || !told.written)) {
        text.push_str(&format!(
            "{QUARANTINE} keeps who is quarantined, until the pod is deleted or you remove the file\n"
        ));
    }
    if !told.lost.is_empty() {
        let files: Vec<&str> = told.lost.iter().map(String::as_str).collect();
        let what = if told.written {
            format!(
                ": {QUARANTINE} keeps that until you remove it; restart or delete the pods that run here first"
            )
        } else if told.quarantined.is_empty() {
            ": give the pods that run with --pods, or write with --apply --force if none runs".to_owned()
        } else {
            // The last line has the next step.
            String::new()
        };
        text.push_str(&format!(
            "{} parts of {} are lost, and the pods in them are not known{what}\n",
            page.no(),
            files.join(", ")
        ));
    }
    let quarantined = match told.quarantined.len() {
        0 => String::new(),
        1 => format!(", 1 pod is quarantined: {MARKED}"),
        many => format!(", {many} pods are quarantined: {MARKED}"),
    };
    let verb = if told.written { "repaired" } else { "to repair" };
    text.push_str(&match told.repairs.len() {
        0 if told.unfinished.is_some() => String::new(),
        0 if !told.still_quarantined.is_empty() => "nothing to repair\n".to_owned(),
        0 => format!("{} nothing to repair\n", page.yes()),
        1 => format!("1 thing {verb}{quarantined}\n"),
        many => format!("{many} things {verb}{quarantined}\n"),
    });
    if !told.written && !told.dry_run && told.quarantined.is_empty() && !told.lost.is_empty() {
        text.push_str("nothing is written: other pods could get what they run on\n");
    }
    if !told.written && !told.quarantined.is_empty() {
        let (pods, they) =
            if told.quarantined.len() == 1 { ("the pod", "it runs") } else { ("the pods", "they run") };
        let nothing = if told.dry_run { "--apply alone would write nothing" } else { "nothing is written" };
        let first =
            if told.lost.is_empty() { "Delete" } else { "Give the pods that run with --pods; else delete" };
        text.push_str(&format!(
            "{nothing}: another pod could get what {they} on. {first} {pods} first, or write these repairs \
             with --apply --force\n"
        ));
    }
    page.filled(&text)
}
