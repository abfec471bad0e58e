//! What comes in over HTTP, well-formed and not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::daemon::{Daemon, Folder, MACHINE, over_tcp, pod};

#[test]
fn requests_that_are_wrong_are_told_so() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let large = "x".repeat((1 << 20) + 1);
    let started = "/v1/pods/default/a/containers/app/started";
    for (method, path, body, status, said) in [
        ("GET", "/none", "", 404, "nothing under this path"),
        ("GET", "/v1/pods/default/none", "", 404, "no pod is called default/none"),
        ("DELETE", "/v1/pods/default/none", "", 404, "no pod is called default/none"),
        ("PUT", "/v1/pods", "", 405, "does not take PUT"),
        ("DELETE", "/v1/pods", "", 405, "does not take DELETE"),
        ("POST", "/metrics", "", 405, "does not take POST"),
        ("GET", "/v1/pods/default/%ff", "", 400, "path: "),
        ("DELETE", "/v1/pods/%ff/a", "", 400, "path: "),
        ("POST", "/v1/pods/%ff/a/containers/app/started", "", 400, "path: "),
        ("GET", "/v1/pods?namspace=default", "", 400, "unknown query parameter \"namspace\""),
        ("GET", "/v1/pods?output=json&output=yaml", "", 400, "given twice"),
        ("GET", "/v1/pods?glyphs=runes", "", 400, "glyphs is ascii or unicode"),
        ("GET", "/v1/pods?width=7", "", 400, "width is a number of letters from 40 to 10000"),
        ("GET", "/metrics?name=x", "", 400, "unknown query parameter \"name\""),
        ("GET", "/healthz?verbose", "", 400, "unknown query parameter \"verbose\""),
        ("DELETE", "/v1/pods/default/none?dryRun=All", "", 400, "unknown query parameter \"dryRun\""),
        ("POST", "/v1/pods?dryRun=Server", "", 400, "dryRun is All, or is not given"),
        ("POST", "/v1/pods?dryRun=", "", 400, "dryRun is All, or is not given"),
        ("POST", "/v1/explain?dryRun=All", "", 400, "unknown query parameter \"dryRun\""),
        ("GET", "/v1/pods?output=xml", "", 400, "output is json, yaml or table"),
        ("GET", "/v1/decisions?limit=many", "", 400, "limit is a number"),
        ("POST", "/v1/pods", "", 400, ""),
        ("POST", "/v1/pods", "kind: Pod", 400, "request"),
        ("POST", "/v1/pods", "\u{0}\u{1}", 400, ""),
        ("POST", "/v1/pods", &large, 413, "larger than 1048576 bytes"),
        ("POST", "/v1/explain", &large, 413, "larger than 1048576 bytes"),
        ("POST", started, "{\"id\": \"c1\"}", 404, "no pod is called default/a"),
        ("POST", started, "{}", 400, "missing field `id`"),
        ("POST", started, "{\"id\": \"../c\"}", 400, "container's id"),
        (
            "POST",
            started,
            "{\"id\": \"c\", \"cgroup\": \"/sys/fs/cgroup/../x\"}",
            400,
            "below /sys/fs/cgroup",
        ),
        ("POST", started, "{\"id\": \"c\", \"more\": 1}", 400, "unknown field"),
    ] {
        let reply = daemon.ask(method, path, body);
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
        let error = reply.json("Error");
        assert_eq!(error["code"], status, "{method} {path}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said), "{method} {path}: {message}");
        let is_drawn = |c: char| c.is_control() || ('\u{2500}'..='\u{257f}').contains(&c) || c == '|';
        assert!(!message.contains("error:") && !message.contains(is_drawn), "{method} {path}: {message}");
    }
    assert_eq!(daemon.ask("PUT", "/v1/pods", "").field("allow"), "GET,HEAD,POST");
    assert_eq!(daemon.get("/healthz").status, 200);
}

