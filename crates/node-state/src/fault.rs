//! What can be wrong with the files of a node, as data; `Display` gives the sentences.

mod kind;
mod reserved;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cpuset::CpuSet;
use device_manager::DeviceId;
use kubelet_checkpoint::cpu::CpuError;
use kubelet_checkpoint::pods::PodsError;
use kubelet_checkpoint::store::{NotRegular, StateFile};
use kubelet_checkpoint::{EmbeddedFault, FileError, JsonError, JsonFault, Oddity, PodLevel, UnknownFormat};
use kubelet_release::Release;
use memory_manager::{StoredBlock, UnevenPages};
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

use crate::books::BookDifference;
use crate::files::NullBooks;
use crate::moves::MovesError;
use crate::record::RecordError;
use crate::start::StartError;
use crate::words;

pub use kind::FaultKind;
pub use reserved::{ReservedGiven, ReservedPart};

/// One fault of one file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The file, below the root.
    pub file: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// A pod with the name by which people know it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NamedPod {
    /// The UID, by which state files know it.
    pub uid: PodUid,
    /// `NAMESPACE/NAME`, or `pod UID` where the name is unknown.
    pub name: String,
}

impl fmt::Display for NamedPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What can be wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    /// In the place of the file is something else; it was renamed.
    NotRegular(NotRegular),
    /// The file cannot be parsed, or was changed.
    Damaged(Damage),
    /// The file parses, and its contents are no CPUs of pods.
    NotCpus(CpuError),
    /// A kubelet of another release wrote the file.
    UnknownFormat(UnknownFormat),
    /// The file of a pod cannot be read.
    UnreadablePod(Arc<RecordError>),
    /// A change of several pods cannot be read.
    UnreadableMoves(Arc<MovesError>),
    /// The file of a pod has the name of another pod's file.
    MisnamedPod(PodUid),
    /// The file of a pod was removed while the pod ran.
    RemovedPod(NamedPod),
    /// Pods have files that list holdings, and the state file is missing.
    Missing,
    /// A kubelet with the other value of the feature gate `PodLevelResourceManagers` wrote the file.
    OtherGate(PodLevel),
    /// A kubelet of a release with another form of files wrote it; this one is wanted.
    OtherForm(Release),
    /// A pod held CPUs as a whole, which it cannot with the gate off; `beside`: CPUs that none of its containers holds.
    WholeCpus {
        /// The pod.
        pod: NamedPod,
        /// All of them, or those beside the containers'.
        cpus: CpuSet,
        /// Whether containers hold them too.
        share: WholeShare,
    },
    /// A manager with another policy wrote the file.
    OtherPolicy {
        /// As the file has it.
        stored: String,
        /// As the configuration has it.
        configured: &'static str,
    },
    /// A pod holds CPUs that are offline or that the machine does not have.
    CpusGone {
        /// The pod.
        pod: NamedPod,
        /// The CPUs.
        cpus: CpuSet,
    },
    /// The shared pool has CPUs that are offline or that the machine does not have.
    SharedCpusGone(CpuSet),
    /// CPUs of no pod are not in the shared pool.
    UnownedCpus(CpuSet),
    /// A pod holds CPUs that the configuration reserves for the system.
    CpusReserved {
        /// The pod.
        pod: NamedPod,
        /// The CPUs.
        cpus: CpuSet,
        /// How it got them.
        given: ReservedGiven,
    },
    /// Pods hold every CPU that is not reserved for the system alone: the shared pool is empty.
    FullNode,
    /// The shared pool has CPUs that only the system may use.
    SharedCpusReserved(CpuSet, ReservedPart),
    /// Reserved CPUs are not in the shared pool.
    ReservedNotShared(CpuSet, ReservedPart),
    /// CPUs of pods are in the shared pool.
    OwnedAndShared {
        /// The pods.
        pods: Vec<NamedPod>,
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Pods hold the same CPUs.
    CpusOwnedTwice {
        /// The pods, two or more, the oldest first.
        pods: Vec<NamedPod>,
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Pods hold the same devices.
    DevicesOwnedTwice {
        /// The pods, two or more, the oldest first.
        pods: Vec<NamedPod>,
        /// The devices.
        devices: BTreeSet<(ResourceName, DeviceId)>,
    },
    /// The node has other amounts of memory than the file.
    MemoryDrifted(Vec<BookDifference>),
    /// The sums of the file are not those of its entries.
    Books(Vec<BookDifference>),
    /// The books of a NUMA node are null.
    NullBooks(NullBooks),
    /// A pod holds memory where the machine has none of that kind.
    MemoryGone {
        /// The pod.
        pod: NamedPod,
        /// Its blocks there.
        blocks: Vec<StoredBlock>,
    },
    /// Pods hold more memory than there is for pods.
    Overbooked {
        /// Of which kind.
        resource: ResourceName,
        /// How many bytes more.
        bytes: u64,
    },
    /// No file proves what pods hold.
    Unproven(Unproven),
    /// The state file lists other holdings of a pod than the pod's own file.
    Disagreement {
        /// The pod.
        pod: NamedPod,
        /// By the state file.
        stored: Holding,
        /// By the pod's own file.
        own: Holding,
    },
    /// A pod that does not run holds something.
    PodGone {
        /// The pod.
        pod: PodUid,
        /// What it holds.
        held: Holding,
    },
    /// Memory is bound over NUMA nodes that do not list the same sizes of huge pages; the kubelet crashes on it.
    UnevenPages(UnevenPages),
    /// A kubelet would not start from the file for another reason than those above.
    Rejected(Arc<StartError>),
    /// A kubelet accepts the file and did not write it so; nothing is wrong.
    /// Each with its byte.
    Odd(Vec<(usize, Oddity)>),
}

/// Which CPUs of a pod as a whole are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WholeShare {
    /// All; the containers hold them too.
    OfContainers,
    /// Those that no container holds.
    BesideContainers,
}

