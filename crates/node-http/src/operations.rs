//! What can be asked: one table, of which routers and the description of the interface are made.

use axum::routing::{MethodFilter, MethodRouter, on};
use node_output::http;
use node_output::schema::Form;

use super::node::Node;
use super::query::{Parameter, SHAPE};
use super::{containers, decide, description, events, failure, health, look, page, pods, repack, resize};

/// One method of one path.
pub(super) struct Operation {
    pub(super) verb: Verb,
    /// As axum and `OpenAPI` write it: `{name}` stands for a part.
    pub(super) path: &'static str,
    /// A name for generated clients.
    pub(super) id: &'static str,
    /// What it does, in a few words.
    pub(super) summary: &'static str,
    /// What else there is to know.
    pub(super) about: &'static str,
    pub(super) query: &'static [Parameter],
    pub(super) sent: Sent,
    pub(super) access: Access,
    pub(super) answer: Answer,
    /// Statuses of errors besides those that every operation has.
    pub(super) fails: &'static [u16],
    /// Where else it is answered than on a node's own interface.
    pub(super) elsewhere: Elsewhere,
    handler: fn(MethodFilter) -> MethodRouter<Node>,
}

/// A method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Get,
    Post,
    Patch,
    Delete,
}

impl Verb {
    /// As `OpenAPI` writes it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// What a request has in its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sent {
    Nothing,
    /// Pods and what makes pods, as YAML or JSON.
    Manifests,
    Resize,
    Started,
    Exited,
}

/// Which clients may use an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// Any client that can connect.
    Look,
    /// Root and the daemon's user on the socket, and over TCP who has the token.
    Change,
}

/// What a request is answered with.
pub(super) enum Answer {
    /// A document, with the statuses that it can come with. With one of an error, but for 422, it may be an `Error` instead.
    Document(Described, &'static [(u16, &'static str)]),
    /// Documents, or a stream of events.
    Events(Described),
    Metrics,
    /// The description of the interface.
    Interface,
}

/// A document by the name that clients have for its type.
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// What the header `topolet-outcome` can be; empty: there is none.
    pub(super) outcomes: &'static [&'static str],
}

/// Where else something is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elsewhere {
    Nowhere,
    /// Beside metrics, for everybody who can reach the node.
    Monitoring,
    /// By `topolet ui`, which serves no node.
    Page,
}

impl Operation {
    /// What answers it.
    pub(super) fn route(&self) -> MethodRouter<Node> {
        (self.handler)(self.verb.filter())
    }
}

impl Answer {
    /// The form of the document, if it is one.
    pub(super) const fn document(&self) -> Option<&Described> {
        match self {
            Self::Document(described, _) | Self::Events(described) => Some(described),
            Self::Metrics | Self::Interface => None,
        }
    }
}

const fn described(name: &'static str, form: Form) -> Described {
    Described { name, form, outcomes: &[] }
}

/// The one status of what cannot come out otherwise.
const OK: &[(u16, &str)] = &[(200, "The document.")];
/// Of pods that could not be decided on.
const UNDECIDED: &str = "A pod could not be decided on: `failed` has its code, and of several codes this is the highest. Of \
                         a pod that is alone, and of a request that failed as a whole, it is an `Error`.";
/// Changes of a node.
const CHANGE: &[u16] = &[404, 409, 504, 507];
const OUTCOMES: &[&str] = &[http::DONE, http::SOME_REFUSED, http::NOT_DECIDED, http::FATE, http::PARTIAL];
/// Who writes documents.
const SERVED: &str = "serve";

/// What an operation has unless it says otherwise.
const USUAL: Operation = Operation {
    verb: Verb::Get,
    path: "",
    id: "",
    summary: "",
    about: "",
    query: SHAPE,
    sent: Sent::Nothing,
    access: Access::Look,
    answer: Answer::Interface,
    fails: &[],
    elsewhere: Elsewhere::Nowhere,
    handler: |method| on(method, description::openapi),
};

/// A document of a failed request.
pub(super) const ERROR: Form = Form::new::<failure::Error<'static>>("Error", SERVED);

