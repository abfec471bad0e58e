//! Moves after which a refused pod fits, with where each pod was and will be; or why there are none.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use k8s_quantity::{Format, Quantity};
use numa_bitmask::NodeMask;
use pod_spec::{Pod, PodUid};
use serde::{Serialize, Serializer};
use topology_admission::{
    Hopeless, Ledger, Node, Placement, Plan, Plugins, Reason, Refused, Repack, Search, Step,
};
use topology_model::NodeIds;

use crate::claims::UndecidedClaims;
use crate::container::ContainerReport;
use crate::deferred::Deferred;
use crate::facts::{Facts, NamedPod, full_name};
use crate::json;
use crate::resource::Resource;
use crate::words::{and_more, joined, verb};

/// The names of steps.
pub(crate) const DELETE: &str = "delete";
/// See [`DELETE`].
pub(crate) const CREATE: &str = "create";

/// What can be moved for one pod.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovesReport {
    /// Namespace and name.
    pub pod: String,
    /// What came out.
    #[serde(flatten)]
    pub verdict: MovesVerdict,
    /// The claims of devices that were not decided on, by the names that the pod gives them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_claims: Vec<String>,
}

/// What came out for one pod.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "verdict")]
pub enum MovesVerdict {
    /// The node admits it as it is; no pod has to move.
    Admitted {
        /// What its containers are given.
        containers: Vec<ContainerReport>,
    },
    /// It waits for device plugins, and no pod has to move: it is decided on when they are back.
    Deferred {
        /// What it waits for.
        deferred: Deferred,
    },
    /// The node refuses it.
    Refused {
        /// The kubelet's reason.
        #[serde(serialize_with = "json::text")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        reason: Reason,
        /// The kubelet's message.
        message: String,
        /// After these moves it fits; `None`: none were found.
        #[serde(skip_serializing_if = "Option::is_none")]
        plan: Option<PlanReport>,
        /// Why no move can help, or what was tried.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Whether attempts ran out before everything was tried.
        #[serde(
            skip_serializing_if = "json::is_complete",
            serialize_with = "json::is_cut",
            rename = "searchCut"
        )]
        #[cfg_attr(feature = "schema", schemars(with = "bool"))]
        search: Search,
        /// How many attempts were made.
        attempts: usize,
        /// Pods that hold something and are not moved.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        left_alone: Vec<Kept>,
    },
}

/// An order of deletions and creations.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    /// The version of the ledger that it was made against: on another it is stale.
    pub ledger_version: u64,
    /// How many pods restart.
    pub moved: usize,
    /// How many bytes of memory and huge pages they have.
    pub bytes: u64,
    /// What is done, in this order.
    pub steps: Vec<MoveStep>,
    /// Whether device plugins are taken to prefer no device and to refuse none.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub plugins_taken_as_willing: bool,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub enum MoveStep {
    /// A pod is deleted.
    Delete {
        /// Which.
        pod: NamedPod,
        /// The NUMA nodes of what it held; `None` if it was bound to none.
        nodes: Option<NodeIds>,
    },
    /// A pod is created and admitted.
    Create {
        /// Which.
        pod: NamedPod,
        /// What its containers are given.
        containers: Vec<ContainerReport>,
    },
}

/// A pod that is not moved.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kept {
    name: String,
    uid: String,
    why: String,
}

impl MovesReport {
    /// The node has admitted the pod without any move.
    #[must_use]
    pub fn of_admitted(pod: &Pod, containers: Vec<ContainerReport>) -> Self {
        Self::new(pod, MovesVerdict::Admitted { containers })
    }

    fn new(pod: &Pod, verdict: MovesVerdict) -> Self {
        let claims = UndecidedClaims::of(pod);
        let without_claims = claims.map(|claims| claims.names().to_vec()).unwrap_or_default();
        Self { pod: full_name(pod), verdict, without_claims }
    }

