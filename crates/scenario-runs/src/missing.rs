//! Resources that pods request and machines lack: which machines such pods never reach, and which pods fit nowhere.

use std::collections::{BTreeMap, BTreeSet};

use node_simulation::{Fleet, Scheduler, Template, fits_empty, lacking};
use pod_spec::ResourceName;

/// Resources that the same machines lack, and the pods that request them.
pub(crate) struct Missing {
    machines: Vec<String>,
    resources: BTreeSet<ResourceName>,
    pods: Vec<String>,
    /// Position of the first of the pods.
    pub(crate) first_pod: usize,
}

impl Missing {
    /// What happens to these pods under a scheduler, in one sentence.
    pub(crate) fn text(&self, scheduler: Scheduler) -> String {
        let resources: Vec<&str> = self.resources.iter().map(ResourceName::as_str).collect();
        let (resources, pods) = (resources.join(" and "), self.pods.join(" and "));
        let (machines, have) =
            (self.machines.join(" and "), if self.machines.len() == 1 { "has" } else { "have" });
        if scheduler.knows_sums() {
            format!("{machines} {have} no {resources}, so the scheduler never sends {pods} there")
        } else {
            format!(
                "{machines} {have} no {resources}: {pods} may be sent there, and a kubelet does not check a resource without a device plugin"
            )
        }
    }
}

/// The resources that machines of a fleet lack, grouped by the machines that lack them. `names` are those of the machines.
pub(crate) fn missing(fleet: &Fleet<'_>, names: &[&str], templates: &[Template]) -> Vec<Missing> {
    let mut by_machines: BTreeMap<Vec<usize>, Missing> = BTreeMap::new();
    for (pod, template) in templates.iter().enumerate() {
        let mut lack: BTreeMap<ResourceName, Vec<usize>> = BTreeMap::new();
        for (machine, (host, _)) in fleet.hosts.iter().enumerate() {
            for resource in lacking(host, template) {
                lack.entry(resource).or_default().push(machine);
            }
        }
        for (resource, machines) in lack {
            let mut named: Vec<String> =
                machines.iter().filter_map(|at| names.get(*at)).map(|name| (*name).to_owned()).collect();
            named.dedup();
            let missing = by_machines.entry(machines).or_insert_with(|| Missing {
                machines: named,
                resources: BTreeSet::new(),
                pods: Vec::new(),
                first_pod: pod,
            });
            missing.resources.insert(resource);
            if !missing.pods.contains(&template.name) {
                missing.pods.push(template.name.clone());
            }
        }
    }
    by_machines.into_values().collect()
}

/// Why a pod is never admitted by any machine of a fleet, even an empty one; `None` if one would admit it.
pub(crate) fn why_never(fleet: &Fleet<'_>, template: &Template) -> Option<String> {
    let mut reasons = Vec::new();
    let mut lacked = BTreeSet::new();
    for (host, _) in &fleet.hosts {
        let lacking = lacking(host, template);
        if fleet.scheduler.knows_sums() && !lacking.is_empty() {
            lacked.extend(lacking);
            continue;
        }
        match fits_empty(host, template) {
            Ok(()) => return None,
            Err(why) => reasons.push(why.to_string()),
        }
    }
    if !lacked.is_empty() {
        let lacked: Vec<&str> = lacked.iter().map(ResourceName::as_str).collect();
        reasons.push(format!("machines without {} do not get it", lacked.join(" or ")));
    }
    (!reasons.is_empty()).then(|| {
        reasons.dedup();
        reasons.join("; ")
    })
}
