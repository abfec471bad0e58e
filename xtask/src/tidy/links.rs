//! Links between documents: each leads to a file that is there and to a heading that it has, and so does each file that a
//! chapter of the guide includes.

use std::collections::BTreeSet;
use std::path::Path;

use fs_err as fs;

use super::sources::files_of;

/// What is wrong with the links of all Markdown files below a folder.
pub(super) fn faults(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for document in &files_of("md", folder)? {
        let text = fs::read_to_string(document)?;
        let name = document.strip_prefix(folder).unwrap_or(document).display();
        for (line, link) in links(&text) {
            if let Err(fault) = check(document, link) {
                faults.push(format!("{name}:{line}: {fault}"));
            }
        }
    }
    Ok(faults)
}

/// The lines outside code blocks with their numbers, and those inside that include a file.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if let Some(include) = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            found.push((at + 1, include));
        }
        if !in_code {
            let targets = line.match_indices("](").filter_map(|(start, _)| line[start + 2..].split_once(')'));
            let outside_code = |target: &&str| !in_span(line, target);
            found.extend(
                targets.map(|(target, _)| target).filter(outside_code).map(|target| (at + 1, target)),
            );
        }
    }
    found
}

/// Whether a part of a line lies between backquotes.
fn in_span(line: &str, part: &str) -> bool {
    let start = part.as_ptr().addr() - line.as_ptr().addr();
    line[..start].matches('`').count() % 2 == 1
}

fn check(document: &Path, link: &str) -> Result<(), String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let folder = document.parent().unwrap_or(document);
    let target = if path.is_empty() { document.to_path_buf() } else { folder.join(path) };
    if !target.exists() {
        return Err(format!("no file {path}"));
    }
    let Some(heading) = heading else { return Ok(()) };
    let text = fs::read_to_string(&target).map_err(|error| format!("{path} has no headings: {error}"))?;
    if headings(&text).contains(heading) { Ok(()) } else { Err(format!("{link}: no such heading")) }
}

/// The headings of a document as a link names them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let lines = text.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    });
    lines.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text =
            "see [a](b.md) and [`c`](d.md#e)\n```\n[x](y)\n{{#include z.rs}}\n```\n`[k](l)` and [m](n)\n";
        assert_eq!(links(text), [(1, "b.md"), (1, "d.md#e"), (4, "z.rs"), (6, "n")]);
    }

    #[test]
    fn headings_are_named_as_links_name_them() {
        let found = headings("# Kubelet 1.36.3, 1.37.1\n```\n# no heading\n```\n## A `b_c` d-e\n");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a-b_c-d-e", "kubelet-1363-1371"]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_a_fault() {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        assert_eq!(check(&document, "ARCHITECTURE.md#crates"), Ok(()));
        assert_eq!(check(&document, "#try"), Ok(()));
        assert!(check(&document, "ARCHITECTURE.md#no-such-heading").is_err());
        assert_eq!(check(&document, "docs/nowhere.md"), Err("no file docs/nowhere.md".to_owned()));
        assert_eq!(check(&document, "https://kubernetes.io/nowhere"), Ok(()));
    }
}
