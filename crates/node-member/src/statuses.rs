//! The pods that are bound to the node, from their binding to the end of their objects: they are admitted and released,
//! and the API server hears what becomes of them.
//!
//! Each turn takes in what has been heard, has done at once what the node can do by itself, and then tells the API server
//! as much as it takes.

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

use super::one_pod::{Answered, Asking, Attention, OfNode, OnePod, Stopping};
use super::sending::{Gate, PodEvent, Recorders};

/// How long nothing happens until everything is looked at.
const IDLE: Duration = Duration::from_secs(1);
/// The same while the owner has something to answer.
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
    pub(super) heard: Receiver<ObjectEvent>,
    pub(super) woken: Receiver<()>,
    pub(super) pods: BTreeMap<String, OnePod>,
    /// The UIDs of a list that is not complete; `None`: all pods are known.
    pub(super) listing: Option<BTreeSet<String>>,
    pub(super) gate: Gate,
}

/// Nobody is there any more to whom it could be told.
struct Over;

impl Statuses {
    pub(super) fn start(self) -> anyhow::Result<()> {
        thread::Builder::new().name("statuses".to_owned()).spawn(move || self.run())?;
        Ok(())
    }

    fn run(mut self) {
        let mut rest = IDLE;
        loop {
            select! {
                recv(self.heard) -> heard => match heard {
                    Ok(heard) => self.hear(heard),
                    Err(_) => return,
                },
                recv(self.woken) -> _ => {}
                default(rest) => {}
            }
            while let Ok(heard) = self.heard.try_recv() {
                self.hear(heard);
            }
            match self.turn() {
                Ok(next) => rest = next,
                Err(Over) => return,
            }
        }
    }

    /// Gives how long there is nothing to do, unless something happens.
    fn turn(&mut self) -> Result<Duration, Over> {
        if self.listing.is_some() {
            // A pod that is not heard of yet may be the older one, or gone: what it holds would be in the way of others.
            return Ok(IDLE);
        }
        self.take_answers()?;
        // It is at least as new as the answers, and all that led to it has been told.
        let snapshot = self.view.snapshot();
        for told in self.news.take() {
            self.take_news(told);
        }
        self.act(&snapshot)?;
        let all_is_told = self.tell();
        self.recorders.send(&mut self.gate, &self.view.conditions, &**self.connector.clock());
        let is_asking = self.pods.values().any(|pod| !matches!(pod.asking, Asking::Nothing));
        Ok(if is_asking || !all_is_told { BUSY } else { IDLE })
    }

    fn hear(&mut self, heard: ObjectEvent) {
        match heard {
            ObjectEvent::Listing => self.listing = Some(BTreeSet::new()),
            ObjectEvent::Is(object) => self.is(object.into_json()),
            ObjectEvent::Gone { id: uid, .. } => {
                if let Some(pod) = self.pods.get_mut(&uid) {
                    pod.is_gone();
                }
            }
            ObjectEvent::Complete { .. } => self.are_all(),
        }
    }

    fn is(&mut self, object: Value) {
        let Some(object) = PodObject::new(object).filter(|object| !object.is_mirror()) else { return };
        let uid = object.uid().to_owned();
        if let Some(listing) = &mut self.listing {
            listing.insert(uid.clone());
        }
        match self.pods.get_mut(&uid) {
            Some(pod) => pod.is(object),
            None => {
                self.pods.insert(uid, OnePod::new(Some(object)));
            }
        }
    }

    /// Pods that are not in the list are gone, those too of which only the disk knows.
    fn are_all(&mut self) {
        let Some(listed) = self.listing.take() else { return };
        for (uid, pod) in &mut self.pods {
            if !listed.contains(uid) {
                pod.is_gone();
            }
        }
        let snapshot = self.view.snapshot();
        let of_cluster = snapshot.pods.values().filter(|record| record.source == Source::Cluster);
        for record in of_cluster {
            let uid = record.pod.uid.as_str();
            if !listed.contains(uid) {
                self.pods.entry(uid.to_owned()).or_insert_with(|| OnePod::new(None));
            }
        }
        tracing::info!(pods = listed.len(), "the API server tells of its pods");
    }

