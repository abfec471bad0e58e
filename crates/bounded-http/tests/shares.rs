//! A server on a real socket: a user with too much in progress is told so, and nobody else notices.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails that way")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Extension, Router};
use bounded_http::{
    Busy, ListenError, Listeners, Open, OptionNames, Peer, Service, Token, UnixSocket, serve,
};

const NOBODY: u32 = 65534;
const TOKEN: &str = "0123456789abcdef";
const OPTIONS: OptionNames = OptionNames { path: "--socket", group: "--socket-group" };

fn service() -> Service {
    let who = async |Extension(peer): Extension<Peer>| format!("{peer:?}");
    Service {
        router: Router::new()
            .route("/who", get(who))
            .route("/body", post(async |body: String| body))
            .route("/healthz", get(async || "ok")),
        always: &["/healthz"],
        busy: |Busy(text)| (StatusCode::SERVICE_UNAVAILABLE, text).into_response(),
    }
}

struct Served {
    _folder: tempfile::TempDir,
    path: PathBuf,
    tcp: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// The first `others` connections on the unix socket are another user's, the rest are root's.
    fn start(others: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let socket = UnixSocket { path: path.clone(), open: Open::ToGroup(None), options: OPTIONS };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let address = SocketAddr::from(([127, 0, 0, 1], 0));
                let tcp = Some((address, Some(Token::new(TOKEN).unwrap())));
                let accepted = AtomicUsize::new(0);
                let listeners = Listeners::open(socket, tcp, |_| {}).unwrap().with_users(move |_| {
                    Ok(if accepted.fetch_add(1, Ordering::Relaxed) < others { NOBODY } else { 0 })
                });
                ready.send(listeners.tcp_address().unwrap()).unwrap();
                tokio::select! {
                    () = serve(listeners, service(), 4096) => {}
                    _ = stopped => {}
                }
            });
        });
        let tcp = is_ready.recv().unwrap();
        Self { _folder: folder, path, tcp, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        assert!(self.thread.take().is_none_or(|thread| thread.join().is_ok()));
    }
}

fn asked(mut stream: impl std::io::Read + std::io::Write, path: &str, fields: &str) -> String {
    let text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn on_unix(path: &Path, asks: &str) -> String {
    asked(UnixStream::connect(path).unwrap(), asks, "")
}

/// A request whose body does not come.
fn half(path: &Path) -> UnixStream {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n").unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

#[test]
fn a_user_with_too_much_in_progress_is_told_so_and_nobody_else_notices() {
    let served = Served::start(22);
    let mut waiting: Vec<UnixStream> = (0..20).map(|_| half(&served.path)).collect();
    let mut refused = Vec::new();
    while waiting.len() > 16 {
        waiting.retain_mut(|stream| {
            let mut answer = [0; 1024];
            match stream.read(&mut answer) {
                Ok(length) => refused.push(String::from_utf8_lossy(&answer[..length]).into_owned()),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    return true;
                }
            }
            false
        });
        std::thread::yield_now();
    }
    for answer in &refused {
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("user 65534 has as many requests in progress as it may have"), "{answer}");
    }
    let alive = on_unix(&served.path, "/healthz");
    assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
    let busy = on_unix(&served.path, "/who");
    assert!(busy.starts_with("HTTP/1.1 503 "), "{busy}");
    let root = on_unix(&served.path, "/who");
    assert!(root.starts_with("HTTP/1.1 200 ") && root.ends_with("Unix { user: 0 }"), "{root}");
}

#[test]
fn a_request_over_tcp_has_its_token_and_no_user() {
    let served = Served::start(0);
    let stream = TcpStream::connect(served.tcp).unwrap();
    let answer = asked(stream, "/who", &format!("Authorization: Bearer {TOKEN}\r\n"));
    assert!(answer.ends_with("Tcp { token: Some(Token) }"), "no token is printed: {answer}");
}

#[test]
fn addresses_that_other_hosts_reach_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let socket =
        UnixSocket { path: folder.path().join("a.sock"), open: Open::ToGroup(None), options: OPTIONS };
    let elsewhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = Listeners::open(socket, Some((elsewhere, None)), |_| {}).unwrap_err();
    assert!(matches!(error, ListenError::NotLoopback(address) if address == elsewhere), "{error}");
}
