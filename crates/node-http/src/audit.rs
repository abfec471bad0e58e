//! The audit log: which client changed what, and requests with wrong tokens.

use std::borrow::Cow;
use std::time::Instant;

use bounded_http::{Line, Pace, Who};
use node_agent::{Answer, Request};
use node_view::{Metrics, OwnerReply};
use prometheus_client::metrics::counter::Counter;

use super::failure::Failure;

/// Writes the audit log, with a limited rate of lines.
pub(super) struct Audit {
    changes: Pace,
    tokens: Pace,
    wrong_tokens: Counter,
}

impl Audit {
    pub(super) fn new(metrics: &Metrics) -> Self {
        let wrong_tokens = Counter::default();
        metrics.add(|registry| {
            registry.register(
                "topolet_wrong_tokens",
                "Requests over TCP with a token that is not the one of --token-file.",
                wrong_tokens.clone(),
            );
        });
        Self { changes: Pace::new(), tokens: Pace::new(), wrong_tokens }
    }

    /// Begins the line of a change. It is written also if the client disconnects before the reply.
    pub(super) fn change<'a>(&'a self, who: Who, what: &'static str, on: &'a str) -> Asked<'a> {
        Asked { audit: self, who, what, on, outcome: Cow::Borrowed("not waited for") }
    }

    /// Counts and logs a wrong token.
    pub(super) fn wrong_token(&self) {
        self.wrong_tokens.inc();
        if let Line::Written { left_out } = self.tokens.line(Instant::now()) {
            tracing::warn!(left_out, "a request over TCP has a wrong token");
        }
    }
}

/// A requested change. Its line is written when this is dropped.
pub(super) struct Asked<'a> {
    audit: &'a Audit,
    who: Who,
    what: &'static str,
    on: &'a str,
    outcome: Cow<'static, str>,
}

impl Asked<'_> {
    /// Records the reply.
    pub(super) fn replied(&mut self, reply: &Result<OwnerReply, Failure>) {
        self.outcome = match reply {
            Ok(OwnerReply::Decided(report)) if report.is_admitted() => "admitted".into(),
            Ok(OwnerReply::Decided(report)) if report.is_placed() => "admitted without its claims".into(),
            Ok(OwnerReply::Decided(_)) => "refused".into(),
            Ok(OwnerReply::Moved(_, moved)) => format!("admitted, {} moved", moved.len()).into(),
            Ok(OwnerReply::Answer(Answer::Done | Answer::Resized { .. })) => "done".into(),
            Ok(OwnerReply::Answer(Answer::Unchanged)) => "unchanged".into(),
            Ok(OwnerReply::Answer(Answer::Deferred(_))) => "deferred".into(),
            Ok(OwnerReply::Answer(Answer::Failed(error))) => error.to_string().into(),
            Err(failure) => failure.text.clone().into(),
        };
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let Line::Written { left_out } = self.audit.changes.line(Instant::now()) else { return };
        let Self { who, what, on, outcome, .. } = self;
        if left_out > 0 {
            tracing::warn!(left_out, "changes were asked for faster than they are logged");
        }
        tracing::info!(%who, what, on, %outcome, "change was asked for");
    }
}

/// The verb of a request in the log.
pub(super) const fn what(request: &Request) -> &'static str {
    match request {
        Request::Admit(_) | Request::AdmitBound(_) => "admit",
        Request::Repack { .. } => "repack",
        Request::Delete(_) => "delete",
        Request::Resize(..) => "resize",
        Request::Started { .. } => "started",
        Request::Exited(_) => "exited",
    }
}
