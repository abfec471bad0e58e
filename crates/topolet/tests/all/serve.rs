//! The daemon as a whole: pods from a folder and over the socket, a device plugin, kills and restarts.

use crate::daemon;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::daemon::{Daemon, Folder, pod, until};
use device_plugin::PodResourcesClient;
use device_plugin::proto::podresources_v1alpha1::ListPodResourcesRequest;
use device_plugin::proto::podresources_v1alpha1::pod_resources_lister_client::PodResourcesListerClient;
use serde_json::{Value, json};

const VF: &str = "example.com/vf";

/// The kubelet's state files and the pods' own.
fn files(root: &Path) -> BTreeMap<String, String> {
    let state = ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];
    let pods = fs::read_dir(root.join("topolet/pods")).unwrap();
    let pods = pods.map(|entry| format!("topolet/pods/{}", entry.unwrap().file_name().display()));
    let names = state.map(str::to_owned).into_iter().chain(pods);
    names.map(|name| (name.clone(), fs::read_to_string(root.join(name)).unwrap())).collect()
}

fn words(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// A plugin that has registered and listed.
fn plugin(root: &Path, daemon: &Daemon) -> Plugin {
    let folder = root.join("device-plugins");
    let devices = vec![device("vf0", &[0]), device("vf1", &[0]), device("vf2", &[1])];
    let plugin = Plugin::listen(&folder.join("vf.sock"), Script::default(), devices);
    register(&folder.join("kubelet.sock"), request("vf.sock", VF)).unwrap();
    let listed = format!("topolet_free_devices{{numa_node=\"1\",resource=\"{VF}\"}} 1");
    until("devices", || daemon.get("/metrics").body.contains(&listed).then_some(()));
    plugin
}

#[test]
fn killed_and_started_again_the_node_is_as_it_was() {
    let (root, manifests) = (Folder::new(), Folder::new());
    fs::write(manifests.path().join("static.yaml"), pod("static", "cpu: 4, memory: 4Gi")).unwrap();
    let arguments = ["--manifests", manifests.path().to_str().unwrap()];
    let daemon = Daemon::start(root.path(), &arguments);
    let vfs = plugin(root.path(), &daemon);

    let file = root.path().join("pods.yaml");
    let wanted = [
        pod("dpdk", &format!("cpu: 6, memory: 2Gi, {VF}: 2")),
        pod("huge", "cpu: 200, memory: 2Gi"),
        pod("web", ""),
    ];
    fs::write(&file, wanted.join("---\n")).unwrap();
    let applied = daemon.topolet(&["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(applied.status.code(), Some(2), "huge is refused");
    let said = String::from_utf8(applied.stdout).unwrap();
    assert!(said.contains("✔ default/dpdk   admitted") && said.contains("✘ default/huge"), "{said}");
    assert_eq!(vfs.calls(), ["options", "allocate vf0,vf1"]);
    let described: Value = serde_json::from_str(&daemon.get("/v1/pods/default/dpdk").body).unwrap();
    assert_eq!(described["pod"]["containers"][0]["setup"], json!({"envs": {"IDS": "vf0,vf1"}}));

    let started = daemon.ask(
        "POST",
        "/v1/pods/default/dpdk/containers/app/started",
        r#"{"id": "containerd://4f5a", "cgroup": "/sys/fs/cgroup/kubepods/4f5a"}"#,
    );
    assert_eq!(started.status, 200, "{}", started.body);

    let listed = words(&daemon.pods());
    let expected = [
        "NAMESPACE NAME STATUS QOS CPUS NUMA DEVICES SOURCE",
        "default dpdk Admitted Guaranteed 3-5,51-53 0 2 request",
        "default huge TopologyAffinityError Guaranteed - - - request",
        "default static Admitted Guaranteed 1-2,49-50 0 - folder",
        "default web Admitted BestEffort shared - - request",
    ];
    assert_eq!(listed, expected);
    let metrics = daemon.get("/metrics").body;
    for line in [
        "kubelet_topology_manager_admission_requests_total 4",
        "kubelet_cpu_manager_exclusive_cpu_allocation_count 10",
        "kubelet_admission_rejections_total{reason=\"TopologyAffinityError\"} 1",
        "kubelet_device_plugin_registration_total{resource_name=\"example.com/vf\"} 1",
        "topolet_free_devices{numa_node=\"0\",resource=\"example.com/vf\"} 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }

    let before = files(root.path());
    daemon.kill();
    drop(vfs);
    let daemon = Daemon::start(root.path(), &arguments);
    let admitted: Vec<&str> = expected.into_iter().filter(|line| !line.contains("huge")).collect();
    assert_eq!(words(&daemon.pods()), admitted, "a refused pod is forgotten, no other is");
    let described = daemon.prints(&["describe", "pod", "dpdk"]);
    assert!(described.contains("4f5a"), "the running container is known:\n{described}");
    let again = plugin(root.path(), &daemon);
    until("the same files", || (files(root.path()) == before).then_some(()));
    assert_eq!(again.calls(), ["options"], "what was given out is not asked for again");

    assert_eq!(daemon.prints(&["delete", "pod", "dpdk"]), "pod default/dpdk deleted\n");
    fs::remove_file(manifests.path().join("static.yaml")).unwrap();
    until("a folder that is empty", || (daemon.pods().lines().count() == 2).then_some(()));
    let state = daemon.prints(&["get", "state"]);
    assert!(state.contains("shared pool 0-95"), "{state}");
    assert!(daemon.terminate(), "a signal ends it well");
    assert!(!root.path().join("topolet.sock").exists());
}

#[test]
fn who_was_quarantined_by_a_repair_and_holds_nothing_is_forgotten() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let file = root.path().join("pod.yaml");
    fs::write(&file, pod("there", "cpu: 2, memory: 1Gi")).unwrap();
    daemon.prints(&["apply", "-f", file.to_str().unwrap()]);
    daemon.kill();
    let mark = root.path().join("topolet-quarantine.json");
    let known = |name: &str| (name.to_owned(), json!({ "name": name, "why": "two owners" }));
    let pods: serde_json::Map<_, _> = ["default_there", "default_gone"].map(known).into_iter().collect();
    fs::write(&mark, json!({ "pods": pods }).to_string()).unwrap();

    let daemon = Daemon::start(root.path(), &[]);
    let told = until("who is quarantined", || {
        Some(daemon.log().join("\n")).filter(|log| log.contains("default_there"))
    });
    assert!(!told.contains("default_gone"), "{told}");
    daemon.kill();
    let left: Value = serde_json::from_str(&fs::read_to_string(&mark).unwrap()).unwrap();
    let left = left["pods"].as_object().unwrap().keys().map(String::as_str);
    assert_eq!(left.collect::<Vec<_>>(), ["default_there"]);
}

#[test]
fn a_file_that_does_not_name_the_quarantined_pods_keeps_the_node_from_being_ready() {
    let root = Folder::new();
    let mark = root.path().join("topolet-quarantine.json");
    fs::write(&mark, "{\"pods\": ").unwrap();
    let daemon = Daemon::spawn(daemon::MACHINE, root.path(), "pinned", &[]);
    // The socket is there before it is listened at.
    let ready = until("its socket", || daemon.try_get("/readyz"));
    assert_eq!(ready.status, 503, "{}", ready.body);
    let says = "topolet-quarantine.json does not say which pods are quarantined";
    assert!(ready.message().contains(says), "{}", ready.body);
    let status = daemon.get("/v1/status");
    assert!(status.body.contains(says), "{}", status.body);
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("a", "cpu: 2, memory: 1Gi")).status, 200, "it decides");
    fs::remove_file(&mark).unwrap();
    until("it is ready", || (daemon.get("/readyz").status == 200).then_some(()));
}

#[test]
fn a_bad_manifest_is_told_once_and_harms_no_other() {
    let (root, manifests) = (Folder::new(), Folder::new());
    let file = |name: &str| manifests.path().join(name);
    for at in 0..20 {
        fs::write(file(&format!("bad{at}.yaml")), format!("kind: Pod\n  bad: {at}")).unwrap();
    }
    let good = pod("good", "cpu: 2, memory: 1Gi");
    fs::write(file("good.yaml"), good.replace("spec:", "spec:\n  ofALaterRelease: 1")).unwrap();
    fs::write(file("twin.yaml"), pod("good", "cpu: 1, memory: 1Gi")).unwrap();
    fs::write(file(".hidden.yaml"), pod("hidden", "cpu: 2, memory: 1Gi")).unwrap();
    fs::create_dir(file("folder.yaml")).unwrap();
    let workloads = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pods/workloads.yaml");
    fs::copy(workloads, file("workloads.yaml")).unwrap();
    fs::write(file("refused.yaml"), pod("refused", "cpu: -1")).unwrap();
    std::os::unix::fs::symlink("nowhere", file("dangling.yaml")).unwrap();
    let daemon = Daemon::watching(root.path(), manifests.path());
    let pods = || words(&daemon.pods());
    until("a pod", || pods().iter().any(|line| line.starts_with("default good Admitted")).then_some(()));
    assert_eq!(pods().len(), 2, "{:?}", pods());

    // A pod whose manifest is spoilt stays as it is; one that is mended comes.
    fs::write(file("good.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: ").unwrap();
    fs::write(file("bad0.yaml"), pod("mended", "cpu: 2, memory: 1Gi")).unwrap();
    until("a mended pod", || pods().iter().any(|line| line.starts_with("default mended")).then_some(()));
    assert!(pods().iter().any(|line| line.starts_with("default good Admitted")), "{:?}", pods());

    let told = |what: &str| daemon.log().iter().filter(|line| line.contains(what)).count();
    assert_eq!(told("field is ignored, as by a kubelet: "), 1, "{:?}", daemon.log());
    until("its log", || (told("/good.yaml:3") == 1).then_some(()));
    let log = daemon.log();
    for at in 1..20 {
        let lines = log.iter().filter(|line| line.contains(&format!("/bad{at}.yaml:2:6")));
        assert_eq!(lines.count(), 1, "bad{at}.yaml is told once\n{}", log.join("\n"));
    }
    assert_eq!(told("pod default/good is in"), 1, "the twin is told once");
    assert_eq!(told("/workloads.yaml:3:7: kind: \"Service\" is not read here"), 1, "{}", log.join("\n"));
    assert_eq!(
        told("spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\""),
        1,
        "{}",
        log.join("\n")
    );
}

#[test]
fn a_broken_manifest_holds_back_its_own_pods_and_says_so() {
    let (root, manifests) = (Folder::new(), Folder::new());
    let file = |name: &str| manifests.path().join(name);
    fs::write(file("dpdk.yaml"), pod("dpdk", "cpu: 4, memory: 4Gi")).unwrap();
    fs::write(file("web.yaml"), format!("{}---\n{}", pod("web", "cpu: 2, memory: 1Gi"), pod("log", "")))
        .unwrap();
    let daemon = Daemon::watching(root.path(), manifests.path());
    let names = |daemon: &Daemon| -> Vec<String> {
        let listed: Value = serde_json::from_str(&daemon.get("/v1/pods").body).unwrap();
        let pods = listed["pods"].as_array().unwrap();
        pods.iter().map(|pod| pod["name"].as_str().unwrap().to_owned()).collect()
    };
    until("three pods", || (names(&daemon) == ["dpdk", "log", "web"]).then_some(()));
    let unusable = |daemon: &Daemon, count: usize| {
        let line = format!("topolet_manifests_unusable {count}");
        daemon.get("/metrics").body.lines().any(|found| found == line).then_some(())
    };
    until("no unusable manifest", || unusable(&daemon, 0));
    assert_eq!(daemon.get("/readyz").status, 200);

    // One bad document spoils its whole file, as in the kubelet; others go on.
    fs::write(file("web.yaml"), format!("{}---\nkind: Pod\n\tx\n", pod("new", ""))).unwrap();
    fs::remove_file(file("dpdk.yaml")).unwrap();
    fs::write(file("more.yaml"), pod("more", "")).unwrap();
    until("what others say", || (names(&daemon) == ["log", "more", "web"]).then_some(()));
    let not_ready = |daemon: &Daemon, parts: &[&str]| {
        let reply = daemon.get("/readyz");
        assert_eq!(reply.status, 503, "{}", reply.body);
        let said = reply.message();
        for part in parts {
            assert!(said.contains(part), "{part} is not in {said}");
        }
        assert!(!said.contains('\n'), "{said}");
    };
    not_ready(
        &daemon,
        &["manifest web.yaml cannot be used", "pods default/log, default/web stay as they are"],
    );
    until("an unusable manifest", || unusable(&daemon, 1));
    let told = |daemon: &Daemon| -> Vec<String> {
        daemon.log().into_iter().filter(|line| line.contains("manifest cannot be used")).collect()
    };
    until("its log", || (!told(&daemon).is_empty()).then_some(()));
    let log = told(&daemon);
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("WARN") && log[0].contains("web.yaml"), "{log:?}");
    assert!(log[0].contains("pods default/log, default/web stay as they are"), "{log:?}");

    // A restart beside the broken file keeps its pods, and carries out what happened to the others.
    daemon.kill();
    fs::remove_file(file("more.yaml")).unwrap();
    fs::write(file("late.yaml"), pod("late", "")).unwrap();
    let daemon = Daemon::watching(root.path(), manifests.path());
    until("what others say", || (names(&daemon) == ["late", "log", "web"]).then_some(()));
    not_ready(
        &daemon,
        &["manifest web.yaml cannot be used", "pods default/log, default/web stay as they are"],
    );
    fs::remove_file(file("web.yaml")).unwrap();
    until("an end", || (names(&daemon) == ["late"]).then_some(()));
    until("readiness", || (daemon.get("/readyz").status == 200).then_some(()));
    until("no unusable manifest", || unusable(&daemon, 0));
    // Each line of the log is an event.
    assert!(daemon.log().iter().all(|line| line.contains("Z ")), "{:?}", daemon.log());
}

#[test]
fn without_its_manifests_folder_a_daemon_is_not_ready_and_keeps_its_pods() {
    let (root, parent) = (Folder::new(), Folder::new());
    let manifests = parent.path().join("manifests");
    fs::create_dir(&manifests).unwrap();
    fs::write(manifests.join("web.yaml"), pod("web", "cpu: 2, memory: 1Gi")).unwrap();
    let daemon = Daemon::watching(root.path(), &manifests);
    let web = |daemon: &Daemon| daemon.pods().contains("web");
    until("a pod", || web(&daemon).then_some(()));
    daemon.kill();
    fs::rename(&manifests, parent.path().join("elsewhere")).unwrap();
    let daemon = Daemon::watching(root.path(), &manifests);
    let said = until("a reason", || {
        let said = daemon.get("/readyz").message();
        said.contains("manifests folder").then_some(said)
    });
    assert!(said.contains("cannot be read: No such file"), "{said}");
    assert!(said.contains("pod default/web stays as it is"), "{said}");
    assert_eq!(daemon.get("/readyz").status, 503);
    assert!(daemon.get("/metrics").body.lines().any(|line| line == "topolet_manifests_unusable 1"));
    assert!(web(&daemon));
}

#[test]
fn a_failed_registration_of_a_plugin_is_logged_with_what_from_where_and_why() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let kubelet = root.path().join("device-plugins/kubelet.sock");
    register(&kubelet, request("vf.sock", "no domain\nINFO forged")).unwrap_err();
    // One that was found and cannot introduce itself.
    let found = root.path().join("plugins_registry/csi.sock");
    let _found = Plugin::listen(&found, Script::default(), Vec::new());
    let warned = |parts: &[&str]| {
        let log = daemon.log();
        log.into_iter().find(|line| line.contains("WARN") && parts.iter().all(|part| line.contains(part)))
    };
    let parts = ["device plugin failed to register", "ResourceName", "is invalid", "device-plugins/vf.sock"];
    until("a warning", || warned(&parts));
    let parts = ["device plugin failed to register", "failed to get plugin info", "csi.sock"];
    until("a warning", || warned(&parts));
    assert!(!daemon.log().iter().any(|line| line.starts_with("INFO forged")));
}

