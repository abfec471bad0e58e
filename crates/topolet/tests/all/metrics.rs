//! What a scraper reads from `/metrics`: the text format by default, in which the kubelet's metrics have the kubelet's
//! names, types and help texts.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::daemon::{Daemon, Folder, MACHINE, pod, until};
use crate::exposition::{Exposition, lint};
use device_plugin::PodResourcesClient;

const VF: &str = "example.com/vf";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Metrics of the kubelet v1.36.3 that are there on a node with everything on: name, type and help text.
const KUBELETS: &[(&str, &str, &str)] = &[
    (
        "kubelet_admission_rejections_total",
        "counter",
        "[ALPHA] Cumulative number pod admission rejections by the Kubelet.",
    ),
    (
        "kubelet_container_aligned_compute_resources_count",
        "counter",
        "[ALPHA] Cumulative number of aligned compute resources allocated to containers by alignment type.",
    ),
    (
        "kubelet_container_aligned_compute_resources_failure_count",
        "counter",
        "[ALPHA] Cumulative number of failures to allocate aligned compute resources to containers by alignment type.",
    ),
    ("kubelet_cpu_manager_allocation_per_numa", "gauge", "[ALPHA] Number of CPUs allocated per NUMA node"),
    (
        "kubelet_cpu_manager_exclusive_cpu_allocation_count",
        "gauge",
        "[ALPHA] The total number of CPUs exclusively allocated to containers running on this node",
    ),
    (
        "kubelet_cpu_manager_pinning_errors_total",
        "counter",
        "[ALPHA] The number of cpu core allocations which required pinning failed.",
    ),
    (
        "kubelet_cpu_manager_pinning_requests_total",
        "counter",
        "[ALPHA] The number of cpu core allocations which required pinning.",
    ),
    (
        "kubelet_cpu_manager_shared_pool_size_millicores",
        "gauge",
        "[ALPHA] The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.",
    ),
    (
        "kubelet_device_plugin_alloc_duration_seconds",
        "histogram",
        "[ALPHA] Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
    ),
    (
        "kubelet_device_plugin_registration_total",
        "counter",
        "[ALPHA] Cumulative number of device plugin registrations. Broken down by resource name.",
    ),
    (
        "kubelet_memory_manager_pinning_errors_total",
        "counter",
        "[ALPHA] The number of memory pages allocations which required pinning that failed.",
    ),
    (
        "kubelet_memory_manager_pinning_requests_total",
        "counter",
        "[ALPHA] The number of memory pages allocations which required pinning.",
    ),
    (
        "kubelet_pod_resources_endpoint_errors_get",
        "counter",
        "[ALPHA] Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.",
    ),
    (
        "kubelet_pod_resources_endpoint_requests_get",
        "counter",
        "[ALPHA] Number of requests to the PodResource Get endpoint. Broken down by server api version.",
    ),
    (
        "kubelet_pod_resources_endpoint_requests_get_allocatable",
        "counter",
        "[ALPHA] Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.",
    ),
    (
        "kubelet_pod_resources_endpoint_requests_list",
        "counter",
        "[ALPHA] Number of requests to the PodResource List endpoint. Broken down by server api version.",
    ),
    (
        "kubelet_pod_resources_endpoint_requests_total",
        "counter",
        "[ALPHA] Cumulative number of requests to the PodResource endpoint. Broken down by server api version.",
    ),
    (
        "kubelet_topology_manager_admission_duration_ms",
        "histogram",
        "[ALPHA] Duration in milliseconds to serve a pod admission request.",
    ),
    (
        "kubelet_topology_manager_admission_errors_total",
        "counter",
        "[ALPHA] The number of admission request failures where resources could not be aligned.",
    ),
    (
        "kubelet_topology_manager_admission_requests_total",
        "counter",
        "[ALPHA] The number of admission requests where resources have to be aligned.",
    ),
    ("plugin_manager_total_plugins", "gauge", "[ALPHA] Number of plugins in Plugin Manager"),
];

