//! A handler that keeps what it is asked, and requests as bytes.

use prost::Message as _;

use super::Dispatcher;
use crate::event::{Event, Events};
use crate::handler::{ContainerEvent, Creation, Handler, NodeState, PodEvent, Refusal, Verdict};
use crate::messages::{
    ConfigureRequest, ConfigureResponse, Container, CreateContainerResponse, EventRequest,
    FailurePolicy as PolicyMessage, PodSandbox, StateChangeEvent, SynchronizeRequest, SynchronizeResponse,
    UpdatesResponse, ValidateContainerAdjustmentRequest, ValidateContainerAdjustmentResponse,
};
use crate::policy::{FailurePolicy, LateConnection, LateRequest};
use crate::runtime_info::RuntimeInfo;
use crate::status::{Code, Status};
use crate::updates::{ContainerId, ResourceUpdate, Updates};
use crate::version::RuntimeNri;

struct Kept {
    events: Events,
    asked: Vec<String>,
    refuse: bool,
}

impl Kept {
    fn new(events: impl Into<Events>) -> Self {
        Self { events: events.into(), asked: Vec::new(), refuse: false }
    }

    fn keep(&mut self, what: &str, id: &str) -> Result<(), Refusal> {
        self.asked.push(format!("{what} {id}"));
        if self.refuse { Err(Refusal::new("no room")) } else { Ok(()) }
    }
}

impl Handler for Kept {
    fn events(&self) -> Events {
        self.events
    }

    fn configured(&mut self, runtime: &RuntimeInfo) -> Result<(), Refusal> {
        self.keep("configured", &runtime.name)
    }

    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        let counts = format!("{} {} {}", node.pods.len(), node.containers.len(), node.pages);
        self.keep("synchronize", &counts)?;
        let update = ResourceUpdate::new().cpus("1".parse()?);
        Ok(Updates::from_iter([(ContainerId::new("c1"), update)]))
    }

    fn run_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.keep("run", &event.pod.id)
    }

    fn stop_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.keep("stop pod", &event.pod.id)
    }

    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        self.keep("create", &event.container.id)?;
        answer.adjust.cpus(&"2-3".parse()?);
        Ok(answer.update(ContainerId::new("c0"), ResourceUpdate::new().cpus("0-1".parse()?))?)
    }

    fn start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.keep("start", &event.container.id)
    }

    fn stop_container(&mut self, event: ContainerEvent<'_>, updates: &mut Updates) -> Result<(), Refusal> {
        self.keep("stop", &event.container.id)?;
        updates.set(ContainerId::new("c0"), ResourceUpdate::new().cpus("0-3".parse()?));
        Ok(())
    }

    fn validate(&mut self, request: &ValidateContainerAdjustmentRequest) -> Result<Verdict, Refusal> {
        let container = request.container.as_ref().map_or("", |container| &container.id);
        self.keep("validate", container)?;
        Ok(if container == "bad" { Verdict::Reject("not so".to_owned()) } else { Verdict::Accept })
    }
}

fn configure(nri: &str) -> Vec<u8> {
    let request = ConfigureRequest {
        runtime_name: "scripted".to_owned(),
        nri_version: nri.to_owned(),
        request_timeout: 2000,
        ..ConfigureRequest::default()
    };
    request.encode_to_vec()
}

fn event(container: &str) -> EventRequest {
    EventRequest {
        pod: Some(PodSandbox { id: "p1".to_owned(), ..PodSandbox::default() }),
        container: Some(Container { id: container.to_owned(), ..Container::default() }),
    }
}

/// A dispatcher that is configured by a runtime with a version of NRI.
fn configured(handler: &mut Kept, nri: &str) -> Dispatcher {
    let mut dispatcher = Dispatcher::new(FailurePolicy::default());
    dispatcher.answer(handler, "Configure", &configure(nri), None).unwrap();
    handler.asked.clear();
    dispatcher
}

fn ask(
    of: &mut Dispatcher,
    handler: &mut Kept,
    method: &str,
    request: &impl prost::Message,
) -> Result<Vec<u8>, Status> {
    of.answer(handler, method, &request.encode_to_vec(), None)
}

