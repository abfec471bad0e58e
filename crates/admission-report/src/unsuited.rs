//! What a pod demands of a node besides resources, and what the node is instead: the kubelet's message names neither.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pod_spec::{Demand, NodeSelectorTerm, Requirement, Taint};
use topology_admission::{Identity, Mismatch};

use crate::facts::{Facts, NamedPod};
use crate::words::{joined, verb};

/// One demand of a pod that its node does not meet.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unsuited {
    /// Taints that the pod does not tolerate, as `KEY=VALUE:EFFECT`; at least one.
    Taints(Vec<String>),
    /// A label that `nodeSelector` wants.
    Label {
        /// Its key.
        key: String,
        /// The value that it wants.
        wanted: String,
        /// The node's; `None`: it has no such label.
        has: Option<String>,
    },
    /// Required node affinity: of each term the first requirement that the node does not meet, and what the node has.
    Affinity(Vec<(String, String)>),
    /// `spec.nodeName`.
    Name {
        /// The one in the pod.
        wanted: String,
        /// The node's.
        has: String,
    },
    /// A port that another pod has, as `PORT/PROTOCOL`.
    Port {
        /// The port.
        port: String,
        /// The pod that has it.
        holder: NamedPod,
    },
    /// An operating system.
    Os {
        /// What names it: `spec.os.name`, or a label of the pod.
        field: &'static str,
        /// The one that it names.
        wanted: String,
    },
}

impl Facts<'_> {
    /// Everything behind a mismatch; nothing where the kubelet's message says it.
    pub(crate) fn unsuited(&self, mismatch: Mismatch) -> Vec<Unsuited> {
        let constraints = &self.pod.constraints;
        let identity = self.node.identity();
        let os = |field, wanted: &Option<String>| {
            wanted.iter().map(|wanted| Unsuited::Os { field, wanted: wanted.clone() }).collect()
        };
        match (mismatch, identity) {
            (Mismatch::TaintToleration, Some(identity)) => {
                let taints = self.not_tolerated(identity);
                if taints.is_empty() { Vec::new() } else { Vec::from([Unsuited::Taints(taints)]) }
            }
            (Mismatch::NodeAffinity, Some(identity)) => self.not_selected(identity),
            (Mismatch::NodeName, Some(identity)) => {
                let wanted = constraints.node_name.clone();
                let has = || identity.name.clone();
                wanted.into_iter().map(|wanted| Unsuited::Name { wanted, has: has() }).collect()
            }
            (Mismatch::NodePorts, _) => self.taken_ports(),
            (Mismatch::Os, _) => os("spec.os.name", &constraints.os),
            (Mismatch::OsLabel, _) => os("its label kubernetes.io/os", &constraints.os_label),
            _ => Vec::new(),
        }
    }

    fn not_tolerated(&self, identity: &Identity) -> Vec<String> {
        let tolerations = &self.pod.constraints.tolerations;
        // A kubelet looks at no other effect.
        let taints = identity.taints.iter().filter(|taint| taint.effect == "NoExecute");
        let is_tolerated = |taint: &&Taint| tolerations.iter().any(|one| one.tolerates(taint));
        let shown = |Taint { key, value, effect }: &Taint| {
            let equals = if value.is_empty() { "" } else { "=" };
            format!("{key}{equals}{value}:{effect}")
        };
        taints.filter(|taint| !is_tolerated(taint)).map(shown).collect()
    }

    fn not_selected(&self, Identity { name, labels, .. }: &Identity) -> Vec<Unsuited> {
        let constraints = &self.pod.constraints;
        let selected =
            constraints.node_selector.iter().filter(|(key, wanted)| labels.get(*key) != Some(wanted));
        let mut found: Vec<Unsuited> = selected
            .map(|(key, wanted)| Unsuited::Label {
                key: key.clone(),
                wanted: wanted.clone(),
                has: labels.get(key).cloned(),
            })
            .collect();
        let terms = constraints.node_affinity.as_deref().unwrap_or_default();
        let has = |wanted: &Requirement, is_field: bool| match labels.get(&wanted.key) {
            _ if is_field => format!("is called {name}"),
            Some(value) => format!("has {}={value}", wanted.key),
            None => format!("has no label {}", wanted.key),
        };
        let unmet = |term: &NodeSelectorTerm| match term.unmet(labels, name) {
            Some(wanted) => (shown(wanted), has(wanted, term.fields.contains(wanted))),
            None => ("no requirement, which holds for no node".into(), format!("is called {name}")),
        };
        let is_met =
            constraints.node_affinity.is_none() || terms.iter().any(|term| term.matches(labels, name));
        if !is_met {
            found.push(Unsuited::Affinity(terms.iter().map(unmet).collect()));
        }
        found
    }

    fn taken_ports(&self) -> Vec<Unsuited> {
        let others = self.before.pods().filter(|other| other.uid != self.pod.uid);
        let taken = others.flat_map(|other| {
            let ports = other.constraints.host_ports.iter();
            ports.map(move |port| (port, &other.uid))
        });
        let own = &self.pod.constraints.host_ports;
        let conflicting = taken.filter(|(taken, _)| own.iter().any(|own| own.conflicts_with(taken)));
        let unsuited = conflicting.map(|(port, uid)| Unsuited::Port {
            port: format!("{}/{}", port.port, port.protocol),
            holder: self.named(uid),
        });
        unsuited.collect()
    }
}

/// A requirement as a person writes it: `zone in (a, b)`.
fn shown(Requirement { key, demand }: &Requirement) -> String {
    match demand {
        Demand::In(values) => format!("{key} in ({})", joined(values, ", ")),
        Demand::NotIn(values) => format!("{key} not in ({})", joined(values, ", ")),
        Demand::Exists => format!("a label {key}"),
        Demand::DoesNotExist => format!("no label {key}"),
        Demand::Above(least) => format!("{key} above {least}"),
        Demand::Below(most) => format!("{key} below {most}"),
    }
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taints(taints) => write!(
                f,
                "the node has {} {}, which the pod does not tolerate",
                verb(taints.len(), "taint", "taints"),
                joined(taints, " and ")
            ),
            Self::Label { key, wanted, has: None } => {
                write!(f, "nodeSelector wants {key}={wanted}, and the node has no label {key}")
            }
            Self::Label { key, wanted, has: Some(has) } => {
                write!(f, "nodeSelector wants {key}={wanted}, and the node has {key}={has}")
            }
            Self::Affinity(terms) => match terms.as_slice() {
                [] => f.write_str("its required node affinity has no term, which holds for no node"),
                [(wanted, has)] => {
                    write!(f, "its required node affinity wants {wanted}, and the node {has}")
                }
                terms => {
                    let all = terms.iter().map(|(wanted, has)| format!("{wanted}, and the node {has}"));
                    write!(f, "no term of its required node affinity holds: {}", joined(all, "; "))
                }
            },
            Self::Name { wanted, has } => {
                write!(f, "spec.nodeName is {wanted}, and the node is called {has}")
            }
            Self::Port { port, holder } => write!(f, "port {port} of the node is taken by {holder}"),
            Self::Os { field, wanted } => write!(f, "{field} is {wanted}, and the node runs linux"),
        }
    }
}
