//! The files of `deploy/`, at the unmodified API server: what is in them is taken, and the rights are enough.

use crate::daemon;
use std::path::{Path, PathBuf};

use crate::daemon::{Daemon, Folder, over_tcp, pod, until};
use local_cluster::{Cluster, EXTENDER_RIGHTS, Extender, Kind, Parts, Shown, Workload};
use serde_json::{Value, json};

const NODE: &str = "worker-1";

fn deploy(folder: &str) -> String {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../deploy", folder].iter().collect();
    root.to_str().unwrap().to_owned()
}

fn cluster() -> Option<Cluster> {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap();
    Cluster::for_test(target, Parts::Storage)
}

fn get(cluster: &Cluster, arguments: &[&str]) -> Value {
    serde_json::from_str(&cluster.kubectl(&[arguments, &["-o", "json"]].concat()).unwrap()).unwrap()
}

/// As the README of `deploy` says it.
fn apply(cluster: &Cluster, folder: &str) {
    cluster.define(&[Kind::NodeResourceTopology, Kind::NodeState]).unwrap();
    cluster.kubectl(&["apply", "-k", &deploy(folder)]).unwrap();
}

/// The container of the `DaemonSet`, and its pod's `spec`.
fn template(cluster: &Cluster) -> Value {
    get(cluster, &["get", "daemonset", "topolet", "-n", "topolet"])["spec"]["template"].clone()
}

/// A file of `deploy`.
fn file(path: &str) -> String {
    std::fs::read_to_string(deploy(path)).unwrap()
}

#[test]
fn the_rules_of_the_operator_are_those_of_the_plain_file() {
    let plain = file("prometheus/topolet.rules.yaml");
    let groups = &plain[plain.find("groups:").unwrap()..];
    let indented =
        groups.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    let operators = file("prometheus/prometheus-rule.yaml");
    let spec = operators.split_once("\nspec:\n").unwrap().1;
    assert!(spec == indented.collect::<String>(), "they differ: write topolet.rules.yaml below `spec`");
}

/// Names that begin with `start`, without what a histogram and a counter add.
fn metrics(text: &str, start: &str) -> std::collections::BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != ':');
    let names = words.filter(|word| word.starts_with(start) && !word.contains(':'));
    names.map(|name| name.trim_end_matches("_bucket").trim_end_matches("_total").to_owned()).collect()
}

#[test]
fn rules_and_dashboards_name_metrics_that_there_are() {
    let sources = [
        "node-view/src/metrics.rs",
        "node-view/src/metrics/claims.rs",
        "node-view/src/metrics/free.rs",
        "node-view/src/metrics/partitions.rs",
        "node-publish/src/topology/counted.rs",
        "node-http/src/audit.rs",
    ];
    let sources = sources.map(|path| format!("../crates/{path}"));
    let others =
        ["device-plugin", "scheduler-service"].map(|name| format!("../crates/{name}/src/metrics.rs"));
    let sources = sources.into_iter().chain(others);
    let code: String = sources.map(|path| file(&path)).collect();
    let asked = file("prometheus/topolet.rules.yaml") + &file("grafana/topolet-nodes.json");
    let names: Vec<String> =
        ["topolet_", "kubelet_"].into_iter().flat_map(|start| metrics(&asked, start)).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(code.contains(&format!("\"{name}\"")), "no metric is called {name}");
    }
}

#[test]
fn the_agent_of_the_daemon_set_has_all_rights_that_it_needs() {
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "observe");
    let root = Folder::new();
    let owner = Daemon::start(root.path(), &[]);
    let mut agent = cluster.run_container(observer(&[("/var/lib/kubelet", root.path())])).unwrap();

    // It publishes, hears of pods, and writes events.
    until("its object", || {
        let found = cluster.kubectl(&["get", "noderesourcetopologies", NODE]).ok();
        assert_eq!(agent.why_ended(), None);
        found
    });
    let bound =
        pod("big", "cpu: 48, memory: 1Gi").replace("spec:\n", &format!("spec:\n  nodeName: {NODE}\n"));
    cluster.apply(&bound).unwrap();
    assert_eq!(owner.ask("POST", "/v1/pods", &get(&cluster, &["get", "pod", "big"]).to_string()).status, 422);
    let refused = json!({"status": {
        "phase": "Failed", "reason": "TopologyAffinityError",
        "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
    }});
    let patch = ["patch", "pod", "big", "--subresource=status", "--type=merge", "-p", &refused.to_string()];
    cluster.kubectl(&patch).unwrap();
    until("its event", || {
        let events = cluster.kubectl(&["get", "events"]).unwrap();
        (events.contains("TopologyAffinityError") && events.contains("would fit: ")).then_some(())
    });
    assert_eq!(missing(&agent.log()), Vec::<String>::new());
    // What its service says of its ports is so.
    let metrics = std::net::TcpStream::connect(("127.0.0.1", agent.port(9478).unwrap()));
    assert!(metrics.is_ok(), "{}", agent.log());
    assert!(agent.path("/run/topolet/topolet.sock").exists());
}

