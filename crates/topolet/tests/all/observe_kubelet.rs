//! A watched kubelet is the one that runs: its root folder, its configuration, and the machine as it counts it. Another daemon
//! writes its files.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::daemon::{Daemon, Folder, MACHINE, pod, until};
use crate::machine_root::MachineRoot;

/// The kubelet's configuration under a policy. It looks at containers often.
fn config(policy: &str) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerReconcilePeriod: 100ms
reservedSystemCPUs: 0,24,48,72
memoryManagerPolicy: Static
evictionHard: {{memory.available: 1Gi}}
reservedMemory:
- {{numaNode: 0, limits: {{memory: 1Gi}}}}
topologyManagerPolicy: {policy}
"
    )
}

const ROOT: &str = "data/kubelet";
const NAME: &str = "/opt/kubelet.yaml of the kubelet with PID 4242";

/// A machine as folders, with or without a kubelet.
struct Machine(MachineRoot);

impl Machine {
    fn new() -> Self {
        Self(MachineRoot::new())
    }

    /// A kubelet runs there, with another root folder than usual and its configuration elsewhere.
    fn with_kubelet() -> Self {
        let machine = Self::new();
        machine.0.process(
            4242,
            "/usr/bin/kubelet",
            &format!("/usr/bin/kubelet --config=/opt/kubelet.yaml --root-dir=/{ROOT}"),
        );
        machine.0.write("opt/kubelet.yaml", &config("restricted"));
        fs::create_dir_all(machine.0.path(ROOT)).unwrap();
        machine
    }

    /// What writes the kubelet's files.
    fn kubelet(&self, own: &Folder) -> Daemon {
        let socket = own.path().join("kubelet.sock");
        let more = ["--socket", socket.to_str().unwrap()];
        let config = self.0.path("opt/kubelet.yaml");
        let (machine, config) = (self.0.root().to_str().unwrap(), config.to_str().unwrap());
        Daemon::spawn(machine, &self.0.path(ROOT), config, &more).at(&socket).ready()
    }

    /// A watcher of its kubelet.
    fn watch(&self, own: &Folder, more: &[&str]) -> Daemon {
        let socket = own.path().join("observe.sock");
        let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
        command.args(["serve", "--observe", "--cgroup-root", "off", "--machine"]).arg(self.0.root());
        command.arg("--socket").arg(&socket).args(more);
        Daemon::from_command(&mut command, own.path()).at(&socket)
    }

    /// Changes the memory of a NUMA node, and gives back what it was in KiB.
    fn set_memory(&self, node: u32, kib: impl Fn(u64) -> u64) {
        let path = self.0.path(&format!("sys/devices/system/node/node{node}/meminfo"));
        let text = fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|line| line.contains("MemTotal:")).unwrap();
        let before: u64 = line.split_whitespace().nth_back(1).unwrap().parse().unwrap();
        let now = line.replace(&before.to_string(), &kib(before).to_string());
        fs::write(&path, text.replace(line, &now)).unwrap();
    }
}

/// Writes state files under a configuration.
fn written(root: &Path, config: &str) {
    let own = Folder::new();
    let socket = own.path().join("kubelet.sock");
    let owner = Daemon::spawn(MACHINE, root, config, &["--socket", socket.to_str().unwrap()]);
    assert!(owner.at(&socket).ready().terminate());
}

fn configuration(watcher: &Daemon) -> String {
    let status = watcher.get("/v1/status").json("NodeStatus");
    status["node"]["configuration"].as_str().unwrap().to_owned()
}

