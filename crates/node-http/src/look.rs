//! Handlers that read: pods, the machine, state files, status, decisions and metrics.

use std::sync::Arc;

use admission_report::Report;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::{Who, text};
use kubelet_checkpoint::store::StateFile;
use node_agent::Snapshot;
use node_input::LoadedNode;
use node_output::{NodeLine, NodeStatus, NotRunning, PodGroup, Shown, Usage};
use node_state::{PodNames, StateFolder, files, manifest};
use pod_spec::{Pod, PodUid};
use schemars::JsonSchema;
use serde::Serialize;
use terminal_text::Page;
use topology_admission::Deferral;

use super::decide::{outcome_of, with_outcome};
use super::exposition;
use super::failure::Failure;
use super::node::{Answered, Node, find, no_pod};
use super::pods;
use super::query::{GLYPHS, OUTPUT, Parameter, Query, Values, WIDTH};
use super::reply::Shape;
use super::segments::Segments;
use node_output::http::{DONE, SOMETHING_WRONG};
use node_view::{DECISIONS, KubeletDecision, LoggedDecision, NodeView, Observed};

/// What [`list`] takes.
pub(super) const LIST: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH, NAMESPACE, NAMES, WIDE];
const NAMESPACE: Parameter =
    Parameter { name: "namespace", values: Values::Text, about: "Only pods of this namespace." };
const NAMES: Parameter = Parameter {
    name: "names",
    values: Values::Text,
    about: "Only these pods, separated by commas: each by `NAME`, `NAMESPACE/NAME` or UID. 404 if one is not here.",
};
const WIDE: Parameter = Parameter {
    name: "wide",
    values: Values::OneOf(&["true", "false"]),
    about: "Whether a table has the UID and the holdings of each container too.",
};

pub(super) async fn list(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), LIST)?;
    let shape = Shape::of(&query, &headers)?;
    let namespace = query.get(NAMESPACE).map(str::to_owned);
    let names: Option<Vec<String>> =
        query.get(NAMES).map(|names| names.split(',').map(str::to_owned).collect());
    let columns = match query.get(WIDE) {
        None | Some("false") => pods::Columns::Usual,
        Some("true") => pods::Columns::Wide,
        Some(_) => return Err(Failure::wrong("wide is true or false")),
    };
    let make = move |node: &Node| {
        let mut all = pods::all(&node.view, &node.snapshot());
        if let Some(namespace) = namespace {
            all.retain(|pod| pod.namespace == namespace);
        }
        for name in names.iter().flatten() {
            if !all.iter().any(|pod| pod.is_called(name)) {
                return Err(Failure::new(StatusCode::NOT_FOUND, format!("no pod is called {name}")));
            }
        }
        if let Some(names) = &names {
            all.retain(|pod| names.iter().any(|name| pod.is_called(name)));
        }
        let all = pods::Pods { node: node.line(), pods: all };
        shape.document("Pods", all, |all, page| pods::table(all, columns, page))
    };
    node.look(who, make).await
}

pub(super) async fn describe(
    State(node): State<Node>,
    who: Who,
    Segments((namespace, name)): Segments<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    node.look(who, move |node| described(node, &namespace, &name, shape)).await
}

fn described(node: &Node, namespace: &str, name: &str, shape: Shape) -> Answered {
    let snapshot = node.snapshot();
    let pod = find(&snapshot, namespace, name)?;
    let all = pods::all(&node.view, &snapshot);
    let Some(view) = all.into_iter().find(|view| view.namespace == namespace && view.name == name) else {
        return Err(no_pod(namespace, name));
    };
    let logged = node.view.decisions.last_of(&format!("{namespace}/{name}"));
    let described = pods::Described {
        node: node.line(),
        pod: view,
        manifest: manifest(&pod),
        decision: logged.as_deref(),
    };
    shape.document("PodDescription", described, pods::description)
}

pub(super) async fn machine(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let make = move |node: &Node| {
        let machine = Noted { content: &node.view.served.machine, notes: node.view.notes() };
        shape.document("Topology", machine, |machine, page| {
            noted(&machine.notes, page) + &node_output::topology(&node.view.served.view, "", page)
        })
    };
    node.look(who, make).await
}

/// The machine that is decided on, with what must be known beside it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Noted<'a> {
    #[serde(flatten)]
    #[schemars(with = "node_output::MachineView")]
    content: &'a serde_json::Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A line for each note.
fn noted(notes: &[String], page: Page) -> String {
    notes.iter().map(|note| page.wrapped(&format!("! {note}"), 2)).collect()
}

pub(super) async fn held(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    node.look(who, move |node| state(node, shape)).await
}

fn state(node: &Node, shape: Shape) -> Answered {
    shape.document("State", shown(node), node_output::shown_text)
}

/// `NAMESPACE/NAME`; the name alone where only state files list the pod, which have no namespaces.
fn full_name(pod: &Pod) -> String {
    if pod.namespace.is_empty() { pod.name.clone() } else { format!("{}/{}", pod.namespace, pod.name) }
}

/// What the state files of the node hold.
pub(super) fn shown(node: &Node) -> Shown {
    let snapshot = node.snapshot();
    let pods = snapshot.ledger.pods();
    let names = PodNames::of(pods.map(|pod| (pod.uid.clone(), full_name(pod))));
    let text = |file| Some(files::text(file, &node.view.node().node, &snapshot.ledger).into_bytes());
    let mut folder = StateFolder {
        cpu: text(StateFile::Cpu),
        memory: text(StateFile::Memory),
        device: text(StateFile::Device),
        ..StateFolder::default()
    };
    let observed = node.view.observed.latest();
    if let Some(Observed { folder: written, .. }) = observed.as_deref() {
        // The kubelet writes its file of CPUs in two steps, of which the ledger shows none by itself. Plugins are those
        // of its file, since what it answers about devices leaves out resources without a healthy one.
        folder.cpu = folder.cpu.filter(|_| written.cpu.is_some());
        folder.memory = folder.memory.filter(|_| written.memory.is_some());
        folder.device.clone_from(&written.device);
    }
    let mut shown = node_output::shown(&folder.contents_of_any(), &names);
    if let Some(observed) = observed {
        shown.quarantined.clone_from(&observed.quarantine.pods);
    }
    shown
}

