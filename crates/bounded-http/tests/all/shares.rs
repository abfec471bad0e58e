//! A server on a real socket: a user with too much in progress gets 503, and no other user is affected.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Extension, Router};
use bounded_http::{ListenError, Listeners, Open, OptionNames, Peer, Service, Token, UnixSocket, serve};

const NOBODY: u32 = 65534;
const TOKEN: &str = "0123456789abcdef";
/// The largest body, in bytes.
const LARGEST: usize = 1000;
const OPTIONS: OptionNames = OptionNames { path: "--socket", group: "--socket-group" };

fn service() -> Service {
    let who = async |Extension(peer): Extension<Peer>| format!("{peer:?}");
    Service {
        router: Router::new()
            .route("/who", get(who))
            .route("/body", post(async |body: String| body))
            .route("/wait", get(std::future::pending::<String>))
            .route("/healthz", get(async || "ok")),
        always: &["/healthz"],
        largest: |path| if path == "/body" { LARGEST } else { 0 },
        refused: |why| (why.status(), why.to_string()).into_response(),
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
        let socket = UnixSocket { path: path.clone(), open: Open::ToOwnGroup, options: OPTIONS };
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

/// A request of which no more is sent than this.
fn sent(path: &Path, text: &str) -> UnixStream {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

const HALF: &str = "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf";
const WAITS: &str = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn a_user_with_too_much_in_progress_is_told_so_and_nobody_else_notices() {
    let served = Served::start(22);
    let mut waiting: Vec<UnixStream> = (0..20).map(|_| sent(&served.path, WAITS)).collect();
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
fn slow_bodies_take_nothing_from_quick_requests() {
    let served = Served::start(200 + 100);
    let slow: Vec<UnixStream> = (0..200).map(|_| sent(&served.path, HALF)).collect();
    let mut refused = 0;
    for number in 0..100 {
        let mut stream = UnixStream::connect(&served.path).unwrap();
        let body = format!("{number:03}");
        let text = format!(
            "POST /body HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        refused += u32::from(!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&body)));
    }
    assert_eq!(refused, 0, "of 100, by the user that sends slowly");
    drop(slow);
}

/// The answer to a client that writes all of its request before it reads.
fn written_first(mut stream: TcpStream, head: &str, length: usize) -> std::io::Result<String> {
    write!(stream, "POST {head}Content-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(&vec![b'x'; length])?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn who_writes_a_whole_body_that_is_refused_reads_why() {
    let served = Served::start(0);
    for (head, length, expected) in [
        ("/body HTTP/1.1\r\nHost: localhost\r\n", 8 << 20, "413 Payload Too Large"),
        ("/who HTTP/1.1\r\nHost: localhost\r\n", 1 << 20, "413 Payload Too Large"),
        ("/body HTTP/1.1\r\nHost: evil.example\r\n", 8 << 20, "403 Forbidden"),
        ("/body HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n", 8 << 20, "403 Forbidden"),
        ("/body HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", 8 << 20, "400 Bad Request"),
    ] {
        for _ in 0..20 {
            let stream = TcpStream::connect(served.tcp).unwrap();
            let answer = written_first(stream, head, length);
            assert!(answer.as_ref().is_ok_and(|answer| answer.contains(expected)), "{head}: {answer:?}");
        }
    }
    // The length of a chunked body is unknown beforehand.
    let mut stream = TcpStream::connect(served.tcp).unwrap();
    stream
        .write_all(b"POST /body HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    for _ in 0..1000 {
        stream.write_all(format!("400\r\n{}\r\n", "x".repeat(0x400)).as_bytes()).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("the body is larger than 1000 bytes"), "{answer}");
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
    let socket = UnixSocket { path: folder.path().join("a.sock"), open: Open::ToOwnGroup, options: OPTIONS };
    let elsewhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = Listeners::open(socket, Some((elsewhere, None)), |_| {}).unwrap_err();
    assert!(matches!(error, ListenError::NotLoopback(address) if address == elsewhere), "{error}");
}
