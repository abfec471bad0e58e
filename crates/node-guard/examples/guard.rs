//! The guard alone, without topolet's command line: `guard KUBELET-FOLDER CGROUP-FOLDER NRI-SOCKET REPORT`. `cargo xtask
//! guard` measures it.

use std::path::PathBuf;

use node_guard::{Options, Place, Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let mut next = |what: &str| arguments.next().ok_or_else(|| format!("{what} is missing"));
    let node = Place {
        root: "/".into(),
        kubelet: next("the kubelet's folder")?,
        cgroups: Some(next("the folder of cgroups")?),
        socket: next("the socket")?,
    };
    let options = Options { node, index: 90, report: next("the report")?, settings: Settings::default() };
    Ok(run(&options, drop)?)
}
