//! Pods for which kube-scheduler's own search for devices exceeds its limit. It asks no extender about them, so that they wait without
//! an answer from here. That is a condition, a line of the log and an event on the pod, with what ends the search in time.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use cluster_node::{Clock, Connector, EventRecorder, EventType, PodReference, Reporter};
use node_input::{SlowSearch, TimedOut};
use parking_lot::Mutex;
use pod_spec::Pod;
use serde_json::Value;

use crate::claims::DevicePredictions;
use crate::conditions::ServiceCondition::SearchesEnd;
use crate::conditions::ServiceConditions;

/// The event's reason.
const REASON: &str = "ClaimSearchTimedOut";
/// Who reports, beside `topolet`.
const INSTANCE: &str = "scheduler";
/// How often an event is tried where the API server is not reached, and the pause between two tries.
const TRIES: usize = 12;
const AGAIN: Duration = Duration::from_secs(5);

/// What is known of such pods.
pub(crate) struct Timeouts {
    conditions: Arc<ServiceConditions>,
    reports: mpsc::Sender<(Arc<Pod>, TimedOut)>,
    /// Their names by UID.
    pods: BTreeMap<String, String>,
}

impl Timeouts {
    /// Starts the thread that reports them, for the rest of the program.
    pub(crate) fn start(
        connector: &Connector,
        claims: &Arc<Mutex<DevicePredictions>>,
        conditions: &Arc<ServiceConditions>,
    ) -> anyhow::Result<Self> {
        let (reports, heard) = mpsc::channel::<(Arc<Pod>, TimedOut)>();
        let mut reporting = Reporting {
            connector: connector.clone(),
            clock: connector.clock().clone(),
            claims: claims.clone(),
            conditions: conditions.clone(),
            recorder: None,
        };
        let work = move || heard.into_iter().for_each(|(pod, timed_out)| reporting.report(&pod, &timed_out));
        thread::Builder::new().name("timeouts".to_owned()).spawn(work)?;
        Ok(Self::reporting_to(reports, conditions))
    }

    pub(crate) fn reporting_to(
        reports: mpsc::Sender<(Arc<Pod>, TimedOut)>,
        conditions: &Arc<ServiceConditions>,
    ) -> Self {
        Self { conditions: conditions.clone(), reports, pods: BTreeMap::new() }
    }

    /// An unbound pod is there, as the API server has it.
    pub(crate) fn look(&mut self, pod: &Arc<Pod>, object: &Value) {
        let uid = pod.uid.as_str();
        let Some(timed_out) = timed_out(object) else { return self.left(uid) };
        if !self.pods.contains_key(uid) {
            let name = full_name(pod);
            let _ = self.conditions.fails(SearchesEnd, &name, message(&name, &timed_out, None));
            self.pods.insert(uid.to_owned(), name);
            // The thread is there as long as the program.
            let _ = self.reports.send((pod.clone(), timed_out));
        }
    }

    /// A pod is bound or gone, or its search ends now.
    pub(crate) fn left(&mut self, uid: &str) {
        if let Some(name) = self.pods.remove(uid) {
            self.conditions.ends(SearchesEnd, &name);
        }
    }
}

/// That its search timed out, if that is kube-scheduler's last word on the pod.
fn timed_out(object: &Value) -> Option<TimedOut> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let is_refused = |own: &&Value| own["type"] == "PodScheduled" && own["status"] == "False";
    let mut refused = conditions.filter(is_refused);
    refused.find_map(|condition| TimedOut::by(condition["message"].as_str()?))
}

fn full_name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn message(pod: &str, timed_out: &TimedOut, search: Option<&SlowSearch>) -> String {
    let search = search.map(|search| format!(": {search}")).unwrap_or_default();
    format!("kube-scheduler's search for devices of pod {pod} {timed_out}{search}")
}

struct Reporting {
    connector: Connector,
    clock: Arc<dyn Clock>,
    claims: Arc<Mutex<DevicePredictions>>,
    conditions: Arc<ServiceConditions>,
    /// `None`: there is no connection.
    recorder: Option<EventRecorder>,
}

impl Reporting {
    fn report(&mut self, pod: &Pod, timed_out: &TimedOut) {
        let name = full_name(pod);
        let nodes = self.claims.lock().searched_nodes(pod, timed_out.node());
        let text = message(&name, timed_out, SlowSearch::among(pod, nodes).as_ref());
        self.conditions.explains(SearchesEnd, &name, text.clone());
        tracing::warn!(pod = name, "{text}");
        let on = PodReference {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.as_str().to_owned(),
        };
        for _ in 0..TRIES {
            match self.write(&on, &text) {
                Ok(()) => return,
                Err(why) if !why.is_lost() => {
                    tracing::warn!(pod = name, "no event is written on the pod: {why}");
                    return;
                }
                Err(_) => self.clock.sleep(AGAIN),
            }
        }
        tracing::warn!(pod = name, "no event is written on the pod: the API server is not reached");
    }

    fn write(&mut self, on: &PodReference, text: &str) -> Result<(), cluster_node::ClusterError> {
        let mut recorder = match self.recorder.take() {
            Some(recorder) => recorder,
            None => self.connector.connect()?.recorder(INSTANCE, Reporter::Topolet),
        };
        recorder.record(on, EventType::Warning, REASON, text)?;
        self.recorder = Some(recorder);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cluster_node::SystemClock;
    use node_input::told_object;
    use pod_spec::PodRules;
    use serde_json::json;

    use super::*;
    use crate::claims::tests::object;

    /// A pod that kube-scheduler could not place for this reason.
    fn pending(message: &str) -> Value {
        let mut pod = object("p", 1);
        let condition = json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message });
        pod["status"] = json!({ "phase": "Pending", "conditions": [condition] });
        pod
    }

    #[test]
    fn a_pod_is_reported_once_until_its_search_ends() {
        let conditions = Arc::new(ServiceConditions::new(Arc::new(SystemClock)));
        let (reports, heard) = mpsc::channel();
        let mut timeouts = Timeouts::reporting_to(reports, &conditions);
        let mut look = |message: &str| {
            let object = pending(message);
            let pod = told_object(&object, PodRules::default()).unwrap_or_else(|error| panic!("{error}"));
            timeouts.look(&Arc::new(pod), &object);
            (heard.try_iter().count(), conditions.notes().len())
        };
        let late = "0/3 nodes are available: 3 timed out trying to allocate devices.";
        let full = "0/3 nodes are available: 3 cannot allocate all claims.";
        assert_eq!(look(full), (0, 0));
        assert_eq!(look(late), (1, 1));
        assert_eq!(look(late), (0, 1), "it is known");
        assert_eq!(look(full), (0, 0), "its search ends");
        assert_eq!(look(late), (1, 1), "it is news");
        timeouts.left("p");
        assert_eq!(conditions.notes(), [""; 0]);
    }
}
