//! Booleans in string maps, as the kubelet reads them.

/// One of `1 t T TRUE true True 0 f F FALSE false False`; `None` for anything else.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}
