//! Bytes that are cut, injected, too long, or none of NRI's.

use std::io::Write as _;

use nri_plugin::messages::SynchronizeRequest;
use prost::Message as _;

use crate::support::handler::{Running, plugin};
use crate::support::runtime::{Listening, Runtime, configuration, event};

fn started() -> (Listening, Running, Runtime) {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket));
    let runtime = listening.accept();
    (listening, running, runtime)
}

#[test]
fn bytes_may_come_one_by_one() {
    let (_listening, running, mut runtime) = started();
    runtime.piece = 1;
    runtime.synchronize("v0.12.3");
    assert!(runtime.call("CreateContainer", &event("c1")).is_ok());
    drop(runtime);
    running.error();
}

#[test]
fn a_message_may_be_cut_into_any_frames() {
    let (_listening, running, mut runtime) = started();
    let (_, stream) = runtime.registration();
    runtime.send(2, stream, 2, &[]);
    for (length, (method, request)) in [1, 7, 9, 100].into_iter().zip([
        ("Configure", configuration("v0.12.3").encode_to_vec()),
        ("Synchronize", SynchronizeRequest::default().encode_to_vec()),
        ("CreateContainer", event("c1").encode_to_vec()),
        ("CreateContainer", event("c2").encode_to_vec()),
    ]) {
        let stream = runtime.stream();
        let request = crate::support::runtime::Request {
            service: "nri.pkg.api.v1alpha1.Plugin".to_owned(),
            method: method.to_owned(),
            payload: request,
            timeout_nano: 0,
        };
        let message = Runtime::message(stream, 1, &request.encode_to_vec());
        // Empty frames and frames of other connections in between.
        for part in message.chunks(length) {
            let bytes = [Runtime::frame(1, part), Runtime::frame(1, b""), Runtime::frame(9, b"hi")].concat();
            runtime.write(&bytes);
        }
        assert!(runtime.answer(stream).is_ok(), "{method}");
    }
    drop(runtime);
    running.error();
}

#[test]
fn what_is_not_asked_for_is_passed_over() {
    let (_listening, running, mut runtime) = started();
    runtime.synchronize("v0.12.3");
    // An answer to no call, an answer on the plugin's connection, a part of a stream, an unknown kind, a call on the
    // other connection.
    for (connection, stream, kind) in [(2, 77, 2), (1, 5, 2), (1, 5, 3), (1, 5, 9), (2, 5, 1)] {
        runtime.send(connection, stream, kind, b"hello");
    }
    assert!(runtime.call("CreateContainer", &event("c1")).is_ok());
    drop(runtime);
    running.error();
}

#[test]
fn a_frame_or_message_that_claims_too_much_ends_the_connection() {
    let claims: [&[u8]; 4] = [
        &[0, 0, 0, 1, 0x10, 0, 0, 0],
        &[0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 1, 0, 0, 0, 10, 0x00, 0x40, 0, 1, 0, 0, 0, 5, 1, 0],
        b"GET / HTTP/1.1\r\nHost: nri\r\n\r\n",
    ];
    for bytes in claims {
        let (_listening, running, mut runtime) = started();
        runtime.synchronize("v0.12.3");
        runtime.write(bytes);
        runtime.until_closed();
        let error = running.error();
        assert!(error.ends_with("the runtime sent no frames of NRI"), "{error}");
    }
}

#[test]
fn a_cut_message_is_not_the_end_of_a_runtime() {
    let (_listening, running, mut runtime) = started();
    runtime.synchronize("v0.12.3");
    let message = Runtime::message(7, 1, b"hello");
    runtime.socket.write_all(&Runtime::frame(1, &message)[..15]).unwrap();
    drop(runtime);
    let error = running.error();
    assert!(error.ends_with("the runtime closed the connection in the middle of a message"), "{error}");
}
