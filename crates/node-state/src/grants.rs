//! What a pod was granted, as its own file keeps it beside the manifest.
//!
//! The three state files hold the same, for all pods together. One damaged file must not lose what a running container
//! holds, so each pod carries its own part, which is written whenever it changes.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use device_manager::{AllocateReply, DeviceId, Held, HeldOn};
use memory_manager::StoredBlock;
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use topology_admission::{Ledger, Node};
use topology_model::NodeId;

/// What one pod holds. `None`: the manager was off when it was granted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Grants {
    /// Exclusive CPUs.
    pub cpus: Option<Cpus>,
    /// What resizes have added to the CPUs of its containers, the oldest first. It decides what a container gives back
    /// first; the state files have sets only.
    pub grown: BTreeMap<ContainerName, Vec<CpuSet>>,
    /// Memory and huge pages.
    pub memory: Option<Memory>,
    /// Devices, by container and resource.
    pub devices: BTreeMap<(ContainerName, ResourceName), Held>,
}

/// CPUs of a pod's own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cpus {
    /// Of its containers.
    pub containers: BTreeMap<ContainerName, CpuSet>,
    /// Of the pod as a whole.
    pub whole: Option<CpuSet>,
}

/// Memory of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Of its containers.
    pub containers: BTreeMap<ContainerName, Vec<StoredBlock>>,
    /// Of the pod as a whole.
    pub whole: Option<Vec<StoredBlock>>,
}

impl Grants {
    /// What `pod` holds.
    #[must_use]
    pub fn of(node: &Node, ledger: &Ledger, pod: &PodUid) -> Self {
        let cpus = ledger.cpus().map(|held| Cpus {
            containers: held.of_pod(pod).map(|(name, cpus)| (name.clone(), cpus.clone())).collect(),
            whole: held.whole_pod(pod).cloned(),
        });
        let grown = ledger.cpus().into_iter().flat_map(|held| {
            let of = held.of_pod(pod).map(move |(name, _)| (name.clone(), held.grown_of(pod, name).to_vec()));
            of.filter(|(_, added)| !added.is_empty())
        });
        let grown = grown.collect();
        let memory = node.memory().zip(ledger.memory()).map(|(policy, held)| {
            let (containers, whole) = policy.stored_of(held, pod);
            Memory { containers, whole }
        });
        let devices = ledger.devices().of_pod(pod);
        let devices = devices.map(|(name, of, held)| ((name.clone(), of.clone()), held.clone()));
        Self { cpus, grown, memory, devices: devices.collect() }
    }
}

/// As it is written.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpus: Option<WireCpus>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    grown: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<WireMemory>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    devices: Vec<WireDevices>,
}

#[derive(Serialize, Deserialize)]
struct WireCpus {
    containers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WireMemory {
    containers: BTreeMap<String, Vec<WireBlock>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<Vec<WireBlock>>,
}

#[derive(Serialize, Deserialize)]
struct WireBlock {
    nodes: Vec<i64>,
    resource: String,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct WireDevices {
    container: String,
    resource: String,
    nodes: BTreeMap<i64, Vec<String>>,
    /// What the plugin answered.
    #[serde(with = "reply")]
    reply: AllocateReply,
}

mod reply {
    //! What a plugin answered as base64: an answer of megabytes as a list of numbers takes hundreds of them.

