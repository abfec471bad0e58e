//! An object of an API server.

use kube::api::DynamicObject;
use serde_json::Value;

/// An object of an API server, as it was sent.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchedObject(pub(crate) DynamicObject);

impl WatchedObject {
    /// Its name; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its UID; empty if it has none.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.0.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Its labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.0.metadata.labels.iter().flatten();
        labels.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether it has been deleted, and is yet there.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.0.metadata.deletion_timestamp.is_some()
    }

    /// A text of its `spec` or `status`: `/spec/nodeName`; empty if it has none.
    #[must_use]
    pub fn text(&self, pointer: &str) -> &str {
        self.0.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The whole object.
    #[must_use]
    pub fn into_json(self) -> Value {
        // It was read from JSON.
        serde_json::to_value(self.0).unwrap_or_default()
    }
}