fn is_logged(watcher: &Daemon, parts: &[&str]) -> bool {
    watcher.log().iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

#[test]
fn without_options_it_is_the_kubelet_that_runs() {
    let (machine, own) = (Machine::with_kubelet(), Folder::new());
    // A usual place that this kubelet does not read.
    machine.0.write("var/lib/kubelet/config.yaml", &config("none"));
    let kubelet = machine.kubelet(&own);
    assert_eq!(kubelet.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let watcher = machine.watch(&own, &[]).ready();
    assert_eq!(configuration(&watcher), NAME);
    assert!(watcher.get("/v1/state").body.contains("default_a"));
    let root = machine.0.path(ROOT).display().to_string();
    assert!(is_logged(&watcher, &["node is watched", &format!("root={root}"), NAME]), "{:?}", watcher.log());
    drop(watcher);
    let watcher = machine.watch(&own, &["--root", &format!("{root}/")]).ready();
    assert_eq!(configuration(&watcher), NAME, "it is that kubelet's root folder");
    drop(watcher);
    let given = machine.0.path("var/lib/kubelet/config.yaml").display().to_string();
    machine.0.write("var/lib/kubelet/config.yaml", &config("best-effort"));
    let watcher = machine.watch(&own, &["--config", &given]).ready();
    assert_eq!(configuration(&watcher), given);
}

#[test]
fn a_kubelet_that_does_not_run_any_more_has_no_rules() {
    let (machine, own) = (Machine::with_kubelet(), Folder::new());
    let kubelet = machine.kubelet(&own);
    let watcher = machine.watch(&own, &[]).ready();
    fs::remove_dir_all(machine.0.path("proc/4242")).unwrap();
    assert_eq!(kubelet.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    until("a pod", || watcher.get("/v1/state").body.contains("default_a").then_some(()));
    assert_eq!(watcher.get("/readyz").status, 200, "its files are known");

    // One started anew and has ended, as a kubelet does that cannot start.
    assert!(kubelet.terminate());
    let again = machine.kubelet(&own);
    let why = "the kubelet has started anew, and its rules are not known: it does not run any more";
    until("why", || watcher.get("/readyz").body.contains(why).then_some(()));
    machine.0.process(
        4243,
        "/usr/bin/kubelet",
        &format!("/usr/bin/kubelet --config=/opt/kubelet.yaml --root-dir=/{ROOT}"),
    );
    until("its rules", || is_logged(&watcher, &["decides by the same rules", "PID 4243"]).then_some(()));
    until("readiness", || (watcher.get("/readyz").status == 200).then_some(()));
    drop(again);
}

#[test]
fn another_root_folder_is_another_kubelets() {
    let (machine, own, root) = (Machine::with_kubelet(), Folder::new(), Folder::new());
    written(root.path(), "pinned");
    let given = ["--root", root.path().to_str().unwrap()];
    let watcher = machine.watch(&own, &given).ready();
    assert_eq!(configuration(&watcher), "pinned");
    let assumed = format!("there is no config.yaml in {}", root.path().display());
    assert!(watcher.get("/v1/machine").body.contains(&assumed));
    drop(watcher);
    let file = root.path().join("config.yaml");
    fs::write(&file, config("best-effort")).unwrap();
    fs::remove_file(root.path().join("memory_manager_state")).unwrap();
    written(root.path(), file.to_str().unwrap());
    let watcher = machine.watch(&own, &given).ready();
    assert_eq!(configuration(&watcher), file.display().to_string());
}

#[test]
fn without_a_kubelet_the_usual_folder_is_meant() {
    let (machine, own) = (Machine::new(), Folder::new());
    let refused = machine.watch(&own, &[]);
    let root = machine.0.path("var/lib/kubelet");
    let error = format!(
        "error: no kubelet found here, and the usual root folder, {}, does not exist: --root names another one",
        root.display()
    );
    until("an error", || is_logged(&refused, &[&error]).then_some(()));
    drop(refused);
    fs::create_dir_all(&root).unwrap();
    machine.0.write("var/lib/kubelet/config.yaml", &config("best-effort"));
    written(&root, root.join("config.yaml").to_str().unwrap());
    let watcher = machine.watch(&own, &[]).ready();
    assert_eq!(configuration(&watcher), root.join("config.yaml").display().to_string());
}

/// Why the kubelet does not start on a machine with other memory.
const OTHER_STATE: &str = "the next start of the kubelet fails: start memory manager error: [memorymanager] the expected machine \
    state is different from the real one";

fn fails(watcher: &Daemon, is_so: bool) {
    let line = format!("topolet_observe_next_start_fails {}", u8::from(is_so));
    until(&line, || {
        let metrics = watcher.try_get("/metrics")?.body;
        metrics.lines().any(|one| one == line).then_some(())
    });
}

/// The free memory of a NUMA node in bytes.
fn free_memory(watcher: &Daemon, node: u32) -> String {
    let of = format!("topolet_free_memory_bytes{{numa_node=\"{node}\",resource=\"memory\"}} ");
    let metrics = watcher.get("/metrics").body;
    metrics.lines().find_map(|line| line.strip_prefix(&of)).unwrap().to_owned()
}

#[test]
fn memory_that_grows_under_a_kubelet_that_runs_makes_its_next_start_fail() {
    let (machine, own) = (Machine::with_kubelet(), Folder::new());
    let kubelet = machine.kubelet(&own);
    assert_eq!(kubelet.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let watcher = machine.watch(&own, &[]).ready();
    fails(&watcher, false);
    assert!(!watcher.get("/readyz").body.contains("next start"));
    let free = free_memory(&watcher, 1);

    machine.set_memory(1, |kib| kib + (8 << 20));
    fails(&watcher, true);
    let is_known = |watcher: &Daemon| {
        assert_eq!(free_memory(watcher, 1), free, "the kubelet's own totals count");
        let ready = watcher.get("/readyz");
        assert_eq!(ready.status, 200, "{}", ready.body);
        assert!(ready.body.contains(OTHER_STATE) && ready.body.contains("NUMA 1 had "), "{}", ready.body);
        let status = watcher.get("/v1/status").json("NodeStatus");
        assert!(status["problems"].to_string().contains(OTHER_STATE), "{status}");
        let changed = "the machine has changed since the state of its kubelet was written: NUMA 1 had ";
        assert!(status["notes"].to_string().contains(changed), "{status}");
        assert!(watcher.get("/metrics").body.lines().any(|line| line == "topolet_state_stale 0"));
        until("a line", || is_logged(watcher, &["WARN", OTHER_STATE, "NUMA 1 had "]).then_some(()));
    };
    is_known(&watcher);
    until("an event", || watcher.get("/v1/events").body.contains(OTHER_STATE).then_some(()));
    // What it admits is known as before.
    assert_eq!(kubelet.ask("POST", "/v1/pods", &pod("b", "cpu: 2, memory: 1Gi")).status, 200);
    until("another pod", || watcher.get("/v1/state").body.contains("default_b").then_some(()));
    // The amount is known as it is now, and the log has its line once.
    let before = watcher.get("/readyz").body;
    machine.set_memory(1, |kib| kib + (16 << 20));
    until("another amount", || (watcher.get("/readyz").body != before).then_some(()));
    is_known(&watcher);
    assert_eq!(watcher.log().iter().filter(|line| line.contains(OTHER_STATE)).count(), 1);
    drop(watcher);

    // One that starts now knows the same.
    let watcher = machine.watch(&own, &[]).ready();
    assert_eq!(free_memory(&watcher, 1), free);
    fails(&watcher, true);
    is_known(&watcher);
    machine.set_memory(1, |kib| kib - (24 << 20));
    fails(&watcher, false);
    until("a line", || is_logged(&watcher, &["does not fail any more"]).then_some(()));
    assert!(!watcher.get("/readyz").body.contains("next start"));
}

#[test]
fn what_the_kubelet_counts_is_taken_from_files_that_it_writes_later() {
    let (root, own, other) = (Folder::new(), Folder::new(), Folder::new());
    for (memory, folder) in [("0=70Gi,1=70Gi", &other), ("0=80Gi,1=80Gi", &root)] {
        assert!(Daemon::start(folder.path(), &["--memory", memory]).terminate());
    }
    let file = |folder: &Folder, name: &str| folder.path().join(name);
    fs::remove_file(file(&root, "memory_manager_state")).unwrap();
    let socket = own.path().join("observe.sock");
    let more = ["--socket", socket.to_str().unwrap(), "--config", "pinned"];
    let watcher = Daemon::observe(root.path(), &more).at(&socket).ready();
    let free = free_memory(&watcher, 0);
    let (new, place) = (Path::new(".new"), "memory_manager_state");
    fs::copy(file(&other, place), root.path().join(new)).unwrap();
    fs::rename(root.path().join(new), file(&root, place)).unwrap();
    until("its totals", || {
        let metrics = watcher.try_get("/metrics")?.body;
        let of = "topolet_free_memory_bytes{numa_node=\"0\",resource=\"memory\"} ";
        let now = metrics.lines().find_map(|line| line.strip_prefix(of))?.to_owned();
        (now != free).then_some(())
    });
    until("readiness", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    fails(&watcher, true);
    assert!(is_logged(&watcher, &["counts other memory or huge pages"]), "{:?}", watcher.log());
}
