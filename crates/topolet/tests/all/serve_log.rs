//! A daemon whose log cannot be written: it serves all the same.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Folder, MACHINE, pod, until};
use nix::fcntl::{FcntlArg, fcntl};

/// Admits and deletes pods, each with a line in the log; then stops it.
fn works(daemon: Daemon) {
    for round in 0..3 {
        let name = format!("pod-{round}");
        let reply = daemon.ask("POST", "/v1/pods", &pod(&name, "cpu: 2, memory: 1Gi"));
        assert_eq!(reply.status, 200, "{}", reply.body);
        let reply = daemon.ask("DELETE", &format!("/v1/pods/default/{name}"), "");
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    assert_eq!(daemon.get("/readyz").status, 200);
    assert!(daemon.terminate(), "a signal ends it well");
}

fn lost(daemon: &Daemon) -> Option<u64> {
    let metrics = daemon.get("/metrics").body;
    metrics.lines().find_map(|line| line.strip_prefix("topolet_log_lines_lost_total "))?.parse().ok()
}

#[test]
fn a_full_disk_under_the_log_costs_lines_only() {
    let root = Folder::new();
    // It starts again, too.
    for _ in 0..2 {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let daemon = Daemon::logging_to(root.path(), full.into());
        let at_start = until("lost lines", || lost(&daemon).filter(|lost| *lost > 0));
        let reply = daemon.ask("POST", "/v1/pods", &pod("lost", "cpu: 2, memory: 1Gi"));
        assert_eq!(reply.status, 200, "{}", reply.body);
        until("the line on the pod", || lost(&daemon).filter(|lost| *lost > at_start));
        assert_eq!(daemon.ask("DELETE", "/v1/pods/default/lost", "").status, 200);
        works(daemon);
    }
}

#[test]
fn a_log_that_nobody_reads_any_more_costs_lines_only() {
    let root = Folder::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let daemon = Daemon::logging_to(root.path(), writer.into());
    until("lost lines", || lost(&daemon).filter(|lost| *lost > 0));
    works(daemon);
}

#[test]
fn a_reader_of_the_log_that_has_stopped_holds_up_nothing() {
    let root = Folder::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let room = fcntl(&writer, FcntlArg::F_GETPIPE_SZ).unwrap();
    writer.write_all(&vec![b'\n'; usize::try_from(room).unwrap()]).unwrap();
    let stderr = || Stdio::from(writer.try_clone().unwrap());
    let daemon = Daemon::logging_to(root.path(), stderr());
    works(daemon);

    // A daemon that cannot start ends, too.
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["serve", "--machine", MACHINE, "--config", "pinned", "--root"])
        .arg(&file)
        .stderr(stderr())
        .status()
        .unwrap();
    assert_eq!(ended.code(), Some(1));
    drop(reader);
}

#[test]
fn without_standard_error_a_daemon_serves() {
    let root = Folder::new();
    let socket = root.path().join("topolet.sock");
    let mut child = Command::new("sh")
        .args(["-c", r#"exec "$0" "$@" <&- >&- 2>&-"#, env!("CARGO_BIN_EXE_topolet")])
        .args(["serve", "--machine", MACHINE, "--config", "pinned", "--cgroup-root", "off", "--root"])
        .arg(root.path())
        .spawn()
        .unwrap();
    until("a daemon that listens", || socket.exists().then_some(()));
    let applied = {
        let file = root.path().join("pod.yaml");
        fs::write(&file, pod("one", "cpu: 2, memory: 1Gi")).unwrap();
        Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["apply", "-f", file.to_str().unwrap(), "--socket", socket.to_str().unwrap()])
            .output()
            .unwrap()
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
}
