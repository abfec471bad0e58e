//! The results of simulations: tables for people, CSV for spreadsheets.

use std::collections::{BTreeMap, BTreeSet};

use terminal_text::Page;

use crate::device_tables;
use crate::report::{MachineUse, Report, Spread, Summary, share};

/// The table of a scenario, ending in a newline.
#[must_use]
pub fn simulation(report: &Report, page: Page) -> String {
    let mut text = headline(report, page);
    text.push('\n');
    text.push_str(&page.columns(configurations(report, page), ""));
    text.push_str(&device_tables::devices(report, page));
    text.push_str(&retries(report, page));
    text.push_str(&kinds(report, page));
    text.push_str(&why_by_kind(report, page));
    for at in 0..report.machines.len() {
        text.push_str(&used(report, at, page));
    }
    text
}

/// The main table: the heads of the columns, then one line for each configuration.
fn configurations(report: &Report, page: Page) -> Vec<Vec<String>> {
    let has_bound = has_bound(report);
    let mut head: Vec<String> = ["CONFIGURATION", "ADMITTED", ""].map(str::to_owned).into();
    head.extend(has_bound.then(|| "OF AT MOST".to_owned()));
    let first = report.configurations.first().map_or("", |summary| &summary.configuration);
    let is_compared = report.configurations.iter().any(|summary| summary.more_than_first.is_some());
    head.extend(is_compared.then(|| format!("MORE THAN {first}")));
    let has_moves = report.configurations.iter().any(|summary| summary.moves.is_some());
    head.extend(has_moves.then(|| "MOVES".to_owned()));
    let others = ["REFUSED", "ALIGNED", "CPUS HELD", "FRAGMENTED", "STRANDED", "WHY REFUSED"];
    head.extend(others.map(str::to_owned));
    let mut rows = vec![head];
    for summary in &report.configurations {
        let in_a_run = |sum: u64, spread: Option<Spread>| spread.map_or_else(|| sum.to_string(), in_a_run);
        let bound = |most: u64| in_mean(most, report.runs);
        let mut row = vec![
            summary.configuration.clone(),
            in_a_run(summary.admitted, summary.admitted_in_a_run),
            percent(share(summary.admitted, summary.pods)),
        ];
        row.extend(has_bound.then(|| summary.at_most.map_or("-".to_owned(), bound)));
        row.extend(is_compared.then(|| {
            summary.more_than_first.map_or("-".to_owned(), |more| {
                format!("{:+.1} {} {:.1}", more.mean, page.plus_minus(), more.error)
            })
        }));
        row.extend(
            has_moves.then(|| summary.moves.map_or("-".to_owned(), |moves| in_mean(moves, report.runs))),
        );
        row.push(in_a_run(summary.refused_in_all(), summary.refused_in_a_run));
        row.extend([
            if summary.placed == 0 { "-".to_owned() } else { percent(summary.aligned_share) },
            percent(summary.cpus_held()),
            percent(summary.fragmentation),
            percent(summary.stranded()),
            reasons(&summary.refused, report.runs),
        ]);
        rows.push(row);
    }
    rows
}

/// Whether some configuration has a bound of how many pods could be admitted.
fn has_bound(report: &Report) -> bool {
    report.configurations.iter().any(|summary| summary.at_most.is_some())
}

/// Pods of a single run: `MEAN (LEAST-MOST)`.
fn in_a_run(spread: Spread) -> String {
    format!("{:.1} ({}-{})", spread.mean, spread.least, spread.most)
}

/// A sum over runs as their mean; of one run the number.
#[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
fn in_mean(sum: u64, runs: u32) -> String {
    if runs < 2 { sum.to_string() } else { format!("{:.1}", sum as f64 / f64::from(runs)) }
}

