//! Trees with a `proc` as the kernel would write it.

use crate::made_elf;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kubelet_process::{
    Found, KubeletProcess, MountNamespace, NamedBy, NoArguments, NotSeen, PidNamespace, Program, find,
};
use tempfile::TempDir;

/// The root of a machine with process 1.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(TempDir::new().unwrap());
        tree.write("proc/stat", "cpu  1 2 3\nbtime 1700000000\nprocesses 5\n");
        tree.process(1, "/usr/lib/systemd/systemd", b"/sbin/init\0");
        tree
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(target, path).unwrap();
    }

    fn process(&self, pid: u32, executable: &str, line: &[u8]) {
        self.write(&format!("proc/{pid}/cmdline"), line);
        self.write(&format!("proc/{pid}/comm"), "kubelet\n");
        self.stat(pid, "S");
        self.write(
            &format!("proc/{pid}/status"),
            format!("Name:\tkubelet\nNSpid:\t{pid}\nUid:\t0\t0\t0\t0\n"),
        );
        self.write(&format!("proc/{pid}/cgroup"), "0::/system.slice/kubelet.service\n");
        if !executable.is_empty() {
            self.link(&format!("proc/{pid}/exe"), executable);
        }
        self.link(&format!("proc/{pid}/ns/mnt"), "mnt:[4026531841]");
        self.link(&format!("proc/{pid}/ns/pid"), "pid:[4026531836]");
    }

    fn stat(&self, pid: u32, state: &str) {
        let zeros = "0 ".repeat(18);
        self.write(&format!("proc/{pid}/stat"), format!("{pid} (kube) let) {state} {zeros}12345 9 9\n"));
    }

    fn find(&self) -> Found {
        find(self.root()).unwrap()
    }

    /// The only kubelet.
    #[track_caller]
    fn only(&self) -> KubeletProcess {
        let Found { mut kubelets, not_seen } = self.find();
        assert_eq!((kubelets.len(), not_seen), (1, None));
        kubelets.remove(0)
    }

    #[track_caller]
    fn has_none(&self) {
        let Found { kubelets, not_seen } = self.find();
        assert!(kubelets.is_empty() && not_seen.is_none(), "{kubelets:?} {not_seen:?}");
    }
}

fn line(arguments: &str) -> Vec<u8> {
    let mut line = arguments.replace(' ', "\0").into_bytes();
    line.push(0);
    line
}

#[test]
fn a_kubelet_with_all_that_is_known_of_it() {
    let tree = Tree::new();
    tree.process(
        712,
        "/usr/bin/kubelet",
        &line("/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --v=2"),
    );
    let modules = "path\tk8s.io/kubernetes/cmd/kubelet\nmod\tk8s.io/kubernetes\t(devel)\t\n";
    let mut parts = vec![made_elf::build_info(modules)];
    parts.extend(made_elf::linked(&["v1.36.3"], 100));
    tree.write("usr/bin/kubelet", made_elf::elf(&parts));

    let kubelet = tree.only();
    assert_eq!((kubelet.pid, kubelet.program, kubelet.user), (712, Program::Kubelet, Some(0)));
    assert_eq!(kubelet.arguments.unwrap(), ["--config=/var/lib/kubelet/config.yaml", "--v=2"]);
    let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + 123_450);
    assert_eq!(kubelet.started, Some(started), "with 100 ticks a second");
    assert_eq!(kubelet.files, tree.root());
    assert_eq!(kubelet.mount_namespace, MountNamespace::Same);
    assert_eq!(kubelet.pid_namespace, PidNamespace::Same);
    assert_eq!(kubelet.cgroup.as_deref(), Some("/system.slice/kubelet.service"));
    assert_eq!(kubelet.executable.as_deref(), Some(Path::new("/usr/bin/kubelet")));
    assert_eq!(kubelet.release.as_deref(), Some("1.36.3"));
    assert_eq!(kubelet.data_dir, None);
}

