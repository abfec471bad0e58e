//! Feature gates: which the kubelet v1.36.3 knows, and which are on.

mod table;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;

use self::table::KNOWN;

/// How far a feature has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Alpha,
    Beta,
    Stable,
    Deprecated,
}

/// What a gate is unless it is set, and whether it can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Settable {
    On,
    Off,
    LockedOn,
    LockedOff,
}

impl Settable {
    const fn is_on(self) -> bool {
        matches!(self, Self::On | Self::LockedOn)
    }

    const fn is_locked(self) -> bool {
        matches!(self, Self::LockedOn | Self::LockedOff)
    }
}

/// One gate.
struct Known {
    name: &'static str,
    stage: Stage,
    default: Settable,
    needs: &'static [&'static str],
}

impl Known {
    fn find(name: &str) -> Option<&'static Self> {
        KNOWN.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &KNOWN[at])
    }
}

/// The gates that the resource managers look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// Options of the CPU manager that are in alpha.
    CpuManagerPolicyAlphaOptions,
    /// Options of the CPU manager that are in beta.
    CpuManagerPolicyBetaOptions,
    /// Resources of a pod as a whole.
    PodLevelResources,
    /// CPUs and memory of a pod as a whole.
    PodLevelResourceManagers,
    /// Containers with CPUs of their own have no quota.
    DisableCpuQuotaWithExclusiveCpus,
}

impl Gate {
    /// Its name in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuManagerPolicyAlphaOptions => "CPUManagerPolicyAlphaOptions",
            Self::CpuManagerPolicyBetaOptions => "CPUManagerPolicyBetaOptions",
            Self::PodLevelResources => "PodLevelResources",
            Self::PodLevelResourceManagers => "PodLevelResourceManagers",
            Self::DisableCpuQuotaWithExclusiveCpus => "DisableCPUQuotaWithExclusiveCPUs",
        }
    }
}

/// Why gates cannot be set so. The texts are the kubelet's, which crashes with them.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GateError {
    /// No such gate in v1.36.3.
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

/// Which gates are on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureGates {
    /// Those that are not as they are by default.
    set: BTreeMap<&'static str, bool>,
}

impl FeatureGates {
    /// The defaults of v1.36.3 with the changes of `featureGates`, of which `AllAlpha` and `AllBeta` change every
    /// gate of that stage that is not named itself.
    ///
    /// # Errors
    /// Each change that is impossible, in order of names; then, if all are possible, each gate that is on without
    /// what it builds on.
    pub fn check(changes: &BTreeMap<String, bool>) -> Result<Self, Vec<GateError>> {
        let mut set = BTreeMap::new();
        let mut faults = Vec::new();
        for (every, stage) in [("AllAlpha", Stage::Alpha), ("AllBeta", Stage::Beta)] {
            let Some(value) = changes.get(every) else { continue };
            let of_stage = KNOWN.iter().filter(|known| known.stage == stage && !known.default.is_locked());
            set.extend(of_stage.map(|known| (known.name, *value)));
        }
        for (name, value) in changes {
            match Known::find(name) {
                None => faults.push(GateError::Unknown(name.to_owned())),
                Some(known) if known.default.is_locked() && known.default.is_on() != *value => {
                    faults.push(GateError::Locked { name: name.to_owned(), value: *value });
                }
                Some(known) => {
                    set.insert(known.name, *value);
                }
            }
        }
        let gates = Self { set };
        if faults.is_empty() {
            faults.extend(KNOWN.iter().filter_map(|known| gates.unmet(known)));
        }
        if faults.is_empty() { Ok(gates) } else { Err(faults) }
    }

    /// Whether `gate` is on.
    #[must_use]
    pub fn is_on(&self, gate: Gate) -> bool {
        Known::find(gate.name()).is_some_and(|known| self.known_is_on(known))
    }

    fn known_is_on(&self, known: &Known) -> bool {
        self.set.get(known.name).copied().unwrap_or(known.default.is_on())
    }

    fn unmet(&self, known: &Known) -> Option<GateError> {
        let off = |name: &&'static str| !Known::find(name).is_some_and(|needed| self.known_is_on(needed));
        let missing: Vec<_> = known.needs.iter().copied().filter(off).collect();
        (self.known_is_on(known) && !missing.is_empty())
            .then_some(GateError::Dependency { name: known.name, missing })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn check(changes: &[(&str, bool)]) -> Result<FeatureGates, Vec<String>> {
        let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        FeatureGates::check(&changes).map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn names_are_in_order_and_what_they_need_is_known() {
        assert!(KNOWN.is_sorted_by(|a, b| a.name < b.name));
        for known in KNOWN {
            assert!(known.needs.iter().all(|needed| Known::find(needed).is_some()), "{}", known.name);
        }
    }

    #[test]
    fn defaults_are_those_of_the_release() {
        let gates = check(&[]).unwrap();
        assert!(gates.is_on(Gate::PodLevelResources));
        assert!(gates.is_on(Gate::CpuManagerPolicyBetaOptions));
        assert!(!gates.is_on(Gate::PodLevelResourceManagers));
        assert!(!gates.is_on(Gate::CpuManagerPolicyAlphaOptions));
        assert!(check(&[("AllAlpha", true)]).unwrap().is_on(Gate::CpuManagerPolicyAlphaOptions));
        let but = check(&[("AllBeta", false), ("PodLevelResources", true)]);
        assert!(but.is_ok_and(|gates| gates.is_on(Gate::PodLevelResources)));
    }

    #[test]
    fn impossible_changes_are_refused() {
        assert_eq!(
            check(&[("CPUManager", true), ("CPUManagerPolicyOptions", false)]),
            Err(vec![
                "unrecognized feature gate: CPUManager".to_owned(),
                "cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true"
                    .to_owned(),
            ])
        );
        assert_eq!(
            check(&[("PodLevelResources", false)]),
            Err(vec![
                "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: [PodLevelResources]"
                    .to_owned()
            ])
        );
        let together = [("PodLevelResources", false), ("InPlacePodLevelResourcesVerticalScaling", false)];
        assert!(check(&together).is_ok_and(|gates| !gates.is_on(Gate::PodLevelResources)));
    }
}
