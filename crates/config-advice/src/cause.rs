//! Why a field is wrong.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::mem::discriminant;

use cpuset::CpuSet;
use node_config::{CpuConfigError, Invalid, InvalidField, ReservationError, ReservedFor};
use serde::Serialize;
use topology_admission::StartFault;

use crate::amount::SmallAmount;
use crate::hazard::Hazard;
use crate::idle::Idle;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The kubelet does not start.
    Refused,
    /// Its effect cannot be determined from the file.
    NotKnown,
    /// The kubelet starts and ignores the field, or a part of it.
    WithoutEffect,
    /// The kubelet starts, and pods cannot be admitted or harm each other.
    Harmful,
    /// The kubelet starts and does what is probably not intended.
    Doubtful,
}

/// Why a field is wrong. `Display` gives the kubelet's own text where it has one.
#[derive(Clone, PartialEq, Debug)]
pub enum Cause {
    /// The kubelet's validation refuses the configuration.
    Invalid(Invalid),
    /// A manager does not start with it on this machine.
    Start(StartFault),
    /// The kubelet starts, and pods cannot be admitted or harm each other.
    Hazard(Hazard),
    /// The kubelet does what is probably not intended.
    Doubt(Doubt),
}

/// A setting that works and is probably not intended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// Reserved CPUs are only a part of some cores.
    SplitCores {
        /// The reserved CPUs.
        reserved: CpuSet,
        /// The CPUs of each such core.
        cores: Vec<CpuSet>,
    },
    /// A Topology Manager policy that aligns devices alone, because CPUs and memory are not managed.
    AlignsDevicesAlone {
        /// The policy.
        policy: String,
    },
    /// Memory is reserved by NUMA node, and memory is not managed.
    ReservedMemoryUnused,
    /// Huge pages of the machine are bound to no NUMA node, because memory is not managed, while CPUs are aligned.
    HugePagesUnbound,
    /// Settings of one field that have no effect; at least one.
    Idle(Vec<Idle>),
    /// Amounts of one field that are next to nothing; at least one.
    SmallAmounts {
        /// The field.
        field: &'static str,
        /// The amounts.
        amounts: Vec<SmallAmount>,
    },
}

impl Cause {
    /// How bad it is.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Invalid(_) | Self::Start(_) => Severity::Refused,
            Self::Hazard(_) => Severity::Harmful,
            Self::Doubt(Doubt::Idle(_) | Doubt::ReservedMemoryUnused) => Severity::WithoutEffect,
            Self::Doubt(_) => Severity::Doubtful,
        }
    }

    /// Whether the other is of the same kind, whatever its values, in the same field.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let is_same_kind = match (self, other) {
            (Self::Invalid(one), Self::Invalid(other)) => one == other,
            (Self::Start(one), Self::Start(other)) => one == other,
            (Self::Hazard(one), Self::Hazard(other)) => discriminant(one) == discriminant(other),
            (Self::Doubt(one), Self::Doubt(other)) => discriminant(one) == discriminant(other),
            _ => false,
        };
        is_same_kind && self.field() == other.field()
    }

    /// Whether it is a fault of the kubelet that shows when it restarts on a full node and refuses pods.
    pub(crate) fn is_of_restart(&self) -> bool {
        matches!(self, Self::Hazard(hazard @ Hazard::RefusedAtRestart { .. }) if hazard.fault().is_some())
    }

    /// The field that has to change.
    pub(crate) fn field(&self) -> &'static str {
        match self {
            Self::Invalid(invalid) => invalid_field(invalid.field()),
            Self::Start(fault) => fault_field(fault),
            Self::Hazard(hazard) => hazard.field(),
            Self::Doubt(Doubt::SplitCores { .. }) => "reservedSystemCPUs",
            Self::Doubt(Doubt::AlignsDevicesAlone { .. }) => "topologyManagerPolicy",
            Self::Doubt(Doubt::ReservedMemoryUnused) => "reservedMemory",
            Self::Doubt(Doubt::HugePagesUnbound) => "memoryManagerPolicy",
            Self::Doubt(Doubt::Idle(idle)) => idle.first().map_or("", |idle| idle.field),
            Self::Doubt(Doubt::SmallAmounts { field, .. }) => field,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Start(fault) => fault.fmt(f),
            Self::Hazard(hazard) => hazard.fmt(f),
            Self::Doubt(doubt) => doubt.fmt(f),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SplitCores { reserved, cores } => {
                let cores: Vec<String> = cores.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "{reserved} has only a part of the cores {}: the rest is never given out as a whole core",
                    cores.join(" and ")
                )
            }
            Self::AlignsDevicesAlone { policy } => write!(
                f,
                "{policy} aligns devices alone: cpuManagerPolicy is none, and memoryManagerPolicy None"
            ),
            Self::ReservedMemoryUnused => f.write_str("memoryManagerPolicy is None"),
            Self::HugePagesUnbound => f.write_str(
                "with None nothing binds the huge pages of this machine to a NUMA node: those of a pod may be on another one than its CPUs",
            ),
            Self::Idle(idle) => list(f, idle),
            Self::SmallAmounts { amounts, .. } => list(f, amounts),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at == 0 { "" } else { "; " })?;
    }
    Ok(())
}

const fn invalid_field(wrong: &InvalidField) -> &'static str {
    match wrong {
        InvalidField::SystemCgroupsWithoutRoot => "systemCgroups",
        InvalidField::NegativeMaxPods(_) => "maxPods",
        InvalidField::NegativePodsPerCore(_) => "podsPerCore",
        InvalidField::TopologyPolicy(_) => "topologyManagerPolicy",
        InvalidField::TopologyScope(_) => "topologyManagerScope",
        InvalidField::SystemReservedWithoutCgroup => "systemReservedCgroup",
        InvalidField::KubeReservedWithoutCgroup => "kubeReservedCgroup",
        InvalidField::ReservedCpusBesideCgroups | InvalidField::ReservedCpus { .. } => "reservedSystemCPUs",
        InvalidField::ReservedType { .. }
        | InvalidField::ReservedZero { .. }
        | InvalidField::ReservedTwice { .. } => "reservedMemory",
        InvalidField::NoCgroups(_) => "cgroupsPerQOS",
        InvalidField::SysctlsWithoutGate
        | InvalidField::SysctlName(_)
        | InvalidField::SysctlOfNode(_)
        | InvalidField::DuplicateSysctl(_) => "defaultPodSysctls",
        InvalidField::ThrottlingWithoutGate | InvalidField::ThrottlingRange(_) => "memoryThrottlingFactor",
        _ => "enforceNodeAllocatable",
    }
}

const fn fault_field(fault: &StartFault) -> &'static str {
    match fault {
        StartFault::Gate(_) => "featureGates",
        StartFault::Reservation(ReservationError::CpuList(_) | ReservationError::NotOnline { .. })
        | StartFault::CpuReservation(_) => "reservedSystemCPUs",
        StartFault::Reservation(ReservationError::Amount { of: ReservedFor::Kube, .. }) => "kubeReserved",
        StartFault::Reservation(ReservationError::Eviction(_)) => "evictionHard",
        StartFault::Reservation(_) | StartFault::ReservedTooMuch(_) => "systemReserved",
        StartFault::Topology(_) => "topologyManagerPolicyOptions",
        StartFault::MemoryConfig(_) => "memoryManagerPolicy",
        StartFault::Memory(_) => "reservedMemory",
        StartFault::CpuConfig(CpuConfigError::UnknownPolicy(_)) => "cpuManagerPolicy",
        _ => "cpuManagerPolicyOptions",
    }
}
