//! A pod that no kubelet has decided on, since it has no node.

use serde::Serialize;
use terminal_text::Page;

/// A pod that waits for a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingPod {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// The scheduler's last message; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// That kube-scheduler's own search for devices exceeded its limit, so that no extender was asked, and what would end it in time;
    /// absent: it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// What of these is not known, and why.
    #[serde(rename = "notSeen", skip_serializing_if = "Option::is_none")]
    pub not_seen: Option<String>,
}

impl PendingPod {
    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let head = format!("{} has no node yet, so no kubelet has decided on it", self.pod);
        let said = self.scheduler.as_ref().map(|said| format!("the scheduler's last message: {said}"));
        let search = self.search.as_ref().map(|search| format!("✘ {search}"));
        let not_seen = self.not_seen.as_ref().map(|why| format!("! not seen: {why}"));
        let none = (said.is_none() && not_seen.is_none())
            .then(|| "there is no event of the scheduler about it".to_owned());
        let lines = [Some(head), said, search, not_seen, none].into_iter().flatten();
        lines.map(|line| page.wrapped(&line, 2)).collect()
    }
}
