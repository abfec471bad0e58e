//! Commands without a machine are about this node: they use the kubelet's files, or print that they do not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const MACHINE: &str = "xeon-2s-96cpu-sriov";

/// The configuration of the node: what the state in `fixtures/state/healthy` was written under, and aligned.
const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,24,48,72
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
systemReserved: {memory: 1948Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
- {numaNode: 1, limits: {memory: 1Gi}}
";

/// The root of a machine as folders, gone afterwards.
struct Root(PathBuf);

impl Root {
    /// The machine alone.
    fn machine(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("topolet-root-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let archive = machine_fixtures::archive(MACHINE).unwrap();
        let decoder = ruzstd::decoding::StreamingDecoder::new(archive).unwrap();
        tar::Archive::new(decoder).unpack(&root).unwrap();
        Self(root)
    }

    /// With all that a kubelet keeps there.
    fn node(name: &str) -> Self {
        let root = Self::machine(name);
        root.write("var/lib/kubelet/config.yaml", CONFIG);
        for file in
            ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"]
        {
            root.write(
                &format!("var/lib/kubelet/{file}"),
                &fs::read_to_string(fixture(&format!("state/healthy/{file}"))).unwrap(),
            );
        }
        for pod in fs::read_dir(fixture("state/pods")).unwrap() {
            fs::create_dir_all(root.0.join("var/log/pods").join(pod.unwrap().file_name())).unwrap();
        }
        root
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).display().to_string()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_topolet")).env("LC_ALL", "C.UTF-8").args(arguments).output().unwrap()
}

fn topolet(arguments: &[&str]) -> (String, String) {
    let Output { stdout, stderr, .. } = run(arguments);
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn json(arguments: &[&str]) -> Value {
    let (out, error) = topolet(&[arguments, &["-o", "json"]].concat());
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{arguments:?}: {out}{error}"))
}

#[test]
fn admit_and_explain_decide_beside_what_runs_there_by_the_nodes_own_rules() {
    let root = Root::node("admit");
    let (machine, pod, devices) =
        (root.0.display().to_string(), fixture("pods/dpdk.yaml"), fixture("devices/intel-2s-16vf.yaml"));
    let asked = ["-f", &pod, "--devices", &devices, "-m", &machine];
    let given = [
        "--state",
        &root.path("var/lib/kubelet"),
        "--pods",
        &root.path("var/log/pods"),
        "--config",
        &root.path("var/lib/kubelet/config.yaml"),
    ];
    for command in ["admit", "explain"] {
        let own = json(&[&[command], &asked[..]].concat());
        assert_eq!(own, json(&[&[command], &asked[..], &given].concat()), "{command}");
        assert_eq!(own["node"]["topologyPolicy"], "single-numa-node");
        assert_eq!(own["node"]["configuration"], root.path("var/lib/kubelet/config.yaml"));
    }
    let (text, _) = topolet(&[&["admit"], &asked[..]].concat());
    let beside =
        format!("beside 3 pods of {}, named by {};", root.path("var/lib/kubelet"), root.path("var/log/pods"));
    assert!(text.contains(&format!("{beside} --empty leaves them out")), "{text}");
    assert!(text.contains("\n  testpmd    0     7-10,55-58"), "{text}");
    let (text, _) = topolet(&[&["admit", "--empty"], &asked[..]].concat());
    assert!(!text.contains("beside") && text.contains("\n  testpmd    0     1-4,49-52"), "{text}");
}

#[test]
fn every_other_command_is_about_the_node_as_well() {
    let root = Root::node("commands");
    let machine = root.0.display().to_string();
    let config = root.path("var/lib/kubelet/config.yaml");
    let pod = fixture("pods/aligned.yaml");
    let places = format!("{}, named by {}", root.path("var/lib/kubelet"), root.path("var/log/pods"));
    let find_max = ["simulate", "--find-max", "-f", &pod, "-m", &machine];
    let (text, _) = topolet(&find_max);
    let head =
        format!("configuration {config} · how many of default/numa-aligned fit\nbeside 3 pods of {places};");
    assert!(text.contains(&head), "{text}");
    // Of 46 pods with 2 CPUs on 2 nodes the pods that run leave room for 32.
    let fits = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("as configured")).unwrap();
        // What limits is the last column.
        line.split_whitespace().rev().nth(1).unwrap().to_owned()
    };
    assert_eq!(fits(&text), "32");
    let (text, _) = topolet(&[&find_max[..], &["--empty"]].concat());
    assert!(text.contains("fit the empty node"), "{text}");
    assert_eq!(fits(&text), "46");
    let (text, _) = topolet(&["config", "check", "-m", &machine]);
    assert!(text.contains(&config) && text.contains(&format!("3 pods hold something by {places}")), "{text}");
    let (text, _) = topolet(&["status", "-m", &machine]);
    let kubelet = root.path("var/lib/kubelet");
    assert!(text.contains(&format!("configuration {config} ·")) && text.contains("ran/dpdk-7"), "{text}");
    let says = format!("3 pods run, as {kubelet} says, named by {}", root.path("var/log/pods"));
    assert!(text.contains(&says), "{text}");
    let (text, _) = topolet(&["topology", "-m", &machine]);
    assert!(text.contains("ran/dpdk-7"), "{text}");
    let (text, _) = topolet(&["topology", "--empty", "-m", &machine]);
    assert!(!text.contains("ran/dpdk-7"), "{text}");
    let (text, _) = topolet(&["state", "check", "-m", &machine]);
    assert!(text.contains(&config), "{text}");
    let (own, warning) = topolet(&["export", "nrt", "-m", &machine, "--node-name", "a"]);
    assert!(
        warning.contains("intel.com/sriov_vf: 4 devices by the kubelet's checkpoint, of which 3 are held"),
        "{warning}"
    );
    let head = format!("configuration {config} · CPUs static, memory Static, beside 3 pods of {places};");
    assert!(warning.contains(&head), "{warning}");
    let state = root.path("var/lib/kubelet");
    let given = ["--state", &state, "--pods", &root.path("var/log/pods"), "--config", &config, "-m", MACHINE];
    assert_eq!(own, topolet(&[&["export", "nrt", "--node-name", "a"], &given[..]].concat()).0);
}

#[test]
fn a_configuration_is_checked_with_the_state_of_the_node() {
    let root = Root::node("check");
    let machine = root.0.display().to_string();
    let check_for = |program: &str, config: &str| {
        root.write("other.yaml", config);
        let other = root.path("other.yaml");
        let output = run(&["config", "check", "-m", &machine, "--config", &other, "--for", program]);
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let check = |config: &str| check_for("kubelet", config);
    // Pods hold what this reserves.
    let (text, status) = check(&CONFIG.replace("0,24,48,72", "0-3,48-51"));
    assert!(text.contains("✘ state   the kubelet does not start: start cpu manager error: "), "{text}");
    assert!(text.contains("`topolet state check` says more") && status == Some(2), "{text}");
    let (text, status) = check(&CONFIG.replace("static", "none"));
    assert!(text.contains("✘ state   the kubelet does not start: ") && status == Some(2), "{text}");
    let (text, status) = check(CONFIG);
    assert!(!text.contains("would not start") && status == Some(0), "{text}");
    // Strict reservation is proposed, and the state has reserved CPUs among the shared ones.
    let (text, status) = check_for("topolet", CONFIG);
    assert!(!text.contains("! the kubelet would not start") && status == Some(0), "{text}");
    assert!(text.contains("! with what is proposed the kubelet would not start from this state: "), "{text}");
    assert!(text.contains("drain the node first"), "{text}");
}

#[test]
fn a_machine_without_a_kubelet_is_empty_and_pinned() {
    let root = Root::machine("alone");
    let (text, error) =
        topolet(&["admit", "-f", &fixture("pods/aligned.yaml"), "-m", &root.0.display().to_string()]);
    assert!(text.contains("configuration pinned ·") && !text.contains("beside"), "{text}{error}");
    assert!(!error.contains("kubelet was not found"), "{error}");
}

#[test]
fn a_node_whose_configuration_is_elsewhere_is_said_to_be_another() {
    let root = Root::node("elsewhere");
    fs::rename(root.0.join("var/lib/kubelet/config.yaml"), root.0.join("kubelet.yaml")).unwrap();
    let pod = fixture("pods/aligned.yaml");
    let asked = ["admit", "-f", &pod, "-m", &root.0.display().to_string()];
    let (text, _) = topolet(&asked);
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(
            "the configuration of this node's kubelet was not found in /var/lib/kubelet/config.yaml, "
        ),
        "{text}"
    );
    assert!(first.contains("--config names it"), "{text}");
    assert!(text.contains("configuration pinned ·"), "{text}");
    let (text, error) = topolet(&[&asked[..], &["--config", &root.path("kubelet.yaml")]].concat());
    assert!(error.is_empty() && text.contains("single-numa-node"), "{text}{error}");
}

#[test]
fn state_that_does_not_fit_names_the_way_out() {
    let root = Root::node("other");
    let asked = [
        "admit",
        "-f",
        &fixture("pods/aligned.yaml"),
        "-m",
        &root.0.display().to_string(),
        "--config",
        "kubelet-defaults",
    ];
    let output = run(&asked);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("--empty decides without it") && error.contains("policy"), "{error}");
    assert!(run(&[&asked[..], &["--empty"]].concat()).status.success());
}

