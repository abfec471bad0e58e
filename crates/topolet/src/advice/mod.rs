//! Advice on kubelet configurations: what is wrong with one on a machine, and what would be right.
//!
//! A configuration is wrong if the kubelet does not start with it, passes over a part of it, or starts and then cannot
//! admit ordinary pods (see [`hazard`]). What is proposed is checked and tried in the same way.

mod check;
mod hazard;
mod cost;
mod trial;
mod remedy;
mod fields;
mod proposal;
mod reserve;
mod options;
mod file;

use serde::Serialize;

pub(crate) use self::check::{Expected, Finding, Problem, check, without_effect};
pub(crate) use self::fields::{Change, changes};
pub(crate) use self::file::{Given, drop_in, whole_file};
pub(crate) use self::hazard::of_the_kubelet;
pub(crate) use self::proposal::{held_back, propose};
pub(crate) use self::trial::notes;

/// The program that a configuration is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    /// A kubelet, which walks all sets of NUMA nodes.
    #[default]
    Kubelet,
    /// `topolet serve`, which takes any number of NUMA nodes.
    Topolet,
}