/// Everything that can be asked, but for the files of the page.
pub(super) static OPERATIONS: [Operation; 19] = [
    Operation {
        path: "/v1/pods",
        id: "listPods",
        summary: "List the pods of the node",
        about: "Pods that run, that were refused, and that wait, by namespace and name.",
        query: look::LIST,
        answer: Answer::Document(described("Pods", Form::new::<pods::Pods<'static>>("Pods", SERVED)), OK),
        fails: &[404],
        handler: |method| on(method, look::list),
        ..USUAL
    },
    Operation {
        verb: Verb::Post,
        path: "/v1/pods",
        id: "admitPods",
        summary: "Admit pods",
        about: "The pods and workloads of the body are decided on one after the other, each whatever becomes of the others. \
                With `dryRun` nothing changes, and who may only look may ask.",
        query: decide::ADMIT,
        sent: Sent::Manifests,
        access: Access::Change,
        answer: Answer::Document(
            Described {
                outcomes: OUTCOMES,
                ..described(
                    "AdmittedPods",
                    Form::new::<decide::Written<'static>>("Decisions", "serve, of pods that are sent"),
                )
            },
            &[
                (200, "Every pod is admitted, or runs already as it is."),
                (
                    202,
                    "A pod waits for device plugins that are not back, or has claims that are not decided on; none is refused.",
                ),
                (
                    422,
                    "The node refuses a pod: its decision has `\"admitted\": false` and a `refusal`. It refuses one that \
                     would wait for a device plugin where as many pods as `maxPods` allows wait already, which the \
                     message says.",
                ),
                (409, UNDECIDED),
                (502, UNDECIDED),
                (503, UNDECIDED),
                (504, UNDECIDED),
                (507, UNDECIDED),
            ],
        ),
        handler: |method| on(method, decide::admit),
        ..USUAL
    },
    Operation {
        path: "/v1/pods/{namespace}/{name}",
        id: "describePod",
        summary: "Describe a pod",
        about: "Its manifest, what it holds, and the last decision on it.",
        answer: Answer::Document(
            described("PodDescription", Form::new::<pods::Described<'static>>("PodDescription", SERVED)),
            OK,
        ),
        fails: &[404],
        handler: |method| on(method, look::describe),
        ..USUAL
    },
    Operation {
        verb: Verb::Delete,
        path: "/v1/pods/{namespace}/{name}",
        id: "deletePod",
        summary: "Let a pod go",
        about: "It holds nothing any more. 409 for a pod that an API server has bound to this node: it is deleted there.",
        access: Access::Change,
        answer: Answer::Document(
            described("PodDeleted", Form::new::<containers::Done>("PodDeleted", SERVED)),
            OK,
        ),
        fails: CHANGE,
        handler: |method| on(method, containers::delete),
        ..USUAL
    },
    Operation {
        verb: Verb::Patch,
        path: "/v1/pods/{namespace}/{name}/resize",
        id: "resizePod",
        summary: "Resize a pod that runs",
        about: "The body is what `kubectl patch --subresource resize` sends: amounts of CPU and memory by container. All \
                containers are resized or none. 409 with `Deferred` where it does not fit now, with `Infeasible` where it \
                never can, and of a pod that waits for a device plugin or was refused, since it does not run.",
        sent: Sent::Resize,
        access: Access::Change,
        answer: Answer::Document(
            described("PodResized", Form::new::<resize::Resized<'static>>("Resize", SERVED)),
            OK,
        ),
        fails: CHANGE,
        handler: |method| on(method, resize::resize),
        ..USUAL
    },
    Operation {
        verb: Verb::Post,
        path: "/v1/pods/{namespace}/{name}/containers/{container}/started",
        id: "startContainer",
        summary: "Say that a container has been created",
        about: "Its cgroup is kept on the CPUs and NUMA nodes that the container holds.",
        sent: Sent::Started,
        access: Access::Change,
        answer: Answer::Document(
            described("ContainerStarted", Form::new::<containers::Done>("ContainerStarted", SERVED)),
            OK,
        ),
        fails: &[404, 409, 502, 504, 507],
        handler: |method| on(method, containers::started),
        ..USUAL
    },
    Operation {
        verb: Verb::Post,
        path: "/v1/pods/{namespace}/{name}/containers/{container}/exited",
        id: "exitContainer",
        summary: "Say that a container has ended",
        about: "What it holds stays with its pod.",
        sent: Sent::Exited,
        access: Access::Change,
        answer: Answer::Document(
            described("ContainerExited", Form::new::<containers::Done>("ContainerExited", SERVED)),
            OK,
        ),
        fails: CHANGE,
        handler: |method| on(method, containers::exited),
        ..USUAL
    },
    Operation {
        verb: Verb::Post,
        path: "/v1/explain",
        id: "explainPods",
        summary: "Explain what would be decided on pods now",
        about: "Everything that leads to the decision, and what would fit; nothing changes. The status is 200 also where a \
                pod would be refused. 409 is for a pod that is alone and that cannot be decided on.",
        query: decide::EXPLAIN,
        sent: Sent::Manifests,
        answer: Answer::Document(
            Described {
                outcomes: OUTCOMES,
                ..described(
                    "ExplainedPods",
                    Form::new::<decide::Written<'static>>("Explanation", "serve, of pods that are sent"),
                )
            },
            OK,
        ),
        fails: &[409],
        elsewhere: Elsewhere::Page,
        handler: |method| on(method, decide::explained),
        ..USUAL
    },
    Operation {
        verb: Verb::Post,
        path: "/v1/repack",
        id: "repackPods",
        summary: "Admit a pod, and move others if it does not fit",
        about: "The body has one pod. If the node refuses it, the fewest moves of other pods are looked for after which it fits; \
                they happen with its admission, all together. With `dryRun` nothing changes, and who may only look may ask. \
                409 also where the node became another one again and again while the moves were looked for: the pod is not \
                admitted then, and does not wait.",
        query: repack::REPACK,
        sent: Sent::Manifests,
        access: Access::Change,
        answer: Answer::Document(
            Described {
                outcomes: OUTCOMES,
                ..described(
                    "RepackPlans",
                    Form::new::<node_output::RepackPlans<'static>>("RepackPlans", "repack"),
                )
            },
            &[
                (200, "The pod is admitted, after the moves of `applied`; or runs already as it is."),
                (
                    202,
                    "The pod waits for device plugins that are not back, as after `POST /v1/pods`, and no pod has moved: its \
                     verdict is `deferred`.",
                ),
                (
                    422,
                    "The node refuses the pod, and no moves were found after which it fits. So it does where as many pods as \
                     `maxPods` allows wait for device plugins already, which its message says.",
                ),
            ],
        ),
        fails: &[409, 502, 504, 507],
        handler: |method| on(method, repack::repack),
        ..USUAL
    },
    Operation {
        path: "/v1/picture",
        id: "drawNode",
        summary: "Draw the node",
        about: "The picture of the page, and how pods are found in it.",
        answer: Answer::Document(
            described("NodePicture", Form::new::<page::Picture>("NodePicture", SERVED)),
            OK,
        ),
        elsewhere: Elsewhere::Page,
        handler: |method| on(method, page::picture),
        ..USUAL
    },
    Operation {
        path: "/v1/machine",
        id: "showMachine",
        summary: "Show the machine that is decided on",
        answer: Answer::Document(
            described("Topology", Form::new::<look::Noted<'static>>("Topology", SERVED)),
            OK,
        ),
        elsewhere: Elsewhere::Page,
        handler: |method| on(method, look::machine),
        ..USUAL
    },
    Operation {
        path: "/v1/state",
        id: "showState",
        summary: "Show what state files hold",
        answer: Answer::Document(described("State", Form::new::<node_output::Shown>("State", SERVED)), OK),
        handler: |method| on(method, look::held),
        ..USUAL
    },
    Operation {
        path: "/v1/status",
        id: "showStatus",
        summary: "Show what is free, who holds what, and what is wrong",
        answer: Answer::Document(
            Described {
                outcomes: &[http::DONE, http::SOMETHING_WRONG],
                ..described("NodeStatus", Form::new::<node_output::NodeStatus>("NodeStatus", SERVED))
            },
            OK,
        ),
        elsewhere: Elsewhere::Page,
        handler: |method| on(method, look::status),
        ..USUAL
    },
    Operation {
        path: "/v1/decisions",
        id: "listDecisions",
        summary: "List the last decisions",
        about: "The newest come last. Decisions are forgotten when the daemon ends.",
        query: look::LAST,
        answer: Answer::Document(
            Described {
                outcomes: &[http::DONE, http::SOME_REFUSED, http::NOT_DECIDED, http::FATE],
                ..described(
                    "LastDecisions",
                    Form::new::<look::LastDecisions<'static>>("Decisions", "serve, of the last decisions"),
                )
            },
            &[(200, "The document. `topolet-outcome` is there with `uid` alone.")],
        ),
        fails: &[404],
        elsewhere: Elsewhere::Page,
        handler: |method| on(method, look::decisions),
        ..USUAL
    },
    Operation {
        path: "/v1/events",
        id: "listEvents",
        summary: "List the last events, or stream them",
        about: "At most 1,000 are kept. As server-sent events each has its number as `id`, `node` as its name, and the event \
                as JSON as its data; who reads too slowly gets an event named `lost` with the number of events that are not \
                kept any more. A comment comes every 15 seconds.",
        query: events::EVENTS,
        answer: Answer::Events(described(
            "Events",
            Form::new::<events::LastEvents<'static>>("Events", SERVED),
        )),
        elsewhere: Elsewhere::Page,
        handler: |method| on(method, events::events),
        ..USUAL
    },
    Operation {
        path: "/metrics",
        id: "readMetrics",
        summary: "Read metrics",
        about: "In the format that `Accept` prefers.",
        query: &[],
        answer: Answer::Metrics,
        elsewhere: Elsewhere::Monitoring,
        handler: |method| on(method, look::metrics),
        ..USUAL
    },
    Operation {
        path: "/healthz",
        id: "isAlive",
        summary: "Ask whether the daemon answers",
        answer: Answer::Document(described("Health", Form::new::<health::Health>("Health", SERVED)), OK),
        elsewhere: Elsewhere::Monitoring,
        handler: |method| on(method, health::alive),
        ..USUAL
    },
    Operation {
        path: "/readyz",
        id: "isReady",
        summary: "Ask whether the node knows all its pods and has all state on disk",
        about: "503 with the reason otherwise.",
        answer: Answer::Document(described("Health", Form::new::<health::Health>("Health", SERVED)), OK),
        elsewhere: Elsewhere::Monitoring,
        handler: |method| on(method, health::ready),
        ..USUAL
    },
    Operation {
        path: "/openapi.json",
        id: "describeInterface",
        summary: "Describe this interface",
        about: "This document.",
        query: &[],
        ..USUAL
    },
];