/// Why nothing proves what pods hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unproven {
    /// A part of their entries can be read.
    Cut(Kind, Vec<NamedPod>),
    /// No file has their entries.
    Lost(Kind, Vec<NamedPod>),
    /// Their manifests request some, and there is no entry.
    Unserved(Kind, Vec<NamedPod>),
    /// The shared pool, by which entries are checked, cannot be read.
    SharedPoolLost,
    /// The shared pool has the CPUs of the entry too.
    Shared(NamedPod, CpuSet),
    /// The entry has another number of CPUs than the manifest requests.
    OtherCount(NamedPod),
    /// CPUs are missing from all entries and from the shared pool.
    Gap(CpuSet),
    /// No other file, and no manifest, has this container.
    StrangeContainer(NamedPod, ContainerName),
    /// The blocks that a NUMA node counts are not those of the entries.
    OtherBlocks(NodeId),
    /// The entries do not fit the machine.
    NoFit,
    /// The amount that a NUMA node has booked is not that of the entries.
    OtherAmount(NodeId, ResourceName),
    /// Nothing else lists devices and the answers of plugins.
    Devices(Vec<NamedPod>),
}

/// What a state file is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Exclusive CPUs.
    Cpus,
    /// Memory and huge pages.
    Memory,
    /// Devices of plugins.
    Devices,
}

impl From<StateFile> for Kind {
    fn from(file: StateFile) -> Self {
        match file {
            StateFile::Cpu => Self::Cpus,
            StateFile::Memory => Self::Memory,
            StateFile::Device => Self::Devices,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpus => "CPUs",
            Self::Memory => "memory",
            Self::Devices => "devices",
        })
    }
}

/// What a pod holds by one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holding {
    /// Exclusive CPUs.
    Cpus(CpuSet),
    /// Memory and huge pages.
    Memory(Vec<StoredBlock>),
    /// Devices of plugins.
    Devices(BTreeSet<(ResourceName, DeviceId)>),
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpus(cpus) if cpus.is_empty() => f.write_str("no exclusive CPUs"),
            Self::Memory(blocks) if blocks.is_empty() => f.write_str("no memory"),
            Self::Devices(devices) if devices.is_empty() => f.write_str("no devices"),
            Self::Cpus(cpus) => f.write_str(&words::cpus(cpus)),
            Self::Memory(blocks) => f.write_str(&words::list(blocks.iter().map(words::block))),
            Self::Devices(devices) => f.write_str(&words::devices(devices)),
        }
    }
}

/// Why a state file cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    error: DamageError,
    length: usize,
    /// Of the byte at which parsing failed, from 1.
    line: usize,
    column: usize,
}

/// What parsing came to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum DamageError {
    /// Of a file.
    File(FileError),
    /// Of a text in it.
    Text(JsonError),
}

impl Damage {
    /// The error of parsing `file`.
    #[must_use]
    pub fn new(error: FileError, file: &[u8]) -> Self {
        let offset = if let FileError::Json(error) = &error { error.offset } else { 0 };
        Self::at(DamageError::File(error), offset, file)
    }

