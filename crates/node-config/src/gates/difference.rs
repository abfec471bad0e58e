//! Which gates stand otherwise in another release.

use kubelet_release::GateTable;

use super::known::{GateState, Known, KnownGate};
use super::table::KNOWN;

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
    let state = |table, known: &Known| known.of(table).map(KnownGate::shown);
    KNOWN
        .iter()
        .map(move |known| GateDifference { name: known.name, from: state(from, known), to: state(to, known) })
        .filter(|gate| gate.from != gate.to)
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
