//! What would have fitted: changes to the pod, the node or the moment under which a refused pod is admitted. Each has
//! been tried by attempting it; none is a guess.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use device_manager::Replies;
use k8s_quantity::{Format, Quantity};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName};
use topology_policy::KubeletPolicy;

use crate::attempt::{Placement, Verdict};
use crate::ledger::Ledger;
use crate::node::Node;
use crate::trace::{Trace, UnitName};

/// How many attempts an explanation may make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tries(pub usize);

impl Default for Tries {
    fn default() -> Self {
        Self(500)
    }
}

/// What would have to be otherwise for a refused pod.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Whether it fits the node when nothing else runs there.
    pub on_empty_node: OnEmptyNode,
    /// What would fit, the smallest change of each kind first.
    pub would_fit: Vec<WouldFit>,
}

/// Whether a pod fits a node on which nothing else runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEmptyNode {
    /// It does: not now, rather than never.
    Fits,
    /// It does not: waiting is of no use.
    DoesNotFit,
    /// Not known: a device plugin would have to be asked, or there were too few tries.
    #[default]
    Unknown,
}

/// A change under which the pod is admitted.
#[derive(Clone, Debug)]
pub struct WouldFit {
    /// What changes.
    pub change: Change,
    /// Where the pod runs then.
    pub placement: Placement,
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The node waits until this pod has gone.
    Wait(PodUid),
    /// The pod asks for less of some resources.
    AskLess(BTreeMap<ResourceName, Less>),
    /// The node has another policy.
    Policy(KubeletPolicy),
}

/// A smaller amount: CPUs, bytes or devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Less {
    /// What the unit asks for now.
    pub asked: u64,
    /// What it can have.
    pub fits: u64,
}

/// Of one kind of change not more than this many are told.
const MOST_OF_A_KIND: usize = 2;

impl Node {
    /// What would have to be otherwise for `pod`, which was refused beside what `ledger` holds with this `trace`.
    #[must_use]
    pub fn explain(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        trace: &Trace,
        tries: Tries,
    ) -> Explanation {
        let mut trial = Trial { replies, left: tries.0 };
        let on_empty_node = trial.on_empty_node(self, ledger, pod);
        let mut would_fit = trial.waits(self, ledger, pod);
        would_fit.extend(trial.asks_less(self, ledger, pod, trace));
        would_fit.extend(trial.policies(self, ledger, pod));
        Explanation { on_empty_node, would_fit }
    }
}

/// Attempts that never happen.
struct Trial<'a> {
    replies: &'a Replies,
    left: usize,
}

/// What a trial came to.
enum Tried {
    Fits(Placement),
    Refused,
    /// A plugin would have to be asked, or no try is left.
    Unknown,
}

impl Tried {
    fn fits(self, change: Change) -> Option<WouldFit> {
        match self {
            Self::Fits(placement) => Some(WouldFit { change, placement }),
            Self::Refused | Self::Unknown => None,
        }
    }
}