/// What the columns of the tables mean.
#[must_use]
pub fn legend(report: &Report, page: Page) -> String {
    let tries_again = report.configurations.iter().any(|summary| summary.tried_again.is_some());
    let refused = if tries_again {
        "the others, which had not run when nothing changed any more"
    } else {
        "the others; a refused pod is not tried again"
    };
    let mut rows =
        vec![("ADMITTED", "pods that a node admitted, and which share of all that arrived they are")];
    if report.runs > 1 {
        rows.push(("1.5 (1-2)", "in a single run the mean, the least and the most of all runs"));
    }
    if has_bound(report) {
        rows.push((
            "OF AT MOST",
            "more could not have been admitted under the policy, had every pod to come been known and any of them been turned \
             away on purpose",
        ));
    }
    if report.runs > 1 {
        rows.push((
            "MORE THAN",
            "admitted pods of a run less those of the first configuration with the same seed: the mean, and its standard error; a \
             mean within twice of that may be chance",
        ));
    }
    if report.configurations.iter().any(|summary| summary.moves.is_some()) {
        rows.push(("MOVES", "pods that were moved to another place so that a refused one fits"));
    }
    rows.push(("REFUSED", refused));
    rows.extend([
        (
            "ALIGNED",
            "of the admitted pods with exclusive CPUs, memory or devices the share that is on as few NUMA nodes as on an \
             empty machine",
        ),
        (
            "CPUS HELD",
            "the share of all CPUs that containers had for themselves, on the average over the time",
        ),
        (
            "FRAGMENTED",
            "of the pods that all free resources of a machine would hold together the share for which no single NUMA node \
             has room, on the average over time and machines",
        ),
        (
            "STRANDED",
            "the share of CPUs that were free on NUMA nodes without room for pods of the mix, each kind of pods by its weight \
             (FGD's measure)",
        ),
        ("NoRoom", "the scheduler found no node with enough of everything; other reasons are the kubelet's"),
        (
            "HELD ON",
            "the share of what a NUMA node has that was held, on the average over time and machines of the kind",
        ),
    ]);
    if report.has_claims() {
        rows.extend(device_tables::LEGEND);
    }
    if tries_again {
        rows.extend([
            ("RAN AT ONCE", "pods that a node admitted at their first try"),
            ("RETRIES", "tries after the first, by pods that ran in the end and by others"),
            (
                "HALF RAN IN",
                "the time from arrival to admission that half of the pods that ran did not exceed",
            ),
            (
                "REFUSED BY NODES",
                "every refusal by a node; a pod that is tried again can be refused more than once",
            ),
        ]);
    }
    let rows = rows.into_iter().map(|(column, means)| vec![column.to_owned(), means.to_owned()]);
    format!("\nlegend\n{}", page.columns(rows, "  "))
}

/// The scenario in one line: machines, pods, span, scheduler, seed and runs.
pub(crate) fn headline(report: &Report, page: Page) -> String {
    let machines =
        report.machines.iter().map(|kind| format!("{} {} {}", kind.count, page.times(), kind.machine));
    let machines = machines.collect::<Vec<_>>().join(", ");
    let pods =
        report.configurations.first().map_or(0, |summary| summary.pods / u64::from(report.runs.max(1)));
    let span = report.configurations.first().map_or(0.0, |summary| summary.span_seconds);
    let seed = report.seed;
    let seeds = match u64::from(report.runs) {
        0 | 1 => format!("seed {seed}"),
        runs => format!("{runs} runs, seeds {seed} to {}", seed.wrapping_add(runs - 1)),
    };
    let dot = page.dot();
    let line = format!(
        "{machines} {dot} {pods} pods in {} {dot} scheduler {} {dot} {seeds}",
        time(span),
        report.scheduler,
    );
    page.wrapped(&line, 2)
}

