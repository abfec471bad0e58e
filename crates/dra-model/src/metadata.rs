//! What every object has: its name, labels and creation time.

use alloc::collections::BTreeMap;
use alloc::string::String;

/// `metadata` of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    /// `name`; empty if the API server is to make one from `generate_name`.
    pub name: String,
    /// `generateName`: what a name that the API server makes begins with.
    pub generate_name: String,
    /// `namespace`; empty for objects of the whole cluster.
    pub namespace: String,
    /// `uid`; empty before creation.
    pub uid: String,
    /// `creationTimestamp` in seconds since 1970; `None` before creation.
    pub created: Option<i64>,
    /// `labels`.
    pub labels: BTreeMap<String, String>,
    /// `annotations`.
    pub annotations: BTreeMap<String, String>,
    /// The one of `ownerReferences` that is the controller.
    pub controller: Option<Controller>,
}

/// The object that made another one and controls it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Controller {
    /// `kind`.
    pub kind: String,
    /// `name`.
    pub name: String,
    /// `uid`.
    pub uid: String,
}

impl Metadata {
    /// That of an object of the whole cluster.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}
