//! What functions do with values.
//!
//! [`implementation`] finds a function by its name; which of its overloads is meant is decided by the values, as cel-go
//! does where types are not known before.

mod call;
mod conversion;
mod calendar;
pub(crate) mod pattern;
mod dialect;
mod strings;
mod lists;
mod aggregates;
mod operators;
pub(crate) mod optionals;
mod kubernetes;
pub(crate) mod template;
mod addresses;
mod url;
pub(crate) mod named_format;

pub(crate) use call::Implementation;

/// Which values a function has, by its name in declarations.
pub(crate) fn implementation(name: &str) -> Option<Implementation> {
    operators::implementation(name)
        .or_else(|| conversion::implementation(name))
        .or_else(|| optionals::implementation(name))
        .or_else(|| strings::implementation(name))
        .or_else(|| lists::implementation(name))
        .or_else(|| aggregates::implementation(name))
        .or_else(|| kubernetes::implementation(name))
        .or_else(|| addresses::implementation(name))
        .or_else(|| calendar::implementation(name))
        .or_else(|| url::implementation(name))
        .or_else(|| named_format::implementation(name))
        .or_else(|| match name {
            "matches" | "find" | "findAll" => pattern::implementation(name),
            "format" => Some(template::format),
            _ => None,
        })
}