#[test]
fn the_mask_has_what_the_runtime_knows() {
    for (nri, mask, left_out) in [
        ("v0.12.3", 1 << 3 | 1 << 13, vec![]),
        ("v0.9.0", 1 << 3, vec![Event::ValidateContainerAdjustment]),
        ("", 1 << 3, vec![Event::ValidateContainerAdjustment]),
        ("(devel)", 1 << 3 | 1 << 13, vec![]),
    ] {
        let mut handler = Kept::new(Event::CreateContainer | Event::ValidateContainerAdjustment);
        let policy = FailurePolicy { request: LateRequest::Fail, connection: LateConnection::Keep };
        let mut dispatcher = Dispatcher::new(policy);
        let answer = dispatcher.answer(&mut handler, "Configure", &configure(nri), None).unwrap();
        let answer = ConfigureResponse::decode(&*answer).unwrap();
        let policy = PolicyMessage { fail_request: true, keep_connected: true };
        assert_eq!((answer.events, answer.failure_policy), (mask, Some(policy)), "{nri}");
        let (runtime, _) = dispatcher.runtime.unwrap();
        assert_eq!(runtime.not_subscribed, left_out, "{nri}");
        assert_eq!(matches!(runtime.nri, RuntimeNri::Unknown { .. }), nri.is_empty());
    }
    let mut handler = Kept::new(Event::UpdatePodSandbox);
    let mut dispatcher = Dispatcher::default();
    let error = dispatcher.answer(&mut handler, "Configure", &configure("v0.8.0"), None).unwrap_err();
    assert_eq!(error.message, "the plugin needs UpdatePodSandbox, which this runtime may not know");
    assert_eq!(handler.asked, [""; 0]);
}

#[test]
fn pages_are_collected_and_only_the_last_one_is_answered_with_updates() {
    let mut handler = Kept::new(Event::CreateContainer);
    let mut dispatcher = configured(&mut handler, "v0.12.3");
    let page = |containers: usize, more| SynchronizeRequest {
        pods: vec![PodSandbox::default()],
        containers: vec![Container::default(); containers],
        more,
    };
    for (containers, more, updates) in [(3, true, 0), (4, true, 0), (1, false, 1), (2, false, 1)] {
        let answer = ask(&mut dispatcher, &mut handler, "Synchronize", &page(containers, more)).unwrap();
        let answer = SynchronizeResponse::decode(&*answer).unwrap();
        assert_eq!((answer.more, answer.update.len()), (more, updates));
        assert_eq!(dispatcher.synchronized_with().is_some(), !more || handler.asked.len() > 1);
    }
    assert_eq!(handler.asked, ["synchronize 3 8 3", "synchronize 1 2 1"]);
}

#[test]
fn pages_have_a_limit_together() {
    let mut handler = Kept::new(Event::CreateContainer);
    let mut dispatcher = configured(&mut handler, "v0.12.3");
    let long = Container { name: "x".repeat(4 << 20), ..Container::default() };
    let page = SynchronizeRequest { containers: vec![long], more: true, ..SynchronizeRequest::default() };
    let error = (0..16).find_map(|_| ask(&mut dispatcher, &mut handler, "Synchronize", &page).err()).unwrap();
    assert_eq!(error.code, Code::ResourceExhausted);
    assert_eq!((dispatcher.pages.bytes, dispatcher.pages.state.containers.len()), (0, 0));
}

#[test]
fn events_come_by_requests_and_by_state_changes() {
    let mut handler = Kept::new(Event::RunPodSandbox | Event::StartContainer | Event::CreateContainer);
    let mut dispatcher = configured(&mut handler, "v0.11.0");
    for (method, id) in [("RunPodSandbox", ""), ("StartContainer", "c1"), ("RemoveContainer", "c1")] {
        assert_eq!(ask(&mut dispatcher, &mut handler, method, &event(id)), Ok(Vec::new()), "{method}");
    }
    for number in [1, 6, 11, 99] {
        let change =
            StateChangeEvent { event: number, pod: event("c1").pod, container: event("c1").container };
        assert_eq!(ask(&mut dispatcher, &mut handler, "StateChange", &change), Ok(Vec::new()), "{number}");
    }
    // RemoveContainer was not asked for, and event 99 is not known.
    assert_eq!(handler.asked, ["run p1", "start c1", "run p1", "start c1"]);
    let change = StateChangeEvent { event: 4, pod: event("c1").pod, container: event("c1").container };
    let error = ask(&mut dispatcher, &mut handler, "StateChange", &change).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
}

