//! What came out for a pod, also where the kubelet does not simply admit or refuse it.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use kubelet_fates::Fate;
use serde::{Serialize, Serializer};

use crate::claims::UndecidedClaims;
use crate::container::ContainerReport;
use crate::decided_claims::Unschedulable;
use crate::deferred::Deferred;
use crate::json;
use crate::refusal::Refusal;
use crate::undecided::Undecided;

/// What came out for a pod.
#[derive(Clone, Debug)]
pub enum Conclusion {
    /// It may run, and its containers are given this, in the order in which they were served.
    Admitted(Vec<ContainerReport>),
    /// The managers give its containers this; its claims of devices are not decided here.
    WithoutClaims(Vec<ContainerReport>, UndecidedClaims),
    /// Its claims of devices keep kube-scheduler from placing it here; the managers were not asked.
    Unschedulable(Unschedulable),
    /// It may not run.
    Refused(Refusal),
    /// It waits for device plugins that are not back yet.
    Deferred(Deferred),
    /// Too little is known to decide.
    Undecided(Undecided),
    /// The kubelet does not simply admit or refuse it.
    Fated(Fated),
}

impl Conclusion {
    /// In a word, as documents have it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Admitted(_) => "admitted",
            Self::WithoutClaims(..) => "withoutClaims",
            Self::Unschedulable(_) => "unschedulable",
            Self::Refused(_) => "refused",
            Self::Deferred(_) => "deferred",
            Self::Undecided(_) => "undecided",
            Self::Fated(_) => "fate",
        }
    }
}

/// What happens in place of the kubelet's answer, or with it. Shown as a sentence without a full stop.
#[derive(Clone, Debug)]
pub struct Fated {
    /// What happens.
    pub fate: Fate,
    /// Changes that avoid it and were tried: each with its result.
    pub avoided_by: Vec<String>,
    /// What the kubelet answers then, if it ever does.
    pub then: Box<Conclusion>,
}

impl Fated {
    /// What avoids it: the changes that were tried, or else what is known of the fault.
    #[must_use]
    pub fn ways_out(&self) -> Vec<String> {
        if self.avoided_by.is_empty() {
            return alloc::vec![self.fate.fault().cure().into()];
        }
        self.avoided_by.clone()
    }
}

impl fmt::Display for Fated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fate)?;
        if let Conclusion::Refused(refusal) = &*self.then
            && self.fate.leaves_an_answer()
        {
            write!(f, "; then it refuses the pod: {}: {}", refusal.reason, refusal.message)?;
        }
        write!(f, " ({})", self.fate.fault().page())
    }
}

/// What happens in place of the kubelet's answer, or with it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Fate"))]
#[serde(rename_all = "camelCase")]
struct FatedFields<'a> {
    /// In a word.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::fate"))]
    kind: &'static str,
    /// A sentence.
    message: String,
    /// The fault of the kubelet that it comes from: the name of its page in `docs/upstream`.
    fault: &'static str,
    /// Changes that avoid it and were tried, each with its result.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    avoided_by: &'a [String],
    /// What is known to avoid the fault.
    cure: &'static str,
}

json::written_as!(Fated, FatedFields<'static>);

impl Serialize for Fated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = FatedFields {
            kind: self.fate.kind(),
            message: self.to_string(),
            fault: self.fate.fault().id(),
            avoided_by: &self.avoided_by,
            cure: self.fate.fault().cure(),
        };
        fields.serialize(serializer)
    }
}
