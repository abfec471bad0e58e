//! Every command's help ends with examples, and each of them works.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Folder, MACHINE, over_tcp, pod, until};

const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,24,48,72
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]
topologyManagerPolicy: restricted
systemReserved: {memory: 1948Mi}
";

/// No API server listens there.
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: nowhere
clusters: [{name: nowhere, cluster: {server: https://127.0.0.1:1}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
users: [{name: nobody, user: {token: none}}]
";

/// A folder with all files that examples name.
fn files() -> Folder {
    let folder = Folder::new();
    let (root, fixtures) = (folder.path(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"));
    fs::write(root.join("pod.yaml"), pod("web-0", "cpu: 2, memory: 1Gi")).unwrap();
    fs::write(root.join("kubelet.yaml"), CONFIG).unwrap();
    let flags = "KUBELET_KUBEADM_ARGS=\"--max-pods=40 --v=2\"\n";
    fs::write(root.join("kubeadm-flags.env"), flags).unwrap();
    fs::write(root.join("new.yaml"), CONFIG.replace("restricted", "single-numa-node")).unwrap();
    fs::copy(fixtures.join("scenarios/telco.yaml"), root.join("scenario.yaml")).unwrap();
    let training = fixtures.join("../docs/guide/files/training");
    fs::copy(training.join("slices.yaml"), root.join("slices.yaml")).unwrap();
    fs::copy(training.join("trainer.yaml"), root.join("claims.yaml")).unwrap();
    let scenarios = fixtures.join("scenarios");
    for entry in fs::read_dir(scenarios).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, root.join(path.file_name().unwrap())).unwrap();
    }
    fs::create_dir_all(root.join("manifests")).unwrap();
    fs::create_dir_all(root.join("kubelet/device-plugins")).unwrap();
    for name in 1..=11 {
        let text = pod(&format!("web-{name}"), "cpu: 2, memory: 1Gi");
        fs::write(root.join(format!("manifests/web-{name}.yaml")), text).unwrap();
    }
    let state = fixtures.join("state/healthy");
    for file in ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"] {
        fs::copy(state.join(file), root.join("kubelet").join(file)).unwrap();
    }
    fs::write(root.join("kubelet/config.yaml"), CONFIG).unwrap();
    let bundle = fixtures.join("../docs/guide/files/bundle");
    fs::copy(bundle.join("pods.yaml"), root.join("pods.yaml")).unwrap();
    for folder in ["must-gather.local.42", "sosreport-worker-1"] {
        fs::create_dir(root.join(folder)).unwrap();
        for entry in fs::read_dir(&bundle).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, root.join(folder).join(path.file_name().unwrap())).unwrap();
        }
    }
    fs::write(root.join("node.conf"), KUBECONFIG).unwrap();
    works(
        &format!("topolet capture --node node.tar.zst -m {MACHINE} --state kubelet/ --config kubelet.yaml"),
        root,
        None,
    );
    folder
}

fn help(path: &[String]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_topolet")).args(path).arg("--help").output().unwrap().stdout;
    String::from_utf8(output).unwrap()
}

/// The commands below one.
fn below(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    // One that is an option too is followed by a comma.
    names.map(|name| name.trim_end_matches(',')).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// An option, an argument or a command with its line; a heading; or no line.
fn is_one_line(line: &str) -> bool {
    let is_named = ["  -", "      --", "  <", "  ["].iter().any(|start| line.starts_with(start));
    let is_command = line.starts_with("  ") && line.chars().nth(2).is_some_and(char::is_alphabetic);
    is_named || is_command || line.is_empty() || (!line.starts_with(' ') && line.ends_with(':'))
}

#[test]
fn short_help_fits_a_screen() {
    for (command, examples) in commands() {
        let mut topolet = Command::new(env!("CARGO_BIN_EXE_topolet"));
        let output =
            topolet.args(command.split_whitespace()).arg("-h").env("COLUMNS", "80").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.lines().count() <= 40, "{command}: {} lines", help.lines().count());
        let widest = help.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 80, "{command}: {widest}");
        let shown =
            help.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(|line| !line.is_empty());
        let starts = ["  # ", "  topolet ", "  kubectl topolet "];
        let broken: Vec<&str> =
            shown.filter(|line| !starts.iter().any(|start| line.starts_with(start))).collect();
        assert!(broken.is_empty(), "{command}: {broken:?}");
        let options =
            help.lines().skip_while(|line| !matches!(*line, "Options:" | "Arguments:" | "Commands:"));
        let other: Vec<&str> = options.filter(|line| !is_one_line(line)).collect();
        assert!(other.is_empty(), "{command}: {other:?}");
        assert_eq!(examples.is_empty(), !help.contains("\nExamples:\n"), "{command}");
    }
}