    use std::fmt;
    use std::sync::Arc;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use device_manager::AllocateReply;
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(reply: &AllocateReply, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&reply.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<AllocateReply, D::Error> {
        from.deserialize_any(Either)
    }

    /// Base64, or, as earlier releases wrote it, a list of numbers.
    struct Either;

    impl<'de> Visitor<'de> for Either {
        type Value = AllocateReply;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("base64 or a list of bytes")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<AllocateReply, E> {
            let bytes = STANDARD.decode(text).map_err(E::custom)?;
            Ok(AllocateReply(Arc::from(bytes)))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<AllocateReply, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(AllocateReply(Arc::from(bytes)))
        }
    }
}

/// CPUs that are no list of CPUs.
#[derive(Debug, Error)]
#[error("{text:?} is no list of CPUs: {error}")]
pub struct NoCpus {
    /// What they are.
    text: String,
    /// Why not.
    #[source]
    error: cpuset::ParseError,
}

impl From<&Grants> for Wire {
    fn from(grants: &Grants) -> Self {
        let blocks = |blocks: &Vec<StoredBlock>| blocks.iter().map(WireBlock::from).collect::<Vec<_>>();
        Self {
            cpus: grants.cpus.as_ref().map(|cpus| WireCpus {
                containers: cpus
                    .containers
                    .iter()
                    .map(|(name, own)| (name.as_str().to_owned(), own.to_string()))
                    .collect(),
                whole: cpus.whole.as_ref().map(CpuSet::to_string),
            }),
            grown: grants
                .grown
                .iter()
                .map(|(name, added)| (name.to_string(), added.iter().map(CpuSet::to_string).collect()))
                .collect(),
            memory: grants.memory.as_ref().map(|memory| WireMemory {
                containers: memory
                    .containers
                    .iter()
                    .map(|(name, own)| (name.as_str().to_owned(), blocks(own)))
                    .collect(),
                whole: memory.whole.as_ref().map(blocks),
            }),
            devices: grants.devices.iter().map(WireDevices::from).collect(),
        }
    }
}

impl From<&StoredBlock> for WireBlock {
    fn from(block: &StoredBlock) -> Self {
        let StoredBlock { nodes, resource, size } = block;
        let nodes = nodes.iter().map(|node| node.0).collect();
        Self { nodes, resource: resource.as_str().to_owned(), bytes: *size }
    }
}

impl From<(&(ContainerName, ResourceName), &Held)> for WireDevices {
    fn from(((container, resource), held): (&(ContainerName, ResourceName), &Held)) -> Self {
        let ids = |ids: &[DeviceId]| ids.iter().map(|id| id.as_str().to_owned()).collect();
        Self {
            container: container.as_str().to_owned(),
            resource: resource.as_str().to_owned(),
            nodes: held.by_node().map(|(on, of)| (on.id().0, ids(of))).collect(),
            reply: held.reply.clone(),
        }
    }
}

impl TryFrom<Wire> for Grants {
    type Error = NoCpus;

    fn try_from(wire: Wire) -> Result<Self, NoCpus> {
        let cpus = |text: String| -> Result<CpuSet, NoCpus> {
            text.parse().map_err(|error| NoCpus { text: text.clone(), error })
        };
        let blocks = |blocks: Vec<WireBlock>| blocks.into_iter().map(StoredBlock::from).collect::<Vec<_>>();
        let of_cpus = |wire: WireCpus| -> Result<Cpus, NoCpus> {
            let containers = wire.containers.into_iter();
            let containers = containers.map(|(name, own)| Ok((ContainerName::new(&name), cpus(own)?)));
            Ok(Cpus {
                containers: containers.collect::<Result<_, _>>()?,
                whole: wire.whole.map(cpus).transpose()?,
            })
        };
        let of_memory = |wire: WireMemory| Memory {
            containers: wire
                .containers
                .into_iter()
                .map(|(name, own)| (ContainerName::new(&name), blocks(own)))
                .collect(),
            whole: wire.whole.map(blocks),
        };
        let devices = wire.devices.into_iter().map(|of| {
            let by_node = of.nodes.into_iter().map(|(node, ids)| {
                (HeldOn::from(NodeId(node)), ids.iter().map(|id| DeviceId::new(id)).collect())
            });
            let held = Held::new(by_node, of.reply);
            ((ContainerName::new(&of.container), ResourceName::new(&of.resource)), held)
        });
        let grown = wire.grown.into_iter().map(|(name, added)| {
            let added = added.into_iter().map(cpus).collect::<Result<Vec<_>, _>>()?;
            Ok((ContainerName::new(&name), added))
        });
        Ok(Self {
            grown: grown.collect::<Result<_, NoCpus>>()?,
            cpus: wire.cpus.map(of_cpus).transpose()?,
            memory: wire.memory.map(of_memory),
            devices: devices.collect(),
        })
    }
}

impl From<WireBlock> for StoredBlock {
    fn from(block: WireBlock) -> Self {
        Self {
            nodes: block.nodes.into_iter().map(NodeId).collect(),
            resource: ResourceName::new(&block.resource),
            size: block.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_stored_as_text_and_read_as_earlier_releases_wrote_it() {
        let read = |text: &str| serde_json::from_str::<WireDevices>(text);
        let earlier = r#"{"container":"c","resource":"r.io/x","nodes":{"0":["a"]},"reply":[10,0,255]}"#;
        let Ok(devices) = read(earlier) else { panic!("it is read") };
        assert_eq!(&*devices.reply.0, [10, 0, 255]);
        let now = serde_json::to_string(&devices).unwrap_or_default();
        assert_eq!(now, earlier.replace("[10,0,255]", r#""CgD/""#));
        assert_eq!(read(&now).ok().map(|devices| devices.reply), Some(devices.reply));
        for bad in [r#""C""#, r#""?""#, "[256]", "7"] {
            assert!(read(&earlier.replace("[10,0,255]", bad)).is_err(), "{bad}");
        }
    }
}