/// A daemon on which every metric has counted something.
fn busy(root: &Folder) -> (Daemon, Plugin) {
    let daemon = Daemon::start(root.path(), &[]);
    let folder = root.path().join("device-plugins");
    let devices = vec![device("vf0", &[0]), device("vf1", &[0]), device("vf2", &[1])];
    let plugin = Plugin::listen(&folder.join("vf.sock"), Script::default(), devices);
    register(&folder.join("kubelet.sock"), request("vf.sock", VF)).unwrap();
    drop(std::os::unix::net::UnixListener::bind(root.path().join("plugins_registry/x.sock")).unwrap());
    until("devices", || free_of(&daemon, "1").filter(|free| *free == 1));
    until("a found socket", || {
        daemon.get("/metrics").body.contains("plugin_manager_total_plugins{").then_some(())
    });
    for (name, limits) in [("good", format!("cpu: 2, memory: 1Gi, {VF}: 1")), ("far", "cpu: 600".to_owned())]
    {
        assert!(matches!(daemon.ask("POST", "/v1/pods", &pod(name, &limits)).status, 200 | 422));
    }
    let socket = root.path().join("pod-resources/kubelet.sock");
    let mut client = PodResourcesClient::connect(&socket, std::time::Duration::from_secs(30)).unwrap();
    client.list().unwrap();
    client.allocatable().unwrap();
    assert!(client.get("default", "nobody").is_err());
    (daemon, plugin)
}

/// What `topolet_free_devices` has of a NUMA node.
fn free_of(daemon: &Daemon, node: &str) -> Option<i64> {
    let series = format!("topolet_free_devices{{numa_node=\"{node}\",resource=\"{VF}\"}} ");
    let text = daemon.get("/metrics").body;
    text.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok())
}

#[test]
fn a_scraper_gets_text_unless_it_asks_for_open_metrics() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (accept, expected) in [
        ("", TEXT),
        ("Accept: */*\n", TEXT),
        ("Accept: text/plain;version=0.0.4\n", TEXT),
        ("Accept: application/openmetrics-text;q=0.4, text/plain;q=0.5\n", TEXT),
        ("Accept: application/openmetrics-text; version=1.0.0\n", OPEN_METRICS),
        (&format!("Accept: {prometheus}\n"), OPEN_METRICS),
    ] {
        let reply = daemon.ask_with("GET", "/metrics", accept, "");
        assert_eq!((reply.status, reply.field("content-type")), (200, expected), "{accept}");
        assert_eq!(reply.body.ends_with("# EOF\n"), expected == OPEN_METRICS, "{accept}");
        assert_eq!(reply.body.contains(" unknown\n"), expected == OPEN_METRICS, "{accept}");
    }
}

#[test]
fn names_types_and_help_texts_are_the_kubelets_to_the_letter() {
    let root = Folder::new();
    let (daemon, _plugin) = busy(&root);
    let text = daemon.get("/metrics").body;
    let exposition = Exposition::parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let families = exposition.families.iter().filter(|family| !family.name.starts_with("topolet_"));
    let mut found: Vec<_> =
        families.map(|family| (family.name.as_str(), family.kind.as_str(), family.help.as_str())).collect();
    found.sort_unstable();
    assert_eq!(found, KUBELETS);
    for bucket in [
        "le=\"0.05\"",
        "le=\"819.2\"",
        "resource_name=\"example.com/vf\"",
        "le=\"1\"",
        "le=\"10\"",
        "le=\"+Inf\"",
    ] {
        assert!(text.contains(bucket), "{bucket}\n{text}");
    }
    assert!(!text.contains(".0\""), "bounds are written as Go writes them\n{text}");
}

#[test]
fn our_own_metrics_have_nothing_that_promtool_complains_of() {
    let root = Folder::new();
    let (daemon, _plugin) = busy(&root);
    let text = daemon.get("/metrics").body;
    let exposition = Exposition::parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let own = exposition.families.iter().filter(|family| family.name.starts_with("topolet_"));
    let complaints: Vec<String> = own.flat_map(lint).collect();
    assert_eq!(complaints, [""; 0]);

    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("skipped: promtool is not installed, so that only our own rules were checked");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // 3: it could read everything, and the kubelet's names are not to its taste.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
    let names = KUBELETS.iter().map(|(name, ..)| *name).collect::<Vec<_>>();
    for line in said.lines() {
        assert!(names.iter().any(|name| line.starts_with(&format!("{name} "))), "{line}");
    }
}

