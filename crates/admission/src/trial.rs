//! Attempts that never happen: each change that could help is made on a copy, and the pod attempted again.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use device_manager::{Device, Replies};
use node_config::Scope;
use numa_bitmask::NodeMask;
use pod_spec::{Pod, PodUid, ResourceName};
use topology_policy::KubeletPolicy;

use crate::attempt::{Placement, Rules, Verdict};
use crate::explain::{Change, Less, OnEmptyNode, Search, Tries, WouldFit};
use crate::ledger::Ledger;
use crate::less::{lower, smaller_requests};
use crate::node::Node;
use crate::refusal::Refused;
use crate::standing::Standing;
use crate::trace::UnitTrace;

/// Of one kind of change not more than this many are told.
const MOST_OF_A_KIND: usize = 2;
/// On machines with more NUMA nodes pairs of them are not looked at.
const MOST_NODES_FOR_PAIRS: usize = 16;

/// A refused pod, and how many attempts are left to find out what would help.
pub(crate) struct Trial<'a> {
    node: &'a Node,
    ledger: &'a Ledger,
    pod: &'a Pod,
    replies: &'a Replies,
    left: usize,
    search: Search,
}

/// What a trial came to.
enum Tried {
    Fits(Placement),
    Refused,
    /// A plugin would have to be asked, or no try is left.
    Unknown,
}

