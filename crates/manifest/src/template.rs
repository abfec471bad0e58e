//! Templates that are not rendered yet: no YAML, and no fault of their writer.

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
        let place = ["{{", "{%"].iter().filter_map(|mark| line.find(mark)).min();
        if let Some(place) = place.filter(|_| (before..error.line()).contains(&number)) {
            let start = at + place;
            let expected = rendered_by(source.text);
            return ManifestError::at(source, "", &(start..start + 2), Problem::Template { expected });
        }
        at += line.len();
    }
    error
}

/// What writes the text that is wanted.
fn rendered_by(text: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["{%"]) {
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
        "the text that is made of it: render it first, and give what that writes"
    }
}