#[test]
fn two_kubelets_in_the_order_of_their_ids() {
    let tree = Tree::new();
    tree.process(90_000, "/usr/bin/kubelet (deleted)", &line("kubelet --v=1"));
    tree.process(712, "/opt/kubelet-1.36.3", &line("/opt/kubelet-1.36.3"));
    tree.process(800, "/usr/sbin/sshd", &line("sshd: kubelet"));
    let pids: Vec<u32> = tree.find().kubelets.iter().map(|kubelet| kubelet.pid).collect();
    assert_eq!(pids, [712, 90_000]);
    assert_eq!(tree.find().kubelets[1].executable.as_deref(), Some(Path::new("/usr/bin/kubelet")));
}

#[test]
fn a_kubelet_in_a_container_has_its_files_elsewhere() {
    let tree = Tree::new();
    tree.process(712, "/usr/bin/kubelet", &line("/usr/bin/kubelet --config=/etc/config.yaml"));
    tree.link("proc/712/ns/mnt", "mnt:[4026532999]");
    tree.write("proc/712/status", "Uid:\t1000\t1001\t0\t0\nNSpid:\t712\t150\n");
    tree.write("proc/712/root/etc/real.yaml", "kind: KubeletConfiguration\n");
    tree.write("etc/real.yaml", "the host's\n");
    // An absolute link leads to the container's file.
    tree.link("proc/712/root/etc/config.yaml", "/etc/real.yaml");
    tree.link("proc/712/root/etc/outside.yaml", &("../".repeat(9) + "etc/hostname-of-nothing"));

    let kubelet = tree.only();
    assert_eq!(kubelet.mount_namespace, MountNamespace::Other);
    assert_eq!((kubelet.pid_namespace, kubelet.user), (PidNamespace::Below, Some(1001)));
    assert_eq!(kubelet.files, tree.root().join("proc/712/root"));
    let mut text = String::new();
    match kubelet.open(Path::new("/etc/config.yaml")) {
        Ok(mut file) => {
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "kind: KubeletConfiguration\n");
        }
        // A sandbox such as gVisor has no openat2.
        Err(error) => assert_eq!(error.raw_os_error(), Some(38), "{error}"),
    }
    assert!(kubelet.open(Path::new("/etc/outside.yaml")).is_err());
    assert!(kubelet.open(Path::new("/etc")).is_err(), "it is a folder");
}

#[test]
fn a_kubelet_in_a_chroot_has_its_files_there() {
    let tree = Tree::new();
    tree.process(712, "/srv/node/usr/bin/kubelet", &line("/usr/bin/kubelet"));
    tree.link("proc/1/root", "/");
    tree.link("proc/712/root", "/");
    assert_eq!(tree.only().files, tree.root());
    tree.link("proc/712/root", "/srv/node");
    assert_eq!(tree.only().files, tree.root().join("proc/712/root"));
}

#[test]
fn hyperkube_has_the_kubelets_arguments_behind_its_name() {
    let tree = Tree::new();
    tree.process(5, "/usr/bin/hyperkube", &line("/usr/bin/hyperkube kubelet --v=2"));
    let kubelet = tree.only();
    assert_eq!((kubelet.program, kubelet.arguments.unwrap()), (Program::Hyperkube, vec!["--v=2".to_owned()]));
}

#[test]
fn k3s_with_and_without_its_arguments() {
    let executable = "/srv/k3s/data/0123abcd/bin/k3s";
    let tree = Tree::new();
    tree.process(
        5,
        executable,
        &line("/usr/local/bin/k3s agent --kubelet-arg=cpu-manager-policy=static -d /data"),
    );
    let kubelet = tree.only();
    assert_eq!(kubelet.program, Program::K3s);
    assert_eq!(kubelet.default_config_dir(), Some(PathBuf::from("/data/agent/etc/kubelet.conf.d")));
    assert_eq!(kubelet.arguments.unwrap(), ["--cpu-manager-policy=static"]);

    // As it looks once it runs; kubectl is the same executable.
    tree.process(5, executable, b"/usr/local/bin/k3s server\0\0\0\0\0\0\0\0");
    tree.process(6, executable, &line("kubectl get nodes"));
    tree.process(7, executable, &line("containerd"));
    let kubelet = tree.only();
    assert!(matches!(kubelet.arguments, Err(NoArguments::Hidden { pid: 5 })), "{:?}", kubelet.arguments);
    assert_eq!(kubelet.default_config_dir(), Some(PathBuf::from("/srv/k3s/agent/etc/kubelet.conf.d")));
    assert_eq!(kubelet.data_dir.unwrap().named_by, NamedBy::Executable);
}

