//! Plugins of others as programs, which see this test's folder where they expect the kubelet's.
#![allow(unreachable_pub, reason = "each test uses its part")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const KUBELETS: &str = "/var/lib/kubelet/device-plugins";

/// What `cargo xtask plugins` has built.
pub fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins").join(name)
}

pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/plugins/python/scripted.py")
}

/// Why this cannot be tested here; in CI it has to be.
pub fn missing() -> Option<String> {
    let programs = ["sample-device-plugin", "scripted", "podresources", "python/bin/python"];
    let absent: Vec<&str> = programs.into_iter().filter(|name| !built(name).exists()).collect();
    let why = if absent.is_empty() {
        let folder = std::env::temp_dir();
        let tried = std::thread::spawn(move || namespace(&folder)).join().unwrap();
        tried.err().map(|error| format!("no namespace of mounts: {error}"))
    } else {
        Some(format!("not built by `cargo xtask plugins`: {}", absent.join(", ")))
    };
    assert!(why.is_none() || std::env::var_os("CI").is_none(), "{why:?}");
    why
}

/// Puts `folder` where plugins expect the kubelet's, for this thread and what it starts.
fn namespace(folder: &Path) -> nix::Result<()> {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    if !Path::new(KUBELETS).exists() {
        // Where there is no kubelet, its folder is made on a separate file system.
        mount(Some("none"), "/var/lib", Some("tmpfs"), MsFlags::empty(), NONE)?;
        std::fs::create_dir_all(KUBELETS).map_err(|_| nix::Error::EACCES)?;
    }
    mount(Some(folder), KUBELETS, NONE, MsFlags::MS_BIND, NONE)
}

/// A program that runs until it is dropped, which kills it.
pub struct Program(Child);

impl Program {
    pub fn start(folder: &Path, mut command: Command) -> Self {
        let folder = folder.to_path_buf();
        let started = std::thread::spawn(move || {
            namespace(&folder).unwrap();
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
        });
        Self(started.join().unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the client of the pod resources service prints.
pub fn told(socket: &Path, question: &[&str]) -> Vec<String> {
    let mut client = Command::new(built("podresources"));
    let mut asked = client.arg(socket).args(question).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    asked.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(asked.wait().unwrap().success(), "{question:?}");
    text.lines().map(str::to_owned).collect()
}
