//! Many who look at a daemon, and who may connect to it.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::daemon::{Daemon, Folder, over_tcp, pod, until};

/// More than there are places of any kind.
const MANY: usize = 500;
/// Pods on which decisions take much memory.
const REPLICAS: u32 = 2_500;
/// So much of it need not be given back, in KiB.
const KEPT: u64 = 16 << 10;

#[test]
fn a_flood_over_tcp_delays_neither_the_socket_nor_health() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &["--tcp", "127.0.0.1:0"]);
    let address = daemon.tcp_address();
    let connect = || TcpStream::connect(&address).unwrap();
    // A request whose body does not come is given up in the end. It is the first to be.
    let mut first = connect();
    first.write_all(b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n").unwrap();
    let mut others: Vec<TcpStream> = (0..MANY).map(|_| connect()).collect();
    for other in others.iter_mut().step_by(2) {
        // Some are closed for others already.
        let _ = other.write_all(b"GET /v1/po");
    }
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let health = over_tcp(&address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(health.unwrap().status, 200);
    first.set_nonblocking(true).unwrap();
    let mut answer = [0; 1024];
    match first.read(&mut answer) {
        Err(error) => assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionReset)),
        // It may be closed for one of the others, as the one that has been sending longest.
        Ok(0) => {}
        Ok(length) => panic!("it was waited for: {}", String::from_utf8_lossy(&answer[..length])),
    }
}

/// What the kernel says of a process's memory, in KiB.
fn memory(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The most memory that a process has had, in KiB.
fn most_memory(pid: u32) -> u64 {
    memory(pid, "VmHWM")
}

/// A Deployment of pods that each want a CPU.
fn deployment(replicas: u32) -> String {
    let body = pod("web", "cpu: 1, memory: 1Gi").replace("v1\nkind: Pod", "apps/v1\nkind: Deployment");
    let (head, spec) = body.split_once("spec:\n").unwrap();
    let spec = spec.replace('\n', "\n    ");
    format!(
        "{head}spec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: \
         {{labels: {{a: b}}}}\n    spec:\n    {spec}"
    )
}

#[test]
fn who_may_only_look_cannot_fill_the_memory() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &["--tcp", "127.0.0.1:0"]);
    let (address, before) = (daemon.tcp_address(), most_memory(daemon.id()));
    let body = deployment(10_000);
    let request = format!(
        "POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let asking: Vec<_> = (0..254)
        .map(|_| {
            let (address, request) = (address.clone(), request.clone());
            std::thread::spawn(move || over_tcp(&address, &request))
        })
        .collect();
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let mut refused = 0;
    for asked in asking {
        if let Some(reply) = asked.join().unwrap() {
            assert!(matches!(reply.status, 413 | 503), "{}: {:.300}", reply.status, reply.body);
            assert!(reply.status != 413 || reply.message().contains("its limit is 100"), "{}", reply.body);
            refused += 1;
        }
    }
    assert!(refused > 0);
    let more = most_memory(daemon.id()) - before;
    assert!(more < 256 << 10, "{more} KiB");
    // Root has the larger limit: this one is alone.
    let own = daemon.ask("POST", "/v1/explain", &deployment(101));
    assert_eq!(own.status, 200, "{:.300}", own.body);
}

#[test]
fn memory_of_large_answers_is_given_back() {
    let root = Folder::new();
    // Pods are decided on fast here.
    let daemon = Daemon::with_config(root.path(), "kubelet-defaults");
    let body = deployment(REPLICAS);
    let ask = || assert_eq!(daemon.ask("POST", "/v1/pods?dryRun=All", &body).status, 422);
    assert_eq!(daemon.ask("POST", "/v1/pods?dryRun=All", &deployment(1)).status, 200);
    let before = memory(daemon.id(), "VmRSS");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(ask);
        }
    });
    let peak = most_memory(daemon.id()) - before;
    assert!(peak > 3 * KEPT / 2, "{peak} KiB is too little to tell");
    until("its memory", || (memory(daemon.id(), "VmRSS") < before + KEPT).then_some(()));
}

