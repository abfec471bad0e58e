//! How many of a pod fit: tables for people, CSV for spreadsheets.

use std::collections::BTreeSet;

use k8s_quantity::{Amount, Format, Quantity};
use node_output::NodeLine;
use node_simulation::{POLICIES_AND_SCOPES, ReservationPlace};
use terminal_text::Page;

use crate::find_max::{Capacity, ClaimMax, FoundMax, ReservationFit, Variant, by_option, notes};
use crate::tables::{quoted, without_claims};

/// The most names of reservations with which as many fit.
const MOST_RESERVATIONS: usize = 8;

/// The tables of --find-max, ending in a newline.
#[must_use]
pub fn found_max(found: &FoundMax, page: Page) -> String {
    let dot = page.dot();
    let FoundMax { pod, machine, configuration, beside, .. } = found;
    let whereto = if beside.is_some() { "" } else { " the empty node" };
    let head = format!("{machine} {dot} configuration {configuration} {dot} how many of {pod} fit{whereto}");
    let mut text = imagined(found, page);
    text.push_str(&page.wrapped(&head, 2));
    text.extend(beside.iter().map(|beside| page.wrapped(beside, 2)));
    text.push_str(&without_claims(pod, &found.without_claims, page));
    text.extend(found.unchecked.as_ref().map(|note| page.wrapped(&format!("! {note}"), 2)));
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
    policies.push("LIMITED BY".to_owned());
    scopes.push(String::new());
    let mut rows = vec![policies, scopes];
    let mut same: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    let mut cells: Vec<Vec<String>> = Vec::new();
    for (option, variants) in by_option(&found.variants) {
        let cell = |variant: &&Variant| match &variant.capacity {
            Capacity::Fit { fit, .. } => match variant.fit_real.filter(|real| real != fit) {
                Some(real) => format!("{real}{}{fit}", page.arrow()),
                None => fit.to_string(),
            },
            Capacity::NoStart { no_start } => {
                let number =
                    notes.iter().find(|(note, _)| *note == no_start).map_or(0, |(_, number)| *number);
                format!("- ({number})")
            }
        };
        let mut row: Vec<String> = variants.iter().map(cell).collect();
        row.push(limits(variants.iter().map(|variant| &variant.capacity)));
        let equal = cells.iter().position(|earlier| *earlier == row);
        if let (Some((_, others)), Some(option)) = (equal.and_then(|at| same.get_mut(at)), option) {
            others.push(option);
        } else {
            let name = option.map_or("as configured".to_owned(), |option| format!("with {option}"));
            rows.push(std::iter::once(name).chain(row.iter().cloned()).collect());
            same.push((option, Vec::new()));
            cells.push(row);
        }
    }
    text.push_str(&page.columns(rows, ""));
    for (option, others) in same.iter().filter(|(_, others)| !others.is_empty()) {
        let like = option.map_or_else(|| "configured with".to_owned(), |option| format!("with {option}"));
        text.push_str(&page.wrapped(&format!("as many as {like}: {}", others.join(", ")), 2));
    }
    text.push_str(&next_pod(found, page));
    text.extend(notes.iter().map(|(note, number)| page.wrapped(&format!("({number}) {note}"), 4)));
    text.push_str(&reservations(found, page));
    text
}

/// What the columns and lines of --find-max mean.
#[must_use]
pub fn found_max_legend(page: Page) -> String {
    let rows = [
        ("POLICY, SCOPE", "topologyManagerPolicy and topologyManagerScope under which the pods are counted"),
        ("as configured", "with the options of the configuration; the other rows have one option more"),
        (
            "a number",
            "so many copies are admitted, one after the other; of two numbers the first is that of the real machine",
        ),
        ("- (1)", "the kubelet does not start so, for the reason of that number below"),
        ("LIMITED BY", "resources of which the node has too little for the next copy, each by itself"),
        (
            "the next pod",
            "the kubelet's reason for refusing the next copy, or what it does in place of an answer",
        ),
        (
            "RESERVED FOR THE SYSTEM",
            "other places for the same reservation, under the configuration's own policy, scope and options",
        ),
        ("CPUS, MEMORY", "reservedSystemCPUs and reservedMemory of that place"),
        ("FIT", "so many copies are admitted with it"),
    ];
    let rows = rows.map(|(column, means)| vec![column.to_owned(), means.to_owned()]);
    format!("\nlegend\n{}", page.columns(rows, "  "))
}

