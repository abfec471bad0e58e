//! What resizes have added to containers, which the kubelet's files do not say.
//!
//! A file of form 4 has the CPUs that a container was admitted with, and no file says in which order others came. Both
//! follow from the pod's own file, which lists the additions.

use cpu_manager::{Baselines, Holdings, Static};
use cpuset::CpuSet;
use pod_spec::PodUid;

use crate::grants::Grants;

/// `held` with the additions of its containers, and with the CPUs that they were admitted with where the state file does not
/// say: those that nothing has added. CPUs that a pod's own file does not know yet came last.
pub(crate) fn with_resizes<'g>(
    policy: &Static,
    held: Holdings,
    grants: impl Fn(&PodUid) -> Option<&'g Grants>,
) -> Holdings {
    if policy.baselines() == Baselines::Forgotten {
        return held;
    }
    let (mut all_grown, mut baselines) = (Vec::new(), Vec::new());
    for (pod, container, own) in held.iter() {
        let Some(grants) = grants(pod) else { continue };
        let known = grants.grown.get(container).into_iter().flatten();
        let mut grown: Vec<CpuSet> = known.map(|added| added & own).collect();
        if let Some(granted) = grants.cpus.as_ref().and_then(|cpus| cpus.containers.get(container)) {
            grown.push(own - granted);
        }
        grown.retain(|added| !added.is_empty());
        if held.baseline(pod, container).is_none() {
            let rest = grown.iter().fold(own.clone(), |rest, added| &rest - added);
            baselines.push((pod.clone(), container.clone(), rest));
        }
        if !grown.is_empty() {
            all_grown.push((pod.clone(), container.clone(), grown));
        }
    }
    held.with_baselines(baselines).with_grown(all_grown)
}
