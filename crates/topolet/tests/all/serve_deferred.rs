//! Device plugins that come late after a restart, or not at all: pods wait for them, and no longer than they should.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use crate::daemon::plugin::{Plugin, Script, device, register, request};
use crate::daemon::{Daemon, Folder, pod, until};

const CARD: &str = "example.com/card";

/// A plugin with two cards, registered.
fn plugin(root: &Path) -> Plugin {
    let plugins = root.join("device-plugins");
    let plugin = Plugin::listen(
        &plugins.join("card.sock"),
        Script::default(),
        vec![device("card-0", &[0]), device("card-1", &[1])],
    );
    register(&plugins.join("kubelet.sock"), request("card.sock", CARD)).unwrap();
    plugin
}

/// Two folders: of the node, and with the options. Pods wait for so many seconds.
fn options(own: &Folder, seconds: u64) -> PathBuf {
    let path = own.path().join("topolet.yaml");
    let text = format!(
        "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ndevices: {{deferSeconds: {seconds}}}\n"
    );
    fs::write(&path, text).unwrap();
    path
}

fn start(root: &Path, options: &Path) -> Daemon {
    Daemon::start(root, &["--topolet-config", options.to_str().unwrap()])
}

fn asks_card(name: &str) -> String {
    pod(name, &format!("cpu: 2, memory: 1Gi, {CARD}: 1"))
}

fn status(daemon: &Daemon, name: &str) -> String {
    let pod = daemon.get(&format!("/v1/pods/default/{name}"));
    let document: serde_json::Value = serde_json::from_str(&pod.body).unwrap_or_default();
    document["pod"]["status"].as_str().unwrap_or_default().to_owned()
}

/// A node on which a pod holds a card, started anew without the plugin.
fn restarted(folder: &Folder, options: &Path) -> Daemon {
    let daemon = start(folder.path(), options);
    let plugin = plugin(folder.path());
    // A pod that comes before them is admitted without.
    let listed = format!("topolet_free_devices{{numa_node=\"1\",resource=\"{CARD}\"}} 1");
    until("the cards", || daemon.get("/metrics").body.contains(&listed).then_some(()));
    let reply = daemon.ask("POST", "/v1/pods", &asks_card("holder"));
    assert!(reply.status == 200 && reply.body.contains("card-0"), "{}", reply.body);
    drop(plugin);
    assert!(daemon.terminate());
    start(folder.path(), options)
}