#[test]
fn a_dry_run_as_kubernetes_clients_ask_for_it_admits_nothing() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let small = pod("a", "cpu: 2, memory: 1Gi");
    let reply = daemon.ask("POST", "/v1/pods?dryRun=All", &small);
    assert_eq!(reply.status, 200, "{}", reply.body);
    let told = reply.json("Decisions");
    assert_eq!(
        (told["dryRun"].as_bool(), told["decisions"][0]["admitted"].as_bool()),
        (Some(true), Some(true))
    );
    let large = daemon.ask("POST", "/v1/pods?dryRun=All", &pod("large", "cpu: 400, memory: 1Gi"));
    assert_eq!(large.status, 422, "as it would be: {}", large.body);
    assert_eq!(daemon.get("/v1/pods").json("Pods")["pods"], serde_json::json!([]));
    assert_eq!(daemon.ask("POST", "/v1/pods", &small).status, 200);
    let other = daemon.ask("POST", "/v1/pods?dryRun=All", &pod("a", "cpu: 4, memory: 1Gi"));
    assert_eq!(other.status, 409, "{}", other.body);
}

#[test]
fn a_field_that_pods_do_not_have_refuses_the_pod_unless_asked_otherwise() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let misspelt = pod("a", "cpu: 2, memory: 1Gi").replace("resources:", "resource:");
    for query in ["", "?fieldValidation=Strict", "?dryRun=All"] {
        let reply = daemon.ask("POST", &format!("/v1/pods{query}"), &misspelt);
        assert_eq!(reply.status, 400, "{query}: {}", reply.body);
        assert!(
            reply.body.contains("unknown field \\\"spec.containers[0].resource\\\", did you mean resources?"),
            "{}",
            reply.body
        );
    }
    let reply = daemon.ask("POST", "/v1/pods?fieldValidation=Ignore", &misspelt);
    assert_eq!(reply.status, 400, "silence is not offered: {}", reply.body);
    assert_eq!(daemon.get("/v1/pods").json("Pods")["pods"], serde_json::json!([]));
    let file = root.path().join("pod.yaml");
    fs::write(&file, &misspelt).unwrap();
    let told = daemon.prints(&["apply", "--lenient", "-f", file.to_str().unwrap()]);
    assert!(told.contains("unknown field") && told.contains("default/a   admitted"), "{told}");
}

#[test]
fn a_refusal_is_an_error_by_its_status_and_a_list_is_told_pod_by_pod() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let large = pod("large", "cpu: 400, memory: 1Gi");
    let reply = daemon.ask("POST", "/v1/pods", &large);
    assert_eq!(reply.status, 422, "{}", reply.body);
    assert_eq!(reply.json("Decisions")["decisions"][0]["refusal"]["reason"], "TopologyAffinityError");
    let explained = daemon.ask("POST", "/v1/explain", &large);
    assert_eq!(explained.status, 200, "the question is answered");
    assert_eq!(explained.json("Explanation")["decisions"][0]["admitted"], false);

    // All the others are admitted; the status is that of the worst.
    let (a, b) = (pod("a", "cpu: 2, memory: 1Gi"), pod("b", "cpu: 2, memory: 1Gi"));
    let list = daemon.ask("POST", "/v1/pods", &format!("{a}---\n{}---\n{b}", pod("huge", "cpu: 400")));
    assert_eq!(list.status, 422, "{}", list.body);
    let told = list.json("Decisions");
    let admitted: Vec<_> = (0..3).map(|at| told["decisions"][at]["admitted"].as_bool().unwrap()).collect();
    assert_eq!(admitted, [true, false, true]);
    let (other, c) = (pod("a", "cpu: 4, memory: 1Gi"), pod("c", "cpu: 2, memory: 1Gi"));
    let list = daemon.ask("POST", "/v1/pods", &format!("{other}---\n{b}---\n{c}"));
    assert_eq!(list.status, 409, "{}", list.body);
    let told = list.json("Decisions");
    assert_eq!(told["failed"][0]["pod"], "default/a");
    assert_eq!(told["failed"][0]["code"], 409);
    assert_eq!(told["unchanged"], serde_json::json!(["default/b"]));
    assert_eq!(told["decisions"][0]["pod"], "default/c");
    let alone = daemon.ask("POST", "/v1/pods", &other);
    assert_eq!(alone.status, 409);
    assert!(alone.json("Error")["message"].as_str().unwrap().contains("another manifest"));
}

