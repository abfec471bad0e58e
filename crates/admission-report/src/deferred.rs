//! A pod that is not decided on yet, since it waits for device plugins.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use device_manager::Moment;
use pod_spec::ResourceName;
use serde::{Serialize, Serializer};
use topology_admission::Deferral;

use crate::json;

/// What a pod waits for, and for how long. Shown as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deferred {
    /// What it waits for.
    pub deferral: Deferral,
    /// How much longer, when this was found out.
    pub left: Duration,
}

impl Deferred {
    /// As it is now.
    #[must_use]
    pub fn new(deferral: &Deferral, now: Moment) -> Self {
        Self { deferral: deferral.clone(), left: deferral.left(now) }
    }

    /// The seconds that are left, rounded up.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        self.left.as_secs() + if self.left.subsec_nanos() > 0 { 1 } else { 0 }
    }
}

impl fmt::Display for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in {} s at the latest", self.deferral, self.seconds())
    }
}

/// What a pod waits for.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Deferred"))]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    /// In a word.
    reason: &'static str,
    /// A sentence.
    message: String,
    /// Whose device plugins are not back.
    #[serde(serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    resources: &'a Vec<ResourceName>,
    /// How much longer at the most.
    seconds: u64,
}

json::written_as!(Deferred, Fields<'static>);

impl Serialize for Deferred {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (message, resources) = (self.deferral.to_string(), &self.deferral.resources);
        Fields { reason: Deferral::REASON, message, resources, seconds: self.seconds() }.serialize(serializer)
    }
}
