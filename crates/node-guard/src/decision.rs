//! What a container gets at its creation: what the kubelet has decided, and nothing else.
//!
//! | by the kubelet's files | the request has | answer |
//! |---|---|---|
//! | exclusive CPUs | no CPUs | those of the files |
//! | exclusive CPUs | the same | nothing |
//! | exclusive CPUs | others | nothing, and it is reported |
//! | shared CPUs | no CPUs | the shared ones |
//! | shared CPUs | some of them | nothing |
//! | shared CPUs | more than these | what both have in common |
//! | shared CPUs | none of these | nothing: the files are older than the pod |
//! | shared CPUs, and it must be exclusive | any | nothing: the files are older than the pod |
//! | CPUs of its pod as a whole | any | nothing |

use cpuset::CpuSet;

use crate::request::Requested;
use crate::state_view::{Holding, NodeCpus};

/// What becomes of the CPUs and NUMA nodes of a container that is created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The request has what the kubelet has decided.
    Leave,
    /// The request lacks it, or asks for more.
    Set {
        /// CPUs; `None`: those of the request.
        cpus: Option<CpuSet>,
        /// NUMA nodes; `None`: those of the request.
        mems: Option<CpuSet>,
    },
    /// The request asks for other CPUs than those that the container holds exclusively.
    Differs {
        /// Those of the request.
        requested: CpuSet,
        /// Those of the files.
        held: CpuSet,
    },
    /// The files do not have the pod: why that is known.
    OlderThanPod(String),
}

/// Decides by the files of a node on a container.
pub(crate) fn decide(node: &NodeCpus, request: &Requested) -> Decision {
    let known = || node.mems(&request.pod, &request.container).cloned();
    let mems = if request.mems.is_none() { known() } else { None };
    let cpus = match (node.holding(&request.pod, &request.container), &request.cpus) {
        (Holding::OfPod, _) => return Decision::Leave,
        (Holding::Exclusive(held), None) => Some(held.clone()),
        (Holding::Exclusive(held), Some(requested)) if requested == held => None,
        (Holding::Exclusive(held), Some(requested)) => {
            return Decision::Differs { requested: requested.clone(), held: held.clone() };
        }
        (Holding::Shared, _) if request.is_exclusive_by_request => {
            return Decision::OlderThanPod(format!(
                "container {} of a guaranteed pod asks for whole CPUs and holds none",
                request.shown
            ));
        }
        (Holding::Shared, None) => Some(node.shared.clone()).filter(|shared| !shared.is_empty()),
        (Holding::Shared, Some(requested)) if requested.is_subset(&node.shared) => None,
        (Holding::Shared, Some(requested)) => {
            let both = requested & &node.shared;
            if both.is_empty() {
                return Decision::OlderThanPod(format!(
                    "container {} is created on CPUs {requested}, none of which is shared",
                    request.shown
                ));
            }
            Some(both)
        }
    };
    if cpus.is_none() && mems.is_none() { Decision::Leave } else { Decision::Set { cpus, mems } }
}

#[cfg(test)]
mod tests {
    use pod_spec::{ContainerName, PodUid};

    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn node() -> NodeCpus {
        let one = |cpus: &str| [(ContainerName::new("c"), set(cpus))].into();
        NodeCpus {
            shared: set("0-3,8"),
            exclusive: [(PodUid::new("held"), one("4-5"))].into(),
            pods: [(PodUid::new("whole"), set("6-7"))].into(),
            mems: [(PodUid::new("held"), one("1"))].into(),
        }
    }

    fn request(pod: &str, cpus: &str) -> Requested {
        Requested {
            pod: PodUid::new(pod),
            container: ContainerName::new("c"),
            shown: format!("default/{pod}/c"),
            cpus: Some(set(cpus)).filter(|cpus| !cpus.is_empty()),
            mems: None,
            is_exclusive_by_request: false,
            cgroup: None,
            not_guarded: None,
        }
    }

    #[test]
    fn a_container_gets_what_the_kubelet_has_decided() {
        let given = |cpus: &str, mems: &str| {
            let some = |text: &str| Some(set(text)).filter(|set| !set.is_empty());
            Decision::Set { cpus: some(cpus), mems: some(mems) }
        };
        for (pod, requested, expected) in [
            ("held", "", given("4-5", "1")),
            ("held", "4-5", given("", "1")),
            ("held", "4-6", Decision::Differs { requested: set("4-6"), held: set("4-5") }),
            ("whole", "6", Decision::Leave),
            ("other", "", given("0-3,8", "")),
            ("other", "0-3,8", Decision::Leave),
            ("other", "1-2", Decision::Leave),
            ("other", "0-8", given("0-3,8", "")),
            ("other", "3-5", given("3", "")),
        ] {
            assert_eq!(decide(&node(), &request(pod, requested)), expected, "{pod} {requested:?}");
        }
        let bound = Requested { mems: Some(set("0")), ..request("held", "4-5") };
        assert_eq!(decide(&node(), &bound), Decision::Leave, "the request has NUMA nodes");
    }

    #[test]
    fn files_without_the_pod_decide_nothing() {
        let exclusive = Requested { is_exclusive_by_request: true, ..request("new", "0-1") };
        for request in [request("other", "4-5"), exclusive] {
            assert!(matches!(decide(&node(), &request), Decision::OlderThanPod(_)), "{request:?}");
        }
    }
}
