//! Who may change something: on the unix socket a process of root or of this program's user, by the kernel's word; on TCP
//! a client that has the token, or shows a client certificate that is accepted.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use nix::unistd::geteuid;
use thiserror::Error;

use crate::places::Who;

/// The root user.
const ROOT: u32 = 0;
/// A token is at least so long.
const SHORTEST: usize = 16;

/// Where a request came in.
#[derive(Clone, Debug)]
pub enum Peer {
    /// The unix socket, from a process of that user.
    Unix {
        /// Its id.
        user: u32,
    },
    /// TCP, and what has to be known there; without a token nothing can be changed.
    Tcp {
        /// The token of the server.
        token: Option<Token>,
    },
    /// TCP at an address that other hosts may reach, for answers that everybody may read.
    Open,
    /// TCP with TLS.
    Tls {
        /// The names that the server's certificate has: what `Host` may name beside this host and addresses.
        hosts: Arc<[String]>,
        /// What the client has shown.
        client: Certified,
    },
}

/// What the client of a connection with TLS has shown. The authority of its certificate has been checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Certified {
    /// No certificate.
    No,
    /// One that has this name and is accepted.
    Accepted(Arc<str>),
    /// One of the right authority that has none of the accepted names, but this.
    OtherName(Arc<str>),
}

/// Why a request may not change anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forbidden {
    /// The user of the unix socket is neither root nor the one that the program runs as.
    OtherUser,
    /// It came over TCP, and the server has no token.
    NoToken,
    /// It came over TCP without the token of the server.
    WrongToken,
    /// It came over TLS without a client certificate.
    NoCertificate,
    /// It came over TLS with a client certificate of a name that is not accepted.
    OtherName,
}

/// A token has fewer than 16 characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a token has {SHORTEST} characters at least")]
pub struct ShortToken;

/// What has to be known to change something over TCP.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// A token of 16 characters or more.
    ///
    /// # Errors
    /// It is shorter.
    pub fn new(text: &str) -> Result<Self, ShortToken> {
        if text.len() < SHORTEST { Err(ShortToken) } else { Ok(Self(text.to_owned())) }
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
    pub(crate) fn connects_as(&self) -> Who {
        match self {
            Self::Unix { user } if *user == ROOT || *user == geteuid().as_raw() => Who::Owner(*user),
            Self::Unix { user } => Who::User(*user),
            Self::Tls { client: Certified::Accepted(_), .. } => Who::Certified,
            Self::Tcp { .. } | Self::Open | Self::Tls { .. } => Who::Tcp,
        }
    }

    /// Whose request it is, by its head.
    #[must_use]
    pub fn who(&self, headers: &HeaderMap) -> Who {
        match self {
            Self::Tcp { token: Some(token) } if credentials(headers).is_some_and(|said| token.is(said)) => {
                Who::Holder
            }
            _ => self.connects_as(),
        }
    }

    /// Whether the request tries a token that is not the right one.
    #[must_use]
    pub fn tries_a_token(&self, headers: &HeaderMap) -> bool {
        matches!(self, Self::Tcp { token: Some(_) })
            && headers.contains_key(header::AUTHORIZATION)
            && self.who(headers) != Who::Holder
    }

    /// Whose request it is, if it may change something.
    ///
    /// # Errors
    /// Why it may not.
    pub fn may_change(&self, headers: &HeaderMap) -> Result<Who, Forbidden> {
        let who = self.who(headers);
        match self {
            _ if who.may_change() => Ok(who),
            Self::Unix { .. } => Err(Forbidden::OtherUser),
            Self::Tcp { token: None } | Self::Open => Err(Forbidden::NoToken),
            Self::Tcp { token: Some(_) } => Err(Forbidden::WrongToken),
            Self::Tls { client: Certified::OtherName(_), .. } => Err(Forbidden::OtherName),
            Self::Tls { .. } => Err(Forbidden::NoCertificate),
        }
    }

    /// Whether the request is meant for this host, and comes from no page in a browser. A page can ask under
    /// another name, which its `Host` shows, or ask here what it may not read, which its `Origin` shows. Where everybody may
    /// read everything, any name is right. With TLS an address is, which a page cannot have as its name, and so is a name of
    /// the certificate.
    ///
    /// # Errors
    /// The status and what is wrong.
    pub fn is_for_us(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err((StatusCode::BAD_REQUEST, "the request has more than one Host header: send one"));
        }
        if matches!(self, Self::Unix { .. }) {
            return Ok(());
        }
        let host = host.and_then(|value| value.to_str().ok()).unwrap_or("");
        let is_elsewhere = uri.authority().is_some_and(|authority| !self.answers_as(authority.as_str()));
        if is_elsewhere || !self.answers_as(host) {
            let why = match self {
                Self::Tls { .. } => {
                    "the Host header names neither this host, nor an address, nor a name of the certificate"
                }
                _ => "the Host header does not name this host: use localhost, 127.0.0.1 or [::1]",
            };
            return Err((StatusCode::FORBIDDEN, why));
        }
        let scheme: &[u8] = if matches!(self, Self::Tls { .. }) { b"https://" } else { b"http://" };
        let is_ours = |origin: &HeaderValue| {
            origin.as_bytes().strip_prefix(scheme).is_some_and(|origin| origin == host.as_bytes())
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

impl Peer {
    /// Whether a `Host` is a name of this server.
    fn answers_as(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        });
        let is_this_host = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        match self {
            Self::Unix { .. } | Self::Open => true,
            Self::Tcp { .. } => is_this_host,
            Self::Tls { hosts, .. } => {
                let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
                let is_address = address.parse::<IpAddr>().is_ok();
                is_this_host || is_address || hosts.iter().any(|host| names(host, name))
            }
        }
    }
}

