//! What the API server is told of pods: the status of each, and that its object can go.

use cluster_node::{ClusterError, PodReference};
use kubelet_status::{PodObject, Step};
use node_view::NodeCondition;

use super::sending::{Recorders, TELLING, is_of_server};
use super::statuses::Statuses;

impl Statuses {
    /// Tells the API server what it does not know; whether there is nothing more that could be told at once.
    pub(super) fn tell(&mut self) -> bool {
        let clock = self.connector.clock().clone();
        let clock = &*clock;
        let began = clock.now();
        for pod in self.pods.values_mut() {
            let now = clock.now();
            if pod.is_paused(now) {
                continue;
            }
            let patch = pod.patch();
            let deletes = patch.is_none() && pod.step == Step::Finalise;
            if patch.is_none() && !deletes {
                continue;
            }
            let Some(reference) = pod.reference() else { continue };
            if !self.gate.is_open(now) {
                return true;
            }
            if now.duration_since(began) > TELLING {
                return false;
            }
            let work = if deletes { NodeCondition::PodsRemoved } else { NodeCondition::PodStatusesSent };
            let answer = match &patch {
                Some(patch) => self.cluster.patch_pod_status(&reference, patch).map(Some),
                None => self.cluster.finalise_pod(&reference).map(|()| None),
            };
            self.gate.heard(answer.as_ref().err(), clock);
            match answer {
                Ok(object) => {
                    self.view.conditions.member_works(work);
                    let is_taken = object.and_then(PodObject::new);
                    match is_taken {
                        Some(object) => {
                            pod.is(object);
                            // The server has made something else of it: it is told less and less often.
                            if pod.patch().is_some() {
                                pod.pause(clock);
                            } else {
                                pod.goes_on();
                            }
                        }
                        // It is going: the watch tells when.
                        None => pod.pause(clock),
                    }
                }
                // There is nothing to be told of any more; the watch tells so.
                Err(ClusterError::NotFound(_)) => {
                    self.view.conditions.member_works(work);
                    pod.pause(clock);
                }
                Err(error) if is_of_server(&error) => {
                    self.view.conditions.member_fails(work, &error.to_string());
                    self.reconnect(&error);
                    return true;
                }
                Err(error @ ClusterError::Forbidden(_)) => {
                    self.view.conditions.member_fails(work, &error.to_string());
                    pod.pause(clock);
                }
                Err(error) => {
                    let why = error.to_string();
                    if pod.fails(&why, clock) {
                        let PodReference { namespace, name, .. } = &reference;
                        tracing::warn!(
                            "the API server does not take what is said of pod {namespace}/{name}: {why}"
                        );
                    }
                }
            }
        }
        true
    }

    /// Credentials that are not accepted are read again, for events too.
    fn reconnect(&mut self, error: &ClusterError) {
        if let ClusterError::Unauthorized { .. } = error
            && let (Ok(cluster), Ok(recorders)) =
                (self.connector.connect(), Recorders::new(&self.connector, &self.node))
        {
            self.cluster = cluster;
            self.recorders.go_on_with(recorders);
        }
    }
}