#[test]
fn a_configuration_that_cannot_be_read_is_said() {
    let root = Root::node("unreadable");
    fs::remove_file(root.0.join("var/lib/kubelet/config.yaml")).unwrap();
    fs::create_dir(root.0.join("var/lib/kubelet/config.yaml")).unwrap();
    let (text, _) =
        topolet(&["admit", "-f", &fixture("pods/aligned.yaml"), "-m", &root.0.display().to_string()]);
    let first = text.lines().next().unwrap();
    assert!(first.contains("the configuration of this node's kubelet cannot be read"), "{text}");
}

#[test]
fn state_that_cannot_be_read_is_not_said_to_be_missing() {
    let root = Root::node("torn");
    fs::remove_file(root.0.join("var/lib/kubelet/cpu_manager_state")).unwrap();
    fs::create_dir(root.0.join("var/lib/kubelet/cpu_manager_state")).unwrap();
    let (_, error) = topolet(&["state", "check", "-m", &root.0.display().to_string()]);
    assert!(error.contains("cpu_manager_state") && error.contains("it is a directory"), "{error}");
}

#[test]
fn pods_of_the_nodes_manifests_folder_are_static() {
    let root = Root::node("static");
    root.write("manifests/dpdk.yaml", &fs::read_to_string(fixture("pods/dpdk.yaml")).unwrap());
    root.write("dpdk.yaml", &fs::read_to_string(fixture("pods/dpdk.yaml")).unwrap());
    let folder = root.path("manifests");
    root.write("var/lib/kubelet/config.yaml", &format!("{CONFIG}staticPodPath: {folder}\n"));
    let (machine, pods, devices) =
        (root.0.display().to_string(), fixture("state/running.yaml"), fixture("devices/intel-2s-16vf.yaml"));
    let state = root.path("var/lib/kubelet");
    let admit = |file: &str| {
        let given = ["-m", &machine, "--state", &state, "--pods", &pods, "--devices", &devices];
        topolet(&[&["admit", "-f", &root.path(file)], &given[..]].concat()).0
    };
    assert!(admit("manifests/dpdk.yaml").contains("admitted by ENDING web/front"));
    assert!(admit("dpdk.yaml").contains("OutOfcpu"), "an ordinary pod ends nobody");
}