    /// The node admits the pod without any move.
    #[must_use]
    pub fn admitted(facts: &Facts<'_>, placement: &Placement) -> Self {
        Self::of_admitted(facts.pod, containers(facts, facts.pod, placement))
    }

    /// The pod waits for device plugins.
    #[must_use]
    pub fn deferred(pod: &Pod, deferred: Deferred) -> Self {
        Self::new(pod, MovesVerdict::Deferred { deferred })
    }

    /// The node refuses the pod, and `repack` is what could be moved; at most `most` pods were.
    #[must_use]
    pub fn refused(facts: &Facts<'_>, refused: &Refused, repack: &Repack, most: usize) -> Self {
        let left_alone = repack.left_alone.iter().map(|(uid, why)| Kept {
            name: everywhere(facts, uid).name,
            uid: uid.to_string(),
            why: why.to_string(),
        });
        let left_alone: Vec<Kept> = left_alone.collect();
        let verdict = MovesVerdict::Refused {
            reason: refused.reason.clone(),
            message: refused.message.clone(),
            plan: repack.plan.as_ref().map(|plan| PlanReport::new(facts, plan)),
            why: repack.plan.is_none().then(|| why(repack, most)),
            search: repack.search,
            attempts: repack.attempts,
            left_alone,
        };
        Self::new(facts.pod, verdict)
    }

    /// Whether the pod is admitted, as the node is or after moves, and nothing that it asks for is left open.
    #[must_use]
    pub const fn is_decided_for(&self) -> bool {
        self.is_admitted() && self.without_claims.is_empty()
    }

    /// Whether the managers admit the pod, as the node is or after moves.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        match &self.verdict {
            MovesVerdict::Admitted { .. } => true,
            MovesVerdict::Deferred { .. } => false,
            MovesVerdict::Refused { plan, .. } => plan.is_some(),
        }
    }

    /// Whether the pod waits for device plugins.
    #[must_use]
    pub const fn is_deferred(&self) -> bool {
        matches!(self.verdict, MovesVerdict::Deferred { .. })
    }

    /// Which pods are not moved and why, in one sentence; `None` if there are none.
    #[must_use]
    pub fn left_alone(&self) -> Option<String> {
        let MovesVerdict::Refused { left_alone, .. } = &self.verdict else { return None };
        let named: Vec<String> =
            left_alone.iter().map(|kept| format!("{} ({})", kept.name, kept.why)).collect();
        (!named.is_empty()).then(|| and_more(&named, 4, " and "))
    }
}

/// Why there is no plan, as a sentence.
fn why(repack: &Repack, most: usize) -> String {
    match &repack.hopeless {
        Some(Hopeless::NotAboutRoom) => "no move can help: this is not about what other pods hold".into(),
        Some(Hopeless::NodeIsFull(shortages)) => {
            let lacks = shortages.iter().map(|of| {
                let resource = Resource::from(&of.resource);
                let amount = u64::try_from(of.missing()).unwrap_or(0);
                match resource {
                    // Requests are added up in thousandths.
                    Resource::Cpu => format!("{} cpu", Quantity::from_milli(of.missing(), Format::DecimalSi)),
                    resource => format!("{} {resource}", resource.amount(amount)),
                }
            });
            format!(
                "no move can help: the node as a whole lacks {}, wherever pods run",
                joined(lacks, " and ")
            )
        }
        Some(Hopeless::NotWithoutThem) if repack.movable == 0 => {
            "no pod that holds anything can be moved".into()
        }
        Some(Hopeless::NotWithoutThem) => {
            let them = match repack.movable {
                1 => String::from("without the only pod that can be moved"),
                pods => format!("without all {pods} pods that can be moved"),
            };
            format!("no move can help: it is refused even {them}")
        }
        // A reason that a newer version of the admission has.
        Some(_) => "no move can help".into(),
        None if repack.search == Search::Cut => "none of the moves that were tried helps".into(),
        None => format!("no restart of at most {} {} helps", most, verb(most, "pod", "pods")),
    }
}