impl Tried {
    fn with(self, change: Change) -> Option<WouldFit> {
        match self {
            Self::Fits(placement) => Some(WouldFit { change, placement }),
            Self::Refused | Self::Unknown => None,
        }
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn new(
        node: &'a Node,
        ledger: &'a Ledger,
        pod: &'a Pod,
        replies: &'a Replies,
        Tries(left): Tries,
    ) -> Self {
        Self { node, ledger, pod, replies, left, search: Search::Complete }
    }

    pub(crate) const fn search(&self) -> Search {
        self.search
    }

    fn attempt(&mut self, rules: Rules, ledger: &Ledger, pod: &Pod) -> Tried {
        if self.left == 0 {
            self.search = Search::Cut;
            return Tried::Unknown;
        }
        self.left -= 1;
        match self.node.attempt_under(rules, ledger, pod, self.replies).verdict {
            Verdict::Admitted(placement) => Tried::Fits(placement),
            Verdict::Refused(_) => Tried::Refused,
            Verdict::NeedsPlugin(_) => Tried::Unknown,
        }
    }

    fn attempt_beside(&mut self, ledger: &Ledger) -> Tried {
        self.attempt(self.node.rules(), ledger, self.pod)
    }

    pub(crate) fn on_empty_node(&mut self) -> OnEmptyNode {
        let empty = self.node.empty_ledger().with_inventory(self.ledger.inventory().clone());
        match self.attempt_beside(&empty) {
            Tried::Fits(_) => OnEmptyNode::Fits,
            Tried::Refused => OnEmptyNode::DoesNotFit,
            Tried::Unknown => OnEmptyNode::Unknown,
        }
    }

    /// Single pods whose end is enough; where there is none, pairs.
    pub(crate) fn waits(&mut self) -> Vec<WouldFit> {
        let others: Vec<PodUid> = self
            .ledger
            .pods_by_arrival()
            .map(|other| other.uid.clone())
            .filter(|uid| *uid != self.pod.uid)
            .collect();
        let mut found = Vec::new();
        for uid in &others {
            found.extend(self.wait(&[uid]));
            if found.len() == MOST_OF_A_KIND {
                return found;
            }
        }
        let pairs = others
            .iter()
            .enumerate()
            .flat_map(|(at, first)| others[at + 1..].iter().map(move |second| [first, second]));
        for pair in pairs {
            if !found.is_empty() || self.search == Search::Cut {
                break;
            }
            found.extend(self.wait(&pair));
        }
        found
    }

    fn wait(&mut self, gone: &[&PodUid]) -> Option<WouldFit> {
        let without = gone.iter().fold(self.ledger.clone(), |ledger, uid| ledger.release(uid));
        let gone = gone.iter().map(|uid| (*uid).clone()).collect();
        self.attempt_beside(&without).with(Change::Wait(gone))
    }

    /// The refused unit with what a node set has left, for each that has some of everything; and what the kubelet's
    /// message says there is.
    pub(crate) fn asks_less(&mut self, refused: &Refused, unit: Option<&UnitTrace>) -> Vec<WouldFit> {
        let mut candidates: Vec<BTreeMap<ResourceName, Less>> = lower(refused).into_iter().collect();
        if let Some(unit) = unit {
            for nodes in self.node_sets() {
                let short = short_on(unit, nodes);
                let all_gone = short.values().any(|less| less.fits == 0);
                if !short.is_empty() && !all_gone && !candidates.contains(&short) {
                    candidates.push(short);
                }
            }
        }
        candidates.sort_by_key(cut);
        let mut found = Vec::new();
        for less in candidates {
            let fits = whole_cores(&less).into_iter().find_map(|less| {
                let smaller = smaller_requests(self.pod, unit, &less)?;
                self.attempt(self.node.rules(), self.ledger, &smaller).with(Change::AskLess(less))
            });
            found.extend(fits);
            if found.len() == MOST_OF_A_KIND {
                break;
            }
        }
        found
    }

    /// Node sets on which a smaller request could be: single nodes, and where more than one will do pairs and all.
    fn node_sets(&self) -> Vec<NodeMask> {
        let all = self.node.nodes().all();
        let mut sets: Vec<NodeMask> = all.iter().map(NodeMask::from).collect();
        if self.node.policy() != KubeletPolicy::SingleNumaNode {
            if all.len() as usize <= MOST_NODES_FOR_PAIRS {
                let pairs = all.iter().flat_map(|first| {
                    let later = all.iter().filter(move |second| *second > first);
                    later.map(move |second| NodeMask::from(first).with(second))
                });
                sets.extend(pairs);
            }
            sets.push(all);
        }
        sets
    }

    /// More devices on a node that has enough of everything else.
    pub(crate) fn more_devices(&mut self, unit: Option<&UnitTrace>) -> Vec<WouldFit> {
        let Some(unit) = unit else { return Vec::new() };
        let mut found = Vec::new();
        for (index, id) in self.node.nodes().iter() {
            let mut lacking = unit.resources.iter().filter_map(|row| match unit.standing(row, index) {
                Standing::Fits => None,
                standing => Some((&row.resource, standing)),
            });
            let (Some((resource, Standing::Lacks(count))), None) = (lacking.next(), lacking.next()) else {
                continue;
            };
            let inventory = self.ledger.inventory();
            if !inventory.is_registered(resource) {
                continue;
            }
            let more = (0..count).map(|at| Device::new(&format!("one-more-{at}"), &[id.0]));
            let mut larger = inventory.clone();
            larger.list(resource, inventory.devices(resource).cloned().chain(more));
            let change = Change::MoreDevices { resource: resource.clone(), node: id, count };
            found.extend(self.attempt_beside(&self.ledger.with_inventory(larger)).with(change));
            if found.len() == MOST_OF_A_KIND {
                break;
            }
        }
        found
    }

    /// The other scope, and the strictest of the looser policies under which it fits.
    pub(crate) fn rules(&mut self) -> Vec<WouldFit> {
        const LOOSER: [KubeletPolicy; 4] = [
            KubeletPolicy::SingleNumaNode,
            KubeletPolicy::Restricted,
            KubeletPolicy::BestEffort,
            KubeletPolicy::None,
        ];
        let own = self.node.rules();
        let scope = match own.scope {
            Scope::Container => Scope::Pod,
            Scope::Pod => Scope::Container,
        };
        let mut found = Vec::new();
        if own.policy != KubeletPolicy::None && self.pod.containers.len() > 1 {
            let tried = self.attempt(Rules { scope, ..own }, self.ledger, self.pod);
            found.extend(tried.with(Change::Scope(scope)));
        }
        let looser = LOOSER.iter().skip_while(|policy| **policy != own.policy).skip(1);
        found.extend(looser.copied().find_map(|policy| {
            self.attempt(Rules { policy, ..own }, self.ledger, self.pod).with(Change::Policy(policy))
        }));
        found
    }
}

/// What a unit would have to ask less of to be on `nodes` alone.
fn short_on(unit: &UnitTrace, nodes: NodeMask) -> BTreeMap<ResourceName, Less> {
    let rows = unit.resources.iter().filter_map(|row| {
        let amounts = row.amounts.as_ref()?;
        let here = nodes.iter().filter_map(|node| amounts.nodes.get(node.get())).map(|cell| cell.free);
        // What is on no single node can be had with any.
        let free = here.fold(amounts.elsewhere.free, u64::saturating_add);
        (free < amounts.asked).then(|| (row.resource.clone(), Less { asked: amounts.asked, fits: free }))
    });
    rows.collect()
}

/// The same, and with CPUs of whole cores of two, four and eight, which may be required.
fn whole_cores(less: &BTreeMap<ResourceName, Less>) -> Vec<BTreeMap<ResourceName, Less>> {
    let mut all = Vec::from([less.clone()]);
    if let Some(cpus) = less.get("cpu") {
        for per_core in [2, 4, 8] {
            let fits = cpus.fits - cpus.fits % per_core;
            if fits > 0 && fits < cpus.fits {
                let mut whole = less.clone();
                whole.insert("cpu".into(), Less { fits, ..*cpus });
                if all.last() != Some(&whole) {
                    all.push(whole);
                }
            }
        }
    }
    all
}

/// How much a candidate cuts: how many resources, then the largest part of one that is cut away, in thousandths.
fn cut(less: &BTreeMap<ResourceName, Less>) -> (usize, u64) {
    let part = |less: &Less| {
        let cut = u128::from(less.asked - less.fits) * 1000 / u128::from(less.asked.max(1));
        u64::try_from(cut).unwrap_or(u64::MAX)
    };
    (less.len(), less.values().map(part).max().unwrap_or(0))
}
