//! The figures of all campaigns as one page in Markdown.

use serde_json::Value;

/// The whole document.
pub(super) fn text(figures: &[Value]) -> String {
    let mut text = "# Reliability\n\n\
        What the campaigns found when they last ran. `cargo xtask reliability` makes this page of the figures in\n\
        `docs/reliability`, which the campaigns write; `crates/conformance/README.md` and `fuzz/README.md` say more of\n\
        two of them. The times are those of the machine with so many cores, and not of topolet alone.\n\n"
        .to_owned();
    text.push_str(&conformance(&of(figures, "conformance")));
    let sections = [
        ("chaos", chaos as fn(&Value) -> String),
        ("soak", soak),
        ("observe", observe),
        ("observe-trace", observe_trace),
        ("fuzz", fuzz),
    ];
    for (campaign, section) in sections {
        for run in of(figures, campaign) {
            text.push_str(&section(run));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn of<'a>(figures: &'a [Value], campaign: &str) -> Vec<&'a Value> {
    figures.iter().filter(|run| run["campaign"] == campaign).collect()
}

/// What was run, where and when.
fn ran(run: &Value) -> String {
    format!("`{}`, {}, {} cores", text_of(&run["command"]), text_of(&run["date"]), run["cores"])
}

/// What watching costs.
fn observe(run: &Value) -> String {
    let took = &run["explainMilliseconds"];
    format!(
        "## Beside a kubelet\n\n`topolet serve --observe`, started with `MIMALLOC_PURGE_DELAY=0` as its unit and the DaemonSet do,\n\
         beside {pods} pods, of which one comes and goes every two seconds, and {rate} refusals a minute:\n\
         {share} % of a core, {memory} MiB resident at most. {explained} refusals were explained, {left} were not, {differ}\n\
         differently from the daemon that stood for the kubelet. From the kubelet's word to the explanation at a\n\
         client: median {median} ms, 99 % within {late} ms, at most {most} ms.\n\n{ran}.\n\n",
        pods = number(&run["pods"]),
        rate = number(&run["refusalsPerMinute"]),
        share = run["percentOfACore"],
        memory = run["residentMiB"],
        explained = number(&run["explained"]),
        left = number(&run["unexplained"]),
        differ = number(&run["disagreements"]),
        median = took["p50"],
        late = took["p99"],
        most = took["max"],
        ran = ran(run),
    )
}

/// What watching does.
fn observe_trace(run: &Value) -> String {
    let calls: u64 =
        run["calls"].as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
    format!(
        "### Its system calls\n\n`topolet serve --observe` under strace for {minutes} minutes, beside {pods} pods and {rate} refusals a minute: {calls} calls that\n\
         open, change, remove or write a file or connect somewhere, {writes} of which change anything below the kubelet's\n\
         root.\n\n{ran}.\n\n",
        minutes = run["minutes"],
        pods = number(&run["pods"]),
        rate = number(&run["refusalsPerMinute"]),
        calls = number(&calls.into()),
        writes = run["writes"].as_array().map_or(0, Vec::len),
        ran = ran(run),
    )
}

fn conformance(runs: &[&Value]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let mut text = "## Fresh cases, asked of the kubelet\n\n\
        Random cases, each asked of the kubelet's own code and decided on here. *Listed* are differences that the README\n\
        of `conformance` lists, and are part of *passed*.\n\n\
        | kind | passed | of them listed | failed | skipped |\n|---|---|---|---|---|\n"
        .to_owned();
    for run in runs {
        for (kind, row) in run["kinds"].as_object().into_iter().flatten() {
            let [passed, listed, failed, skipped] =
                ["passed", "listed", "failed", "skipped"].map(|field| number(&row[field]));
            text.push_str(&format!("| {kind} | {passed} | {listed} | {failed} | {skipped} |\n"));
        }
    }
    text.push('\n');
    for run in runs {
        text.push_str(&format!(
            "- {} of {} cases: {}\n",
            text_of(&run["domain"]),
            number(&run["cases"]),
            ran(run)
        ));
        for (_, row) in run["kinds"].as_object().into_iter().flatten() {
            for id in row["failing"].as_array().into_iter().flatten() {
                text.push_str(&format!("  - differs: {}\n", text_of(id)));
            }
        }
    }
    text + "\n"
}

/// What else happens to pods, with how often.
fn mixed(run: &Value) -> [(&'static str, String); 3] {
    let of = |field: &str| number(&run[field]);
    [("that had to wait", of("deferred")), ("resized", of("resized")), ("moved", of("moved"))]
}

fn chaos(run: &Value) -> String {
    let mixed: String =
        mixed(run).iter().map(|(what, count)| format!("| pods {what} | {count} |\n")).collect();
    let counts = run["counts"].as_object().into_iter().flatten();
    let counts: String = counts.map(|(what, count)| format!("| {what} | {} |\n", number(count))).collect();
    let starts = &run["startMilliseconds"];
    let mut text = format!(
        "## Kills under load\n\n{}: {} s.\n\n\
        Four clients over the socket, a folder of manifests and a device plugin; `kill -9` at random moments. Pods are\n\
        resized, wait for the plugin, and are moved so that a wide one fits, unless their annotation forbids it. After each\n\
        start: no CPU and no device has two owners, exclusive CPUs and shared pool are all CPUs, memory adds up, the\n\
        answers are what is on disk, no acknowledged pod is lost, has another size, or has moved against its annotation, no\n\
        acknowledged deletion is undone, no pod that was refused for good is admitted, and\n\
        `/readyz` is 200. A pod whose file was damaged may be in quarantine, by its name.\n\n\
        | what | how often |\n|---|---|\n{counts}\
        | pods admitted | {} |\n| pods refused | {} |\n{}| pods deleted | {} |\n| refused for want of disk | {} |\n\
        | **violations** | **{}** |\n\n\
        From the start of the process to ready: median {} ms, 99 % within {} ms, at most {} ms.\n\n",
        ran(run),
        run["seconds"],
        number(&run["applied"]),
        number(&run["refused"]),
        mixed,
        number(&run["deleted"]),
        number(&run["noSpace"]),
        number(&run["violations"]),
        starts["p50"],
        starts["p99"],
        starts["max"],
    );
    text.push_str(&lines("", &run["violationsShown"]));
    text.push_str(&lines("not run: ", &run["notRun"]));
    text + "\n"
}

fn soak(run: &Value) -> String {
    // An earlier run has none of it.
    let mixed = mixed(run).into_iter().filter(|_| !run["resized"].is_null());
    let mixed: String = mixed.map(|(what, count)| format!("{count} {what}, ")).collect();
    let (apply, life) = (&run["applyMilliseconds"], &run["lastLife"]);
    let row = |name: &str, of: &Value| {
        format!("| {name} | {} | {} |\n", number(&of["before"]), number(&of["after"]))
    };
    format!(
        "## A long run\n\n{}.\n\n\
        {} requests, {} a second of {} that were due: {} pods admitted, {} refused, {}{} deleted, {} explained; {} starts of the daemon, the\n\
        longest {} ms; a device plugin that dies every 20 s, and readers that say nothing, ask byte by byte, scrape and\n\
        explain. Violations: {}. Apply, from when\n\
        it was due: median {} ms, 99 % within {} ms, at most {} ms.\n\n\
        | medians in the last life | after the warm-up | at the end |\n|---|---|---|\n{}{}{}\n\
        Memory changed by {} %, and was {} KiB at most.\n\n{}",
        ran(run),
        number(&run["events"]),
        run["eventsPerSecond"],
        run["duePerSecond"],
        number(&run["applied"]),
        number(&run["refused"]),
        mixed,
        number(&run["deleted"]),
        number(&run["explained"]),
        run["starts"],
        run["longestStartMilliseconds"],
        run["violations"],
        apply["p50"],
        apply["p99"],
        apply["max"],
        row("resident memory, KiB", &life["resident"]),
        row("descriptors", &life["descriptors"]),
        row("threads", &life["threads"]),
        life["residentPercent"],
        number(&life["largestResident"]),
        lines("", &run["violationsShown"]),
    )
}

fn fuzz(run: &Value) -> String {
    let mut text = format!(
        "## Fuzzing\n\n{}.\n\n\
        | target | minutes | executions | slowest input, s | memory, MB | found |\n|---|---|---|---|---|---|\n",
        ran(run)
    );
    for (target, row) in run["targets"].as_object().into_iter().flatten() {
        text.push_str(&format!(
            "| {target} | {} | {} | {} | {} | {} |\n",
            row["minutes"],
            number(&row["executions"]),
            row["slowestSeconds"],
            row["megabytes"],
            text_of(&row["found"]),
        ));
    }
    text + "\n"
}

fn lines(before: &str, list: &Value) -> String {
    list.as_array().into_iter().flatten().map(|line| format!("- {before}{}\n", text_of(line))).collect()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A count with its thousands apart.
fn number(value: &Value) -> String {
    let digits = value.as_u64().unwrap_or_default().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let shown = [0_u64, 12, 123, 1_234, 1_000_000].map(|count| number(&json!(count)));
        assert_eq!(shown, ["0", "12", "123", "1,234", "1,000,000"]);
    }

    #[test]
    fn a_case_that_differs_is_named() {
        let run = json!({
            "campaign": "conformance", "command": "c", "date": "2026-01-01", "cores": 2, "domain": "cpu", "cases": 3,
            "kinds": { "cpu/take": { "passed": 2, "listed": 1, "failed": 1, "skipped": 0, "failing": ["take-1-2"] } },
        });
        let page = text(&[run]);
        assert!(page.contains("| cpu/take | 2 | 1 | 1 | 0 |"), "{page}");
        assert!(page.contains("  - differs: take-1-2\n"), "{page}");
    }
}
