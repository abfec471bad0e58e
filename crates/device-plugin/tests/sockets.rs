//! The sockets themselves: who may, what is removed, what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails that way")]

#[path = "all/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use device_plugin::{Folders, Setup, StartError};
use support::{Folder, Node};

fn mode(path: &Path) -> String {
    format!("{:o}", fs::symlink_metadata(path).unwrap().permissions().mode())
}

/// What the process' mask leaves of a mode. Read from the kernel, since setting it would be felt by other tests.
fn masked(mode: u32) -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap().trim();
    mode & !u32::from_str_radix(mask, 8).unwrap()
}

#[test]
fn folders_and_sockets_have_the_kubelets_permissions() {
    let folder = Folder::new();
    let Folders { device_plugins, plugins_registry, pod_resources } = folder.folders();
    let _node = Node::start(&folder);
    assert_eq!(mode(&device_plugins), format!("{:o}", 0o40_000 | masked(0o755)));
    assert_eq!(mode(&plugins_registry), format!("{:o}", 0o40_000 | masked(0o750)));
    assert_eq!(mode(&pod_resources), format!("{:o}", 0o40_000 | masked(0o750)));
    for socket in [folder.kubelet_socket(), folder.pod_resources_socket()] {
        assert_eq!(mode(&socket), format!("{:o}", 0o140_000 | masked(0o777)), "{}", socket.display());
    }
}

#[test]
fn every_socket_of_the_folder_is_removed_and_nothing_else() {
    let folder = Folder::new();
    let plugins = folder.folders().device_plugins;
    fs::create_dir_all(plugins.join("below")).unwrap();
    drop(UnixListener::bind(plugins.join("stale.sock")).unwrap());
    drop(UnixListener::bind(plugins.join("below/stale.sock")).unwrap());
    // Plugins that are still there are to notice, and register again.
    let _alive = UnixListener::bind(plugins.join("alive.sock")).unwrap();
    std::os::unix::fs::symlink("alive.sock", plugins.join("leads-to-a-socket")).unwrap();
    fs::write(plugins.join("kubelet_internal_checkpoint"), "{}").unwrap();
    drop(UnixListener::bind(folder.kubelet_socket()).unwrap());
    let node = Node::start(&folder);
    let names = |folder: &Path| {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let left = names(&plugins);
    assert!(
        left.contains(&"kubelet.sock".to_owned()) && !left.contains(&"alive.sock".to_owned()),
        "{left:?}"
    );
    assert!(left.contains(&"kubelet_internal_checkpoint".to_owned()), "{left:?}");
    assert!(!left.contains(&"stale.sock".to_owned()), "{left:?}");
    assert_eq!(names(&plugins.join("below")), ["stale.sock"]);
    node.stop();
    assert!(!folder.kubelet_socket().exists(), "an orderly stop removes the socket");
}

#[test]
fn it_does_not_start_where_somebody_serves_and_removes_nothing() {
    for taken in ["device-plugins", "pod-resources"] {
        let folder = Folder::new();
        let served = folder.path().join(taken).join("kubelet.sock");
        let plugin = folder.folders().device_plugins.join("plugin.sock");
        fs::create_dir_all(served.parent().unwrap()).unwrap();
        fs::create_dir_all(plugin.parent().unwrap()).unwrap();
        let _kubelet = UnixListener::bind(&served).unwrap();
        let _plugin = UnixListener::bind(&plugin).unwrap();
        let error = Node::with(&support::setup(&folder)).err().expect("it does not start");
        assert!(matches!(&error, StartError::Served(path) if *path == served), "{error}");
        assert_eq!(error.to_string(), format!("{} is being served by another process", served.display()));
        assert!(plugin.exists() && served.exists(), "nothing is removed");
    }
}

#[test]
fn a_second_server_does_not_take_over_the_first_ones_socket() {
    let folder = Folder::new();
    let first = Node::start(&folder);
    assert!(matches!(Node::with(&support::setup(&folder)).err(), Some(StartError::Served(_))));
    first.stop();
    Node::start(&folder);
}

#[test]
fn a_process_that_accepts_nothing_serves_its_socket() {
    let folder = Folder::new();
    fs::create_dir_all(folder.folders().device_plugins).unwrap();
    let (_listener, _waiting) = stopped(&folder.kubelet_socket());
    let (sender, started) = std::sync::mpsc::channel();
    let setup = support::setup(&folder);
    std::thread::spawn(move || sender.send(Node::with(&setup).err()));
    let error = started.recv_timeout(support::PATIENCE).expect("the start does not wait for it");
    assert!(matches!(error, Some(StartError::Served(_))), "{error:?}");
}

/// A listener whose backlog is full, and the connection that fills it.
fn stopped(path: &Path) -> (socket2::Socket, UnixStream) {
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    socket.bind(&socket2::SockAddr::unix(path).unwrap()).unwrap();
    socket.listen(0).unwrap();
    (socket, UnixStream::connect(path).unwrap())
}

#[test]
fn a_stop_leaves_the_socket_of_another_process() {
    let folder = Folder::new();
    let node = Node::start(&folder);
    let sockets = [folder.kubelet_socket(), folder.pod_resources_socket()];
    // The next file may have the same number: its times are of a later tick of the kernel's clock.
    std::thread::sleep(Duration::from_millis(20));
    let others: Vec<UnixListener> = sockets
        .iter()
        .map(|path| {
            fs::remove_file(path).unwrap();
            UnixListener::bind(path).unwrap()
        })
        .collect();
    node.stop();
    for path in &sockets {
        assert!(UnixStream::connect(path).is_ok(), "{}", path.display());
    }
    drop(others);
}

#[test]
fn a_relative_folder_is_refused_in_the_kubelets_words() {
    let folders = Folders { device_plugins: PathBuf::from("relative"), ..Folder::new().folders() };
    let error = Node::with(&Setup::new(folders)).err().expect("it does not start");
    assert_eq!(
        error.to_string(),
        "failed to create plugin server: bad socketPath, must be an absolute path: relative/kubelet.sock"
    );
}

#[test]
fn what_cannot_be_made_is_named() {
    let folder = Folder::new();
    fs::write(folder.path().join("device-plugins"), "a file").unwrap();
    let error = Node::with(&support::setup(&folder)).err().expect("it does not start");
    let expected = format!("failed to create {}/device-plugins", folder.path().display());
    assert_eq!(error.to_string(), expected);
}
