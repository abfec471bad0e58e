//! Answers: documents as `topolet` prints them, and errors.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bounded_http::{Offer, chosen, text};
use node_output::{Document, Format};
use serde::Serialize;
use terminal_text::{Glyphs, Page};

use super::failure::Failure;
use super::query::{GLYPHS, MAX_WIDTH, MIN_WIDTH, OUTPUT, Query, SHAPE, WIDTH};

/// How an answer is written: `?output=json|yaml|table`, else what `Accept` prefers, else JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) format: Format,
    /// From `&glyphs=ascii|unicode`: the answer is for a screen with such characters, and what is wrong with a
    /// manifest is drawn with its lines. `None`: messages are plain sentences.
    pub(super) screen: Option<Glyphs>,
    /// From `&width=LETTERS`: tables are no wider.
    width: Option<usize>,
}

/// The forms of a document.
const FORMS: [Offer<Format>; 3] = [
    Offer { form: Format::Json, names: &["application/json"], versions: &[] },
    Offer {
        form: Format::Yaml,
        names: &["application/yaml", "application/x-yaml", "text/yaml"],
        versions: &[],
    },
    Offer { form: Format::Table, names: &["text/plain"], versions: &[] },
];

impl Shape {
    pub(super) fn of(query: &Query, headers: &HeaderMap) -> Result<Self, Failure> {
        let format = match query.get(OUTPUT) {
            Some("json") => Format::Json,
            Some("yaml") => Format::Yaml,
            Some("table") => Format::Table,
            Some(_) => return Err(Failure::wrong("output is json, yaml or table")),
            None => chosen(headers, &FORMS).ok_or_else(|| {
                let text = "Accept names none of application/json, application/yaml and text/plain";
                Failure::new(StatusCode::NOT_ACCEPTABLE, text)
            })?,
        };
        let screen = match query.get(GLYPHS) {
            None => None,
            Some("ascii") => Some(Glyphs::Ascii),
            Some("unicode") => Some(Glyphs::Unicode),
            Some(_) => return Err(Failure::wrong("glyphs is ascii or unicode")),
        };
        let width = match query.get(WIDTH).map(str::parse) {
            None => None,
            Some(Ok(width)) if (MIN_WIDTH..=MAX_WIDTH).contains(&width) => Some(width),
            Some(_) => {
                let text = format!("width is a number of letters from {MIN_WIDTH} to {MAX_WIDTH}");
                return Err(Failure::wrong(text));
            }
        };
        Ok(Self { format, screen, width })
    }

    /// Of a path that takes no other parameters.
    pub(super) fn alone(query: Option<&str>, headers: &HeaderMap) -> Result<Self, Failure> {
        Self::of(&Query::read(query, SHAPE)?, headers)
    }

    /// A page for a browser, with this width in characters by default.
    pub(super) fn page(self, letters: usize) -> Page {
        Page { glyphs: Glyphs::Unicode, width: Some(self.width.unwrap_or(letters)) }
    }

    /// A document in this shape; `table` draws it for people.
    pub(super) fn document<T: Serialize>(
        self,
        kind: &str,
        content: T,
        table: impl FnOnce(&T, Page) -> String,
    ) -> Result<Response, Failure> {
        let kind_of_text = match self.format {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Table => {
                let page = Page { glyphs: self.screen.unwrap_or(Glyphs::Unicode), width: self.width };
                return Ok(text("text/plain; charset=utf-8", table(&content, page)));
            }
        };
        let written = Document::new(kind, content).text(self.format);
        let written = written.map_err(|error| Failure::ours(&error.to_string()))?;
        Ok(text(kind_of_text, written.unwrap_or_default()))
    }
}
