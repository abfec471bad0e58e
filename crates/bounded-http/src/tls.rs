//! TLS with client certificates, whose files may change at any time.
//!
//! A client may connect without a certificate: some paths are for everybody. One that shows a certificate of another
//! authority, or an expired one, does not get as far as a request.
//!
//! A rotation replaces several files one after the other. Files that do not belong together are not used: the connections go on
//! with the former ones, and the files are read again a second later.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::fcntl::OFlag;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use webpki::EndEntityCert;

use crate::connection::HEAD;
use crate::peer::{Certified, Peer};

/// How often it is looked whether files have changed.
const LOOK: Duration = Duration::from_secs(1);
/// No file is larger, in bytes.
const LARGEST: u64 = 1 << 20;

/// The files of a server, in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The certificate of the server, and those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of client certificates.
    pub client_ca: PathBuf,
}

/// Why files cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file has nothing of what is expected in it.
    #[error("{path} holds no {what} in PEM")]
    Missing {
        /// The file.
        path: PathBuf,
        /// What is expected.
        what: &'static str,
    },
    /// What a file holds cannot be used.
    #[error("{path} cannot be used: {why}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The key is that of another certificate.
    #[error("the key of {key} does not belong to the certificate of {certificate}: {why}")]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        why: String,
    },
}

/// What becomes of files and certificates while a server runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TlsNews {
    /// The files have changed and are used.
    Reloaded,
    /// They have changed and cannot be used: the former ones are.
    NotReloaded(String),
    /// A client was not connected: why, such as that its certificate has expired.
    NoHandshake(String),
}

/// What is used.
#[derive(Debug)]
struct Loaded {
    contents: [Vec<u8>; 3],
    config: Arc<ServerConfig>,
    hosts: Arc<[String]>,
}

/// The files of a server, as they were read last.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    /// Of clients that are accepted; none: any.
    names: Arc<[String]>,
    loaded: Mutex<Loaded>,
    /// Changes with the authorities of clients.
    authority: watch::Sender<()>,
}

impl Tls {
    pub(crate) fn read(files: TlsFiles, names: Vec<String>) -> Result<Self, TlsError> {
        let loaded = Mutex::new(Loaded::new(&files, contents(&files)?)?);
        Ok(Self { files, names: names.into(), loaded, authority: watch::Sender::new(()) })
    }

    /// Connects a client, within [`HEAD`]. What is given last is over when the authorities of clients are others.
    pub(crate) fn handshake(
        &self,
        stream: TcpStream,
    ) -> impl Future<Output = Result<(TlsStream<TcpStream>, Peer, impl Future<Output = ()> + use<>), String>> + use<>
    {
        let loaded = self.loaded.lock();
        let (config, hosts) = (loaded.config.clone(), loaded.hosts.clone());
        let mut authority = self.authority.subscribe();
        drop(loaded);
        let names = self.names.clone();
        async move {
            let stream = match timeout(HEAD, TlsAcceptor::from(config).accept(stream)).await {
                Err(_) => return Err(format!("no handshake within {} s", HEAD.as_secs())),
                Ok(Err(error)) => return Err(error.to_string()),
                Ok(Ok(stream)) => stream,
            };
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let client = shown.map_or(Certified::No, |shown| certified(shown, &names));
            let outdated = async move {
                if authority.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            Ok((stream, Peer::Tls { hosts, client }, outdated))
        }
    }

    /// Reads the files again when they have changed, for ever.
    pub(crate) async fn keep_reading(&self, tell: impl Fn(TlsNews)) {
        let mut failed = None;
        loop {
            sleep(LOOK).await;
            let files = self.files.clone();
            let read = tokio::task::spawn_blocking(move || contents(&files)).await;
            let Ok(read) = read else { continue };
            let news = match read.and_then(|contents| self.replace(contents)) {
                Ok(Replaced::Nothing) => {
                    failed = None;
                    continue;
                }
                Ok(Replaced::Files) => TlsNews::Reloaded,
                Err(error) => TlsNews::NotReloaded(with_cause(&error)),
            };
            if failed.as_ref() != Some(&news) {
                tell(news.clone());
            }
            failed = matches!(news, TlsNews::NotReloaded(_)).then_some(news);
        }
    }

    fn replace(&self, contents: [Vec<u8>; 3]) -> Result<Replaced, TlsError> {
        let mut loaded = self.loaded.lock();
        if loaded.contents == contents {
            return Ok(Replaced::Nothing);
        }
        let new = Loaded::new(&self.files, contents)?;
        let [.., before] = &loaded.contents;
        let [.., after] = &new.contents;
        let has_other_authority = before != after;
        *loaded = new;
        if has_other_authority {
            self.authority.send_replace(());
        }
        Ok(Replaced::Files)
    }
}

/// What has been read anew.
enum Replaced {
    Nothing,
    Files,
}

impl Loaded {
    fn new(files: &TlsFiles, contents: [Vec<u8>; 3]) -> Result<Self, TlsError> {
        let TlsFiles { certificate, key, client_ca } = files;
        let [certificate_pem, key_pem, ca_pem] = &contents;
        let chain = certificates(certificate, certificate_pem)?;
        let secret = PrivateKeyDer::from_pem_slice(key_pem)
            .map_err(|_| TlsError::Missing { path: key.clone(), what: "private key" })?;
        let unusable = |path: &Path, why: String| TlsError::Unusable { path: path.to_path_buf(), why };
        let mut roots = RootCertStore::empty();
        for root in certificates(client_ca, ca_pem)? {
            roots.add(root).map_err(|error| unusable(client_ca, error.to_string()))?;
        }
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|error| unusable(client_ca, error.to_string()))?;
        let hosts = chain.first().map(|own| {
            let read =
                EndEntityCert::try_from(own).map_err(|error| unusable(certificate, error.to_string()))?;
            Ok(read.valid_dns_names().map(str::to_owned).collect::<Arc<[String]>>())
        });
        let hosts = hosts.transpose()?.unwrap_or_default();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(certificate, error.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, secret);
        let mut config = config.map_err(|error| TlsError::Mismatch {
            certificate: certificate.clone(),
            key: key.clone(),
            why: error.to_string(),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { contents, config: Arc::new(config), hosts })
    }
}

/// What is in the three files.
fn contents(files: &TlsFiles) -> Result<[Vec<u8>; 3], TlsError> {
    let TlsFiles { certificate, key, client_ca } = files;
    Ok([content(certificate)?, content(key)?, content(client_ca)?])
}

/// What is in a file: neither a pipe nor a device is waited for.
fn content(path: &Path) -> Result<Vec<u8>, TlsError> {
    let read = || {
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        if about.len() > LARGEST {
            return Err(io::Error::other("it is larger than 1 MiB"));
        }
        let mut content = Vec::new();
        file.take(LARGEST).read_to_end(&mut content)?;
        Ok(content)
    };
    read().map_err(|source| TlsError::File { path: path.to_path_buf(), source })
}

/// All certificates of a file: one at least.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(TlsError::Missing { path: path.to_path_buf(), what: "certificate" }),
        Err(error) => Err(TlsError::Unusable { path: path.to_path_buf(), why: error.to_string() }),
    }
}

