//! The pods that are bound to the node, from their binding to the removal of their objects: has them admitted and released,
//! and sends their statuses to the API server.
//!
//! Each turn handles the events of the watch, asks the owner for admissions and releases, and then sends patches and events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cluster_node::{Clock, Cluster, Connector, EventType, ObjectEvent, Reporter, in_seconds};
use crossbeam::channel::{Receiver, Sender};
use crossbeam::select;
use kubelet_status::{ContainerReports, Exit, PodObject, Reported, Step, Surroundings};
use node_agent::{Request, Snapshot};
use node_input::told_object;
use node_state::Source;
use node_view::{Events, Kind, Message, News, NodeView, OwnerReply, PodName, PodNews};
use pod_spec::PodUid;
use serde_json::Value;
use tokio::sync::oneshot;

use super::bound_pod::{Answered, Asking, Attention, BoundPod, NodeNow, StopNotice};
use super::claims;
use super::sending::{Gate, PodEvent, Recorders};

/// The pause between two turns without an event.
const IDLE: Duration = Duration::from_secs(1);
/// The same while a reply of the owner is due.
const BUSY: Duration = Duration::from_millis(20);

/// The thread that has pods admitted and reports on them.
pub(super) struct Statuses {
    pub(super) node: String,
    pub(super) connector: Connector,
    pub(super) cluster: Cluster,
    pub(super) recorders: Recorders,
    pub(super) owner: Sender<Message>,
    pub(super) view: NodeView,
    pub(super) news: Arc<News>,
    pub(super) addresses: Vec<String>,
    pub(super) containers: ContainerReports,
    pub(super) reported: Reported,
    pub(super) pod_events: Receiver<ObjectEvent>,
    pub(super) woken: Receiver<()>,
    pub(super) pods: BTreeMap<String, BoundPod>,
    /// The UIDs of a list that is not complete; `None`: all pods are known.
    pub(super) listing: Option<BTreeSet<String>>,
    pub(super) gate: Gate,
}

/// The owner of the node has stopped, and so does this thread.
struct OwnerStopped;

impl Statuses {
    pub(super) fn start(self) -> anyhow::Result<()> {
        thread::Builder::new().name("statuses".to_owned()).spawn(move || self.run())?;
        Ok(())
    }

    fn run(mut self) {
        let mut rest = IDLE;
        loop {
            select! {
                recv(self.pod_events) -> event => match event {
                    Ok(event) => self.handle(event),
                    Err(_) => return,
                },
                recv(self.woken) -> _ => {}
                default(rest) => {}
            }
            while let Ok(event) = self.pod_events.try_recv() {
                self.handle(event);
            }
            match self.turn() {
                Ok(next) => rest = next,
                Err(OwnerStopped) => return,
            }
        }
    }

    /// Returns the time until the next turn, unless an event comes before.
    fn turn(&mut self) -> Result<Duration, OwnerStopped> {
        if self.listing.is_some() {
            // A pod that is not listed yet may be older than those that are, or deleted: admit none before all are known.
            return Ok(IDLE);
        }
        self.take_answers()?;
        // It is at least as new as the replies; the news that led to it are in the queue.
        let snapshot = self.view.snapshot();
        for news in self.news.take() {
            self.handle_news(news);
        }
        self.act(&snapshot)?;
        let all_sent = self.send_patches();
        self.recorders.send(&mut self.gate, &self.view.conditions, &**self.connector.clock());
        let is_asking = self.pods.values().any(|pod| !matches!(pod.asking, Asking::Nothing));
        Ok(if is_asking || !all_sent { BUSY } else { IDLE })
    }

    fn handle(&mut self, event: ObjectEvent) {
        match event {
            ObjectEvent::Listing => self.listing = Some(BTreeSet::new()),
            ObjectEvent::Is(object) => self.listed(object.into_json()),
            ObjectEvent::Gone { id: uid, .. } => {
                if let Some(pod) = self.pods.get_mut(&uid) {
                    pod.removed();
                }
            }
            ObjectEvent::Complete { .. } => self.list_complete(),
        }
    }

    fn listed(&mut self, object: Value) {
        let Some(object) = PodObject::new(object).filter(|object| !object.is_mirror()) else { return };
        let uid = object.uid().to_owned();
        if let Some(listing) = &mut self.listing {
            listing.insert(uid.clone());
        }
        match self.pods.get_mut(&uid) {
            Some(pod) => pod.updated(object),
            None => {
                self.pods.insert(uid, BoundPod::new(Some(object), &**self.connector.clock()));
            }
        }
    }

    /// Pods that are not in the complete list are deleted, also those that only the disk has.
    fn list_complete(&mut self) {
        let Some(listed) = self.listing.take() else { return };
        for (uid, pod) in &mut self.pods {
            if !listed.contains(uid) {
                pod.removed();
            }
        }
        let (snapshot, clock) = (self.view.snapshot(), self.connector.clock());
        let of_cluster = snapshot.pods.values().filter(|record| record.source == Source::Cluster);
        for record in of_cluster {
            let uid = record.pod.uid.as_str();
            if !listed.contains(uid) {
                self.pods.entry(uid.to_owned()).or_insert_with(|| BoundPod::new(None, &**clock));
            }
        }
        tracing::info!(pods = listed.len(), "the API server has listed the pods of the node");
    }

