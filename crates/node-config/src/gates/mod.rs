//! Feature gates: which each release of the kubelet knows, and which are on.

mod difference;
mod known;
mod table;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use kubelet_release::{GateTable, Rules};
use thiserror::Error;

pub use self::difference::{GateDifference, gate_differences};
pub use self::known::{GateStage, GateState};

use self::known::KnownGate;

/// The gates that the resource managers look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// Options of the CPU manager that are in alpha.
    CpuManagerPolicyAlphaOptions,
    /// Options of the CPU manager that are in beta.
    CpuManagerPolicyBetaOptions,
    /// Options of the Topology Manager that are in beta.
    TopologyManagerPolicyBetaOptions,
    /// Extended resources that a claim of the pod serves.
    DraExtendedResource,
    /// Pod statuses report the health of devices.
    ResourceHealthStatus,
    /// Resources of a pod as a whole.
    PodLevelResources,
    /// CPUs and memory of a pod as a whole.
    PodLevelResourceManagers,
    /// The API server alone fills in resources of a pod as a whole.
    PodLevelResourcesFixDefaulting,
    /// Resources of a pod as a whole that name nothing leave the QoS class to the containers.
    PodLevelResourcesFixKubeletQosClass,
    /// Containers with exclusive CPUs have no quota.
    DisableCpuQuotaWithExclusiveCpus,
    /// Containers can be resized, and their statuses say what they have.
    InPlacePodVerticalScaling,
    /// Pods can be resized as a whole, and their statuses say what they have.
    InPlacePodLevelResourcesVerticalScaling,
    /// Containers with exclusive CPUs can be resized.
    InPlacePodVerticalScalingExclusiveCpus,
    /// Memory requests protect memory and throttle its use.
    MemoryQos,
    /// Sysctls that every pod gets.
    DefaultPodSysctls,
}

impl Gate {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::CpuManagerPolicyAlphaOptions,
        Self::CpuManagerPolicyBetaOptions,
        Self::PodLevelResources,
        Self::PodLevelResourceManagers,
        Self::PodLevelResourcesFixDefaulting,
        Self::PodLevelResourcesFixKubeletQosClass,
        Self::DisableCpuQuotaWithExclusiveCpus,
        Self::InPlacePodVerticalScalingExclusiveCpus,
        Self::MemoryQos,
        Self::DefaultPodSysctls,
    ];

    /// Its name in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuManagerPolicyAlphaOptions => "CPUManagerPolicyAlphaOptions",
            Self::CpuManagerPolicyBetaOptions => "CPUManagerPolicyBetaOptions",
            Self::TopologyManagerPolicyBetaOptions => "TopologyManagerPolicyBetaOptions",
            Self::DraExtendedResource => "DRAExtendedResource",
            Self::ResourceHealthStatus => "ResourceHealthStatus",
            Self::PodLevelResources => "PodLevelResources",
            Self::PodLevelResourceManagers => "PodLevelResourceManagers",
            Self::PodLevelResourcesFixDefaulting => "PodLevelResourcesFixDefaulting",
            Self::PodLevelResourcesFixKubeletQosClass => "PodLevelResourcesFixKubeletQOSClass",
            Self::DisableCpuQuotaWithExclusiveCpus => "DisableCPUQuotaWithExclusiveCPUs",
            Self::InPlacePodVerticalScaling => "InPlacePodVerticalScaling",
            Self::InPlacePodLevelResourcesVerticalScaling => "InPlacePodLevelResourcesVerticalScaling",
            Self::InPlacePodVerticalScalingExclusiveCpus => "InPlacePodVerticalScalingExclusiveCPUs",
            Self::MemoryQos => "MemoryQoS",
            Self::DefaultPodSysctls => "DefaultPodSysctls",
        }
    }
}

/// Why gates cannot be set so. The texts are the kubelet's, which crashes with them.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GateError {
    /// The release knows no such gate.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// The gate is always on or always off.
    #[error("cannot set feature gate {name} to {value}, feature is locked to {}", !value)]
    Locked {
        /// The gate.
        name: String,
        /// What it was to be.
        value: bool,
    },
    /// What a gate builds on is off.
    #[error("{name} is enabled, but depends on features that are disabled: [{}]", .missing.join(" "))]
    Dependency {
        /// The gate that is on.
        name: &'static str,
        /// The gates that are off.
        missing: Vec<&'static str>,
    },
}

