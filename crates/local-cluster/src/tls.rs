//! A server on loopback that speaks TLS, and what it does with each connection.

use std::sync::Arc;
use std::thread;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::certificates::Signed;

/// Serves each connection on a port of loopback until the program ends. Gives the port.
///
/// # Errors
/// The certificate cannot be used, or no port can be had.
pub(crate) fn serve<F>(
    signed: &Signed,
    answer: impl Fn(TlsStream<TcpStream>) -> F + Send + 'static,
) -> anyhow::Result<u16>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let certificate = CertificateDer::from_pem_slice(signed.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes())?;
    let config = ServerConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
    let port = listener.local_addr()?.port();
    thread::Builder::new().name("kubelet".to_owned()).spawn(move || {
        runtime.block_on(async {
            while let Ok((stream, _)) = listener.accept().await {
                // A client sees by itself that its connection is closed.
                if let Ok(stream) = acceptor.accept(stream).await {
                    tokio::spawn(answer(stream));
                }
            }
        });
    })?;
    Ok(port)
}
