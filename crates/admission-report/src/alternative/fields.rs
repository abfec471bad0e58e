//! An alternative as JSON has it: in words, and as values that a program can apply.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use pod_spec::ContainerName;
use serde::{Serialize, Serializer};
use topology_admission::Turn;

use super::{Alternative, Ask, Remedy};
use crate::facts::NamedPod;
use crate::json;
use crate::resource::Resource;

/// The option that dissolves groups of NUMA nodes.
const REGROUP: &str = "memory.regroup";
/// The option that says what becomes of devices that no link has.
const LINKS: &str = "devices.links";

/// When a pod is created again, as [`Turn`] says.
pub(crate) const BEFORE: &str = "before";
/// See [`BEFORE`].
pub(crate) const AFTER: &str = "after";

/// A change that has been tried, and under which the pod is admitted.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Alternative"))]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    /// What changes.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::remedy"))]
    change: &'static str,
    /// What changes, in words.
    detail: String,
    /// Where the pod runs then.
    result: String,
    /// Those that leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pods: Option<Vec<PodFields<'a>>>,
    /// The one that restarts.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts: Option<PodFields<'a>>,
    /// Whether it is created again before or after the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::turn"))]
    turn: Option<&'static str>,
    /// What the pod asks for instead, all of it together.
    #[serde(skip_serializing_if = "Option::is_none")]
    amounts: Option<Vec<AmountFields<'a>>>,
    /// The NUMA node that has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<i64>,
    /// How much more it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<Vec<MoreFields<'a>>>,
    /// The configuration's, instead of now's.
    #[serde(rename = "reservedSystemCPUs", skip_serializing_if = "Option::is_none")]
    reserved_system_cpus: Option<String>,
    /// An option of topolet's own that is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<&'static str>,
    /// The configuration's, instead of now's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::policy"))]
    topology_manager_policy: Option<&'static str>,
    /// The configuration's, instead of now's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::scope"))]
    topology_manager_scope: Option<&'static str>,
}

/// A pod that leaves, or restarts.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LeavingPod"))]
struct PodFields<'a> {
    /// With its namespace unless that is the pod's own.
    name: &'a str,
    uid: &'a str,
}

/// Another amount in a pod's manifest.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "OtherAmount"))]
struct AmountFields<'a> {
    /// Absent at pod level, and in the pod's only container.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a str>,
    resource: &'a str,
    /// What is asked for now.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    now: &'a Quantity,
    /// What would fit.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    fits: &'a Quantity,
}

/// How much more a NUMA node has of a resource.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "MoreOfResource"))]
struct MoreFields<'a> {
    resource: &'a Resource,
    /// Devices by number, huge pages in bytes.
    amount: u64,
}

json::written_as!(Alternative, Fields<'static>);

impl<'a> Fields<'a> {
    fn new(alternative: &'a Alternative) -> Self {
        let Alternative { remedy, .. } = alternative;
        let fields = Self {
            change: remedy.kind(),
            detail: remedy.to_string(),
            result: alternative.result(),
            ..Self::default()
        };
        match remedy {
            Remedy::Wait(pods) => Self { pods: Some(pods.iter().map(PodFields::new).collect()), ..fields },
            Remedy::Move { pod, turn, .. } => {
                let turn = match turn {
                    Turn::First => BEFORE,
                    Turn::Last => AFTER,
                };
                Self { restarts: Some(PodFields::new(pod)), turn: Some(turn), ..fields }
            }
            Remedy::AskLess(asks) | Remedy::AskMore(asks) => {
                Self { amounts: Some(asks.iter().map(AmountFields::new).collect()), ..fields }
            }
            Remedy::More { node, amounts } => {
                let more = amounts.iter().map(|(resource, amount)| MoreFields { resource, amount: *amount });
                Self { node: Some(node.0), more: Some(more.collect()), ..fields }
            }
            Remedy::ReserveCpus { fits, .. } => {
                Self { reserved_system_cpus: Some(fits.to_string()), ..fields }
            }
            Remedy::Regroup => Self { option: Some(REGROUP), ..fields },
            Remedy::PreferLinks => Self { option: Some(LINKS), ..fields },
            Remedy::Policy { fits, .. } => Self { topology_manager_policy: Some(fits.name()), ..fields },
            Remedy::Scope { fits, .. } => Self { topology_manager_scope: Some(fits.name()), ..fields },
        }
    }
}

impl<'a> PodFields<'a> {
    fn new(pod: &'a NamedPod) -> Self {
        Self { name: &pod.name, uid: pod.uid.as_str() }
    }
}

impl<'a> AmountFields<'a> {
    fn new(ask: &'a Ask) -> Self {
        let container = ask.container.as_ref().map(ContainerName::as_str);
        Self { container, resource: ask.resource.as_str(), now: &ask.now, fits: &ask.fits }
    }
}

impl Serialize for Alternative {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::new(self).serialize(serializer)
    }
}
