//! The faults of a state folder, as lines of a document.

use kubelet_release::Fault;
use serde::{Serialize, Serializer};

/// What kind of thing is wrong, most harmful first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Problem {
    /// The file is torn, is no state file, or was changed by another program.
    Unreadable,
    /// A kubelet of another release wrote it, in a format that is not known.
    UnknownFormat,
    /// A kubelet with another feature gate wrote it.
    OtherGate,
    /// Another policy wrote it.
    OtherPolicy,
    /// CPUs or nodes that the machine does not have, or not any more.
    Unknown,
    /// Two have the same.
    Overlap,
    /// A repair has found a conflict that the files do not show any more.
    Quarantined,
    /// What is held, free and installed do not add up.
    Sums,
    /// Something is held for a pod that is not there any more.
    Gone,
    /// Nothing that harms: the kubelet takes it, but did not write it.
    Odd,
}

/// One finding, as it is written.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FindingLine {
    /// The kind of it.
    pub problem: Problem,
    /// The file's path below the folder.
    pub file: String,
    /// What is wrong.
    pub what: String,
    /// What the kubelet makes of it: its own words where it refuses to start.
    pub kubelet: String,
    /// The fault of the kubelet that it can come from: the name of its page in `docs/upstream`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "by_name")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub fault: Option<Fault>,
    /// What helps.
    pub help: String,
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn by_name<S: Serializer>(fault: &Option<Fault>, serializer: S) -> Result<S::Ok, S::Error> {
    fault.map(Fault::id).serialize(serializer)
}
