//! Many decisions for a person: pods of one workload with the same outcome are shown as one, the first of them explained.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use admission_report::device_manager::DeviceId;
use admission_report::{Conclusion, ContainerReport, MemoryBlock, Report};
use cpuset::CpuSet;
use pod_spec::ContainerName;
use topology_model::NodeIds;

use crate::cells::{container, joined, with_role};

/// Pods of one workload with the same outcome; a pod without a workload is alone.
#[derive(Clone, Debug)]
pub struct PodGroup {
    pub(crate) first: Report,
    /// The name of the last one.
    last: String,
    count: usize,
    placed: Vec<PlacedAlike>,
}

/// What one container of several pods is given on the same NUMA nodes.
#[derive(Clone, Debug)]
struct PlacedAlike {
    name: ContainerName,
    /// The name with the role, if that is not the usual one.
    shown: String,
    nodes: Option<NodeIds>,
    /// The name of the first.
    first: String,
    pods: usize,
    cpus: CpuSet,
    memory: Vec<MemoryBlock>,
    /// Ids by resource.
    devices: BTreeMap<String, Vec<DeviceId>>,
    /// Claims with the NUMA nodes of their devices.
    claims: BTreeSet<String>,
}

impl From<Report> for PodGroup {
    fn from(first: Report) -> Self {
        let mut group = Self { last: first.pod.clone(), count: 1, placed: Vec::new(), first };
        let (pod, containers) = (group.first.pod.clone(), group.first.containers().to_vec());
        group.place(&pod, &containers);
        group
    }
}

impl PodGroup {
    /// Whether a pod of the same workload has the same outcome.
    fn is_like(&self, report: &Report) -> bool {
        let first = &self.first;
        let outcome = match (&first.conclusion, &report.conclusion) {
            (Conclusion::Admitted(_), Conclusion::Admitted(_)) => true,
            (Conclusion::WithoutClaims(_, one), Conclusion::WithoutClaims(_, other)) => one == other,
            (Conclusion::Unschedulable(one), Conclusion::Unschedulable(other)) => one == other,
            (Conclusion::Refused(one), Conclusion::Refused(other)) => {
                one.reason == other.reason && one.container == other.container
            }
            (Conclusion::Deferred(one), Conclusion::Deferred(other)) => one == other,
            (Conclusion::Undecided(one), Conclusion::Undecided(other)) => {
                one.to_string() == other.to_string()
            }
            (Conclusion::Fated(one), Conclusion::Fated(other)) => one.fate == other.fate,
            _ => false,
        };
        let remarks = |report: &Report| {
            let notes = report.notes.iter();
            notes.map(|note| (discriminant(&note.remark), note.containers.clone())).collect::<Vec<_>>()
        };
        let said = |report: &Report| report.kubelet_said.as_ref().map(|said| said.reason.clone());
        outcome && said(first) == said(report) && remarks(first) == remarks(report)
    }

    /// One more pod that [is like](Self::is_like) the others.
    fn add(&mut self, report: &Report) {
        report.pod.clone_into(&mut self.last);
        self.count += 1;
        self.place(&report.pod, report.containers());
    }

    fn place(&mut self, pod: &str, containers: &[ContainerReport]) {
        for container in containers {
            let here =
                self.placed.iter_mut().find(|one| one.name == container.name && one.nodes == container.nodes);
            if let Some(one) = here {
                one.add(container);
                continue;
            }
            let mut one = PlacedAlike::new(pod, container);
            one.add(container);
            // Beside the same container on other nodes.
            let after = self.placed.iter().rposition(|other| other.name == one.name);
            self.placed.insert(after.map_or(self.placed.len(), |at| at + 1), one);
        }
    }

    /// The first pod and the last one: `default/web-11 to web-39`.
    pub(crate) fn span(&self) -> String {
        let pod = &self.first.pod;
        match self.count {
            1 => pod.clone(),
            _ => format!("{pod} to {}", self.last.rsplit('/').next().unwrap_or(&self.last)),
        }
    }

    /// The pods and what made them: `default/web-11 to web-39 (29 of Deployment web)`.
    pub(crate) fn name(&self) -> String {
        match (&self.first.owner, self.count) {
            (None, _) => self.span(),
            (Some(owner), 1) => format!("{} ({owner})", self.span()),
            (Some(owner), count) => format!("{} ({count} of {owner})", self.span()),
        }
    }

