//! API servers that send what none sends: too much, too little, or something else.

#![expect(clippy::disallowed_methods, reason = "tests wait for servers")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cluster_node::pods_api::Event;
use cluster_node::{
    Access, Cluster, ClusterError, Connector, Listener, Listening, ObjectEvent, SystemClock, Watched,
};

const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;

/// An API server that answers lists and watches so.
struct Server {
    list: fn(&mut TcpStream),
    watch: fn(&mut TcpStream),
}

fn send(stream: &mut TcpStream, text: &str) {
    // The client may have gone, which is what is tested.
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{text}"
    );
}

fn list(stream: &mut TcpStream) {
    send(stream, LIST);
}

fn without_end(stream: &mut TcpStream, start: &str) {
    send(stream, start);
    let much = vec![b'x'; 1 << 20];
    while stream.write_all(&much).is_ok() {}
}

impl Server {
    /// The connection to it.
    fn start(self) -> Cluster {
        connect(&self.serve()).unwrap()
    }

    /// Its address.
    fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().unwrap_or_else(|| Ok(String::new())).unwrap_or_default();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let answer = if first.contains("watch=true") { self.watch } else { self.list };
                thread::spawn(move || answer(&mut stream));
            }
        });
        format!("http://{address}")
    }
}

fn connect(server: &str) -> Result<Cluster, ClusterError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: '{server}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
    );
    fs::write(&path, text).unwrap();
    Cluster::new(&Access::Kubeconfig(path))
}

/// The error with which its watch ends.
fn error(server: Server) -> String {
    let mut watch = match server.start().pods_of("here") {
        Ok(watch) => watch,
        Err(error) => return error.to_string(),
    };
    let start = Instant::now();
    while start.elapsed() < Duration::from_mins(1) {
        if let Err(error) = watch.next(Duration::from_secs(1)) {
            return error.to_string();
        }
    }
    "none".to_owned()
}

#[test]
fn what_is_too_large_is_an_error() {
    let shown = error(Server { list, watch: |stream| without_end(stream, r#"{"type":"ADDED","object":""#) });
    assert!(
        shown.ends_with("does not answer as an API server: a line of a watch is larger than 16 MiB"),
        "{shown}"
    );
    let shown = error(Server { list: |stream| without_end(stream, r#"{"kind":""#), watch: list });
    assert!(shown.ends_with("does not answer as an API server: an answer is larger than 256 MiB"), "{shown}");
}

#[test]
fn what_is_no_object_is_an_error() {
    let lists: [fn(&mut TcpStream); 5] = [
        |stream| send(stream, ""),
        |stream| send(stream, "{"),
        |stream| send(stream, "[]"),
        |stream| send(stream, r#"{"items":3}"#),
        |stream| send(stream, r#"{"kind":"PodList","metadata":{},"items":[3]}"#),
    ];
    for list in lists {
        assert!(Server { list, watch: list }.start().pods_of("here").is_err());
    }
    let shown = error(Server { list, watch: |stream| send(stream, "{\"type\":\"ADDED\",\"object\":3}\n") });
    assert_ne!(shown, "none");
}

#[test]
fn a_watch_that_ends_in_a_line_begins_again() {
    let server = Server { list, watch: |stream| send(stream, "{\"type\":\"ADDED\",\"object\":{\"met") };
    let mut watch = server.start().pods_of("here").unwrap();
    let first = watch.next(Duration::from_millis(50)).unwrap();
    assert!(matches!(first, Some(Event::Complete)));
    for _ in 0..3 {
        assert!(watch.next(Duration::from_millis(50)).unwrap().is_none());
    }
}

/// Hears that a list begins, and nothing else.
struct OnlyListing;
impl Listener for OnlyListing {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        assert_eq!(event, ObjectEvent::Listing);
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        panic!("{error}");
    }
}

#[test]
fn pages_without_end_and_objects_are_left_between_them() {
    let page = |stream: &mut TcpStream| {
        let more = r#""metadata":{"resourceVersion":"7","continue":"more"}"#;
        send(stream, &LIST.replace(r#""metadata":{"resourceVersion":"7"}"#, more));
    };
    let server = Server { list: page, watch: list }.serve();
    let connector = Connector::new(Arc::new(SystemClock), move || connect(&server));
    let again = Duration::from_secs(1);
    let mut pods = Listening::new(connector, Watched::BoundPods, again, OnlyListing);
    for _ in 0..4 {
        assert!(pods.step(Duration::from_millis(50)).is_continue());
    }
}

#[test]
fn an_address_of_another_protocol_is_an_error() {
    let shown = connect("ftp://127.0.0.1").unwrap_err().to_string();
    assert_eq!(
        shown,
        "failed to reach ftp://127.0.0.1: its address begins with neither https:// nor http://"
    );
}