impl PlanReport {
    fn new(facts: &Facts<'_>, plan: &Plan) -> Self {
        let steps = plan.steps.iter().map(|step| match step {
            Step::Delete(uid) => MoveStep::Delete {
                pod: everywhere(facts, uid),
                nodes: nodes_held(facts.node, facts.before, uid).map(|mask| facts.listed(mask)),
            },
            Step::Create { pod: uid, placement } => {
                let pod = facts.before.pods().find(|pod| pod.uid == *uid).unwrap_or(facts.pod);
                MoveStep::Create {
                    pod: everywhere(facts, uid),
                    containers: containers(facts, pod, placement),
                }
            }
        });
        Self {
            ledger_version: plan.made_against.number(),
            moved: plan.moved.len(),
            bytes: plan.bytes,
            steps: steps.collect(),
            plugins_taken_as_willing: plan.plugins == Plugins::TakenAsWilling,
        }
    }
}

/// A pod with its namespace, whichever that is.
fn everywhere(facts: &Facts<'_>, uid: &PodUid) -> NamedPod {
    let mut others = facts.before.pods();
    let pod = others.find(|pod| pod.uid == *uid).or_else(|| (facts.pod.uid == *uid).then_some(facts.pod));
    NamedPod { uid: uid.clone(), name: pod.map_or_else(|| uid.to_string(), full_name) }
}

fn containers(facts: &Facts<'_>, pod: &Pod, placement: &Placement) -> Vec<ContainerReport> {
    let facts = Facts { pod, ..*facts };
    placement.containers.iter().map(|placed| ContainerReport::new(&facts, placed)).collect()
}

/// The NUMA nodes of what a pod holds; `None` if it is bound to none.
fn nodes_held(node: &Node, ledger: &Ledger, pod: &PodUid) -> Option<NodeMask> {
    let cpus = ledger
        .cpus()
        .into_iter()
        .flat_map(|held| held.of_pod(pod).map(|(_, cpus)| cpus).chain(held.whole_pod(pod)));
    let of_cpus = cpus.map(|cpus| node.cpus().map_or(NodeMask::EMPTY, |policy| policy.nodes_of(cpus)));
    let memory = ledger.memory().into_iter().flat_map(|held| {
        let whole = held.whole_pod(pod).into_iter().flatten();
        held.of_pod(pod).flat_map(|(_, blocks)| blocks).chain(whole)
    });
    let of_memory = memory.map(|block| block.nodes.mask());
    let devices = ledger.devices().of_pod(pod).flat_map(|(_, _, held)| held.by_node());
    let of_devices = devices.map(|(on, _)| node.nodes().mask_of([on.id()]));
    let all = of_cpus.chain(of_memory).chain(of_devices).fold(NodeMask::EMPTY, |all, nodes| all | nodes);
    (!all.is_empty()).then_some(all)
}

/// One step of a plan, as it is written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "MoveStep"))]
struct StepMembers<'a> {
    /// Whether the pod goes or comes.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::move_step"))]
    step: &'static str,
    /// Namespace and name.
    pod: &'a str,
    uid: &'a str,
    /// The NUMA nodes of what a pod that goes held; `None`: it was bound to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<String>,
    /// What the containers of a pod that comes are given.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    containers: &'a [ContainerReport],
}

json::written_as!(MoveStep, StepMembers<'static>);

impl Serialize for MoveStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = match self {
            Self::Delete { pod, nodes } => {
                let nodes = nodes.as_ref().map(NodeIds::to_string);
                StepMembers { step: DELETE, pod: &pod.name, uid: pod.uid.as_str(), nodes, containers: &[] }
            }
            Self::Create { pod, containers } => {
                StepMembers { step: CREATE, pod: &pod.name, uid: pod.uid.as_str(), nodes: None, containers }
            }
        };
        fields.serialize(serializer)
    }
}
