//! What schedulers read of a node, at the unmodified API server.

use crate::exported;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::daemon::{Daemon, Folder, MACHINE, pod, until};
use crate::exported::export;
use local_cluster::{Cluster, Kind, Parts, User, WATCHER, WATCHER_RIGHTS};
use serde_json::Value;

const HOUR: Duration = Duration::from_hours(1);

fn cluster() -> Option<Cluster> {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap();
    Cluster::for_test(target, Parts::Storage)
}

/// What an agent needs, and these rights to publish.
fn rights(verbs: &str) -> String {
    let publish = format!(
        "rules:\n- {{apiGroups: [topology.node.k8s.io], resources: [noderesourcetopologies], verbs: [{verbs}]}}\n"
    );
    WATCHER_RIGHTS.replacen("rules:\n", &publish, 1)
}

const ALL_RIGHTS: &str = "create, patch, watch";

fn install(cluster: &Cluster) {
    cluster.define(&[Kind::NodeResourceTopology]).unwrap();
}

fn agent(cluster: &Cluster) -> PathBuf {
    cluster.kubeconfig_of(WATCHER, HOUR).unwrap()
}

fn flags(kubeconfig: &Path) -> [&str; 5] {
    ["--publish-nrt", "--node-name", "worker-1", "--kubeconfig", kubeconfig.to_str().unwrap()]
}

/// The object of the node, if there is one.
fn object(cluster: &Cluster) -> Option<Value> {
    let arguments = ["get", "noderesourcetopologies", "worker-1", "-o", "json", "--show-managed-fields"];
    let text = cluster.kubectl(&arguments).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// What of it is the producer's.
fn contents(object: &Value) -> Value {
    let mut own = object.clone();
    let annotations = object["metadata"].get("annotations").cloned();
    own["metadata"] = serde_json::json!({"name": object["metadata"]["name"]});
    if let Some(annotations) = annotations {
        own["metadata"]["annotations"] = annotations;
    }
    own
}

/// What `export nrt` prints of the same state.
fn expected(root: &Path) -> Value {
    let root = root.to_str().unwrap();
    export(&["-m", MACHINE, "-c", "pinned", "--state", root, "--node-name", "worker-1", "-o", "json"]).0
}

/// Waits until the API server has what the state says.
fn is_published(cluster: &Cluster, root: &Path) -> Value {
    let expected = expected(root);
    until("the object", || object(cluster).filter(|object| contents(object) == expected))
}

fn is_logged(daemon: &Daemon, text: &str) {
    until(text, || daemon.log().iter().any(|line| line.contains(text)).then_some(()));
}

fn metric(daemon: &Daemon, name: &str) -> f64 {
    let text = daemon.get("/metrics").body;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap()
}

#[test]
fn the_object_is_what_export_prints_and_stays_so() {
    let Some(cluster) = cluster() else { return };
    install(&cluster);
    cluster.apply(&rights(ALL_RIGHTS)).unwrap();
    let (root, kubeconfig) = (Folder::new(), agent(&cluster));
    let daemon = Daemon::start(root.path(), &flags(&kubeconfig));
    is_published(&cluster, root.path());

    // Admissions within a second are published together, the last one included.
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("first", "cpu: 4, memory: 1Gi")).status, 200);
    let before = is_published(&cluster, root.path());
    let many: String = (0..100)
        .map(|at| format!("---\n{}", pod(&format!("many-{at}"), "cpu: 100m, memory: 100Mi")))
        .collect();
    assert_eq!(daemon.ask("POST", "/v1/pods", &many).status, 200);
    let after = is_published(&cluster, root.path());
    let objects = generation(&after) - generation(&before);
    assert!((1..=5).contains(&objects), "{objects} objects of 100 admissions");
    assert_eq!(after["metadata"]["managedFields"][0]["manager"], "topolet");
    assert!(metric(&daemon, "topolet_nrt_publication_delay_seconds_count") >= 2.0);
    assert!(metric(&daemon, "topolet_nrt_publications_total") >= 3.0);
    assert!((metric(&daemon, "topolet_nrt_publication_failures_total")).abs() < 0.5);

    // Deleted, it is put back.
    cluster.kubectl(&["delete", "noderesourcetopologies", "worker-1"]).unwrap();
    let again = is_published(&cluster, root.path());
    assert_ne!(again["metadata"]["uid"], after["metadata"]["uid"]);

    // Changed by a person, it is put back; by a program that does it again, it is left to that.
    let change = |manager: &str| {
        let patch = r#"{"topologyPolicies":["None"]}"#;
        let manager = format!("--field-manager={manager}");
        let arguments =
            ["patch", "noderesourcetopologies", "worker-1", "--type=merge", &manager, "-p", patch];
        cluster.kubectl(&arguments).unwrap();
    };
    change("somebody");
    is_logged(&daemon, "NodeResourceTopology worker-1 is put back: .topologyPolicies is set by somebody");
    is_published(&cluster, root.path());
    change("somebody");
    let left = "NodeResourceTopology worker-1 is not published: .topologyPolicies is set by somebody, so it is left as it \
                is; --take-over-nrt overwrites it";
    is_logged(&daemon, left);
    assert_eq!(object(&cluster).unwrap()["topologyPolicies"][0], "None");
    let notes = || daemon.get("/readyz").json("Health")["notes"].clone();
    assert_eq!(notes(), serde_json::json!([left]));
    assert!(daemon.prints(&["status"]).contains("is left as it is"), "{}", daemon.prints(&["status"]));
    // Once its writer has deleted it, topolet publishes it again.
    cluster.kubectl(&["delete", "noderesourcetopologies", "worker-1"]).unwrap();
    is_published(&cluster, root.path());
    until("readiness without notes", || notes().is_null().then_some(()));
}

