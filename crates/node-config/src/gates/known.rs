//! What is known of a gate: how it stands in each release, and what it builds on.

use core::fmt;

use kubelet_release::{GateTable, Release};

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

/// What a gate is unless it is set, and whether it can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Settable {
    On,
    Off,
    LockedOn,
    LockedOff,
}

impl Settable {
    pub(super) const fn is_on(self) -> bool {
        matches!(self, Self::On | Self::LockedOn)
    }

    pub(super) const fn is_locked(self) -> bool {
        matches!(self, Self::LockedOn | Self::LockedOff)
    }
}

/// What a gate is in one release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State {
    pub(super) stage: GateStage,
    pub(super) default: Settable,
}

/// How many releases the table has.
pub(super) const COLUMNS: usize = Release::ALL.len();

/// Where a release stands in the rows of the table.
const fn column(table: GateTable) -> usize {
    match table {
        GateTable::V1_34 => 0,
        GateTable::V1_35 => 1,
        GateTable::V1_36 => 2,
        GateTable::V1_37 => 3,
    }
}

/// A row of the table: one gate in every release.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) states: [Option<State>; COLUMNS],
    /// The gates that it builds on.
    pub(super) needs: [&'static [&'static str]; COLUMNS],
}

/// One gate in one release.
#[derive(Clone, Copy)]
pub(super) struct KnownGate {
    pub(super) name: &'static str,
    pub(super) state: State,
    pub(super) needs: &'static [&'static str],
}

impl Known {
    pub(super) fn of(&self, table: GateTable) -> Option<KnownGate> {
        let column = column(table);
        self.states[column].map(|state| KnownGate { name: self.name, state, needs: self.needs[column] })
    }
}

impl KnownGate {
    pub(super) fn is_locked_to(self, value: bool) -> bool {
        self.state.default.is_locked() && self.state.default.is_on() == value
    }

    pub(super) fn shown(self) -> GateState {
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
