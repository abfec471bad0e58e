//! Which of the devices of a tier are given out so that switches stay whole for those who come later.
//!
//! Of a tier that is cut, the devices come from the fewest switches, and of these sets from the one that
//! [`best_fit`] names: it breaks the fewest whole switches, then leaves the fewest free devices in them. So
//! they come from the switch with the fewest free devices that has all of them; a switch without a held device
//! is left alone where another will do.
//!
//! A *switch* is any link: domains are looked at first, and in them PCI switches, then the ports inside these, in the same
//! way. A link is whole if none of its healthy devices is held, and it has several of the resource. A device on no link
//! breaks nothing. Ties are decided by the ids of devices, in byte order. So is everything on more than 64 switches, of
//! which a device on no link is one by itself, and after 10,000 steps of search.
//!
//! Where `devices.links` chooses, this does not; and what a plugin prefers goes ahead.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use node_cover::{Group, GroupState, Need, Solution, Steps, best_fit};

use crate::device::DeviceId;
use crate::device_ids::DeviceIds;
use crate::inventory::Stock;
use crate::links::{LinkId, Links};
use crate::list::Entry;

/// More switches than any machine has. Where there are more, devices are given by their ids.
const MOST_SWITCHES: usize = 64;

/// The links of a device, outer ones first.
type Path = Vec<LinkId>;

/// Devices of a link, and whether all healthy ones of it are free.
struct Switch {
    devices: Vec<usize>,
    state: GroupState,
}

/// The devices of one tier.
struct Tier<'a> {
    paths: Vec<Path>,
    /// For the first links of a path how many healthy devices are on them, and how many of these are free.
    counts: BTreeMap<&'a [LinkId], (usize, usize)>,
}

/// The free devices of a tier, with the `needed` ones to allocate in front; `taken` are the held ones.
pub(crate) fn in_order<'b>(
    links: &Links,
    stock: &Stock,
    taken: Option<&DeviceIds>,
    tier: Vec<&'b Entry>,
    needed: u64,
) -> Vec<&'b Entry> {
    let needed = usize::try_from(needed).unwrap_or(usize::MAX);
    if needed == 0 || needed >= tier.len() {
        return tier;
    }
    let path = |id: &DeviceId| links.path(id);
    let paths: Vec<Path> = tier.iter().map(|entry| path(&entry.device.id)).collect();
    if paths.iter().all(Vec::is_empty) {
        return tier;
    }
    let mut walk = taken.map(DeviceIds::walk).unwrap_or_default();
    let healthy =
        stock.list.healthy().map(|entry| (path(&entry.device.id), !walk.contains(&entry.device.id)));
    let healthy: Vec<(Path, bool)> = healthy.collect();
    let mut counts: BTreeMap<&[LinkId], (usize, usize)> = BTreeMap::new();
    for (path, is_free) in &healthy {
        for depth in 1..=path.len() {
            let (all, free) = counts.entry(&path[..depth]).or_default();
            *all += 1;
            *free += usize::from(*is_free);
        }
    }
    let mut first = Vec::with_capacity(needed);
    Tier { paths, counts }.pick((0..tier.len()).collect(), 0, needed, &mut first);
    let rest = (0..tier.len()).filter(|at| !first.contains(at));
    first.iter().copied().chain(rest).map(|at| tier[at]).collect()
}

impl Tier<'_> {
    /// Picks `needed` of these devices, which have the first `depth` links in common.
    fn pick(&self, devices: Vec<usize>, depth: usize, needed: usize, picked: &mut Vec<usize>) {
        let is_loose = |at: &usize| self.paths[*at].len() <= depth;
        if needed >= devices.len() || devices.iter().all(is_loose) {
            picked.extend(devices.into_iter().take(needed));
            return;
        }
        let switches = self.switches(&devices, depth);
        let groups: Vec<Group> = switches.iter().map(Switch::group).collect();
        let need = Need { count: needed, block: 1, blocks: 0, groups: fewest(&groups, needed) };
        let is_many = groups.len() > MOST_SWITCHES;
        let best = (!is_many).then(|| best_fit(&groups, need, &mut Steps::of_groups()));
        let Some(Solution::Exact(Some(mut best))) = best else {
            picked.extend(devices.into_iter().take(needed));
            return;
        };
        // The one that is cut is the last: a whole one, or that with the most.
        best.sort_by_key(|at| (switches[*at].state == GroupState::Whole, switches[*at].devices.len(), *at));
        let mut left = needed;
        for at in best {
            let own = &switches[at].devices;
            let here = left.min(own.len());
            self.pick(own.clone(), depth + 1, here, picked);
            left -= here;
        }
    }

    /// The links at `depth` of these devices, by their first device; a device that has none there is alone.
    fn switches(&self, devices: &[usize], depth: usize) -> Vec<Switch> {
        let mut switches: Vec<(Option<LinkId>, Switch)> = Vec::new();
        for at in devices {
            let path = &self.paths[*at];
            let link = path.get(depth).copied();
            let known = switches.iter_mut().find(|(known, _)| link.is_some() && *known == link);
            if let Some((_, switch)) = known {
                switch.devices.push(*at);
                continue;
            }
            let counts = link.and_then(|_| self.counts.get(&path[..=depth]));
            let is_whole = counts.is_some_and(|(all, free)| *all > 1 && all == free);
            let state = if is_whole { GroupState::Whole } else { GroupState::Broken };
            switches.push((link, Switch { devices: alloc::vec![*at], state }));
        }
        switches.into_iter().map(|(_, switch)| switch).collect()
    }
}

impl Switch {
    fn group(&self) -> Group {
        Group { state: self.state, free: self.devices.len(), blocks: 0 }
    }
}

/// From how many groups so many come at least.
fn fewest(groups: &[Group], needed: usize) -> usize {
    let mut free: Vec<usize> = groups.iter().map(|group| group.free).collect();
    free.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    free.iter()
        .position(|free| {
            sum += free;
            sum >= needed
        })
        .map_or(groups.len(), |at| at + 1)
}
