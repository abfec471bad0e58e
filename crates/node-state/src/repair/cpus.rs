//! CPUs: whose they are, on this machine and with this configuration.

use std::collections::{BTreeMap, HashMap};

use cpu_manager::{Baselines, Holdings, Static};
use cpuset::{CpuId, CpuSet};
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::store::StateFile;
use pod_spec::{ContainerName, PodUid};

use super::damage::{Doubt, FileFault, Read};
use super::{Assumption, Remedy, Work};
use crate::fault::{Fault, FaultKind, Holding, Kind, NamedPod, ReservedGiven, ReservedPart, WholeShare};
use crate::files;
use crate::grants::Cpus;
use crate::resizes::with_resizes;

const FILE: StateFile = StateFile::Cpu;

type Held = BTreeMap<PodUid, Cpus>;

impl Work<'_> {
    pub(super) fn cpus(&mut self) {
        let pod_level = files::pod_level(self.node);
        let read = self.reads.cpu.clone();
        self.whole_file(FILE, &read);
        let Read { state, fault, doubt } = read;
        let kind = fault.map(|fault| fault.fault.kind());
        let Some(policy) = self.node.cpus() else {
            self.other_policy(
                FILE,
                state.as_ref().map(|state| state.policy.as_str()),
                files::cpu_policy(self.node),
            );
            return;
        };
        // The policy of a damaged file may be what is damaged.
        let stored = state.as_ref().map(|state| state.policy.as_str()).filter(|_| doubt.is_none());
        let is_other = self.other_policy(FILE, stored, files::cpu_policy(self.node));
        let state = state.filter(|_| !is_other);
        let granted: Held = self.granted(|grants| grants.cpus.clone());
        if self.found.cpu.is_none() && granted.values().any(|cpus| !cpus.containers.is_empty()) {
            self.missing(FILE);
        }
        let held = self.believed(FILE, state.as_ref().map(stored_of), granted, shown);
        if !is_other {
            self.unproven(FILE, doubt.as_ref(), &held.keys().cloned().collect());
        }
        if let (Some(state), Some(doubt)) = (&state, &doubt) {
            let wrong = self.wrong_cpus(policy, state, doubt, &held);
            self.contradicted(FILE, wrong);
        }
        let held = self.without_bubbles(held, pod_level, kind);
        let held = self.on_this_machine(policy, held);
        self.shared(policy, &held, state.as_ref(), doubt.as_ref());
    }

    /// Without the gate a pod holds nothing as a whole.
    fn without_bubbles(&mut self, mut held: Held, pod_level: PodLevel, kind: Option<FaultKind>) -> Held {
        if pod_level == PodLevel::On {
            return held;
        }
        for (pod, cpus) in &mut held {
            let Some(whole) = cpus.whole.take() else { continue };
            let own = cpus.containers.values().fold(CpuSet::new(), |all, own| &all | own);
            let rest = &whole - &own;
            let named = self.named(pod);
            if !rest.is_empty() {
                let share = WholeShare::BesideContainers;
                let fault = Fault::WholeCpus { pod: named, cpus: rest, share };
                self.add(FILE, fault, None, Remedy::ShareWhole, &[pod]);
            } else if kind.is_none() {
                let fault = Fault::WholeCpus { pod: named, cpus: whole, share: WholeShare::OfContainers };
                self.add(FILE, fault, None, Remedy::ContainersKeep, &[]);
            }
        }
        held
    }

    /// What is held on this machine, each CPU by one pod.
    fn on_this_machine(&mut self, policy: &Static, mut held: Held) -> Held {
        let mut order: Vec<PodUid> = held.keys().cloned().collect();
        order.sort_by_key(|pod| self.rank(pod));
        let mut owners = FirstOwners::default();
        for pod in order {
            let Some(mut cpus) = held.remove(&pod) else { continue };
            let all = all_of(&cpus);
            let gone = &all - policy.all();
            let reserved = &all & policy.reserved();
            for (cpus, is_gone) in [(&gone, true), (&reserved, false)] {
                if cpus.is_empty() {
                    continue;
                }
                let (named, cpus) = (self.named(&pod), cpus.clone());
                let fault = if is_gone {
                    Fault::CpusGone { pod: named, cpus }
                } else {
                    let given = match policy.given_with_reserved(&all) {
                        cores if (&cpus - &cores).is_empty() => ReservedGiven::WithCores(cores),
                        _ => ReservedGiven::Before,
                    };
                    Fault::CpusReserved { pod: named, cpus, given }
                };
                self.add(FILE, fault, None, Remedy::KeepRest(Kind::Cpus), &[&pod]);
            }
            let mut lost = &gone | &reserved;
            lost |= &owners.take(&pod, &(&all - &lost));
            if !lost.is_empty() {
                for own in cpus.containers.values_mut().chain(&mut cpus.whole) {
                    *own -= &lost;
                }
            }
            held.insert(pod, cpus);
        }
        for OwnedTwice { pods, cpus } in owners.twice {
            let named: Vec<NamedPod> = pods.iter().map(|pod| self.named(pod)).collect();
            let Some(first) = named.first().cloned() else { continue };
            let fault = Fault::CpusOwnedTwice { pods: named, cpus };
            self.owned_twice(FILE, fault, first, &pods, Kind::Cpus);
        }
        held
    }

    /// Pods hold the same, and the first of them keeps it.
    pub(super) fn owned_twice(
        &mut self,
        file: StateFile,
        fault: Fault,
        first: NamedPod,
        pods: &[PodUid],
        kind: Kind,
    ) {
        let assumption = Some(Assumption::FirstOwner(first.clone()));
        let remedy = Remedy::FirstOwnerKeeps { first, others: pods.len() - 1, kind };
        self.add(file, fault, assumption, remedy, &pods.iter().collect::<Vec<_>>());
    }

    /// CPUs that no pod holds are shared.
    fn shared(&mut self, policy: &Static, held: &Held, state: Option<&CpuState>, doubt: Option<&Doubt>) {
        let managed = policy.initial().shared().clone();
        let owned = held.values().fold(CpuSet::new(), |all, cpus| &all | &all_of(cpus));
        let shared = &managed - &owned;
        // An empty file is one of a new node.
        if let Some(state) = state.filter(|state| !state.shared.is_empty() || !state.containers.is_empty()) {
            self.compare_shared(policy, state, &shared, &owned);
        }
        let assigned = held.iter().flat_map(|(pod, cpus)| {
            cpus.containers.iter().map(|(name, own)| (pod.clone(), name.clone(), own.clone()))
        });
        let whole = held.iter().filter_map(|(pod, cpus)| Some((pod.clone(), cpus.whole.clone()?)));
        let holdings = Holdings::new(shared, assigned).with_whole_pods(whole);
        let stored = state.iter().flat_map(|state| &state.baselines);
        let stored = stored.flat_map(|(pod, of)| of.iter().map(move |(name, cpus)| (pod, name, cpus)));
        let baselines: Vec<_> = stored
            .filter(|_| policy.baselines() == Baselines::Kept)
            .filter_map(|(pod, name, cpus)| {
                let own = holdings.assigned(pod, name)?;
                Some((pod.clone(), name.clone(), cpus & own))
            })
            .collect();
        let holdings = with_resizes(policy, holdings.with_baselines(baselines), |pod| {
            self.record(pod).and_then(|record| record.grants.as_ref())
        });
        let is_new = self.found.cpu.is_none() && holdings.is_empty();
        // A pod without containers of which nothing but the name was stored is one still.
        let sealed = state.filter(|_| doubt.is_none());
        let named = sealed.iter().flat_map(|state| state.containers.keys()).filter(|pod| self.is_here(pod));
        let holdings = holdings.with_pods(named.cloned().collect::<Vec<_>>());
        self.result.start.stored.cpus = (!is_new).then_some(holdings);
    }

    fn compare_shared(&mut self, policy: &Static, state: &CpuState, shared: &CpuSet, owned: &CpuSet) {
        let stored = stored_of(state);
        let stored_owned = self::owned(state);
        let gone = &state.shared - policy.all();
        if !gone.is_empty() {
            self.add(FILE, Fault::SharedCpusGone(gone), None, Remedy::Unshare, &[]);
        }
        let both = &state.shared & &stored_owned;
        if !both.is_empty() {
            let pods = stored.iter().filter(|(_, cpus)| !all_of(cpus).is_disjoint(&both));
            let pods = pods.map(|(pod, _)| self.named(pod)).collect();
            let fault = Fault::OwnedAndShared { pods, cpus: both };
            self.add(FILE, fault, None, Remedy::UnshareForContainers, &[]);
        }
        let kept = &(&(&state.shared & policy.all()) - shared) - owned;
        if !kept.is_empty() {
            let part = part_of(&kept, policy);
            self.add(FILE, Fault::SharedCpusReserved(kept, part), None, Remedy::Unshare, &[]);
        }
        let new = &(shared - &state.shared) - &stored_owned;
        let (reserved, new) = (&new & policy.reserved(), &new - policy.reserved());
        if !reserved.is_empty() {
            let part = part_of(&reserved, policy);
            self.add(FILE, Fault::ReservedNotShared(reserved, part), None, Remedy::Share, &[]);
        }
        if !new.is_empty() {
            let assumption = Some(Assumption::NewOrReleased);
            self.add(FILE, Fault::UnownedCpus(new), assumption, Remedy::Share, &[]);
        }
    }

    /// A fault of a file as a whole.
    pub(super) fn whole_file<T>(&mut self, file: StateFile, read: &Read<T>) {
        let Some(FileFault { fault, assumption }) = read.fault.clone() else { return };
        let mut records = self.pods.values().filter_map(|known| known.record.as_ref());
        let (assumption, remedy) = match read.state {
            Some(_) => (assumption, Remedy::Rewrite),
            None if records.any(|record| record.grants.is_some()) => (assumption, Remedy::RewriteFromPods),
            None => (Some(Assumption::NothingHeld), Remedy::RewriteEmpty),
        };
        self.add(file, fault, assumption, remedy, &[]);
    }

    pub(super) fn missing(&mut self, file: StateFile) {
        self.add(file, Fault::Missing, None, Remedy::RewriteFromPods, &[]);
    }

    /// Whether another policy wrote the file, which is a fault.
    pub(super) fn other_policy(
        &mut self,
        file: StateFile,
        stored: Option<&str>,
        configured: &'static str,
    ) -> bool {
        let Some(stored) = stored.filter(|stored| *stored != configured) else { return false };
        let remedy = match configured {
            "none" | "None" => Remedy::NoneExclusive,
            _ => Remedy::NewPodsExclusive,
        };
        let stored = stored.to_owned();
        self.add(file, Fault::OtherPolicy { stored, configured }, None, remedy, &[]);
        true
    }
}

