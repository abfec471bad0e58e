//! `cpu_manager_state`: who has which CPUs.

use cpuset::CpuSet;
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::store::StateFile;
use node_state::{files, words};
use pod_spec::PodUid;

use super::super::Problem;
use super::{Checking, DELETE, kubelets, no_start};

const FILE: StateFile = StateFile::Cpu;

impl Checking<'_> {
    pub(super) fn cpus(&mut self, file: &[u8]) {
        let policy = if self.node.cpus().is_some() { "static" } else { "none" };
        let read = CpuFile::read(file, self.pod_level, &ContainerIds::new());
        let refused = |error: &CpuError| no_start("cpu", error.refused(&kubelets(FILE)));
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                let refused = refused(&error);
                if !self.is_unknown(FILE, file, &refused) {
                    self.unreadable_cpus(file, &error, refused);
                }
                return;
            }
        };
        let restored = read.restore(policy);
        let kubelet = restored.as_ref().err().map_or_else(|| "takes it for empty".to_owned(), refused);
        if self.is_unknown(FILE, file, &kubelet) {
            return;
        }
        self.odd(FILE, &read.oddities);
        match restored {
            Err(CpuError::OtherPolicy { configured, stored }) => {
                let what = format!(
                    "written under CPU manager policy {stored:?}, and the configuration has {configured:?}"
                );
                let help = format!("set cpuManagerPolicy to {stored:?} again, or {DELETE}");
                self.add(Problem::OtherPolicy, FILE, what, kubelet, &help);
            }
            Err(error) => self.add(Problem::Unreadable, FILE, error.to_string(), kubelet, DELETE),
            Ok(_) => {}
        }
        if let Ok(state) = read.state() {
            self.cpu_state(&state);
        }
    }

    fn unreadable_cpus(&mut self, file: &[u8], error: &CpuError, refused: String) {
        let (own, other, gate) = match self.pod_level {
            PodLevel::Off => (CpuFormat::V2, PodLevel::On, "on"),
            PodLevel::On => (CpuFormat::V3, PodLevel::Off, "off"),
        };
        if CpuFile::read(file, other, &ContainerIds::new()).is_ok() {
            let what = format!(
                "written with feature gate PodLevelResourceManagers {gate}, which the configuration has not"
            );
            let help = format!("turn the gate {gate} again, or {DELETE}");
            self.add(Problem::OtherGate, FILE, what, refused, &help);
            return;
        }
        let what = match (error, CpuFile::fault_as(own, file)) {
            // A file of the oldest format has its own reasons.
            (CpuError::File(_), Some(fault)) => words::damage(&fault, file),
            (error, _) => error.to_string(),
        };
        self.add(Problem::Unreadable, FILE, what, refused, DELETE);
    }

    /// What the CPUs of a file are on this machine, whichever policy wrote it.
    fn cpu_state(&mut self, state: &CpuState) {
        let held = held_by_pod(state);
        self.gone(FILE, held.iter().map(|(pod, cpus)| (*pod, words::cpus(cpus))));
        let Some(manager) = self.node.cpus() else { return };
        if state.policy != "static" {
            return;
        }
        let refusal = manager.restore(files::cpus(state)).err();
        let kubelet = || {
            refusal
                .as_ref()
                .map_or_else(|| "does not look for this".to_owned(), |error| no_start("cpu", error))
        };
        let mut all = state.shared.clone();
        for (_, cpus) in &held {
            all |= cpus;
        }
        let before = self.found.len();
        let unknown = &all - manager.all();
        if !unknown.is_empty() {
            let holders = holders(self, state, &held, &unknown);
            let what = format!(
                "{} {} offline or not of this machine; {holders}",
                words::cpus(&unknown),
                words::are(&unknown)
            );
            self.add(
                Problem::Unknown,
                FILE,
                what,
                kubelet(),
                &format!("bring them online again, or {DELETE}"),
            );
        }
        for (pod, cpus) in &held {
            let both = cpus & &state.shared;
            if !both.is_empty() {
                let what = format!(
                    "{} {} {}'s own and in the shared pool too",
                    words::cpus(&both),
                    words::are(&both),
                    self.names.name(pod)
                );
                self.add(Problem::Overlap, FILE, what, kubelet(), DELETE);
            }
        }
        for (at, (pod, cpus)) in held.iter().enumerate() {
            for (other, theirs) in held.iter().skip(at + 1) {
                let both = cpus & theirs;
                if !both.is_empty() {
                    let (one, two) = (self.names.name(pod), self.names.name(other));
                    let what =
                        format!("{} {} held by {one} and by {two}", words::cpus(&both), words::are(&both));
                    let kubelet = "does not look for this: both run on them".to_owned();
                    self.add(Problem::Overlap, FILE, what, kubelet, "delete one of the two pods");
                }
            }
        }
        let nobody = &(manager.all() - &all) - manager.reserved();
        if !nobody.is_empty() {
            let what = format!(
                "{} of this machine {} in no pool: new, or online again",
                words::cpus(&nobody),
                words::are(&nobody)
            );
            self.add(Problem::Sums, FILE, what, kubelet(), DELETE);
        }
        // What else keeps the kubelet from starting, as it says it.
        if let Some(error) = refusal
            && self.found.len() == before
        {
            let help = format!("undo the change of the reservation, or {DELETE}");
            self.add(Problem::Sums, FILE, error.to_string(), no_start("cpu", &error), &help);
        }
    }
}

/// All that each pod holds.
fn held_by_pod(state: &CpuState) -> Vec<(&PodUid, CpuSet)> {
    let whole = |pod| state.pods.get(pod).cloned().unwrap_or_default();
    let with_containers = state.containers.iter().map(|(pod, containers)| {
        (
            pod,
            containers.values().fold(whole(pod), |mut all, cpus| {
                all |= cpus;
                all
            }),
        )
    });
    let alone = state.pods.iter().filter(|(pod, _)| !state.containers.contains_key(*pod));
    with_containers.chain(alone.map(|(pod, cpus)| (pod, cpus.clone()))).collect()
}

/// Who has some CPUs.
fn holders(checking: &Checking<'_>, state: &CpuState, held: &[(&PodUid, CpuSet)], cpus: &CpuSet) -> String {
    let mut holders: Vec<String> = Vec::new();
    for (pod, own) in held.iter().filter(|(_, own)| !own.is_disjoint(cpus)) {
        holders.push(format!("{} holds {}", checking.names.name(pod), own & cpus));
    }
    if !state.shared.is_disjoint(cpus) {
        holders.push(format!("the shared pool has {}", &state.shared & cpus));
    }
    holders.join(", ")
}
