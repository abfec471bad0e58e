//! Rules for texts: names of DNS, labels, identifiers. Each function gives what a text breaks, in Kubernetes' words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// In what a length is counted: Kubernetes has two copies of some rules, which differ in that word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// `must be no more than 63 bytes`.
    Bytes,
    /// `must be no more than 63 characters`.
    Characters,
}

/// A label of DNS.
#[must_use]
pub fn dns_label(text: &str, length: Length) -> Vec<String> {
    let mut broken = too_long(text, 63, length);
    if !is_dns_label(text) {
        broken.push(if is_dns_subdomain(text) {
            "must not contain dots".to_string()
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
             an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_string()
        });
    }
    broken
}

/// Labels of DNS with dots between.
#[must_use]
pub fn dns_subdomain(text: &str, length: Length) -> Vec<String> {
    let mut broken = too_long(text, 253, length);
    if !is_dns_subdomain(text) {
        broken.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
             end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_string(),
        );
    }
    broken
}

/// The same, also with capitals.
#[must_use]
pub fn dns_subdomain_caseless(text: &str) -> Vec<String> {
    let mut broken = too_long(text, 253, Length::Bytes);
    if !is_dns_subdomain(&text.to_ascii_lowercase()) {
        broken.push(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character (e.g. 'Example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_string(),
        );
    }
    broken
}

const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// The key of a label, with or without a domain.
#[must_use]
pub fn is_label_key(text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                broken.push("prefix part must be non-empty".to_string());
            } else {
                let rules = dns_subdomain(prefix, Length::Bytes);
                broken.extend(rules.into_iter().map(|rule| format!("prefix part {rule}")));
            }
            name
        }
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            broken.push(format!("a valid label key {LABEL_KEY} {optional}"));
            return broken;
        }
    };
    if name.is_empty() {
        broken.push("name part must be non-empty".to_string());
    } else if name.len() > 63 {
        broken.push("name part must be no more than 63 bytes".to_string());
    }
    if !is_label_text(name) {
        broken.push(format!("name part {LABEL_KEY}"));
    }
    broken
}

/// The value of a label.
#[must_use]
pub fn label_value(text: &str) -> Vec<String> {
    let mut broken = too_long(text, 63, Length::Bytes);
    if !text.is_empty() && !is_label_text(text) {
        broken.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
             end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_string(),
        );
    }
    broken
}

/// An identifier of C.
#[must_use]
pub fn c_identifier(text: &str) -> Option<&'static str> {
    let mut bytes = text.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let is_one = begins && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!is_one).then_some(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or \
         '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
    )
}

fn too_long(text: &str, most: usize, length: Length) -> Vec<String> {
    let unit = match length {
        Length::Bytes => "bytes",
        Length::Characters => "characters",
    };
    let text = (text.len() > most).then(|| format!("must be no more than {most} {unit}"));
    text.into_iter().collect()
}

fn is_dns_label(text: &str) -> bool {
    let is_edge =
        |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    is_edge(text.bytes().next()) && is_edge(text.bytes().next_back()) && text.bytes().all(is_inner)
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}

fn is_label_text(text: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    is_edge(text.bytes().next()) && is_edge(text.bytes().next_back()) && text.bytes().all(is_inner)
}