#[test]
fn devices_of_a_plugin_that_is_gone_are_not_free_and_keep_their_series() {
    let root = Folder::new();
    let (daemon, plugin) = busy(&root);
    assert_eq!((free_of(&daemon, "0"), free_of(&daemon, "1")), (Some(1), Some(1)));
    drop(plugin);
    until("no free devices", || free_of(&daemon, "1").filter(|free| *free == 0));
    assert_eq!((free_of(&daemon, "0"), free_of(&daemon, "1")), (Some(0), Some(0)));
    let refused = daemon.ask("POST", "/v1/pods", &pod("late", &format!("cpu: 2, memory: 1Gi, {VF}: 1")));
    assert_eq!(refused.status, 422, "{}", refused.body);
    let told = daemon.prints(&["describe", "pod", "late"]);
    assert!(!told.contains("waiting is of no use"), "the plugin may come back:\n{told}");
    assert!(told.contains("the device plugin of example.com/vf is gone"), "{told}");
    let both = daemon.ask(
        "POST",
        "/v1/pods?dryRun=All&output=table",
        &pod("both", &format!("cpu: 600, memory: 1Gi, {VF}: 1")),
    );
    assert!(
        both.body.contains("92 CPUs, and it asks for 600; the device plugin of example.com/vf is gone"),
        "{}",
        both.body
    );
    // After a restart nothing is known but that there was a plugin.
    daemon.kill();
    let daemon = Daemon::start(root.path(), &[]);
    assert_eq!(free_of(&daemon, ""), Some(0));
}

#[test]
fn what_a_guard_of_exclusive_cpus_reports_is_a_condition_a_problem_and_a_metric() {
    let (root, own) = (Folder::new(), Folder::new());
    let (owner, _plugin) = busy(&root);
    let (socket, report) = (own.path().join("observe.sock"), own.path().join("report.json"));
    let why = "container default/web/c runs on exclusive CPUs 2 of others";
    // From the future: it does not get old while the test runs.
    let text = serde_json::json!({"writtenAt": 99_999_999_999_u64, "conditions": {
        "GuardConnected": "works",
        "GuardEffective": {"failed": {"reason": "Overlap", "message": why}},
    }});
    std::fs::write(&report, text.to_string()).unwrap();
    let watching =
        ["--observe", "--socket", socket.to_str().unwrap(), "--guard-report", report.to_str().unwrap()];
    let watcher = Daemon::spawn(MACHINE, root.path(), "pinned", &watching).at(&socket);
    until("a problem", || {
        let status = watcher.try_get("/v1/status").filter(|reply| reply.status == 200)?.json("NodeStatus");
        let condition =
            status["conditions"].as_array()?.iter().find(|one| one["type"] == "GuardEffective")?;
        assert_eq!((&condition["status"], &condition["reason"]), (&"False".into(), &"Overlap".into()));
        status["problems"].to_string().contains(why).then_some(())
    });
    let count = |count: u32| {
        let line = format!("topolet_observe_guard_problems {count}\n");
        until(&line, || watcher.get("/metrics").body.contains(&line).then_some(()));
    };
    count(1);
    std::fs::remove_file(&report).unwrap();
    count(0);
    drop(owner);
}

#[test]
fn beside_a_kubelet_nothing_is_exported_under_its_names() {
    let (root, own) = (Folder::new(), Folder::new());
    let (owner, _plugin) = busy(&root);
    let socket = own.path().join("observe.sock");
    let watching = ["--observe", "--socket", socket.to_str().unwrap()];
    let watcher = Daemon::spawn(MACHINE, root.path(), "pinned", &watching).at(&socket);
    until("a watcher", || watcher.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    let text = watcher.get("/metrics").body;
    let exposition = Exposition::parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let mut names: Vec<&str> = exposition.families.iter().map(|family| family.name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "topolet_free_cpus",
        "topolet_free_devices",
        "topolet_free_memory_bytes",
        "topolet_log_lines_lost_total",
        "topolet_observe_disagreements_total",
        "topolet_observe_drifted_containers",
        "topolet_observe_fates_total",
        "topolet_observe_guard_problems",
        "topolet_observe_next_start_fails",
        "topolet_pods",
        "topolet_state_stale",
        "topolet_wrong_tokens_total",
    ];
    assert_eq!(names, expected);
    drop(owner);
}
