//! Pods of which nothing proves what they held, because a state file is damaged, empty or gone.
//!
//! A pod's own file decides where there is one. Of the others an entry counts if the file's checksum proves it,
//! or if all else agrees with it: the shared pool, the books, the manifest, and the other files. A pod that may
//! have held something and has no such entry is quarantined.

use std::collections::{BTreeMap, BTreeSet};

use cpu_manager::Static;
use cpuset::CpuSet;
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::salvage::Rest;
use kubelet_checkpoint::store::StateFile;
use pod_spec::{Container, ContainerName, Pod, PodUid, QosClass, ResourceName, Role, Unit};

use super::damage::Doubt;
use super::{Assumption, Remedy, Standing, Work};
use crate::fault::{Fault, NamedPod, Unproven};
use crate::grants::Cpus;

/// Whether a pod holds exclusive resources of one kind (CPUs, memory or devices), by what is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    /// It does, by its manifest.
    Surely,
    /// It may: its manifest is not known.
    Maybe,
    /// It does not.
    No,
}

/// Whether a manifest says what its containers request. One that was written down for a name and a UID alone has no
/// requests and no status.
pub(super) fn is_full(pod: &Pod) -> bool {
    pod.status_qos.is_some()
        || pod.has_pod_level_resources()
        || pod.containers.iter().any(|own| !own.requests.is_empty() || !own.limits.is_empty())
}

/// Whether a resource is one of device plugins.
pub(super) fn is_device(resource: &ResourceName) -> bool {
    let domain = resource.as_str().split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io"))
}

