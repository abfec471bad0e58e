//! Patches of pod statuses, and the removal of objects of deleted pods.

use cluster_node::{ClusterError, PodReference};
use kubelet_status::{PodObject, Step};
use node_view::NodeCondition;

use super::sending::{Recorders, TURN, is_of_server};
use super::statuses::Statuses;

impl Statuses {
    /// Sends the statuses that the API server does not have yet; returns whether nothing is left to be sent at once.
    pub(super) fn send_patches(&mut self) -> bool {
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
            if now.duration_since(began) > TURN {
                return false;
            }
            let work = if deletes { NodeCondition::PodsRemoved } else { NodeCondition::PodStatusesSent };
            let answer = match &patch {
                Some(patch) => self.cluster.patch_pod_status(&reference, patch).map(Some),
                None => self.cluster.finalise_pod(&reference).map(|()| None),
            };
            self.gate.record(answer.as_ref().err(), clock);
            match answer {
                Ok(object) => {
                    self.view.conditions.member_works(work);
                    let is_taken = object.and_then(PodObject::new);
                    match is_taken {
                        Some(object) => {
                            pod.updated(object);
                            // The server has changed the status: it is sent again after growing pauses.
                            if pod.patch().is_some() {
                                pod.pause(clock);
                            } else {
                                pod.succeeded(clock);
                            }
                        }
                        // The object is being removed; the watch reports its end.
                        None => pod.pause(clock),
                    }
                }
                // The object is removed already; the watch reports it.
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
                    if pod.failed(&why, clock) {
                        let PodReference { namespace, name, .. } = &reference;
                        tracing::warn!("the API server refused the status of pod {namespace}/{name}: {why}");
                    }
                }
            }
        }
        true
    }

    /// Reads the credentials again if the server does not accept them, for patches and events.
    fn reconnect(&mut self, error: &ClusterError) {
        if let ClusterError::Unauthorized { .. } = error
            && let (Ok(cluster), Ok(recorders)) =
                (self.connector.connect(), Recorders::new(&self.connector, &self.node))
        {
            self.cluster = cluster;
            self.recorders.replace_connections(recorders);
        }
    }
}
