//! `POST /v1/try`: decides on pods on this node or another one, with its policies or others, or with a change that would make a
//! pod fit. Nothing is allocated.

use std::sync::Arc;

use admission_report::{AdmissionQueue, Report, WhyElsewhere};
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::{Client, Who, Work};
use node_input::{ClaimChanges, ClaimedPod, ClaimedPods, ScheduledPod, Wholeness};
use node_output::{NodeBefore, NodeLine};
use node_view::explain::{self, Before};
use pod_spec::{Pod, PodUid};
use serde::Serialize;
use terminal_text::Page;
use topology_admission::{Changed, Detail, Ledger};

use super::decide::{Decided, Written, with_outcome};
use super::failure::Failure;
use super::node::{Answered, Node, body};
use super::query::{GLYPHS, OUTPUT, Parameter, Query, WIDTH};
use super::reply::Shape;
use super::sent::{Reading, Sent};
use super::trial_nodes::{Choices, MACHINE, PARAMETERS, TrialNode, Wanted, parts};
use super::view::{LETTERS, Picture, PodFits, View, picture};

/// Alternatives are listed for at most this many refused pods.
const FITS: usize = 20;

/// UID of a pod that was refused before, instead of a body.
const UID: Parameter = Parameter::undescribed("uid");
/// The pod that is decided on under a change, and the change: kind and detail of an alternative that was listed.
const POD: Parameter = Parameter::undescribed("pod");
const CHANGE: Parameter = Parameter::undescribed("change");
const DETAIL: Parameter = Parameter::undescribed("detail");
/// The name of an uploaded node file.
const NAME: Parameter = Parameter::undescribed("name");

/// An alternative that an earlier answer listed.
#[derive(Debug)]
struct Change {
    /// `NAMESPACE/NAME` of the pod that it is for.
    pod: String,
    kind: String,
    detail: String,
}

impl Change {
    fn of(query: &Query) -> Result<Option<Self>, Failure> {
        let get = |of| query.get(of).map(str::to_owned);
        match (get(POD), get(CHANGE), get(DETAIL)) {
            (None, None, None) => Ok(None),
            (Some(pod), Some(kind), Some(detail)) => Ok(Some(Self { pod, kind, detail })),
            _ => Err(Failure::wrong("pod, change and detail go together")),
        }
    }
}

pub(super) async fn choices(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, WIDTH, MACHINE])?;
    let (shape, wanted) = (Shape::of(&query, &headers)?, Wanted::of(&query));
    let make = move |node: &Node| {
        shape.document(
            "Choices",
            Choices::new(
                &node.trial_nodes.find(&node.view, &wanted)?,
                node.simulations.as_deref(),
                node.questions.as_deref(),
            ),
            |_, _| "choices are for programs\n".to_owned(),
        )
    };
    node.look(who, make).await
}

pub(super) async fn tried(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let own = [OUTPUT, GLYPHS, WIDTH, UID, POD, CHANGE, DETAIL];
    let takes: Vec<Parameter> = own.into_iter().chain(PARAMETERS).collect();
    let query = Query::read(query.as_deref(), &takes)?;
    let reading = Reading::of(&query, &headers, node.limit(who))?;
    let (page, change) = (reading.shape.page(LETTERS), Change::of(&query)?);
    let uid = query.get(UID).map(PodUid::new);
    let place = node.workshop.place(who, Work::Look).await?;
    let (configuration, sent) = parts(&query, body(sent).await?)?;
    let wanted = Wanted::of(&query).configured(configuration);
    let make = move |node: &Node, client: &Client| {
        let trial_node = node.trial_nodes.find(&node.view, &wanted)?;
        let pods = match uid {
            Some(uid) => known(node, &uid)?,
            None => Sent::read(&trial_node.node, &sent, &reading)?,
        };
        drop(sent);
        let view = view(&trial_node, pods, change.as_ref(), page, client)?;
        let outcome = view.outcome;
        let document = reading.shape.document("Trial", view, |view, _| view.text.clone())?;
        Ok(with_outcome(outcome, document))
    };
    node.work(place, make).await
}

/// The pod of an earlier refusal.
fn known(node: &Node, uid: &PodUid) -> Result<Sent, Failure> {
    let logged = node.view.decisions.last_on(uid);
    let pod = logged.and_then(|logged| logged.asked.clone()).ok_or_else(|| {
        let text = format!("no refusal of a pod of UID {} is known", uid.as_str());
        Failure::new(StatusCode::NOT_FOUND, text)
    })?;
    Ok(Sent::of(pod))
}