fn pod_resources(root: &Path) -> PodResourcesClient {
    let socket = root.join("pod-resources/kubelet.sock");
    PodResourcesClient::connect(&socket, Duration::from_secs(30)).unwrap()
}

/// Those that only exist where something has gone wrong that does not go wrong here are not looked for:
/// `kubelet_pod_resources_endpoint_errors_list` and `…_errors_get_allocatable`, which the kubelet never counts.
#[test]
fn all_metrics_of_the_kubelet_are_there_and_no_others_under_its_names() {
    let config = Folder::new();
    let file = config.path().join("config.yaml");
    fs::write(
        &file,
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
         memoryManagerPolicy: Static\ntopologyManagerPolicy: single-numa-node\nreservedSystemCPUs: \"0\"\n\
         cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\nsystemReserved: {memory: 924Mi}\n\
         reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n\
         featureGates: {PodLevelResourceManagers: true, PodLevelResources: true}\n",
    )
    .unwrap();
    let root = Folder::new();
    let daemon = Daemon::with_config(root.path(), file.to_str().unwrap());
    let _plugin = plugin(root.path(), &daemon);
    for body in [
        pod("good", &format!("cpu: 2, memory: 1Gi, {VF}: 1")),
        pod("odd", "cpu: 3, memory: 1Gi"),
        pod("far", "cpu: 60, memory: 1Gi"),
    ] {
        assert!(matches!(daemon.ask("POST", "/v1/pods", &body).status, 200 | 422));
    }
    let mut client = pod_resources(root.path());
    client.list().unwrap();
    client.allocatable().unwrap();
    assert!(client.get("default", "nobody").is_err(), "such a pod is not here");
    let text = daemon.get("/metrics").body;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let name = |line: &str| line.split(['{', ' ']).next().unwrap_or_default().to_owned();
    let found: std::collections::BTreeSet<String> = samples.map(name).collect();
    let histogram = |name: &str| ["_bucket", "_count", "_sum"].map(|end| format!("{name}{end}"));
    let mut expected: Vec<String> = [
        "kubelet_admission_rejections_total",
        "kubelet_container_aligned_compute_resources_count",
        "kubelet_container_aligned_compute_resources_failure_count",
        "kubelet_cpu_manager_allocation_per_numa",
        "kubelet_cpu_manager_exclusive_cpu_allocation_count",
        "kubelet_cpu_manager_pinning_errors_total",
        "kubelet_cpu_manager_pinning_requests_total",
        "kubelet_cpu_manager_shared_pool_size_millicores",
        "kubelet_device_plugin_registration_total",
        "kubelet_memory_manager_pinning_errors_total",
        "kubelet_memory_manager_pinning_requests_total",
        "kubelet_topology_manager_admission_errors_total",
        "kubelet_topology_manager_admission_requests_total",
        "kubelet_pod_resources_endpoint_errors_get",
        "kubelet_pod_resources_endpoint_requests_get",
        "kubelet_pod_resources_endpoint_requests_get_allocatable",
        "kubelet_pod_resources_endpoint_requests_list",
        "kubelet_pod_resources_endpoint_requests_total",
        "resource_manager_allocation_errors_total",
        "resource_manager_allocations_total",
        "resource_manager_container_assignments",
    ]
    .map(str::to_owned)
    .into();
    expected.extend(histogram("kubelet_topology_manager_admission_duration_ms"));
    expected.extend(histogram("kubelet_device_plugin_alloc_duration_seconds"));
    expected.sort();
    let kubelets: Vec<String> = found
        .iter()
        .filter(|name| name.starts_with("kubelet_") || name.starts_with("resource_manager_"))
        .cloned()
        .collect();
    assert_eq!(kubelets, expected);
    for own in [
        "topolet_attempt_duration_seconds_count",
        "topolet_merge_duration_seconds_count",
        "topolet_admission_duration_seconds_count",
        "topolet_work_limit_reached_total",
        "topolet_state_write_failures_total",
        "topolet_cpuset_drift_total",
        "topolet_repairs_total",
        "topolet_free_cpus",
        "topolet_free_memory_bytes",
        "topolet_free_devices",
        "topolet_pods",
        "topolet_state_behind",
    ] {
        assert!(found.contains(own), "{own}\n{text}");
    }
}