    fn handle_news(&mut self, news: PodNews) {
        match news {
            PodNews::Exited { container, id, code } => {
                if let Some(pod) = self.pods.get_mut(container.pod.as_str()) {
                    pod.exited(container.container.as_str(), Exit { id: id.to_string(), code });
                }
            }
            PodNews::Preempted(uid) => {
                let Some(pod) = self.pods.get_mut(uid.as_str()) else { return };
                pod.preempted();
                let message = "Preempted in order to admit critical pod";
                Self::add_kubelet_event(&mut self.recorders, pod, EventType::Warning, "Preempting", message);
            }
        }
    }

    /// Adds an event with a kubelet's text, in the kubelet's name.
    fn add_kubelet_event(
        recorders: &mut Recorders,
        pod: &BoundPod,
        kind: EventType,
        reason: &str,
        message: &str,
    ) {
        let Some(reference) = pod.reference() else { return };
        recorders.add(PodEvent {
            reporter: Reporter::Kubelet,
            pod: reference,
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
        });
    }

    fn take_answers(&mut self) -> Result<(), OwnerStopped> {
        let clock = self.connector.clock();
        for (uid, pod) in &mut self.pods {
            match pod.take_answer() {
                Answered::Nothing => {}
                Answered::Done => pod.succeeded(&**clock),
                Answered::Stopped => return Err(OwnerStopped),
                Answered::Refused(refusal, why) => {
                    pod.succeeded(&**clock);
                    Self::add_kubelet_event(
                        &mut self.recorders,
                        pod,
                        EventType::Warning,
                        &refusal.reason,
                        &refusal.message,
                    );
                    if let Some(reference) = pod.reference().filter(|_| !why.is_empty()) {
                        self.recorders.add(PodEvent {
                            reporter: Reporter::Topolet,
                            pod: reference,
                            kind: EventType::Warning,
                            reason: refusal.reason,
                            message: why,
                        });
                    }
                }
                Answered::Failed(why) => {
                    if pod.failed(&why, &**clock) {
                        tracing::warn!(uid, "pod of the API server waits: {why}");
                    }
                }
            }
        }
        Ok(())
    }

    /// Asks for admissions and releases, the oldest pods first.
    fn act(&mut self, snapshot: &Snapshot) -> Result<(), OwnerStopped> {
        let clock = &**self.connector.clock();
        let (now, time) = (clock.now(), in_seconds(clock.since_1970()));
        let around = Surroundings { addresses: &self.addresses, containers: self.containers, time: &time };
        let node = NodeNow { around, reported: self.reported, ledger: &snapshot.ledger };
        let mut open: Vec<(String, String)> = Vec::new();
        for (uid, pod) in &mut self.pods {
            let record = snapshot.pods.get(&PodUid::new(uid));
            if pod.attention == Attention::NotNeeded && pod.is_record(record) {
                continue;
            }
            pod.decide_step(record, node);
            let created = pod.object.as_ref().map(|object| object.created().to_owned());
            open.push((created.unwrap_or_default(), uid.clone()));
        }
        open.sort();
        for (_, uid) in open {
            let Some(pod) = self.pods.get_mut(&uid) else { continue };
            match pod.step {
                Step::Admit | Step::Release if pod.is_paused(now) => pod.attention = Attention::Needed,
                Step::Admit => Self::admit(&self.owner, (&self.cluster, &self.node), &self.view, pod, clock)?,
                Step::Release => {
                    pod.asking = Asking::Release(Self::ask(&self.owner, Request::Delete(PodUid::new(&uid)))?);
                }
                Step::Stop => Self::stop(&self.view.events, &mut self.recorders, pod),
                Step::Forget => {
                    self.pods.remove(&uid);
                }
                Step::Report | Step::Finalise | Step::Wait => {}
            }
        }
        Ok(())
    }

    fn admit(
        owner: &Sender<Message>,
        (cluster, name): (&Cluster, &str),
        view: &NodeView,
        pod: &mut BoundPod,
        clock: &dyn Clock,
    ) -> Result<(), OwnerStopped> {
        let Some(object) = &pod.object else { return Ok(()) };
        let read = told_object(object.json(), view.node().node.pod_rules())
            .map_err(|why| ("pod of the API server cannot be read", why))
            .and_then(|read| {
                claims::placed(cluster, name, view.node(), read)
                    .map_err(|why| ("pod of the API server waits", why))
            });
        match read {
            Ok(read) => {
                pod.asking = Asking::Admission(Self::ask(owner, Request::AdmitBound(Arc::new(read)))?);
            }
            Err((what, why)) => {
                let uid = object.uid().to_owned();
                if pod.failed(&why, clock) {
                    tracing::warn!(uid, "{what}: {why}");
                }
            }
        }
        Ok(())
    }

    fn ask(owner: &Sender<Message>, request: Request) -> Result<oneshot::Receiver<OwnerReply>, OwnerStopped> {
        let (answer, reply) = oneshot::channel();
        owner.send(Message::Ask(request, answer)).map_err(|_| OwnerStopped)?;
        Ok(reply)
    }

    /// Writes, once, an event for each container of a deleted pod: the runtime stops it when it reads the event.
    fn stop(events: &Events, recorders: &mut Recorders, pod: &mut BoundPod) {
        if pod.stop_notice == StopNotice::Sent {
            return;
        }
        pod.stop_notice = StopNotice::Sent;
        let Some(reference) = pod.reference() else { return };
        for container in pod.running() {
            let name = PodName {
                namespace: reference.namespace.clone(),
                name: reference.name.clone(),
                uid: reference.uid.clone(),
            };
            let message = format!("Stopping container {container}");
            Self::add_kubelet_event(recorders, pod, EventType::Normal, "Killing", &message);
            events.add(Some(name), Kind::Normal, "Killing", message);
        }
    }
}
