#![doc = include_str!("../README.md")]

pub use {cpu_manager, topology_admission, topology_discovery, topology_manifest};
