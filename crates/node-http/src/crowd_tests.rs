//! Tests with many clients that read: none of them delays the owner, whichever user the kernel reports.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use bounded_http::{Open, serve};
use node_view::NodeConditions;
use node_view::clock::SystemClock;

use super::service;
use super::small::routes;
use crate::{listen, read_token as secret};

const NOBODY: u32 = 65534;
/// More than there are places of any kind.
const MANY: usize = 500;
const TOKEN: &str = "0123456789abcdef0123";

/// Listeners with routes, until it is dropped.
struct Served {
    socket: PathBuf,
    tcp: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// The first `others` connections on the unix socket are another user's, the rest are root's.
    fn start(others: usize) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("topolet-crowd-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let socket = std::env::temp_dir().join(format!("{name}.sock"));
        let token = std::env::temp_dir().join(name);
        std::fs::write(&token, TOKEN).unwrap_or_else(|error| panic!("{error}"));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (ready, is_ready) = crossbeam::channel::unbounded();
        let path = socket.clone();
        let thread = std::thread::spawn(move || {
            let runtime = crate::runtime().unwrap_or_else(|error| panic!("{error:#}"));
            runtime.block_on(async {
                let secret = secret(&token).unwrap_or_else(|error| panic!("{error:#}"));
                let tcp = Some((SocketAddr::from(([127, 0, 0, 1], 0)), Some(secret)));
                let conditions = Arc::new(NodeConditions::new(Arc::new(SystemClock)));
                let listeners = listen(&path, Open::ToOwnGroup, tcp, conditions);
                let listeners = listeners.unwrap_or_else(|error| panic!("{error:#}"));
                let _ = std::fs::remove_file(&token);
                let accepted = AtomicUsize::new(0);
                let listeners = listeners.with_users(move |_| {
                    Ok(if accepted.fetch_add(1, Ordering::Relaxed) < others { NOBODY } else { 0 })
                });
                let _ = ready.send(listeners.tcp_address());
                tokio::select! {
                    () = serve(listeners, service(routes()), 4096) => {}
                    _ = stopped => {}
                }
            });
        });
        let tcp = is_ready.recv().ok().flatten().unwrap_or_else(|| panic!("it does not listen"));
        Self { socket, tcp, stop: Some(stop), thread: Some(thread) }
    }

    fn unix(&self) -> UnixStream {
        UnixStream::connect(&self.socket).unwrap_or_else(|error| panic!("{error}"))
    }

    fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.tcp).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok());
        }
    }
}

/// What a read does when no bytes are there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// It waits.
    ForBytes,
    /// It fails.
    Never,
}

/// Either kind of connection.
trait Stream: io::Read + io::Write {
    fn set_waiting(&self, waiting: Waiting);
}

