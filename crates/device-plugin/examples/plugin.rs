//! A device plugin as a process: `plugin FOLDER ENDPOINT RESOURCE COUNT [NODES]`. Its devices are called `ENDPOINT-0` and
//! so on and lie on NUMA nodes 0 and 1 in turns, or on those of `NODES`, as in `1` or `0,2`; `none` gives them no NUMA
//! node. It registers again whenever `FOLDER/kubelet.sock` is another one, as plugins do, and runs until it is killed.
//! `cargo xtask chaos` and `cargo xtask soak` kill it and start it again.
#![expect(clippy::unwrap_used, reason = "the plugin of the tests ends when it cannot go on")]

#[path = "../tests/all/support/plugin.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "shared with the tests, which use all of it")]
mod plugin;

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use plugin::{Plugin, Script, device, register, request};

/// How often the kubelet's socket is looked at.
const LOOK: Duration = Duration::from_millis(100);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments.get(3).and_then(|count| count.parse::<usize>().ok());
    let nodes = nodes(arguments.get(4).map_or("0,1", String::as_str));
    let ([folder, endpoint, resource, _, ..], Some(count), Some(nodes)) =
        (arguments.as_slice(), count, nodes)
    else {
        eprintln!(
            "usage: plugin FOLDER ENDPOINT RESOURCE COUNT [NODES], where COUNT is a number of devices and NODES is none or \
             numbers of NUMA nodes, as in 0,1"
        );
        std::process::exit(2);
    };
    let folder = PathBuf::from(folder);
    let socket = folder.join(endpoint);
    let _ = std::fs::remove_file(&socket);
    let devices = (0..count).map(|at| {
        let own = nodes.get(at % nodes.len().max(1)).map_or(&[][..], std::slice::from_ref);
        device(&format!("{endpoint}-{at}"), own)
    });
    let _plugin = Plugin::listen(&socket, Script::default(), devices.collect());
    let kubelet = folder.join("kubelet.sock");
    let mut registered = None;
    loop {
        let there = std::fs::metadata(&kubelet).ok().map(|socket| (socket.ino(), socket.ctime_nsec()));
        // A socket file outlives its listener: if the connect fails, the next look tries again.
        if there.is_some() && there != registered {
            let answers = std::os::unix::net::UnixStream::connect(&kubelet).is_ok();
            let again = std::panic::catch_unwind(|| register(&kubelet, request(endpoint, resource)));
            if answers && matches!(again, Ok(Ok(()))) {
                registered = there;
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// The NUMA nodes of `none` or `0,1`.
fn nodes(text: &str) -> Option<Vec<i64>> {
    if text == "none" {
        return Some(Vec::new());
    }
    text.split(',').map(|node| node.parse().ok()).collect()
}