/// Seconds differ from run to run.
fn without_seconds(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.parse::<u64>().is_ok() { "N" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pod_waits_for_a_plugin_that_comes_late() {
    let (folder, own) = (Folder::new(), Folder::new());
    let daemon = restarted(&folder, &options(&own, 60));
    assert_eq!(status(&daemon, "holder"), "Admitted", "what is held stays held");

    // What is asked meanwhile is answered, listed, counted and explained as waiting.
    let reply = daemon.ask("POST", "/v1/pods", &asks_card("late"));
    assert_eq!(reply.status, 202, "{}", reply.body);
    let described: serde_json::Value = serde_json::from_str(&daemon.get("/openapi.json").body).unwrap();
    assert!(described["paths"]["/v1/pods"]["post"]["responses"]["202"].is_object(), "202 is not described");
    let document: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    let decision = &document["decisions"][0];
    assert_eq!(decision["admitted"], false);
    assert_eq!(decision["deferred"]["reason"], "DevicePluginNotReady");
    assert_eq!(decision["deferred"]["resources"], serde_json::json!([CARD]));
    assert!(decision["deferred"]["seconds"].as_u64().unwrap() <= 60, "{decision}");
    assert_eq!(status(&daemon, "late"), "Deferred");
    let again = daemon.ask("POST", "/v1/pods", &asks_card("late"));
    assert_eq!(again.status, 202, "asked again it still waits: {}", again.body);
    let other: serde_json::Value =
        serde_json::from_str(&daemon.ask("POST", "/v1/explain", &asks_card("other")).body).unwrap();
    assert_eq!(other["decisions"][0]["deferred"]["reason"], "DevicePluginNotReady", "{other}");
    let metrics = daemon.get("/metrics").body;
    assert!(metrics.contains("topolet_pods{phase=\"deferred\"} 1"), "{metrics}");
    assert!(metrics.contains("topolet_deferred_pods_total 1"), "{metrics}");
    let events = daemon.get("/v1/events").body;
    assert!(events.contains("DevicePluginNotReady"), "{events}");

    // Pods that need none of its devices are decided on, and one that lacks more is refused.
    let plain = daemon.ask("POST", "/v1/pods", &pod("plain", "cpu: 2, memory: 1Gi"));
    assert_eq!(plain.status, 200, "{}", plain.body);
    let wide = daemon.ask("POST", "/v1/pods", &pod("wide", &format!("cpu: 500, memory: 1Gi, {CARD}: 1")));
    assert_eq!(wide.status, 422, "{}", wide.body);

    let table = daemon.prints(&["get", "pods"]);
    let late = table.lines().find(|line| line.contains("late")).unwrap();
    assert!(late.contains("DevicePluginNotReady"), "{table}");

    let _plugin = plugin(folder.path());
    until("the pod", || (status(&daemon, "late") == "Admitted").then_some(()));
    let late = daemon.get("/v1/pods/default/late").body;
    assert!(late.contains("card-1"), "the holder has the other: {late}");
    assert!(daemon.get("/metrics").body.contains("topolet_pods{phase=\"deferred\"} 0"));
}

/// The statuses under which a pod is listed.
fn listed(daemon: &Daemon, name: &str) -> Vec<String> {
    let pods: serde_json::Value = serde_json::from_str(&daemon.get("/v1/pods").body).unwrap();
    let named = pods["pods"].as_array().unwrap().iter().filter(|pod| pod["name"] == name);
    named.map(|pod| pod["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_pod_for_which_others_may_move_waits_like_any_other() {
    let (folder, own) = (Folder::new(), Folder::new());
    let daemon = restarted(&folder, &options(&own, 60));
    let dry = daemon.ask("POST", "/v1/repack?dryRun=All", &asks_card("late"));
    assert_eq!(dry.status, 202, "{}", dry.body);
    assert_eq!(listed(&daemon, "late"), [""; 0], "nothing was done");
    let reply = daemon.ask("POST", "/v1/repack", &asks_card("late"));
    assert_eq!(reply.status, 202, "{}", reply.body);
    let document: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(document["pods"][0]["verdict"], "deferred");
    assert_eq!(document["pods"][0]["deferred"]["resources"], serde_json::json!([CARD]));
    assert_eq!(document["applied"]["moved"], serde_json::json!([]));
    let described: serde_json::Value = serde_json::from_str(&daemon.get("/openapi.json").body).unwrap();
    assert!(described["paths"]["/v1/repack"]["post"]["responses"]["202"].is_object(), "202 is not described");
    assert_eq!(listed(&daemon, "late"), ["Deferred"]);
    let again = daemon.ask("POST", "/v1/repack?output=table", &asks_card("late"));
    assert_eq!(again.status, 202, "{}", again.body);
    assert!(again.body.contains("the pod waits, and no pod has moved"), "{}", again.body);
    let _plugin = plugin(folder.path());
    until("the pod", || (listed(&daemon, "late") == ["Admitted"]).then_some(()));
}

#[test]
fn what_is_refused_does_not_wait() {
    for path in ["/v1/pods", "/v1/repack"] {
        let (folder, own) = (Folder::new(), Folder::new());
        let daemon = start(folder.path(), &options(&own, 60));
        // A plugin that dies while it is asked.
        let (asked, is_asked) = mpsc::channel();
        let script = Script {
            allocate: Box::new(move |_| {
                let _ = asked.send(());
                Box::pin(std::future::pending())
            }),
            ..Script::default()
        };
        let plugins = folder.path().join("device-plugins");
        let dying = Plugin::listen(&plugins.join("card.sock"), script, vec![device("card-0", &[0])]);
        register(&plugins.join("kubelet.sock"), request("card.sock", CARD)).unwrap();
        let there = format!("topolet_free_devices{{numa_node=\"0\",resource=\"{CARD}\"}} 1");
        until("the card", || daemon.get("/metrics").body.contains(&there).then_some(()));
        let reply = thread::scope(|scope| {
            let answer = scope.spawn(|| daemon.ask("POST", path, &asks_card("late")));
            is_asked.recv().unwrap();
            drop(dying);
            answer.join().unwrap()
        });
        // Whether its end or the end of the call is noticed first, the answer says what has become of the pod.
        let (now, later) =
            if reply.status == 202 { ("Deferred", "Admitted") } else { ("Refused", "Refused") };
        assert!([202, 409, 422].contains(&reply.status), "{path}: {}", reply.body);
        assert_eq!(listed(&daemon, "late"), [now], "{path}: {}", reply.body);
        let _plugin = plugin(folder.path());
        until("what becomes of it", || (listed(&daemon, "late") == [later]).then_some(()));
        let next = daemon.ask("POST", "/v1/pods", &asks_card("next"));
        assert_eq!(next.status, 200, "{path}: {}", next.body);
        assert_eq!(listed(&daemon, "late"), [later], "{path}: who waited has been decided on before");
    }
}

#[test]
fn no_more_pods_wait_than_may_run() {
    let (folder, own) = (Folder::new(), Folder::new());
    let options = options(&own, 60);
    let config = own.path().join("kubelet.yaml");
    fs::write(&config, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 4\n")
        .unwrap();
    let more = ["--topolet-config", options.to_str().unwrap()];
    let daemon = Daemon::with_options(folder.path(), config.to_str().unwrap(), &more);
    let first = plugin(folder.path());
    let listed_now = format!("topolet_free_devices{{numa_node=\"1\",resource=\"{CARD}\"}} 1");
    until("the cards", || daemon.get("/metrics").body.contains(&listed_now).then_some(()));
    drop(first);
    let gone = format!("topolet_free_devices{{numa_node=\"1\",resource=\"{CARD}\"}} 0");
    until("its end", || daemon.get("/metrics").body.contains(&gone).then_some(()));
    for at in 0..4 {
        let reply = daemon.ask("POST", "/v1/pods", &asks_card(&format!("late{at}")));
        assert_eq!(reply.status, 202, "{at}: {}", reply.body);
    }
    let says = "the pod cannot wait for the device plugin: 4 pods wait already, as many as maxPods allows";
    for path in ["/v1/pods?dryRun=All", "/v1/repack?dryRun=All", "/v1/pods", "/v1/repack"] {
        let reply = daemon.ask("POST", path, &asks_card("fifth"));
        assert_eq!(reply.status, 422, "{path}: {}", reply.body);
        assert!(reply.body.contains(says), "{path}: {}", reply.body);
    }
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("plain", "cpu: 2, memory: 1Gi")).status, 200);
    let resize =
        "{\"spec\": {\"containers\": [{\"name\": \"app\", \"resources\": {\"limits\": {\"cpu\": \"3\"}}}]}}";
    let resized = daemon.ask("PATCH", "/v1/pods/default/late0/resize", resize);
    assert_eq!(resized.status, 409, "{}", resized.body);
    assert_eq!(resized.message(), "pod default/late0 waits for a device plugin and does not run yet");

    let _plugin = plugin(folder.path());
    let waits = |name: &&str| listed(&daemon, name) == ["Deferred"];
    let all = ["late0", "late1", "late2", "late3"];
    until("the last of them", || (!all.iter().any(waits)).then_some(()));
    let admitted = all.iter().filter(|name| listed(&daemon, name) == ["Admitted"]).count();
    assert_eq!(admitted, 2, "as many as there are cards");
}

#[test]
fn a_pod_waits_no_longer_than_it_should() {
    let (folder, own) = (Folder::new(), Folder::new());
    let daemon = restarted(&folder, &options(&own, 3));
    let reply = daemon.ask("POST", "/v1/pods", &asks_card("late"));
    assert_eq!(reply.status, 202, "{}", reply.body);
    until("the refusal", || (status(&daemon, "late") == "Refused").then_some(()));
    let late = daemon.get("/v1/pods/default/late").body;
    assert!(late.contains("UnexpectedAdmissionError"), "{late}");
    assert!(late.contains("no healthy devices present"), "as a kubelet: {late}");
    let next = daemon.ask("POST", "/v1/pods", &asks_card("next"));
    assert_eq!(next.status, 422, "nobody waits any more: {}", next.body);
    assert_eq!(status(&daemon, "holder"), "Admitted");
}

#[test]
fn a_pod_that_waits_can_be_deleted() {
    let (folder, own) = (Folder::new(), Folder::new());
    let daemon = restarted(&folder, &options(&own, 60));
    assert_eq!(daemon.ask("POST", "/v1/pods", &asks_card("late")).status, 202);
    assert_eq!(daemon.ask("DELETE", "/v1/pods/default/late", "").status, 200);
    assert_eq!(daemon.get("/v1/pods/default/late").status, 404);
    let _plugin = plugin(folder.path());
    until("the cards", || (daemon.ask("POST", "/v1/pods", &asks_card("next")).status == 200).then_some(()));
}

#[test]
fn a_container_with_devices_of_a_late_plugin_starts_when_it_is_back() {
    let (folder, own) = (Folder::new(), Folder::new());
    let daemon = restarted(&folder, &options(&own, 60));
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let daemon = &daemon;
        scope.spawn(move || {
            let path = "/v1/pods/default/holder/containers/app/started";
            tell.send(daemon.ask("POST", path, "{\"id\": \"holder-1\"}")).unwrap();
        });
        // It is asked for, and does not start: other requests are answered meanwhile.
        for name in ["one", "two"] {
            assert_eq!(daemon.ask("POST", "/v1/pods", &pod(name, "cpu: 1, memory: 1Gi")).status, 200);
        }
        assert!(!daemon.get("/v1/pods/default/holder").body.contains("holder-1"));
        let _plugin = plugin(folder.path());
        let reply = told.recv().unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(daemon.get("/v1/pods/default/holder").body.contains("holder-1"));
    });
}

/// What a person sees, from the restart to the end.
#[test]
fn the_session_of_a_late_plugin() {
    let (folder, own) = (Folder::new(), Folder::new());
    let daemon = restarted(&folder, &options(&own, 60));
    let file = own.path().join("late.yaml");
    fs::write(&file, asks_card("late")).unwrap();
    let file = file.to_str().unwrap();
    let output = daemon.topolet(&["apply", "-f", file]);
    assert_eq!(output.status.code(), Some(2));
    let applied = without_seconds(&String::from_utf8(output.stdout).unwrap());
    let listed = daemon.prints(&["get", "pods"]);
    let described = without_seconds(&daemon.prints(&["describe", "pod", "late"]));
    let _plugin = plugin(folder.path());
    until("the pod", || (status(&daemon, "late") == "Admitted").then_some(()));
    let after = daemon.prints(&["get", "pods"]);
    let ages = |text: &str| {
        let lines = text.lines().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let session = format!("{applied}\n{}\n\n{described}\n{}\n", ages(&listed), ages(&after));
    insta::assert_snapshot!(session);
}
