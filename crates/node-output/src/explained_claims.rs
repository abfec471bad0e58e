//! Why claims get no devices, for a person: what contradicts itself, the devices of each request, the values of matched attributes,
//! and what would fit.

use admission_report::Unschedulable;
use claim_explanation::{Candidates, Explanation, Searched, Taken, Values};
use terminal_text::Page;

use crate::rows::{line, listed};

/// The lines below the verdict.
pub(crate) fn explained(why: &Unschedulable, page: Page) -> String {
    let mut text = String::new();
    if let Some(explanation) = &why.explanation {
        text.extend(reasons(explanation).map(|reasons| line(page, "why", &reasons)));
        text.push_str(&listed(page, "devices", explanation.requests.iter().flat_map(devices)));
        for values in &explanation.values {
            text.push_str(&listed(page, "values", table(values)));
        }
        text.push_str(&would_fit(explanation, page));
    }
    text.extend(why.nodes.iter().map(|nodes| line(page, "nodes", &nodes.to_string())));
    text
}

/// What contradicts itself, and whether waiting helps.
fn reasons(explanation: &Explanation) -> Option<String> {
    let members = explanation.contradicting.as_slice();
    let contradiction = match (members, explanation.size) {
        ([] | [_], _) => None,
        ([rest @ .., last], size) => {
            let others = if size == Some("irreducible") { "; other sets may be smaller" } else { "" };
            let rest = rest.join(", ");
            Some(format!(
                "{rest} and {last} contradict each other: without any one of them the others fit{others}"
            ))
        }
    };
    let outlook = match explanation.on_empty_node {
        "doesNotFit" => Some("It does not fit an empty node: waiting is of no use".to_owned()),
        "fits" if explanation.contradiction.is_some() => {
            Some("It fits once other claims give their devices back".to_owned())
        }
        _ => None,
    };
    let sentences: Vec<String> = contradiction.into_iter().chain(outlook).collect();
    (!sentences.is_empty()).then(|| sentences.join(". "))
}

/// A row for the request, and one for each reason that takes devices away.
fn devices(request: &Candidates) -> Vec<Vec<String>> {
    let Candidates { request: name, class, wanted, of_class, left, left_devices, taken, .. } = request;
    let wants = format!("{wanted} of class {class}");
    let mut first = vec![name.clone(), wants, format!("{left} of {of_class} left")];
    first.extend((!left_devices.is_empty()).then(|| left_devices.clone()));
    let row = |Taken { why, count, devices, .. }: &Taken| {
        vec![String::new(), String::new(), format!("{count} not"), format!("{devices}: {why}")]
    };
    std::iter::once(first).chain(taken.iter().map(row)).collect()
}

/// Below the names a row for each value of the attribute.
fn table(values: &Values) -> Vec<Vec<String>> {
    let holds = values.rows.iter().any(|row| !row.held.is_empty());
    let word = if values.kind == "distinct" { "different" } else { "one" };
    let mut head = vec![format!("{word} {}", values.attribute)];
    head.extend(values.requests.iter().map(|request| format!("left for {request}")));
    head.extend(holds.then(|| "in use".to_owned()));
    let rows = values.rows.iter().map(|row| {
        let mut cells = vec![row.value.clone().unwrap_or_else(|| "(without)".to_owned())];
        cells.extend(row.left.iter().map(ToString::to_string));
        cells.extend((!row.held.is_empty()).then(|| row.held.join(", ")));
        cells
    });
    std::iter::once(head).chain(rows).collect()
}

fn would_fit(explanation: &Explanation, page: Page) -> String {
    let rows = explanation.would_fit.iter().map(|remedy| vec![remedy.kind.to_owned(), remedy.text.clone()]);
    let mut text = listed(page, "would fit", rows);
    let head = if explanation.would_fit.is_empty() { "would fit" } else { "" };
    match explanation.search {
        Searched::Cut => text.push_str(&line(page, head, "not everything was tried: the search was cut")),
        Searched::Complete if explanation.would_fit.is_empty() => {
            text.push_str(&line(page, head, "no single change that was tried"));
        }
        Searched::Complete => {}
    }
    text
}