/// Which pod held each CPU first, and which others hold it too. Pods that hold the same CPUs of the same pod are one finding.
#[derive(Default)]
struct FirstOwners {
    pods: Vec<PodUid>,
    /// All CPUs that have an owner.
    taken: CpuSet,
    /// Their owners, as places in `pods`.
    owner: HashMap<CpuId, usize>,
    twice: Vec<OwnedTwice>,
    /// Where in `twice` the CPUs of an owner are.
    known: HashMap<(usize, CpuSet), usize>,
}

/// CPUs that several pods hold.
struct OwnedTwice {
    /// The first owner, then the others.
    pods: Vec<PodUid>,
    cpus: CpuSet,
}

impl FirstOwners {
    /// A pod takes the CPUs that have no owner; the others are returned.
    fn take(&mut self, pod: &PodUid, cpus: &CpuSet) -> CpuSet {
        let both = cpus & &self.taken;
        let mut theirs: BTreeMap<usize, CpuSet> = BTreeMap::new();
        for cpu in &both {
            if let Some(owner) = self.owner.get(&cpu) {
                theirs.entry(*owner).or_default().insert(cpu);
            }
        }
        for (owner, cpus) in theirs {
            let at = *self.known.entry((owner, cpus.clone())).or_insert(self.twice.len());
            if at == self.twice.len() {
                let pods = self.pods.get(owner).cloned().into_iter().collect();
                self.twice.push(OwnedTwice { pods, cpus });
            }
            if let Some(twice) = self.twice.get_mut(at) {
                twice.pods.push(pod.clone());
            }
        }
        let own = cpus - &both;
        self.owner.extend(own.iter().map(|cpu| (cpu, self.pods.len())));
        self.taken |= &own;
        self.pods.push(pod.clone());
        both
    }
}

