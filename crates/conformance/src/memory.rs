//! Cases of the domain `memory`.

use crate::case::Runner;

/// The function that plays the cases of a kind.
pub(crate) fn runner(_kind: &str) -> Option<Runner> {
    None
}