#[test]
fn what_is_done_is_told_as_json_and_in_the_form_that_is_accepted() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200);
    let path = "/v1/pods/default/a/containers/app";
    for (step, kind) in [("started", "ContainerStarted"), ("exited", "ContainerExited")] {
        let done = daemon.ask("POST", &format!("{path}/{step}"), "{\"id\": \"c1\"}").json(kind);
        assert_eq!(
            (&done["pod"], &done["container"], &done["id"]),
            (&"default/a".into(), &"app".into(), &"c1".into())
        );
    }
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/a", "").json("PodDeleted")["pod"], "default/a");
    assert_eq!(daemon.get("/healthz").json("Health")["status"], "ok");
    assert_eq!(daemon.get("/readyz").json("Health")["status"], "ok");
    for (accept, path, status, kind) in [
        ("application/yaml", "/v1/machine", 200, "application/yaml"),
        ("application/json;q=0.1, application/yaml", "/v1/pods", 200, "application/yaml"),
        ("text/plain", "/v1/pods", 200, "text/plain; charset=utf-8"),
        ("text/plain", "/healthz", 200, "text/plain; charset=utf-8"),
        ("text/html, */*;q=0.8", "/v1/state", 200, "application/json"),
        ("application/yaml", "/v1/pods?output=json", 200, "application/json"),
        ("application/xml", "/v1/pods", 406, "application/json"),
        ("application/yaml", "/v1/none", 404, "application/json"),
    ] {
        let reply = daemon.ask_with("GET", path, &format!("Accept: {accept}\n"), "");
        assert_eq!(reply.status, status, "{accept} {path}: {}", reply.body);
        assert_eq!(reply.field("content-type"), kind, "{accept} {path}");
    }
    let not_acceptable = daemon.ask_with("GET", "/v1/pods", "Accept: application/xml\n", "");
    assert!(not_acceptable.json("Error")["message"].as_str().unwrap().contains("application/yaml"));
}

#[test]
fn a_wrong_manifest_is_drawn_for_people_and_a_sentence_for_programs() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let wrong =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: A}\nspec: {containers: [{name: app, image: i}]}\n";
    let program = daemon.ask("POST", "/v1/pods", wrong).message();
    assert!(program.starts_with("request:3:") && !program.contains('\n'), "{program}");
    let person = daemon.ask("POST", "/v1/pods?glyphs=ascii", wrong).message();
    assert!(person.starts_with("error: ") && person.contains("--> request:3:"), "{person}");
}

#[test]
fn bytes_that_are_no_requests_end_their_connection_and_nothing_else() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(5000));
    for text in [
        "\r\n\r\n",
        "garbage\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/pods HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/pods HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &many,
    ] {
        if let Some(reply) = daemon.send(text) {
            assert!((400..600).contains(&reply.status), "{text:.40}: {}", reply.status);
        }
    }
    assert_eq!(daemon.get("/healthz").status, 200);
}

