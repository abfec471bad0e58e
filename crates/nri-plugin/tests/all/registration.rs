//! From the connection to the first event.

use std::time::Duration;

use nri_plugin::messages::{SynchronizeRequest, SynchronizeResponse};
use nri_plugin::{FailurePolicy, LateConnection, LateRequest, Times};
use prost::Message as _;

use crate::support::handler::{Running, plugin};
use crate::support::runtime::{Listening, Response, Status, configuration, container};

#[test]
fn name_and_index_are_registered_and_events_follow() {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket));
    let mut runtime = listening.accept();
    let (registration, stream) = runtime.registration();
    assert_eq!((registration.plugin_name.as_str(), registration.plugin_idx.as_str()), ("kept", "10"));
    // An empty answer is a message of 0 bytes.
    runtime.send(2, stream, 2, &[]);
    runtime.call("Configure", &configuration("v0.12.3")).unwrap();
    runtime.call("Synchronize", &SynchronizeRequest::default()).unwrap();
    assert_eq!([running.next(), running.next()], ["synchronize 0 1", "synchronized with \"0.12.3\""]);
    drop(runtime);
    assert_eq!(running.error(), "the connection to the runtime has ended: the runtime closed the connection");
}

#[test]
fn configure_may_come_before_the_answer_to_the_registration() {
    let listening = Listening::new();
    let times = Times { configure: Duration::from_millis(200), ..Times::default() };
    let running = Running::start(&plugin().socket(&listening.socket).times(times));
    let mut runtime = listening.accept();
    let (_, stream) = runtime.registration();
    runtime.call("Configure", &configuration("v0.12.3")).unwrap();
    runtime.send(2, stream, 2, &[]);
    // Synchronize has no deadline: it waits until no call of the kubelet is under way.
    std::thread::sleep(Duration::from_millis(400));
    runtime.call("Synchronize", &SynchronizeRequest::default()).unwrap();
    running.until("synchronized with \"0.12.3\"");
    drop(runtime);
    running.error();
}

#[test]
fn a_runtime_that_says_nothing_is_left() {
    let limit = Duration::from_millis(200);
    let listening = Listening::new();
    let times = Times { register: limit, ..Times::default() };
    let running = Running::start(&plugin().socket(&listening.socket).times(times));
    let mut runtime = listening.accept();
    runtime.registration();
    runtime.until_closed();
    let expected =
        "the connection to the runtime has ended: the runtime did not answer the registration within 0.2 s";
    assert_eq!(running.error(), expected);

    let times = Times { configure: limit, ..Times::default() };
    let running = Running::start(&plugin().socket(&listening.socket).times(times));
    let mut runtime = listening.accept();
    let (_, stream) = runtime.registration();
    runtime.send(2, stream, 2, &[]);
    runtime.until_closed();
    let expected =
        "the connection to the runtime has ended: the runtime did not configure the plugin within 0.2 s";
    assert_eq!(running.error(), expected);
}

#[test]
fn a_refused_registration_is_final() {
    let listening = Listening::new();
    let plugin = plugin().socket(&listening.socket).reconnect(nri_plugin::Reconnect::default());
    let running = Running::start(&plugin);
    let mut runtime = listening.accept();
    let (_, stream) = runtime.registration();
    let message = "invalid plugin index".to_owned();
    let refusal = Response { status: Some(Status { code: 2, message }), payload: Vec::new() };
    runtime.send(2, stream, 2, &refusal.encode_to_vec());
    // The runtime leaves the connection open; the plugin does not.
    runtime.until_closed();
    let expected =
        "the connection to the runtime has ended: the runtime refused the registration: invalid plugin index";
    assert_eq!(running.error(), expected);
}

#[test]
fn the_failure_policy_is_handed_over() {
    let listening = Listening::new();
    let policy = FailurePolicy { request: LateRequest::Fail, connection: LateConnection::Drop };
    let running = Running::start(&plugin().socket(&listening.socket).failure_policy(policy));
    let mut runtime = listening.accept();
    let configured = runtime.configure("v0.12.5");
    let policy = configured.failure_policy.unwrap();
    assert_eq!(
        (configured.events, policy.fail_request, policy.keep_connected),
        (0b100_0010_1001, true, false)
    );
    drop(runtime);
    running.error();
}

#[test]
fn pages_are_handed_over_as_one() {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket));
    let mut runtime = listening.accept();
    runtime.configure("v0.12.3");
    let long = nri_plugin::messages::Container { name: "x".repeat(6000), ..container("c") };
    for (count, more) in [(600, true), (300, true), (100, false)] {
        let page = SynchronizeRequest {
            containers: vec![long.clone(); count],
            more,
            ..SynchronizeRequest::default()
        };
        let answer = runtime.call("Synchronize", &page).unwrap();
        assert_eq!(SynchronizeResponse::decode(&*answer).unwrap().more, more);
    }
    assert_eq!(running.next(), "synchronize 1000 3");
    drop(runtime);
    running.error();
}
