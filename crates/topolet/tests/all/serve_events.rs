//! Events of a node: listed, and streamed to who asks for them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Folder, pod};

const SMALL: &str = "cpu: 2, memory: 1Gi";
const TOO_BIG: &str = "cpu: 90, memory: 1Gi";

/// Lines of `data` that a client gets.
fn stream(daemon: &Daemon, path: &str, fields: &str) -> impl Iterator<Item = String> + use<> {
    let mut stream = UnixStream::connect(&daemon.socket).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n{fields}\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned))
}

fn reason(data: &str) -> String {
    let event: serde_json::Value = serde_json::from_str(data).unwrap();
    format!("{} {}", event["name"].as_str().unwrap_or("-"), event["reason"].as_str().unwrap())
}

fn number(data: &str) -> u64 {
    let event: serde_json::Value = serde_json::from_str(data).unwrap();
    event["number"].as_u64().unwrap()
}

#[test]
fn what_happens_is_streamed_and_listed() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(daemon.prints(&["get", "events"]), "no events since the daemon started\n");

    // Any client of server-sent events, as a browser is one.
    let mut hears = stream(&daemon, "/v1/events", "Accept: text/event-stream\r\n");
    daemon.ask("POST", "/v1/pods", &pod("first", SMALL));
    daemon.ask("POST", "/v1/pods", &pod("big", TOO_BIG));
    daemon.ask("DELETE", "/v1/pods/default/first", "");
    let heard: Vec<String> = hears.by_ref().take(3).collect();
    let first = number(&heard[0]);
    let heard: Vec<String> = heard.iter().map(|data| reason(data)).collect();
    assert_eq!(heard, ["first Admitted", "big TopologyAffinityError", "first Ended"]);

    // One that comes back goes on where it was.
    let again = stream(&daemon, "/v1/events?watch=true", &format!("Last-Event-ID: {first}\r\n")).take(2);
    assert_eq!(again.map(|data| reason(&data)).collect::<Vec<_>>(), heard[1..]);
    let again = stream(&daemon, &format!("/v1/events?watch=true&after={}", first + 1), "").take(1);
    assert_eq!(again.map(|data| reason(&data)).collect::<Vec<_>>(), heard[2..]);

    let listed = daemon.prints(&["get", "events"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("TIME") && lines.len() > 3, "{listed}");
    assert!(listed.contains("app: CPUs") && listed.contains("1Gi on NUMA 0"), "{listed}");
    assert!(listed.contains("would fit: ask less"), "{listed}");
    let document = daemon.get("/v1/events?output=json").json("Events");
    assert_eq!(document["events"][1]["reason"], "TopologyAffinityError");
    assert_eq!(document["events"][1]["type"], "Warning");

    for (query, error) in [
        ("watch=yes", "watch is true or false"),
        ("after=first", "after is the number of an event"),
        ("limit=3", "unknown query parameter"),
    ] {
        let reply = daemon.get(&format!("/v1/events?{query}"));
        assert_eq!(reply.status, 400);
        assert!(reply.message().contains(error), "{}", reply.message());
    }
}

#[test]
fn who_watches_goes_on_when_the_daemon_comes_back() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let mut watching = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["get", "events", "--watch", "--socket"])
        .arg(&daemon.socket)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map(Result::unwrap);
    daemon.ask("POST", "/v1/pods", &pod("first", SMALL));
    let line = lines.next().unwrap();
    assert!(line.contains("Normal   Admitted") && line.contains("default/first"), "{line}");
    assert!(daemon.terminate());
    let mut said = BufReader::new(watching.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(said.next().unwrap(), "the daemon has closed the stream, and is waited for");
    let daemon = Daemon::start(root.path(), &[]);
    daemon.ask("POST", "/v1/pods", &pod("second", SMALL));
    let line = lines.next().unwrap();
    assert!(line.contains("default/second"), "{line}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn without_a_daemon_there_is_nothing_to_watch() {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["get", "events", "-w", "--socket", "/nowhere/topolet.sock"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: failed to reach topolet at /nowhere/topolet.sock"), "{said}");
}