/// The line with what the machine has more than the real one, and how many more of the pod fit therefore as the node is
/// configured; empty: it is the real one.
fn imagined(found: &FoundMax, page: Page) -> String {
    let Some(words) = found.line.imagined_words() else { return String::new() };
    let counts = as_configured(found).and_then(|variant| Some((variant.capacity.fit()?, variant.fit_real?)));
    let under = under(found);
    let fit = match counts {
        Some((fit, real)) if fit == real => format!(": {fit} fit as without, {under}"),
        Some((fit, real)) => format!(": {fit} fit instead of {real}, {under}"),
        None => String::new(),
    };
    page.wrapped(&format!("{words}{fit}"), 2)
}

/// How many fit as the node is configured, in one line: `15 fit under restricted, scope pod, limited by cpu`; `None`: a kubelet
/// does not start so.
#[must_use]
pub fn found_max_headline(found: &FoundMax) -> Option<String> {
    let capacity = &as_configured(found)?.capacity;
    let limited = limits(std::iter::once(capacity));
    let limited = if limited == "-" { String::new() } else { format!(", limited by {limited}") };
    Some(format!("{} fit {}{limited}", capacity.fit()?, under(found)))
}

/// The node as it is configured.
fn as_configured(found: &FoundMax) -> Option<&Variant> {
    let NodeLine { topology_policy, topology_scope, .. } = found.line;
    found.variants.iter().find(|variant| {
        variant.option.is_none() && (variant.policy, variant.scope) == (topology_policy, topology_scope)
    })
}

fn under(found: &FoundMax) -> String {
    format!("under {}, scope {}", found.line.topology_policy, found.line.topology_scope)
}

/// The resources that limit, each by itself, in any of these cases; `-`: none does.
fn limits<'c>(capacities: impl Iterator<Item = &'c Capacity>) -> String {
    let names: BTreeSet<&String> = capacities.flat_map(Capacity::limited_by).collect();
    if names.is_empty() { "-".to_owned() } else { names.into_iter().cloned().collect::<Vec<_>>().join(", ") }
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

/// Lines that say what the next pod gets with the configured options, with the policies and scopes for which that holds; and
/// with each other option where it gets something else.
fn next_pod(found: &FoundMax, page: Page) -> String {
    let options = by_option(&found.variants);
    let configured: Vec<&Variant> =
        found.variants.iter().filter(|variant| variant.option.is_none()).collect();
    let is_as_configured = |variant: &Variant| {
        let same = |other: &&&Variant| (other.policy, other.scope) == (variant.policy, variant.scope);
        let other = configured.iter().find(same);
        other.is_some_and(|other| other.capacity.next() == variant.capacity.next())
    };
    // What several options change alike is one line: the options, the policies and scopes, and what the next pod gets.
    let mut lines: Vec<(Vec<&str>, String, &str)> = Vec::new();
    for (option, variants) in options {
        let differ = |variant: &&Variant| option.is_none() || !is_as_configured(variant);
        let differing: Vec<&Variant> = variants.into_iter().filter(differ).collect();
        for (next, names) in outcomes(&differing) {
            let names = names.join(", ");
            let is_alike = |(options, under, gets): &&mut (Vec<&str>, String, &str)| {
                !options.is_empty() && *under == names && *gets == next
            };
            match lines.iter_mut().find(is_alike) {
                Some((options, ..)) => options.extend(option),
                None => lines.push((option.into_iter().collect(), names, next)),
            }
        }
    }
    let line = |(options, under, next): &(Vec<&str>, String, &str)| {
        let with = if options.is_empty() { String::new() } else { format!(" with {}", options.join(", ")) };
        page.wrapped(&format!("the next pod{with} under {under}: {next}"), 2)
    };
    lines.iter().map(line).collect()
}

/// What the next pod gets, with the policies and scopes for which that holds.
fn outcomes<'a>(variants: &[&'a Variant]) -> Vec<(&'a str, Vec<String>)> {
    let mut outcomes: Vec<(&str, Vec<String>)> = Vec::new();
    let mut left = variants.iter().peekable();
    while let Some(variant) = left.next() {
        let Some(next) = variant.capacity.next() else { continue };
        // Where both scopes say the same, the policy is enough.
        let other = left.peek().filter(|other| other.policy == variant.policy);
        let same = other.is_some_and(|other| other.capacity.next() == Some(next));
        let name = if same || variant.policy == "none" {
            variant.policy.to_owned()
        } else {
            format!("{}/{}", variant.policy, variant.scope)
        };
        if same {
            left.next();
        }
        match outcomes.iter_mut().find(|(known, _)| *known == next) {
            Some((_, names)) => names.push(name),
            None => outcomes.push((next, vec![name])),
        }
    }
    outcomes
}

