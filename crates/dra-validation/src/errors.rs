//! What is wrong with a field.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use cpuset::go_quote;

use crate::json;
use crate::path::Path;

/// One cause for which an object is refused. Displays as kubectl shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// Path of the field: `spec.devices[0].name`.
    pub field: String,
    /// What kind of fault it is.
    pub kind: FieldErrorKind,
    /// The API server's words, with the value.
    pub message: String,
}

/// The kind of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldErrorKind {
    /// A value is missing.
    Required,
    /// A value is wrong.
    Invalid,
    /// A value is none of a few.
    NotSupported,
    /// A value is there twice.
    Duplicate,
    /// A field may not be set here.
    Forbidden,
    /// A text is too long.
    TooLong,
    /// A list or mapping has too many members.
    TooMany,
}

impl FieldErrorKind {
    /// The reason of a cause in a `Status`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// What was found so far.
#[derive(Default)]
pub(crate) struct Faults(Vec<FieldError>);

impl Faults {
    /// By field, then by reason and message.
    pub(crate) fn sorted(mut self) -> Vec<FieldError> {
        self.0.sort_by_cached_key(|error| {
            (error.field.clone(), error.kind.reason().to_string() + &error.message)
        });
        self.0
    }

    pub(crate) fn required(&mut self, at: &Path, detail: &str) {
        self.push(at, FieldErrorKind::Required, None, detail);
    }

    pub(crate) fn forbidden(&mut self, at: &Path, detail: &str) {
        self.push(at, FieldErrorKind::Forbidden, None, detail);
    }

    /// A text that breaks a rule.
    pub(crate) fn invalid(&mut self, at: &Path, text: &str, detail: &str) {
        self.invalid_value(at, &go_quote(text), detail);
    }

    /// A text that breaks some rules.
    pub(crate) fn invalid_for(&mut self, at: &Path, text: &str, rules: Vec<String>) {
        for rule in rules {
            self.invalid(at, text, &rule);
        }
    }

    /// A value that is no text: a number, or JSON.
    pub(crate) fn invalid_value(&mut self, at: &Path, value: &dyn fmt::Display, detail: &str) {
        self.push(at, FieldErrorKind::Invalid, Some(value), detail);
    }

    pub(crate) fn duplicate(&mut self, at: &Path, value: &dyn fmt::Display) {
        self.push(at, FieldErrorKind::Duplicate, Some(value), "");
    }

    pub(crate) fn not_supported(&mut self, at: &Path, text: &str, supported: &[&str]) {
        let supported: Vec<_> = supported.iter().map(|value| format!("\"{value}\"")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.push(at, FieldErrorKind::NotSupported, Some(&json::text(text)), &detail);
    }

    pub(crate) fn too_long(&mut self, at: &Path, most: usize) {
        self.push(at, FieldErrorKind::TooLong, None, &format!("may not be more than {most} bytes"));
    }

    pub(crate) fn too_many_characters(&mut self, at: &Path, most: usize) {
        self.push(at, FieldErrorKind::TooLong, None, &format!("may not be more than {most} characters"));
    }

    /// Whether a list has no more than `most` members; one that has more is not looked at further.
    pub(crate) fn is_within(&mut self, at: &Path, members: usize, most: usize) -> bool {
        if members > most {
            self.push(
                at,
                FieldErrorKind::TooMany,
                Some(&members),
                &format!("must have at most {most} items"),
            );
        }
        members <= most
    }

    fn push(&mut self, at: &Path, kind: FieldErrorKind, value: Option<&dyn fmt::Display>, detail: &str) {
        let mut message = kind.title().to_string();
        if let Some(value) = value {
            message += &format!(": {value}");
        }
        if !detail.is_empty() {
            message += &format!(": {detail}");
        }
        self.0.push(FieldError { field: at.to_string(), kind, message });
    }
}
