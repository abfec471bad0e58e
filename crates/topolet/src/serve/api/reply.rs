//! Answers: documents as `topolet` prints them, and errors.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::arguments::Format;
use crate::document::Document;
use crate::render::Glyphs;

/// Says what has become of pods.
pub(crate) const OUTCOME: &str = "topolet-outcome";
/// All are admitted, or were already.
pub(crate) const DONE: &str = "done";
/// Some are not.
pub(crate) const SOME_REFUSED: &str = "some-refused";
/// Some of what was sent was left out.
pub(crate) const PARTIAL: &str = "partial";

/// How an answer is written: `?output=json|yaml|table` and `&glyphs=ascii|unicode`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) format: Format,
    pub(super) glyphs: Glyphs,
}

/// One value of a query, taken as it is: nothing that is asked for needs escapes.
pub(super) fn asked<'q>(query: Option<&'q str>, name: &str) -> Option<&'q str> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

impl Shape {
    pub(super) fn of(query: Option<&str>) -> Result<Self, Failure> {
        let format = match asked(query, "output").unwrap_or("json") {
            "json" => Format::Json,
            "yaml" => Format::Yaml,
            "table" => Format::Table,
            _ => return Err(Failure::wrong("output is json, yaml or table")),
        };
        let glyphs = match asked(query, "glyphs").unwrap_or("unicode") {
            "ascii" => Glyphs::Ascii,
            _ => Glyphs::Unicode,
        };
        Ok(Self { format, glyphs })
    }

    /// A document in this shape; `table` draws it for people.
    pub(super) fn document<T: Serialize>(
        self,
        kind: &str,
        content: T,
        table: impl FnOnce(&T, Glyphs) -> String,
    ) -> Result<Response, Failure> {
        let kind_of_text = match self.format {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Table => {
                return Ok(text("text/plain; charset=utf-8", table(&content, self.glyphs)));
            }
        };
        let written = Document::new(kind, content).text(self.format);
        let written = written.map_err(|error| Failure::ours(&error.to_string()))?;
        Ok(text(kind_of_text, written.unwrap_or_default()))
    }
}

/// A text of a kind.
pub(super) fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A request that failed: its status and a text for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// The request is wrong.
    pub(super) fn wrong(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// It is ours.
    pub(super) fn ours(text: &str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

#[derive(Serialize)]
struct Error<'a> {
    code: u16,
    message: &'a str,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = Error { code: self.status.as_u16(), message: &self.text };
        let written = Document::new("Error", error).text(Format::Json).ok().flatten();
        let mut response = text("application/json", written.unwrap_or_default());
        *response.status_mut() = self.status;
        response
    }
}
