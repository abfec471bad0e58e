//! A request that failed, as it is answered.

use anstream::adapter::strip_str;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bounded_http::{Busy, Panicked, text};
use node_output::{Document, Format};
use schemars::JsonSchema;
use serde::Serialize;

/// A request that failed: its status and a text for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) text: String,
    /// For programs; `None`: the status says enough.
    reason: Option<&'static str>,
    /// Seconds after which the client may try again.
    retry_after: Option<HeaderValue>,
}

impl Failure {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), reason: None, retry_after: None }
    }

    /// Too many requests are in progress: status 503, with `Retry-After: 1`.
    pub(super) fn busy(text: impl Into<String>) -> Self {
        let retry_after = Some(HeaderValue::from_static("1"));
        Self { retry_after, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, text) }
    }

    /// The request is wrong: status 400.
    pub(super) fn wrong(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// With a reason for programs; `None`: none.
    pub(super) fn because(self, reason: Option<&'static str>) -> Self {
        Self { reason, ..self }
    }

    /// The same for an error in something that was given, quoted lines and all.
    pub(super) fn given(error: &anyhow::Error) -> Self {
        // Quoted lines are coloured for terminals.
        Self::wrong(strip_str(format!("{error:#}").trim_end()).to_string())
    }

    /// A fault of topolet: status 500.
    pub(super) fn ours(text: &str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl From<Busy> for Failure {
    fn from(Busy(text): Busy) -> Self {
        Self::busy(text)
    }
}

impl From<Panicked> for Failure {
    fn from(panicked: Panicked) -> Self {
        Self::ours(&panicked.to_string())
    }
}

/// Why a request failed.
#[derive(Serialize, JsonSchema)]
pub(super) struct Error<'a> {
    /// The status.
    code: u16,
    /// For people.
    message: &'a str,
    /// For programs: `unknownField` where objects have fields that their kinds do not have, which `fieldValidation=Warn` ignores.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = Error { code: self.status.as_u16(), message: &self.text, reason: self.reason };
        let written = Document::new("Error", error).text(Format::Json).ok().flatten();
        let mut response = text("application/json", written.unwrap_or_default());
        *response.status_mut() = self.status;
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}
