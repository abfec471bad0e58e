//! A pod beside what the objects of an API server tell of its node: a comparison of amounts, and no decision.

use std::fmt::Write as _;

use node_resource_topology::{Enough, UnitComparison};
use serde::Serialize;
use terminal_text::Page;
use topology_policy::KubeletPolicy;

use crate::outlook::{PolicyLine, PublishedRoom, WholeLine, not_seen};

/// What amounts say of a pod on its node.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodOutlook {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// The pod's class.
    #[cfg_attr(feature = "schema", schemars(schema_with = "admission_report::schema::qos_class"))]
    pub qos_class: &'static str,
    /// The node that it is bound to.
    pub node: String,
    /// What the kubelet has made of it; absent: nothing yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletWord>,
    /// By which policies the kubelet decides.
    pub policies: PolicyLine,
    /// What is aligned together; absent: what NUMA nodes have is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<Vec<UnitOutlook>>,
    /// The node as a whole; absent: what it has, or what its pods request, is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Vec<WholeLine>>,
    /// What of the node's name, labels and taints does not suit the pod, in the kubelet's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<String>,
    /// What was not seen, and what may be wrong for want of it.
    pub not_seen: Vec<String>,
}

/// What a kubelet has made of a pod, by the pod's status.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KubeletWord {
    /// `Running`, `Failed` and so on.
    pub phase: String,
    /// Why, as one word; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The same for people; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A container, or the pod as a whole, beside what NUMA nodes have.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnitOutlook {
    /// Absent: the pod as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// What it asks for.
    pub resources: Vec<ResourceOutlook>,
    /// What it asks for and no NUMA node publishes, so that it is not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
    /// Where there is enough, in a sentence.
    pub amounts: String,
    /// Whether the amounts show that the kubelet refuses the pod. That they do not is no admission.
    pub shows_refusal: bool,
}

/// A resource that is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceOutlook {
    /// CPUs, bytes or devices.
    pub asked: u64,
    /// What each NUMA node has.
    #[serde(flatten)]
    pub room: PublishedRoom,
}

impl UnitOutlook {
    /// A comparison under a policy; `None`: the policy is not known.
    #[must_use]
    pub fn new(compared: &UnitComparison, policy: Option<KubeletPolicy>) -> Self {
        let resources = compared.asked.iter().map(|asked| ResourceOutlook {
            asked: asked.amount,
            room: PublishedRoom::new(&asked.resource, asked.nodes.iter().copied()),
        });
        Self {
            container: compared.container.as_ref().map(ToString::to_string),
            resources: resources.collect(),
            not_compared: compared
                .asked
                .iter()
                .filter(|asked| !asked.is_published())
                .map(|asked| asked.resource.to_string())
                .collect(),
            amounts: amounts(&compared.enough, policy),
            shows_refusal: compared.enough.is_refused(policy),
        }
    }

    fn text(&self, page: Page) -> String {
        let name = self
            .container
            .as_ref()
            .map_or_else(|| "the pod as a whole".to_owned(), |container| format!("container {container}"));
        let mut text = format!("\n  {name}\n");
        if let Some(first) = self.resources.first() {
            let head = ["RESOURCE", "ASKED"].map(str::to_owned).into_iter();
            let head =
                head.chain(first.room.nodes.iter().map(|here| format!("NUMA {}", here.node))).collect();
            let rows = self.resources.iter().map(|ResourceOutlook { asked, room }| {
                let enough = room.nodes.iter().map(|here| {
                    here.cell
                        .as_ref()
                        .map_or("", |cell| if cell.free >= *asked { page.yes() } else { page.no() })
                });
                let cells =
                    room.cells().zip(enough).map(|(cell, mark)| format!("{mark} {cell}").trim().to_owned());
                let asked = room.resource.amount(*asked).to_string();
                [room.resource.to_string(), asked].into_iter().chain(cells).collect()
            });
            text.push_str(&page.columns(std::iter::once(head).chain(rows), "    "));
        }
        let mark = if self.shows_refusal { page.no() } else { page.dot() };
        text.push_str(&page.wrapped(&format!("    {mark} {}", self.amounts), 6));
        if !self.not_compared.is_empty() {
            let names = self.not_compared.join(", ");
            text.push_str(&page.wrapped(&format!("    ! no NUMA node publishes {names}: not compared"), 6));
        }
        text
    }
}

fn amounts(enough: &Enough, policy: Option<KubeletPolicy>) -> String {
    let listed = |nodes: &[topology_model::NodeId]| {
        let ids = nodes.iter().map(|node| node.0);
        format!("NUMA {}", crate::ranges::ranges(ids))
    };
    let refused = enough.is_refused(policy);
    match enough {
        Enough::NotAsked => "nothing of it can be compared".to_owned(),
        Enough::OnOne(nodes) => match nodes.as_slice() {
            [_] => format!("{} alone has enough", listed(nodes)),
            _ => format!("{} have enough, each alone", listed(nodes)),
        },
        Enough::Together { if_empty } => {
            let mut text = "no NUMA node alone has enough, all together have".to_owned();
            // Writing to a String cannot fail.
            let _ = match policy {
                Some(policy) if refused && policy == KubeletPolicy::SingleNumaNode => {
                    write!(text, "; policy {} refuses that", policy.name())
                }
                Some(policy) if refused => {
                    let empty = listed(if_empty);
                    write!(text, "; policy {} refuses that, since {empty} would have if empty", policy.name())
                }
                Some(policy) => write!(text, "; policy {} does not refuse that", policy.name()),
                None => write!(text, "; whether the policy refuses that is not known"),
            };
            text
        }
        Enough::Nowhere(lacking) => {
            let names: Vec<&str> = lacking.iter().map(pod_spec::ResourceName::as_str).collect();
            format!("all NUMA nodes together have too little: {}", names.join(", "))
        }
    }
}

impl PodOutlook {
    /// Whether something that was seen shows that the kubelet refuses the pod.
    #[must_use]
    pub fn shows_refusal(&self) -> bool {
        self.units.iter().flatten().any(|unit| unit.shows_refusal)
            || self.whole.iter().flatten().any(|line| line.is_too_little)
            || !self.mismatches.is_empty()
    }

    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let dot = page.dot();
        let head = format!(
            "{} on {} {dot} amounts compared, which is not the kubelet's answer",
            self.pod, self.node
        );
        let mut text = page.wrapped(&head, 2);
        if let Some(KubeletWord { phase, reason, message }) = &self.kubelet {
            let parts = [phase, reason, message].into_iter().filter(|part| !part.is_empty());
            let said = parts.map(String::as_str).collect::<Vec<_>>().join(": ");
            text.push_str(&page.under("  kubelet", 12, &said));
        }
        text.push_str(&page.under("  policies", 12, &self.policies.line()));
        text.push_str(&page.under("  class", 12, self.qos_class));
        text.push_str(&not_seen(&self.not_seen, page));
        for unit in self.units.iter().flatten() {
            text.push_str(&unit.text(page));
        }
        if self.units.as_ref().is_some_and(Vec::is_empty) {
            text.push_str("\n  it asks for nothing that a kubelet allocates by NUMA node\n");
        }
        if let Some(whole) = &self.whole {
            text.push_str("\n  the node as a whole, without this pod\n");
            text.push_str(&WholeLine::table(whole, page, "    "));
        }
        for mismatch in &self.mismatches {
            text.push_str(&page.wrapped(&format!("{} {mismatch}", page.no()), 2));
        }
        text
    }
}