pub(super) async fn status(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let make = move |node: &Node| {
        let status = status_of(&node.view, &node.snapshot());
        let outcome = if status.problems.is_empty() { DONE } else { SOMETHING_WRONG };
        Ok(with_outcome(outcome, shape.document("NodeStatus", status, NodeStatus::text)?))
    };
    node.look(who, make).await
}

fn status_of(view: &NodeView, snapshot: &Snapshot) -> NodeStatus {
    let LoadedNode { node, cpus, line, .. } = view.node();
    let mut status = NodeStatus::new(line.clone().into());
    status.usage = Some(Usage::new(node, cpus, &snapshot.ledger).claiming(&view.claims.all()));
    let (assumed, conditions) = (view.served.assumed.iter().cloned(), &view.conditions);
    status.notes = assumed.chain(conditions.noise()).chain(conditions.machine_changed()).collect();
    let name = |pod: &Pod| format!("{}/{}", pod.namespace, pod.name);
    let refused = snapshot.refused.values();
    let refused = refused.map(|one| NotRunning { pod: name(&one.pod), reason: one.reason.to_string() });
    let waiting =
        snapshot.waiting.iter().map(|pod| NotRunning { pod: name(pod), reason: "Waiting".to_owned() });
    let deferred = snapshot.deferred.iter();
    let deferred = deferred
        .map(|one| NotRunning { pod: name(&one.pod), reason: format!("Deferred: {}", Deferral::REASON) });
    status.not_running = refused.chain(waiting).chain(deferred).collect();
    status.problems = view.problems(snapshot);
    status.conditions = view.conditions.all();
    status
}

/// The last decisions, as they are written.
#[derive(Serialize, JsonSchema)]
pub(super) struct LastDecisions<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    decisions: Vec<Arc<LoggedDecision>>,
}

/// What [`decisions`] takes.
pub(super) const LAST: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH, LIMIT, UID];
const LIMIT: Parameter =
    Parameter { name: "limit", values: Values::Number(0, None), about: "At most so many, the newest." };
const UID: Parameter = Parameter {
    name: "uid",
    values: Values::Text,
    about: "The last decision on the pod of this UID alone; as a table with everything that led to it.",
};

pub(super) async fn decisions(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), LAST)?;
    let shape = Shape::of(&query, &headers)?;
    if let Some(uid) = query.get(UID).map(PodUid::new) {
        return node.look(who, move |node| on_one(node, &uid, shape)).await;
    }
    let count = match query.get(LIMIT) {
        None => DECISIONS,
        Some(limit) => limit.parse().map_err(|_| Failure::wrong("limit is a number"))?,
    };
    node.look(who, move |node| last(node, count, shape)).await
}

fn last(node: &Node, count: usize, shape: Shape) -> Answered {
    let notes = node.view.notes();
    let last = LastDecisions { node: node.line(), notes, decisions: node.view.decisions.last(count) };
    shape.document("Decisions", last, |last, page| {
        if last.decisions.is_empty() {
            return format!("{}no decisions since the daemon started\n", noted(&last.notes, page));
        }
        let line = last.node.line(page);
        let each = last.decisions.iter().map(|logged| {
            format!(
                "{} {}\n{}",
                logged.time,
                origin(logged),
                node_output::decision(&PodGroup::from(Report::clone(&logged.report)), Some(&line), page)
            )
        });
        format!("{}{}", noted(&last.notes, page), each.collect::<Vec<_>>().join("\n"))
    })
}

/// The last decision on a pod, with everything that led to it.
fn on_one(node: &Node, uid: &PodUid, shape: Shape) -> Answered {
    let none = || {
        let text = format!("no decision on the pod of UID {} is known", uid.as_str());
        Failure::new(StatusCode::NOT_FOUND, text)
    };
    let logged = node.view.decisions.last_on(uid).ok_or_else(none)?;
    let outcome = outcome_of(&logged.report);
    let last = LastDecisions { node: node.line(), notes: node.view.notes(), decisions: vec![logged] };
    let document = shape.document("Decisions", last, |last, page| {
        let line = last.node.line(page);
        let each = last.decisions.iter().map(|logged| {
            let report = PodGroup::from(Report::clone(&logged.report));
            let drawn = node_output::explanation(&report, Some(&line), page);
            format!("{} {}\n{drawn}", logged.time, origin(logged))
        });
        format!("{}{}", noted(&last.notes, page), each.collect::<String>())
    });
    Ok(with_outcome(outcome, document?))
}

/// The source of a decision, and the kubelet's decision where it differs.
pub(super) fn origin(logged: &LoggedDecision) -> String {
    match &logged.kubelet {
        None => format!("from {}", logged.source),
        Some(kubelet) if kubelet.is_late => "refused by the kubelet some time before".to_owned(),
        Some(kubelet) if kubelet.agrees => "refused by the kubelet".to_owned(),
        Some(KubeletDecision { reason, message, .. }) => {
            format!("refused by the kubelet: {reason}: {message}. Topolet decides otherwise")
        }
    }
}

pub(super) async fn metrics(
    State(node): State<Node>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    Query::read(query.as_deref(), &[])?;
    let exposition = exposition::preferred(&headers);
    Ok(text(exposition::content_type(exposition), node.view.exposed(exposition)))
}
