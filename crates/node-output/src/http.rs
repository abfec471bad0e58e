//! What a daemon and its clients call alike in headers of HTTP.

/// The header of an answer that says what became of pods, or how the node is.
pub const OUTCOME: &str = "topolet-outcome";
/// All pods are admitted, or were already.
pub const DONE: &str = "done";
/// Some pods are refused.
pub const SOME_REFUSED: &str = "some-refused";
/// No pod is refused, and something that some pod asks for was not decided on.
pub const NOT_DECIDED: &str = "not-decided";
/// A kubelet does not simply admit or refuse some pod: it never answers, say.
pub const FATE: &str = "fate";
/// A part of what was sent was left out.
pub const PARTIAL: &str = "partial";
/// Something is wrong with the node.
pub const SOMETHING_WRONG: &str = "something-wrong";

/// The `reason` of an `Error` where objects have fields that their kinds do not have, which `fieldValidation=Warn` ignores.
pub const UNKNOWN_FIELD: &str = "unknownField";

/// The header of a request that has the name of the file in the body, for messages about it.
pub const FILE: &str = "topolet-file";
