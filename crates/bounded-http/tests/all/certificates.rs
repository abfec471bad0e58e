//! Clients with certificates on a real socket: which are accepted, places that others cannot take, and files that change meanwhile.

#![cfg(feature = "tls")]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Extension, Router};
use bounded_http::{Peer, Service, TlsFiles, TlsListener, TlsNews, serve_with_tls};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const DAY: Duration = Duration::from_hours(24);

/// Who signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
#[derive(Clone)]
struct Signed {
    certificate: String,
    key: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    fn sign(&self, common_name: &str, names: &[&str]) -> Signed {
        self.sign_until(common_name, names, SystemTime::now() + DAY)
    }

    fn sign_until(&self, common_name: &str, names: &[&str], until: SystemTime) -> Signed {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        if !common_name.is_empty() {
            parameters.distinguished_name.push(DnType::OrganizationName, "system:masters");
            parameters.distinguished_name.push(DnType::CommonName, common_name);
        }
        parameters.not_before = (SystemTime::now() - 2 * DAY).into();
        parameters.not_after = until.into();
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// The files of a server in a folder.
fn files(folder: &Path) -> TlsFiles {
    let path = |name: &str| folder.join(name);
    TlsFiles { certificate: path("tls.crt"), key: path("tls.key"), client_ca: path("ca.crt") }
}

fn write(folder: &Path, server: &Signed, client_ca: &Authority) {
    let files = files(folder);
    for (path, text) in [
        (files.certificate, &server.certificate),
        (files.key, &server.key),
        (files.client_ca, &client_ca.0.pem()),
    ] {
        fs::write(path, text).unwrap();
    }
}

/// A server until the test ends; what it tells. To be called inside a runtime.
fn serve(folder: &Path, names: &[&str]) -> (SocketAddr, mpsc::UnboundedReceiver<TlsNews>) {
    let who = async |Extension(peer): Extension<Peer>| format!("{peer:?}");
    let service = Service {
        router: Router::new()
            .route("/who", get(who))
            .route("/body", post(async |body: String| body))
            .route("/healthz", get(async || "ok")),
        always: &["/healthz"],
        largest: |_| 1 << 20,
        refused: |why| (why.status(), why.to_string()).into_response(),
    };
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let listener = TlsListener::open(([127, 0, 0, 1], 0).into(), files(folder), names).unwrap();
    let address = listener.address().unwrap();
    let (tell, news) = mpsc::unbounded_channel();
    tokio::spawn(serve_with_tls(listener, service, 4096, move |news| {
        let _ = tell.send(news);
    }));
    (address, news)
}

/// What a client has: whom it trusts, and what it shows.
#[derive(Clone)]
struct Client(Arc<ClientConfig>);

impl Client {
    fn new(server_ca: &Authority, shown: Option<&Signed>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(server_ca.0.pem().as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        Self(Arc::new(match shown {
            None => config.with_no_client_auth(),
            Some(Signed { certificate, key }) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                config
                    .with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
                    .unwrap()
            }
        }))
    }

    async fn connect(&self, address: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(self.0.clone()).connect("localhost".try_into().unwrap(), stream).await
    }

    async fn ask(&self, address: SocketAddr, path: &str, fields: &str) -> std::io::Result<String> {
        let mut stream = self.connect(address).await?;
        let text = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}Connection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

/// A request on a connection that stays.
async fn ask_again(stream: &mut TlsStream<TcpStream>) -> std::io::Result<String> {
    stream.write_all(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody").await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"body") {
        let mut part = [0; 512];
        let length = stream.read(&mut part).await?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&part[..length]);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

#[test]
fn a_certificate_of_the_authority_with_an_accepted_name_is_known() {
    let (folder, authority, other) =
        (tempfile::tempdir().unwrap(), Authority::new("one"), Authority::new("other"));
    write(folder.path(), &authority.sign("server", &["localhost"]), &authority);
    run(async {
        let (address, mut news) = serve(folder.path(), &["system:kube-scheduler", "scheduler.example"]);
        for (common_name, names, expected) in [
            ("system:kube-scheduler", &[][..], "Accepted(\"system:kube-scheduler\")"),
            ("", &["scheduler.example"], "Accepted(\"scheduler.example\")"),
            ("a", &["b.example", "scheduler.example"], "Accepted(\"scheduler.example\")"),
            ("system:kube-scheduler2", &[], "OtherName(\"system:kube-scheduler2\")"),
            ("system:node:a", &["b.example"], "OtherName(\"system:node:a\")"),
        ] {
            let client = Client::new(&authority, Some(&authority.sign(common_name, names)));
            let answer = client.ask(address, "/who", "").await.unwrap();
            assert!(answer.contains(expected), "{common_name} {names:?}: {answer}");
        }
        let answer = Client::new(&authority, None).ask(address, "/who", "").await.unwrap();
        assert!(answer.contains("client: No"), "{answer}");
        let strange = other.sign("system:kube-scheduler", &[]);
        let expired = authority.sign_until("system:kube-scheduler", &[], SystemTime::now() - DAY);
        for (shown, expected) in [(strange, "UnknownIssuer"), (expired, "xpired")] {
            let answer = Client::new(&authority, Some(&shown)).ask(address, "/healthz", "").await;
            assert!(answer.is_err(), "{answer:?}");
            let Some(TlsNews::NoHandshake(why)) = news.recv().await else { panic!("it says why") };
            assert!(why.contains(expected), "{why}");
        }
    });
}

#[test]
fn without_names_every_certificate_of_the_authority_is_known() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("one"));
    write(folder.path(), &authority.sign("server", &["localhost"]), &authority);
    run(async {
        let (address, _news) = serve(folder.path(), &[]);
        let client = Client::new(&authority, Some(&authority.sign("any", &[])));
        assert!(client.ask(address, "/who", "").await.unwrap().contains("Accepted(\"any\")"));
        let foreign = client.ask(address, "/who", "Origin: https://evil.example\r\n").await.unwrap();
        assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    });
}

#[test]
fn strangers_take_no_places_of_who_shows_a_certificate() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("one"));
    write(folder.path(), &authority.sign("server", &["localhost"]), &authority);
    run(async {
        let (address, _news) = serve(folder.path(), &[]);
        let known = Client::new(&authority, Some(&authority.sign("known", &[])));
        let mut kept = known.connect(address).await.unwrap();
        ask_again(&mut kept).await.unwrap();
        let stranger = Client::new(&authority, None);
        let mut slow = Vec::new();
        for _ in 0..200 {
            // One that does not speak, and one whose body does not come.
            slow.push((TcpStream::connect(address).await.unwrap(), None));
            let mut half = stranger.connect(address).await.unwrap();
            let text = "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{";
            half.write_all(text.as_bytes()).await.unwrap();
            slow.push((TcpStream::connect(address).await.unwrap(), Some(half)));
        }
        let mut answered = 0;
        for _ in 0..100 {
            let fresh = known.ask(address, "/who", "").await.unwrap();
            let again = ask_again(&mut kept).await.unwrap();
            answered += u32::from(fresh.starts_with("HTTP/1.1 200 ") && again.starts_with("HTTP/1.1 200 "));
        }
        assert_eq!(answered, 100);
        drop(slow);
    });
}

