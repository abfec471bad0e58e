//! What the owner of a pod may not expect and what takes the machine or the configuration to see: a report does not know
//! them.

use std::collections::BTreeSet;

use admission_report::{BesideHint, ContainerReport, FewPages, Note, Remark, Report};
use cpuset::CpuSet;
use k8s_quantity::Quantity;
use pod_spec::{ContainerName, Pod, ResourceName};
use topology_admission::Ledger;
use topology_model::NodeIds;

use crate::node::LoadedNode;

impl LoadedNode {
    /// Adds such remarks to the report on a pod that came to what `before` holds.
    pub fn remark(&self, before: &Ledger, pod: &Pod, report: &mut Report) {
        let mut notes = self.claims_of_cpus(pod);
        if report.is_placed() {
            let containers = report.containers();
            notes.extend(containers.iter().filter_map(|own| self.beside_hint(own)));
            let own = containers.iter().filter_map(|own| own.exclusive_cpus.as_ref());
            let own = own.fold(CpuSet::new(), |sum, cpus| &sum | cpus);
            notes.extend(containers.iter().filter_map(|container| self.part_of_core(container, &own)));
            notes.extend(self.few_pages(before, pod, containers));
        }
        report.notes.extend(notes);
    }

    /// Claims by which a driver gives CPUs, beside a CPU manager that gives them too.
    fn claims_of_cpus(&self, pod: &Pod) -> Vec<Note> {
        if self.node.cpus().is_none() {
            return Vec::new();
        }
        let claims = pod.constraints.claims.iter().filter_map(|claim| {
            let class = claim.classes.iter().find(|class| is_of_cpus(class))?;
            let remark = Remark::ClaimOfCpus { claim: claim.name.clone(), class: class.clone() };
            Some(Note { containers: claim.containers.clone(), remark })
        });
        claims.collect()
    }

    /// CPUs on other NUMA nodes than those of the merged hint.
    fn beside_hint(&self, container: &ContainerReport) -> Option<Note> {
        let (Some(hint), Some(cpus)) = (&container.nodes, &container.cpu_nodes) else { return None };
        let of_hint: BTreeSet<_> = hint.iter().collect();
        if cpus.iter().all(|id| of_hint.contains(&id)) {
            return None;
        }
        let options = &self.config().cpu_manager_policy_options;
        let is_on = |option: &str| options.get(option).is_some_and(|value| value.parse() == Ok(true));
        let why = match (is_on("align-by-socket"), is_on("distribute-cpus-across-numa")) {
            (true, true) => BesideHint::SocketDistributed,
            (true, false) => BesideHint::Socket,
            (false, _) => BesideHint::TooFew,
        };
        let remark = Remark::CpusBesideHint { hint: hint.clone(), cpus: cpus.clone(), why };
        Some(note(container, remark))
    }

    /// A part of a core, of which the pod, whose CPUs are `own`, does not hold the rest.
    fn part_of_core(&self, container: &ContainerReport, own: &CpuSet) -> Option<Note> {
        let cpus = container.exclusive_cpus.as_ref()?;
        let split = |(_, core): &(_, &CpuSet)| !core.is_disjoint(cpus) && !core.is_subset(own);
        let (part, rest) = self
            .cpus
            .cores()
            .filter(split)
            .fold((CpuSet::new(), CpuSet::new()), |(part, rest), (_, core)| {
                (&part | &(core & cpus), &rest | &(core - own))
            });
        (!part.is_empty()).then(|| note(container, Remark::PartOfCore { part, rest }))
    }

    /// Huge pages that are bound to no NUMA node, of which the NUMA nodes of the pod's CPUs have fewer than it and those that have their CPUs
    /// there ask for.
    fn few_pages(&self, before: &Ledger, pod: &Pod, containers: &[ContainerReport]) -> Option<Note> {
        if self.node.memory().is_some() {
            return None;
        }
        let each = containers.iter().filter_map(|placed| {
            let container = pod.container(&placed.name)?;
            let cpu_nodes = placed.cpu_nodes.as_ref()?;
            let pages = container.requests.iter().filter(|(resource, _)| resource.is_hugepages());
            let few = pages.filter_map(|(resource, asked)| {
                let asked = u64::try_from(asked.value()).unwrap_or(0);
                let there = self.pages_on(resource, cpu_nodes);
                let here = self.asked_on(before, pod, containers, cpu_nodes, resource);
                let others = here.saturating_sub(asked);
                (asked > 0 && there < here).then(|| FewPages {
                    resource: resource.clone(),
                    asked,
                    others,
                    there,
                    nodes: cpu_nodes.clone(),
                })
            });
            let few: Vec<FewPages> = few.collect();
            (!few.is_empty()).then(|| (placed.name.clone(), few))
        });
        let (containers, few): (Vec<ContainerName>, Vec<Vec<FewPages>>) = each.unzip();
        let few: Vec<FewPages> = few.into_iter().flatten().collect();
        (!few.is_empty()).then(|| Note { containers, remark: Remark::FewPages(few) })
    }

    /// How many bytes of `resource` the containers ask for that have their CPUs on these nodes alone: those of `pod`, placed as
    /// `containers` says, and those in `before`.
    fn asked_on(
        &self,
        before: &Ledger,
        pod: &Pod,
        containers: &[ContainerReport],
        nodes: &NodeIds,
        resource: &ResourceName,
    ) -> u64 {
        let here = self.cpus.nodes().filter(|(id, _)| nodes.iter().any(|node| node == *id));
        let here = here.fold(CpuSet::new(), |sum, (_, cpus)| &sum | cpus);
        let own = containers.iter().filter_map(|placed| {
            let cpus = placed.exclusive_cpus.as_ref()?;
            cpus.is_subset(&here).then(|| pod.container(&placed.name)).flatten()
        });
        let others = before.pods().filter(|other| other.uid != pod.uid).flat_map(|other| {
            let held = before.cpus().into_iter().flat_map(|held| held.of_pod(&other.uid));
            let here = held.filter(|(_, cpus)| cpus.is_subset(&here));
            here.filter_map(|(name, _)| other.container(name))
        });
        let asked = own.chain(others).filter_map(|container| container.requests.get(resource));
        asked.map(|asked| u64::try_from(asked.value()).unwrap_or(0)).fold(0, u64::saturating_add)
    }

    /// How many bytes of huge pages of a size NUMA nodes have in all.
    fn pages_on(&self, resource: &ResourceName, nodes: &NodeIds) -> u64 {
        let size =
            resource.as_str().strip_prefix("hugepages-").and_then(|size| size.parse::<Quantity>().ok());
        let size = size.and_then(|size| u64::try_from(size.value()).ok()).unwrap_or(0);
        let here = self.view().node_memory().iter().filter(|node| nodes.iter().any(|id| id == node.id));
        let pages = here.flat_map(|node| &node.hugepages);
        let of_size = pages.filter(|pages| pages.page_size_kib.saturating_mul(1024) == size);
        of_size.map(|pages| size.saturating_mul(pages.num_pages)).fold(0, u64::saturating_add)
    }
}

fn note(container: &ContainerReport, remark: Remark) -> Note {
    Note { containers: [container.name.clone()].into(), remark }
}

/// Whether a driver of this device class gives CPUs: `dra.cpu` and its kind.
fn is_of_cpus(class: &str) -> bool {
    class.split(['.', '/', '-']).any(|word| matches!(word, "cpu" | "cpus"))
}
