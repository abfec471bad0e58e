//! Sockets and folders of a daemon that another process removes, and their permissions.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::daemon::{Daemon, Folder, MACHINE, Reply, over_tcp, pod, until};
use socket2::{Domain, SockAddr, Socket, Type};

const PLUGINS: &str = "device-plugins/kubelet.sock";
const PODS: &str = "pod-resources/kubelet.sock";

/// The kubelet's state files and the pods' own.
fn files(root: &Path) -> BTreeMap<String, String> {
    let state = ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];
    let pods = fs::read_dir(root.join("topolet/pods")).into_iter().flatten();
    let pods = pods.map(|entry| format!("topolet/pods/{}", entry.unwrap().file_name().display()));
    let names = state.map(str::to_owned).into_iter().chain(pods);
    names.filter_map(|name| Some((name.clone(), fs::read_to_string(root.join(name)).ok()?))).collect()
}

/// Removes a folder in which a daemon makes its files again at the same time.
fn remove(folder: &Path) {
    until("the end of a folder", || match fs::remove_dir_all(folder) {
        Ok(()) => Some(()),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => None,
        Err(error) => panic!("{}: {error}", folder.display()),
    });
}

fn admit(daemon: &Daemon, name: &str, limits: &str) {
    let reply = daemon.ask("POST", "/v1/pods", &pod(name, limits));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

/// A plugin that registers at the socket that is there now, until that is heard of.
fn registers(root: &Path, daemon: &Daemon, name: &str) -> Plugin {
    let (socket, resource) = (format!("{name}.sock"), format!("example.com/{name}"));
    let folder = root.join("device-plugins");
    let plugin = Plugin::listen(&folder.join(&socket), Script::default(), vec![device("d0", &[0])]);
    register(&root.join(PLUGINS), request(&socket, &resource)).unwrap();
    let listed = format!("topolet_free_devices{{numa_node=\"0\",resource=\"{resource}\"}} 1");
    until("devices", || daemon.get("/metrics").body.contains(&listed).then_some(()));
    plugin
}

#[test]
fn sockets_are_made_again_when_they_vanish() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let _first = registers(root.path(), &daemon, "first");
    for socket in ["topolet.sock", PLUGINS, PODS] {
        let path = root.path().join(socket);
        fs::remove_file(&path).unwrap();
        until("its return", || UnixStream::connect(&path).ok());
    }
    let _second = registers(root.path(), &daemon, "second");
    admit(&daemon, "both", "cpu: 2, memory: 1Gi, example.com/first: 1, example.com/second: 1");
    until("readiness", || (daemon.get("/readyz").status == 200).then_some(()));
    let told = daemon.log().iter().filter(|line| line.contains("made again")).count();
    assert_eq!(told, 3, "{:?}", daemon.log());

    // One that cannot be made again.
    let path = root.path().join(PLUGINS);
    fs::remove_file(&path).unwrap();
    fs::create_dir_all(path.join("in the way")).unwrap();
    let said = until("a reason", || {
        daemon.try_get("/readyz").filter(|reply| reply.status == 503).map(|reply| reply.message())
    });
    assert!(said.contains(&format!("socket {} is not served", path.display())), "{said}");
    until("a line", || daemon.log().iter().any(|line| line.contains("not served any more")).then_some(()));
    fs::remove_dir_all(&path).unwrap();
    until("readiness", || (daemon.get("/readyz").status == 200).then_some(()));
    until("its return", || UnixStream::connect(&path).ok());
}

/// A listener of another process' kind at a path, in place of what was there.
fn taken(path: &Path) -> UnixListener {
    // Between the binding of a socket and its listening a daemon would take it for one without a process.
    let aside = path.with_extension("aside");
    let other = UnixListener::bind(&aside).unwrap();
    fs::rename(aside, path).unwrap();
    other
}

/// The same with a full backlog, and the connection that fills it.
fn taken_and_full(path: &Path) -> (Socket, UnixStream) {
    fs::remove_file(path).unwrap();
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(path).unwrap()).unwrap();
    socket.listen(0).unwrap();
    (socket, UnixStream::connect(path).unwrap())
}

