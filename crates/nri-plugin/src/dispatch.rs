//! Requests of a runtime, as bytes, to methods of a handler and back. No socket, no clock, no thread.

use std::time::Instant;

use prost::Message as _;

use crate::event::{Event, Events};
use crate::handler::{ContainerEvent, Creation, Handler, NodeState, PodEvent, Refusal, Verdict};
use crate::messages::{
    ConfigureRequest, ConfigureResponse, Container, CreateContainerResponse, EventRequest, PodSandbox,
    StateChangeEvent, SynchronizeRequest, SynchronizeResponse, UpdateContainerRequest,
    UpdatePodSandboxRequest, UpdatesResponse, ValidateContainerAdjustmentRequest,
    ValidateContainerAdjustmentResponse,
};
use crate::policy::FailurePolicy;
use crate::runtime_info::RuntimeInfo;
use crate::status::{Code, Status};
use crate::updates::{ContainerId, Updates};

/// The most bytes of all pages of a synchronization together.
const MOST_PAGED: usize = 64 << 20;

/// Answers the requests of one connection with a handler. [`Plugin`](crate::Plugin) does so over a socket; a test of
/// a handler can do it without one.
#[derive(Clone, Debug, Default)]
pub struct Dispatcher {
    policy: FailurePolicy,
    runtime: Option<(RuntimeInfo, Events)>,
    pages: Pages,
    synchronized: bool,
}

/// Pages of a synchronization that is under way.
#[derive(Clone, Debug, Default)]
struct Pages {
    state: NodeState,
    bytes: usize,
}

/// An answer's bytes, or an error.
type Answer = Result<Vec<u8>, Status>;

