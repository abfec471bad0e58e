//! What becomes of a pod, and whether it is the same by another release.

use std::fmt;

use admission_report::{ContainerReport, DeviceSet, MemoryBlock};
use cpuset::CpuSet;
use pod_spec::{ContainerName, Pod, QosClass};
use serde::Serialize;
use topology_admission::{Ledger, Node};

use crate::json;
use crate::responsible::ResponsibleRule;

/// A pod by both releases.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodChange {
    /// Namespace and name; the UID of a pod that only state files list.
    pub pod: String,
    /// In a word.
    pub change: Change,
    /// By the old release; absent if the outcome is the same, and if the old release does not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PodVerdict>,
    /// By the new release; absent if it does not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<PodVerdict>,
    /// The rules that make the difference; none if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ResponsibleRule>,
}

/// How a pod differs by the new release.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// Not at all.
    Same,
    /// It is admitted by both, and holds other CPUs, memory or devices.
    PlacedOtherwise,
    /// It holds the same and has another QoS class.
    OtherClass,
    /// The old release admits it, the new one refuses it.
    Refused,
    /// The old release refuses it, the new one admits it.
    Admitted,
    /// Both refuse it, for other reasons.
    RefusedOtherwise,
    /// A release does not start, so that the pod cannot be compared.
    NotStarted,
}

/// What becomes of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodVerdict {
    /// Its class.
    #[serde(serialize_with = "json::class")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "admission_report::schema::qos_class"))]
    pub qos_class: QosClass,
    /// What came out.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What an attempt came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It runs, and holds this.
    Admitted(PodHoldings),
    /// It does not run.
    Refused {
        /// The kubelet's reason.
        reason: String,
        /// The kubelet's message.
        message: String,
    },
    /// A device plugin would have to be asked first.
    NeedsPlugin {
        /// Of which resource.
        resource: String,
    },
}

/// What a pod holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodHoldings {
    /// CPUs of the pod as a whole; `None`: it has none as a whole.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpus: Option<CpuSet>,
    /// Its containers in order.
    pub containers: Vec<ContainerHoldings>,
}

/// What a container holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerHoldings {
    /// Its name.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: ContainerName,
    /// Its own CPUs; `None`: it shares CPUs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub exclusive_cpus: Option<CpuSet>,
    /// Memory and huge pages bound to nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryBlock>,
    /// Devices by resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceSet>,
}

impl PodHoldings {
    pub(crate) fn new(node: &Node, ledger: &Ledger, pod: &Pod) -> Self {
        let containers = pod.containers.iter().map(|container| {
            let ContainerReport { name, exclusive_cpus, memory, devices, .. } =
                ContainerReport::held(node, ledger, &pod.uid, container);
            ContainerHoldings { name, exclusive_cpus, memory, devices }
        });
        let cpus = ledger.cpus().and_then(|held| held.whole_pod(&pod.uid)).cloned();
        Self { cpus, containers: containers.collect() }
    }
}

impl Change {
    pub(crate) fn between(from: &PodVerdict, to: &PodVerdict) -> Self {
        match (&from.outcome, &to.outcome) {
            (Outcome::Admitted(from), Outcome::Admitted(to)) if from != to => Self::PlacedOtherwise,
            (Outcome::Admitted(_), Outcome::Refused { .. }) => Self::Refused,
            (Outcome::Refused { .. }, Outcome::Admitted(_)) => Self::Admitted,
            (one, other) if one != other => Self::RefusedOtherwise,
            _ if from.qos_class != to.qos_class => Self::OtherClass,
            _ => Self::Same,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "same",
            Self::PlacedOtherwise => "placed otherwise",
            Self::OtherClass => "other QoS class",
            Self::Refused => "refused",
            Self::Admitted => "admitted",
            Self::RefusedOtherwise => "refused otherwise",
            Self::NotStarted => "not attempted",
        })
    }
}

impl fmt::Display for PodVerdict {
    /// `Guaranteed; app: CPUs 2-5, 1Gi on NUMA 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", self.qos_class.name())?;
        match &self.outcome {
            Outcome::Admitted(held) => held.fmt(f),
            Outcome::Refused { reason, message } => write!(f, "{reason}: {message}"),
            Outcome::NeedsPlugin { resource } => {
                write!(f, "not decided: the device plugin of {resource} must be asked first")
            }
        }
    }
}

impl fmt::Display for PodHoldings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        if let Some(cpus) = &self.cpus {
            write!(f, "the pod: CPUs {cpus}")?;
            before = "; ";
        }
        for container in &self.containers {
            write!(f, "{before}{container}")?;
            before = "; ";
        }
        Ok(())
    }
}

impl fmt::Display for ContainerHoldings {
    /// `app: CPUs 2-5, 1Gi on NUMA 0, nvidia.com/gpu gpu-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.exclusive_cpus {
            Some(cpus) => write!(f, "{}: CPUs {cpus}", self.name)?,
            None => write!(f, "{}: shared CPUs", self.name)?,
        }
        self.memory.iter().try_for_each(|block| write!(f, ", {block}"))?;
        self.devices.iter().try_for_each(|devices| write!(f, ", {devices}"))
    }
}