#[test]
fn answers_have_what_the_handler_says() {
    let mut handler =
        Kept::new(Event::CreateContainer | Event::StopContainer | Event::ValidateContainerAdjustment);
    let mut dispatcher = configured(&mut handler, "v0.12.3");
    let answer = ask(&mut dispatcher, &mut handler, "CreateContainer", &event("c1")).unwrap();
    let answer = CreateContainerResponse::decode(&*answer).unwrap();
    let cpus = answer.adjust.unwrap().linux.unwrap().resources.unwrap().cpu.unwrap().cpus;
    assert_eq!((cpus.as_str(), answer.update[0].container_id.as_str()), ("2-3", "c0"));
    let answer = ask(&mut dispatcher, &mut handler, "StopContainer", &event("c1")).unwrap();
    assert_eq!(UpdatesResponse::decode(&*answer).unwrap().update.len(), 1);
    for (id, rejected) in [("good", false), ("bad", true)] {
        let request =
            ValidateContainerAdjustmentRequest { container: event(id).container, ..Default::default() };
        let answer = ask(&mut dispatcher, &mut handler, "ValidateContainerAdjustment", &request).unwrap();
        assert_eq!(ValidateContainerAdjustmentResponse::decode(&*answer).unwrap().reject, rejected);
    }
    // The container that is created is not updated.
    let error = ask(&mut dispatcher, &mut handler, "CreateContainer", &event("c0")).unwrap_err();
    assert_eq!(
        error,
        Status::new(Code::Unknown, "container c0 is being created: it is adjusted, not updated")
    );
}

#[test]
fn a_refusal_is_the_text_of_the_handler() {
    let mut handler = Kept::new(Event::RunPodSandbox | Event::CreateContainer);
    let mut dispatcher = configured(&mut handler, "v0.12.3");
    handler.refuse = true;
    for method in ["RunPodSandbox", "CreateContainer", "Synchronize"] {
        let error = ask(&mut dispatcher, &mut handler, method, &event("c1")).unwrap_err();
        assert_eq!(error, Status::new(Code::Unknown, "no room"), "{method}");
    }
    assert!(dispatcher.synchronized_with().is_none());
}

#[test]
fn what_cannot_be_answered_is_an_error() {
    let mut handler = Kept::new(Event::CreateContainer);
    let mut dispatcher = Dispatcher::default();
    let before = ask(&mut dispatcher, &mut handler, "CreateContainer", &event("c1")).unwrap_err();
    assert_eq!(before.code, Code::FailedPrecondition);
    let mut dispatcher = configured(&mut handler, "v0.12.3");
    let unknown = dispatcher.answer(&mut handler, "CreateEverything", &[], None).unwrap_err();
    assert_eq!(unknown, Status::new(Code::Unimplemented, "method CreateEverything is not known"));
    let garbage = dispatcher.answer(&mut handler, "CreateContainer", &[0xff; 3], None).unwrap_err();
    assert_eq!(garbage.code, Code::InvalidArgument);
    let empty = dispatcher.answer(&mut handler, "CreateContainer", &[], None).unwrap_err();
    assert_eq!(empty.message, "CreateContainer names no pod");
    // A field that came later is passed over.
    let later = [&event("c1").encode_to_vec()[..], &[0xfa, 0x01, 0x02, 0x08, 0x01]].concat();
    assert!(dispatcher.answer(&mut handler, "CreateContainer", &later, None).is_ok());
    assert_eq!(dispatcher.answer(&mut handler, "Shutdown", &[], None), Ok(Vec::new()));
}
