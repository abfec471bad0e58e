//! The next restart of a kubelet: it starts from the folder, and admits every pod that runs again.
//!
//! A kubelet that starts reads what pods were admitted with, then starts its managers from their files, and then admits
//! every known pod: static pods first, the others in the order of their creation. A pod is admitted with the
//! requests of `allocated_pods_state` where that has some, and keeps what the files say it holds; nothing is released
//! meanwhile, and no device plugin is back yet. A pod that is refused now fails for good, although its containers ran.
//!
//! Pods of the same second come in any order.

use std::sync::Arc;

use device_manager::{Inventory, Moment};
use kubelet_checkpoint::pods::{Allocation, PodAllocation, PodFile};
use pod_spec::{Container, Origin, Pod, PodResources, Role};
use topology_admission::{Node, Refused, RunningPods, SourcesReady, Verdict};

use crate::folder::StateFolder;
use crate::start::StartError;

/// A pod that a restart admits again, or does not.
#[derive(Clone, Debug)]
pub struct Readmitted {
    /// The pod, with what it is admitted with.
    pub pod: Arc<Pod>,
    /// Whether the kubelet admits it again.
    pub fate: PodFate,
}

/// Whether the kubelet admits a running pod again.
#[derive(Clone, Debug)]
pub enum PodFate {
    /// It is admitted again.
    Admitted,
    /// The kubelet refuses it: it ends as failed.
    Refused(Box<Refused>),
    /// It is ended for this critical pod, which comes after it.
    Preempted(Arc<Pod>),
    /// A device plugin would be asked first.
    NotDecided,
}

impl StateFolder {
    /// The pods in the order in which a kubelet admits them again, and what becomes of each. Containers run, but for init
    /// containers, which have ended.
    ///
    /// # Errors
    /// The kubelet does not start from the files.
    pub fn restart(&self, node: &Node, pods: &[Arc<Pod>]) -> Result<Vec<Readmitted>, StartError> {
        let allocated = self.strict_pods(node, PodFile::Allocated)?;
        self.strict_pods(node, PodFile::Actuated)?;
        let start = self.strict(node)?;
        let mut pods: Vec<Arc<Pod>> = pods.to_vec();
        // The kubelet reads static pods from another source, before all others.
        pods.sort_by_key(|pod| (pod.constraints.origin != Origin::Static, pod.created));
        for pod in &mut pods {
            if let Some(of) = allocated.as_ref().and_then(|file| file.pods.get(&pod.uid)) {
                allocate(pod, of);
            }
        }
        let stays = |container: &&Container| container.role != Role::Init;
        let running = pods.iter().flat_map(|pod| pod.containers.iter().filter(stays).map(|own| pod.key(own)));
        let running =
            RunningPods { admitted: Vec::new(), running: running.collect(), sources: SourcesReady::No };
        let nothing = Inventory::new(node.nodes().clone());
        let mut ledger = start.ledger_with(node, running, nothing, Moment::default())?;
        let mut all: Vec<Readmitted> = Vec::with_capacity(pods.len());
        for pod in pods {
            let attempt = node.admission(&ledger, &pod).attempt();
            let fate = match &attempt.verdict {
                Verdict::Admitted(placement) => {
                    let ended = |one: &&mut Readmitted| placement.preempted.contains(&one.pod.uid);
                    for one in all.iter_mut().filter(ended) {
                        one.fate = PodFate::Preempted(pod.clone());
                    }
                    PodFate::Admitted
                }
                Verdict::Refused(refused) => PodFate::Refused(Box::new(refused.clone())),
                Verdict::NeedsPlugin(_) => PodFate::NotDecided,
            };
            ledger = ledger.commit(attempt).unwrap_or(ledger);
            all.push(Readmitted { pod, fate });
        }
        Ok(all)
    }
}

/// Gives the pod the requests and limits that it was admitted with.
fn allocate(pod: &mut Arc<Pod>, of: &PodAllocation) {
    let is_same = |container: &Container| {
        of.containers.get(&container.name).is_none_or(|Allocation { requests, limits }| {
            (requests, limits) == (&container.requests, &container.limits)
        })
    };
    if pod.containers.iter().all(is_same) && of.pod.is_none() {
        return;
    }
    let pod = Arc::make_mut(pod);
    for container in &mut pod.containers {
        if let Some(Allocation { requests, limits }) = of.containers.get(&container.name) {
            container.requests.clone_from(requests);
            container.limits.clone_from(limits);
        }
    }
    if let Some(Allocation { requests, limits }) = &of.pod {
        pod.resources = Some(PodResources { requests: requests.clone(), limits: limits.clone() });
    }
}