/// Which gates are on. The default is that of [`Release::default`](crate::Release::default).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureGates {
    table: GateTable,
    /// Those that are not as they are by default.
    set: BTreeMap<&'static str, bool>,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self::new(Rules::default().gates)
    }
}

impl FeatureGates {
    /// The defaults of a release.
    /// The defaults of a release.
    #[must_use]
    pub const fn new(table: GateTable) -> Self {
        Self { table, set: BTreeMap::new() }
    }

    /// The defaults of a release with the changes of `featureGates`, of which `AllAlpha` and `AllBeta` change every
    /// gate of that stage that is not named itself.
    ///
    /// # Errors
    /// Each change that is impossible, in order of names; then, if all are possible, each gate that is on without
    /// what it builds on.
    pub fn check(table: GateTable, changes: &BTreeMap<String, bool>) -> Result<Self, Vec<GateError>> {
        let mut gates = Self::new(table);
        let mut faults = Vec::new();
        for (every, stage) in [("AllAlpha", GateStage::Alpha), ("AllBeta", GateStage::Beta)] {
            let Some(value) = changes.get(every) else { continue };
            let of_stage = KnownGate::all(table)
                .filter(|known| known.state.stage == stage && !known.state.default.is_locked());
            gates.set.extend(of_stage.map(|known| (known.name, *value)));
        }
        for (name, value) in changes {
            match KnownGate::find(table, name) {
                None => faults.push(GateError::Unknown(name.to_owned())),
                Some(known) if known.is_locked_to(!value) => {
                    faults.push(GateError::Locked { name: name.to_owned(), value: *value });
                }
                Some(known) => {
                    gates.set.insert(known.name, *value);
                }
            }
        }
        if faults.is_empty() {
            faults.extend(KnownGate::all(table).filter_map(|known| gates.unmet(known)));
        }
        if faults.is_empty() { Ok(gates) } else { Err(faults) }
    }

    /// Whether a release knows a gate of this name.
    #[must_use]
    pub fn knows(table: GateTable, name: &str) -> bool {
        KnownGate::find(table, name).is_some()
    }

    /// Whether `gate` is on. A gate that the release does not know is not.
    #[must_use]
    pub fn is_on(&self, gate: Gate) -> bool {
        KnownGate::find(self.table, gate.name()).is_some_and(|known| self.known_is_on(known))
    }

    /// Whether the release knows `gate`, and it is off.
    #[must_use]
    pub fn is_off(&self, gate: Gate) -> bool {
        KnownGate::find(self.table, gate.name()).is_some_and(|known| !self.known_is_on(known))
    }

    fn known_is_on(&self, known: KnownGate) -> bool {
        self.set.get(known.name).copied().unwrap_or(known.state.default.is_on())
    }