impl Trial<'_> {
    fn attempt(&mut self, node: &Node, ledger: &Ledger, pod: &Pod) -> Tried {
        self.attempt_under(node.policy(), node, ledger, pod)
    }

    fn attempt_under(&mut self, policy: KubeletPolicy, node: &Node, ledger: &Ledger, pod: &Pod) -> Tried {
        if self.left == 0 {
            return Tried::Unknown;
        }
        self.left -= 1;
        match node.attempt_under(policy, ledger, pod, self.replies).verdict {
            Verdict::Admitted(placement) => Tried::Fits(placement),
            Verdict::Refused(_) => Tried::Refused,
            Verdict::NeedsPlugin(_) => Tried::Unknown,
        }
    }

    fn on_empty_node(&mut self, node: &Node, ledger: &Ledger, pod: &Pod) -> OnEmptyNode {
        let empty = node.empty_ledger().with_inventory(ledger.inventory().clone());
        match self.attempt(node, &empty, pod) {
            Tried::Fits(_) => OnEmptyNode::Fits,
            Tried::Refused => OnEmptyNode::DoesNotFit,
            Tried::Unknown => OnEmptyNode::Unknown,
        }
    }

    /// Single pods whose end is enough.
    fn waits(&mut self, node: &Node, ledger: &Ledger, pod: &Pod) -> Vec<WouldFit> {
        let others = ledger.pods().map(|other| &other.uid).filter(|uid| **uid != pod.uid);
        let tried = others
            .filter_map(|uid| self.attempt(node, &ledger.release(uid), pod).fits(Change::Wait(uid.clone())));
        tried.take(MOST_OF_A_KIND).collect()
    }

    /// The refused unit with what a single node has left, for each node that has some of everything.
    fn asks_less(&mut self, node: &Node, ledger: &Ledger, pod: &Pod, trace: &Trace) -> Vec<WouldFit> {
        let Some(unit) = trace.units.last() else { return Vec::new() };
        let rows: Vec<_> = unit
            .resources
            .iter()
            .filter_map(|row| row.amounts.as_ref().map(|amounts| (&row.resource, amounts)))
            .collect();
        let mut candidates: Vec<BTreeMap<ResourceName, Less>> = Vec::new();
        for at in 0..node.nodes().len() {
            let short = rows.iter().filter_map(|(resource, amounts)| {
                // What is on no single node can be had with any.
                let free = amounts.nodes.get(at).map_or(0, |cell| cell.free) + amounts.elsewhere.free;
                (free < amounts.asked)
                    .then(|| ((*resource).clone(), Less { asked: amounts.asked, fits: free }))
            });
            let short: BTreeMap<_, _> = short.collect();
            let all_gone = short.values().any(|less| less.fits == 0);
            if !short.is_empty() && !all_gone && !candidates.contains(&short) {
                candidates.push(short);
            }
        }
        candidates.sort_by_key(cut);
        let tried = candidates.into_iter().filter_map(|less| {
            let smaller = with_less(pod, &unit.unit, &less)?;
            self.attempt(node, ledger, &smaller).fits(Change::AskLess(less))
        });
        tried.take(MOST_OF_A_KIND).collect()
    }

    /// The strictest of the looser policies under which it fits.
    fn policies(&mut self, node: &Node, ledger: &Ledger, pod: &Pod) -> Option<WouldFit> {
        const LOOSER: [KubeletPolicy; 4] = [
            KubeletPolicy::SingleNumaNode,
            KubeletPolicy::Restricted,
            KubeletPolicy::BestEffort,
            KubeletPolicy::None,
        ];
        let own = LOOSER.iter().position(|policy| *policy == node.policy())?;
        LOOSER[own + 1..]
            .iter()
            .find_map(|policy| self.attempt_under(*policy, node, ledger, pod).fits(Change::Policy(*policy)))
    }
}

/// How much a candidate cuts: how many resources, then the largest part of one that is cut away, in thousandths.
fn cut(less: &BTreeMap<ResourceName, Less>) -> (usize, u64) {
    let part = |less: &Less| {
        let cut = u128::from(less.asked - less.fits) * 1000 / u128::from(less.asked.max(1));
        u64::try_from(cut).unwrap_or(u64::MAX)
    };
    (less.len(), less.values().map(part).max().unwrap_or(0))
}

/// The pod with smaller requests and limits; `None` where it is not clear which of several containers should ask for
/// less.
fn with_less(pod: &Pod, unit: &UnitName, less: &BTreeMap<ResourceName, Less>) -> Option<Pod> {
    let mut smaller = pod.clone();
    for (resource, less) in less {
        let container = the_one_asking(&mut smaller, unit, resource)?;
        let amount = Quantity::from_units(i64::try_from(less.fits).ok()?, Format::BinarySi);
        let lower = |amounts: &mut ResourceList| {
            if let Some(asked) = amounts.get_mut(resource.as_str()) {
                asked.clone_from(&amount);
            }
        };
        lower(&mut container.requests);
        lower(&mut container.limits);
    }
    Some(smaller)
}

fn the_one_asking<'a>(
    pod: &'a mut Pod,
    unit: &UnitName,
    resource: &ResourceName,
) -> Option<&'a mut Container> {
    let of_unit = |name: &ContainerName| match unit {
        UnitName::Container(own) => own == name,
        UnitName::Pod => true,
    };
    let mut asking = pod.containers.iter_mut().filter(|container| {
        of_unit(&container.name)
            && (container.limits.contains_key(resource.as_str())
                || container.requests.contains_key(resource.as_str()))
    });
    let only = asking.next()?;
    asking.next().is_none().then_some(only)
}