#[test]
fn what_is_missing_is_named_and_goes_on_when_it_is_there() {
    let Some(mut cluster) = cluster() else { return };
    cluster.apply(&rights("watch")).unwrap();
    let (root, kubeconfig) = (Folder::new(), agent(&cluster));
    let daemon = Daemon::spawn(MACHINE, root.path(), "pinned", &flags(&kubeconfig));
    is_logged(&daemon, "NodeResourceTopology worker-1 is not published: a right is missing: ");
    is_logged(&daemon, "User \"agent\" cannot patch resource \"noderesourcetopologies\" in API group");

    cluster.apply(&rights(ALL_RIGHTS)).unwrap();
    is_logged(
        &daemon,
        "kubectl apply -f deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml` installs it",
    );
    install(&cluster);
    is_published(&cluster, root.path());
    is_logged(&daemon, "NodeResourceTopology worker-1 is published");

    // Without the right to watch, all but what others do is published at once.
    cluster.apply(&rights("create, patch")).unwrap();
    cluster.kill_api_server();
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("meanwhile", "cpu: 4, memory: 1Gi")).status, 200);
    is_logged(&daemon, "failed to reach ");
    cluster.start_api_server().unwrap();
    is_published(&cluster, root.path());
    is_logged(
        &daemon,
        "NodeResourceTopology worker-1 is not watched, and what others do to it is noticed within a minute",
    );
    assert_eq!(daemon.ask("POST", "/v1/pods", &pod("then", "cpu: 2, memory: 1Gi")).status, 200);
    is_published(&cluster, root.path());
    let said = daemon.log().iter().filter(|line| line.contains("is not watched")).count();
    assert_eq!(said, 1, "{:?}", daemon.log());
    assert!(metric(&daemon, "topolet_nrt_publication_failures_total") >= 3.0);
}

/// As another producer would write it.
const THEIRS: &str = "
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: worker-1}
topologyPolicies: [None]
attributes: [{name: topologyManagerPolicy, value: none}]
zones: [{name: node-0, type: Node}]
";

#[test]
fn another_producers_object_is_left_alone_unless_told() {
    let Some(cluster) = cluster() else { return };
    install(&cluster);
    cluster.apply(&rights(ALL_RIGHTS)).unwrap();
    cluster.apply(THEIRS).unwrap();
    let (root, kubeconfig) = (Folder::new(), agent(&cluster));
    let daemon = Daemon::spawn(MACHINE, root.path(), "pinned", &flags(&kubeconfig));
    is_logged(
        &daemon,
        "NodeResourceTopology worker-1 is not published: .attributes is set by kubectl-client-side-apply; \
         .topologyPolicies is set by kubectl-client-side-apply; .zones is set by kubectl-client-side-apply, so it is \
         left as it is",
    );
    assert_eq!(object(&cluster).unwrap()["zones"].as_array().unwrap().len(), 1);
    assert!(daemon.terminate());

    let daemon = Daemon::start(root.path(), &[&flags(&kubeconfig)[..], &["--take-over-nrt"]].concat());
    let expected = expected(root.path());
    // What the other has set beside the producers' fields stays.
    until("the object", || {
        let object = object(&cluster)?;
        ["topologyPolicies", "attributes", "zones"]
            .iter()
            .all(|field| object[*field] == expected[*field])
            .then_some(())
    });
    assert!(daemon.terminate());

    let expired = cluster.kubeconfig_of(User { name: "late", groups: &[] }, Duration::ZERO).unwrap();
    let daemon = Daemon::spawn(MACHINE, root.path(), "pinned", &flags(&expired));
    is_logged(&daemon, "is not published: https://127.0.0.1:");
    is_logged(&daemon, "a client certificate or token has expired, or is of another cluster");
}

#[test]
fn a_kubelets_node_is_published_too() {
    let Some(cluster) = cluster() else { return };
    install(&cluster);
    cluster.apply(&rights(ALL_RIGHTS)).unwrap();
    cluster.apply("apiVersion: v1\nkind: Node\nmetadata: {name: worker-1}\n").unwrap();
    let (root, own, kubeconfig) = (Folder::new(), Folder::new(), agent(&cluster));
    let owner = Daemon::start(root.path(), &[]);
    let socket = own.path().join("observe.sock");
    let watching = ["--socket", socket.to_str().unwrap(), "--config", "pinned"];
    let watcher = Daemon::observe(root.path(), &[&watching[..], &flags(&kubeconfig)].concat()).at(&socket);
    is_published(&cluster, root.path());

    // The pod is known by the same UID on both sides.
    let bound = pod("web", "cpu: 4, memory: 1Gi").replace("spec:\n", "spec:\n  nodeName: worker-1\n");
    cluster.apply(&bound).unwrap();
    let bound = cluster.kubectl(&["get", "pod", "web", "-o", "json"]).unwrap();
    assert_eq!(owner.ask("POST", "/v1/pods", &bound).status, 200);
    let object = is_published(&cluster, root.path());
    assert_eq!(exported::attribute(&object, "nodeTopologyPodsFingerprintMethod"), Some("all"));
    assert_eq!(exported::amount(&object, "node-0", "cpu", "available"), 42);
    assert_eq!(watcher.get("/readyz").status, 200);
}
