//! How a gate stands in a release, and which gates stand otherwise in another.

use core::fmt;

use kubelet_release::GateTable;

use super::{KNOWN, KnownGate};

/// How far a feature has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateStage {
    /// Tried out, off unless set.
    Alpha,
    /// On its way, mostly on.
    Beta,
    /// Here to stay.
    Stable,
    /// On its way out.
    Deprecated,
}

/// How a gate stands in a release; displays as `beta, on` or `stable, on, locked`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateState {
    /// How far the feature has come.
    pub stage: GateStage,
    /// Whether it is on unless it is set.
    pub is_on: bool,
    /// Whether it cannot be set to anything else.
    pub is_locked: bool,
}

/// A gate that stands otherwise in another release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateDifference {
    /// Its name in a configuration.
    pub name: &'static str,
    /// In the one release; `None`: naming it stops that kubelet.
    pub from: Option<GateState>,
    /// In the other, the same.
    pub to: Option<GateState>,
}

/// The gates that stand otherwise in `to` than in `from`, by name.
pub fn gate_differences(from: GateTable, to: GateTable) -> impl Iterator<Item = GateDifference> {
    let state = |table, known: &super::Known| known.of(table).map(KnownGate::shown);
    KNOWN
        .iter()
        .map(move |known| GateDifference { name: known.name, from: state(from, known), to: state(to, known) })
        .filter(|gate| gate.from != gate.to)
}

impl KnownGate {
    fn shown(self) -> GateState {
        let default = self.state.default;
        GateState { stage: self.state.stage, is_on: default.is_on(), is_locked: default.is_locked() }
    }
}

impl fmt::Display for GateState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            GateStage::Alpha => "alpha",
            GateStage::Beta => "beta",
            GateStage::Stable => "stable",
            GateStage::Deprecated => "deprecated",
        })?;
        f.write_str(if self.is_on { ", on" } else { ", off" })?;
        f.write_str(if self.is_locked { ", locked" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn gates_that_change_are_named_with_both_states() {
        let shown = |name: &str| {
            let state =
                |state: Option<GateState>| state.map_or_else(|| "unknown".into(), |of| format!("{of}"));
            let found = gate_differences(GateTable::V1_36, GateTable::V1_37).find(|gate| gate.name == name);
            found.map(|gate| format!("{} -> {}", state(gate.from), state(gate.to)))
        };
        for (name, expected) in [
            ("MemoryQoS", Some("alpha, off -> beta, on")),
            ("SidecarContainers", Some("stable, on, locked -> unknown")),
            ("DisableCPUQuotaWithExclusiveCPUs", Some("deprecated, on -> deprecated, on, locked")),
            ("DefaultPodSysctls", Some("unknown -> alpha, off")),
            ("PodLevelResources", None),
        ] {
            assert_eq!(shown(name), expected.map(String::from), "{name}");
        }
        let same: Vec<_> = gate_differences(GateTable::V1_37, GateTable::V1_37).collect();
        assert_eq!(same, []);
    }
}
