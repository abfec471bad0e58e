//! Those who only look, of every kind: each takes what it is given, and none may disturb those who change something.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use workspace_tools::client::Client;

/// How often each of them does something.
const PAUSE: Duration = Duration::from_millis(500);
/// Connections that say nothing, at once.
const IDLE: usize = 20;

/// What a reader does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Reader {
    /// Holds connections and sends nothing.
    Idle,
    /// Sends a request byte by byte.
    Slow,
    /// Asks for metrics.
    Scraper,
    /// Explains a Deployment.
    Explainer,
}

impl Reader {
    pub(super) const ALL: [Self; 4] = [Self::Idle, Self::Slow, Self::Scraper, Self::Explainer];

    /// Reads until `stop` is set.
    pub(super) fn run(self, root: &Path, stop: &AtomicBool) {
        match self {
            Self::Idle => idle(root, stop),
            Self::Slow => slow(root, stop),
            Self::Scraper => scraper(root, stop),
            Self::Explainer => explainer(root, stop),
        }
    }
}

fn until(stop: &AtomicBool, mut what: impl FnMut()) {
    while !stop.load(Ordering::Relaxed) {
        what();
        std::thread::sleep(PAUSE);
    }
}

/// Idle connections, opened again when the daemon closes them.
fn idle(root: &Path, stop: &AtomicBool) {
    let client = Client::of(root);
    let mut held = Vec::new();
    until(stop, || {
        // What the daemon has closed reads as ended.
        held.retain_mut(|stream: &mut std::os::unix::net::UnixStream| {
            stream.set_nonblocking(true).is_ok()
                && stream
                    .read(&mut [0; 64])
                    .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        });
        while held.len() < IDLE {
            let Ok(stream) = client.connect() else { return };
            held.push(stream);
        }
    });
}

/// A request that comes byte by byte, as long as it takes.
fn slow(root: &Path, stop: &AtomicBool) {
    let client = Client::of(root);
    until(stop, || {
        let Ok(mut stream) = client.connect() else { return };
        let began = Instant::now();
        for byte in b"GET /v1/state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" {
            let is_over = stop.load(Ordering::Relaxed) || began.elapsed() > Duration::from_secs(30);
            if is_over || stream.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::sleep(PAUSE / 5);
        }
        let _ = stream.set_read_timeout(Some(PAUSE));
        let _ = stream.read(&mut [0; 4096]);
    });
}

fn scraper(root: &Path, stop: &AtomicBool) {
    let client = Client::of(root);
    until(stop, || drop(client.get("/metrics")));
}

/// What a Deployment of fifty pods would become.
fn explainer(root: &Path, stop: &AtomicBool) {
    let client = Client::of(root);
    let deployment = serde_json::json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "explained" },
        "spec": {
            "replicas": 50, "selector": { "matchLabels": { "app": "explained" } },
            "template": {
                "metadata": { "labels": { "app": "explained" } },
                "spec": { "containers": [{
                    "name": "main", "image": "x", "resources": { "limits": { "cpu": "2", "memory": "256Mi" } },
                }] },
            },
        },
    });
    let body = deployment.to_string();
    until(stop, || drop(client.ask("POST", "/v1/explain", &body)));
}
