//! Who may change something: on the unix socket whoever runs as root or as this program, by the kernel's word; on TCP
//! whoever has the token.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use nix::unistd::geteuid;

use super::places::Who;
use crate::document;

/// The root user.
const ROOT: u32 = 0;
/// A token is at least so long.
const SHORTEST: usize = 16;

/// Where a request came in.
#[derive(Clone, Debug)]
pub(in crate::serve) enum Peer {
    /// The unix socket, from a process of that user.
    Unix { user: u32 },
    /// TCP, and what has to be known there; without a token nothing can be changed.
    Tcp { token: Option<Token> },
}

/// What has to be known to change something over TCP.
#[derive(Clone)]
pub(in crate::serve) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The first line of a file.
    pub(in crate::serve) fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = document::read(path).with_context(|| format!("failed to read token file {shown}"))?;
        let text = String::from_utf8(text).with_context(|| format!("token file {shown} is not UTF-8"))?;
        let line = text.lines().next().unwrap_or_default().trim();
        if line.len() < SHORTEST {
            bail!("token file {shown}: its first line has fewer than {SHORTEST} characters");
        }
        Ok(Self(line.to_owned()))
    }

    /// Whether it is this one, in a time that tells nothing about it.
    fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        let differences = own.iter().zip(other).fold(0, |found, (one, two)| found | (one ^ two));
        own.len() == other.len() && differences == 0
    }
}

impl Peer {
    /// For whom a connection is counted.
    pub(super) fn connects_as(&self) -> Who {
        match self {
            Self::Unix { user } if *user == ROOT || *user == geteuid().as_raw() => Who::Owner(*user),
            Self::Unix { user } => Who::User(*user),
            Self::Tcp { .. } => Who::Tcp,
        }
    }

    /// Whose request it is, by its head.
    pub(super) fn who(&self, headers: &HeaderMap) -> Who {
        match self {
            Self::Tcp { token: Some(token) } if credentials(headers).is_some_and(|said| token.is(said)) => {
                Who::Holder
            }
            _ => self.connects_as(),
        }
    }

    /// Whether the request tries a token that is not the right one.
    pub(super) fn tries_a_token(&self, headers: &HeaderMap) -> bool {
        matches!(self, Self::Tcp { token: Some(_) })
            && headers.contains_key(header::AUTHORIZATION)
            && self.who(headers) != Who::Holder
    }

    /// Why the request may not change anything, if it may not.
    pub(super) fn may_change(&self, headers: &HeaderMap) -> Result<Who, &'static str> {
        let who = self.who(headers);
        match self {
            _ if who.may_change() => Ok(who),
            Self::Unix { .. } => Err("only root and the user that topolet runs as may change something"),
            Self::Tcp { token: None } => Err("over TCP nothing can be changed: there is no --token-file"),
            Self::Tcp { token: Some(_) } => Err("over TCP the token is needed: Authorization: Bearer TOKEN"),
        }
    }

    /// Whether the request is meant for this host, and comes from no page in a browser on it. A page can ask under
    /// another name, which its `Host` shows, or ask here what it may not read, which its `Origin` shows.
    ///
    /// # Errors
    /// The status and what is wrong.
    pub(super) fn is_for_us(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err((StatusCode::BAD_REQUEST, "the request has more than one Host header: send one"));
        }
        if matches!(self, Self::Unix { .. }) {
            return Ok(());
        }
        let host = host.and_then(|value| value.to_str().ok()).unwrap_or("");
        let is_elsewhere = uri.authority().is_some_and(|authority| !is_this_host(authority.as_str()));
        if is_elsewhere || !is_this_host(host) {
            return Err((
                StatusCode::FORBIDDEN,
                "the Host header does not name this host: use localhost, 127.0.0.1 or [::1]",
            ));
        }
        let is_ours = |origin: &HeaderValue| {
            origin.as_bytes().strip_prefix(b"http://").is_some_and(|origin| origin == host.as_bytes())
        };
        if headers.get_all(header::ORIGIN).iter().all(is_ours) {
            return Ok(());
        }
        Err((
            StatusCode::FORBIDDEN,
            "the Origin header names another site: web pages cannot use this interface",
        ))
    }
}