/// The table of places for the system's reservation, and the fields of the best one.
fn reservations(found: &FoundMax, page: Page) -> String {
    let Some(best) = found.reservations.first() else { return String::new() };
    let configured =
        found.reservations.iter().find(|reservation| reservation.place == ReservationPlace::AsConfigured);
    let as_configured = configured.and_then(|reservation| reservation.capacity.fit());
    let is_configured = |other: &ReservationFit| other.place == ReservationPlace::AsConfigured;
    // With each number that is better the first place, and the names of the others.
    let mut shown: Vec<(&ReservationFit, Vec<&str>)> = Vec::new();
    let mut others = 0;
    for reservation in &found.reservations {
        let fit = reservation.capacity.fit();
        let equal = shown.iter_mut().find(|(first, _)| !is_configured(first) && first.capacity.fit() == fit);
        if is_configured(reservation) {
            shown.push((reservation, Vec::new()));
        } else if configured.is_some() && fit <= as_configured {
            others += 1;
        } else if let Some((_, names)) = equal {
            names.push(&reservation.reservation);
        } else {
            shown.push((reservation, Vec::new()));
        }
    }
    let head = ["RESERVED FOR THE SYSTEM", "CPUS", "MEMORY", "FIT", "LIMITED BY"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (reservation, _) in &shown {
        let memory = reservation.reserved_memory.iter();
        let memory = memory.map(|(node, bytes)| format!("{} on {node}", Amount::Bytes(*bytes)));
        rows.push(vec![
            reservation.reservation.clone(),
            reservation.reserved_system_cpus.clone().unwrap_or_else(|| "-".to_owned()),
            Some(memory.collect::<Vec<_>>().join(", "))
                .filter(|text| !text.is_empty())
                .unwrap_or("-".to_owned()),
            reservation.capacity.fit().map_or("no start".to_owned(), |fit| fit.to_string()),
            limits(std::iter::once(&reservation.capacity)),
        ]);
    }
    let mut text = format!("\n{}", page.columns(rows, ""));
    for (first, names) in shown.iter().filter(|(_, names)| !names.is_empty()) {
        let named = names.iter().take(MOST_RESERVATIONS).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(MOST_RESERVATIONS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&page.wrapped(&format!("as many as {}: {named}{more}", first.reservation), 2));
    }
    if others > 0 {
        let others = if others == 1 { "1 other lets".to_owned() } else { format!("{others} others let") };
        text.push_str(&page.wrapped(&format!("{others} no more fit (-o json has all)"), 2));
    }
    if configured.is_none_or(|reservation| reservation.capacity.fit() < best.capacity.fit()) {
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
    let is_imagined = !found.imagined.is_empty();
    let real = if is_imagined { ",fit real" } else { "" };
    let mut text = format!("option,policy,scope,fit,next,limited by{real}\n");
    for variant in &found.variants {
        let (fit, next) = match &variant.capacity {
            Capacity::Fit { fit, next, .. } => (fit.to_string(), next),
            Capacity::NoStart { no_start } => (String::new(), no_start),
        };
        let option = variant.option.unwrap_or_default();
        let limits = quoted(&variant.capacity.limited_by().join(" "));
        let next = quoted(next);
        let real = variant.fit_real.map(|fit| fit.to_string()).unwrap_or_default();
        let real = if is_imagined { format!(",{real}") } else { real };
        text.push_str(&format!(
            "{option},{},{},{fit},{next},{limits}{real}\n",
            variant.policy, variant.scope
        ));
    }
    text
}