#[test]
fn kubelite_has_its_arguments_in_a_file() {
    let tree = Tree::new();
    let file = "var/snap/microk8s/9072/args/kubelet";
    let own = format!("/snap/microk8s/9072/kubelite --proxy-args-file=/a --kubelet-args-file=/{file}");
    tree.process(5, "/snap/microk8s/9072/kubelite", &line(&own));
    tree.write(file, "# ours\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n\n--v 2\n");
    let flags = ["--root-dir=/var/snap/microk8s/common/var/lib/kubelet", "--v", "2"];
    let arguments = |tree: &Tree| {
        let kubelet = tree.only();
        assert_eq!(kubelet.program, Program::Kubelite);
        kubelet.arguments
    };
    match arguments(&tree) {
        Err(NoArguments::Unreadable { source, .. }) if source.raw_os_error() == Some(38) => {
            println!("skipped: this kernel has no openat2");
            return;
        }
        found => assert_eq!(found.unwrap(), flags),
    }

    tree.write(file, vec![b'\n'; 1 << 20]);
    assert!(arguments(&tree).unwrap().is_empty());
    tree.write(file, vec![b'\n'; (1 << 20) + 1]);
    assert!(matches!(arguments(&tree), Err(NoArguments::FileTooLong { .. })));
    tree.write(file, b"--a=\xff\n");
    assert!(matches!(arguments(&tree), Err(NoArguments::NotUtf8 { pid: 5 })));
    fs::remove_file(tree.root().join(file)).unwrap();
    assert!(matches!(arguments(&tree), Err(NoArguments::Unreadable { .. })));

    // A user that is neither root nor the one who reads could name any file.
    tree.write(file, "--v 2\n");
    tree.write("proc/5/status", "Uid:\t4000000\t4000000\t4000000\t4000000\n");
    assert!(matches!(arguments(&tree), Err(NoArguments::OtherUser { pid: 5, .. })));
}

#[test]
fn other_programs_called_kubelet_are_left_out() {
    let tree = Tree::new();
    tree.process(2, "/usr/bin/dash", &line("/bin/sh /usr/bin/kubelet --v=2"));
    tree.process(3, "/usr/bin/vim", &line("vi kubelet"));
    tree.process(4, "/usr/bin/grep", &line("grep kubelet"));
    tree.process(5, "/usr/bin/sleep", &line("kubelet 600"));
    tree.process(6, "/usr/bin/rke2", b"/usr/bin/rke2 server\0\0\0");
    // A kernel thread, and a zombie.
    tree.process(7, "", b"");
    tree.process(8, "/usr/bin/kubelet", b"");
    tree.process(9, "/usr/bin/kubelet", &line("kubelet"));
    tree.stat(9, "Z");
    tree.process(10, "/usr/bin/kubelet", b"\0");
    tree.has_none();
}

#[test]
fn without_rights_the_name_counts_and_the_mounts_are_taken_for_the_same() {
    let tree = Tree::new();
    tree.process(5, "", &line("/usr/bin/kubelet --v=2"));
    tree.process(6, "", &line("vi kubelet"));
    fs::remove_file(tree.root().join("proc/5/ns/mnt")).unwrap();
    let kubelet = tree.only();
    assert_eq!((kubelet.executable, kubelet.release), (None, None));
    assert_eq!((kubelet.mount_namespace, kubelet.files.as_path()), (MountNamespace::Unknown, tree.root()));
    assert_eq!(kubelet.arguments.unwrap(), ["--v=2"]);
}