#[test]
fn a_rotation_under_load_fails_no_request() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("one"));
    write(folder.path(), &authority.sign("server", &["localhost"]), &authority);
    run(async {
        let (address, mut news) = serve(folder.path(), &[]);
        let known = Client::new(&authority, Some(&authority.sign("known", &[])));
        let (stop, is_over) = tokio::sync::watch::channel(false);
        let load: Vec<_> = (0..4)
            .map(|_| {
                let (known, is_over) = (known.clone(), is_over.clone());
                tokio::spawn(async move {
                    let mut kept = known.connect(address).await.unwrap();
                    let mut asked = 0_u64;
                    while !*is_over.borrow() {
                        assert!(ask_again(&mut kept).await.unwrap().starts_with("HTTP/1.1 200 "));
                        let fresh = known.ask(address, "/who", "").await.unwrap();
                        assert!(fresh.starts_with("HTTP/1.1 200 "), "{fresh}");
                        asked += 1;
                    }
                    asked
                })
            })
            .collect();
        let mut certificates = std::collections::BTreeSet::new();
        for round in 0..3 {
            let server = authority.sign(&format!("server-{round}"), &["localhost"]);
            // The certificate first: the key is that of the former one until it is replaced too.
            fs::write(files(folder.path()).certificate, &server.certificate).unwrap();
            let Some(TlsNews::NotReloaded(why)) = news.recv().await else { panic!("they do not fit") };
            assert!(why.contains("tls.key does not belong to the certificate of"), "{why}");
            fs::write(files(folder.path()).key, &server.key).unwrap();
            assert_eq!(news.recv().await, Some(TlsNews::Reloaded));
            let stream = known.connect(address).await.unwrap();
            let shown = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
            assert_eq!(
                shown,
                CertificateDer::from_pem_slice(server.certificate.as_bytes()).unwrap().to_vec()
            );
            certificates.insert(shown);
        }
        assert_eq!(certificates.len(), 3);
        stop.send(true).unwrap();
        for asking in load {
            assert!(asking.await.unwrap() > 0);
        }
    });
}