/// All commands that do something, with the lines of their examples.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let help = help(&path);
        let below = below(&help);
        let examples =
            help.lines().skip_while(|line| *line != "Examples:").take_while(|line| !line.is_empty());
        let examples = examples.map(str::trim);
        let examples: Vec<String> =
            examples.filter(|line| line.starts_with("topolet ")).map(str::to_owned).collect();
        if below.is_empty() || !examples.is_empty() {
            found.push((path.join(" "), examples));
        }
        open.extend(below.into_iter().map(|name| path.iter().cloned().chain([name]).collect()));
    }
    found.sort();
    found
}

/// An example of a command with the machine of the tests, where it would be this one with the kubelet that may be there.
/// Scenarios and states name their own.
fn on_a_machine(name: &str, line: &str) -> String {
    let path: Vec<String> = name.split(' ').map(str::to_owned).collect();
    let is_this_one = help(&path).contains("--machine <") && !line.contains(" -m ");
    if is_this_one && !["scenario.yaml", "--state"].iter().any(|other| line.contains(other)) {
        line.replacen(name, &format!("{name} -m {MACHINE}"), 1)
    } else {
        line.to_owned()
    }
}

/// A shell that runs `line` in `folder`, where `topolet` is the program that is tested.
fn shell(line: &str, folder: &Path, socket: Option<&Path>) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {line}")]).current_dir(folder).env("PATH", path);
    command.env_remove("TOPOLET_SOCKET").stdin(Stdio::null());
    if let Some(socket) = socket {
        command.env("TOPOLET_SOCKET", socket);
    }
    command
}

#[track_caller]
fn works(line: &str, folder: &Path, socket: Option<&Path>) {
    let output = shell(line, folder, socket).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let is_right = matches!(output.status.code(), Some(0 | 2));
    assert!(is_right && !said.contains("error:"), "{line}: {}\n{said}", output.status);
}

#[test]
fn every_command_has_examples_that_fit_a_terminal() {
    let wide = commands().into_iter().flat_map(|(_, lines)| lines).find(|line| line.len() > 76);
    assert_eq!(wide, None);
    let without: Vec<String> =
        commands().into_iter().filter(|(_, examples)| examples.is_empty()).map(|(name, _)| name).collect();
    assert!(without.is_empty(), "no examples: {without:?}");
}

#[test]
fn examples_of_commands_that_end_work() {
    let folder = files();
    // A cluster's examples are run beside one.
    let asks =
        ["get", "describe", "apply", "delete", "serve", "ui", "kubectl", "fleet", "guard", "scheduler"];
    let lines = commands().into_iter().filter(|(name, _)| !asks.iter().any(|ask| name.starts_with(ask)));
    let lines = lines.flat_map(|(name, lines)| lines.into_iter().map(move |line| on_a_machine(&name, &line)));
    let of_clusters = ["--apply", "--kubeconfig"];
    let lines = lines.filter(|line| !of_clusters.iter().any(|option| line.contains(option)));
    let lines: Vec<String> = lines.collect();
    assert!(lines.len() > 20, "{lines:?}");
    for line in lines {
        works(&line, folder.path(), None);
    }
}