#[test]
fn a_right_that_is_taken_away_is_named_by_the_call_that_fails() {
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "observe");
    let rights = file("observe/rights.yaml");
    for (right, without, call) in [
        (
            "resources: [pods]\n  verbs: [list, watch]",
            "resources: [pods]\n  verbs: [watch]",
            "cannot list resource \"pods\"",
        ),
        (
            "resources: [noderesourcetopologies]\n  verbs: [create, patch, watch]",
            "resources: [noderesourcetopologies]\n  verbs: [watch]",
            "cannot patch resource \"noderesourcetopologies\"",
        ),
    ] {
        let fewer = rights.replace(right, without);
        assert_ne!(fewer, rights, "{right}");
        cluster.apply(&fewer).unwrap();
        let root = Folder::new();
        Daemon::start(root.path(), &[]).kill();
        let mut agent = cluster.run_container(observer(&[("/var/lib/kubelet", root.path())])).unwrap();
        until(call, || {
            assert_eq!(agent.why_ended(), None);
            missing(&agent.log()).iter().any(|line| line.contains(call)).then_some(())
        });
    }
}

#[test]
fn the_extender_has_the_rights_that_it_needs_and_no_other() {
    const CLAIMS: &str = "resources: [resourceslices, deviceclasses, resourceclaims, resourceclaimtemplates, devicetaintrules]";
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "observe");
    let program = Path::new(env!("CARGO_BIN_EXE_topolet"));
    for (taken, call) in [
        (None, None),
        (Some("resources: [nodestates]"), Some("cannot list resource \"nodestates\"")),
        (Some("resources: [pods]"), Some("cannot list resource \"pods\"")),
        (Some(CLAIMS), Some("cannot list resource \"resourceclaims\"")),
        (Some("resources: [nodes]"), Some("cannot list resource \"nodes\"")),
    ] {
        let rights = EXTENDER_RIGHTS.to_owned();
        let rights = taken.map_or(rights.clone(), |taken| rights.replace(taken, "resources: [nothing]"));
        cluster.apply(&rights).unwrap();
        let extender = Extender::start(&cluster, program).unwrap();
        if let Some(call) = call {
            until(call, || missing(&extender.log()).iter().any(|line| line.contains(call)).then_some(()));
        } else {
            let client = extender.client(Shown::Nothing).unwrap();
            until("it is ready", || {
                client.ask("GET /readyz", "").is_ok_and(|(status, _)| status == 200).then_some(())
            });
            assert_eq!(missing(&extender.log()), Vec::<String>::new());
        }
    }
}

/// The container of the `DaemonSet` as a process, whose node has its kubelet's files here.
fn observer<'a>(host: &'a [(&'a str, &'a Path)]) -> Workload<'a> {
    Workload {
        kind: "daemonset",
        namespace: "topolet",
        name: "topolet",
        program: Path::new(env!("CARGO_BIN_EXE_topolet")),
        node: NODE,
        host,
        instead: &["--machine=xeon-2s-96cpu-sriov", "--cgroup-root=off"],
    }
}

/// The calls that its rights did not allow.
fn missing(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains("a right is missing")).map(str::to_owned).collect()
}