#[test]
fn a_megabyte_of_arguments_is_named_and_not_guessed() {
    let tree = Tree::new();
    let whole = format!("kubelet --v={}", "1".repeat((128 << 10) - 13));
    tree.process(5, "/usr/bin/kubelet", &line(&whole));
    assert_eq!(whole.len() + 1, 128 << 10);
    assert_eq!(tree.only().arguments.unwrap().len(), 1);
    tree.process(5, "/usr/bin/kubelet", &line(&format!("{whole}1")));
    assert!(matches!(tree.only().arguments, Err(NoArguments::TooLong { pid: 5 })));
    tree.process(5, "/usr/bin/kubelet", &line(&format!("kubelet {}", "--v=2 ".repeat(1 << 18))));
    let error = tree.only().arguments.unwrap_err().to_string();
    assert_eq!(error, "process 5 has more than 128 KiB of arguments, so its flags were not read");
}

#[test]
fn arguments_that_are_no_text_are_named() {
    let tree = Tree::new();
    tree.process(5, "/usr/bin/kubelet", b"/opt/\xff/kubelet\0--config=/\xff\xfe\0");
    tree.process(6, "/usr/bin/\u{e4}", b"\xff\xfe kubelet\0");
    assert!(matches!(tree.only().arguments, Err(NoArguments::NotUtf8 { pid: 5 })));
}

#[test]
fn a_process_that_is_not_complete_has_gaps() {
    let tree = Tree::new();
    tree.write("proc/5/cmdline", line("kubelet --v=2"));
    fs::remove_file(tree.root().join("proc/stat")).unwrap();
    let kubelet = tree.only();
    assert_eq!((kubelet.user, kubelet.started, kubelet.cgroup), (None, None, None));
    assert_eq!(kubelet.pid_namespace, PidNamespace::Unknown);
    // One that has ended.
    fs::create_dir_all(tree.root().join("proc/6")).unwrap();
    assert_eq!(tree.only().pid, 5);
    tree.write("proc/5/stat", "not a stat");
    assert_eq!(tree.only().started, None);
}

#[test]
fn a_tree_without_processes_has_no_kubelet() {
    let folder = TempDir::new().unwrap();
    let found = find(folder.path()).unwrap();
    assert!(found.kubelets.is_empty() && found.not_seen.is_none());
    fs::create_dir(folder.path().join("proc")).unwrap();
    fs::write(folder.path().join("proc/meminfo"), "MemTotal: 1 kB\n").unwrap();
    let found = find(folder.path()).unwrap();
    assert!(found.kubelets.is_empty() && found.not_seen.is_none());
    let found = find(&folder.path().join("missing")).unwrap();
    assert!(found.kubelets.is_empty() && found.not_seen.is_none());

    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("proc"), "").unwrap();
    let error = find(folder.path()).unwrap_err().to_string();
    let expected = format!("failed to list the processes in {}", folder.path().join("proc").display());
    assert_eq!(error, expected);
}

#[test]
fn why_processes_were_not_seen() {
    let tree = Tree::new();
    let check = |expected: NotSeen, text: &str| {
        let found = tree.find();
        assert_eq!((found.kubelets.len(), found.not_seen), (0, Some(expected)));
        let shown = expected.to_string();
        assert!(shown.contains(text) && !shown.contains('\n'), "{shown}");
    };
    // A folder in the place of a file is as unreadable for root as for others.
    for pid in [5, 6] {
        fs::create_dir_all(tree.root().join(format!("proc/{pid}/cmdline"))).unwrap();
    }
    check(NotSeen::Unreadable(2), "2 processes");
    fs::remove_dir_all(tree.root().join("proc/6")).unwrap();
    check(NotSeen::Unreadable(1), "one process ");
    fs::remove_dir_all(tree.root().join("proc/5")).unwrap();
    tree.link("proc/1/ns/pid", "pid:[4026532888]");
    check(NotSeen::PidNamespace, "hostPID");
    fs::remove_dir_all(tree.root().join("proc/1")).unwrap();
    tree.process(4711, "/usr/bin/bash", &line("bash"));
    check(NotSeen::OthersHidden, "hidepid");
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_block() {
    let tree = Tree::new();
    let pipe = tree.root().join("proc/5/cmdline");
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    tree.has_none();
}
