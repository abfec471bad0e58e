//! Captured machine topologies, embedded: the files under `/sys` and `/proc` of machines that few people have on
//! their desk, for demonstrations and tests.
//!
//! Each machine is a `.tar.zst` archive of the files that tell its topology, rebuilt from published facts: processors
//! of six makers, 2 to 36 NUMA nodes, nodes that are only memory, nodes that are empty, 8 threads to a core. The
//! names say the shape.
//!
//! This crate does not know what is in an archive, or how to read it.
#![no_std]

#[cfg(test)]
extern crate std;

/// Embeds archives by name.
macro_rules! machines {
    ($($name:literal,)*) => {
        /// Every machine and its archive, in lexical order of the names.
        const MACHINES: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!("../machines/", $name, ".tar.zst")))),*];
    };
}

machines! {
    "dgx-h100-2s-224cpu-8gpu",
    "epyc-2s-96cpu-16l3-8gpu",
    "gb200-nvl4-34node",
    "gb300-tray-34node",
    "genoa-9654-l3numa-24node",
    "gh200-9node",
    "gh200-quad-36node",
    "gnr-6980p-snc3-asym-6node",
    "gnr-snc3-r8i-metal96xl-6node",
    "lx2-608cpu-hbm-32node",
    "mi300a-4apu-4node",
    "milan-7763-l3numa-16node",
    "p5-48xlarge-2s-192cpu-8gpu-32efa",
    "phytium-ft2500-16node",
    "power8-phyp-1024cpu-16node",
    "power9-ac922-gpunodes-empty-6node",
    "spr-8480-snc4-8node",
    "spr-hbm-flat-snc4-16node",
    "threadripper3960x-nps4-memoryless-4node",
    "turin-9755-nps4-l3numa-32node",
    "xeon-2s-96cpu-sriov",
    "xeon-cxl-4node",
}

/// Embeds inventories of devices by the name of their machine.
macro_rules! inventories {
    ($($name:literal,)*) => {
        /// Every machine whose devices a plugin would offer, in lexical order of the names.
        const INVENTORIES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../machines/", $name, ".devices.yaml")))),*];
    };
}

inventories! {
    "dgx-h100-2s-224cpu-8gpu",
    "epyc-2s-96cpu-16l3-8gpu",
    "gb200-nvl4-34node",
    "gb300-tray-34node",
    "gh200-9node",
    "gh200-quad-36node",
    "p5-48xlarge-2s-192cpu-8gpu-32efa",
    "xeon-2s-96cpu-sriov",
}

/// The names of all machines in lexical order.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// The bytes of a machine's `.tar.zst` archive; `None` if no machine has this name.
#[must_use]
pub fn archive(name: &str) -> Option<&'static [u8]> {
    MACHINES.iter().find(|(own, _)| *own == name).map(|(_, archive)| *archive)
}

/// Which of a machine's devices a device plugin would offer, and under which name: YAML as `topolet --devices` reads it.
/// `None` if the machine has no such devices, or if there is no machine of this name.
#[must_use]
pub fn devices(name: &str) -> Option<&'static str> {
    INVENTORIES.iter().find(|(own, _)| *own == name).map(|(_, devices)| *devices)
}

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use std::borrow::ToOwned;
    use std::path::Path;
    use std::string::String;
    use std::vec::Vec;

    use super::{INVENTORIES, MACHINES, archive, names};

    /// The machines of the folder with a file of this kind, in lexical order.
    fn in_folder(kind: &str) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("machines");
        let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> =
            files.filter_map(|file| file.strip_suffix(kind).map(ToOwned::to_owned)).collect();
        names.sort();
        names
    }

    #[test]
    fn every_archive_of_the_folder_is_embedded_once() {
        assert_eq!(names().collect::<Vec<_>>(), in_folder(".tar.zst"));
        assert_eq!(INVENTORIES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), in_folder(".devices.yaml"));
        assert!(INVENTORIES.iter().all(|(name, _)| archive(name).is_some()));
    }

    #[test]
    fn all_of_them_are_zstd_and_small() {
        for name in names() {
            assert!(archive(name).unwrap().starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "{name}");
        }
        let all: usize = MACHINES.iter().map(|(_, archive)| archive.len()).sum();
        assert!(all < 2_000_000, "{all} bytes are embedded");
    }

    #[test]
    fn there_is_no_machine_without_a_name() {
        assert_eq!(archive(""), None);
        assert_eq!(archive("gh200"), None, "a name is not abbreviated");
    }
}