impl Stream for UnixStream {
    fn set_waiting(&self, waiting: Waiting) {
        self.set_nonblocking(waiting == Waiting::Never).unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Stream for TcpStream {
    fn set_waiting(&self, waiting: Waiting) {
        self.set_nonblocking(waiting == Waiting::Never).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A request and its whole answer.
fn ask(stream: &mut impl Stream, method: &str, path: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request whose body does not come.
const HALF: &[u8] = b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n";
/// A request that is answered for as long as its client reads.
const ENDLESS: &[u8] = b"GET /v1/events?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The part of an answer that has arrived; `None`: nothing, and the connection is open.
fn so_far(stream: &mut impl Stream) -> Option<String> {
    stream.set_waiting(Waiting::Never);
    let mut answer = [0; 4096];
    let read = stream.read(&mut answer);
    stream.set_waiting(Waiting::ForBytes);
    match read {
        Ok(length) => Some(String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Fills all requests of a user: those whose answers begin, and the answers of the others.
fn filled<S: Stream>(count: usize, connect: impl Fn() -> S) -> (Vec<S>, Vec<String>) {
    let (mut streaming, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut stream = connect();
        stream.write_all(ENDLESS).unwrap_or_else(|error| panic!("{error}"));
        let mut answer = [0; 4096];
        let length = stream.read(&mut answer).unwrap_or_else(|error| panic!("{error}"));
        let answer = String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned();
        if answer.starts_with("HTTP/1.1 200 ") {
            streaming.push(stream);
        } else {
            refused.push(answer);
        }
    }
    (streaming, refused)
}

#[test]
fn another_user_keeps_nobody_waiting() {
    let count = 24;
    let served = Served::start(count + MANY + 2);
    let (streaming, answers) = filled(count, || served.unix());
    assert_eq!(streaming.len(), 16);
    for answer in &answers {
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: 1\r\n"), "{answer}");
        assert!(answer.contains("user 65534 has as many requests in progress as it may have"), "{answer}");
    }
    let idle: Vec<UnixStream> = (0..MANY).map(|_| served.unix()).collect();
    for path in ["/healthz", "/readyz"] {
        let answer = ask(&mut served.unix(), "GET", path, "", "");
        // This node has no owner, and is not ready.
        let expected = if path == "/healthz" { "\"kind\": \"Health\"" } else { "state is behind" };
        assert!(answer.contains(expected), "{answer}");
    }
    // Root is answered while all these are there.
    let listed = ask(&mut served.unix(), "GET", "/v1/pods", "", "");
    assert!(listed.starts_with("HTTP/1.1 200 "), "{listed}");
    let explained = ask(&mut served.unix(), "POST", "/v1/explain", "", &deployment(20));
    assert!(explained.starts_with("HTTP/1.1 200 "), "{explained:.300}");
    drop((idle, streaming));
}

#[test]
fn tcp_keeps_nobody_waiting() {
    let served = Served::start(0);
    let (streaming, answers) = filled(30, || served.tcp());
    assert_eq!(streaming.len(), 24);
    for answer in &answers {
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    let idle: Vec<TcpStream> = (0..MANY).map(|_| served.tcp()).collect();
    let answer = ask(&mut served.tcp(), "GET", "/healthz", "", "");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let refused = ask(&mut served.tcp(), "GET", "/v1/pods", "", "");
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    let token = format!("Authorization: bearer {TOKEN}\r\n");
    let held = ask(&mut served.tcp(), "GET", "/v1/pods", &token, "");
    assert!(held.starts_with("HTTP/1.1 200 "), "who has the token is not kept out: {held}");
    let listed = ask(&mut served.unix(), "GET", "/v1/pods", "", "");
    assert!(listed.starts_with("HTTP/1.1 200 "), "{listed}");
    drop((idle, streaming));
}

#[test]
fn slow_bodies_take_nothing_from_others_of_the_same_user() {
    let served = Served::start(0);
    let mut slow: Vec<TcpStream> = (0..MANY).map(|_| served.tcp()).collect();
    for stream in &mut slow {
        // Those that came first may have been closed for the others.
        let _ = stream.write_all(HALF);
    }
    let answers = (0..50).map(|_| ask(&mut served.tcp(), "GET", "/v1/pods", "", ""));
    let refused: Vec<String> = answers.filter(|answer| !answer.starts_with("HTTP/1.1 200 ")).collect();
    assert_eq!(refused, [""; 0], "of 50");
    drop(slow);
}

fn deployment(replicas: u32) -> String {
    format!(
        "{{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{{\"name\":\"web\"}},\"spec\":{{\"replicas\":{replicas},\
         \"selector\":{{\"matchLabels\":{{\"a\":\"b\"}}}},\"template\":{{\"metadata\":{{\"labels\":{{\"a\":\"b\"}}}},\"spec\":{{\"containers\":\
         [{{\"name\":\"app\",\"image\":\"i\",\"resources\":{{\"limits\":{{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}}}}]}}}}}}}}"
    )
}

#[test]
fn who_may_only_look_asks_about_few_pods() {
    // `routes` lets others ask about five.
    let served = Served::start(3);
    for (replicas, path, status) in [
        (5, "/v1/explain", "200"),
        (10_000, "/v1/explain", "413"),
        (6, "/v1/pods?dryRun=All", "413"),
        // Root's.
        (6, "/v1/explain", "200"),
    ] {
        let answer = ask(&mut served.unix(), "POST", path, "", &deployment(replicas));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{replicas} {path}: {answer:.500}");
        assert!(status != "413" || answer.contains("its limit is 5"), "{answer}");
    }
    let over_tcp = ask(&mut served.tcp(), "POST", "/v1/explain", "", &deployment(6));
    assert!(over_tcp.starts_with("HTTP/1.1 413 "), "{over_tcp:.500}");
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let held = ask(&mut served.tcp(), "POST", "/v1/explain", &token, &deployment(6));
    assert!(held.starts_with("HTTP/1.1 200 "), "{held:.500}");
}

#[test]
fn a_place_is_taken_when_a_body_is_there() {
    // The first request of a user takes no place while its body does not come.
    let served = Served::start(2);
    let body = deployment(2);
    let mut first = served.unix();
    let head =
        format!("POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    first.write_all(head.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let continued = "HTTP/1.1 100 Continue\r\n\r\n";
    let mut second = served.unix();
    let head = format!(
        "POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    second.write_all(head.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut wanted = vec![0; continued.len()];
    second.read_exact(&mut wanted).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(String::from_utf8_lossy(&wanted), continued);
    second.write_all(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut answer = String::new();
    second.read_to_string(&mut answer).unwrap_or_else(|error| panic!("{error}"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:.300}");
    assert_eq!(so_far(&mut first), None, "it is waited for");
    first.write_all(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut begins = [0; 13];
    first.read_exact(&mut begins).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(&begins, b"HTTP/1.1 200 ");
}
