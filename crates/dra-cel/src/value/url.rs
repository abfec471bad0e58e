//! Absolute URLs and paths, as Go reads them.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

/// The parts of a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// With the port.
    pub(crate) host: String,
    /// As it was written.
    pub(crate) path: String,
    pub(crate) query: String,
}

impl Url {
    /// Reads an absolute URL, or an absolute path.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("empty url");
        }
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL");
        }
        let (text, _fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') && scheme.is_empty() {
            return Err("invalid URI for request");
        }
        if !rest.starts_with('/') {
            // Opaque, as in `mailto:a@b`.
            return Ok(Self { scheme, host: String::new(), path: String::new(), query: query.to_owned() });
        }
        let has_authority = (!scheme.is_empty() || !rest.starts_with("///")) && rest.starts_with("//");
        let (authority, path) = if has_authority {
            let rest = &rest[2..];
            rest.split_at(rest.find('/').unwrap_or(rest.len()))
        } else {
            ("", rest)
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        check_host(host)?;
        check_escapes(path)?;
        Ok(Self { scheme, host: host.to_owned(), path: escaped(path), query: query.to_owned() })
    }

    /// The name or address of its host, and the port as it was written.
    pub(crate) fn name_and_port(&self) -> (&str, &str) {
        if let Some((name, rest)) = self.host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            return (name, rest.strip_prefix(':').unwrap_or_default());
        }
        self.host.rsplit_once(':').unwrap_or((&self.host, ""))
    }
}

/// The scheme in lower case, and what stands behind its colon.
fn scheme(text: &str) -> Result<(String, &str), &'static str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    match (text.as_bytes().get(end), text.as_bytes().first()) {
        (Some(b':'), Some(first)) if end == 0 && *first == b':' => Err("missing protocol scheme"),
        (Some(b':'), Some(first)) if first.is_ascii_alphabetic() => {
            Ok((text[..end].to_ascii_lowercase(), &text[end + 1..]))
        }
        _ => {
            let segment = text.split('/').next().unwrap_or_default();
            if segment.contains(':') {
                return Err("first path segment in URL cannot contain colon");
            }
            Ok((String::new(), text))
        }
    }
}

fn check_host(host: &str) -> Result<(), &'static str> {
    let port = match host.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or("missing ']' in host")?.1,
        None => host.find(':').map_or("", |at| &host[at..]),
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_port {
        return Err("invalid port after host");
    }
    let is_allowed =
        |byte: u8| byte >= 0x80 || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    if host.bytes().all(is_allowed) { Ok(()) } else { Err("invalid character in host name") }
}

fn check_escapes(text: &str) -> Result<(), &'static str> {
    let mut parts = text.split('%');
    parts.next();
    let is_escape = |part: &str| part.len() > 1 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if parts.all(is_escape) { Ok(()) } else { Err("invalid URL escape") }
}

/// A path with everything escaped that has to be.
fn escaped(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte);
    path.bytes()
        .map(|byte| if is_plain(byte) { String::from(char::from(byte)) } else { format!("%{byte:02X}") })
        .collect()
}
