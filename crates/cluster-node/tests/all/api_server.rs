//! The unmodified API server: pods of a node are heard of, events on them are written, and what is missing is named.

#![expect(clippy::disallowed_methods, reason = "tests wait for servers")]

use std::path::Path;
use std::time::{Duration, Instant};

use cluster_node::pods_api::Event;
use cluster_node::{Access, Cluster, ClusterError, EventType, PodName, PodReference, PodWatch, Reporter};
use local_cluster::{Cluster as Local, Parts, User};

const AGENT: User<'static> = User { name: "agent", groups: &[] };
const DAY: Duration = Duration::from_hours(24);

fn cluster() -> Option<Local> {
    Local::for_test(Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap(), Parts::Storage)
}

fn pod(name: &str, node: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  nodeName: {node}\n  containers:\n  - name: app\n    \
         image: none\n    resources: {{limits: {{cpu: 2, memory: 1Gi}}}}\n"
    )
}

fn node(name: &str) -> String {
    format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n")
}

fn connect(kubeconfig: &Path) -> Cluster {
    Cluster::new(&Access::Kubeconfig(kubeconfig.to_path_buf())).unwrap()
}

/// The next event as words.
fn next(watch: &mut PodWatch) -> String {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        match watch.next(Duration::from_secs(1)).unwrap() {
            Some(Event::Is(pod)) => return format!("{} is {} {}", pod.name(), pod.phase(), pod.reason()),
            Some(Event::Gone(pod)) => return format!("{} is gone", pod.name()),
            Some(Event::Complete) => return "complete".to_owned(),
            None => {}
        }
    }
    "nothing".to_owned()
}

#[test]
fn pods_of_a_node_are_heard_of() {
    let Some(mut local) = cluster() else { return };
    for manifest in [node("here"), node("there"), pod("first", "here"), pod("elsewhere", "there")] {
        local.apply(&manifest).unwrap();
    }
    let admin = local.kubeconfig();
    let mut watch = connect(&admin).pods_of("here").unwrap();
    assert_eq!(next(&mut watch), "first is Pending ");
    assert_eq!(next(&mut watch), "complete");
    local.apply(&pod("other", "there")).unwrap();
    local.apply(&pod("second", "here")).unwrap();
    assert_eq!(next(&mut watch), "second is Pending ");
    let status =
        r#"{"status":{"phase":"Failed","reason":"TopologyAffinityError","message":"Pod was rejected: x"}}"#;
    local.kubectl(&["patch", "pod", "second", "--subresource=status", "--type=merge", "-p", status]).unwrap();
    assert_eq!(next(&mut watch), "second is Failed TopologyAffinityError");
    local.kubectl(&["delete", "pod", "second", "--force"]).unwrap();
    // The watch reports it once more before it is gone.
    let told = [next(&mut watch), next(&mut watch)];
    assert!(told.contains(&"second is gone".to_owned()), "{told:?}");

    // A mirror pod has the UID that the kubelet has for its static pod.
    let mirror = pod("static-here", "here").replace(
        "metadata: {name: static-here}",
        "metadata: {name: static-here, annotations: {kubernetes.io/config.mirror: 0123abc}}",
    );
    local.apply(&mirror).unwrap();
    let Event::Is(told) = watch.next(Duration::from_secs(30)).unwrap().unwrap() else { panic!("it is gone") };
    assert_eq!((told.name(), told.uid()), ("static-here", "0123abc"));

    // An API server that goes ends the watch, and one that comes back is heard again.
    local.kill_api_server();
    let start = Instant::now();
    let error = loop {
        match watch.next(Duration::from_secs(1)) {
            Err(error) => break error,
            Ok(_) => assert!(start.elapsed() < Duration::from_mins(1), "it is not noticed"),
        }
    };
    assert!(matches!(error, ClusterError::Ended(_) | ClusterError::Unreachable { .. }), "{error}");
    local.start_api_server().unwrap();
    let mut watch = connect(&admin).pods_of("here").unwrap();
    assert_eq!(next(&mut watch), "first is Pending ");
    assert_eq!(next(&mut watch), "static-here is Pending ");
    assert_eq!(next(&mut watch), "complete");
}

