//! Answers that are not there in time.

use std::time::Duration;

use nri_plugin::OwnDeadline;

use crate::support::handler::{Running, plugin};
use crate::support::runtime::{Listening, event};

#[test]
fn what_is_not_decided_in_time_fails_before_the_runtime_goes_on_without_it() {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket));
    let mut runtime = listening.accept();
    runtime.synchronize("v0.12.3");
    runtime.timeout = Duration::from_millis(800);
    let status = runtime.call("CreateContainer", &event("slow-1500")).unwrap_err();
    assert!(
        status.message.starts_with("10-kept did not decide on CreateContainer within "),
        "{}",
        status.message
    );
    assert_eq!(status.code, 2, "not DeadlineExceeded, which is what a runtime calls its own");
    // The late answer is thrown away, and the plugin goes on.
    runtime.timeout = Duration::from_secs(20);
    assert!(runtime.call("CreateContainer", &event("next")).is_ok());
    running.until("create slow-1500");
    assert_eq!([running.next(), running.next()], ["late CreateContainer", "create next"]);
    drop(runtime);
    running.error();
}

#[test]
fn what_waits_behind_a_slow_request_has_its_own_deadline() {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket));
    let mut runtime = listening.accept();
    runtime.synchronize("v0.12.5");
    runtime.timeout = Duration::from_secs(20);
    let slow = runtime.ask("CreateContainer", &event("slow-1200"));
    runtime.timeout = Duration::from_millis(400);
    let [created, removed] =
        ["CreateContainer", "RemoveContainer"].map(|method| runtime.ask(method, &event("next")));
    assert!(runtime.answer(created).is_err());
    assert!(runtime.answer(removed).is_err());
    assert!(runtime.answer(slow).is_ok());
    // Nothing is decided for a request that has failed, but what has happened is not kept from the handler.
    running.until("create slow-1200");
    assert_eq!([running.next(), running.next()], ["remove next", "late RemoveContainer"]);
    drop(runtime);
    running.error();
}

#[test]
fn without_a_deadline_the_answer_comes_late() {
    let listening = Listening::new();
    let running = Running::start(&plugin().socket(&listening.socket).own_deadline(OwnDeadline::None));
    let mut runtime = listening.accept();
    runtime.synchronize("v0.12.3");
    runtime.timeout = Duration::from_millis(100);
    assert!(runtime.call("CreateContainer", &event("slow-300")).is_ok());
    drop(runtime);
    running.error();
}