#[test]
fn examples_for_a_daemon_work() {
    let (folder, root) = (files(), Folder::new());
    let daemon = Daemon::start(root.path(), &[]);
    let socket = Some(daemon.socket.as_path());
    works("topolet apply -f pod.yaml -f manifests/web-1.yaml", folder.path(), socket);
    let mut all = commands();
    all.retain(|(name, _)| ["get", "describe", "status"].iter().any(|ask| name.starts_with(ask)));
    let (watching, ending): (Vec<String>, Vec<String>) =
        all.into_iter().flat_map(|(_, examples)| examples).partition(|line| line.contains(" -w"));
    for line in watching {
        let mut child = shell(&line, folder.path(), socket).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("\"reason\":\"Admitted\""), "{line}: {first}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for line in ending {
        works(&line, folder.path(), socket.filter(|_| !line.contains("--state")));
    }
    let of = |wanted: &str| commands().into_iter().find(|(name, _)| name == wanted).unwrap().1;
    for line in of("apply") {
        works(&line, folder.path(), socket);
    }
    for line in of("repack").into_iter().filter(|line| line.contains("--apply")) {
        works(&line, folder.path(), socket);
    }
    for line in of("delete") {
        works("topolet apply -f manifests/ -f pod.yaml", folder.path(), socket);
        works(&line, folder.path(), socket);
    }
}

#[test]
fn examples_of_a_daemon_serve() {
    let folder = files();
    let examples = commands().into_iter().find(|(name, _)| name == "serve").unwrap().1;
    for mut line in examples {
        if !line.contains("-m ") {
            // The machine of the tests instead of this one.
            line.push_str(&format!(" -m {MACHINE}"));
        }
        // Nor its cgroups.
        line.push_str(" --cgroup-root off");
        let socket = if line.contains("--observe") { "topolet.sock" } else { "node/topolet.sock" };
        let socket = folder.path().join(socket);
        let mut child = shell(&line, folder.path(), None).stderr(Stdio::null()).spawn().unwrap();
        until(&line, || {
            assert!(child.try_wait().unwrap().is_none(), "{line} has ended");
            std::os::unix::net::UnixStream::connect(&socket).ok()
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn examples_of_a_page_print_an_address_that_answers() {
    let folder = files();
    let examples = commands().into_iter().find(|(name, _)| name == "ui").unwrap().1;
    assert_eq!(examples.len(), 2, "{examples:?}");
    for line in examples {
        // A port that is free, and the machine of the tests instead of this one.
        let mut line = line.replace(":8080", ":0");
        if !line.contains("-m ") {
            line.push_str(&format!(" -m {MACHINE}"));
        }
        let mut child = shell(&line, folder.path(), None).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let (place, token) = first.trim().split_once("/#token=").unwrap_or_else(|| panic!("{line}: {first}"));
        let place = place.strip_prefix("http://").unwrap();
        for (token, status) in [(token, 200), ("another", 401)] {
            let head = format!("Host: {place}\r\nConnection: close\r\nAuthorization: Bearer {token}");
            let text = format!("GET /v1/status?output=table HTTP/1.1\r\n{head}\r\n\r\n");
            let reply = over_tcp(place, &text).unwrap();
            assert_eq!(reply.status, status, "{line}: {}", reply.body);
            let is_well = status == 401 || reply.body.contains("nothing is wrong");
            assert!(is_well, "{line}: {}", reply.body);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn examples_of_services_of_a_cluster_are_understood() {
    let folder = files();
    fs::remove_file(folder.path().join("node.conf")).unwrap();
    let services = ["fleet", "scheduler"];
    let lines = commands().into_iter().filter(|(name, _)| services.contains(&name.as_str()));
    let lines: Vec<String> = lines.flat_map(|(_, examples)| examples).collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    for line in lines {
        // The way to the cluster is the last thing that they read, and is not there.
        let output = shell(&line, folder.path(), None).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && said.contains(".conf"),
            "{line}: {}\n{said}",
            output.status
        );
        assert!(!said.contains("Usage"), "{line}: {said}");
    }
}
