//! The pages of a built book: each link and picture leads to a file that is there and to a heading that it has.
//!
//! Addresses on the web are not asked. mdBook goes on when it cannot include a file; what it leaves in the page is found here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;

/// What was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checked {
    pages: usize,
    links: usize,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pages, {} links, none leads nowhere", self.pages, self.links)
    }
}

/// Looks at every page of a book.
///
/// # Errors
/// A link leads nowhere (all of them are named), or a page cannot be read.
pub(super) fn check(book: &Path) -> anyhow::Result<Checked> {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(book)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path)?;
            let name = path.file_name().context("a page has no name")?.to_owned();
            pages.insert(PathBuf::from(name), text);
        }
    }
    // index.html, the list of chapters and the page of all chapters are there in any case.
    ensure!(pages.len() > 3, "{} has {} pages", book.display(), pages.len());
    let names: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(page, text)| (page.as_path(), values(text, &["id", "name"]).collect())).collect();
    let (mut links, mut faults) = (0, Vec::new());
    for (page, text) in &pages {
        if text.contains("{{#") {
            faults.push(format!("{}: something was not included", page.display()));
        }
        for link in values(text, &["href", "src"]).filter(|link| !is_on_the_web(link)) {
            links += 1;
            if let Err(fault) = leads_somewhere(book, page, link, &names) {
                faults.push(format!("{}: {fault}", page.display()));
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(Checked { pages: pages.len(), links })
}

/// The values of attributes in a page.
fn values<'a>(page: &'a str, attributes: &'a [&str]) -> impl Iterator<Item = &'a str> {
    attributes.iter().flat_map(move |attribute| {
        let start = format!(" {attribute}=\"");
        let found: Vec<&str> = page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        found
    })
}

fn is_on_the_web(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:")
}

fn leads_somewhere(
    book: &Path,
    page: &Path,
    link: &str,
    names: &BTreeMap<&Path, BTreeSet<&str>>,
) -> Result<(), String> {
    let (path, heading) = link.split_once('#').map_or((link, ""), |(path, heading)| (path, heading));
    let mut target = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            // mdBook's page of an unknown address stands for any folder.
            Component::RootDir => target.clear(),
            Component::ParentDir if target.pop() => {}
            Component::Normal(name) => target.push(name),
            _ => return Err(format!("{link} leads out of the book")),
        }
    }
    let target = if path.is_empty() { page.to_path_buf() } else { target };
    if !book.join(&target).exists() {
        return Err(format!("{link}: no file {}", target.display()));
    }
    if heading.is_empty() || names.get(target.as_path()).is_some_and(|names| names.contains(heading)) {
        return Ok(());
    }
    Err(format!("{link}: no such heading"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A book whose first page has a body.
    fn book(body: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("index.html", body),
            ("other.html", "<h1 id=\"there\">a</h1>"),
            ("toc.html", ""),
            ("print.html", ""),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn each_link_is_looked_at() {
        let good = "<a href=\"other.html#there\"></a><img alt=\"\" src=\"./toc.html\"><a href=\"https://x.example/y\"></a><a href=\"#\"></a>";
        assert_eq!(check(book(good).path()).unwrap(), Checked { pages: 4, links: 3 });
        for (bad, said) in [
            ("<a href=\"other.html#gone\"></a>", "index.html: other.html#gone: no such heading"),
            ("<a href=\"#gone\"></a>", "index.html: #gone: no such heading"),
            ("<img src=\"gone.png\">", "index.html: gone.png: no file gone.png"),
            ("<a href=\"../other.html\"></a>", "index.html: ../other.html leads out of the book"),
            ("{{#include x.rs}}", "index.html: something was not included"),
        ] {
            assert_eq!(check(book(bad).path()).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_folder_without_chapters_is_no_book() {
        assert!(check(tempfile::tempdir().unwrap().path()).is_err());
    }
}
