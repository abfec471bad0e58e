//! An alternative as JSON has it: in words, and as values that a program can apply.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use pod_spec::ContainerName;
use serde::{Serialize, Serializer};

use super::{Alternative, Ask, Remedy};
use crate::facts::NamedPod;
use crate::json;
use crate::resource::Resource;

/// The option that dissolves groups of NUMA nodes.
const REGROUP: &str = "memory.regroup";
/// The option that says what becomes of devices that no link has.
const LINKS: &str = "devices.links";

#[derive(Serialize)]
struct Fields<'a> {
    change: &'static str,
    detail: String,
    result: String,
    #[serde(flatten)]
    values: Values<'a>,
}

/// What changes, as values.
#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Values<'a> {
    Pods {
        pods: Vec<PodFields<'a>>,
    },
    Amounts {
        amounts: Vec<AmountFields<'a>>,
    },
    More {
        node: i64,
        more: Vec<MoreFields<'a>>,
    },
    ReservedCpus {
        #[serde(rename = "reservedSystemCPUs")]
        reserved: String,
    },
    Option {
        option: &'static str,
    },
    Policy {
        topology_manager_policy: &'static str,
    },
    Scope {
        topology_manager_scope: &'static str,
    },
}

#[derive(Serialize)]
struct PodFields<'a> {
    name: &'a str,
    uid: &'a str,
}

#[derive(Serialize)]
struct AmountFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a str>,
    resource: &'a str,
    #[serde(serialize_with = "json::text")]
    now: &'a Quantity,
    #[serde(serialize_with = "json::text")]
    fits: &'a Quantity,
}

#[derive(Serialize)]
struct MoreFields<'a> {
    resource: &'a Resource,
    /// Devices by number, huge pages in bytes.
    amount: u64,
}

impl<'a> Values<'a> {
    fn new(remedy: &'a Remedy) -> Self {
        match remedy {
            Remedy::Wait(pods) => Self::Pods { pods: pods.iter().map(PodFields::new).collect() },
            Remedy::AskLess(asks) | Remedy::AskMore(asks) => {
                Self::Amounts { amounts: asks.iter().map(AmountFields::new).collect() }
            }
            Remedy::More { node, amounts } => {
                let more = amounts.iter().map(|(resource, amount)| MoreFields { resource, amount: *amount });
                Self::More { node: node.0, more: more.collect() }
            }
            Remedy::ReserveCpus { fits, .. } => Self::ReservedCpus { reserved: fits.to_string() },
            Remedy::Regroup => Self::Option { option: REGROUP },
            Remedy::PreferLinks => Self::Option { option: LINKS },
            Remedy::Policy { fits, .. } => Self::Policy { topology_manager_policy: fits.name() },
            Remedy::Scope { fits, .. } => Self::Scope { topology_manager_scope: fits.name() },
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
        let (change, detail) = (self.remedy.kind(), self.remedy.to_string());
        Fields { change, detail, result: self.result(), values: Values::new(&self.remedy) }
            .serialize(serializer)
    }
}
