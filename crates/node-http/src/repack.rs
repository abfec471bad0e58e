//! `POST /v1/repack`: plans moves of other pods so that a pod fits, and carries the plan out.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use admission_report::{Deferred, Facts, MovesReport, Report};
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::{Client, Peer, Place, Who, Work, on_a_thread};
use node_agent::{Answer, PodMove, Request, RequestError, Snapshot};
use node_input::{ADVICE, Wholeness};
use node_output::{AppliedMoves, Manner, MovedPod, RepackPlans};
use pod_spec::{Pod, PodUid};
use topology_admission::{Detail, Limits, Tries, Verdict};

use super::decide::{DRY_RUN, with_outcome};
use super::failure::Failure;
use super::node::{Answered, Changer, Node, body, failed};
use super::query::{GLYPHS, OUTPUT, Parameter, Query, Values, WIDTH};
use super::reply::Shape;
use super::sent::{FIELD_VALIDATION, Reading, Sent};
use node_output::http::{DONE, NOT_DECIDED, PARTIAL, SOME_REFUSED};
use node_view::OwnerReply;
use node_view::explain::{Tried, Waiting};

/// How many pods move at most by default.
const USUAL_MOVES: u64 = 3;
/// The largest value of `moves`.
const MOST_MOVES: u64 = 8;
/// How many attempts are made at most by default.
const USUAL_ATTEMPTS: u64 = 5000;
/// The largest value of `attempts`.
const MOST_ATTEMPTS: u64 = 50_000;
/// How often a plan is made at most, where the node changes before it is carried out.
const PLANS: usize = 3;

/// How many pods move at most.
const MOVES: Parameter = Parameter {
    name: "moves",
    values: Values::Number(1, Some(MOST_MOVES)),
    about: "How many pods move at most; 3 unless given.",
};
/// How many attempts are made at most.
const ATTEMPTS: Parameter = Parameter {
    name: "attempts",
    values: Values::Number(1, Some(MOST_ATTEMPTS)),
    about: "How many attempts are made at most to find the moves; 5000 unless given, and for who may only look.",
};
/// What [`repack`] takes.
pub(super) const REPACK: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH, DRY_RUN, FIELD_VALIDATION, MOVES, ATTEMPTS];

/// The limits of the search.
#[derive(Clone, Copy)]
struct Bounds {
    moves: usize,
    attempts: usize,
}

impl Bounds {
    fn of(query: &Query, who: Who) -> Result<Self, Failure> {
        let moves = number(query, MOVES, USUAL_MOVES, MOST_MOVES)?;
        let most = if who.may_change() { MOST_ATTEMPTS } else { USUAL_ATTEMPTS };
        Ok(Self { moves, attempts: number(query, ATTEMPTS, USUAL_ATTEMPTS, most)? })
    }
}

fn number(query: &Query, of: Parameter, usual: u64, most: u64) -> Result<usize, Failure> {
    let given = query.get(of).map_or(Ok(usual), str::parse::<u64>);
    let number = given.ok().filter(|number| (1..=most).contains(number));
    number
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| Failure::wrong(format!("{} is a number from 1 to {most}: nothing was done", of.name)))
}

/// The plan for a pod, and the request that carries it out.
struct Found {
    pod: Arc<Pod>,
    report: MovesReport,
    /// The request for the owner; `None`: no moves were found.
    request: Option<Request>,
}

/// The content of the answer.
struct Done {
    report: MovesReport,
    applied: Option<AppliedMoves>,
    warnings: Vec<String>,
    wholeness: Wholeness,
}

pub(super) async fn repack(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let query = Query::read(query.as_deref(), REPACK)?;
    let who = peer.who(&headers);
    let bounds = Bounds::of(&query, who)?;
    let reading = Reading::of(&query, &headers, node.limit(who))?;
    let shape = reading.shape;
    let changer = match query.get(DRY_RUN) {
        None => Some(node.changeable(&peer, &headers)?),
        Some("All") => None,
        Some(_) => return Err(Failure::wrong("dryRun is All, or is not given: nothing was done")),
    };
    let work = if changer.is_some() { Work::Change } else { Work::Look };
    let place = node.workshop.place(who, work).await?;
    let sent = body(sent).await?;
    let (read, place) = at(&node, place, move |node, _| only_one(node, &sent, &reading)).await?;
    let Sent { mut pods, warnings, wholeness, .. } = read;
    let pod = pods.swap_remove(0);
    let (found, place) = at(&node, place, move |node, client| found(node, pod, bounds, client)).await?;
    let (report, applied) = match changer {
        Some(changer) => {
            drop(place);
            carried_out(&node, changer, found, bounds).await?
        }
        None => (found.report, None),
    };
    let done = Done { report, applied, warnings, wholeness };
    on_a_thread(move || answer(&node, done, shape)).await?
}

