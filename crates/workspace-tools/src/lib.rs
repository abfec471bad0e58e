#![doc = include_str!("../README.md")]

pub mod workspace;
pub mod commands;
pub mod document;
pub mod debian;
pub mod client;
pub mod workloads;
pub mod words;
pub mod tiers;
pub mod baseline;
pub mod semver_checks;
pub mod kubernetes;
pub mod kubelet;
pub mod control_plane;
