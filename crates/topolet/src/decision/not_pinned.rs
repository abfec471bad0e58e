//! What an admitted pod was *not* given, and why: the commoner failure, since nobody reports it.

use cpu_manager::{Granted, NotPinned};
use pod_spec::PodLevelResources;
use topology_admission::{Placed, Placement, Search, UnitName};
use topology_policy::KubeletPolicy;

use super::not_checked::Verdict;
use super::{Facts, Note, shown};

impl Facts<'_> {
    pub(super) fn notes(&self, placement: &Placement) -> Vec<Note> {
        let mut notes = Vec::from_iter(self.preempted(placement));
        notes.extend(self.moved());
        if self.trace.units.iter().any(|unit| unit.search == Search::Cut) {
            let text = "the search for the best NUMA nodes was cut; there may be better ones".to_owned();
            notes.push(Note { containers: Vec::new(), text });
        }
        notes.extend(self.not_aligned_notes(placement));
        notes.extend(self.not_pinned_notes(placement));
        notes.extend(self.not_checked_note(Verdict::Admitted));
        notes
    }

    /// Pods that are ended so that this one fits.
    fn preempted(&self, placement: &Placement) -> Option<Note> {
        let names: Vec<String> = placement.preempted.iter().map(|pod| self.named(pod)).collect();
        (!names.is_empty()).then(|| Note {
            containers: Vec::new(),
            text: format!(
                "admitted by ENDING {}: it is critical, and there is not enough for all",
                names.join(" and ")
            ),
        })
    }

    /// One note for each reason why containers share their CPUs.
    fn not_pinned_notes(&self, placement: &Placement) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        for placed in &placement.containers {
            if let Some(reason) = self.not_pinned(placed) {
                let text = format!("admitted, CPUs NOT pinned: {reason}; {}", self.shared_cpus());
                add(&mut notes, placed, text);
            }
        }
        notes
    }

    fn not_pinned(&self, placed: &Placed) -> Option<String> {
        Some(match &placed.cpus {
            Some(Granted::Exclusive(_)) => return None,
            None => "the CPU manager's policy is none".to_owned(),
            Some(Granted::SharedPool(NotPinned::NotGuaranteed)) => {
                let class = self.pod.qos_class(self.pod_level()).name();
                match self.pod.not_guaranteed(self.pod_level()) {
                    Some(obstacle) => format!("{class}, since {obstacle}"),
                    None => class.to_owned(),
                }
            }
            Some(Granted::SharedPool(NotPinned::FractionalCpu)) => {
                let container = self.pod.container(&placed.name);
                let asked = container.and_then(|container| container.requests.get("cpu"));
                let asked = asked.map_or_else(String::new, |cpus| format!("{cpus} CPUs are "));
                format!("{asked}no whole number of CPUs")
            }
            Some(Granted::SharedPool(other)) => other.to_string(),
        })
    }

    fn pod_level(&self) -> PodLevelResources {
        self.node.node.pod_level().counts()
    }

    fn shared_cpus(&self) -> String {
        match self.ledger.cpus() {
            Some(cpus) => format!("CPUs are the shared pool {}", cpus.shared()),
            None => "it may run on all CPUs".to_owned(),
        }
    }

    /// Containers whose resources are not together.
    fn not_aligned_notes(&self, placement: &Placement) -> Vec<Note> {
        if self.node.node.policy() == KubeletPolicy::None {
            return Vec::new();
        }
        let mut notes: Vec<Note> = Vec::new();
        for placed in &placement.containers {
            if let Some(hint) = placed.hint.filter(|hint| !hint.is_preferred()) {
                let nodes = shown(hint.affinity, self.nodes());
                let nodes = nodes.map_or("any NUMA node".to_owned(), |nodes| format!("NUMA {nodes}"));
                let mut text = format!("admitted, NOT aligned: the best there is is {nodes}, not preferred");
                let unit = self.trace.units.iter().find(|unit| match &unit.unit {
                    UnitName::Container(name) => *name == placed.name,
                    UnitName::Pod => true,
                });
                if let Some(bound) = unit.and_then(|unit| self.bound_memory(unit)) {
                    text.push_str(&format!("; {bound}"));
                }
                add(&mut notes, placed, text);
            }
        }
        notes
    }
}

/// One note for all containers of which the same is to be said.
fn add(notes: &mut Vec<Note>, placed: &Placed, text: String) {
    let name = placed.name.to_string();
    match notes.iter_mut().find(|note| note.text == text) {
        Some(note) => note.containers.push(name),
        None => notes.push(Note { containers: vec![name], text }),
    }
}
