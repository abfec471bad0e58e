//! Connections that end, and the next ones.

use std::time::{Duration, Instant};

use nri_plugin::{Backoff, Plugin, Reconnect};

use crate::support::handler::{Running, SOON, plugin};
use crate::support::runtime::{Listening, event};

#[test]
fn a_plugin_connects_again_but_not_in_a_hurry() {
    let listening = Listening::new();
    // No connection of the test lasts so long that the times begin again.
    let backoff = Backoff { first: Duration::from_millis(20), most: Duration::from_hours(1) };
    let plugin = plugin().socket(&listening.socket).reconnect(Reconnect::After(backoff));
    let running = Running::start(&plugin);
    let mut times = Vec::new();
    for _ in 0..5 {
        let mut runtime = listening.accept();
        times.push(Instant::now());
        runtime.synchronize("v0.12.3");
    }
    let between: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // At least; a busy machine takes longer.
    let least = [20, 40, 80, 160].map(Duration::from_millis);
    assert!(between.iter().zip(&least).all(|(took, least)| took >= least), "{between:?}");
    // In the middle of an event.
    let mut runtime = listening.accept();
    runtime.synchronize("v0.12.3");
    runtime.ask("CreateContainer", &event("slow-50"));
    drop(runtime);
    let mut runtime = listening.accept();
    runtime.synchronize("v0.11.0");
    running.until("synchronized with \"0.11.0\"");
    running.stop.stop();
    runtime.until_closed();
    running.until("disconnected: the plugin was stopped, next None");
    assert!(running.end().unwrap().is_ok());
}

#[test]
fn a_runtime_that_is_not_there_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nri.sock");
    let plugin = plugin().socket(&socket).reconnect(Reconnect::After(SOON));
    let running = Running::start(&plugin);
    running.until("not connected");
    // A file without a listener, as a killed runtime leaves it.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    running.until("not connected");
    running.until("not connected");
    running.stop.stop();
    assert!(running.end().unwrap().is_ok());
}

#[test]
fn a_stopped_plugin_does_not_wait_for_its_next_attempt() {
    let backoff = Backoff { first: Duration::from_hours(1), most: Duration::from_hours(1) };
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::new("kept", 10).unwrap().socket(folder.path().join("nri.sock"));
    let running = Running::start(&plugin.reconnect(Reconnect::After(backoff)));
    running.until("not connected");
    running.stop.stop();
    assert!(running.end().unwrap().is_ok());
}

#[test]
fn without_a_next_attempt_a_runtime_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nri.sock");
    let error = Running::start(&plugin().socket(&socket)).error();
    assert_eq!(
        error,
        format!("failed to connect to {}: No such file or directory (os error 2)", socket.display())
    );
}
