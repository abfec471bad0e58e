//! Figures in documents: what a command writes there, between two lines.

use std::fs;

use anyhow::{Context as _, ensure};

use crate::workspace::root;

/// The last of both lines.
const END: &str = "<!-- end -->\n";

/// Writes what `command` has found out to a document of the workspace, between `<!-- command -->` and `<!-- end -->`.
///
/// # Errors
/// The document lacks those lines, or cannot be written.
pub fn write_figures(document: &str, command: &str, text: &str) -> anyhow::Result<()> {
    let begin = format!("<!-- {command} -->\n");
    let path = root().join(document);
    let old = fs::read_to_string(&path).with_context(|| format!("failed to read {document}"))?;
    let parts = old.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.with_context(|| format!("{document} lacks the lines between which the figures are"))?;
    ensure!(!text.contains(END), "the figures contain the line that ends them");
    fs::write(&path, format!("{before}{begin}{text}{END}{after}"))
        .with_context(|| format!("failed to write {document}"))
}