/// Pods and how many devices the first container of each has, by `v1alpha1`.
fn list_v1alpha1(root: &Path) -> Vec<(String, usize)> {
    let socket = root.join("pod-resources/kubelet.sock");
    let told = daemon::plugin::runtime().block_on(async {
        let mut client = PodResourcesListerClient::new(daemon::plugin::channel(&socket).await);
        client.list(ListPodResourcesRequest {}).await.unwrap().into_inner()
    });
    told.pod_resources.into_iter().map(|pod| (pod.name, pod.containers[0].devices.len())).collect()
}

#[test]
fn the_pod_resources_service_tells_what_pods_hold() {
    let root = Folder::new();
    let daemon = Daemon::start(root.path(), &[]);
    let _plugin = plugin(root.path(), &daemon);
    let body = pod("dpdk", &format!("cpu: 2, memory: 1Gi, {VF}: 1"));
    assert_eq!(daemon.ask("POST", "/v1/pods", &body).status, 200);
    let mut client = pod_resources(root.path());
    let pods = client.list().unwrap();
    assert_eq!(pods.len(), 1);
    let amounts = &pods[0].containers[0].amounts;
    assert_eq!(amounts.cpus.to_string(), "1,49");
    assert_eq!((amounts.memory[0].size, amounts.devices.len()), (1 << 30, 1));
    let refused = daemon.ask("POST", "/v1/pods", &pod("huge", "cpu: 400, memory: 1Gi"));
    assert_eq!(refused.status, 422);
    assert_eq!(client.list().unwrap().len(), 1, "v1 lists active pods");
    let mut all = list_v1alpha1(root.path());
    all.sort();
    assert_eq!(
        all,
        [("dpdk".to_owned(), 1), ("huge".to_owned(), 0)],
        "v1alpha1 lists those that are refused too"
    );
    let allocatable = client.allocatable().unwrap();
    assert_eq!(allocatable.cpus.len(), 92);
    assert_eq!(allocatable.devices.len(), 3);
}

#[test]
fn systemd_is_told_when_it_is_ready_and_when_it_stops() {
    let root = Folder::new();
    let path = root.path().join("notify");
    let notified = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    notified.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let daemon = Daemon::start_with_env(root.path(), "NOTIFY_SOCKET", path.to_str().unwrap());
    let mut line = [0; 64];
    let next = |line: &mut [u8; 64]| {
        let length = notified.recv(line).unwrap();
        String::from_utf8_lossy(&line[..length]).into_owned()
    };
    assert_eq!(next(&mut line), "READY=1");
    assert!(daemon.terminate());
    assert_eq!(next(&mut line), "STOPPING=1");
}

#[test]
fn unit_files_call_it_with_arguments_that_it_has() {
    for unit in ["topolet.service", "topolet-observe.service"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(unit);
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains("Type=notify"));
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        // systemd puts words of an administrator there.
        let words: Vec<&str> = line.split(' ').skip(1).filter(|word| *word != "$OPTIONS").collect();
        // Help is printed for arguments that are right so far; others are an error before it.
        let output = Command::new(env!("CARGO_BIN_EXE_topolet")).args(&words).arg("--help").output().unwrap();
        assert!(output.status.success(), "{unit}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
