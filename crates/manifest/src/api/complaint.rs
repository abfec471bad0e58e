//! What an API server says of a field.

use core::fmt;
use std::borrow::Cow;

use cpuset::go_quote;
use terminal_text::nearest;

/// The API server's words for a name that no resource has.
pub(super) const NO_STANDARD: [&str; 2] =
    ["must be a standard resource type or fully qualified", "must be a standard resource for containers"];

/// What containers can ask for without a domain, with the usual huge pages.
const FOR_CONTAINERS: [&str; 5] = ["cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi"];

/// One complaint about a field; displays in the API server's words, without the field.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Complaint {
    /// The field has to be there.
    Required(Cow<'static, str>),
    /// The value is there already.
    Duplicate(String),
    /// The value cannot be.
    Invalid {
        /// The value, as Go prints it: text in quotes, numbers bare.
        value: String,
        /// What it must be.
        must: Cow<'static, str>,
    },
    /// The value is none of those that there are.
    NotSupported {
        /// The value.
        value: String,
        /// Those that there are.
        supported: &'static [&'static str],
    },
    /// The field cannot be there.
    Forbidden(&'static str),
}

impl Complaint {
    /// What the labels of a workload's pods must be.
    pub(crate) const SELECTED: &'static str = "`selector` does not match template `labels`";

    pub(crate) const REQUIRED: Self = Self::Required(Cow::Borrowed(""));

    /// The resource whose name is misspelt; `None`: it is about something else, or nothing is near. `gpu` without its domain is near
    /// `cpu`, and another resource: the first letter has to be the same.
    pub(crate) fn meant_resource(&self) -> Option<&'static str> {
        let Self::Invalid { value, must } = self else { return None };
        let name = value.trim_matches('"');
        let first = |name: &str| name.chars().next().map(|letter| letter.to_ascii_lowercase());
        let is_name = NO_STANDARD.contains(&must.as_ref());
        nearest(name, &FOR_CONTAINERS).filter(|meant| is_name && first(meant) == first(name))
    }

    pub(crate) fn invalid(value: &str, must: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid { value: go_quote(value).to_string(), must: must.into() }
    }

    pub(crate) fn invalid_number(value: impl fmt::Display, must: &'static str) -> Self {
        Self::Invalid { value: value.to_string(), must: Cow::Borrowed(must) }
    }

    pub(crate) fn not_supported(value: &str, supported: &'static [&'static str]) -> Self {
        Self::NotSupported { value: value.to_owned(), supported }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required(why) if why.is_empty() => f.write_str("Required value"),
            Self::Required(why) => write!(f, "Required value: {why}"),
            Self::Duplicate(value) => write!(f, "Duplicate value: {}", go_quote(value)),
            Self::Invalid { value, must } => write!(f, "Invalid value: {value}: {must}"),
            Self::NotSupported { value, supported } => {
                write!(f, "Unsupported value: {}: supported values: ", go_quote(value))?;
                for (at, value) in supported.iter().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", go_quote(value))?;
                }
                Ok(())
            }
            Self::Forbidden(why) => write!(f, "Forbidden: {why}"),
        }
    }
}
