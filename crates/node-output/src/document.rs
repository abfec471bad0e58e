//! Documents for programs, and the forms that they have.

use serde::Serialize;
use thiserror::Error;

use crate::RELEASE;

/// How something is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

/// Why a document cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// As JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// As YAML.
    #[error(transparent)]
    Yaml(#[from] serde_saphyr::ser_error::Error),
}

/// The version of documents.
pub(crate) const API_VERSION: &str = "topolet.dev/v1alpha1";

/// A document for programs: `apiVersion`, `kind`, the kubelet release whose rules apply, and what it is about.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a, T> {
    api_version: &'static str,
    kind: &'a str,
    rules_of: &'a str,
    #[serde(flatten)]
    content: T,
}

impl<'a, T: Serialize> Document<'a, T> {
    /// A document of this kind, which has these members.
    pub const fn new(kind: &'a str, content: T) -> Self {
        Self { api_version: API_VERSION, kind, rules_of: RELEASE, content }
    }

    /// The same by the rules of another release than [`RELEASE`].
    #[must_use]
    pub fn of(self, release: &'a str) -> Self {
        Self { rules_of: release, ..self }
    }

    /// The text in `format`, ending in a newline; `None` for tables, which are drawn elsewhere.
    pub fn text(&self, format: Format) -> Result<Option<String>, WriteError> {
        match format {
            Format::Table => Ok(None),
            Format::Json => Ok(Some(serde_json::to_string_pretty(self)? + "\n")),
            Format::Yaml => Ok(Some(serde_saphyr::to_string(self)?)),
        }
    }
}

/// A JSON document whose last member is a list, written item by item.
pub struct JsonList {
    /// What comes before the next item.
    before: String,
    /// What comes after the last one: there is none yet, or there are some.
    end: &'static str,
}

impl JsonList {
    /// From the document with an empty list.
    pub fn new(empty: String) -> Self {
        let mut before = empty;
        before.truncate(before.trim_end_matches("]\n}\n").len());
        Self { before, end: "]\n}\n" }
    }

    /// The next piece of the text.
    pub fn item(&mut self, item: &impl Serialize) -> Result<String, WriteError> {
        // Line feeds within texts are escaped.
        let item = serde_json::to_string_pretty(item)?.replace('\n', "\n    ");
        let before = std::mem::replace(&mut self.before, ",".to_owned());
        self.end = "\n  ]\n}\n";
        Ok(format!("{before}\n    {item}"))
    }

    /// The last piece.
    pub fn end(self) -> String {
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
