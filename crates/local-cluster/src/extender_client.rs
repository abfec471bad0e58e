//! Clients of `topolet scheduler`: one with kube-scheduler's certificate, and those that it turns away.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::certificates::{Authority, Signed};
use crate::exchange::exchanged;

/// How long a client waits for the next bytes.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a client shows of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// The certificate of kube-scheduler.
    KubeScheduler,
    /// No certificate.
    Nothing,
    /// A certificate of the same name and authority that has expired.
    Expired,
    /// A valid certificate of the same authority with a name that may not ask.
    OtherName,
}

/// A client that makes a new connection for each request.
#[derive(Clone, Debug)]
pub struct ExtenderClient {
    address: SocketAddr,
    config: Arc<ClientConfig>,
}

impl ExtenderClient {
    pub(crate) fn new(
        address: SocketAddr,
        authority: &Authority,
        shown: Option<&Signed>,
    ) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes())?)?;
        let builder = ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let config = match shown {
            None => builder.with_no_client_auth(),
            Some(Signed { certificate, key }) => builder.with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes())?],
                PrivateKeyDer::from_pem_slice(key.as_bytes())?,
            )?,
        };
        Ok(Self { address, config: Arc::new(config) })
    }

    /// A connection, on which the handshake takes place with the first bytes. Reads wait for 30 s at most.
    ///
    /// # Errors
    /// The extender does not listen.
    pub fn connect(&self) -> anyhow::Result<impl Read + Write + use<>> {
        let stream = TcpStream::connect(self.address).context("the extender does not listen")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::IpAddress(self.address.ip().into());
        Ok(StreamOwned::new(ClientConnection::new(self.config.clone(), name)?, stream))
    }

    /// Sends a request, such as `POST /filter`, with its body. Gives the answer's status and body.
    ///
    /// # Errors
    /// The connection is refused or closed, or what comes is no answer.
    pub fn ask(&self, request: &str, body: &str) -> anyhow::Result<(u16, String)> {
        exchanged(self.connect()?, &self.address.to_string(), request, body)
    }
}