#[test]
fn clients_of_a_former_authority_are_not_known_any_more() {
    let (folder, former, now) =
        (tempfile::tempdir().unwrap(), Authority::new("former"), Authority::new("now"));
    write(folder.path(), &former.sign("server", &["localhost"]), &former);
    run(async {
        let (address, mut news) = serve(folder.path(), &[]);
        let old = Client::new(&former, Some(&former.sign("old", &[])));
        let new = Client::new(&former, Some(&now.sign("new", &[])));
        let mut kept = old.connect(address).await.unwrap();
        ask_again(&mut kept).await.unwrap();
        assert!(new.ask(address, "/who", "").await.is_err());
        assert!(matches!(news.recv().await, Some(TlsNews::NoHandshake(_))));
        fs::write(files(folder.path()).client_ca, now.0.pem()).unwrap();
        assert_eq!(news.recv().await, Some(TlsNews::Reloaded));
        assert!(new.ask(address, "/who", "").await.unwrap().contains("Accepted(\"new\")"));
        assert!(old.ask(address, "/who", "").await.is_err());
        // What was connected before is closed when nothing is in progress.
        let mut rest = Vec::new();
        assert!(matches!(kept.read_to_end(&mut rest).await, Ok(0) | Err(_)));
    });
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("one"));
    let (server, other) = (authority.sign("server", &["localhost"]), authority.sign("other", &[]));
    let folder = folder.path();
    let files = files(folder);
    for (certificate, key, ca, expected) in [
        (server.certificate.as_str(), server.key.as_str(), "no PEM", "ca.crt holds no certificate in PEM"),
        ("", &server.key, &authority.0.pem(), "tls.crt holds no certificate in PEM"),
        (&server.certificate, &server.certificate, &authority.0.pem(), "tls.key holds no private key in PEM"),
        (
            &server.certificate,
            &other.key,
            &authority.0.pem(),
            "tls.key does not belong to the certificate of",
        ),
    ] {
        fs::write(&files.certificate, certificate).unwrap();
        fs::write(&files.key, key).unwrap();
        fs::write(&files.client_ca, ca).unwrap();
        let error = run(async { TlsListener::open(([127, 0, 0, 1], 0).into(), files.clone(), Vec::new()) });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for odd in [folder.join("missing"), folder.to_owned(), "/dev/zero".into()] {
        let files = TlsFiles { key: odd.clone(), ..files.clone() };
        let error = run(async { TlsListener::open(([127, 0, 0, 1], 0).into(), files, Vec::new()) });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("failed to read {}", odd.display())), "{error}");
    }
}