impl Work<'_> {
    /// The manifest of a pod, if it says what the pod requests.
    fn manifest(&self, pod: &PodUid) -> Option<&Pod> {
        self.pods.get(pod)?.manifest.as_deref().filter(|manifest| is_full(manifest))
    }

    /// The containers that a pod is known to have: by its manifest, else by the state files other than `but`.
    pub(super) fn containers_of(&self, pod: &PodUid, but: StateFile) -> BTreeSet<ContainerName> {
        if let Some(manifest) = self.pods.get(pod).and_then(|known| known.manifest.as_ref()) {
            return manifest.containers.iter().map(|container| container.name.clone()).collect();
        }
        let mut names = BTreeSet::new();
        for file in StateFile::ALL.into_iter().filter(|file| *file != but) {
            names.extend(self.reads.named(file).get(pod).into_iter().flatten().cloned());
        }
        names
    }

    /// Everybody who may hold something: the pods that are known, and those of the state files that may be here.
    pub(super) fn candidates(&self) -> BTreeSet<PodUid> {
        let named = StateFile::ALL.into_iter().flat_map(|file| self.reads.named(file).keys());
        self.pods.keys().chain(named.filter(|pod| self.is_here(pod))).cloned().collect()
    }

    fn holds(&self, pod: &PodUid, file: StateFile) -> Holds {
        let Some(manifest) = self.manifest(pod) else { return self.holds_unknown(pod, file) };
        let does = |does| if does { Holds::Surely } else { Holds::No };
        let mut containers = manifest.containers.iter();
        match file {
            StateFile::Cpu => does(self.node.cpus().is_some_and(|policy| {
                let is_whole = manifest.has_pod_level_resources() && policy.allocates_whole(manifest);
                is_whole || containers.any(|own| policy.asked(Unit::Container(manifest, own)).is_some())
            })),
            StateFile::Memory => {
                let rules = self.node.pod_rules();
                let is_guaranteed = manifest.qos_class(rules) == QosClass::Guaranteed;
                does(self.node.memory().is_some_and(|policy| {
                    is_guaranteed
                        && containers.any(|own| {
                            let asked = policy.asked(Unit::Container(manifest, own));
                            asked.is_ok_and(|request| request.iter().any(|(_, bytes)| bytes > 0))
                        })
                }))
            }
            StateFile::Device => does(containers.any(|own| {
                own.limits.iter().any(|(resource, amount)| is_device(resource) && !amount.is_zero())
            })),
        }
    }

    /// Of a pod without a manifest: only Guaranteed pods have exclusive CPUs, and those have memory too.
    fn holds_unknown(&self, pod: &PodUid, file: StateFile) -> Holds {
        let memory = &self.reads.memory;
        let is_sealed = self.node.memory().is_some() && memory.state.is_some() && memory.doubt.is_none();
        let is_known = file == StateFile::Cpu && is_sealed;
        if is_known && !self.reads.named(StateFile::Memory).contains_key(pod) {
            Holds::No
        } else {
            Holds::Maybe
        }
    }

    /// Whether the pod's own file says what it holds of this kind.
    pub(super) fn says_itself(&self, pod: &PodUid, file: StateFile) -> bool {
        self.record(pod).and_then(|record| record.grants.as_ref()).is_some_and(|grants| match file {
            StateFile::Cpu => grants.cpus.is_some(),
            StateFile::Memory => grants.memory.is_some(),
            StateFile::Device => true,
        })
    }

    fn all_named(&self, pods: &[PodUid]) -> Vec<NamedPod> {
        pods.iter().map(|pod| self.named(pod)).collect()
    }

    /// Pods without an entry, or with a part of one. `with` have one.
    pub(super) fn unproven(&mut self, file: StateFile, doubt: Option<&Doubt>, with: &BTreeSet<PodUid>) {
        let (mut cut, mut lost, mut unserved) = (Vec::new(), Vec::new(), Vec::new());
        for pod in self.candidates() {
            if self.says_itself(&pod, file) {
                continue;
            }
            let is_listed = self.pods.get(&pod).is_some_and(|known| known.standing == Standing::Listed);
            match (with.contains(&pod), doubt, self.holds(&pod, file)) {
                (true, Some(doubt), _) if doubt.cut.contains(&pod) => cut.push(pod),
                (true, ..) | (false, _, Holds::No) => {}
                (false, Some(_), _) => lost.push(pod),
                (false, None, Holds::Surely) if is_listed => unserved.push(pod),
                (false, None, _) => {}
            }
        }
        let kind = file.into();
        let none = Some(Assumption::HoldNone(kind));
        for (pods, unproven, assumption, remedy) in [
            (&cut, Unproven::Cut(kind, self.all_named(&cut)), None, Remedy::KeepReadable),
            (&lost, Unproven::Lost(kind, self.all_named(&lost)), none, Remedy::KeepOtherFiles),
            (&unserved, Unproven::Unserved(kind, self.all_named(&unserved)), None, Remedy::KeepOtherFiles),
        ] {
            if !pods.is_empty() {
                let pods: Vec<&PodUid> = pods.iter().collect();
                self.add(file, Fault::Unproven(unproven), assumption, remedy, &pods);
            }
        }
    }

    /// Pods whose entry is there and does not agree with something else, by what is wrong.
    pub(super) fn contradicted(&mut self, file: StateFile, wrong: Vec<(Unproven, Vec<PodUid>)>) {
        for (unproven, pods) in wrong {
            let pods: Vec<&PodUid> = pods.iter().collect();
            self.add(file, Fault::Unproven(unproven), None, Remedy::KeepListed, &pods);
        }
    }

    /// What of a pod's entry in a doubtful file has a name that nothing else has.
    pub(super) fn strange_container<'c>(
        &self,
        pod: &PodUid,
        file: StateFile,
        mut containers: impl Iterator<Item = &'c ContainerName>,
    ) -> Option<Unproven> {
        let known = self.containers_of(pod, file);
        let strange = containers.find(|name| !known.contains(*name))?;
        Some(Unproven::StrangeContainer(self.named(pod), strange.clone()))
    }

    /// What does not agree with the CPUs that a doubtful file has of pods that are here.
    pub(super) fn wrong_cpus(
        &self,
        policy: &Static,
        state: &CpuState,
        doubt: &Doubt,
        held: &BTreeMap<PodUid, Cpus>,
    ) -> Vec<(Unproven, Vec<PodUid>)> {
        const FILE: StateFile = StateFile::Cpu;
        let owned = super::cpus::owned(state);
        let gap = &(policy.initial().shared() - &state.shared) - &owned;
        // Keyed by sentence, so that pods with the same one share a finding.
        let mut wrong: BTreeMap<String, (Unproven, Vec<PodUid>)> = BTreeMap::new();
        for (pod, cpus) in held {
            if self.says_itself(pod, FILE) || doubt.cut.contains(pod) {
                continue;
            }
            let named = self.named(pod);
            let both = &super::cpus::all_of(cpus) & &state.shared;
            let count = self.manifest(pod).map(|manifest| count(policy, manifest, cpus));
            let found = if doubt.rest == Rest::Cut {
                Some(Unproven::SharedPoolLost)
            } else if !both.is_empty() {
                Some(Unproven::Shared(named, both))
            } else if let Some(Count::Other) = count {
                Some(Unproven::OtherCount(named))
            } else if !gap.is_empty() && count != Some(Count::AsRequested) {
                Some(Unproven::Gap(gap.clone()))
            } else {
                self.strange_container(pod, FILE, cpus.containers.keys())
            };
            if let Some(found) = found {
                let same = wrong.entry(found.to_string()).or_insert_with(|| (found, Vec::new()));
                same.1.push(pod.clone());
            }
        }
        wrong.into_values().collect()
    }
}

/// How the number of CPUs of each container compares with its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    AsRequested,
    Other,
    /// The pod is served as a whole.
    Unknown,
}

pub(super) fn count(policy: &Static, manifest: &Pod, cpus: &Cpus) -> Count {
    if manifest.has_pod_level_resources() || cpus.whole.is_some() {
        return Count::Unknown;
    }
    let is_right = |container: &Container| {
        let held = cpus.containers.get(&container.name).map(CpuSet::len);
        match policy.asked(Unit::Container(manifest, container)) {
            // An init container's CPUs are handed on.
            Some(asked) => held == Some(asked) || (held.is_none() && container.role == Role::Init),
            None => held.is_none(),
        }
    };
    let is_known = |name| manifest.container(name).is_some();
    let is_as_requested = manifest.containers.iter().all(is_right) && cpus.containers.keys().all(is_known);
    if is_as_requested { Count::AsRequested } else { Count::Other }
}