fn view(
    trial_node: &TrialNode,
    sent: Sent,
    change: Option<&Change>,
    page: Page,
    client: &Client,
) -> Result<View, Failure> {
    let Sent { pods, origins, wholeness, mut warnings, objects } = sent;
    warnings.extend(trial_node.notes.iter().cloned());
    let each: Vec<Pod> = pods.iter().map(|pod| Pod::clone(pod)).collect();
    let mut claims = ClaimedPods::by_defaults(&trial_node.node, objects, &each);
    warnings.extend(claims.iter().flat_map(|claims| claims.notes(&each)));
    let mut trial = Trial {
        on: trial_node,
        line: trial_node.node.line.clone(),
        decided: Decided::new(warnings),
        picture: None,
    };
    let mut ledger = pods.iter().fold(trial_node.ledger.clone(), |ledger, pod| ledger.release(&pod.uid));
    let mut would_fit = Vec::new();
    let mut is_made = false;
    let mut queue = AdmissionQueue::default();
    for pod in &pods {
        if client.is_gone() {
            break;
        }
        let before = Before { ledger: &ledger, requests: trial_node.requests, waiting: None };
        let scheduled = match claims.as_mut().map(|claims| claims.decide(pod)) {
            None => None,
            Some(ClaimedPod::Scheduled(scheduled)) => Some(scheduled),
            Some(ClaimedPod::NotScheduled(report)) => {
                trial.decided.decisions.push(origins.added_to(Arc::new(*report), &pod.uid));
                continue;
            }
        };
        let pod: &Pod = scheduled.as_ref().map_or(pod, |scheduled| &scheduled.rest);
        let (report, after) = explain::one(&trial_node.node, Detail::Merges, &before, pod);
        let report = beside_claims(report, trial_node, claims.as_mut().zip(scheduled.as_ref()), &ledger);
        let report = queue.next(pod, report);
        if let Some((claims, scheduled)) =
            claims.as_mut().zip(scheduled.as_ref()).filter(|_| report.is_placed())
        {
            claims.hold(scheduled);
        }
        let name = format!("{}/{}", pod.namespace, pod.name);
        if let Some(change) = change.filter(|change| change.pod == name) {
            trial.decided.decisions.clear();
            trial.make(change, &report, &before, pod, |report| origins.added_to(report, &pod.uid))?;
            would_fit.clear();
            is_made = true;
            break;
        }
        if would_fit.len() < FITS {
            would_fit.extend(PodFits::of(&report));
        }
        let is_first =
            trial.picture.as_ref().is_none_or(|(_, is_refused)| !is_refused && !report.is_placed());
        if is_first {
            let before = NodeBefore::new(&trial_node.node.node, &trial_node.node.cpus, &ledger);
            trial.picture = Some((picture(&report, before), !report.is_placed()));
        }
        trial.decided.decisions.push(origins.added_to(Arc::new(report), &pod.uid));
        ledger = after.unwrap_or(ledger);
    }
    if let Some(Change { pod, .. }) = change.filter(|_| !is_made && !client.is_gone()) {
        return Err(Failure::new(StatusCode::CONFLICT, format!("pod {pod} is not in the manifest")));
    }
    Ok(trial.view(would_fit, wholeness, page))
}

/// The report on a pod with its claims; `before` is what the node held before.
fn beside_claims(
    report: Report,
    on: &TrialNode,
    claims: Option<(&mut ClaimedPods<'_>, &ScheduledPod<'_>)>,
    before: &Ledger,
) -> Report {
    let Some((claims, scheduled)) = claims else { return report };
    let (mut report, not_tried) = claims.add_to(scheduled, before, report, ClaimChanges::Tried);
    report.note_claims(WhyElsewhere::of(&on.node.node, &scheduled.rest));
    report.notes.extend(not_tried);
    report
}

/// The decisions of a trial so far.
struct Trial<'a> {
    on: &'a TrialNode,
    line: NodeLine,
    decided: Decided,
    /// With whether it shows a refusal.
    picture: Option<(Picture, bool)>,
}

impl Trial<'_> {
    /// Decides on a pod again under an alternative.
    fn make(
        &mut self,
        change: &Change,
        report: &Report,
        before: &Before<'_>,
        pod: &Pod,
        owned: impl FnOnce(Arc<Report>) -> Arc<Report>,
    ) -> Result<(), Failure> {
        let Change { kind, detail, .. } = change;
        let alternatives =
            report.refusal().map(|refusal| refusal.alternatives.as_slice()).unwrap_or_default();
        let found = alternatives
            .iter()
            .find(|fit| fit.remedy.kind() == kind && fit.remedy.to_string() == *detail)
            .and_then(|fit| self.on.node.node.changed(before.ledger, pod, &fit.change));
        let Some(Changed { node, ledger, pod }) = found else {
            let text =
                format!("{kind} {detail} is not among what would fit: the node has changed, try again");
            return Err(Failure::new(StatusCode::CONFLICT, text));
        };
        let mut other = self.on.node.clone();
        let configuration = format!("{} with {kind} {detail}", other.line.configuration);
        other.line = NodeLine::new(&other.line.machine, &configuration, other.line.decided_by, &node);
        other.node = Arc::new(node);
        let before = Before { ledger: &ledger, ..*before };
        let (report, _) = explain::one(&other, Detail::Merges, &before, &pod);
        let room = NodeBefore::new(&other.node, &other.cpus, &ledger);
        self.picture = Some((picture(&report, room), !report.is_placed()));
        self.decided.decisions.push(owned(Arc::new(report)));
        self.line = other.line;
        Ok(())
    }

    fn view(self, would_fit: Vec<PodFits>, wholeness: Wholeness, page: Page) -> View {
        let Self { line, decided, picture, .. } = self;
        let (outcome, headline) = (decided.outcome(wholeness), decided.headline());
        let text = Written { node: &line, decided }.draw(page, node_output::explanation);
        let picture = picture.map(|(picture, _)| picture);
        View { node: line.line(page), outcome, headline, text, picture, would_fit }
    }
}

/// An uploaded node file.
#[derive(Serialize)]
struct Taken {
    machine: String,
}

/// Uploads a node file for trials on its machine.
pub(super) async fn take(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, WIDTH, NAME])?;
    let shape = Shape::of(&query, &headers)?;
    let name = query.get(NAME).unwrap_or_default().to_owned();
    if name.is_empty()
        || name.len() > 200
        || name.contains(|letter: char| letter.is_control() || letter == ',')
    {
        return Err(Failure::wrong("name is the name of a file"));
    }
    let place = node.workshop.place(who, Work::Look).await?;
    let sent = body(sent).await?;
    let make = move |node: &Node, _: &Client| {
        let machine = node.trial_nodes.take(&name, &sent)?;
        shape.document("NodeFile", Taken { machine }, |taken, _| format!("{}\n", taken.machine))
    };
    node.work(place, make).await
}
