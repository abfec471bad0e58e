//! A decision as it is written with `-o json`; the table is drawn from the same values.

mod merge;
mod unavailable;
mod held_back;
mod not_checked;
mod not_pinned;
mod placed;
mod why;

use device_manager::AllocateError;
use memory_manager::Moved;
use pod_spec::{Pod, PodUid, ResourceName};
use serde::Serialize;
use topology_admission::{
    Asks, Cause, Cell, Change, Explanation, Ledger, OnEmptyNode, Placement, Refused, ResourceTrace, Search,
    Standing, Trace, UnitName, UnitTrace, WouldFit,
};
use topology_hint::Affinity;
use topology_model::Nodes;

pub(crate) use self::merge::{CandidateView, MergeView};
pub(crate) use self::not_checked::{NotChecked, warning_of_pod};
use crate::node::LoadedNode;
use crate::render::Amount;

/// One pod's decision.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Decision {
    /// Namespace and name.
    pub(crate) pod: String,
    /// What it is made by, as kind and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    pub(crate) admitted: bool,
    pub(crate) qos_class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<RefusalView>,
    /// The merges, in order; the last is the refused one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) units: Vec<UnitView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) containers: Vec<ContainerView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<Note>,
}

/// Why it may not run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefusalView {
    pub(crate) reason: String,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// Whether it fits the node when nothing else runs there; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fits_empty_node: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) would_fit: Vec<FitView>,
    /// Whether there were more candidates than could be tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) search_cut: bool,
}

/// One merge.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnitView {
    /// Absent for the pod as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<String>,
    /// The merged node set; absent if any will do, or if the merge had no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nodes: Option<String>,
    pub(crate) preferred: bool,
    pub(crate) resources: Vec<ResourceView>,
    /// What it asks for and no device plugin has registered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_checked: Vec<NotChecked>,
    /// Why nodes with enough free memory do not give it alone: they are of a group. Absent if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bound_memory: Option<String>,
    /// How the merge came out; explanations have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) merge: Option<MergeView>,
}

/// One resource of a unit.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceView {
    pub(crate) resource: String,
    /// CPUs, bytes or devices.
    pub(crate) asked: u64,
    pub(crate) nodes: Vec<NodeView>,
    /// Devices that are on several nodes at once, or on none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elsewhere: Option<CellView>,
}

/// What one node has of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) node: i64,
    /// Whether this node alone could serve it.
    pub(crate) fits: bool,
    #[serde(flatten)]
    pub(crate) cell: CellView,
}

/// What there is in one place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CellView {
    pub(crate) free: u64,
    pub(crate) allocatable: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) held_by: Vec<String>,
}

/// What a container was given.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainerView {
    pub(crate) name: String,
    pub(crate) role: &'static str,
    /// Nodes of the merged hint; absent if any will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nodes: Option<String>,
    /// Absent if it is not pinned to CPUs of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exclusive_cpus: Option<String>,
    /// The NUMA nodes of these CPUs, which need not be those of the hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_nodes: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) memory: Vec<BlockView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) devices: Vec<DevicesView>,
    /// What it asks for and no device plugin has registered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_checked: Vec<NotChecked>,
}

/// Memory bound to nodes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockView {
    pub(crate) resource: String,
    pub(crate) bytes: u64,
    pub(crate) nodes: String,
}

/// Devices of one resource.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DevicesView {
    pub(crate) resource: String,
    pub(crate) ids: Vec<String>,
}

/// A change that was tried, and under which the pod was admitted.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FitView {
    /// `wait`, `ask less`, `node`, `policy` or `scope`.
    pub(crate) change: &'static str,
    pub(crate) detail: String,
    /// Where it runs then.
    pub(crate) result: String,
}

/// Something about an admitted pod that its owner may not expect.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Note {
    /// Empty for the pod as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) containers: Vec<String>,
    pub(crate) text: String,
}

/// What a decision is made of.
pub(crate) struct Facts<'a> {
    pub(crate) node: &'a LoadedNode,
    pub(crate) before: &'a Ledger,
    /// After the decision.
    pub(crate) ledger: &'a Ledger,
    pub(crate) pod: &'a Pod,
    pub(crate) trace: &'a Trace,
    /// Containers of other pods whose memory moves when this one is admitted.
    pub(crate) moved: &'a [Moved],
}

