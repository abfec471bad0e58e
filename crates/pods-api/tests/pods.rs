//! Pods as Go writes them, and a client against a server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use pod_spec::Phase;
use pods_api::{Event, KubeletPod, NotAPod, PodsClient, PodsError, PodsServer, SOCKET};
use topology_manifest::{Source, read_pods};

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// A pod in JSON, and the bytes that `k8s.io/api` v0.36.3 makes of it (`crates/workspace-tools/kubelet/cmd/podbytes`).
const FORWARDER: (&str, &[u8]) = (include_str!("forwarder.json"), include_bytes!("forwarder.binpb"));

fn read(json: &str) -> pod_spec::Pod {
    read_pods(&Source::from_bytes("pod", json.as_bytes()).unwrap()).unwrap().remove(0)
}

fn pod(uid: &str, phase: &str) -> KubeletPod {
    let json = format!(
        r#"{{"metadata":{{"name":"pod-{uid}","namespace":"ns","uid":"{uid}"}},
            "spec":{{"containers":[{{"name":"c","image":"x"}}]}},"status":{{"phase":"{phase}"}}}}"#
    );
    KubeletPod::from_json(&json).unwrap()
}

#[test]
fn a_pod_that_go_wrote_is_the_pod_of_its_json() {
    let pod = KubeletPod::from_bytes(FORWARDER.1).unwrap();
    assert_eq!((pod.namespace(), pod.name()), ("telco", "forwarder-0"));
    assert_eq!((pod.phase(), pod.reason()), ("Failed", "TopologyAffinityError"));
    assert_eq!(pod.message(), "Pod was rejected: Resources cannot be allocated with Topology locality");

    assert_eq!(
        pod.containers().collect::<Vec<_>>(),
        [("setup", "containerd://0aa1"), ("forward", "cri-o://0bb2")]
    );

    let told = read(&pod.to_json().unwrap());
    // When a pod was created decides on the order of a restart, which is never replayed with pods of this API.
    let written = pod_spec::Pod { created: told.created, ..read(FORWARDER.0) };
    assert_eq!(told, written, "every field that a decision looks at");
    assert_eq!(told.constraints.host_ports.len(), 2);
    assert_eq!(told.phase, Phase::Ended);
    assert_eq!(read(&pod.clone().without_status().to_json().unwrap()).phase, Phase::Active);

    // Go writes what is empty too, so the messages differ.
    let of_json = KubeletPod::from_json(FORWARDER.0).unwrap();
    assert_eq!(read(&of_json.to_json().unwrap()), told);
    assert_eq!(KubeletPod::from_bytes(&pod.to_bytes()).unwrap(), pod);
}

#[test]
fn claims_stay_with_a_pod_and_its_status_goes() {
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"train","namespace":"ml","uid":"1"},
        "spec":{"containers":[{"name":"app","resources":{"claims":[{"name":"gpu","request":"first"}]}}],
            "resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpus"},{"name":"net","resourceClaimName":"nics"}]},
        "status":{"phase":"Failed","resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"train-gpu-x7k2p"}]}}"#;
    let pod = KubeletPod::from_json(json).unwrap();
    let pod = KubeletPod::from_bytes(&pod.to_bytes()).unwrap();
    let asked = read(&pod.as_asked().to_json().unwrap());
    assert_eq!((asked.phase, &asked.constraints), (Phase::Active, &read(json).constraints));
    let [gpu, net] = &asked.constraints.claims[..] else { panic!("{asked:?}") };
    assert_eq!((gpu.made.as_deref(), gpu.requests.len()), (Some("train-gpu-x7k2p"), 1));
    assert_eq!(net.object, Some(pod_spec::ClaimObject::Claim("nics".to_owned())));
}

#[test]
fn bytes_that_are_no_pod_are_refused() {
    for cut in 0..FORWARDER.1.len() {
        if let Ok(pod) = KubeletPod::from_bytes(&FORWARDER.1[..cut]) {
            assert_eq!(pod.uid(), "5b0f1f9e-0d57-4d0f-b9a5-6f0e3c1f2a11", "cut at {cut}");
        }
    }
    assert!(matches!(KubeletPod::from_bytes(b""), Err(NotAPod::WithoutUid)));
    assert!(matches!(KubeletPod::from_bytes(b"\xff\xff\xff"), Err(NotAPod::Bytes(_))));
    assert!(matches!(KubeletPod::from_json("{"), Err(NotAPod::Text(_))));
}

#[test]
fn pods_are_listed_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join(SOCKET);
    let server = PodsServer::listen(&socket).unwrap();
    server.put(pod("b", "Running"));
    server.put(pod("a", ""));
    let mut client = PodsClient::connect(&socket, LONG).unwrap();
    let listed: Vec<String> = client.list().unwrap().iter().map(|pod| pod.uid().to_owned()).collect();
    assert_eq!(listed, ["a", "b"], "by UID");
    assert_eq!(client.get("b").unwrap(), Some(pod("b", "Running")));
    assert_eq!(client.get("c").unwrap(), None);

    let mut watch = client.watch().unwrap();
    let mut next = || watch.next(LONG).unwrap().unwrap();
    assert_eq!(next(), Event::Is(Box::new(pod("a", ""))));
    assert_eq!(next(), Event::Is(Box::new(pod("b", "Running"))));
    assert_eq!(next(), Event::Complete);
    server.put(pod("a", "Failed"));
    assert_eq!(next(), Event::Is(Box::new(pod("a", "Failed"))));
    server.remove("a");
    assert_eq!(next(), Event::Gone(Box::new(pod("a", "").without_status())));
    assert_eq!(watch.next(Duration::from_millis(1)).unwrap(), None, "nothing else has happened");
    server.end_watches();
    assert!(matches!(watch.next(LONG), Err(PodsError::Ended)));
}

#[test]
fn a_kubelet_that_does_not_answer_is_an_error_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join(SOCKET);
    let error = PodsClient::connect(&socket, LONG).unwrap_err();
    assert_eq!(error.to_string(), format!("no server answers at {}", socket.display()));

    let server = PodsServer::listen(&socket).unwrap();
    server.starting(true);
    let mut client = PodsClient::connect(&socket, LONG).unwrap();
    let error = client.list().unwrap_err();
    assert!(matches!(error, PodsError::Starting(_)), "{error:?}");
    assert_eq!(error.to_string(), "the kubelet is starting: Kubelet is initializing");
    assert!(matches!(client.watch().unwrap_err(), PodsError::Starting(_)));

    // A socket of another process, which never answers.
    drop(server);
    let _silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let within = Duration::from_millis(50);
    let error = PodsClient::connect(&socket, within).and_then(|mut client| client.list()).unwrap_err();
    assert!(matches!(error, PodsError::Late(_) | PodsError::NotServed(_)), "{error:?}");
}
