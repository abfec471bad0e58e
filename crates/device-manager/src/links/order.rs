//! In which order links are emptied.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use core::cmp::Reverse;

use numa_bitmask::NodeMask;
use topology_model::PciAddress;

use super::demand::Linked;
use super::{LinkId, Links};

/// For each resource how many are needed, and of which devices.
type Wanted = Vec<(u64, Vec<PciAddress>)>;

impl Linked<'_> {
    /// The links of which devices are given, first to last: those inside `first` and it, or if there is none those that
    /// have most of what is needed.
    pub(super) fn order(&self, first: Option<LinkId>, near: Option<NodeMask>) -> Vec<LinkId> {
        let mut order = Vec::new();
        let inside = first.and_then(|link| self.links.members(link));
        fill(self.links, inside, self.in_play(first, near), &mut order);
        order.extend(first.filter(|first| !order.contains(first)));
        order
    }
}

fn fill(links: &Links, inside: Option<&BTreeSet<PciAddress>>, mut wanted: Wanted, order: &mut Vec<LinkId>) {
    let is_inside = |members: &BTreeSet<PciAddress>| {
        inside.is_none_or(|outer| members.len() < outer.len() && members.is_subset(outer))
    };
    while wanted.iter().any(|(needed, _)| *needed > 0) {
        let best = links.ids().filter_map(|id| {
            let (members, rank) = (links.members(id)?, links.rank(id)?);
            let counts = wanted.iter().map(|(needed, devices)| {
                let here = devices.iter().filter(|address| members.contains(address)).count() as u64;
                (here.min(*needed), here)
            });
            let (covered, here) = counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
            // One device alone is on no link with another.
            let is_of_use = covered > 1 && is_inside(members) && !order.contains(&id);
            is_of_use.then_some((Reverse(covered), rank, here, id))
        });
        let Some((_, _, _, link)) = best.min() else { return };
        let Some(members) = links.members(link) else { return };
        let taken: Wanted = wanted
            .iter()
            .map(|(needed, devices)| {
                let here: Vec<PciAddress> =
                    devices.iter().copied().filter(|address| members.contains(address)).collect();
                ((here.len() as u64).min(*needed), here)
            })
            .collect();
        for ((needed, devices), (covered, _)) in wanted.iter_mut().zip(&taken) {
            *needed -= covered;
            devices.retain(|address| !members.contains(address));
        }
        fill(links, Some(members), taken, order);
        order.push(link);
    }
}
