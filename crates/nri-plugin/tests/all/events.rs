//! Requests and their answers.

use nri_plugin::messages::{Container, CreateContainerResponse, EventRequest, StateChangeEvent};
use prost::Message as _;

use crate::support::handler::{Running, plugin};
use crate::support::runtime::{Listening, Runtime, event, pod};

fn connected(nri: &str) -> (Running, Runtime) {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket));
    let mut runtime = listening.accept();
    runtime.synchronize(nri);
    running.until(&format!("synchronized with {:?}", nri.trim_start_matches('v')));
    (running, runtime)
}

#[test]
fn a_refusal_has_the_text_and_the_code_of_the_stub_in_go() {
    let (running, mut runtime) = connected("v0.12.3");
    let status = runtime.call("CreateContainer", &event("refused")).unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (2, "no CPUs are free on NUMA node 1"));
    assert!(runtime.call("CreateContainer", &event("next")).is_ok(), "the plugin stays");
    drop(runtime);
    running.error();
}

#[test]
fn older_runtimes_send_state_changes() {
    let (running, mut runtime) = connected("v0.11.0");
    let change =
        |event: i32, container: Option<Container>| StateChangeEvent { event, pod: Some(pod()), container };
    for (number, has_container) in [(1, false), (6, true), (11, true), (15, true), (7, true)] {
        let container = event("c1").container.filter(|_| has_container);
        assert_eq!(runtime.call("StateChange", &change(number, container)), Ok(Vec::new()), "{number}");
    }
    assert_eq!([running.next(), running.next(), running.next()], ["run p1", "start c1", "remove c1"]);
    // An event that names no container is an error, not a container without a name.
    assert!(runtime.call("StateChange", &change(6, None)).is_err());
    drop(runtime);
    running.error();
}

#[test]
fn a_method_that_is_not_known_is_unimplemented() {
    let (running, mut runtime) = connected("v0.12.3");
    let status = runtime.call("CheckpointContainer", &event("c1")).unwrap_err();
    assert_eq!(status.code, 12);
    // A runtime then tries it as StateChange, with a number that is not known either.
    let change = StateChangeEvent { event: 16, pod: Some(pod()), container: None };
    assert_eq!(runtime.call("StateChange", &change), Ok(Vec::new()));
    drop(runtime);
    running.error();
}

/// A container's event with a field that came later.
#[derive(Clone, PartialEq, prost::Message)]
struct Later {
    #[prost(message, optional, tag = "1")]
    pod: Option<nri_plugin::messages::PodSandbox>,
    #[prost(message, optional, tag = "2")]
    container: Option<Container>,
    #[prost(string, tag = "99")]
    field: String,
}

#[test]
fn fields_of_later_versions_are_passed_over() {
    let (running, mut runtime) = connected("v0.12.3");
    let EventRequest { pod, container } = event("c1");
    assert!(runtime.call("CreateContainer", &Later { pod, container, field: "x".to_owned() }).is_ok());
    assert_eq!(running.next(), "create c1");
    drop(runtime);
    running.error();
}

#[test]
fn a_request_that_is_no_message_fails_and_the_plugin_stays() {
    let (running, mut runtime) = connected("v0.12.3");
    let stream = runtime.stream();
    runtime.send(1, stream, 1, &[0xff; 5]);
    let status = runtime.answer(stream).unwrap_err();
    assert!(status.message.starts_with("the request is no message of ttrpc"), "{}", status.message);
    let stream = runtime.stream();
    let mut request = crate::support::runtime::Request {
        service: "nri.pkg.api.v1alpha1.Plugin".to_owned(),
        method: "CreateContainer".to_owned(),
        payload: vec![0xff; 5],
        timeout_nano: 0,
    };
    runtime.send(1, stream, 1, &request.encode_to_vec());
    assert_eq!(runtime.answer(stream).unwrap_err().code, 3);
    let stream = runtime.stream();
    request.service = "another.Service".to_owned();
    runtime.send(1, stream, 1, &request.encode_to_vec());
    assert_eq!(runtime.answer(stream).unwrap_err().code, 12);
    assert!(runtime.call("CreateContainer", &event("next")).is_ok());
    drop(runtime);
    running.error();
}

#[test]
fn a_stream_is_used_once_and_is_odd() {
    let (running, mut runtime) = connected("v0.12.3");
    for stream in [3, 4] {
        runtime.send(1, stream, 1, &[]);
        assert_eq!(runtime.answer(stream).unwrap_err().code, 3, "{stream}");
    }
    // Numbers may be skipped.
    runtime.stream();
    assert!(runtime.call("CreateContainer", &event("next")).is_ok());
    drop(runtime);
    running.error();
}

#[test]
fn a_handler_that_panics_fails_its_request() {
    let (running, mut runtime) = connected("v0.12.3");
    let status = runtime.call("CreateContainer", &event("panics")).unwrap_err();
    assert_eq!(status.message, "the plugin has failed");
    runtime.until_closed();
    assert!(running.end().is_none(), "the panic goes on");
}

#[test]
fn long_answers_are_cut_as_runtimes_read_them() {
    let (running, mut runtime) = connected("v0.12.3");
    for length in [1, 4000, 4100, 100_000, 4_000_000] {
        let stream = runtime.ask("CreateContainer", &event(&format!("pad-{length}")));
        let received = runtime.receive().unwrap();
        assert_eq!(received.stream, stream);
        let whole = received.body.len() + 10;
        let expected = if whole <= 4096 { vec![whole] } else { vec![4096, whole - 4096] };
        assert_eq!(received.frames, expected);
        let response = crate::support::runtime::Response::decode(&*received.body).unwrap();
        let answer = CreateContainerResponse::decode(&*response.payload).unwrap();
        assert_eq!(answer.adjust.unwrap().annotations["pad"].len(), length);
    }
    // More than 4 MiB cannot be sent: an error, not the end of the connection.
    let status = runtime.call("CreateContainer", &event("pad-4194304")).unwrap_err();
    assert_eq!(status.code, 8);
    drop(runtime);
    running.error();
}