#[test]
fn a_node_of_which_nobody_knows_what_runs_has_no_fingerprint() {
    let root = Root::node("unknown");
    for file in ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"] {
        fs::remove_file(root.0.join("var/lib/kubelet").join(file)).unwrap();
    }
    let machine = root.0.display().to_string();
    let (object, warning) = topolet(&["export", "nrt", "-m", &machine, "--node-name", "a"]);
    assert!(warning.contains("what runs on this node is not known"), "{warning}");
    assert!(object.contains("zones:") && !object.contains("Fingerprint"), "{object}");
    let (text, _) = topolet(&["admit", "-m", &machine, "-f", &fixture("pods/aligned.yaml")]);
    assert!(text.contains("! what runs on this node is not known"), "{text}");
}

#[test]
fn an_empty_folder_of_pods_does_not_free_what_state_files_hold() {
    let root = Root::node("served");
    fs::create_dir_all(root.0.join("var/lib/kubelet/topolet/pods")).unwrap();
    let state = root.path("var/lib/kubelet");
    let asked = ["admit", "-m", MACHINE, "--state", &state, "--policy", "restricted"];
    let (text, _) = topolet(&[&asked[..], &["-f", &fixture("pods/aligned.yaml")]].concat());
    assert!(text.contains("beside 3 pods") && text.contains("! not looked at: the node-wide fit"), "{text}");
}