#[test]
fn its_pods_are_allowed_and_found_by_the_plugin_and_the_service() {
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "observe");
    let template = template(&cluster);
    // What the controller of DaemonSets makes of it, which no local cluster has.
    let mut made = json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]});
    made["metadata"] =
        json!({"name": "topolet-1", "namespace": "topolet", "labels": template["metadata"]["labels"]});
    made["spec"]["nodeName"] = NODE.into();
    cluster.apply(&made.to_string()).unwrap();

    let service = get(&cluster, &["get", "service", "topolet", "-n", "topolet"]);
    let labels = template["metadata"]["labels"].as_object().unwrap();
    for (name, value) in service["spec"]["selector"].as_object().unwrap() {
        assert_eq!(labels.get(name), Some(value), "the service selects another {name}");
    }
    let container = &template["spec"]["containers"][0];
    let ports = container["ports"].as_array().unwrap();
    let argument = |option: &str| {
        let mut arguments = container["args"].as_array().unwrap().iter().filter_map(Value::as_str);
        arguments.find_map(|argument| argument.strip_prefix(option)).unwrap().to_owned()
    };
    for (name, option) in [("topolet", "--tcp="), ("metrics", "--metrics-address=")] {
        let port = ports.iter().find(|port| port["name"] == name).unwrap();
        assert!(argument(option).ends_with(&format!(":{}", port["containerPort"])), "{name}");
    }
    // By this the plugin finds it.
    assert_eq!(labels["app.kubernetes.io/name"], "topolet");
}

#[test]
fn the_other_folders_are_taken_too() {
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "node");
    // The Prometheus operator's kind is not installed here, so that its object is only written out.
    let monitor = cluster.kubectl(&["kustomize", &deploy("prometheus")]).unwrap();
    assert!(monitor.contains("kind: ServiceMonitor"), "{monitor}");
    apply(&cluster, "observe");
    let service = get(&cluster, &["get", "service", "topolet", "-n", "topolet"]);
    assert_eq!(service["metadata"]["labels"]["app.kubernetes.io/name"], "topolet");
    assert_eq!(service["spec"]["ports"][0]["name"], "metrics");
}

#[test]
fn the_job_prints_a_node_file() {
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "observe");
    cluster.apply(&file("capture/job.yaml").replace("NODE", NODE)).unwrap();
    let (root, logs) = (Folder::new(), Folder::new());
    Daemon::start(root.path(), &[]).kill();
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
                  reservedSystemCPUs: '0'\ntopologyManagerPolicy: restricted\n";
    std::fs::write(root.path().join("config.yaml"), config).unwrap();
    // The kubelet has a folder for the Job's own pod.
    let own = "topolet_topolet-capture-x2v9k_6f1c7d0e-0d5b-4a53-9a43-8b1f6d1c2a10";
    std::fs::create_dir_all(logs.path().join(own)).unwrap();
    let mut job = cluster
        .run_container(Workload {
            kind: "job",
            namespace: "topolet",
            name: "topolet-capture",
            program: Path::new(env!("CARGO_BIN_EXE_topolet")),
            node: NODE,
            host: &[("/var/lib/kubelet", root.path()), ("/var/log/pods", logs.path())],
            instead: &["--machine=xeon-2s-96cpu-sriov"],
        })
        .unwrap();
    until("it ends", || job.why_ended());
    // As the file says it.
    let decode = "sed -n '/^-----BEGIN/,/^-----END/{/^-----/!p;}' | base64 --decode > node.tar.zst";
    assert!(file("capture/job.yaml").contains(decode));
    std::fs::write(logs.path().join("log"), job.log()).unwrap();
    let decode = format!("cd {} && cat log | {decode}", logs.path().display());
    assert!(std::process::Command::new("sh").args(["-c", &decode]).status().unwrap().success());
    let node = logs.path().join("node.tar.zst").display().to_string();
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["topology", "--machine", &node])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("2 NUMA nodes"), "{text}{}{}", String::from_utf8_lossy(&shown.stderr), job.log());
}

#[test]
fn no_kustomization_has_a_definition_that_others_share() {
    let Some(cluster) = cluster() else { return };
    for folder in ["crd", "observe", "openshift", "node", "scheduler", "claims", "prometheus", "guard"] {
        if !Path::new(&deploy(folder)).join("kustomization.yaml").exists() {
            continue;
        }
        let objects = cluster.kubectl(&["kustomize", &deploy(folder)]).unwrap();
        let kinds = objects.lines().filter(|line| *line == "kind: CustomResourceDefinition").count();
        assert_eq!(kinds, usize::from(folder == "crd"), "{folder}");
        assert!(!objects.contains("name: noderesourcetopologies.topology.node.k8s.io"), "{folder}");
    }
}