/// What the daemon answers on TCP about its readiness.
fn readiness(address: &str) -> Reply {
    over_tcp(address, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap()
}

/// Waits until the daemon is not ready; the reason.
fn why_not_ready(address: &str) -> String {
    until("a reason", || Some(readiness(address)).filter(|reply| reply.status == 503)).message()
}

#[test]
fn a_daemon_whose_socket_another_process_serves_is_not_ready() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &["--tcp", "127.0.0.1:0"]);
    let address = daemon.tcp_address();
    for socket in ["topolet.sock", PLUGINS, PODS] {
        let path = root.path().join(socket);
        let other = taken(&path);
        let said = why_not_ready(&address);
        assert!(said.contains(&format!("socket {} is not served", path.display())), "{said}");
        drop(other);
        until("readiness", || (readiness(&address).status == 200).then_some(()));
        assert!(UnixStream::connect(&path).is_ok(), "it is made again");
        // A process that accepts nothing is not waited for.
        let other = taken_and_full(&path);
        why_not_ready(&address);
        drop(other);
        until("readiness", || (readiness(&address).status == 200).then_some(()));
    }

    // It is the same socket again if it is moved and moved back.
    let (path, elsewhere) = (root.path().join(PODS), root.path().join("elsewhere"));
    fs::rename(&path, &elsewhere).unwrap();
    fs::create_dir(&path).unwrap();
    why_not_ready(&address);
    fs::remove_dir(&path).unwrap();
    fs::rename(&elsewhere, &path).unwrap();
    until("readiness", || (readiness(&address).status == 200).then_some(()));
}

#[test]
fn the_end_of_a_daemon_leaves_sockets_of_others() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &["--tcp", "127.0.0.1:0"]);
    let paths = ["topolet.sock", PLUGINS, PODS].map(|socket| root.path().join(socket));
    let _others = paths.each_ref().map(|path| taken(path));
    why_not_ready(&daemon.tcp_address());
    assert!(daemon.terminate());
    for path in &paths {
        assert!(UnixStream::connect(path).is_ok(), "{}", path.display());
    }
}

#[test]
fn a_socket_of_a_process_that_accepts_nothing_is_not_replaced_at_the_start() {
    for socket in ["topolet.sock", PLUGINS] {
        let root = Folder::new();
        Daemon::start(root.path(), &[]).kill();
        let _other = taken_and_full(&root.path().join(socket));
        let mut daemon = Command::new("timeout");
        daemon.args(["-s", "KILL", "20", env!("CARGO_BIN_EXE_topolet"), "serve", "--machine", MACHINE]);
        let output = daemon.args(["--config", "pinned", "--root"]).arg(root.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{socket}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(socket) && said.contains("another process"), "{said}");
    }
}

#[test]
fn a_watcher_whose_socket_is_gone_is_not_ready() {
    let (root, own) = (Folder::new(), Folder::new());
    Daemon::start(root.path(), &[]).kill();
    let socket = own.path().join("observe.sock");
    let watcher =
        Daemon::observe(root.path(), &["--socket", socket.to_str().unwrap(), "--tcp", "127.0.0.1:0"]);
    let address = watcher.tcp_address();
    until("readiness", || (readiness(&address).status == 200).then_some(()));
    let other = taken(&socket);
    let said = why_not_ready(&address);
    assert!(said.contains(&format!("socket {} is not served", socket.display())), "{said}");
    drop(other);
    until("readiness", || (readiness(&address).status == 200).then_some(()));
    assert!(UnixStream::connect(&socket).is_ok(), "it is made again");
}

#[test]
fn folders_that_are_removed_are_made_again_with_what_was_in_them() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let _plugin = registers(root.path(), &daemon, "vf");
    admit(&daemon, "one", "cpu: 2, memory: 1Gi, example.com/vf: 1");
    admit(&daemon, "two", "cpu: 4, memory: 1Gi");
    let before = files(root.path());
    for folder in ["topolet", "pod-resources", "plugins_registry"] {
        remove(&root.path().join(folder));
        until("the folder", || root.path().join(folder).is_dir().then_some(()));
        until("its files", || (files(root.path()) == before).then_some(()));
    }
    until("readiness", || (daemon.get("/readyz").status == 200).then_some(()));
    until("the socket", || UnixStream::connect(root.path().join(PODS)).ok());
    // Plugins lose theirs with the folder, and come again.
    remove(&root.path().join("device-plugins"));
    let checkpoint = root.path().join("device-plugins/kubelet_internal_checkpoint");
    until("the state of devices", || fs::read_to_string(&checkpoint).ok().filter(|text| text.contains("d0")));
    until("the socket", || UnixStream::connect(root.path().join(PLUGINS)).ok());
    let listed = daemon.pods();
    daemon.kill();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(daemon.pods(), listed);
    daemon.kill();

    // No daemon was running to write it again.
    remove(&root.path().join("topolet"));
    let said = refused("022", root.path());
    assert!(said.contains("has no folder topolet/pods, and 2 pods hold something"), "{said}");
    assert!(said.contains("If a kubelet runs there") && said.contains("the folder was removed"), "{said}");
}

