//! The results of simulations and of `find_max`: tables for people, CSV for spreadsheets.

use std::collections::{BTreeMap, BTreeSet};

use k8s_quantity::{Amount, Format, Quantity};
use node_simulation::{POLICIES_AND_SCOPES, ReservationPlace};
use terminal_text::Page;

use crate::find_max::{Capacity, ClaimMax, FoundMax, ReservationFit, by_option, notes};
use crate::report::{MachineUse, Report, Spread, Summary, share};

/// The table of a scenario, ending in a newline.
#[must_use]
pub fn simulation(report: &Report, page: Page) -> String {
    let mut text = headline(report, page);
    text.push('\n');
    text.push_str(&page.columns(configurations(report), ""));
    text.push_str(&retries(report, page));
    text.push_str(&kinds(report, page));
    for at in 0..report.machines.len() {
        text.push_str(&used(report, at, page));
    }
    text
}

/// The main table: the heads of the columns, then one line for each configuration.
fn configurations(report: &Report) -> Vec<Vec<String>> {
    let (has_bound, many) = (has_bound(report), report.runs > 1);
    let mut head = vec!["CONFIGURATION", "ADMITTED", ""];
    head.extend(has_bound.then_some("OF AT MOST"));
    head.push("REFUSED");
    head.extend(many.then_some("IN A RUN"));
    head.extend(["ALIGNED", "CPUS HELD", "FRAGMENTED", "STRANDED", "WHY REFUSED"]);
    let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
    for summary in &report.configurations {
        let mut row = vec![
            summary.configuration.clone(),
            summary.admitted.to_string(),
            percent(share(summary.admitted, summary.pods)),
        ];
        row.extend(has_bound.then(|| summary.at_most.map_or("-".to_owned(), |most| most.to_string())));
        row.push(summary.refused_in_all().to_string());
        row.extend(many.then(|| summary.refused_in_a_run.map_or("-".to_owned(), spread)));
        row.extend([
            if summary.placed == 0 { "-".to_owned() } else { percent(summary.aligned_share) },
            percent(summary.cpus_held()),
            percent(summary.fragmentation),
            percent(summary.stranded()),
            reasons(&summary.refused),
        ]);
        rows.push(row);
    }
    rows
}

/// Whether some configuration has a bound of how many pods could be admitted.
fn has_bound(report: &Report) -> bool {
    report.configurations.iter().any(|summary| summary.at_most.is_some())
}

/// `MEDIAN (LEAST-MOST)`.
fn spread(spread: Spread) -> String {
    format!("{} ({}-{})", spread.median, spread.least, spread.most)
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
    if has_bound(report) {
        rows.push((
            "OF AT MOST",
            "more could not have been admitted under the policy, had every pod to come been known and any of them been turned \
             away on purpose",
        ));
    }
    rows.push(("REFUSED", refused));
    if report.runs > 1 {
        rows.push((
            "IN A RUN",
            "refused pods of a single run: the median, and the least and most of all runs",
        ));
    }
    rows.extend([
        (
            "ALIGNED",
            "of the admitted pods with CPUs, memory or devices of their own the share that is on as few NUMA nodes as it \
             could be on an empty machine",
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
    let runs = if report.runs == 1 { String::new() } else { format!(", {} runs", report.runs) };
    let dot = page.dot();
    let line = format!(
        "{machines} {dot} {pods} pods in {} {dot} scheduler {} {dot} seed {}{runs}",
        time(span),
        report.scheduler,
        report.seed
    );
    page.wrapped(&line, 2)
}

fn reasons(refused: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<(&String, &u64)> = refused.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = sorted.into_iter().map(|(reason, count)| format!("{count} {reason}"));
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
            reasons(&tried.node_refusals),
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
        row.extend(summary.kinds.iter().map(|kind| format!("{} of {}", kind.admitted, kind.arrived)));
        row
    });
    let claims = first.iter().flat_map(|summary| &summary.kinds);
    let claims: String = claims.map(|kind| without_claims(&kind.pod, &kind.without_claims, page)).collect();
    format!("\n{}{claims}", page.columns(std::iter::once(head).chain(rows), ""))
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
    for (name, resources) in report.configurations.iter().filter_map(of) {
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
            text.extend(reasons.iter().map(|reason| format!(",{}", run.refused.get(*reason).unwrap_or(&0))));
            text.push('\n');
        }
    }
    text
}