#[test]
fn the_state_of_another_machine_is_never_that_of_this_one() {
    for command in ["check", "show"] {
        let error = String::from_utf8(run(&["state", command, "-m", MACHINE]).stderr).unwrap();
        assert!(
            error.contains(&format!("{MACHINE} has no state of a kubelet; --state DIR names")),
            "{error}"
        );
    }
    let root = Root::node("shown");
    let (text, _) = topolet(&["state", "show", "-m", &root.0.display().to_string()]);
    assert!(text.contains("ran/dpdk-7"), "{text}");
}

#[test]
fn find_max_ends_as_admit_does_where_a_pod_is_left_out() {
    let root = Root::machine("partial");
    let pod = |name: &str, key: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - {{name: c, image: i, {key}: {{}}}}\n"
        )
    };
    root.write("pods.yaml", &format!("{}---\n{}", pod("ok", "resources"), pod("bad", "resource")));
    for command in [&["admit"][..], &["simulate", "--find-max"]] {
        let output = run(&[command, &["-m", MACHINE, "-f", &root.path("pods.yaml")]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
    }
}

/// No machine here has such CPUs: what the files say of themselves counts, and nothing of this machine.
#[test]
fn a_folder_of_another_machine_is_not_judged_by_this_one() {
    let root = Root(std::env::temp_dir().join(format!("topolet-root-bundle-{}", std::process::id())));
    let write = |held: &str| {
        let entries = format!(r#"{{"a":{{"c":"8190"}},"b":{{"c":"{held}"}}}}"#);
        let text =
            format!(r#"{{"policyName":"static","defaultCpuSet":"0-8188","entries":{entries},"checksum":0}}"#);
        root.write("bundle/cpu_manager_state", &text);
    };
    let bundle = root.path("bundle");
    for config in [&[][..], &["--config", "pinned"]] {
        for (held, status) in [("8189", 0), ("8189-8190", 2)] {
            write(held);
            let output = run(&[&["state", "check", "--state", &bundle], config].concat());
            let told = String::from_utf8(output.stdout).unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{told}{said}");
            assert!(said.contains("evidently of another machine: they name CPUs 0-8190"), "{said}");
            assert!(said.contains("--machine names theirs"), "{said}");
            assert!(!told.contains("offline") && !told.contains('✔') && !told.contains("pinned"), "{told}");
            assert_eq!(told.contains("pod a and pod b both hold CPU 8190"), status == 2, "{told}");
        }
    }
    let output = run(&["status", "--state", &bundle]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("both hold CPU 8190") && !told.contains("FREE"), "{told}");
}

/// A node without a configuration is not one with the built-in one.
#[test]
fn state_commands_never_take_the_built_in_configuration_for_a_nodes() {
    let root = Root::node("unconfigured");
    fs::remove_file(root.0.join("var/lib/kubelet/config.yaml")).unwrap();
    let machine = root.0.display().to_string();
    for command in [&["state", "check"][..], &["status"]] {
        let output = run(&[command, &["-m", &machine]].concat());
        let told = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told}{said}");
        assert!(!told.contains("pinned") && !told.contains('✔'), "{command:?}: {told}");
        assert!(told.contains("no configuration"), "{command:?}: {told}");
        assert!(said.contains("the configuration of this node's kubelet was not found in"), "{said}");
    }
    let output =
        run(&["state", "repair", "--apply", "--state", &root.path("var/lib/kubelet"), "-m", &machine]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("was not found in") && said.contains("--config names it"), "{said}");
}
