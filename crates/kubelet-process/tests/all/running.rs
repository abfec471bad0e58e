//! Processes that run here.

use std::env;
use std::fs;
use std::io::{Read as _, stdin};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use kubelet_process::{MountNamespace, Program, find};
use tempfile::TempDir;

/// In the environment of a copy of this program: it waits until its input ends.
const WAITS: &str = "KUBELET_PROCESS_WAITS";

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new(program);
    command.args(arguments).env(WAITS, "1").stdin(Stdio::piped()).stdout(Stdio::null());
    Running(command.spawn().unwrap())
}

#[test]
fn a_copy_of_this_program_called_kubelet_is_found_and_a_script_is_not() {
    if env::var_os(WAITS).is_some() {
        let _ = stdin().read_to_end(&mut Vec::new());
        return;
    }
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("kubelet");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    let script = folder.path().join("script/kubelet");
    fs::create_dir(script.parent().unwrap()).unwrap();
    fs::write(&script, "#!/bin/sh\nread line\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();

    let kubelet = start(&program, &["--nocapture"]);
    let script = start(&script, &[]);
    let found = find(Path::new("/")).unwrap();
    assert!(found.kubelets.iter().all(|one| one.pid != script.0.id()), "{found:?}");
    let one = found.kubelets.iter().find(|one| one.pid == kubelet.0.id()).unwrap();
    assert_eq!(one.program, Program::Kubelet);
    assert_eq!(one.arguments.as_ref().unwrap(), &["--nocapture"]);
    assert_eq!(one.user, Some(nix::unistd::geteuid().as_raw()));
    assert_eq!((one.mount_namespace, one.files.as_path()), (MountNamespace::Same, Path::new("/")));
    assert_eq!(one.executable.as_deref().unwrap(), fs::canonicalize(&program).unwrap());
    assert_eq!(one.release, None, "it is no program of Go");
    // The time of the boot moves with the clock, and is whole seconds.
    let age = SystemTime::now().duration_since(one.started.unwrap()).unwrap_or_default();
    assert!(age < Duration::from_mins(10), "{age:?}");

    // The executable is deleted, and still its name counts.
    fs::remove_file(&program).unwrap();
    let found = find(Path::new("/")).unwrap();
    let one = found.kubelets.iter().find(|one| one.pid == kubelet.0.id()).unwrap();
    assert!(one.executable.as_deref().unwrap().ends_with("kubelet"));

    let pid = kubelet.0.id();
    drop(kubelet);
    assert!(find(Path::new("/")).unwrap().kubelets.iter().all(|one| one.pid != pid));
}