/// A CSV field, quoted where needed: spreadsheets also take a field that begins with `=`, `+`, `-` or `@` for a formula.
fn quoted(field: &str) -> String {
    let needs_quotes = field.contains([',', '"', '\n', '\r']) || field.starts_with(['=', '+', '-', '@']);
    if needs_quotes { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

/// The most reservations that the table shows, besides the configured one.
const MOST_RESERVATIONS: usize = 8;

/// The tables of --find-max, ending in a newline.
#[must_use]
pub fn found_max(found: &FoundMax, page: Page) -> String {
    let dot = page.dot();
    let FoundMax { pod, machine, configuration, beside, .. } = found;
    let whereto = if beside.is_some() { "" } else { " the empty node" };
    let head = format!("{machine} {dot} configuration {configuration} {dot} how many of {pod} fit{whereto}");
    let mut text = page.wrapped(&head, 2);
    text.extend(beside.iter().map(|beside| page.wrapped(beside, 2)));
    text.push_str(&without_claims(pod, &found.without_claims, page));
    text.extend(found.claims.as_ref().map(|claims| page.wrapped(&claims_line(claims), 2)));
    text.push('\n');
    let notes = notes(&found.variants);
    let mut policies = vec!["POLICY".to_owned()];
    let mut scopes = vec!["SCOPE".to_owned()];
    let mut last = "";
    for (policy, scope) in POLICIES_AND_SCOPES {
        policies.push(if policy.name() == last { String::new() } else { policy.name().to_owned() });
        scopes.push(if policy.name() == "none" { "-".to_owned() } else { scope.name().to_owned() });
        last = policy.name();
    }
    let mut rows = vec![policies, scopes];
    for (option, variants) in by_option(&found.variants) {
        let mut row = vec![option.map_or("as configured".to_owned(), |option| format!("with {option}"))];
        row.extend(variants.iter().map(|variant| match &variant.capacity {
            Capacity::Fit { fit, .. } => fit.to_string(),
            Capacity::NoStart { no_start } => {
                let number = notes.iter().find(|(note, _)| note == no_start).map_or(0, |(_, number)| *number);
                format!("- ({number})")
            }
        }));
        rows.push(row);
    }
    text.push_str(&page.columns(rows, ""));
    text.push_str(&one_more(found, page));
    text.extend(notes.iter().map(|(note, number)| page.wrapped(&format!("({number}) {note}"), 4)));
    text.push_str(&reservations(found, page));
    text
}

/// The line that a pod's resource claims are not decided here; empty: it has none.
fn without_claims(pod: &str, claims: &[String], page: Page) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let claims = claims.join(", ");
    page.wrapped(&format!("! {pod} is admitted without its claims, which are not decided here: {claims}"), 2)
}

/// How many get devices for their claims.
fn claims_line(claims: &ClaimMax) -> String {
    let ClaimMax { fit, next, decided_as } = claims;
    let next = next.as_ref().map_or_else(String::new, |next| format!("; the next one is {next}"));
    let pods = if *fit == 1 { "1 pod gets its devices" } else { "pods get their devices" };
    let count = if *fit == 1 { String::new() } else { format!("{fit} ") };
    let more = if claims.next.is_none() { "at least " } else { "" };
    format!("claims {more}{count}{pods}, decided as {decided_as}{next}")
}

/// Lines that say why one more pod is refused with the configured options, with the policies and scopes for which that holds.
fn one_more(found: &FoundMax, page: Page) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let mut configured = found.variants.iter().filter(|variant| variant.option.is_none()).peekable();
    while let Some(variant) = configured.next() {
        let Capacity::Fit { next, .. } = &variant.capacity else { continue };
        // Where both scopes say the same, the policy is enough.
        let other = configured.peek().filter(|other| other.policy == variant.policy);
        let same = other
            .is_some_and(|other| matches!(&other.capacity, Capacity::Fit { next: also, .. } if also == next));
        let name = if same || variant.policy == "none" {
            variant.policy.to_owned()
        } else {
            format!("{}/{}", variant.policy, variant.scope)
        };
        if same {
            configured.next();
        }
        match reasons.iter_mut().find(|(reason, _)| reason == next) {
            Some((_, names)) => names.push(name),
            None => reasons.push((next, vec![name])),
        }
    }
    let line = |(reason, names): &(&str, Vec<String>)| {
        page.wrapped(&format!("one more: {reason} under {}", names.join(", ")), 2)
    };
    reasons.iter().map(line).collect()
}