fn with_cause(error: &TlsError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Who a client is by its certificate, whose authority has been checked.
fn certified(shown: &CertificateDer<'_>, accepted: &[String]) -> Certified {
    let Ok(read) = EndEntityCert::try_from(shown) else { return Certified::OtherName("".into()) };
    let own = common_names(read.subject());
    let names: Vec<&str> =
        own.into_iter().chain(read.valid_dns_names()).chain(read.valid_uri_names()).collect();
    let is_accepted = |name: &&&str| accepted.is_empty() || accepted.iter().any(|accepted| accepted == *name);
    match (names.iter().find(is_accepted), names.first()) {
        (Some(name), _) => Certified::Accepted((*name).into()),
        (None, Some(name)) => Certified::OtherName((*name).into()),
        (None, None) if accepted.is_empty() => Certified::Accepted("".into()),
        (None, None) => Certified::OtherName("".into()),
    }
}

/// The common names of a subject: DER of its `RelativeDistinguishedName`s (RFC 5280, section 4.1.2.4), which are sets of
/// pairs of an object identifier and a string. Strings that are not UTF-8 are passed over.
fn common_names(subject: &[u8]) -> Vec<&str> {
    const SEQUENCE: u8 = 0x30;
    const SET: u8 = 0x31;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    /// `UTF8String`, `PrintableString`, `IA5String`.
    const STRINGS: [u8; 3] = [0x0c, 0x13, 0x16];
    /// 2.5.4.3.
    const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
    let mut names = Vec::new();
    for (tag, set) in Elements(subject) {
        for (inner, pair) in Elements(set).filter(|_| tag == SET) {
            let mut pair = Elements(pair).filter(|_| inner == SEQUENCE);
            let (Some(kind), Some((tag, text))) = (pair.next(), pair.next()) else { continue };
            if kind == (OBJECT_IDENTIFIER, &COMMON_NAME) && STRINGS.contains(&tag) {
                names.extend(std::str::from_utf8(text).ok());
            }
        }
    }
    names
}

/// Elements of DER that follow each other: tags and contents. What is no element ends them.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            ..=0x7f => (usize::from(*first), rest),
            // The length has one byte or two.
            0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
            0x82 => rest
                .split_first_chunk::<2>()
                .map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subject: organization `o`, common names `a` and `b`.
    const SUBJECT: &[u8] = &[
        0x31, 10, 0x30, 8, 0x06, 3, 0x55, 4, 10, 0x0c, 1, b'o', // O
        0x31, 10, 0x30, 8, 0x06, 3, 0x55, 4, 3, 0x0c, 1, b'a', // CN, UTF-8
        0x31, 10, 0x30, 8, 0x06, 3, 0x55, 4, 3, 0x13, 1, b'b', // CN, printable
    ];

    #[test]
    fn common_names_are_read_and_damage_ends_them() {
        assert_eq!(common_names(SUBJECT), ["a", "b"]);
        for cut in 0..SUBJECT.len() {
            assert!(common_names(&SUBJECT[..cut]).len() <= 1, "{cut}");
        }
        for at in 0..SUBJECT.len() {
            let mut spoilt = SUBJECT.to_vec();
            spoilt[at] = 0xff;
            assert!(common_names(&spoilt).len() <= 2, "{at}");
        }
    }
}