/// Whether these are all reserved CPUs.
fn part_of(cpus: &CpuSet, policy: &Static) -> ReservedPart {
    if cpus == policy.reserved() { ReservedPart::All } else { ReservedPart::Some }
}

/// The entries of a file, by pod.
fn stored_of(state: &CpuState) -> Held {
    let mut stored: Held = state
        .containers
        .iter()
        .filter(|(_, containers)| !containers.is_empty())
        .map(|(pod, containers)| (pod.clone(), Cpus { containers: containers.clone(), whole: None }))
        .collect();
    for (pod, whole) in &state.pods {
        stored.entry(pod.clone()).or_default().whole = Some(whole.clone());
    }
    stored
}

fn shown(cpus: &Cpus) -> Holding {
    Holding::Cpus(all_of(cpus))
}

/// All CPUs that a file has of pods.
pub(super) fn owned(state: &CpuState) -> CpuSet {
    stored_of(state).values().fold(CpuSet::new(), |all, cpus| &all | &all_of(cpus))
}

/// The same without one container's.
pub(super) fn owned_but(state: &CpuState, pod: &PodUid, container: &ContainerName) -> CpuSet {
    let containers = state.containers.iter().flat_map(|(own, of)| of.iter().map(move |of| (own, of)));
    let others = containers.filter(|(own, (name, _))| (*own, *name) != (pod, container));
    let wholes = state.pods.iter().filter(|(own, _)| *own != pod).map(|(_, cpus)| cpus);
    others.map(|(_, (_, cpus))| cpus).chain(wholes).fold(CpuSet::new(), |all, cpus| &all | cpus)
}

/// All CPUs of a pod.
pub(super) fn all_of(cpus: &Cpus) -> CpuSet {
    let containers: &BTreeMap<ContainerName, CpuSet> = &cpus.containers;
    containers.values().chain(&cpus.whole).fold(CpuSet::new(), |all, own| &all | own)
}
