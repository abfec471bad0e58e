//! What the columns and signs of decisions mean.

use terminal_text::Page;

/// One line for each column and sign of decisions and explanations.
#[must_use]
pub fn legend(page: Page) -> String {
    let (yes, no) = (page.yes(), page.no());
    let arrow = page.arrow();
    let rows = [
        (format!("{yes} {no}"), "the NUMA node alone could serve it, or could not"),
        ("?".to_owned(), "not checked: nothing says how much of it the node has"),
        ("ASKED".to_owned(), "what the container asks for; under scope pod what the pod asks for as a whole"),
        (
            "NUMA 0".to_owned(),
            "what pods could get there now, of what they could get if nothing ran; what is reserved is not in it",
        ),
        (
            "only with".to_owned(),
            "init containers have left CPUs on those NUMA nodes, which are used before others",
        ),
        ("grouped with".to_owned(), "memory of the group serves only requests that need all its NUMA nodes"),
        ("NUMA".to_owned(), "the NUMA nodes on which its resources are aligned; any: on none in particular"),
        ("CPUS".to_owned(), "exclusive CPUs; shared: it runs on the CPUs of the shared pool"),
        ("PODS".to_owned(), "how many pods hold what the line says, together; the name of the only one"),
        (
            "why".to_owned(),
            "what keeps it from being served; the kubelet says only the words in the line above",
        ),
        ("would fit".to_owned(), "changes that were tried one by one, each alone"),
        (arrow.to_owned(), "where the pod runs after that change"),
        ("not aligned".to_owned(), "on more NUMA nodes than needed, or not all on the same"),
    ];
    let rows = rows.into_iter().map(|(sign, means)| vec![sign, means.to_owned()]);
    format!("legend\n{}", page.columns(rows, "  "))
}

#[cfg(test)]
mod tests {
    use terminal_text::Glyphs;

    use super::*;

    #[test]
    fn a_legend_fits_its_page() {
        let page = Page { width: Some(80), ..Page::endless(Glyphs::Ascii) };
        let text = legend(page);
        assert!(text.is_ascii());
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
