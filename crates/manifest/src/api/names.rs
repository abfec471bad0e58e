//! What names must look like, in the API server's words. Each function returns all that is wrong with a text.

use std::borrow::Cow;

use thiserror::Error;

pub(super) type Wrong = Vec<Cow<'static, str>>;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                     end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                         start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                   character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                   '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
                     and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
                     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// The longest label.
const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

/// A container's name, a namespace.
pub(super) fn dns_label(text: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if text.len() > MAX_LABEL {
        wrong.push(format!("must be no more than {MAX_LABEL} characters").into());
    }
    if !is_label(text) {
        wrong.push(if is_subdomain(text) { "must not contain dots".into() } else { LABEL.into() });
    }
    wrong
}

/// A name of a pod, a node, and of most other objects.
pub(super) fn dns_subdomain(text: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if text.len() > MAX_SUBDOMAIN {
        wrong.push(format!("must be no more than {MAX_SUBDOMAIN} characters").into());
    }
    if !is_subdomain(text) {
        wrong.push(SUBDOMAIN.into());
    }
    wrong
}

/// Why a text cannot be such a name, in the API server's words.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}", .0.join(", "))]
pub struct WrongName(Wrong);

/// Whether a text can be a node's name.
///
/// # Errors
/// All that is wrong with it.
pub fn check_node_name(text: &str) -> Result<(), WrongName> {
    let wrong = dns_subdomain(text);
    if wrong.is_empty() { Ok(()) } else { Err(WrongName(wrong)) }
}

/// Whether a text can be the name of a driver of devices, and part of the names of its slices.
///
/// # Errors
/// All that is wrong with it.
pub fn check_driver_name(text: &str) -> Result<(), WrongName> {
    let mut wrong = dns_subdomain(text);
    if text.len() > MAX_LABEL {
        wrong.push(format!("must be no more than {MAX_LABEL} characters").into());
    }
    if wrong.is_empty() { Ok(()) } else { Err(WrongName(wrong)) }
}

/// The key of a label, or a resource: a name, with a domain and a slash before it or not.
pub(super) fn qualified(text: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".into());
            } else {
                if prefix.len() > MAX_SUBDOMAIN {
                    wrong.push(format!("prefix part must be no more than {MAX_SUBDOMAIN} bytes").into());
                }
                if !is_subdomain(prefix) {
                    wrong.push(format!("prefix part {SUBDOMAIN}").into());
                }
            }
            name
        }
        _ => {
            let with = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY} {with}").into()];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".into());
    } else if name.len() > MAX_LABEL {
        wrong.push(format!("name part must be no more than {MAX_LABEL} bytes").into());
    }
    if !is_key(name) {
        wrong.push(format!("name part {KEY}").into());
    }
    wrong
}

/// The value of a label.
pub(super) fn label_value(text: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if text.len() > MAX_LABEL {
        wrong.push(format!("must be no more than {MAX_LABEL} bytes").into());
    }
    if !text.is_empty() && !is_key(text) {
        wrong.push(VALUE.into());
    }
    wrong
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    enclosed(text, plain, |byte| plain(byte) || byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    enclosed(text, plain, |byte| plain(byte) || matches!(byte, b'-' | b'_' | b'.'))
}

fn enclosed(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let is_outer = |byte: Option<&u8>| byte.is_some_and(|byte| outer(*byte));
    let bytes = text.as_bytes();
    is_outer(bytes.first()) && is_outer(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}
