//! Why a request does not come as far as the routes.

use axum::http::StatusCode;
use thiserror::Error;

use crate::Busy;
use crate::places::{BODY, Who};

/// Why a request does not come as far as the routes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is meant for another host, or comes from a page in a browser.
    #[error("{1}")]
    NotForUs(StatusCode, &'static str),
    /// Its user has too much in progress.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Its body has more bytes than its path takes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// Its body has not come within [`BODY`].
    #[error("the body takes too long to come: more than {} s", BODY.as_secs())]
    Late,
    /// Its body broke off, or is no body of HTTP.
    #[error("the body broke off")]
    BrokeOff,
}

impl Refused {
    /// The status of the answer.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::NotForUs(status, _) => *status,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Late => StatusCode::REQUEST_TIMEOUT,
            Self::BrokeOff => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn busy(who: Who) -> Self {
        Self::Busy(Busy(format!("{who} has as many requests in progress as it may have: try again")))
    }
}