impl Dispatcher {
    /// At the beginning of a connection.
    pub fn new(policy: FailurePolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// The runtime, once the plugin is synchronized.
    pub fn synchronized_with(&self) -> Option<&RuntimeInfo> {
        self.runtime.as_ref().filter(|_| self.synchronized).map(|(runtime, _)| runtime)
    }

    /// Answers a request of the service `nri.pkg.api.v1alpha1.Plugin`: the method's name and the request's message.
    /// An event that the handler has not asked for is answered without it.
    ///
    /// # Errors
    /// The handler refuses, the method is not known, or the bytes are no such message.
    pub fn answer(
        &mut self,
        handler: &mut impl Handler,
        method: &str,
        payload: &[u8],
        due: Option<Instant>,
    ) -> Answer {
        match method {
            "Configure" => self.configure(handler, payload),
            "Synchronize" => self.synchronize(handler, payload),
            "Shutdown" => Ok(Vec::new()),
            "StateChange" => self.state_change(handler, payload, due),
            _ => match Event::named(method) {
                Some(event) => self.event(handler, event, payload, due),
                None => Err(Status::new(Code::Unimplemented, format!("method {method} is not known"))),
            },
        }
    }

    fn configure(&mut self, handler: &mut impl Handler, payload: &[u8]) -> Answer {
        let request = ConfigureRequest::decode(payload).map_err(|error| malformed("Configure", &error))?;
        let wanted = handler.events();
        let runtime = RuntimeInfo::of(request, wanted);
        let Some(events) = wanted.known_by(runtime.nri.at_least()) else {
            let names = wanted.iter().map(Event::name).collect::<Vec<_>>().join(", ");
            let text = format!("the plugin needs {names}, which this runtime may not know");
            return Err(Status::new(Code::FailedPrecondition, text));
        };
        handler.configured(&runtime).map_err(refused)?;
        self.runtime = Some((runtime, events));
        self.synchronized = false;
        let failure_policy = self.policy.message();
        Ok(ConfigureResponse { events: events.mask(), failure_policy }.encode_to_vec())
    }

    fn synchronize(&mut self, handler: &mut impl Handler, payload: &[u8]) -> Answer {
        self.runtime()?;
        let page = SynchronizeRequest::decode(payload).map_err(|error| malformed("Synchronize", &error))?;
        self.pages.bytes += payload.len();
        if self.pages.bytes > MOST_PAGED {
            let text = format!("the pages of Synchronize have more than {MOST_PAGED} bytes");
            self.pages = Pages::default();
            return Err(Status::new(Code::ResourceExhausted, text));
        }
        let state = &mut self.pages.state;
        state.pods.extend(page.pods);
        state.containers.extend(page.containers);
        state.pages += 1;
        if page.more {
            return Ok(SynchronizeResponse { update: Vec::new(), more: true }.encode_to_vec());
        }
        let state = std::mem::take(&mut self.pages).state;
        let updates = handler.synchronize(state).map_err(refused)?;
        self.synchronized = true;
        Ok(SynchronizeResponse { update: updates.into_messages(), more: false }.encode_to_vec())
    }

    fn runtime(&self) -> Result<&(RuntimeInfo, Events), Status> {
        let missing = || Status::new(Code::FailedPrecondition, "the runtime has not configured the plugin");
        self.runtime.as_ref().ok_or_else(missing)
    }

    fn event(
        &self,
        handler: &mut impl Handler,
        event: Event,
        payload: &[u8],
        due: Option<Instant>,
    ) -> Answer {
        let (runtime, events) = self.runtime()?;
        if !events.contains(event) {
            return Ok(Vec::new());
        }
        let malformed = |error| malformed(event.name(), &error);
        match event {
            Event::CreateContainer => {
                let request = EventRequest::decode(payload).map_err(malformed)?;
                let (pod, container) = both(event, request.pod, request.container)?;
                let mut creation = Creation::of(ContainerId::from(&container));
                let event = ContainerEvent { pod: &pod, container: &container, due };
                handler.create_container(event, &mut creation).map_err(refused)?;
                let (adjust, updates) = creation.into_parts();
                let adjust = adjust.into_message(runtime.nri).map_err(refused)?;
                Ok(CreateContainerResponse { adjust, update: updates.into_messages() }.encode_to_vec())
            }
            Event::UpdateContainer => {
                let request = UpdateContainerRequest::decode(payload).map_err(malformed)?;
                let (pod, container) = both(event, request.pod, request.container)?;
                let mut updates = Updates::new();
                let event = ContainerEvent { pod: &pod, container: &container, due };
                let resources = request.linux_resources.as_ref();
                handler.update_container(event, resources, &mut updates).map_err(refused)?;
                Ok(UpdatesResponse { update: updates.into_messages() }.encode_to_vec())
            }
            Event::StopContainer => {
                let request = EventRequest::decode(payload).map_err(malformed)?;
                let (pod, container) = both(event, request.pod, request.container)?;
                let mut updates = Updates::new();
                let event = ContainerEvent { pod: &pod, container: &container, due };
                handler.stop_container(event, &mut updates).map_err(refused)?;
                Ok(UpdatesResponse { update: updates.into_messages() }.encode_to_vec())
            }
            Event::UpdatePodSandbox => {
                let request = UpdatePodSandboxRequest::decode(payload).map_err(malformed)?;
                let pod = of_event(event, "pod", request.pod)?;
                let (overhead, resources) = (request.overhead_linux_resources, request.linux_resources);
                let event = PodEvent { pod: &pod, due };
                handler.update_pod_sandbox(event, overhead.as_ref(), resources.as_ref()).map_err(refused)?;
                Ok(Vec::new())
            }
            Event::ValidateContainerAdjustment => {
                let request = ValidateContainerAdjustmentRequest::decode(payload).map_err(malformed)?;
                let (reject, reason) = match handler.validate(&request).map_err(refused)? {
                    Verdict::Accept => (false, String::new()),
                    Verdict::Reject(reason) => (true, reason),
                };
                Ok(ValidateContainerAdjustmentResponse { reject, reason }.encode_to_vec())
            }
            _ => {
                let request = EventRequest::decode(payload).map_err(malformed)?;
                without_answer(handler, event, request.pod, request.container, due)
            }
        }
    }

    /// How runtimes before NRI 0.12 send every event whose answer is empty.
    fn state_change(&self, handler: &mut impl Handler, payload: &[u8], due: Option<Instant>) -> Answer {
        let (_, events) = self.runtime()?;
        let change = StateChangeEvent::decode(payload).map_err(|error| malformed("StateChange", &error))?;
        match Event::of(change.event) {
            Some(event) if events.contains(event) => {
                without_answer(handler, event, change.pod, change.container, due)
            }
            // Events that came later are none of this plugin.
            _ => Ok(Vec::new()),
        }
    }
}

/// A method for events whose answer is empty.
enum Method<H> {
    OfPod(fn(&mut H, PodEvent<'_>) -> Result<(), Refusal>),
    OfContainer(fn(&mut H, ContainerEvent<'_>) -> Result<(), Refusal>),
}

/// An event whose answer is empty.
fn without_answer<H: Handler>(
    handler: &mut H,
    event: Event,
    pod: Option<PodSandbox>,
    container: Option<Container>,
    due: Option<Instant>,
) -> Answer {
    let method = match event {
        Event::RunPodSandbox => Method::OfPod(H::run_pod_sandbox),
        Event::StopPodSandbox => Method::OfPod(H::stop_pod_sandbox),
        Event::RemovePodSandbox => Method::OfPod(H::remove_pod_sandbox),
        Event::PostUpdatePodSandbox => Method::OfPod(H::post_update_pod_sandbox),
        Event::PostCreateContainer => Method::OfContainer(H::post_create_container),
        Event::StartContainer => Method::OfContainer(H::start_container),
        Event::PostStartContainer => Method::OfContainer(H::post_start_container),
        Event::PostUpdateContainer => Method::OfContainer(H::post_update_container),
        Event::RemoveContainer => Method::OfContainer(H::remove_container),
        Event::CreateContainer
        | Event::UpdateContainer
        | Event::StopContainer
        | Event::UpdatePodSandbox
        | Event::ValidateContainerAdjustment => {
            let text = format!("{} comes by its own request, not by StateChange", event.name());
            return Err(Status::new(Code::InvalidArgument, text));
        }
    };
    match method {
        Method::OfPod(method) => {
            let pod = of_event(event, "pod", pod)?;
            method(handler, PodEvent { pod: &pod, due }).map_err(refused)?;
        }
        Method::OfContainer(method) => {
            let (pod, container) = both(event, pod, container)?;
            method(handler, ContainerEvent { pod: &pod, container: &container, due }).map_err(refused)?;
        }
    }
    Ok(Vec::new())
}

fn both(
    event: Event,
    pod: Option<PodSandbox>,
    container: Option<Container>,
) -> Result<(PodSandbox, Container), Status> {
    Ok((of_event(event, "pod", pod)?, of_event(event, "container", container)?))
}

fn of_event<T>(event: Event, name: &str, value: Option<T>) -> Result<T, Status> {
    value.ok_or_else(|| Status::new(Code::InvalidArgument, format!("{} names no {name}", event.name())))
}

/// As the stub in Go gives an error of a handler: its text, which the runtime shows.
fn refused(refusal: impl Into<Refusal>) -> Status {
    Status::new(Code::Unknown, refusal.into().reason())
}

fn malformed(method: &str, error: &prost::DecodeError) -> Status {
    Status::new(Code::InvalidArgument, format!("{method} has a request that is no message of NRI: {error}"))
}

#[cfg(test)]
mod tests;
