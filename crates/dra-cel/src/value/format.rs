//! Formats that texts can be validated by: names of Kubernetes, URIs, dates.

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::time;
use super::url::Url;

/// A format.
#[derive(Debug)]
pub(crate) struct Format {
    name: &'static str,
    /// Length of a pattern of this format, which costs are counted by.
    pub(crate) pattern: u64,
    faults: fn(&str) -> Vec<String>,
}

const fn format(name: &'static str, pattern: u64, faults: fn(&str) -> Vec<String>) -> Format {
    Format { name, pattern, faults }
}

impl Format {
    /// The format of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// What is wrong with a text; none: it is of this format.
    pub(crate) fn faults(&self, text: &str) -> Vec<String> {
        (self.faults)(text)
    }
}

static FORMATS: [Format; 13] = [
    format("dns1123Label", 30, |text| label(text, Letters::AnyFirst)),
    format("dns1123Subdomain", 60, subdomain),
    format("dns1035Label", 30, |text| label(text, Letters::AlphabeticFirst)),
    format("qualifiedName", 60, qualified),
    format("dns1123LabelPrefix", 30, |text| label(&prefix(text), Letters::AnyFirst)),
    format("dns1123SubdomainPrefix", 60, |text| subdomain(&prefix(text))),
    format("dns1035LabelPrefix", 30, |text| label(&prefix(text), Letters::AlphabeticFirst)),
    format("labelValue", 40, |text| if text.is_empty() { Vec::new() } else { name_part(text) }),
    format("uri", 1_103, |text| Url::parse(text).err().map(str::to_string).into_iter().collect()),
    format("uuid", 70, |text| unless(is_uuid(text), "does not match the UUID format")),
    format("byte", 84, |text| unless(is_base64(text), "invalid base64")),
    format("date", 71, |text| {
        unless(time::timestamp(&[text, "T00:00:00Z"].concat()).is_some(), "invalid date")
    }),
    format("datetime", 71, |text| unless(time::timestamp(text).is_some(), "invalid datetime")),
];

fn unless(is_right: bool, fault: &str) -> Vec<String> {
    if is_right { Vec::new() } else { vec![fault.to_string()] }
}

/// A prefix may end with a hyphen, since more follows.
fn prefix(text: &str) -> String {
    text.strip_suffix('-').map_or_else(|| text.to_string(), |rest| [rest, "a"].concat())
}

#[derive(Clone, Copy, PartialEq)]
enum Letters {
    AnyFirst,
    AlphabeticFirst,
}

fn label(text: &str, letters: Letters) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 63 {
        faults.push("must be no more than 63 bytes".to_string());
    }
    let is_first = text.starts_with(|first: char| letters == Letters::AnyFirst || first.is_ascii_lowercase());
    if !is_label(text) || !is_first {
        faults.push("a DNS label must consist of lower case alphanumeric characters or '-'".to_string());
    }
    faults
}

fn is_label(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| is_part(*byte))
        && bytes.last().is_some_and(|byte| is_part(*byte))
        && bytes.iter().all(|byte| is_part(*byte) || *byte == b'-')
}

fn subdomain(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 253 {
        faults.push("must be no more than 253 bytes".to_string());
    }
    if !text.split('.').all(is_label) {
        faults.push("a lowercase RFC 1123 subdomain must consist of labels between dots".to_string());
    }
    faults
}

fn qualified(text: &str) -> Vec<String> {
    match text.split_once('/') {
        None => name_part(text),
        Some((domain, name)) => {
            let mut faults = subdomain(domain);
            faults.extend(name_part(name));
            faults
        }
    }
}

fn name_part(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_string());
    }
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !is_end(bytes.first()) || !is_end(bytes.last()) || !bytes.iter().all(is_part) {
        faults.push("name part must consist of alphanumeric characters, '-', '_' or '.'".to_string());
    }
    faults
}

fn is_uuid(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let has_parts = !text.contains('-') || text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    digits.len() == 32 && has_parts && digits.iter().all(u8::is_ascii_hexdigit)
}

fn is_base64(text: &str) -> bool {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && padding < 3 && text[..text.len() - padding].bytes().all(is_digit)
}