    /// The error of parsing a file of what pods were admitted or run with.
    #[must_use]
    pub fn of_pods(error: PodsError, file: &[u8]) -> Self {
        match error {
            PodsError::Data(error) => Self::at(DamageError::Text(error), 0, file),
            PodsError::File(error) => Self::new(error, file),
        }
    }

    fn at(error: DamageError, offset: usize, file: &[u8]) -> Self {
        let before = file.get(..offset).unwrap_or(file);
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Self { error, length: file.len(), line, column }
    }
}

impl Damage {
    /// Whether the file has its data as text, so that kubelets up to v1.36 read other members of it.
    #[must_use]
    pub const fn is_of_embedded(&self) -> bool {
        matches!(self.error, DamageError::File(FileError::Embedded { .. }))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, length, line, column } = self;
        let error = match error {
            DamageError::File(error) => error,
            DamageError::Text(error) => return write!(f, "not of the kubelet's form: {error}"),
        };
        match error {
            FileError::Json(error) => match &error.fault {
                JsonFault::UnexpectedEnd if *length == 0 => {
                    f.write_str("empty: nothing was ever written to it")
                }
                JsonFault::UnexpectedEnd => write!(f, "torn: it breaks off after {length} bytes"),
                JsonFault::InvalidCharacter { .. } => {
                    write!(f, "no JSON at line {line}, column {column}: {error}")
                }
                _ => write!(f, "not of the kubelet's form at line {line}, column {column}: {error}"),
            },
            FileError::Corrupt { stored, computed } => write!(
                f,
                "changed after it was written: its checksum is {stored}, and that of its contents is {computed}"
            ),
            FileError::Embedded { fault, .. } => match &**fault {
                EmbeddedFault::Corrupt { stored, computed } => write!(
                    f,
                    "changed after it was written: the checksum of its data is {stored}, and that of its contents is \
                     {computed}"
                ),
                other => write!(f, "not of the kubelet's form: {other}"),
            },
            other => other.fmt(f),
        }
    }
}

