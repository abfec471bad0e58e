//! The files that a kubelet keeps, with other names and the checksums that belong to these.
//!
//! A file that a kubelet takes is one that it takes, and a file that it refuses stays one that it refuses: where the checksum was that
//! of the content, it is so again. A file that is no JSON becomes another one that is none.

use kubelet_checkpoint::claims::{ClaimsError, ClaimsFile};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::memory::{MemoryFile, MemoryFormat};
use kubelet_checkpoint::pods::{PodsError, PodsFile};
use kubelet_checkpoint::{EmbeddedFault, FileError, Forms};
use kubelet_release::PodAllocationsForm;
use serde_json::Value;
use support_bundle::StateName;

use super::names::{NameKind, Names};
use super::shape::{LeftOut, Shape};

const UID: Shape = Shape::Name(NameKind::Uid);
const CONTAINER: Shape = Shape::Name(NameKind::Container);
const AMOUNTS: Shape = Shape::Map(&Shape::Resource, &Shape::Scalar);
const CPUS: Shape = Shape::Map(&UID, &Shape::Map(&CONTAINER, &Shape::Cpus));

const CPU_MEMBERS: Shape = Shape::Object(&[
    ("policyName", Shape::Scalar),
    ("defaultCpuSet", Shape::Cpus),
    ("entries", CPUS),
    ("podEntries", Shape::Map(&UID, &Shape::Object(&[("cpuSet", Shape::Cpus)]))),
    ("baselines", Shape::Map(&UID, &Shape::Map(&CONTAINER, &Shape::Object(&[("baseline", Shape::Cpus)])))),
    ("checksum", Shape::Number),
]);

const BLOCKS: Shape = Shape::List(&Shape::Object(&[
    ("numaAffinity", Shape::List(&Shape::Number)),
    ("type", Shape::Resource),
    ("size", Shape::Number),
]));

const TABLE: Shape = Shape::Object(&[
    ("total", Shape::Number),
    ("systemReserved", Shape::Number),
    ("allocatable", Shape::Number),
    ("reserved", Shape::Number),
    ("free", Shape::Number),
]);

const NODES: Shape = Shape::Map(
    &Shape::Number,
    &Shape::Object(&[
        ("numberOfAssignments", Shape::Number),
        ("memoryMap", Shape::Map(&Shape::Resource, &TABLE)),
        ("cells", Shape::List(&Shape::Number)),
    ]),
);

const DEVICES: Shape = Shape::Object(&[
    (
        "Data",
        Shape::Object(&[
            (
                "PodDeviceEntries",
                Shape::List(&Shape::Object(&[
                    ("PodUID", UID),
                    ("ContainerName", CONTAINER),
                    ("ResourceName", Shape::Resource),
                    ("DeviceIDs", Shape::Map(&Shape::Number, &Shape::List(&Shape::Device))),
                    // What a plugin answered: environment, mounts, devices of the host.
                    ("AllocResp", Shape::Emptied),
                ])),
            ),
            ("RegisteredDevices", Shape::Map(&Shape::Resource, &Shape::List(&Shape::Device))),
        ]),
    ),
    ("Checksum", Shape::Number),
]);

const REQUIREMENTS: Shape = Shape::Object(&[
    ("limits", AMOUNTS),
    ("requests", AMOUNTS),
    (
        "claims",
        Shape::List(&Shape::Object(&[
            ("name", Shape::Name(NameKind::Claim)),
            ("request", Shape::Name(NameKind::Claim)),
        ])),
    ),
]);

const PODS: Shape = Shape::Object(&[
    (
        "data",
        Shape::Text(&Shape::Object(&[(
            "entries",
            Shape::Map(
                &UID,
                &Shape::Object(&[
                    ("ContainerResources", Shape::Map(&CONTAINER, &REQUIREMENTS)),
                    ("PodLevelResources", REQUIREMENTS),
                    ("EmptyDirVolumeLimits", Shape::Map(&Shape::Name(NameKind::Text), &Shape::Scalar)),
                ]),
            ),
        )])),
    ),
    ("checksum", Shape::Number),
]);

const CLAIMS: Shape = Shape::Object(&[
    (
        "Data",
        Shape::Text(&Shape::Object(&[
            ("kind", Shape::Emptied),
            ("apiVersion", Shape::Emptied),
            (
                "ClaimInfoStateList",
                Shape::List(&Shape::Object(&[
                    ("ClaimUID", UID),
                    ("ClaimName", Shape::Name(NameKind::Claim)),
                    ("Namespace", Shape::Namespace),
                    ("PodUIDs", Shape::Map(&UID, &Shape::Object(&[]))),
                    (
                        "DriverState",
                        Shape::Map(
                            &Shape::Resource,
                            &Shape::Object(&[
                                ("skipNodeOperations", Shape::List(&Shape::Emptied)),
                                (
                                    "Devices",
                                    Shape::List(&Shape::Object(&[
                                        ("PoolName", Shape::Name(NameKind::Node)),
                                        ("DeviceName", Shape::Device),
                                        ("ShareID", UID),
                                        ("RequestNames", Shape::List(&Shape::Name(NameKind::Claim))),
                                        ("CDIDeviceIDs", Shape::List(&Shape::Emptied)),
                                    ])),
                                ),
                            ]),
                        ),
                    ),
                ])),
            ),
        ])),
    ),
    ("Checksum", Shape::Number),
]);

