//! Lines and rows under a head, below a decision.

use terminal_text::Page;

/// Where the text under a head begins.
const HEAD: usize = 14;

/// A line under a head; an empty head goes on with the one above.
pub(crate) fn line(page: Page, head: &str, text: &str) -> String {
    page.under(&format!("  {head}"), HEAD, text)
}

/// Rows under one head.
pub(crate) fn listed(page: Page, head: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rest = Page { width: page.width.map(|width| width.saturating_sub(HEAD)), ..page };
    let lines = rest.columns(rows, "");
    let lines = lines.lines().enumerate();
    lines.map(|(at, row)| format!("  {:12}{row}\n", if at == 0 { head } else { "" })).collect()
}