/// An error with what caused it.
fn with_cause(f: &mut fmt::Formatter<'_>, error: &dyn std::error::Error) -> fmt::Result {
    match error.source() {
        Some(cause) => write!(f, "{error}: {cause}"),
        None => write!(f, "{error}"),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular(error) => error.fmt(f),
            Self::Damaged(damage) => damage.fmt(f),
            Self::NotCpus(error) => error.fmt(f),
            Self::UnknownFormat(format) => format.fmt(f),
            Self::UnreadablePod(error) => with_cause(f, error.as_ref()),
            Self::UnreadableMoves(error) => with_cause(f, error.as_ref()),
            Self::MisnamedPod(uid) => write!(f, "it is the file of pod {uid}, under another name"),
            Self::RemovedPod(pod) => write!(f, "removed while {pod} ran"),
            Self::Missing => f.write_str("missing, and pods have files that list what they hold"),
            Self::OtherForm(release) => write!(f, "not in the form of kubelet {release}"),
            Self::OtherGate(configured) => {
                let written = match configured {
                    PodLevel::Off => "on",
                    PodLevel::On => "off",
                };
                write!(
                    f,
                    "written with feature gate PodLevelResourceManagers {written}, and the configuration has it {}",
                    if written == "on" { "off" } else { "on" }
                )
            }
            Self::WholeCpus { pod, cpus, share } => {
                write!(f, "{pod} held {} as a whole", words::cpus(cpus))?;
                f.write_str(match share {
                    WholeShare::OfContainers => "",
                    WholeShare::BesideContainers => ", beside those of its containers",
                })
            }
            Self::OtherPolicy { stored, configured } => {
                write!(f, "written under policy {stored:?}, and the configuration has {configured:?}")
            }
            Self::CpusGone { pod, cpus } => {
                let (held, are) = (words::cpus(cpus), words::are(cpus));
                write!(f, "{pod} holds {held}, which {are} offline or not on this machine")
            }
            Self::SharedCpusGone(cpus) => {
                let (held, are) = (words::cpus(cpus), words::are(cpus));
                write!(f, "the shared pool has {held}, which {are} offline or not on this machine")
            }
            Self::UnownedCpus(cpus) => {
                let belong = if cpus.len() == 1 { "belongs" } else { "belong" };
                let (held, are) = (words::cpus(cpus), words::are(cpus));
                write!(f, "{held} {belong} to no pod and {are} not in the shared pool")
            }
            Self::CpusReserved { pod, cpus, given } => {
                let held = words::cpus(cpus);
                write!(f, "{pod} holds {held}, which the configuration reserves for the system{given}")
            }
            Self::FullNode => f.write_str(reserved::FULL_NODE),
            Self::SharedCpusReserved(cpus, _) => {
                let held = words::cpus(cpus);
                write!(f, "the shared pool has {held}, which the configuration keeps for the system alone")
            }
            Self::ReservedNotShared(cpus, _) => {
                write!(f, "reserved {} {} not in the shared pool", words::cpus(cpus), words::are(cpus))
            }
            Self::OwnedAndShared { pods, cpus } => {
                let pods = words::names(pods);
                write!(f, "{} of {pods} {} in the shared pool too", words::cpus(cpus), words::are(cpus))
            }
            Self::CpusOwnedTwice { pods, cpus } => {
                write!(f, "{} {} hold {}", words::names(pods), both_or_all(pods), words::cpus(cpus))
            }
            Self::DevicesOwnedTwice { pods, devices } => {
                write!(f, "{} {} hold {}", words::names(pods), both_or_all(pods), words::devices(devices))
            }
            Self::MemoryDrifted(differences) | Self::Books(differences) => {
                f.write_str(&words::shortened(differences.iter().map(ToString::to_string)))
            }
            Self::NullBooks(error) => write!(f, "the {error}"),
            Self::MemoryGone { pod, blocks } => {
                let blocks = words::list(blocks.iter().map(words::block));
                write!(f, "{pod} holds {blocks}, and this machine has none of that there")
            }
            Self::Overbooked { resource, bytes } => {
                let bytes = words::bytes(*bytes);
                write!(f, "pods hold {bytes} of {resource} more than their NUMA nodes have for pods")
            }
            Self::Unproven(unproven) => unproven.fmt(f),
            Self::Disagreement { pod, stored, own } => {
                write!(f, "it lists {stored} for {pod}, and the pod's own file lists {own}")
            }
            Self::PodGone { pod, held } => write!(f, "pod {pod} is gone and still holds {held}"),
            Self::UnevenPages(uneven) => uneven.fmt(f),
            Self::Rejected(error) => error.fmt(f),
            Self::Odd(oddities) => {
                f.write_str("not as a kubelet writes it: ")?;
                match oddities.first() {
                    Some((_, Oddity::NoChecksum)) => write!(f, "{}", Oddity::NoChecksum)?,
                    Some((offset, oddity)) => write!(f, "at byte {offset}: {oddity}")?,
                    None => {}
                }
                match oddities.len().saturating_sub(1) {
                    0 => Ok(()),
                    more => write!(f, ", and {more} more such things"),
                }
            }
        }
    }
}

/// How two or more pods hold the same.
const fn both_or_all(pods: &[NamedPod]) -> &'static str {
    if pods.len() > 2 { "all" } else { "both" }
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pods: &[NamedPod]| words::names(pods);
        match self {
            Self::Cut(kind, pods) => {
                write!(f, "only part of the {kind} that {} held can be read", names(pods))
            }
            Self::Lost(kind, pods) => write!(f, "no file records which {kind} {} held", names(pods)),
            Self::Unserved(kind, pods) => {
                let pods = names(pods);
                write!(f, "no entry lists the {kind} of {pods}, and their manifests request some")
            }
            Self::SharedPoolLost => {
                f.write_str("the shared pool cannot be read, so nothing confirms who holds which CPUs")
            }
            Self::Shared(pod, cpus) => {
                write!(f, "{pod} holds {}, which the shared pool has too", words::cpus(cpus))
            }
            Self::OtherCount(pod) => {
                write!(f, "{pod} holds another number of CPUs than its manifest requests")
            }
            Self::Gap(cpus) => {
                write!(f, "no entry and no pool has {}, so one of the entries is wrong", words::cpus(cpus))
            }
            Self::StrangeContainer(pod, container) => {
                write!(f, "no other file lists a container {container} of {pod}")
            }
            Self::OtherBlocks(node) => write!(
                f,
                "the number of blocks on NUMA {node} is not that of the entries, so one of the entries is wrong"
            ),
            Self::NoFit => f.write_str("the entries do not fit this machine, so one of them is wrong"),
            Self::OtherAmount(node, resource) => write!(
                f,
                "the {resource} booked on NUMA {node} is not that of the entries, so one of the entries is wrong"
            ),
            Self::Devices(pods) => {
                let pods = names(pods);
                write!(f, "nothing confirms which devices {pods} hold, and what the plugins answered")
            }
        }
    }
}