/// Works on a separate thread within the client's share of requests.
async fn at<T: Send + 'static>(
    node: &Node,
    place: Place,
    work: impl FnOnce(&Node, &Client) -> Result<T, Failure> + Send + 'static,
) -> Result<(T, Place), Failure> {
    let node = node.clone();
    let (done, place) = place.work(move |client| work(&node, client)).await?;
    Ok((done?, place))
}

/// The body, if it has exactly one pod.
fn only_one(node: &Node, sent: &[u8], reading: &Reading) -> Result<Sent, Failure> {
    let sent = Sent::read(node.view.node(), sent, reading)?.into_runnable()?;
    match sent.pods.len() {
        1 => Ok(sent),
        pods => {
            let name = reading.name();
            let has = if pods == 0 { "no pods".to_owned() } else { format!("{pods} pods") };
            Err(Failure::wrong(format!("{name} has {has}: --apply takes 1 pod a file; nothing was done")))
        }
    }
}

/// Sends the request to the owner, and plans again if the node has changed meanwhile.
async fn carried_out(
    node: &Node,
    changer: Changer<'_>,
    mut found: Found,
    bounds: Bounds,
) -> Result<(MovesReport, Option<AppliedMoves>), Failure> {
    let mut plans = 1;
    loop {
        let Found { pod, report, request } = found;
        let Some(request) = request else { return Ok((report, None)) };
        let name = format!("{}/{}", pod.namespace, pod.name);
        let none_moved = |unchanged| Some(AppliedMoves { unchanged, moved: Vec::new() });
        match node.ask(changer, &name, request).await? {
            OwnerReply::Moved(_, moved) => {
                let moved = moved.iter().map(moved_pod).collect();
                return Ok((report, Some(AppliedMoves { unchanged: false, moved })));
            }
            OwnerReply::Decided(decided) if decided.is_placed() => {
                return Ok((as_decided(&pod, &decided), none_moved(false)));
            }
            OwnerReply::Answer(Answer::Done | Answer::Unchanged | Answer::Resized { .. }) => {
                return Ok((MovesReport::of_admitted(&pod, Vec::new()), none_moved(true)));
            }
            OwnerReply::Answer(Answer::Deferred(deferral)) => {
                let waits = Deferred::new(&deferral, node.snapshot().at);
                return Ok((MovesReport::deferred(&pod, waits), none_moved(false)));
            }
            // The node is another one by now: it may have fitted, and does not any more.
            OwnerReply::Answer(Answer::Failed(RequestError::StalePlan(_))) | OwnerReply::Decided(_)
                if plans < PLANS => {}
            OwnerReply::Answer(Answer::Failed(error)) => return Err(failed(&error)),
            OwnerReply::Decided(decided) => {
                let why = decided.refusal().map(|refusal| refusal.message.clone()).unwrap_or_default();
                return Err(Failure::new(StatusCode::CONFLICT, format!("pod {name} is refused: {why}")));
            }
        }
        plans += 1;
        let place = node.workshop.place(changer.who, Work::Change).await?;
        let again = at(node, place, move |node, client| self::found(node, pod, bounds, client)).await?;
        found = again.0;
    }
}

/// The plan for a pod on the node as it is now.
fn found(node: &Node, pod: Arc<Pod>, bounds: Bounds, client: &Client) -> Result<Found, Failure> {
    let snapshot = node.snapshot();
    let name = format!("{}/{}", pod.namespace, pod.name);
    // The owner defers it, or decides on it if its plugins are back by then.
    let waits = |deferral| {
        let report = MovesReport::deferred(&pod, Deferred::new(&deferral, snapshot.at));
        Found { request: Some(Request::Admit(pod.clone())), pod: pod.clone(), report }
    };
    match snapshot.answer_to(&pod) {
        None => {}
        Some(Answer::Done | Answer::Unchanged | Answer::Resized { .. }) => {
            let report = MovesReport::of_admitted(&pod, Vec::new());
            return Ok(Found { request: Some(Request::Admit(pod.clone())), pod, report });
        }
        Some(Answer::Failed(error)) => return Err(failed(&error)),
        Some(Answer::Deferred(deferral)) => return Ok(waits(deferral)),
    }
    let (of, ledger) = (&node.view.node().node, &snapshot.ledger);
    let Tried { attempt, trace, replies, .. } = Tried::new(node.view.node(), Detail::Short, ledger, &pod);
    let facts = Facts { advice: ADVICE, ..Facts::new(of, ledger, &pod, &attempt, &trace) };
    let (report, request) = match &attempt.verdict {
        Verdict::Admitted(placement) => {
            (MovesReport::admitted(&facts, placement), Some(Request::Admit(pod.clone())))
        }
        Verdict::Refused(refused) => {
            let Waiting { now, pods } = Waiting::of(&snapshot);
            let refused = match of.defer(ledger, &pod, &replies, refused.clone(), now, pods) {
                Ok(deferral) => return Ok(waits(deferral)),
                Err(refused) => *refused,
            };
            let kept = quarantined(&snapshot);
            let stop = || if client.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            let limits = Limits::from(Tries(bounds.attempts)).keeping(&kept).until(&stop);
            let repack =
                of.admission(ledger, &pod).with(&replies).repack(&refused, &trace, limits, bounds.moves);
            let report = MovesReport::refused(&facts, &refused, &repack, bounds.moves);
            let plan = repack.plan.map(Arc::new);
            (report, plan.map(|plan| Request::Repack { pod: pod.clone(), plan }))
        }
        Verdict::NeedsPlugin(question) => {
            let text = format!("pod {name}: the device plugin of {} is asked too often", question.resource());
            return Err(Failure::new(StatusCode::CONFLICT, text));
        }
    };
    Ok(Found { pod, report, request })
}