/// Whether a name of a certificate, which may begin with `*.`, names a host.
fn names(of_certificate: &str, host: &str) -> bool {
    match of_certificate.strip_prefix("*.") {
        Some(rest) => host
            .split_once('.')
            .is_some_and(|(first, domain)| !first.is_empty() && domain.eq_ignore_ascii_case(rest)),
        None => of_certificate.eq_ignore_ascii_case(host),
    }
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

    use super::{Certified, Forbidden, Peer, Token, Who};

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap_or_else(|_| panic!("{value} is no header")));
        headers
    }

    #[test]
    fn short_tokens_are_refused() {
        assert_eq!(Token::new("0123456789abcde").err(), Some(super::ShortToken));
        assert!(Token::new("0123456789abcdef").is_ok());
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
    fn with_tls_names_of_the_certificate_and_addresses_are_right() {
        let hosts = ["extender.kube-system.svc".to_owned(), "*.example".to_owned()];
        let peer = Peer::Tls { hosts: hosts.into(), client: Certified::Accepted("a".into()) };
        for (host, is_ours) in [
            ("extender.kube-system.svc:10270", true),
            ("EXTENDER.kube-system.svc", true),
            ("a.example", true),
            ("a.b.example", false),
            (".example", false),
            ("10.0.0.7:10270", true),
            ("[fd00::7]:10270", true),
            ("localhost", true),
            ("evil.test", false),
            ("10.0.0.7.evil.test", false),
            ("", false),
        ] {
            let said = peer.is_for_us(&Uri::from_static("/"), &headers("host", host));
            assert_eq!(said.is_ok(), is_ours, "{host}");
        }
        let mut said = headers("host", "a.example:1");
        for (origin, is_ours) in
            [("https://a.example:1", true), ("http://a.example:1", false), ("null", false)]
        {
            said.remove("origin");
            said.extend(headers("origin", origin));
            assert_eq!(peer.is_for_us(&Uri::from_static("/"), &said).is_ok(), is_ours, "{origin}");
        }
    }

    #[test]
    fn with_tls_the_certificate_decides() {
        let peer = |client| Peer::Tls { hosts: [].into(), client };
        for (client, expected) in [
            (Certified::Accepted("a".into()), Ok(Who::Certified)),
            (Certified::OtherName("b".into()), Err(Forbidden::OtherName)),
            (Certified::No, Err(Forbidden::NoCertificate)),
        ] {
            assert_eq!(peer(client).may_change(&HeaderMap::new()), expected);
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