/// A daemon that stops between the making of a removed folder and the last of its files leaves a mark, an empty folder,
/// or one with some of the files. The next takes no pod for ended: it quarantines those whose files are not there.
#[test]
fn pods_whose_files_were_not_written_again_are_quarantined_at_the_next_start() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    admit(&daemon, "one", "cpu: 2, memory: 1Gi");
    admit(&daemon, "two", "cpu: 4, memory: 1Gi");
    let before = files(root.path());
    let mark = root.path().join("topolet/pods-are-rewritten");
    remove(&root.path().join("topolet"));
    until("its files", || (files(root.path()) == before).then_some(()));
    until("the end of the mark", || (!mark.exists()).then_some(()));
    daemon.kill();
    let pods: Vec<&String> = before.keys().filter(|name| name.starts_with("topolet/pods")).collect();
    assert_eq!(pods.len(), 2);
    let state = |files: BTreeMap<String, String>| -> BTreeMap<String, String> {
        files.into_iter().filter(|(name, _)| !name.starts_with("topolet")).collect()
    };
    for (lost, pod) in (1..).zip(pods) {
        fs::write(&mark, "").unwrap();
        fs::remove_file(root.path().join(pod)).unwrap();
        let left = files(root.path());
        let output = masked("022", root.path()).arg("--strict").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("topolet stopped before it had written all files again"), "{said}");
        assert_eq!(files(root.path()), left);

        let daemon = Daemon::start(root.path(), &[]);
        let listed = daemon.pods();
        assert_eq!(listed.matches("default ").count(), 2, "{listed}");
        assert_eq!(listed.matches("Quarantined").count(), lost, "{listed}");
        assert!(!mark.exists());
        daemon.kill();
        assert_eq!(state(files(root.path())), state(before.clone()), "they keep what they hold");
    }
}

/// The command of a daemon that starts under a mask.
fn masked(mask: &str, root: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {mask}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_topolet")]);
    command
        .args(["serve", "--machine", MACHINE, "--config", "pinned", "--cgroup-root", "off", "--root"])
        .arg(root);
    command
}

fn refused(mask: &str, root: &Path) -> String {
    let output = masked(mask, root).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn permissions_do_not_depend_on_the_mask() {
    let expected = [
        ("", 0o750),
        ("device-plugins", 0o755),
        ("plugins_registry", 0o750),
        ("pod-resources", 0o750),
        ("topolet", 0o750),
        ("topolet/pods", 0o750),
        (PLUGINS, 0o755),
        (PODS, 0o755),
        (".topolet.lock", 0o600),
        ("cpu_manager_state", 0o600),
    ];
    for mask in ["000", "022", "077"] {
        let parent = Folder::new();
        let root = parent.path().join("root");
        let daemon = Daemon::from_command(&mut masked(mask, &root), &root);
        until("it is ready", || daemon.try_get("/readyz").filter(|reply| reply.status == 200));
        for (path, mode) in expected {
            let found = fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(format!("{found:o}"), format!("{mode:o}"), "mask {mask}: {path}");
        }
        // Made again, they are the same; with the root, too.
        remove(&root);
        for (path, mode) in expected.into_iter().filter(|(path, _)| *path != ".topolet.lock") {
            until("its permissions", || {
                let found = fs::metadata(root.join(path)).ok()?.permissions().mode() & 0o7777;
                (found == mode).then_some(())
            });
        }
        fs::remove_file(root.join(PLUGINS)).unwrap();
        remove(&root.join("plugins_registry"));
        for (path, mode) in [(PLUGINS, 0o755), ("plugins_registry", 0o750)] {
            until("its permissions", || {
                let found = fs::metadata(root.join(path)).ok()?.permissions().mode() & 0o7777;
                (found == mode).then_some(())
            });
        }
    }
}

#[test]
fn folders_that_others_can_write_to_are_refused() {
    let root = Folder::new();
    Daemon::start(root.path(), &[]).kill();
    for folder in ["device-plugins", "plugins_registry", "pod-resources", "topolet", "topolet/pods"] {
        let path = root.path().join(folder);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let said = refused("022", root.path());
        let shown = path.display();
        assert!(
            said.contains(&format!("folder {shown} can be written by everybody: `chmod o-w {shown}`")),
            "{said}"
        );
        fs::set_permissions(&path, before).unwrap();
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
            assert!(refused("022", root.path()).contains(&format!("{shown} belongs to user 12345")));
            std::os::unix::fs::chown(&path, Some(0), Some(12345)).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o770)).unwrap();
            assert!(refused("022", root.path()).contains(&format!("{shown} can be written by group 12345")));
            std::os::unix::fs::chown(&path, Some(0), Some(0)).unwrap();
        } else {
            println!("skipped: only root can give a folder away");
        }
    }
    Daemon::start(root.path(), &[]).kill();
}
