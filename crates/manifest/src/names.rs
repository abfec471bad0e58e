//! Names: what Kubernetes would refuse, and what could not be printed, is refused here.

use crate::node::Field;
use crate::{ManifestError, Problem};

/// Kubernetes' limit for names of pods.
const MAX_NAME: usize = 253;
/// Kubernetes' limit for qualified names of resources: a prefix, a slash and a name.
const MAX_RESOURCE: usize = 253 + 1 + 63;

/// A name of a pod or container. Capital letters are let pass, since documents about Kubernetes have them
/// in their examples.
pub(crate) fn check_name<'a>(field: &Field<'a>) -> Result<&'a str, ManifestError> {
    check(field, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'), MAX_NAME)
}

/// A UID: an API server's, or one that is made here of namespace and name, which has a `_`.
pub(crate) fn check_uid<'a>(field: &Field<'a>) -> Result<&'a str, ManifestError> {
    check(field, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'), 2 * MAX_NAME + 1)
}

/// A namespace: as a name, without dots.
pub(crate) fn check_namespace<'a>(field: &Field<'a>) -> Result<&'a str, ManifestError> {
    check(field, |byte| byte.is_ascii_alphanumeric() || byte == b'-', MAX_NAME)
}

fn check<'a>(
    field: &Field<'a>,
    allowed: impl Fn(u8) -> bool,
    longest: usize,
) -> Result<&'a str, ManifestError> {
    let text = field.text("a name, in quotes where it looks like a number")?;
    let outer = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    let well_formed = bytes.len() <= longest
        && outer(bytes.first().copied())
        && outer(bytes.last().copied())
        && bytes.iter().all(|&byte| allowed(byte));
    if well_formed { Ok(text) } else { Err(field.fail(Problem::Name(text.to_owned()))) }
}

/// Whether a text can be a resource's name: `cpu`, `hugepages-1Gi`, `intel.com/sriov_vf`.
pub(crate) fn is_resource(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.ends_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
    };
    text.len() <= MAX_RESOURCE
        && match text.split_once('/') {
            Some((prefix, name)) => part(prefix) && part(name),
            None => part(text),
        }
}

/// The API group of a version; empty: Kubernetes' first.
pub(crate) fn group_of(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}
