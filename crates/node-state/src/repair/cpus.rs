//! CPUs: whose they are, on this machine and with this configuration.

use std::collections::BTreeMap;

use cpu_manager::{Holdings, Static};
use cpuset::CpuSet;
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::store::StateFile;
use pod_spec::{ContainerName, PodUid};

use super::damage::{Doubt, Fault, Read};
use super::{Cause, Work};
use crate::files;
use crate::grants::Cpus;
use crate::words;

const FILE: StateFile = StateFile::Cpu;

type Held = BTreeMap<PodUid, Cpus>;

impl Work<'_> {
    pub(super) fn cpus(&mut self) {
        let pod_level = files::pod_level(self.node);
        let Read { state, fault, doubt } = self.reads.cpu.clone();
        let cause = fault.as_ref().map(|fault| fault.cause);
        self.whole_file(FILE, fault, state.is_some(), self.found.cpu.is_some());
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
        let held = self.believed(FILE, state.as_ref().map(said), granted, shown);
        if !is_other {
            self.unproven(FILE, doubt.as_ref(), &held.keys().cloned().collect());
        }
        if let (Some(state), Some(doubt)) = (&state, &doubt) {
            let wrong = self.wrong_cpus(policy, (state, doubt), &held);
            self.contradicted(FILE, wrong);
        }
        let held = self.without_bubbles(held, pod_level, cause);
        let held = self.on_this_machine(policy, held);
        self.shared(policy, &held, state.as_ref(), doubt.as_ref());
    }

    /// Without the gate a pod holds nothing as a whole.
    fn without_bubbles(&mut self, mut held: Held, pod_level: PodLevel, cause: Option<Cause>) -> Held {
        if pod_level == PodLevel::On {
            return held;
        }
        for (pod, cpus) in &mut held {
            let Some(whole) = cpus.whole.take() else { continue };
            let own = cpus.containers.values().fold(CpuSet::new(), |all, own| &all | own);
            let rest = &whole - &own;
            if !rest.is_empty() {
                let told = [
                    format!(
                        "{} had {} as a whole, beside those of its containers",
                        self.name(pod),
                        words::cpus(&rest)
                    ),
                    String::new(),
                    "they are shared, since the configuration knows no pods as a whole".to_owned(),
                ];
                self.add(cause.unwrap_or(Cause::OtherGate), FILE, told, &[pod]);
            } else if cause.is_none() {
                let told = [
                    format!("{} had {} as a whole", self.name(pod), words::cpus(&whole)),
                    String::new(),
                    "its containers keep them".to_owned(),
                ];
                self.add(Cause::OtherGate, FILE, told, &[]);
            }
        }
        held
    }

    /// What is held on this machine, each CPU by one pod.
    fn on_this_machine(&mut self, policy: &Static, mut held: Held) -> Held {
        let mut order: Vec<PodUid> = held.keys().cloned().collect();
        order.sort_by_key(|pod| self.rank(pod));
        let mut taken: Vec<(PodUid, CpuSet)> = Vec::new();
        for pod in order {
            let Some(mut cpus) = held.remove(&pod) else { continue };
            let all = all_of(&cpus);
            let gone = &all - policy.all();
            let reserved = &all & policy.reserved();
            if !gone.is_empty() {
                let told = [
                    format!(
                        "{} holds {}, which this machine does not have or which are offline",
                        self.name(&pod),
                        words::cpus(&gone)
                    ),
                    String::new(),
                    "it keeps the rest of its CPUs".to_owned(),
                ];
                self.add(Cause::CpusGone, FILE, told, &[&pod]);
            }
            if !reserved.is_empty() {
                let told = [
                    format!(
                        "{} holds {}, and the configuration reserves that for the system",
                        self.name(&pod),
                        words::cpus(&reserved)
                    ),
                    String::new(),
                    "it keeps the rest of its CPUs".to_owned(),
                ];
                self.add(Cause::Reserved, FILE, told, &[&pod]);
            }
            let mut lost = &gone | &reserved;
            for (other, theirs) in &taken {
                let both = &(&all & theirs) - &lost;
                if !both.is_empty() {
                    let told = [
                        format!(
                            "{} and {} both hold {}",
                            self.name(other),
                            self.name(&pod),
                            words::cpus(&both)
                        ),
                        format!("that {} had that first", self.name(other)),
                        format!(
                            "it stays with {}; the other pod keeps the rest of its CPUs",
                            self.name(other)
                        ),
                    ];
                    self.add(Cause::TwoOwners, FILE, told, &[other, &pod]);
                    lost |= &both;
                }
            }
            if !lost.is_empty() {
                for own in cpus.containers.values_mut().chain(&mut cpus.whole) {
                    *own -= &lost;
                }
            }
            taken.push((pod.clone(), all_of(&cpus)));
            held.insert(pod, cpus);
        }
        held
    }

    /// Nobody's CPUs are shared.
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
        let is_new = self.found.cpu.is_none() && holdings.is_empty();
        // A pod without containers of which nothing but the name was stored is one still.
        let sealed = state.filter(|_| doubt.is_none());
        let named = sealed.iter().flat_map(|state| state.containers.keys()).filter(|pod| self.is_here(pod));
        let holdings = holdings.with_pods(named.cloned().collect::<Vec<_>>());
        self.result.start.stored.cpus = (!is_new).then_some(holdings);
    }

    fn compare_shared(&mut self, policy: &Static, state: &CpuState, shared: &CpuSet, owned: &CpuSet) {
        let said_owned = self::owned(state);
        let mut tell = |cause, found: String, done: &str| {
            self.add(cause, FILE, [found, String::new(), done.to_owned()], &[]);
        };
        let gone = &state.shared - policy.all();
        if !gone.is_empty() {
            let found = format!(
                "{} in the shared pool {} not on this machine, or offline",
                words::cpus(&gone),
                words::are(&gone)
            );
            tell(Cause::CpusGone, found, "taken out of the shared pool");
        }
        let both = &state.shared & &said_owned;
        if !both.is_empty() {
            let found = format!(
                "{} of containers {} in the shared pool as well",
                words::cpus(&both),
                words::are(&both)
            );
            tell(Cause::SharedPool, found, "taken out of the shared pool: the containers keep them");
        }
        let kept = &(&(&state.shared & policy.all()) - shared) - owned;
        if !kept.is_empty() {
            let found = format!(
                "{} in the shared pool {} kept for the system alone now",
                words::cpus(&kept),
                words::are(&kept)
            );
            tell(Cause::Reserved, found, "taken out of the shared pool");
        }
        let new = &(shared - &state.shared) - &said_owned;
        let (reserved, new) = (&new & policy.reserved(), &new - policy.reserved());
        if !reserved.is_empty() {
            let found = format!(
                "reserved {} {} not in the shared pool",
                words::cpus(&reserved),
                words::are(&reserved)
            );
            tell(Cause::Reserved, found, "put into the shared pool");
        }
        if !new.is_empty() {
            let found =
                format!("{} {} neither held by anybody nor shared", words::cpus(&new), words::are(&new));
            let done = "put into the shared pool";
            self.add(
                Cause::CpusNew,
                FILE,
                [found, "that they have come since, or were given back".to_owned(), done.to_owned()],
                &[],
            );
        }
    }

    /// What is wrong with a file as a whole.
    pub(super) fn whole_file(
        &mut self,
        file: StateFile,
        fault: Option<Fault>,
        is_read: bool,
        is_there: bool,
    ) {
        let Some(Fault { cause, found, assumed }) = fault.filter(|_| is_there) else { return };
        let has_grants = self
            .pods
            .values()
            .any(|known| known.record.as_ref().is_some_and(|record| record.grants.is_some()));
        let (assumed, done) = match (is_read, has_grants) {
            (true, _) => (assumed, "written anew"),
            (false, true) => (assumed, "made anew from what pods' own files say"),
            (false, false) => ("that nobody holds anything of what was in it".to_owned(), "made anew, empty"),
        };
        self.add(cause, file, [found, assumed, done.to_owned()], &[]);
    }

    pub(super) fn missing(&mut self, file: StateFile) {
        let told = [
            "it is not there, and pods have files that say what they hold".to_owned(),
            String::new(),
            "made anew from pods' own files".to_owned(),
        ];
        self.add(Cause::Missing, file, told, &[]);
    }

    /// Whether another policy wrote the file, which is told.
    pub(super) fn other_policy(&mut self, file: StateFile, stored: Option<&str>, configured: &str) -> bool {
        let Some(stored) = stored.filter(|stored| *stored != configured) else { return false };
        let done = match configured {
            "none" | "None" => "nobody has any of its own any more; what runs stays where it is",
            _ => "pods that come get some of their own; those that run keep what their own files say",
        };
        let told = [
            format!("written under policy {stored:?}, and the configuration has {configured:?}"),
            String::new(),
            done.to_owned(),
        ];
        self.add(Cause::OtherPolicy, file, told, &[]);
        true
    }
}

/// What a file says of each pod.
fn said(state: &CpuState) -> Held {
    let mut said: Held = state
        .containers
        .iter()
        .filter(|(_, containers)| !containers.is_empty())
        .map(|(pod, containers)| (pod.clone(), Cpus { containers: containers.clone(), whole: None }))
        .collect();
    for (pod, whole) in &state.pods {
        said.entry(pod.clone()).or_default().whole = Some(whole.clone());
    }
    said
}

fn shown(cpus: &Cpus) -> String {
    match all_of(cpus) {
        none if none.is_empty() => "no CPUs of its own".to_owned(),
        some => words::cpus(&some),
    }
}

/// All CPUs that a file has of pods.
pub(super) fn owned(state: &CpuState) -> CpuSet {
    said(state).values().fold(CpuSet::new(), |all, cpus| &all | &all_of(cpus))
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
