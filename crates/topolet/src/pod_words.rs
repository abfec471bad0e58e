//! Pods of a daemon by what a command line calls them, as paths of requests have them.

/// The namespace and name that a word means; the namespace is `None` where nothing says it.
pub(crate) fn named<'a>(
    word: &'a str,
    namespace: Option<&'a str>,
) -> anyhow::Result<(Option<&'a str>, &'a str)> {
    let (namespace, name) = match (word.split_once('/'), namespace) {
        (None, namespace) => (namespace, word),
        (Some((own, _)), Some(other)) if own != other => {
            anyhow::bail!("{word} is in namespace {own}, and -n says {other}")
        }
        (Some((own, name)), _) => (Some(own), name),
    };
    Ok((namespace.map(checked).transpose()?, checked(name)?))
}

/// A name or UID without what would need escapes in a path: they have nothing of it.
pub(crate) fn checked(name: &str) -> anyhow::Result<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if !name.is_empty() && name.bytes().all(is_plain) {
        return Ok(name);
    }
    anyhow::bail!("names of pods and namespaces have letters, digits, '-' and '.' only, UIDs also '_'")
}