#[test]
fn pages_in_browsers_are_turned_away_and_wrong_tokens_counted() {
    let root = Folder::new();
    let token = root.path().join("token");
    fs::write(&token, "0123456789abcdef0123\n").unwrap();
    let daemon =
        Daemon::start(root.path(), &["--tcp", "127.0.0.1:0", "--token-file", token.to_str().unwrap()]);
    let address = daemon.tcp_address();
    let get = |fields: &str| {
        let text = format!("GET /v1/pods HTTP/1.1\r\n{fields}Connection: close\r\n\r\n");
        over_tcp(&address, &text).unwrap()
    };
    for (fields, status) in [
        ("Host: localhost\r\n", 200),
        ("Host: localhost\r\nOrigin: https://evil.example\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
        ("Host: localhost\r\nHost: localhost\r\n", 400),
    ] {
        let reply = get(fields);
        assert_eq!(reply.status, status, "{fields}");
        assert!(status == 200 || reply.json("Error")["code"] == status, "{}", reply.body);
    }
    for wrong in ["Bearer 0123456789abcdef0124", "Basic eDp5", "bearer"] {
        get(&format!("Host: localhost\r\nAuthorization: {wrong}\r\n"));
    }
    let metrics = daemon.get("/metrics").body;
    assert!(metrics.contains("\ntopolet_wrong_tokens_total 3\n"), "{metrics}");
    until("a line about it", || daemon.log().iter().any(|line| line.contains("wrong token")).then_some(()));

    let body = pod("a", "cpu: 2, memory: 1Gi");
    let post = format!(
        "POST /v1/pods HTTP/1.1\r\nHost: localhost\r\nAuthorization: bearer 0123456789abcdef0123\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(over_tcp(&address, &post).unwrap().status, 200);
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/a", "").status, 200);
    let user = nix::unistd::geteuid();
    for said in [
        "who=TCP with the token what=\"admit\" on=\"default/a\" outcome=admitted".to_owned(),
        format!("who=user {user} what=\"delete\" on=\"default/a\" outcome=done"),
    ] {
        until(&said, || daemon.log().iter().any(|line| line.contains(&said)).then_some(()));
    }
}

#[test]
fn the_socket_is_open_to_its_group_whatever_the_umask() {
    let group = nix::unistd::getegid();
    let name = nix::unistd::Group::from_gid(group).unwrap().map(|group| group.name);
    let by_number = group.to_string();
    let by_name = name.as_deref().unwrap_or(&by_number);
    for (umask, more, mode) in [
        ("000", &[][..], 0o660),
        ("077", &[], 0o660),
        ("077", &["--socket-group", by_number.as_str()], 0o660),
        ("022", &["--socket-group", by_name], 0o660),
        ("077", &["--socket-for-all"], 0o666),
    ] {
        let root = Folder::new();
        let daemon = Daemon::with_umask(umask, root.path(), more);
        let about = fs::metadata(&daemon.socket).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, mode, "{umask} {more:?}");
        assert_eq!(about.gid(), group.as_raw());
        fs::remove_file(&daemon.socket).unwrap();
        until("its return", || UnixStream::connect(&daemon.socket).ok());
        let about = fs::metadata(&daemon.socket).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, mode, "made again: {umask} {more:?}");
        assert_eq!(about.gid(), group.as_raw());
    }
}

#[test]
fn another_user_is_told_how_to_get_in() {
    if !nix::unistd::geteuid().is_root() {
        // `client` tries what it says without another user.
        eprintln!("skipped: only root can be another user");
        return;
    }
    let (root, open) = (Folder::new(), Folder::new());
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Others may not enter the folder of the build perhaps.
    let program = open.path().join("topolet");
    fs::copy(env!("CARGO_BIN_EXE_topolet"), &program).unwrap();
    let ask = |arguments: &[&str], socket: &std::path::Path| {
        let mut command = Command::new(&program);
        command.args(arguments).env("TOPOLET_SOCKET", socket).current_dir("/").uid(65534).gid(65534);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let socket = open.path().join("s");
    let path = socket.to_str().unwrap();
    let daemon = Daemon::start_at(&socket, root.path(), &["--socket", path]);
    let (code, said) = ask(&["get", "pods"], &socket);
    assert!(code == Some(1) && said.contains("--socket-group GROUP"), "{said}");
    drop(daemon);
    for more in [&["--socket-group", "65534"][..], &["--socket-for-all"]] {
        let daemon = Daemon::start_at(&socket, root.path(), &[&["--socket", path], more].concat());
        assert_eq!(ask(&["get", "pods"], &socket).0, Some(0), "{more:?}");
        let (code, said) = ask(&["delete", "pod", "a"], &socket);
        assert!(code == Some(1) && said.contains("only root and the user that topolet runs as"), "{said}");
        drop(daemon);
    }
}
