//! The functions that play cases, one for each kind.

use crate::case::{Case, Outcome};
use crate::corpus::Corpus;

/// Plays the cases of one kind.
pub(crate) type Runner = fn(&Corpus, &Case) -> Outcome;