#[test]
fn the_guard_of_the_daemon_set_reports_where_no_runtime_listens() {
    let Some(cluster) = cluster() else { return };
    apply(&cluster, "guard");
    let (kubelet, cgroup) = (Folder::new(), Folder::new());
    std::fs::write(cgroup.path().join("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
    let mut guard = cluster
        .run_container(Workload {
            kind: "daemonset",
            namespace: "topolet",
            name: "topolet-guard",
            program: Path::new(env!("CARGO_BIN_EXE_topolet")),
            node: NODE,
            host: &[("/var/lib/kubelet", kubelet.path()), ("/sys/fs/cgroup", cgroup.path())],
            instead: &[],
        })
        .unwrap();
    let report = guard.path("/run/topolet-guard/report.json");
    let reported = until("it reports", || {
        assert_eq!(guard.why_ended(), None, "{}", guard.log());
        let report: Value = serde_json::from_slice(&std::fs::read(&report).ok()?).ok()?;
        let reason = &report["conditions"]["GuardConnected"]["failed"]["reason"];
        reason.as_str().map(str::to_owned)
    });
    assert_eq!(reported, "NotConnected", "{}", guard.log());
    // The observer reads what it reports.
    let mounts = template(&cluster)["spec"]["containers"][0]["volumeMounts"].clone();
    let own = mounts.as_array().unwrap().iter().find(|mount| mount["mountPath"] == "/run/topolet-guard");
    assert_eq!(own.unwrap()["readOnly"], true);
}

#[test]
fn the_extender_of_the_deployment_has_what_it_needs() {
    let Some(cluster) = cluster() else { return };
    let folder = Folder::new();
    let made = std::process::Command::new("sh")
        .arg(deploy("scheduler/certificates.sh"))
        .arg(folder.path())
        .arg("DNS:topolet-scheduler.kube-system.svc")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let files = ["tls.crt", "tls.key", "ca.crt"]
        .map(|name| format!("--from-file={}", folder.path().join(name).display()));
    let secret = ["create", "secret", "generic", "topolet-scheduler", "--namespace", "kube-system"];
    let files = files.each_ref().map(String::as_str);
    cluster.kubectl(&[&secret[..], &files[..]].concat()).unwrap();
    apply(&cluster, "scheduler");
    let mut extender = cluster
        .run_container(Workload {
            kind: "deployment",
            namespace: "kube-system",
            name: "topolet-scheduler",
            program: Path::new(env!("CARGO_BIN_EXE_topolet")),
            node: NODE,
            host: &[],
            instead: &[],
        })
        .unwrap();
    let port = extender.port(10270).unwrap();
    until("it listens", || {
        assert_eq!(extender.why_ended(), None);
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    until("it has listed", || extender.log().contains("states of nodes are known").then_some(()));
    assert_eq!(missing(&extender.log()), Vec::<String>::new());
}

#[test]
fn metrics_alone_are_answered_to_everybody() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &["--metrics-address=0.0.0.0:0"]);
    let address = until("its address", || {
        let log = daemon.log();
        let line = log.iter().find(|line| line.contains("metrics can be read over TCP"))?;
        let (_, rest) = line.split_once("0.0.0.0:")?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u16>().ok()
    });
    let ask = |request: &str| {
        let text = format!("{request} HTTP/1.1\r\nHost: node.example.com:9478\r\nConnection: close\r\n\r\n");
        over_tcp(("127.0.0.1", address), &text).unwrap().status
    };
    for path in ["/metrics", "/healthz", "/readyz"] {
        assert_eq!(ask(&format!("GET {path}")), 200, "{path}");
    }
    for request in ["GET /v1/pods", "GET /v1/state", "GET /v1/events", "POST /v1/pods", "POST /v1/explain"] {
        assert_eq!(ask(request), 404, "{request}");
    }
    assert_eq!(ask("POST /metrics"), 405);
    let taken = format!("--metrics-address=127.0.0.1:{address}");
    let own = Folder::new();
    let other = Daemon::spawn(daemon::MACHINE, own.path(), "pinned", &[&taken]);
    let is_said = |line: &String| line.contains("failed to listen at 127.0.0.1:");
    until("why it does not start", || other.log().iter().any(is_said).then_some(()));
}
