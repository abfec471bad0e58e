//! What it costs to hear of the objects of many nodes, one line of JSON for each kind of object: requests, what the API server
//! sends, and the most memory that is taken meanwhile beyond what is there before, the server's pages included.
//!
//! `cargo run --release -p cluster-node --example many_nodes -- 10000`; without a number 100 nodes. Each node has a state of
//! 32 KiB and 60 pods of 4 KiB. The API server is a function in this process, so that nothing is waited for.

#![expect(clippy::unwrap_used, reason = "the world of the tests fails where it cannot go on")]

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cluster_node::{ClusterError, Listener, Listening, ObjectEvent, Watched};

use world::{Answer, World};

#[path = "../tests/all/world/mod.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod world;

const PODS_OF_A_NODE: usize = 60;

/// Listens until all objects are known.
struct UntilComplete;

impl Listener for UntilComplete {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        if matches!(event, ObjectEvent::Complete { .. }) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn failed(&mut self, error: &ClusterError) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

/// A page of `all` objects that are padded to `size` bytes each.
fn page(request: &str, all: usize, size: usize) -> String {
    let parameter = |name: &str| {
        let value = request.split(['&', '?']).find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse::<usize>().ok())
    };
    let first = parameter("continue").unwrap_or(0);
    let after = parameter("limit").map_or(all, |limit| all.min(first + limit));
    let object = |at: usize| {
        let head = format!(
            r#"{{"metadata":{{"name":"o-{at}","uid":"{at:036}","resourceVersion":"1","annotations":{{"a":""#
        );
        let padding = "x".repeat(size.saturating_sub(head.len() + 5));
        format!(r#"{head}{padding}"}}}}}}"#)
    };
    let items = (first..after).map(object).collect::<Vec<_>>().join(",");
    let more = if after < all { after.to_string() } else { String::new() };
    format!(
        r#"{{"apiVersion":"v1","kind":"List","metadata":{{"resourceVersion":"7","continue":"{more}"}},"items":[{items}]}}"#
    )
}

/// A field of this process's status, in bytes.
fn status(field: &str) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/status")?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')?.strip_suffix("kB"));
    Ok(value.ok_or("no such field")?.trim().parse::<u64>()? * 1024)
}

fn main() -> Result<(), Box<dyn Error>> {
    let nodes = std::env::args().nth(1).map_or(Ok(100), |count| count.parse::<usize>())?;
    for (name, watched) in [
        ("NodeStates", Watched::NodeStates),
        ("PodEnds", Watched::PodEnds),
        ("PendingPods", Watched::PendingPods),
        ("BoundPods", Watched::BoundPods),
    ] {
        let (all, size) = match watched {
            Watched::NodeStates => (nodes, 32 << 10),
            _ => (nodes * PODS_OF_A_NODE, 4 << 10),
        };
        let (requests, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let world = World::new({
            let (requests, bytes) = (requests.clone(), bytes.clone());
            move |request| {
                let body = page(request, all, size);
                requests.fetch_add(1, Ordering::Relaxed);
                bytes.fetch_add(body.len(), Ordering::Relaxed);
                Answer(200, body)
            }
        });
        // The peak begins anew.
        fs::write("/proc/self/clear_refs", "5")?;
        let before = status("VmRSS")?;
        let mut listening = Listening::new(world.connector(), watched, Duration::from_secs(5), UntilComplete);
        while listening.step(Duration::from_secs(1)).is_continue() {}
        let memory = status("VmHWM")?.saturating_sub(before);
        let (requests, bytes) = (requests.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
        println!(
            r#"{{"nodes":{nodes},"objects":"{name}","requests":{requests},"sent_mib":{},"memory_mib":{}}}"#,
            bytes >> 20,
            memory >> 20
        );
    }
    Ok(())
}