/// The pods that may have lost a part of what they held.
fn quarantined(snapshot: &Snapshot) -> BTreeSet<PodUid> {
    let pods = snapshot.pods.values().filter(|record| record.quarantine.is_some());
    pods.map(|record| record.pod.uid.clone()).collect()
}

/// A pod that was admitted without moves.
fn as_decided(pod: &Pod, decided: &Report) -> MovesReport {
    MovesReport::of_admitted(pod, decided.containers().to_vec())
}

fn moved_pod(PodMove { pod, manner }: &PodMove) -> MovedPod {
    MovedPod {
        pod: format!("{}/{}", pod.namespace, pod.name),
        uid: pod.uid.to_string(),
        manner: match manner {
            node_agent::Manner::Live => Manner::Live,
            node_agent::Manner::Restart(_) => Manner::Restart,
            node_agent::Manner::NothingRuns => Manner::NothingRuns,
        },
        message: manner.to_string(),
    }
}

/// The plan with what was done; 422 where the pod is refused, 202 where it waits for device plugins.
fn answer(node: &Node, done: Done, shape: Shape) -> Answered {
    let Done { report, applied, warnings, wholeness } = done;
    let (is_admitted, is_decided_for) = (report.is_admitted(), report.is_decided_for());
    let is_deferred = report.is_deferred();
    let plans = RepackPlans { node: node.line(), notes: warnings, pods: vec![report], applied };
    let draw = |plans: &RepackPlans<'_>, page| node.line().headline(page) + &plans.draw(page);
    let mut response = shape.document("RepackPlans", plans, draw)?;
    if is_deferred {
        *response.status_mut() = StatusCode::ACCEPTED;
    } else if !is_admitted {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let outcome = match wholeness {
        Wholeness::Partial => PARTIAL,
        Wholeness::Whole if is_decided_for => DONE,
        Wholeness::Whole if is_admitted => NOT_DECIDED,
        Wholeness::Whole => SOME_REFUSED,
    };
    Ok(with_outcome(outcome, response))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::Request as HttpRequest;
    use crossbeam::channel;
    use topology_admission::Stale;
    use tower::ServiceExt as _;

    use super::*;
    use crate::small::{EXPLAINED, control, view};
    use node_view::Message;

    const POD: &str =
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: app, image: i}]}}";

    /// The status where the owner finds the plan stale this many times, and how often the owner was asked.
    fn answered(stale: usize) -> (StatusCode, usize) {
        let view = view();
        let version = view.snapshot().ledger.version();
        let (sender, asked) = channel::bounded(1);
        let times = Arc::<AtomicUsize>::default();
        let counted = times.clone();
        std::thread::spawn(move || {
            for message in asked {
                let Message::Ask(_, answer) = message else { continue };
                let is_stale = counted.fetch_add(1, Ordering::Relaxed) < stale;
                let why = RequestError::StalePlan(Stale { made_against: version, current: version });
                let reply = if is_stale { Answer::Failed(why) } else { Answer::Unchanged };
                let _ = answer.send(OwnerReply::Answer(reply));
            }
        });
        let routes = crate::router(view, Some(control(sender)), EXPLAINED);
        let routes = routes.layer(Extension(Peer::Unix { user: nix::unistd::geteuid().as_raw() }));
        let request = HttpRequest::post("/v1/repack").body(Body::from(POD)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let status = runtime.block_on(routes.oneshot(request)).unwrap().status();
        (status, times.load(Ordering::Relaxed))
    }

    #[test]
    fn a_plan_is_made_anew_twice_when_the_node_becomes_another_one() {
        for (stale, expected) in [
            (0, (StatusCode::OK, 1)),
            (2, (StatusCode::OK, 3)),
            (3, (StatusCode::CONFLICT, 3)),
            (9, (StatusCode::CONFLICT, 3)),
        ] {
            assert_eq!(answered(stale), expected, "{stale}");
        }
    }
}
