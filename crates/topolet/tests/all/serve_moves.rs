//! A pod that does not fit, for which `topolet serve` moves others.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::daemon::{Daemon, Folder, pod};

/// A pod that may be moved while it runs.
fn live(name: &str, limits: &str) -> String {
    pod(name, limits).replace("metadata: {", "metadata: {annotations: {topolet.dev/move: live}, ")
}

/// On NUMA node 0 `a`, and 26 of 46 CPUs are free; on node 1 `c`, which runs, and `d`, and 10 are free.
fn populated(root: &Folder) -> Daemon {
    let daemon = Daemon::start(root.path(), &["--cgroup-root", "off"]);
    let small = "cpu: 20, memory: 1Gi";
    let all =
        [pod("a", small), pod("b", small), live("c", small), pod("d", "cpu: 16, memory: 1Gi")].join("---\n");
    let reply = daemon.ask("POST", "/v1/pods", &all);
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/b", "").status, 200);
    let running = daemon.ask(
        "POST",
        "/v1/pods/default/c/containers/app/started",
        r#"{"id": "c1", "cgroup": "kubepods/c1"}"#,
    );
    assert_eq!(running.status, 200, "{}", running.body);
    daemon
}

fn large() -> String {
    pod("large", "cpu: 28, memory: 1Gi")
}

/// Where the pods of a daemon are, as the state files have it.
fn held(daemon: &Daemon) -> Value {
    daemon.get("/v1/state").json("State")
}

#[test]
fn a_pod_is_admitted_after_the_moves_of_its_plan() {
    let root = Folder::new();
    let daemon = populated(&root);
    let before = held(&daemon);
    assert_eq!(daemon.ask("POST", "/v1/pods?dryRun=All", &large()).status, 422);

    let dry = daemon.ask("POST", "/v1/repack?dryRun=All", &large());
    assert_eq!((dry.status, dry.field("topolet-outcome")), (200, "done"), "{}", dry.body);
    let planned = dry.json("RepackPlans");
    assert_eq!(planned["pods"][0]["plan"]["moved"], 1, "{planned}");
    assert!(planned.get("applied").is_none(), "{planned}");
    assert_eq!(held(&daemon), before);

    let done = daemon.ask("POST", "/v1/repack", &large());
    assert_eq!((done.status, done.field("topolet-outcome")), (200, "done"), "{}", done.body);
    let done = done.json("RepackPlans");
    let moved = done["applied"]["moved"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{done}");
    assert!(done["applied"].get("unchanged").is_none());
    assert_eq!((&moved[0]["pod"], &moved[0]["manner"]), (&"default/c".into(), &"restart".into()), "{done}");
    let why = "its containers have to be restarted: no cgroups are written on this node";
    assert_eq!(moved[0]["message"], why);
    assert_ne!(held(&daemon), before);
    let pods = daemon.pods();
    for (name, cpus) in [("a", "1-10,49-58"), ("c", "11-20,59-68"), ("d", "35-42,83-90"), ("large", "25-34,")]
    {
        let is_there = pods.lines().any(|line| line.contains(&format!(" {name} ")) && line.contains(cpus));
        assert!(is_there, "{name} on {cpus}:\n{pods}");
    }
    let told = daemon.get("/v1/events").json("Events");
    let events = told["events"].as_array().unwrap();
    let event = events.iter().find(|event| event["reason"] == "RestartNeeded").unwrap();
    assert_eq!((&event["name"], &event["type"]), (&"c".into(), &"Warning".into()), "{event}");
    assert_eq!(event["message"], format!("moved so that default/large fits: {why}"));

    // Again nothing is done, and after a restart the same is held.
    let again = daemon.ask("POST", "/v1/repack", &large()).json("RepackPlans");
    assert_eq!(again["applied"]["unchanged"], true, "{again}");
    let after = held(&daemon);
    daemon.kill();
    assert!(!root.path().join("topolet/moves.json").exists());
    let daemon = Daemon::start(root.path(), &["--cgroup-root", "off"]);
    assert_eq!(held(&daemon), after);
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let root = Folder::new();
    let daemon = populated(&root);
    let before = held(&daemon);
    let huge = pod("huge", "cpu: 47, memory: 1Gi");
    for (path, body, status, says) in [
        ("/v1/repack", huge.clone(), 422, "\"verdict\": \"refused\""),
        ("/v1/repack?dryRun=All", huge, 422, "no move can help"),
        (
            "/v1/repack",
            format!("{}---\n{}", large(), pod("other", "cpu: 1, memory: 1Gi")),
            400,
            "request has 2 pods: --apply takes 1 pod a file; nothing was done",
        ),
        ("/v1/repack?moves=0", large(), 400, "moves is a number from 1 to 8"),
        ("/v1/repack?moves=many", large(), 400, "moves is a number from 1 to 8"),
        ("/v1/repack?attempts=0", large(), 400, "attempts is a number from 1 to 50000"),
        ("/v1/repack?dryRun=yes", large(), 400, "dryRun is All"),
        ("/v1/repack?force=true", large(), 400, "unknown query parameter"),
        ("/v1/repack", pod("a", "cpu: 21, memory: 1Gi"), 409, "with another manifest"),
        ("/v1/repack", "kind: Pod".to_owned(), 400, ""),
        ("/v1/repack?attempts=1", large(), 422, "searchCut"),
    ] {
        let reply = daemon.ask("POST", path, &body);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
        assert!(reply.body.contains(says), "{path}: {}", reply.body);
        assert_eq!(held(&daemon), before, "{path}");
    }
}

#[test]
fn a_command_shows_the_plan_and_what_was_done() {
    let root = Folder::new();
    let daemon = populated(&root);
    let file: PathBuf = root.path().join("large.yaml");
    fs::write(&file, large()).unwrap();
    let file = file.to_str().unwrap();
    let output = daemon.topolet(&["repack", "-f", file, "--apply", "-m", "xeon-cxl-4node"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("'--apply' cannot be used with '--machine <MACHINE>'"), "{said}");

    let printed = daemon.prints(&["repack", "-f", file, "--apply"]);
    let expected = [
        "✔ default/large   fits when 1 pod restarts",
        "  delete  default/c",
        "  create  default/large",
        "! default/c has moved: its containers have to be restarted: no cgroups are written on this node",
    ];
    for line in expected {
        assert!(printed.contains(line), "{line} is not in\n{printed}");
    }
    let again = daemon.prints(&["repack", "-f", file, "--apply"]);
    assert!(again.contains("nothing was done: the pod runs already, as it is"), "{again}");

    fs::write(file, pod("small", "cpu: 1, memory: 1Gi")).unwrap();
    let small = daemon.prints(&["repack", "-f", file, "--apply"]);
    assert!(small.contains("done, and no pod has moved"), "{small}");
    fs::write(file, pod("huge", "cpu: 47, memory: 1Gi")).unwrap();
    assert_eq!(daemon.topolet(&["repack", "-f", file, "--apply"]).status.code(), Some(2));
    fs::write(file, "kind: Pod").unwrap();
    assert_eq!(daemon.topolet(&["repack", "-f", file, "--apply"]).status.code(), Some(1));
}