    /// The rows of a table of what is given, below its head.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        if self.count == 1 {
            let head = ["CONTAINER", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec();
            let containers = self.first.containers().iter().map(container);
            return std::iter::once(head).chain(containers).collect();
        }
        let head = ["CONTAINER", "PODS", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec();
        std::iter::once(head).chain(self.placed.iter().map(PlacedAlike::cells)).collect()
    }
}

impl PlacedAlike {
    fn new(pod: &str, container: &ContainerReport) -> Self {
        Self {
            first: pod.rsplit('/').next().unwrap_or(pod).to_owned(),
            name: container.name.clone(),
            shown: with_role(container),
            nodes: container.nodes.clone(),
            pods: 0,
            cpus: CpuSet::new(),
            memory: Vec::new(),
            devices: BTreeMap::new(),
            claims: BTreeSet::new(),
        }
    }

    fn add(&mut self, container: &ContainerReport) {
        self.pods += 1;
        if let Some(cpus) = &container.exclusive_cpus {
            self.cpus = &self.cpus | cpus;
        }
        for block in &container.memory {
            let is_same = |own: &&mut MemoryBlock| own.resource == block.resource && own.nodes == block.nodes;
            match self.memory.iter_mut().find(is_same) {
                Some(own) => own.bytes = own.bytes.saturating_add(block.bytes),
                None => self.memory.push(block.clone()),
            }
        }
        for devices in &container.devices {
            self.devices.entry(devices.resource.to_string()).or_default().extend(devices.ids.iter().cloned());
        }
        self.claims.extend(container.claimed.iter().map(ToString::to_string));
    }

    fn cells(&self) -> Vec<String> {
        let memory = self.memory.iter().map(|block| {
            if self.nodes.as_ref() == Some(&block.nodes) { block.amount() } else { block.to_string() }
        });
        // For one pod the row lists the devices; for several it counts them.
        let is_one = self.pods == 1;
        let devices = self.devices.iter().map(|(resource, ids)| {
            if is_one {
                let ids: Vec<&str> = ids.iter().map(DeviceId::as_str).collect();
                format!("{resource} {}", ids.join(" "))
            } else {
                format!("{} {resource}", ids.len())
            }
        });
        vec![
            self.shown.clone(),
            if is_one { self.first.clone() } else { self.pods.to_string() },
            self.nodes.as_ref().map_or_else(|| "any".to_owned(), NodeIds::to_string),
            if self.cpus.is_empty() { "shared".to_owned() } else { self.cpus.to_string() },
            joined(memory),
            joined(devices.chain(self.claims.iter().cloned())),
        ]
    }
}

/// Puts decisions into groups as they come.
#[derive(Clone, Debug, Default)]
pub struct PodGroups {
    /// How many pods of each workload are still to come.
    left: BTreeMap<Workload, usize>,
    open: BTreeMap<Workload, Vec<PodGroup>>,
}

/// A workload by its namespace and what [`Report::owner`] says.
pub type Workload = (String, String);

impl PodGroups {
    /// For decisions on pods of these workloads, one entry for each pod. Pods of others are alone.
    #[must_use]
    pub fn of(workloads: impl IntoIterator<Item = Workload>) -> Self {
        let mut left = BTreeMap::new();
        for workload in workloads {
            *left.entry(workload).or_default() += 1;
        }
        Self { left, open: BTreeMap::new() }
    }

    /// The groups that are complete with this decision: no later pod belongs to them.
    pub fn add(&mut self, report: Report) -> Vec<PodGroup> {
        let Some(workload) = workload(&report).filter(|workload| self.left.contains_key(workload)) else {
            return vec![report.into()];
        };
        let groups = self.open.entry(workload.clone()).or_default();
        match groups.iter_mut().find(|group| group.is_like(&report)) {
            Some(group) => group.add(&report),
            None => groups.push(report.into()),
        }
        self.pass(&workload)
    }

    /// The groups that are complete without this decision, which is not shown.
    pub fn leave_out(&mut self, report: &Report) -> Vec<PodGroup> {
        workload(report).map_or_else(Vec::new, |workload| self.pass(&workload))
    }

    fn pass(&mut self, workload: &Workload) -> Vec<PodGroup> {
        match self.left.get_mut(workload) {
            Some(left) if *left > 1 => {
                *left -= 1;
                Vec::new()
            }
            _ => {
                self.left.remove(workload);
                self.open.remove(workload).unwrap_or_default()
            }
        }
    }
}

/// What made a pod; `None` if nothing did.
#[must_use]
pub fn workload(report: &Report) -> Option<Workload> {
    let namespace = report.pod.split_once('/').map_or("", |(namespace, _)| namespace);
    Some((namespace.to_owned(), report.owner.clone()?))
}