    fn unmet(&self, known: KnownGate) -> Option<GateError> {
        let on = |name| KnownGate::find(self.table, name).is_some_and(|needed| self.known_is_on(needed));
        let missing: Vec<_> = known.needs.iter().copied().filter(|name| !on(name)).collect();
        (self.known_is_on(known) && !missing.is_empty())
            .then_some(GateError::Dependency { name: known.name, missing })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use kubelet_release::Release;

    use super::table::KNOWN;
    use super::*;

    fn check(table: GateTable, changes: &[(&str, bool)]) -> Result<FeatureGates, Vec<String>> {
        let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        FeatureGates::check(table, &changes)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn names_are_in_order_and_what_they_need_is_known() {
        assert!(KNOWN.is_sorted_by(|a, b| a.name < b.name));
        for table in Release::ALL.map(|release| Rules::of(release).gates) {
            for known in KnownGate::all(table) {
                let unknown = known.needs.iter().find(|needed| KnownGate::find(table, needed).is_none());
                assert_eq!(unknown, None, "{} in {table:?}", known.name);
            }
            assert_eq!(check(table, &[]), Ok(FeatureGates::new(table)));
        }
    }

    #[test]
    fn each_release_knows_as_many_gates_as_its_binary() {
        let counted = Release::ALL.map(|release| KnownGate::all(Rules::of(release).gates).count());
        assert_eq!(counted, [208, 218, 242, 254]);
    }

    #[test]
    fn defaults_are_those_of_the_release() {
        const V1_36: GateTable = GateTable::V1_36;
        let gates = check(V1_36, &[]).unwrap();
        assert!(gates.is_on(Gate::PodLevelResources));
        assert!(gates.is_on(Gate::CpuManagerPolicyBetaOptions));
        assert!(!gates.is_on(Gate::PodLevelResourceManagers));
        assert!(!gates.is_on(Gate::CpuManagerPolicyAlphaOptions));
        assert!(check(V1_36, &[("AllAlpha", true)]).unwrap().is_on(Gate::CpuManagerPolicyAlphaOptions));
        let but = check(V1_36, &[("AllBeta", false), ("PodLevelResources", true)]);
        assert!(but.is_ok_and(|gates| gates.is_on(Gate::PodLevelResources)));
    }

    #[test]
    fn a_gate_changes_with_the_release() {
        let states = |gate| {
            Release::ALL.map(|release| {
                let gates = FeatureGates::new(Rules::of(release).gates);
                (gates.is_on(gate), gates.is_off(gate))
            })
        };
        let (unknown, on, off) = ((false, false), (true, false), (false, true));
        for (gate, expected) in [
            (Gate::MemoryQos, [off, off, off, on]),
            (Gate::PodLevelResourceManagers, [unknown, unknown, off, off]),
            (Gate::PodLevelResourcesFixDefaulting, [unknown, unknown, unknown, on]),
            (Gate::PodLevelResourcesFixKubeletQosClass, [unknown, unknown, unknown, on]),
            (Gate::DefaultPodSysctls, [unknown, unknown, unknown, off]),
        ] {
            assert_eq!(states(gate), expected, "{}", gate.name());
        }
        // Gone, and locked: what was sound for one release stops the next.
        let gone = [("SidecarContainers", true)];
        assert!(check(GateTable::V1_36, &gone).is_ok());
        assert_eq!(
            check(GateTable::V1_37, &gone),
            Err(vec!["unrecognized feature gate: SidecarContainers".to_owned()])
        );
        let locked = [("DisableCPUQuotaWithExclusiveCPUs", false)];
        assert!(
            check(GateTable::V1_36, &locked)
                .is_ok_and(|gates| gates.is_off(Gate::DisableCpuQuotaWithExclusiveCpus))
        );
        assert_eq!(
            check(GateTable::V1_37, &locked),
            Err(vec![
                "cannot set feature gate DisableCPUQuotaWithExclusiveCPUs to false, feature is locked to true"
                    .to_owned()
            ])
        );
    }

    #[test]
    fn impossible_changes_are_refused() {
        const V1_36: GateTable = GateTable::V1_36;
        assert_eq!(
            check(V1_36, &[("CPUManager", true), ("CPUManagerPolicyOptions", false)]),
            Err(vec![
                "unrecognized feature gate: CPUManager".to_owned(),
                "cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true"
                    .to_owned(),
            ])
        );
    }

    #[test]
    fn what_builds_on_a_gate_must_be_off_with_it() {
        let off = |names: &[&'static str]| names.iter().map(|name| (*name, false)).collect::<Vec<_>>();
        let fault = |name: &str| {
            alloc::format!(
                "{name} is enabled, but depends on features that are disabled: [PodLevelResources]"
            )
        };
        let resources = "PodLevelResources";
        let scaling = "InPlacePodLevelResourcesVerticalScaling";
        let defaulting = "PodLevelResourcesFixDefaulting";
        let class = "PodLevelResourcesFixKubeletQOSClass";
        for (table, off, missing) in [
            (GateTable::V1_36, off(&[resources]), vec![scaling]),
            (GateTable::V1_36, off(&[resources, scaling]), vec![]),
            (GateTable::V1_37, off(&[resources]), vec![scaling, defaulting, class]),
            (GateTable::V1_37, off(&[resources, scaling]), vec![defaulting, class]),
            (GateTable::V1_37, off(&[resources, scaling, defaulting, class]), vec![]),
        ] {
            let missing: Vec<_> = missing.into_iter().map(fault).collect();
            match check(table, &off) {
                Ok(gates) => assert!(missing.is_empty() && gates.is_off(Gate::PodLevelResources)),
                Err(faults) => assert_eq!(faults, missing),
            }
        }
    }
}