/// Whether a `Host` is one of this host's names.
fn is_this_host(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// The token that a request has (RFC 6750): the name of the scheme is in any case, as of all schemes (RFC 9110).
fn credentials(headers: &HeaderMap) -> Option<&str> {
    let mut said = headers.get_all(header::AUTHORIZATION).iter();
    let (only, None) = (said.next()?.to_str().ok()?, said.next()) else { return None };
    let (scheme, token) = only.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, StatusCode, Uri};

    use super::{Peer, Token};

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap_or_else(|_| panic!("{value} is no header")));
        headers
    }

    #[test]
    fn over_tcp_the_token_decides() {
        let with = Peer::Tcp { token: Some(Token("0123456789abcdef".to_owned())) };
        for (said, may) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer 0123456789abcdef", true),
            ("BEARER  0123456789abcdef", true),
            ("Basic 0123456789abcdef", false),
            ("Bearer 0123456789abcdeg", false),
            ("Bearer 0123456789abcdef0", false),
            ("Bearer ", false),
            ("0123456789abcdef", false),
        ] {
            assert_eq!(with.may_change(&headers("authorization", said)).is_ok(), may, "{said}");
        }
        assert!(with.may_change(&HeaderMap::new()).is_err());
        assert!(!with.tries_a_token(&HeaderMap::new()));
        assert!(!with.tries_a_token(&headers("authorization", "Bearer 0123456789abcdef")));
        assert!(with.tries_a_token(&headers("authorization", "Bearer 0123456789abcdeg")));
        let mut twice = headers("authorization", "Bearer 0123456789abcdef");
        twice.append("authorization", axum::http::HeaderValue::from_static("Bearer x"));
        assert!(with.may_change(&twice).is_err());
        let without = Peer::Tcp { token: None };
        assert!(without.may_change(&headers("authorization", "Bearer 0123456789abcdef")).is_err());
    }

    #[test]
    fn on_the_socket_the_user_decides() {
        let own = nix::unistd::geteuid().as_raw();
        assert!(Peer::Unix { user: 0 }.may_change(&HeaderMap::new()).is_ok());
        assert!(Peer::Unix { user: own }.may_change(&HeaderMap::new()).is_ok());
        assert!(Peer::Unix { user: own + 1 }.may_change(&HeaderMap::new()).is_err());
    }

    #[test]
    fn a_name_that_is_not_this_host_is_refused_over_tcp() {
        let peer = Peer::Tcp { token: None };
        for (host, is_ours) in [
            ("localhost:8080", true),
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("evil.example:8080", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            let said = peer.is_for_us(&Uri::from_static("/"), &headers("host", host));
            assert_eq!(said.is_ok(), is_ours, "{host}");
        }
        for (uri, is_ours) in [("http://localhost:1/metrics", true), ("http://evil.example/metrics", false)] {
            let said = peer.is_for_us(&Uri::from_static(uri), &headers("host", "localhost"));
            assert_eq!(said.is_ok(), is_ours, "{uri}");
        }
    }

    #[test]
    fn pages_in_a_browser_and_requests_with_two_hosts_are_refused() {
        let (tcp, unix) = (Peer::Tcp { token: None }, Peer::Unix { user: 0 });
        let uri = Uri::from_static("/v1/explain");
        for (origin, status) in [
            ("http://localhost:9477", None),
            ("http://localhost:8080", Some(StatusCode::FORBIDDEN)),
            ("https://localhost:9477", Some(StatusCode::FORBIDDEN)),
            ("https://evil.example", Some(StatusCode::FORBIDDEN)),
            ("null", Some(StatusCode::FORBIDDEN)),
            ("", Some(StatusCode::FORBIDDEN)),
        ] {
            let mut said = headers("host", "localhost:9477");
            said.extend(headers("origin", origin));
            assert_eq!(tcp.is_for_us(&uri, &said).err().map(|(status, _)| status), status, "{origin}");
            assert_eq!(unix.is_for_us(&uri, &said), Ok(()), "no browser gets there");
        }
        let mut twice = headers("host", "localhost");
        twice.append("host", axum::http::HeaderValue::from_static("localhost"));
        for peer in [tcp, unix] {
            let status = peer.is_for_us(&uri, &twice).err().map(|(status, _)| status);
            assert_eq!(status, Some(StatusCode::BAD_REQUEST));
        }
    }
}
