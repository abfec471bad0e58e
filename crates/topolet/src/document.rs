//! Files that are read whole, and what is printed for programs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use kubelet_checkpoint::store::{NotRegular, OtherFile, open_regular};
use serde::Serialize;

use crate::arguments::Format;
use crate::node::RELEASE;

/// Reads a configuration; `-` is standard input. More than the reader takes is not read.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_up_to(path, topology_manifest::MAX_BYTES)
}

/// The same for what a cluster lists.
pub(crate) fn read_list(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_up_to(path, topology_manifest::MAX_LIST_BYTES)
}

/// Reads a file that nobody has named, but that was looked for: it must be a regular one.
pub(crate) fn read_found(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = open_regular(path).with_context(|| format!("failed to read {}", path.display()))?;
    bytes_of(file, topology_manifest::MAX_BYTES as u64 + 1, path)
}

/// Opens a file that somebody has named. Besides regular files this may be a pipe or a terminal, such as `/dev/stdin` or
/// a shell's `<(COMMAND)`; its end is waited for.
pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    let failed = || format!("failed to open {}", path.display());
    let other = OtherFile::of(&fs::metadata(path).with_context(failed)?);
    match other {
        Some(other @ (OtherFile::Directory | OtherFile::Socket | OtherFile::BlockDevice)) => {
            Err(NotRegular(other)).with_context(failed)
        }
        _ => File::open(path).with_context(failed),
    }
}

fn bytes_of(file: File, limit: u64, path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(bytes)
}

fn read_up_to(path: &Path, bytes: usize) -> anyhow::Result<Vec<u8>> {
    let limit = bytes as u64 + 1;
    if path.as_os_str() != "-" {
        return bytes_of(open(path)?, limit, path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(limit).read_to_end(&mut bytes).context("failed to read standard input")?;
    Ok(bytes)
}

/// What messages call such a file.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() }
}

/// A document for programs: `apiVersion`, `kind`, the kubelet release whose rules apply, and what it is about.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a, T> {
    api_version: &'static str,
    kind: &'a str,
    rules_of: &'static str,
    #[serde(flatten)]
    content: T,
}

impl<'a, T: Serialize> Document<'a, T> {
    pub(crate) const fn new(kind: &'a str, content: T) -> Self {
        Self { api_version: "topolet.dev/v1alpha1", kind, rules_of: RELEASE, content }
    }

    /// The text in `format`, ending in a newline; `None` for tables, which are drawn elsewhere.
    pub(crate) fn text(&self, format: Format) -> anyhow::Result<Option<String>> {
        match format {
            Format::Table => Ok(None),
            Format::Json => Ok(Some(serde_json::to_string_pretty(self)? + "\n")),
            Format::Yaml => Ok(Some(serde_saphyr::to_string(self)?)),
        }
    }
}

/// A JSON document whose last member is a list, written item by item.
pub(crate) struct JsonList {
    /// What comes before the next item.
    before: String,
    /// What comes after the last one: there is none yet, or there are some.
    end: &'static str,
}

impl JsonList {
    /// From the document with an empty list.
    pub(crate) fn new(empty: String) -> Self {
        let mut before = empty;
        before.truncate(before.trim_end_matches("]\n}\n").len());
        Self { before, end: "]\n}\n" }
    }

    /// The next piece of the text.
    pub(crate) fn item(&mut self, item: &impl Serialize) -> anyhow::Result<String> {
        // Line feeds within texts are escaped.
        let item = serde_json::to_string_pretty(item)?.replace('\n', "\n    ");
        let before = std::mem::replace(&mut self.before, ",".to_owned());
        self.end = "\n  ]\n}\n";
        Ok(format!("{before}\n    {item}"))
    }

    /// The last piece.
    pub(crate) fn end(self) -> String {
        let before = if self.before == "," { "" } else { &self.before };
        format!("{before}{}", self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Content {
        node: &'static str,
        items: Vec<serde_json::Value>,
    }

    #[test]
    fn a_list_that_is_written_item_by_item_is_the_same_text() {
        let odd = serde_json::json!({ "text": "two\nlines, ]\n}\n", "list": [], "of": [{ "a": 1 }] });
        for count in 0..4 {
            let items = vec![odd.clone(); count];
            let text = |items| Document::new("Kind", Content { node: "n", items }).text(Format::Json);
            let (Ok(Some(whole)), Ok(Some(empty))) = (text(items.clone()), text(Vec::new())) else {
                panic!("it is text")
            };
            let mut list = JsonList::new(empty);
            let mut pieces: String = items.iter().filter_map(|item| list.item(item).ok()).collect();
            pieces.push_str(&list.end());
            assert_eq!(pieces, whole);
        }
    }
}
