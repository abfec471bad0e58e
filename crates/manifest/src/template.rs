//! Templates that are not rendered yet: no YAML, and no fault of their writer.

use crate::node::{Field, Node, Value};
use crate::{ManifestError, Problem, Source};

/// The same error, or that the text is a template if it is one where the error is.
pub(crate) fn or_template(source: &Source<'_>, error: ManifestError) -> ManifestError {
    if !matches!(error.problem(), Problem::Syntax(_)) {
        return error;
    }
    // The line before may be the one that is read otherwise than it was meant.
    let before = error.line().saturating_sub(2);
    let mut at = 0;
    for (number, line) in source.text.split_inclusive('\n').enumerate() {
        let place = OPENERS.iter().filter_map(|mark| line.find(mark)).min();
        if let Some(place) = place.filter(|_| (before..error.line()).contains(&number)) {
            let start = at + place;
            let expected = rendered_by(source.text);
            return ManifestError::at(source, "", &(start..start + 2), Problem::Template { expected });
        }
        at += line.len();
    }
    error
}

/// How a part begins that is filled in: by Helm or Jinja, by Terraform, and by `printf`.
const OPENERS: [&str; 5] = ["{{", "{%", "%{", "${", "%s"];

/// That settings in TOML are a template; `None`: the text is no such.
pub(crate) fn of_settings(source: &Source<'_>) -> Option<ManifestError> {
    let text = source.text;
    if !text.lines().any(|line| line.trim_start().starts_with("[settings")) {
        return None;
    }
    let place = OPENERS.iter().filter_map(|mark| text.find(mark)).min()?;
    let problem = Problem::Template { expected: rendered_by(text) };
    Some(ManifestError::at(source, "", &(place..place + 2), problem))
}

/// What writes the text that is wanted.
pub(crate) fn rendered_by(text: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["${"]) && has(&["cluster.x-k8s.io/"]) && !has(&["%{", "{{", "{%"]) {
        "the text that clusterctl makes of it: `clusterctl generate yaml --from FILE > RENDERED`, and RENDERED in its place"
    } else if has(&["%{", "templatefile("]) || !has(&["{{", "{%"]) && has(&["${"]) {
        "the text that Terraform makes of it: what its templatefile() returns, such as the user data of an instance"
    } else if has(&["{%"]) {
        "the text that Jinja or Ansible makes of it: give the file that they write on the node"
    } else if has(&[
        "{{-",
        "-}}",
        ".Values",
        ".Release",
        ".Chart",
        "include \"",
        "{{ if",
        "{{ end",
        "{{ range",
    ]) {
        "the text that Helm makes of it: `helm template CHART > FILE`, and FILE in its place"
    } else {
        RENDER_FIRST
    }
}

/// The first part of a document that a variable fills in as a whole: one that stands alone in its line.
pub(crate) fn open_part(document: &Field<'_>) -> Option<ManifestError> {
    match &document.node.value {
        Value::Map(_) => document.entries().ok()?.iter().find_map(|entry| open_part(&entry.value)),
        Value::List(_) => document.items().ok()?.iter().find_map(open_part),
        Value::Text(text) if text.starts_with("${") && text.ends_with('}') => {
            let source = document.source;
            let before = source.text.get(..document.node.span.start)?;
            let is_alone = before.rsplit('\n').next()?.trim().is_empty();
            is_alone.then(|| document.fail(Problem::Template { expected: rendered_by(source.text) }))
        }
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What to give in the place of a template of which it is not known what renders it.
pub(crate) const RENDER_FIRST: &str =
    "the text that is made of it: render it first, and give what that writes";

/// What each place that is to be filled in holds at least.
pub(crate) const OPEN: &str = "~~";

/// A place that `printf` fills in, of as many bytes.
const PRINTED: &str = "%s";

/// Whether a place that is to be filled in is in a key.
pub(crate) fn has_open_key(node: &Node) -> bool {
    match &node.value {
        Value::Map(entries) => {
            entries.iter().any(|entry| entry.key.contains(OPEN) || has_open_key(&entry.value))
        }
        Value::List(items) => items.iter().any(has_open_key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
    }
}

/// A template whose places are values alone, each of them `~` as often as it has bytes; `None`: it has conditions, loops or parts
/// of other files, or no place.
pub(crate) fn with_open_places(text: &str) -> Option<String> {
    const STEPS: [&str; 14] = [
        "if", "else", "end", "range", "with", "include", "template", "define", "block", "tpl", "toYaml",
        "printf", "for", "set",
    ];
    if !text.contains("{{") && !text.contains(PRINTED)
        || ["{%", "%{", "{{-", "-}}", "nindent", "_yaml", "toYaml"].iter().any(|mark| text.contains(mark))
    {
        return None;
    }
    // A place that is a line becomes any number of fields.
    let is_line = |line: &str| line == PRINTED || line.starts_with("{{") && line.ends_with("}}");
    if text.lines().map(str::trim).any(is_line) {
        return None;
    }
    let text = text.replace(PRINTED, OPEN);
    let mut made = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("{{") {
        let (place, behind) = after.split_once("}}")?;
        let first = place.split_ascii_whitespace().next().unwrap_or_default();
        if place.contains('\n') || STEPS.contains(&first) {
            return None;
        }
        made.push_str(before);
        made.push_str(&"~".repeat(place.len() + "{{}}".len()));
        rest = behind;
    }
    Some(made + rest)
}