impl Facts<'_> {
    fn nodes(&self) -> &Nodes {
        self.node.node.nodes()
    }

    pub(crate) fn admitted(&self, placement: &Placement) -> Decision {
        let containers = placement.containers.iter().map(|placed| self.container(placed)).collect();
        Decision { admitted: true, containers, notes: self.notes(placement), ..self.undecided() }
    }

    pub(crate) fn refused(&self, refused: &Refused, explanation: &Explanation) -> Decision {
        let unavailable = self.unavailable();
        let refusal = RefusalView {
            reason: refused.reason.to_string(),
            message: refused.message.clone(),
            container: refused.container.as_ref().map(ToString::to_string),
            why: self.with_unavailable(&unavailable, refused, self.why(refused)),
            fits_empty_node: match explanation.on_empty_node {
                // The empty node has no such devices either, and its plugin may come back or list fewer.
                _ if !unavailable.is_empty() => None,
                // That is not about what is free.
                _ if matches!(
                    refused.cause,
                    Cause::Mismatch(_) | Cause::Devices(AllocateError::Unregistered(_))
                ) =>
                {
                    None
                }
                OnEmptyNode::Fits => Some(true),
                OnEmptyNode::DoesNotFit => Some(false),
                OnEmptyNode::Unknown => None,
            },
            would_fit: self.would_fits(explanation),
            search_cut: explanation.search == Search::Cut,
        };
        let notes = self.not_checked_note(not_checked::Verdict::Refused).into_iter().collect();
        Decision { refusal: Some(refusal), notes, ..self.undecided() }
    }

    /// The pod and what was looked at, and nothing of what came of it.
    pub(crate) fn undecided(&self) -> Decision {
        Decision {
            pod: full_name(self.pod),
            owner: None,
            admitted: false,
            qos_class: self.pod.qos_class(self.node.node.pod_level().counts()).name(),
            refusal: None,
            units: self.trace.units.iter().map(|traced| self.unit(traced)).collect(),
            containers: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A pod as a person calls it: by name, with the namespace if that is another one.
    fn named(&self, uid: &PodUid) -> String {
        match self.before.pods().find(|pod| pod.uid == *uid) {
            Some(pod) if pod.namespace == self.pod.namespace => pod.name.clone(),
            Some(pod) => full_name(pod),
            // Containers of its own that were served before are in the way too.
            None if *uid == self.pod.uid => self.pod.name.clone(),
            None => uid.to_string(),
        }
    }

    /// One line for each change; two that differ by less than is shown are one.
    fn would_fits(&self, explanation: &Explanation) -> Vec<FitView> {
        let mut fits: Vec<FitView> = Vec::new();
        for fit in explanation.would_fit.iter().map(|fit| self.would_fit(fit)) {
            if !fits.iter().any(|same| (same.change, &same.detail) == (fit.change, &fit.detail)) {
                fits.push(fit);
            }
        }
        fits
    }

    fn would_fit(&self, fit: &WouldFit) -> FitView {
        let (change, detail) = match &fit.change {
            Change::Wait(pods) => {
                let names: Vec<String> = pods.iter().map(|pod| self.named(pod)).collect();
                let leave = if names.len() == 1 { "leaves" } else { "leave" };
                ("wait", format!("until {} {leave}", names.join(" and ")))
            }
            Change::AskLess(asks) => ("ask less", self.asks(asks)),
            Change::AskMore(asks) => ("ask more", self.asks(asks)),
            Change::More { node, amounts } => {
                let parts = amounts
                    .iter()
                    .map(|(resource, more)| format!("{} more {resource}", amount(resource, *more)));
                ("node", format!("{} on NUMA {node}", parts.collect::<Vec<_>>().join(" and ")))
            }
            Change::ReserveCpus(cpus) => ("node", format!("reserved CPUs {cpus}")),
            Change::Regroup => ("node", "option memory.regroup".to_owned()),
            Change::Policy(policy) => ("policy", policy.name().to_owned()),
            Change::Scope(scope) => ("scope", scope.name().to_owned()),
            _ => ("change", "something else".to_owned()),
        };
        FitView { change, detail, result: self.places(&fit.placement) + &self.unless_checked() }
    }

    /// Other amounts; where a pod has several containers, with theirs.
    fn asks(&self, asks: &[Asks]) -> String {
        let parts = asks.iter().map(|asks| {
            let of = match &asks.container {
                Some(container) if self.pod.containers.len() > 1 => format!(" in {container}"),
                _ => String::new(),
            };
            format!("{} {} instead of {}{of}", asks.resource, asks.fits, asks.now)
        });
        parts.collect::<Vec<_>>().join(" and ")
    }
}

impl Facts<'_> {
    fn unit(&self, traced: &UnitTrace) -> UnitView {
        let hint = traced.merged.map(|merged| merged.hint);
        UnitView {
            container: match &traced.unit {
                UnitName::Container(name) => Some(name.to_string()),
                UnitName::Pod => None,
            },
            nodes: hint.and_then(|hint| shown(hint.affinity, self.nodes())),
            preferred: hint.is_some_and(topology_hint::Hint::is_preferred),
            resources: traced.resources.iter().filter_map(|row| self.resource(traced, row)).collect(),
            not_checked: self.unit_not_checked(&traced.unit),
            bound_memory: self.bound_memory(traced),
            merge: traced.merge.as_ref().map(|merge| self.merge(merge)),
        }
    }

    /// One of the unit's; `None` for a provider that tells no amounts.
    fn resource(&self, unit: &UnitTrace, row: &ResourceTrace) -> Option<ResourceView> {
        let amounts = row.amounts.as_ref()?;
        // Devices of which no plugin tells: that there are none would be wrong.
        if row.resource.as_str().contains('/') && !self.before.inventory().is_registered(&row.resource) {
            return None;
        }
        let there = self.nodes().iter().zip(&amounts.nodes).map(|((index, id), there)| NodeView {
            node: id.0,
            fits: unit.standing(row, index) == Standing::Fits,
            cell: self.cell(there),
        });
        Some(ResourceView {
            resource: row.resource.to_string(),
            asked: amounts.asked,
            nodes: there.collect(),
            elsewhere: (amounts.elsewhere.allocatable > 0).then(|| self.cell(&amounts.elsewhere)),
        })
    }

    fn cell(&self, cell: &Cell) -> CellView {
        CellView {
            free: cell.free,
            allocatable: cell.allocatable,
            held_by: cell.holders.iter().map(|pod| self.named(pod)).collect(),
        }
    }
}

/// `NAMESPACE/NAME`, or the UID of a pod of which state files alone tell.
fn full_name(pod: &Pod) -> String {
    if pod.namespace.is_empty() { pod.name.clone() } else { format!("{}/{}", pod.namespace, pod.name) }
}

fn amount(resource: &ResourceName, value: u64) -> Amount {
    resource.amount(value)
}

/// The nodes of an affinity; `None` if any will do.
fn shown(affinity: Affinity, nodes: &Nodes) -> Option<String> {
    affinity.nodes().map(|mask| nodes.show(mask).to_string())
}
