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
    /// Why that is not known.
    #[serde(rename = "notSeen", skip_serializing_if = "Option::is_none")]
    pub not_seen: Option<String>,
}

impl PendingPod {
    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let head = format!("{} has no node yet, so no kubelet has decided on it", self.pod);
        let said = match (&self.scheduler, &self.not_seen) {
            (Some(said), _) => format!("the scheduler's last message: {said}"),
            (None, Some(why)) => format!("! not seen: {why}"),
            (None, None) => "there is no event of the scheduler about it".to_owned(),
        };
        page.wrapped(&head, 2) + &page.wrapped(&said, 2)
    }
}
