//! What the API server is told of pods: the status of each, and that its object can go.

use std::time::Instant;

use cluster_node::{Cluster, ClusterError, PodReference};
use kubelet_status::{PodObject, Step};
use node_view::NodeCondition;

use super::sending::{Recorders, TELLING, is_of_server};
use super::statuses::Statuses;

impl Statuses {
    /// Tells the API server what it does not know; whether there is nothing more that could be told at once.
    pub(super) fn tell(&mut self) -> bool {
        let began = Instant::now();
        for pod in self.pods.values_mut() {
            let now = Instant::now();
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
            if began.elapsed() > TELLING {
                return false;
            }
            let work = if deletes { NodeCondition::PodsRemoved } else { NodeCondition::PodStatusesSent };
            let answer = match &patch {
                Some(patch) => self.cluster.patch_pod_status(&reference, patch).map(Some),
                None => self.cluster.finalise_pod(&reference).map(|()| None),
            };
            let now = Instant::now();
            self.gate.heard(answer.as_ref().err(), now);
            match answer {
                Ok(object) => {
                    self.view.conditions.member_works(work);
                    let is_taken = object.and_then(PodObject::new);
                    match is_taken {
                        Some(object) => {
                            pod.is(object);
                            // The server has made something else of it: it is told less and less often.
                            if pod.patch().is_some() {
                                pod.pause(now);
                            } else {
                                pod.goes_on();
                            }
                        }
                        // It is going: the watch tells when.
                        None => pod.pause(now),
                    }
                }
                // There is nothing to be told of any more; the watch tells so.
                Err(ClusterError::NotFound(_)) => {
                    self.view.conditions.member_works(work);
                    pod.pause(now);
                }
                Err(error) if is_of_server(&error) => {
                    self.view.conditions.member_fails(work, &error.to_string());
                    self.reconnect(&error);
                    return true;
                }
                Err(error @ ClusterError::Forbidden(_)) => {
                    self.view.conditions.member_fails(work, &error.to_string());
                    pod.pause(now);
                }
                Err(error) => {
                    let why = error.to_string();
                    if pod.fails(&why, now) {
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
                (Cluster::new(&self.node.access), Recorders::new(&self.node))
        {
            self.cluster = cluster;
            self.recorders.go_on_with(recorders);
        }
    }
}
