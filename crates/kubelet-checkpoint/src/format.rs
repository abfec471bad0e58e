//! Files that are whole and of no format that is known here, as a newer kubelet may write them.
//!
//! A kubelet passes over members that it does not know, and may so take such a file for empty. What it holds
//! would be handed out a second time; so a program that acts on a file asks first whether its format is known.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;

use cpuset::go_quote;

use crate::go::{Go, JsonError, JsonFault, parse};
use crate::{Oddities, Oddity};

/// A whole JSON text that no format which is known here explains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFormat {
    /// What is in it that no known format has.
    pub found: Strange,
    /// The formats that are known.
    pub known: &'static str,
}

/// What is in a file that no known format has.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Strange {
    /// Members of these names.
    Members(BTreeSet<String>),
    /// A value of another kind than any format has there.
    Value(JsonError),
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("of a format that is not known here, as a kubelet of another release may write it: ")?;
        match &self.found {
            Strange::Members(names) => {
                f.write_str(if names.len() == 1 { "it has member " } else { "it has members " })?;
                for (at, name) in names.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { ", " }, go_quote(name))?;
                }
                if names.len() > SHOWN {
                    write!(f, " and {} more", names.len() - SHOWN)?;
                }
            }
            Strange::Value(error) => write!(f, "{error}")?,
        }
        write!(f, "; known are {}", self.known)
    }
}

impl core::error::Error for UnknownFormat {}

/// More names are not shown.
const SHOWN: usize = 5;

/// How one format takes a file.
pub(crate) struct Attempt {
    pub(crate) fault: Option<JsonError>,
    pub(crate) oddities: Oddities,
}

impl Attempt {
    pub(crate) fn of(file: &[u8], mut wire: impl Go) -> Self {
        let (read, oddities) = parse(file, &mut wire);
        Self { fault: read.err(), oddities }
    }
}

/// What is strange in a file: `newest` is how the newest format takes it, which has all members of the older ones, and
/// `older` how those do. `is_sealed`: the checksum is that of what a known format has read, so it wrote the file, or
/// there is none and something is held. `strange` are members of its embedded data that no known format has, which the
/// checksum of that text covers.
pub(crate) fn unknown(
    newest: &Attempt,
    older: &[Attempt],
    is_sealed: bool,
    strange: BTreeSet<String>,
    known: &'static str,
) -> Option<UnknownFormat> {
    let is_torn = |attempt: &Attempt| match &attempt.fault {
        Some(error) => {
            matches!(error.fault, JsonFault::UnexpectedEnd | JsonFault::InvalidCharacter { .. })
        }
        None => false,
    };
    if is_torn(newest) || (is_sealed && strange.is_empty() && !newest.oddities.is_newer_format()) {
        return None;
    }
    let mut names = strange;
    names.extend(newest.oddities.iter().filter_map(|(_, odd)| strange_name(odd)));
    if !names.is_empty() {
        return Some(UnknownFormat { found: Strange::Members(names), known });
    }
    // A value of another kind than any format has there; what only one of them does not have is of another.
    let kind = |attempt: &Attempt| attempt.fault.clone().filter(is_other_kind);
    let is_every =
        newest.fault.as_ref().is_some_and(is_in_data) || older.iter().all(|attempt| kind(attempt).is_some());
    kind(newest).filter(|_| is_every).map(|error| UnknownFormat { found: Strange::Value(error), known })
}

fn strange_name(oddity: &Oddity) -> Option<String> {
    match oddity {
        Oddity::UnknownMember(name) | Oddity::NewerFormat(name) => Some(name.to_owned()),
        _ => None,
    }
}

/// Older formats do not have these members.
fn is_in_data(error: &JsonError) -> bool {
    let JsonFault::WrongType { member: Some((_, path)), .. } = &error.fault else { return false };
    path == "data" || path == "dataChecksum"
}

/// Not merely a number that is too large.
fn is_other_kind(error: &JsonError) -> bool {
    matches!(&error.fault, JsonFault::WrongType { found, .. } if !found.contains(' '))
}