#[test]
fn events_are_shown_with_the_pod() {
    let Some(local) = cluster() else { return };
    local.apply(&node("here")).unwrap();
    local.apply(&pod("refused", "here")).unwrap();
    let cluster = connect(&local.kubeconfig());
    let name = PodName { namespace: "default".to_owned(), name: "refused".to_owned() };
    let found = cluster.pod(&name).unwrap();
    assert_eq!(found.node.as_deref(), Some("here"));
    let on = PodReference { namespace: name.namespace, name: name.name, uid: found.pod.uid().to_owned() };
    let mut recorder = cluster.recorder("here", Reporter::Topolet);
    for _ in 0..30 {
        let why = "NUMA 0 has 1 free CPU of 22, and 2 are asked for; would fit: wait until a leaves: NUMA 0";
        recorder.record(&on, EventType::Warning, "TopologyAffinityError", why).unwrap();
    }
    let described = local.kubectl(&["describe", "pod", "refused"]).unwrap();
    let lines: Vec<&str> = described.lines().skip_while(|line| !line.starts_with("Events:")).collect();
    assert_eq!(lines.len(), 4, "one event with a count:\n{}", lines.join("\n"));
    let parts =
        ["Warning", "TopologyAffinityError", "x25 over", "topolet", "1 free CPU of 22", "would fit: wait"];
    assert!(parts.iter().all(|part| lines[3].contains(part)), "{}", lines[3]);
}

#[test]
fn what_is_missing_is_named() {
    let Some(local) = cluster() else { return };
    let own = tempfile::tempdir().unwrap();
    let error = |path: &Path| {
        Cluster::new(&Access::Kubeconfig(path.to_path_buf()))
            .and_then(|cluster| cluster.pods_of("here"))
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let nothing = error(&own.path().join("nothing.conf"));
    assert!(
        nothing.starts_with("failed to use kubeconfig ") && nothing.contains("nothing.conf: "),
        "{nothing}"
    );
    let odd = own.path().join("odd.conf");
    std::fs::write(&odd, "clusters: 3\n").unwrap();
    assert!(error(&odd).contains("odd.conf: "), "{}", error(&odd));

    let agent = local.kubeconfig_of(AGENT, DAY).unwrap();
    let missing = error(&agent);
    assert_eq!(
        missing,
        "a right is missing: pods is forbidden: User \"agent\" cannot list resource \"pods\" in API group \"\" at the \
         cluster scope"
    );
    let expired = local.kubeconfig_of(User { name: "late", groups: &[] }, Duration::ZERO).unwrap();
    // It is valid for the rest of this second.
    let began = Instant::now();
    let is_refused = |error: &str| error.contains("401 Unauthorized") && error.contains("has expired");
    while !is_refused(&error(&expired)) {
        assert!(began.elapsed() < Duration::from_secs(30), "{}", error(&expired));
        std::thread::sleep(Duration::from_millis(100));
    }

    let text = std::fs::read_to_string(&agent).unwrap();
    let gone = own.path().join("gone.conf");
    std::fs::write(&gone, text.replace(&local.server(), "https://127.0.0.1:1")).unwrap();
    let gone = error(&gone);
    assert!(gone.starts_with("failed to reach https://127.0.0.1:1 of "), "{gone}");
    // Signed by another authority.
    let other = cluster().unwrap();
    let theirs = own.path().join("theirs.conf");
    std::fs::write(&theirs, text.replace(&local.server(), &other.server())).unwrap();
    let theirs = error(&theirs);
    assert!(theirs.contains("failed to reach ") && theirs.contains("certificate"), "{theirs}");

    let cluster = connect(&local.kubeconfig());
    let none = cluster.pod(&PodName { namespace: "default".to_owned(), name: "none".to_owned() });
    assert_eq!(none.unwrap_err().to_string(), "pods \"none\" not found");
    let none = cluster.node_resource_topology("here").unwrap_err();
    assert!(matches!(none, ClusterError::NotFound(_)), "{none}");
}