/// The most frequent first; of several runs the means.
fn reasons(refused: &BTreeMap<String, u64>, runs: u32) -> String {
    let mut sorted: Vec<(&String, &u64)> = refused.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = sorted.into_iter().map(|(reason, count)| format!("{} {reason}", in_mean(*count, runs)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    if shown.is_empty() { "-".to_owned() } else { shown }
}

/// The table of pods that were tried again, under each configuration; empty where each pod is tried once.
fn retries(report: &Report, page: Page) -> String {
    if report.configurations.iter().all(|summary| summary.tried_again.is_none()) {
        return String::new();
    }
    let head =
        ["TRIED AGAIN", "SCHEDULER", "RAN AT ONCE", "RETRIES", "HALF RAN IN", "90% IN", "REFUSED BY NODES"];
    let rows = report.configurations.iter().filter_map(|summary| {
        let tried = summary.tried_again.as_ref()?;
        Some(vec![
            summary.configuration.clone(),
            summary.scheduler.unwrap_or(report.scheduler).to_owned(),
            tried.at_first_try.to_string(),
            tried.retries.to_string(),
            time(tried.seconds_to_place.half),
            time(tried.seconds_to_place.ninety_percent),
            reasons(&tried.node_refusals, report.runs),
        ])
    });
    let head = head.map(str::to_owned).to_vec();
    format!("\n{}", page.columns(std::iter::once(head).chain(rows), ""))
}

/// The table of admitted pods by kind, under each configuration.
fn kinds(report: &Report, page: Page) -> String {
    let mut head = vec!["ADMITTED OF EACH KIND".to_owned()];
    let first = report.configurations.first();
    head.extend(first.iter().flat_map(|summary| &summary.kinds).map(|kind| kind.pod.clone()));
    let rows = report.configurations.iter().map(|summary| {
        let mut row = vec![summary.configuration.clone()];
        row.extend(summary.kinds.iter().map(|kind| {
            let admitted = kind.admitted_in_a_run.map_or_else(|| kind.admitted.to_string(), in_a_run);
            format!("{admitted} of {}", in_mean(kind.arrived, report.runs))
        }));
        row
    });
    let claims = first.iter().flat_map(|summary| &summary.kinds);
    let claims: String = claims.map(|kind| without_claims(&kind.pod, &kind.without_claims, page)).collect();
    format!("\n{}{claims}", page.columns(std::iter::once(head).chain(rows), ""))
}

/// The table of reasons by kind, under each configuration with several; empty where none has.
fn why_by_kind(report: &Report, page: Page) -> String {
    let mut rows = vec![["WHY REFUSED, BY KIND", "", ""].map(str::to_owned).to_vec()];
    for summary in report.configurations.iter().filter(|summary| summary.refused.len() > 1) {
        let refused = summary.kinds.iter().filter(|kind| !kind.refused.is_empty());
        rows.extend(refused.enumerate().map(|(at, kind)| {
            let name = if at == 0 { summary.configuration.clone() } else { String::new() };
            vec![name, kind.pod.clone(), reasons(&kind.refused, report.runs)]
        }));
    }
    if rows.len() == 1 { String::new() } else { format!("\n{}", page.columns(rows, "")) }
}

/// Of a machine with more NUMA nodes only the least, mean and most are shown.
const MOST_NODES: usize = 10;

/// The table of what was held on each NUMA node of the `at`-th kind of machine, under each configuration.
fn used(report: &Report, at: usize, page: Page) -> String {
    let of = |summary: &Summary| {
        summary.machines.get(at).map(|machine| (summary.configuration.clone(), machine_rows(machine)))
    };
    let Some(machine) = report.configurations.first().and_then(|summary| summary.machines.get(at)) else {
        return String::new();
    };
    let nodes: Vec<i64> = machine.numa.iter().map(|node| node.node).collect();
    let mut head = vec![format!("HELD ON {}", machine.machine), String::new()];
    if nodes.len() > MOST_NODES {
        head.extend(["LEAST", "MEAN", "MOST"].map(str::to_owned));
    } else {
        head.extend(nodes.iter().map(|node| format!("NUMA {node}")));
    }
    let mut rows = vec![head];
    let is_used = |resource: &str| {
        let machines = report.configurations.iter().filter_map(|summary| summary.machines.get(at));
        let mut nodes = machines.flat_map(|machine| &machine.numa);
        !resource.contains('/') || nodes.any(|node| node.held.get(resource).is_some_and(|held| *held > 0.0))
    };
    for (name, mut resources) in report.configurations.iter().filter_map(of) {
        resources.retain(|(resource, _)| is_used(resource));
        for (number, (resource, cells)) in resources.into_iter().enumerate() {
            let mut row = vec![if number == 0 { name.clone() } else { String::new() }, resource];
            row.extend(cells);
            rows.push(row);
        }
    }
    format!("\n{}", page.table(rows, 2, ""))
}

fn machine_rows(machine: &MachineUse) -> Vec<(String, Vec<String>)> {
    let resources: BTreeSet<&String> = machine.numa.iter().flat_map(|node| node.held.keys()).collect();
    let row = |resource: &String| {
        let held: Vec<Option<f64>> =
            machine.numa.iter().map(|node| node.held.get(resource).copied()).collect();
        if held.len() <= MOST_NODES {
            return held.iter().map(|held| held.map_or("-".to_owned(), percent)).collect();
        }
        let known: Vec<f64> = held.into_iter().flatten().collect();
        let mean =
            known.iter().sum::<f64>() / f64::from(u32::try_from(known.len()).unwrap_or(u32::MAX)).max(1.0);
        let least = known.iter().copied().fold(1.0, f64::min);
        vec![percent(least), percent(mean), percent(known.iter().copied().fold(0.0, f64::max))]
    };
    resources.into_iter().map(|resource| (resource.clone(), row(resource))).collect()
}

/// A share from 0 to 1 as `12.3%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A span of time in its two largest units: `1d1h`, `1h30m`, `59s`.
pub(crate) fn time(seconds: f64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no span is negative or that long"
    )]
    let mut left = seconds.round() as u64;
    let mut text = String::new();
    let mut shown = 0;
    for (unit, length) in UNITS {
        let count = left / length;
        left %= length;
        if shown == 1 || count > 0 {
            shown += 1;
            if count > 0 {
                text.push_str(&format!("{count}{unit}"));
            }
        }
        if shown == 2 {
            break;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// CSV with one line for each run of each configuration.
#[must_use]
pub fn simulation_csv(report: &Report) -> String {
    let reasons: BTreeSet<&String> =
        report.configurations.iter().flat_map(|summary| summary.refused.keys()).collect();
    let mut text = "configuration,seed,pods,admitted,at_most,placed,aligned,fragmentation".to_owned();
    let has_claims = report.has_claims();
    text.push_str(if has_claims { ",misaligned,search_steps" } else { "" });
    text.extend(reasons.iter().map(|reason| format!(",{}", quoted(reason))));
    text.push('\n');
    for summary in &report.configurations {
        for run in &summary.each_run {
            text.push_str(&format!(
                "{},{},{},{},{},{},{},{}",
                quoted(&summary.configuration),
                run.seed,
                run.pods,
                run.admitted,
                run.at_most.map(|most| most.to_string()).unwrap_or_default(),
                run.placed,
                run.aligned,
                run.fragmentation
            ));
            for figure in [run.misaligned, run.search_steps].iter().filter(|_| has_claims) {
                text.push_str(&format!(",{}", figure.map(|figure| figure.to_string()).unwrap_or_default()));
            }
            text.extend(reasons.iter().map(|reason| format!(",{}", run.refused.get(*reason).unwrap_or(&0))));
            text.push('\n');
        }
    }
    text
}

/// The line that a pod's resource claims are not decided here; empty: it has none.
pub(crate) fn without_claims(pod: &str, claims: &[String], page: Page) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let claims = claims.join(", ");
    page.wrapped(&format!("! {pod} is admitted without its claims, which are not decided here: {claims}"), 2)
}

/// A CSV field, quoted where needed: spreadsheets also take a field that begins with `=`, `+`, `-` or `@` for a formula.
pub(crate) fn quoted(field: &str) -> String {
    let needs_quotes = field.contains([',', '"', '\n', '\r']) || field.starts_with(['=', '+', '-', '@']);
    if needs_quotes { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units_at_most() {
        for (seconds, shown) in [
            (0.0, "0s"),
            (59.6, "1m"),
            (3600.0, "1h"),
            (5400.0, "1h30m"),
            (90_061.0, "1d1h"),
            (86_460.0, "1d"),
        ] {
            assert_eq!(time(seconds), shown);
        }
    }

    #[test]
    fn a_field_stays_one_field() {
        for (field, written) in
            [("a", "a"), ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("=1+1", "\"=1+1\"")]
        {
            assert_eq!(quoted(field), written);
        }
    }
}