/// Both forms have the members of the older one around a text with everything.
const CPU: Shape = Shape::Object(&[
    ("policyName", Shape::Scalar),
    ("defaultCpuSet", Shape::Cpus),
    ("entries", CPUS),
    ("podEntries", Shape::Map(&UID, &Shape::Object(&[("cpuSet", Shape::Cpus)]))),
    ("checksum", Shape::Number),
    ("data", Shape::Text(&CPU_MEMBERS)),
    ("dataChecksum", Shape::Number),
]);

const MEMORY_ENTRIES: Shape = Shape::Map(&UID, &Shape::Map(&CONTAINER, &BLOCKS));
const POD_BLOCKS: Shape = Shape::Map(&UID, &Shape::Object(&[("memoryBlocks", BLOCKS)]));

const MEMORY: Shape = Shape::Object(&[
    ("policyName", Shape::Scalar),
    ("machineState", NODES),
    ("entries", MEMORY_ENTRIES),
    ("podEntries", POD_BLOCKS),
    ("checksum", Shape::Number),
    (
        "data",
        Shape::Text(&Shape::Object(&[
            ("policyName", Shape::Scalar),
            ("machineState", NODES),
            ("entries", MEMORY_ENTRIES),
            ("podEntries", POD_BLOCKS),
            ("checksum", Shape::Number),
        ])),
    ),
    ("dataChecksum", Shape::Number),
]);

/// A text that is no JSON: it ends too early.
const TORN: &[u8] = b"{";

/// The file with other names.
pub(super) fn renamed(name: StateName, text: &[u8], names: &mut Names, left_out: &mut LeftOut) -> Vec<u8> {
    let trimmed = text.trim_ascii();
    if trimmed.is_empty() {
        return Vec::new();
    }
    let Ok(tree) = serde_json::from_slice::<Value>(trimmed) else { return TORN.to_vec() };
    let shape = match name {
        StateName::Cpu => CPU,
        StateName::Memory => MEMORY,
        StateName::Device => DEVICES,
        StateName::Allocated | StateName::Actuated => PODS,
        StateName::Claims => CLAIMS,
    };
    let renamed = shape.kept(&tree, names, left_out);
    sealed(name, text, renamed).to_string().into_bytes()
}

/// The tree with right checksums, where those of the original were right.
fn sealed(name: StateName, original: &[u8], tree: Value) -> Value {
    match name {
        StateName::Cpu => sealed_cpu(original, tree),
        StateName::Memory => sealed_memory(original, tree),
        StateName::Device => {
            let is_sealed = DeviceFile::read(original).fault.is_none();
            with_sum(tree, is_sealed, "Checksum", |text| sum_of(DeviceFile::read(text).fault?))
        }
        StateName::Allocated | StateName::Actuated => {
            let fault = |text: &[u8]| match PodsFile::read(text, PodAllocationsForm::Containers) {
                Err(PodsError::File(error)) => sum_of(error),
                _ => None,
            };
            with_sum(tree, fault(original).is_none(), "checksum", fault)
        }
        StateName::Claims => {
            let fault = |text: &[u8]| match ClaimsFile::read(text) {
                Err(ClaimsError::File(error)) => sum_of(error),
                _ => None,
            };
            with_sum(tree, fault(original).is_none(), "Checksum", fault)
        }
    }
}

fn sealed_cpu(original: &[u8], mut tree: Value) -> Value {
    let all = [CpuFormat::V2, CpuFormat::V3, CpuFormat::V4, CpuFormat::V1];
    let taken =
        || Forms::ALL.iter().any(|forms| CpuFile::read(original, *forms, &ContainerIds::new()).is_ok());
    let mut right: Vec<CpuFormat> =
        all.into_iter().filter(|format| CpuFile::fault_as(*format, original).is_none()).collect();
    // A checksum of a structure by another name, which some releases take.
    if right.is_empty() && has_sum(&tree, "checksum") && taken() {
        right.push(CpuFormat::V2);
    }
    for format in right {
        let member = if format == CpuFormat::V4 { "dataChecksum" } else { "checksum" };
        tree = with_sum(tree, true, member, |text| sum_of(CpuFile::fault_as(format, text)?));
    }
    tree
}

fn sealed_memory(original: &[u8], mut tree: Value) -> Value {
    let fault = |format, text: &[u8]| {
        let faults = Forms::ALL.into_iter().map(|forms| MemoryFile::read_as(format, text, forms).err());
        faults.min_by_key(Option::is_some).flatten()
    };
    for format in [MemoryFormat::V1, MemoryFormat::V2, MemoryFormat::V3] {
        let member = if format == MemoryFormat::V3 { "dataChecksum" } else { "checksum" };
        let is_right = fault(format, original).is_none() && has_sum(&tree, member);
        tree = with_sum(tree, is_right, member, |text| sum_of(fault(format, text)?));
    }
    tree
}

fn has_sum(tree: &Value, member: &str) -> bool {
    tree.get(member).and_then(Value::as_u64).is_some_and(|sum| sum != 0)
}

/// The tree with the checksum that `computed` finds to be that of its text, if it is to have it.
fn with_sum(
    mut tree: Value,
    is_sealed: bool,
    member: &str,
    computed: impl Fn(&[u8]) -> Option<u32>,
) -> Value {
    if is_sealed
        && let Some(sum) = computed(tree.to_string().as_bytes())
        && let Some(members) = tree.as_object_mut()
    {
        members.insert(member.to_owned(), Value::from(sum));
    }
    tree
}

/// The checksum of the content of a file whose own one is another.
fn sum_of(error: FileError) -> Option<u32> {
    match error {
        FileError::Corrupt { computed, .. } => Some(computed),
        FileError::Embedded { fault, .. } => match *fault {
            EmbeddedFault::Corrupt { computed, .. } => Some(computed),
            _ => None,
        },
        _ => None,
    }
}
