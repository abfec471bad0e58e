//! A machine as it is shown, and the names of machines.

use machine_picture::{MachineSummary, Reserved};
use serde::Serialize;

use crate::held::ContainerLine;

/// The document of `topolet topology`. What is not known is null.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineView {
    /// What it is called.
    pub machine: String,
    /// What it consists of.
    #[serde(flatten)]
    pub summary: MachineSummary,
    /// What a configuration keeps from pods; `None`: not known.
    pub reserved: Option<Reserved>,
    /// Where the kubelet sees another machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kubelet_differs: Vec<String>,
    /// What could not be read, and what was assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Properties that arguments replace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// What each container holds, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containers: Option<Vec<ContainerLine>>,
}

/// The built-in machines.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machines {
    machines: Vec<&'static str>,
}

impl Machines {
    /// By their names.
    #[must_use]
    pub const fn new(machines: Vec<&'static str>) -> Self {
        Self { machines }
    }
}