/// The table of places for the system's reservation, and the fields of the best one.
fn reservations(found: &FoundMax, page: Page) -> String {
    let Some(best) = found.reservations.first() else { return String::new() };
    let mut rows = vec![["RESERVED FOR THE SYSTEM", "CPUS", "MEMORY", "FIT"].map(str::to_owned).to_vec()];
    for (at, reservation) in found.reservations.iter().enumerate() {
        if at >= MOST_RESERVATIONS && reservation.place != ReservationPlace::AsConfigured {
            continue;
        }
        let memory = reservation.reserved_memory.iter();
        let memory = memory.map(|(node, bytes)| format!("{} on {node}", Amount::Bytes(*bytes)));
        rows.push(vec![
            reservation.reservation.clone(),
            reservation.reserved_system_cpus.clone().unwrap_or_else(|| "-".to_owned()),
            Some(memory.collect::<Vec<_>>().join(", "))
                .filter(|text| !text.is_empty())
                .unwrap_or("-".to_owned()),
            reservation.capacity.fit().map_or("no start".to_owned(), |fit| fit.to_string()),
        ]);
    }
    let mut text = format!("\n{}", page.columns(rows, ""));
    let hidden = found.reservations.len().saturating_sub(MOST_RESERVATIONS);
    if hidden > 0 {
        text.push_str(&format!("and {hidden} more with fewer or as many (-o json has all)\n"));
    }
    let configured =
        found.reservations.iter().find(|reservation| reservation.place == ReservationPlace::AsConfigured);
    if configured.is_none_or(|reservation| reservation.capacity.fit() >= best.capacity.fit()) {
        text.push_str("No other reservation lets more fit.\n");
    } else {
        text.push_str(&format!("Most fit with:\n{}", fields(best)));
    }
    text
}

/// The fields of a `KubeletConfiguration` that make a reservation.
fn fields(reservation: &ReservationFit) -> String {
    let mut text = String::new();
    if let Some(cpus) = &reservation.reserved_system_cpus {
        text.push_str(&format!("  reservedSystemCPUs: \"{cpus}\"\n"));
    }
    if !reservation.reserved_memory.is_empty() {
        text.push_str("  reservedMemory:\n");
        for (node, bytes) in &reservation.reserved_memory {
            let amount = Quantity::from_units(i64::try_from(*bytes).unwrap_or(i64::MAX), Format::BinarySi);
            text.push_str(&format!("  - {{numaNode: {node}, limits: {{memory: {amount}}}}}\n"));
        }
    }
    text
}

/// CSV with one line for each policy, scope and option.
#[must_use]
pub fn found_max_csv(found: &FoundMax) -> String {
    let mut text = "option,policy,scope,fit,next\n".to_owned();
    for variant in &found.variants {
        let (fit, next) = match &variant.capacity {
            Capacity::Fit { fit, next } => (fit.to_string(), next),
            Capacity::NoStart { no_start } => (String::new(), no_start),
        };
        let option = variant.option.unwrap_or_default();
        text.push_str(&format!("{option},{},{},{fit},{}\n", variant.policy, variant.scope, quoted(next)));
    }
    text
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