#[test]
fn a_dry_run_decides_nothing() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let file = root.path().join("pod.yaml");
    fs::write(&file, pod("a", "cpu: 2, memory: 1Gi")).unwrap();
    let told = daemon.prints(&["apply", "--dry-run", "-f", file.to_str().unwrap()]);
    assert!(told.contains("default/a   admitted"), "{told}");
    assert_eq!(daemon.prints(&["get", "pods"]), "no pods\n");
    let applied = daemon.prints(&["apply", "-f", file.to_str().unwrap()]);
    assert!(applied.contains("✔ default/a   admitted"), "{applied}");
    let again = daemon.prints(&["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(again, "✔ default/a   unchanged\n");
    assert_eq!(daemon.prints(&["apply", "--dry-run", "-f", file.to_str().unwrap()]), again);
    fs::write(&file, pod("a", "cpu: 3, memory: 1Gi")).unwrap();
    for arguments in [&["apply"][..], &["apply", "--dry-run"]] {
        let other = daemon.topolet(&[arguments, &["-f", file.to_str().unwrap()]].concat());
        assert_eq!(other.status.code(), Some(1));
        let said = String::from_utf8(other.stderr).unwrap();
        assert!(said.contains("is here already with another manifest"), "{said}");
    }
    let many = format!("{}---\n{}", pod("a", "cpu: 3, memory: 1Gi"), pod("b", "cpu: 40, memory: 1Gi"));
    fs::write(&file, format!("{many}---\n{}", pod("c", "cpu: 48, memory: 1Gi"))).unwrap();
    let told = daemon.topolet(&["apply", "--dry-run", "-f", file.to_str().unwrap(), "-o", "json"]);
    assert_eq!(told.status.code(), Some(2));
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let admitted = |at: usize| told["decisions"][at]["admitted"].as_bool();
    assert_eq!((admitted(0), admitted(1)), (Some(true), Some(false)), "each beside those before it: {told}");
    assert_eq!(told["failed"][0]["pod"], "default/a");
    let decisions: serde_json::Value = serde_json::from_str(&daemon.get("/v1/decisions").body).unwrap();
    let logged = decisions["decisions"].as_array().unwrap();
    assert_eq!(logged.len(), 1, "{decisions}");
    assert!(logged[0]["units"][0]["resources"].is_array(), "with what was looked at");
}

#[test]
fn workloads_become_their_pods_and_what_has_none_is_named() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(daemon.prints(&["get", "decisions"]), "no decisions since the daemon started\n");
    let workloads = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pods/workloads.yaml");
    let text = fs::read_to_string(workloads).unwrap();
    let open = daemon.ask("POST", "/v1/pods?dryRun=All", &text);
    assert_eq!(open.status, 202, "claims are not decided on: {}", open.body);
    let decided: serde_json::Value = serde_json::from_str(&open.body).unwrap();
    let report = &decided["decisions"][2];
    assert_eq!((&report["admitted"], &report["withoutClaims"][0]), (&false.into(), &"scratch-gpu".into()));
    let applied = daemon.topolet(&["apply", "-f", workloads]);
    assert_eq!(applied.status.code(), Some(2), "a Service is no mistake, and a claim is left open");
    let said = String::from_utf8(applied.stdout).unwrap();
    for expected in [
        "workloads.yaml:2:1: Service \"upf\" has no pods\n",
        "✔ ran/upf-0 to upf-1 (2 of Deployment upf)   admitted",
        "! ran/report-0 (Job report)   admitted without its claims, which are not decided here: scratch-gpu",
    ] {
        assert!(said.contains(expected), "{expected} is not in\n{said}");
    }
    let again = daemon.topolet(&["apply", "-f", workloads]);
    let said = String::from_utf8(again.stdout).unwrap();
    assert!(
        said.ends_with("✔ ran/upf-0   unchanged\n✔ ran/upf-1   unchanged\n✔ ran/report-0   unchanged\n"),
        "{said}"
    );
    assert_eq!(daemon.prints(&["delete", "pod", "ran/upf-1"]), "pod ran/upf-1 deleted\n");
    assert!(daemon.prints(&["describe", "pod", "ran/upf-0"]).contains("upf"));
    let listed = daemon.prints(&["get", "pods"]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

#[test]
fn what_an_api_server_refuses_is_refused_and_the_file_named() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let bad = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad/refused-by-api-server.yaml");
    let applied = daemon.topolet(&["apply", "-f", bad]);
    assert_eq!(applied.status.code(), Some(1));
    let said = String::from_utf8(applied.stderr).unwrap();
    assert!(said.contains("must be less than or equal to cpu limit of 2"), "{said}");
    assert!(said.contains("tests/bad/refused-by-api-server.yaml:9:23"), "{said}");
    assert_eq!(daemon.prints(&["get", "pods"]), "no pods\n");
    let nameless = daemon.ask("POST", "/v1/pods", "kind: [");
    assert!(nameless.message().contains("request:1"), "{}", nameless.body);

    let good = root.path().join("good.yaml");
    fs::write(&good, pod("good", "cpu: 2, memory: 1Gi")).unwrap();
    let both = daemon.topolet(&["apply", "-f", bad, "-f", good.to_str().unwrap()]);
    assert_eq!(both.status.code(), Some(1));
    assert!(daemon.prints(&["get", "pods"]).contains("good"), "the next file is applied");
}

/// The status of the answer on TCP.
fn asked(address: &str, head: &str, body: &str) -> u16 {
    let length = body.len();
    let text = format!("{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    over_tcp(address, &text).unwrap().status
}

#[test]
fn over_tcp_only_who_has_the_token_changes_something() {
    let root = Folder::new();
    let token = root.path().join("token");
    fs::write(&token, "0123456789abcdef0123\n").unwrap();
    let daemon =
        Daemon::start(root.path(), &["--tcp", "127.0.0.1:0", "--token-file", token.to_str().unwrap()]);
    let address = &daemon.tcp_address();
    let body = pod("a", "cpu: 2, memory: 1Gi");
    let post = "POST /v1/pods HTTP/1.1\r\nHost: localhost";
    assert_eq!(asked(address, "GET /v1/pods HTTP/1.1\r\nHost: localhost", ""), 200);
    assert_eq!(asked(address, post, &body), 403);
    let wrong = format!("{post}\r\nAuthorization: Bearer 0123456789abcdef0124");
    assert_eq!(asked(address, &wrong, &body), 403);
    assert_eq!(asked(address, "GET /v1/pods HTTP/1.1\r\nHost: evil.example", ""), 403);
    assert_eq!(daemon.prints(&["get", "pods"]), "no pods\n");
    let right = format!("{post}\r\nAuthorization: Bearer 0123456789abcdef0123");
    assert_eq!(asked(address, &right, &body), 200);
}

/// What it says when it does not start.
fn refused(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["serve", "--machine", MACHINE])
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn roots_that_are_not_ours_are_refused() {
    let root = Folder::new();
    let shown = root.path().to_str().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refused(&["--root", file.to_str().unwrap()]).contains("is no folder"));
    let open = root.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(refused(&["--root", open.to_str().unwrap()]).contains("can be written by everybody"));
    if nix::unistd::geteuid().is_root() {
        let other = root.path().join("other");
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::chown(&other, Some(12345), None).unwrap();
        assert!(refused(&["--root", other.to_str().unwrap()]).contains("belongs to user 12345"));
    } else {
        eprintln!("skipped: only root can give a folder away");
    }
    let kubelets = root.path().join("kubelet");
    fs::create_dir(&kubelets).unwrap();
    let state = kubelets.join("cpu_manager_state");
    let held = fs::read("../../fixtures/state/healthy/cpu_manager_state").unwrap();
    for (contents, who) in
        [(held.as_slice(), "3 pods hold something"), (&held[..50], "pods may hold something")]
    {
        fs::write(&state, contents).unwrap();
        let said = refused(&["--root", kubelets.to_str().unwrap()]);
        assert!(said.contains("has no folder topolet/pods") && said.contains(who), "{said}");
        assert_eq!(fs::read(&state).unwrap(), contents, "nothing is changed");
        assert_eq!(fs::read_dir(&kubelets).unwrap().count(), 1, "and nothing is made");
    }
    let long = "x".repeat(120);
    assert!(refused(&["--root", shown, "--socket", &long]).contains("too long"));
    assert!(refused(&["--root", shown, "--tcp", "0.0.0.0:1"]).contains("--tcp 0.0.0.0:1: "));
    let first = Daemon::start(root.path(), &[]);
    assert!(refused(&["--root", shown]).contains("another process serves"));
    let socket = root.path().join("other.sock");
    assert!(refused(&["--root", shown, "--socket", socket.to_str().unwrap()]).contains("is locked"));
    assert!(first.terminate());
    fs::write(root.path().join("cpu_manager_state"), "{\"policyName\":\"sta").unwrap();
    let said = refused(&["--root", shown, "--strict"]);
    assert!(said.contains("could not restore state from checkpoint: unexpected end of JSON input"), "{said}");
    assert!(said.trim_end().ends_with("before restarting Kubelet"), "and nothing is said twice: {said}");
}