    fn take_news(&mut self, told: PodNews) {
        match told {
            PodNews::Exited { container, id, code } => {
                if let Some(pod) = self.pods.get_mut(container.pod.as_str()) {
                    pod.exited(container.container.as_str(), Exit { id: id.to_string(), code });
                }
            }
            PodNews::Preempted(uid) => {
                let Some(pod) = self.pods.get_mut(uid.as_str()) else { return };
                pod.is_preempted();
                let message = "Preempted in order to admit critical pod";
                Self::note(&mut self.recorders, pod, EventType::Warning, "Preempting", message);
            }
        }
    }

    /// An event in a kubelet's words.
    fn note(recorders: &mut Recorders, pod: &OnePod, kind: EventType, reason: &str, message: &str) {
        let Some(reference) = pod.reference() else { return };
        recorders.add(PodEvent {
            reporter: Reporter::Kubelet,
            pod: reference,
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
        });
    }

    fn take_answers(&mut self) -> Result<(), Over> {
        let clock = self.connector.clock();
        for (uid, pod) in &mut self.pods {
            match pod.take_answer() {
                Answered::Nothing => {}
                Answered::Done => pod.goes_on(),
                Answered::Stopped => return Err(Over),
                Answered::Refused(refusal, why) => {
                    pod.goes_on();
                    Self::note(
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
                    if pod.fails(&why, &**clock) {
                        tracing::warn!(uid, "pod of the API server waits: {why}");
                    }
                }
            }
        }
        Ok(())
    }

    /// What the node does by itself, the oldest pods first.
    fn act(&mut self, snapshot: &Snapshot) -> Result<(), Over> {
        let clock = &**self.connector.clock();
        let (now, time) = (clock.now(), in_seconds(clock.since_1970()));
        let around = Surroundings { addresses: &self.addresses, containers: self.containers, time: &time };
        let node = OfNode { around, reported: self.reported, ledger: &snapshot.ledger };
        let mut open: Vec<(String, String)> = Vec::new();
        for (uid, pod) in &mut self.pods {
            let record = snapshot.pods.get(&PodUid::new(uid));
            if pod.attention == Attention::NotNeeded && pod.is_record(record) {
                continue;
            }
            pod.look(record, node);
            let created = pod.object.as_ref().map(|object| object.created().to_owned());
            open.push((created.unwrap_or_default(), uid.clone()));
        }
        open.sort();
        for (_, uid) in open {
            let Some(pod) = self.pods.get_mut(&uid) else { continue };
            match pod.step {
                Step::Admit | Step::Release if pod.is_paused(now) => pod.attention = Attention::Needed,
                Step::Admit => Self::admit(&self.owner, &self.view, pod, clock)?,
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
        view: &NodeView,
        pod: &mut OnePod,
        clock: &dyn Clock,
    ) -> Result<(), Over> {
        let Some(object) = &pod.object else { return Ok(()) };
        match told_object(object.json(), view.node().node.pod_rules()) {
            Ok(read) => {
                pod.asking = Asking::Admission(Self::ask(owner, Request::AdmitBound(Arc::new(read)))?);
            }
            Err(why) => {
                let uid = object.uid().to_owned();
                if pod.fails(&why, clock) {
                    tracing::warn!(uid, "pod of the API server cannot be read: {why}");
                }
            }
        }
        Ok(())
    }

    fn ask(owner: &Sender<Message>, request: Request) -> Result<oneshot::Receiver<OwnerReply>, Over> {
        let (answer, told) = oneshot::channel();
        owner.send(Message::Ask(request, answer)).map_err(|_| Over)?;
        Ok(told)
    }

    /// Tells, once, that the containers of a deleted pod are to end: whoever runs them listens to events.
    fn stop(events: &Events, recorders: &mut Recorders, pod: &mut OnePod) {
        if pod.told_to_stop == Stopping::Told {
            return;
        }
        pod.told_to_stop = Stopping::Told;
        let Some(reference) = pod.reference() else { return };
        for container in pod.running() {
            let name = PodName {
                namespace: reference.namespace.clone(),
                name: reference.name.clone(),
                uid: reference.uid.clone(),
            };
            let message = format!("Stopping container {container}");
            Self::note(recorders, pod, EventType::Normal, "Killing", &message);
            events.add(Some(name), Kind::Normal, "Killing", message);
        }
    }
}
