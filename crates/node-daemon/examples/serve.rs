//! Serves a built-in machine below a folder: `cargo run -p node-daemon --example serve -- /tmp/node`, then
//! `curl --unix-socket /tmp/node/topolet.sock http://localhost/v1/machine?output=table`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use bounded_http::Open;
use node_daemon::{
    CgroupRoot, Damaged, Ended, Log, LogLevel, LoggingFormat, PodSources, SOCKET, Setup, serve,
};
use node_input::{IdentitySource, MachineSource, RulesSource};

fn main() -> anyhow::Result<()> {
    let root = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "/tmp/node".into()));
    let log = Log::start(LoggingFormat::Text, LogLevel::Info)?;
    let ended = serve(&Setup {
        socket: root.join(SOCKET),
        root,
        manifests: None,
        open: Open::ToOwnGroup,
        explained: NonZeroUsize::MIN.saturating_add(99),
        tcp: None,
        metrics: None,
        token_file: None,
        machine: MachineSource::named("xeon-cxl-4node"),
        rules: RulesSource::default(),
        identity: IdentitySource::default(),
        log: &log,
        damaged: Damaged::Repair,
        keep: node_agent::KeptBackups(NonZeroUsize::MIN.saturating_add(4)),
        pods: PodSources::default(),
        published: node_daemon::Publications::default(),
        disagreements: None,
        guard: node_guard::REPORT.into(),
        cgroups: CgroupRoot::Off,
        proc: "/proc".into(),
    })?;
    anyhow::ensure!(ended == Ended::Stop, "SIGHUP: start this again, with what the files say now");
    Ok(())
}
