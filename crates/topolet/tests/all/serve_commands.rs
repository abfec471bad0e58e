//! Commands in kubectl's words for a daemon that runs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Folder, pod};

/// Three pods in three files of a folder, and one file that is no manifest.
fn manifests() -> Folder {
    let folder = Folder::new();
    for (file, name, namespace) in
        [("a.yaml", "a", "default"), ("b.json", "b", "default"), ("c.yml", "c", "telco")]
    {
        let text = pod(name, "cpu: 2, memory: 1Gi")
            .replace("metadata: {", &format!("metadata: {{namespace: {namespace}, "));
        fs::write(folder.path().join(file), text).unwrap();
    }
    fs::write(folder.path().join("README.md"), "no manifest").unwrap();
    folder
}

/// What a command says that fails.
fn error(daemon: &Daemon, arguments: &[&str]) -> String {
    let output = daemon.topolet(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap().trim().to_owned()
}

#[test]
fn folders_names_and_files_are_taken_as_kubectl_takes_them() {
    let (root, folder) = (Folder::new(), manifests());
    let (daemon, files) = (Daemon::start(root.path(), &[]), folder.path().to_str().unwrap());
    daemon.prints(&["apply", "-f", files]);
    assert_eq!(daemon.prints(&["get", "pods", "-A", "-o", "name"]), "default/a\ndefault/b\ntelco/c\n");
    assert_eq!(daemon.prints(&["get", "pod", "c", "default/a", "-o", "name"]), "default/a\ntelco/c\n");
    assert_eq!(daemon.prints(&["get", "pods", "-n", "telco", "-o", "name"]), "telco/c\n");
    let wide = daemon.prints(&["get", "pod", "c", "-o", "wide"]);
    assert!(wide.contains("HOLDS") && wide.contains("telco_c") && wide.contains("CPUs "), "{wide}");
    let described = daemon.prints(&["describe", "pod", "c"]);
    assert!(described.contains("Namespace:  telco"), "{described}");
    assert_eq!(daemon.prints(&["describe", "pod", "telco_c"]), described, "by its UID");
    assert_eq!(error(&daemon, &["describe", "pod", "nobody"]), "error: no pod is called nobody");
    assert_eq!(error(&daemon, &["get", "pod", "a", "nobody"]), "error: no pod is called nobody");

    let status = daemon.prints(&["status"]);
    assert!(status.contains("3 pods run\n") && status.contains("nothing is wrong"), "{status}");
    assert!(status.contains("telco/c") && status.contains("free of"), "{status}");

    // What is not there does not keep the next from being deleted.
    let output = daemon.topolet(&["delete", "pods", "nobody", "a"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "pod default/a deleted\n");
    let output = daemon.topolet(&["delete", "-f", files]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "pod default/b deleted\npod telco/c deleted\n");
    assert_eq!(daemon.prints(&["get", "pods"]), "no pods\n");

    let empty = Folder::new();
    let said = error(&daemon, &["apply", "-f", empty.path().to_str().unwrap()]);
    assert!(said.contains("has no .yaml, .yml or .json file"), "{said}");
}

#[test]
fn two_pods_of_a_name_are_both_named() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    for namespace in ["one", "two"] {
        let text = pod("web", "cpu: 2, memory: 1Gi")
            .replace("metadata: {", &format!("metadata: {{namespace: {namespace}, "));
        assert_eq!(daemon.ask("POST", "/v1/pods", &text).status, 200);
    }
    assert_eq!(error(&daemon, &["describe", "pod", "web"]), "error: 2 pods are called web: one/web, two/web");
}

#[test]
fn a_watch_prints_what_changes_and_ends_with_its_reader() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let mut watch = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["get", "pods", "--watch"])
        .env("TOPOLET_SOCKET", root.path().join("topolet.sock"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "no pods");
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("web", "cpu: 2, memory: 1Gi")).status, 200);
    let line = lines.next().unwrap().unwrap();
    assert!(line.starts_with("default") && line.contains("Admitted"), "{line}");
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/web", "").status, 200);
    assert_eq!(
        lines.find(|line| line.as_ref().unwrap().contains("gone")).unwrap().unwrap(),
        "default/web is gone"
    );
    drop(lines);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("next", "cpu: 2, memory: 1Gi")).status, 200);
    assert!(watch.wait().unwrap().success());
}

#[test]
fn pods_have_an_age_that_a_restart_keeps() {
    let (root, folder) = (Folder::new(), manifests());
    let daemon = Daemon::start(root.path(), &[]);
    daemon.prints(&["apply", "-f", folder.path().join("a.yaml").to_str().unwrap()]);
    let admitted = |daemon: &Daemon| {
        let pods: serde_json::Value =
            serde_json::from_str(&daemon.prints(&["get", "pods", "-o", "json"])).unwrap();
        pods["pods"][0]["admitted"].as_str().unwrap().to_owned()
    };
    let table = daemon.prints(&["get", "pods"]);
    let row = table.lines().nth(1).unwrap();
    assert!(table.lines().next().unwrap().ends_with("AGE") && row.ends_with('s'), "{table}");
    let before = admitted(&daemon);
    assert!(before.ends_with('Z'), "{before}");
    drop(daemon);
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(admitted(&daemon), before);
}
