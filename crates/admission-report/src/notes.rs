//! The notes on a decision, read off its placement.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use cpu_manager::{Granted, NotPinned};
use memory_manager::Granted as GrantedMemory;
use pod_spec::{PodClaim, ResourceName, UnknownPlace};
use topology_admission::{Placed, Placement, Search, UnitName};
use topology_policy::KubeletPolicy;

use crate::chosen::ChosenRules;
use crate::claims::UndecidedClaims;
use crate::container::ContainerReport;
use crate::facts::{Facts, NamedPod};
use crate::faults;
use crate::note::{MemoryMove, Note, Remark, SharingReason};
use crate::parts_of_bytes::PartsOfBytes;
use crate::resource::Resource;

impl Facts<'_> {
    /// On an admitted pod.
    pub(crate) fn notes(&self, placement: &Placement) -> Vec<Note> {
        let preempted: Vec<NamedPod> = placement.preempted.iter().map(|pod| self.named(pod)).collect();
        let moves = self.memory_moves();
        let is_cut = self.trace.units.iter().any(|unit| unit.search == Search::Cut);
        let on_pod = [
            (!preempted.is_empty()).then_some(Remark::Preemption(preempted)),
            (!moves.is_empty()).then_some(Remark::MemoryMoves(moves)),
            is_cut.then_some(Remark::SearchCut),
        ];
        let mut notes: Vec<Note> = on_pod.into_iter().flatten().map(Note::on_pod).collect();
        notes.extend(self.chosen_note());
        notes.extend(self.no_claim_hints());
        notes.extend(on_containers(placement, |placed| self.not_aligned_note(placed)));
        notes.extend(on_containers(placement, |placed| self.not_linked_note(placed)));
        notes.extend(on_containers(placement, |placed| self.not_pinned_note(placed)));
        let parts = self.pod.containers.iter().filter_map(PartsOfBytes::of);
        notes.extend(parts.map(|(container, parts)| Note {
            containers: [container].into(),
            remark: Remark::PartsOfBytes(parts),
        }));
        notes.extend(
            faults::of_admitted(self).map(|(fault, because)| Note::on_pod(Remark::Fault { fault, because })),
        );
        let (resources, advice) = (self.unchecked(), self.advice.unchecked);
        if !resources.is_empty() {
            notes.push(Note::on_pod(Remark::AdmittedUnchecked { resources, advice }));
        }
        notes
    }

    /// On a refused pod.
    pub(crate) fn notes_on_refusal(&self) -> Vec<Note> {
        let (resources, advice) = (self.unchecked(), self.advice.unchecked);
        let unchecked = (!resources.is_empty()).then_some(Remark::RefusedUnchecked { resources, advice });
        let claims = UndecidedClaims::of(self.pod).map(Remark::ClaimsUndecided);
        unchecked.into_iter().chain(claims).map(Note::on_pod).chain(self.no_claim_hints()).collect()
    }

    /// On claims that give no hint on a node where CPUs and memory follow claims.
    fn no_claim_hints(&self) -> Vec<Note> {
        if !self.node.has_claim_hints() || self.rules().policy == KubeletPolicy::None {
            return Vec::new();
        }
        let places = &self.pod.constraints.claim_places;
        let is_known = |claim: &PodClaim| {
            places.known.iter().any(|own| own.claim == claim.name)
                || places.unknown.iter().any(|own| own.claim == claim.name)
        };
        let others = self.pod.constraints.claims.iter().filter(|claim| !is_known(claim));
        let others = others.map(|claim| UnknownPlace {
            claim: claim.name.clone(),
            why: String::from("which devices it has is not known here"),
        });
        let unknown = places.unknown.iter().cloned().chain(others);
        unknown.map(|unknown| Note::on_pod(Remark::NoClaimHint(unknown))).collect()
    }

    /// On a container whose devices are on several links.
    fn not_linked_note(&self, placed: &Placed) -> Option<Remark> {
        let apart: Vec<Resource> = ContainerReport::new(self, placed)
            .links
            .into_iter()
            .filter(|linked| linked.link.is_none())
            .flat_map(|linked| linked.resources)
            .collect();
        (!apart.is_empty()).then_some(Remark::NotLinked(apart))
    }

    /// On a pod that has chosen its rules.
    fn chosen_note(&self) -> Option<Note> {
        let rules = ChosenRules::of(self)?;
        let kubelet = self.node.kubelet_again(self.after, self.pod);
        Some(Note::on_pod(Remark::ChosenRules { rules, kubelet }))
    }

    fn memory_moves(&self) -> Vec<MemoryMove> {
        let moves = self.moved.iter().map(|moved| MemoryMove {
            container: moved.container.clone(),
            pod: self.named(&moved.pod),
            from: self.listed(moved.from),
            to: self.listed(moved.to.into()),
        });
        moves.collect()
    }

    /// On a container whose resources are not together.
    fn not_aligned_note(&self, placed: &Placed) -> Option<Remark> {
        let hint = placed.hint.filter(|hint| !hint.is_preferred())?;
        if self.rules().policy == KubeletPolicy::None {
            return None;
        }
        let unit = self.trace.units.iter().find(|unit| match &unit.unit {
            UnitName::Container(name) => *name == placed.name,
            UnitName::Pod => true,
        });
        Some(Remark::NotAligned {
            nodes: hint.affinity.nodes().map(|mask| self.listed(mask)),
            grouped_memory: unit.and_then(|unit| self.grouped_memory(unit)),
        })
    }

    /// On a container that shares CPUs.
    fn not_pinned_note(&self, placed: &Placed) -> Option<Remark> {
        let reason = match &placed.cpus {
            Some(Granted::Exclusive(_)) => return None,
            None => SharingReason::NoPolicy,
            Some(Granted::SharedPool(NotPinned::NotGuaranteed)) => SharingReason::NotGuaranteed {
                class: self.pod.qos_class(self.pod_rules()),
                obstacle: self.pod.not_guaranteed(self.pod_rules()).map(|obstacle| obstacle.to_string()),
            },
            Some(Granted::SharedPool(NotPinned::FractionalCpu)) => {
                let container = self.pod.container(&placed.name);
                let asked = container.and_then(|container| container.requests.get("cpu")).cloned();
                SharingReason::FractionalCpu { asked }
            }
            Some(Granted::SharedPool(other)) => SharingReason::Manager(*other),
        };
        let shared_pool = self.after.cpus().map(|cpus| cpus.shared().clone());
        Some(Remark::NotPinned { reason, shared_pool, unbound: self.unbound_pages(placed) })
    }

    /// Huge pages of a container whose memory is not bound to NUMA nodes.
    fn unbound_pages(&self, placed: &Placed) -> Vec<ResourceName> {
        if matches!(placed.memory, Some(GrantedMemory::Blocks(_))) {
            return Vec::new();
        }
        let container = self.pod.container(&placed.name);
        let asked = container.iter().flat_map(|container| container.requests.iter());
        asked.map(|(resource, _)| resource).filter(|resource| resource.is_hugepages()).cloned().collect()
    }
}

/// One note for all containers on which the same is remarked.
fn on_containers(placement: &Placement, remark: impl Fn(&Placed) -> Option<Remark>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for placed in &placement.containers {
        let Some(remark) = remark(placed) else { continue };
        let text = remark.to_string();
        match notes.iter_mut().find(|note| note.remark.to_string() == text) {
            Some(note) => note.containers.push(placed.name.clone()),
            None => notes.push(Note { containers: [placed.name.clone()].into(), remark }),
        }
    }
    notes
}
