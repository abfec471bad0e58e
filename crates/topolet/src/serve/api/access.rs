//! Who may change something: on the unix socket whoever runs as root or as this program, by the kernel's word; on TCP
//! whoever has the token.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use axum::http::{HeaderMap, header};
use nix::unistd::geteuid;

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
    /// Whether such a request may change something; why not, if not.
    pub(super) fn may_change(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        match self {
            Self::Unix { user } if *user == ROOT || *user == geteuid().as_raw() => Ok(()),
            Self::Unix { .. } => Err("only root and the user that topolet runs as may change something"),
            Self::Tcp { token: None } => Err("over TCP nothing can be changed: there is no --token-file"),
            Self::Tcp { token: Some(token) } => {
                let said = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
                match said.and_then(|value| value.strip_prefix("Bearer ")) {
                    Some(said) if token.is(said) => Ok(()),
                    _ => Err("over TCP the token is needed: Authorization: Bearer TOKEN"),
                }
            }
        }
    }

    /// Whether the request is meant for this host: a page in a browser on it could ask under another name.
    pub(super) fn is_for_us(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Unix { .. } => true,
            Self::Tcp { .. } => {
                let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or("");
                let name = host.rsplit_once(':').map_or(host, |(name, port)| {
                    if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
                });
                matches!(name, "localhost" | "127.0.0.1" | "[::1]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

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
            ("Bearer 0123456789abcdeg", false),
            ("Bearer 0123456789abcdef0", false),
            ("Bearer ", false),
            ("0123456789abcdef", false),
        ] {
            assert_eq!(with.may_change(&headers("authorization", said)).is_ok(), may, "{said}");
        }
        assert!(with.may_change(&HeaderMap::new()).is_err());
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
            assert_eq!(peer.is_for_us(&headers("host", host)), is_ours, "{host}");
        }
    }
}
