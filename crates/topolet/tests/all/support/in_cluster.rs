//! Looking at a cluster in a test.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use local_cluster::{Cluster, Parts};
use serde_json::Value;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The program that is tested.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_topolet"))
}

/// Where everything is built.
pub(crate) fn target() -> &'static Path {
    program().parent().unwrap().parent().unwrap()
}

/// A cluster; `None`: its programs are not built, and a line says so.
pub(crate) fn cluster(parts: Parts) -> Option<Cluster> {
    Cluster::for_test(target(), parts)
}

/// Waits until it is so.
pub(crate) fn until<T>(what: &str, mut is_so: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match is_so() {
            Ok(found) => return found,
            Err(now) => assert!(began.elapsed() < PATIENCE, "{what} does not come: {now}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// An object of the API server.
pub(crate) fn object(cluster: &Cluster, kind: &str, name: &str) -> Result<Value, String> {
    let text = cluster.kubectl(&["get", kind, name, "-o", "json"]).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The status of a pod once it is in a phase.
pub(crate) fn in_phase(cluster: &Cluster, pod: &str, phase: &str) -> Value {
    until(phase, || {
        let status = object(cluster, "pod", pod)?["status"].clone();
        if status["phase"] == phase { Ok(status) } else { Err(status.to_string()) }
    })
}
