//! Whole nodes: pods after defaulting, configurations, and what is reserved.

mod effective;
mod node;
mod config;
mod reserved;
mod plugins;
mod show;
mod choice;
mod order;
mod sequence;
mod foretold;
#[cfg(test)]
mod simulation;

use crate::runner::Runner;

pub(crate) use config::names_all;
pub(crate) use node::with_pages;
pub(crate) use sequence::{Kubelet, is_end};

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "effective" => effective::effective,
        "config" => config::config,
        "reserved" => reserved::reserved,
        "sequence" => sequence::sequence,
        _ => return None,
    })
}
