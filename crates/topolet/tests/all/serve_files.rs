//! A daemon that finds pipes, sockets, directories and devices where files should be.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Folder, MACHINE, pod, until};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// Makes something at a path.
type Make = fn(&Path);

/// What is made in the place of a file, and what messages call it.
const KINDS: [(&str, Make); 5] = [
    ("a pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
    ("a directory", |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("inside"), "kept").unwrap();
    }),
    ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("a character device", |path| symlink("/dev/zero", path).unwrap()),
    ("a pipe", |path| {
        let pipe = path.with_extension("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        symlink(&pipe, path).unwrap();
    }),
];

const STATE: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];

/// Puts something else in the place of a file.
fn replace(path: &Path, make: Make) {
    // It need not be there.
    let _ = fs::remove_file(path);
    make(path);
}

/// What a daemon says that does not start. One that waits instead is killed.
fn refused(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args([
        "-s",
        "KILL",
        "60",
        env!("CARGO_BIN_EXE_topolet"),
        "serve",
        "--machine",
        MACHINE,
        "--root",
    ]);
    let output = command.arg(root).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_folder_that_is_watched_has_to_be_there() {
    let folder = Folder::new();
    let (none, socket) = (folder.path().join("none"), folder.path().join("s.sock"));
    let said = refused(&none, &["--observe", "--socket", socket.to_str().unwrap()]);
    assert_eq!(said, format!("error: state folder {} does not exist\n", none.display()));
}

#[test]
fn a_node_starts_whatever_is_in_the_place_of_its_state() {
    for (kind, make) in KINDS {
        let root = Folder::new();
        let daemon = Daemon::start(root.path(), &[]);
        for name in ["first", "second"] {
            let reply = daemon.ask("POST", "/v1/pods", &pod(name, "cpu: 4, memory: 1Gi"));
            assert_eq!(reply.status, 200, "{}", reply.body);
        }
        let listed = daemon.pods();
        daemon.kill();
        let before = STATE.map(|file| fs::read(root.path().join(file)).ok());

        for file in STATE {
            replace(&root.path().join(file), make);
        }
        let said = refused(root.path(), &["--strict"]);
        let named = format!("cpu_manager_state: it is {kind}, not a regular file");
        assert!(said.contains(&named), "{kind}: {said}");

        let daemon = Daemon::start(root.path(), &[]);
        assert_eq!(daemon.pods(), listed, "{kind}: as the pods' own files have it");
        let log = daemon.log().join("\n");
        for file in STATE {
            assert!(log.contains(file), "{file}: {log}");
        }
        assert!(log.contains(&format!("it is {kind}, not a regular file")), "{log}");
        daemon.kill();
        for (file, before) in STATE.iter().zip(&before).take(2) {
            assert_eq!(&fs::read(root.path().join(file)).ok(), before, "{kind}: {file}");
            let aside = root.path().join(format!("{file}.bak-1"));
            let about = fs::metadata(&aside).unwrap();
            assert!(!about.is_file(), "{kind}: what was there is kept");
            assert!(!about.is_dir() || fs::read(aside.join("inside")).unwrap() == b"kept");
        }

        // A pod's own file: the pod keeps what it holds, by the state files.
        let own = root.path().join("topolet/pods/default_first.json");
        assert!(own.is_file());
        replace(&own, make);
        let daemon = Daemon::start(root.path(), &[]);
        let now = daemon.pods();
        let of = |listed: &str, pod: &str| -> Vec<String> {
            let line = listed.lines().find(|line| line.contains(pod)).unwrap();
            line.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(of(&now, "second"), of(&listed, "second"), "{kind}");
        let first = now.lines().find(|line| line.contains("first")).unwrap();
        assert!(first.contains("Quarantined") && first.contains("1-2,49-50"), "{kind}: {now}");
    }
}

/// The files that a daemon keeps beside the state of pods.
const OWN: [&str; 2] = ["cgroup_partitions.json", "moved_interrupts.json"];

#[test]
fn a_node_starts_whatever_is_in_the_place_of_its_own_files() {
    let huge: Make = |path| fs::File::create(path).unwrap().set_len((64 << 20) + 1).unwrap();
    let larger = ("larger than 64 MiB", huge);
    for (kind, make) in KINDS.into_iter().chain([larger]) {
        let root = Folder::new();
        for file in OWN {
            make(&root.path().join(file));
        }
        let daemon = Daemon::start(root.path(), &[]);
        // It answers once it has looked at all files.
        daemon.pods();
        let log = daemon.log().join("\n");
        for file in OWN {
            assert!(log.contains(&format!("{file}.bak-1")), "{kind}: {log}");
        }
        assert!(log.contains(&format!("it is {kind}")), "{kind}: {log}");
        daemon.kill();
        for file in OWN {
            let about = fs::metadata(root.path().join(format!("{file}.bak-1"))).unwrap();
            assert!(!about.is_file() || about.len() > 64 << 20, "{kind}: what was there is kept");
            assert!(!root.path().join(file).exists(), "{kind}");
        }
    }
}

/// A pipe in the place of the mark of removed folders is a mark, and never waited for.
#[test]
fn a_pipe_or_a_directory_marks_that_files_are_rewritten() {
    for (kind, make) in &KINDS[..2] {
        let root = Folder::new();
        let daemon = Daemon::start(root.path(), &[]);
        let reply = daemon.ask("POST", "/v1/pods", &pod("first", "cpu: 4, memory: 1Gi"));
        assert_eq!(reply.status, 200, "{}", reply.body);
        daemon.kill();
        make(&root.path().join("topolet/pods-are-rewritten"));
        let daemon = Daemon::start(root.path(), &[]);
        assert!(daemon.pods().contains("first"), "{kind}");
        assert!(!root.path().join("topolet/pods-are-rewritten").exists(), "{kind}");
    }
}

#[test]
fn a_token_that_no_request_can_send_is_refused_and_one_for_all_is_named() {
    let root = Folder::new();
    let token = root.path().join("token");
    let listen = ["--tcp", "127.0.0.1:0", "--token-file", token.to_str().unwrap()];
    symlink("/dev/zero", &token).unwrap();
    let said = refused(&root.path().join("root"), &listen);
    assert!(said.contains("is a character device: expected a regular file or a pipe"), "{said}");
    fs::remove_file(&token).unwrap();
    fs::write(&token, [0; 32]).unwrap();
    let said = refused(&root.path().join("root"), &listen);
    assert!(said.contains("its first line has control characters, which no request can send"), "{said}");

    fs::write(&token, "0123456789abcdef\n").unwrap();
    for (mode, is_named) in [(0o644, true), (0o640, false)] {
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        let daemon = Daemon::start(&root.path().join("root"), &listen);
        daemon.pods();
        let log = daemon.log().join("\n");
        assert_eq!(log.contains("can be read by every user of this host: `chmod o-r "), is_named, "{log}");
        daemon.kill();
    }
}

/// An allocation that fails, or a thread that does not start, ends the process without a message.
#[test]
fn too_small_an_address_space_is_refused() {
    let root = Folder::new();
    for kib in [600_000, 1_100_000] {
        let serve = format!(
            "ulimit -v {kib}; exec {} serve --machine {MACHINE} --root {}",
            env!("CARGO_BIN_EXE_topolet"),
            root.path().display()
        );
        let output = Command::new("bash").args(["-c", &serve]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let limited = format!("error: the address space of this process is limited to {} MiB", kib >> 10);
        assert!(said.starts_with(&limited), "{said}");
    }
}

#[test]
fn what_a_daemon_is_given_may_not_be_a_named_pipe() {
    let folder = Folder::new();
    let root = folder.path().join("root");
    let pipe = folder.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let named = pipe.to_str().unwrap();
    for option in ["--config", "--topolet-config", "--devices", "--token-file"] {
        let mut arguments = vec![option, named];
        if option == "--token-file" {
            arguments.extend(["--tcp", "127.0.0.1:0"]);
        }
        let said = refused(&root, &arguments);
        assert!(said.contains(&format!("{option} {named} is a named pipe")), "{said}");
    }
    fs::create_dir(&root).unwrap();
    let lock = root.join(".topolet.lock");
    mkfifo(&lock, Mode::S_IRWXU).unwrap();
    let said = refused(&root, &[]);
    assert!(said.contains(".topolet.lock: it is a pipe, not a regular file"), "{said}");

    // A shell's pipe has its writer already.
    let serve = format!(
        "exec {} serve --machine {MACHINE} --root {} --config <(echo nonsense: true)",
        env!("CARGO_BIN_EXE_topolet"),
        root.display()
    );
    let output = Command::new("bash").args(["-c", &serve]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("kind"), "it has been read: {said}");
}

#[test]
fn a_manifest_that_becomes_something_else_holds_back_its_pods() {
    let (root, manifests) = (Folder::new(), Folder::new());
    let file = manifests.path().join("one.yaml");
    fs::write(manifests.path().join("other.yaml"), pod("other", "cpu: 2, memory: 1Gi")).unwrap();
    fs::create_dir(manifests.path().join("folder")).unwrap();
    fs::write(&file, pod("one", "cpu: 2, memory: 1Gi")).unwrap();
    let arguments = ["--manifests", manifests.path().to_str().unwrap()];
    let mut daemon = Daemon::start(root.path(), &arguments);
    for (kind, make) in KINDS.into_iter().take(4) {
        let new = manifests.path().join(".new");
        make(&new);
        fs::remove_file(&file).unwrap();
        fs::rename(&new, &file).unwrap();
        let not_ready = |daemon: &Daemon| {
            until("a reason", || daemon.try_get("/readyz").filter(|reply| reply.status == 503)).message()
        };
        let said = until("its kind", || {
            Some(daemon.get("/readyz").message()).filter(|said| said.contains("not a regular file"))
        });
        assert!(said.contains(&format!("manifest one.yaml cannot be used: it is {kind}")), "{said}");
        let listed = daemon.pods();
        assert!(listed.contains(" one ") && listed.contains(" other "), "{kind}: {listed}");
        // Nor at the start.
        daemon.kill();
        daemon = Daemon::watching(root.path(), manifests.path());
        until("the manifests", || {
            daemon.get("/readyz").message().contains("not a regular file").then_some(())
        });
        assert!(not_ready(&daemon).contains(kind));
        assert!(daemon.pods().contains(" one "), "{kind}");
        if fs::metadata(&file).unwrap().is_dir() {
            fs::remove_dir_all(&file).unwrap();
        } else {
            fs::remove_file(&file).unwrap();
        }
        fs::write(&file, pod("one", "cpu: 2, memory: 1Gi")).unwrap();
        until("readiness", || (daemon.get("/readyz").status == 200).then_some(()));
    }
}

#[test]
fn what_is_watched_is_never_waited_for() {
    let (root, own) = (Folder::new(), Folder::new());
    Daemon::start(root.path(), &[]).kill();
    let socket = own.path().join("observe.sock");
    let watching = ["--socket", socket.to_str().unwrap()];
    let watcher = Daemon::observe(root.path(), &watching).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let state = root.path().join("memory_manager_state");
    for (kind, make) in KINDS.into_iter().take(1) {
        replace(&state, make);
        let said = until("a reason", || {
            watcher.try_get("/readyz").filter(|reply| reply.status == 503).map(|reply| reply.message())
        });
        assert!(said.contains(&format!("memory_manager_state: it is {kind}, not a regular file")), "{said}");
    }
    assert!(fs::metadata(&state).unwrap().file_type().is_fifo(), "nothing is changed");
    drop(watcher);
    let said = refused(root.path(), &["--observe", "--socket", socket.to_str().unwrap()]);
    assert!(said.contains("it is a pipe, not a regular file"), "{said}");
    // A configuration that is no file is not passed over.
    fs::remove_file(&state).unwrap();
    fs::create_dir(root.path().join("config.yaml")).unwrap();
    let said = refused(root.path(), &["--observe", "--socket", socket.to_str().unwrap()]);
    assert!(said.contains("config.yaml is a folder"), "{said}");
}

#[test]
fn a_command_reads_pipes_that_it_is_given() {
    let admit = format!("{} admit --machine {MACHINE} --config pinned -f", env!("CARGO_BIN_EXE_topolet"));
    let manifest = pod("one", "cpu: 2, memory: 1Gi");
    for how in ["<(cat)", "/dev/stdin", "-"] {
        let command = format!("{admit} {how}");
        let mut child = Command::new("bash")
            .args(["-c", &command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), manifest.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{how}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("default/one"), "{how}");
    }

    // A named one, and a directory without manifests.
    let folder = Folder::new();
    let pipe = folder.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let of = |path: &Path| Command::new("sh").args(["-c", &format!("{admit} {}", path.display())]).output();
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| of(&pipe).unwrap());
        fs::write(&pipe, manifest).unwrap();
        assert!(String::from_utf8(reads.join().unwrap().stdout).unwrap().contains("default/one"));
    });
    let said = String::from_utf8(of(folder.path()).unwrap().stderr).unwrap();
    let expected = format!("folder {} has no .yaml, .yml or .json file", folder.path().display());
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn a_root_that_is_mounted_read_only_is_said_to_be_and_can_be_watched() {
    let (root, own) = (Folder::new(), Folder::new());
    Daemon::start(root.path(), &[]).kill();
    let mounted = |command: &str| {
        let script = format!(
            "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" || exit 9; exec timeout -s KILL 60 {command}"
        );
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", &script]).arg(root.path()).stderr(Stdio::piped());
        shell
    };
    let serve = format!("{} serve --machine {MACHINE} --root \"$0\"", env!("CARGO_BIN_EXE_topolet"));
    let output = mounted(&serve).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if output.status.code() != Some(1) || said.contains("unshare") {
        println!("skipped: only root can mount: {said}");
        return;
    }
    assert!(said.contains("is on a file system that is mounted read-only"), "{said}");
    let socket = own.path().join("observe.sock");
    let mut watcher = mounted(&format!("{serve} --observe --socket {}", socket.display())).spawn().unwrap();
    until("its socket", || socket.exists().then_some(()));
    let listed = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["get", "pods", "--socket", socket.to_str().unwrap()])
        .output()
        .unwrap();
    // `timeout` hands it on.
    assert!(Command::new("kill").arg(watcher.id().to_string()).status().unwrap().success());
    watcher.wait().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
}
