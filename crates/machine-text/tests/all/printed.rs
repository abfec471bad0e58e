//! Machines as tools print them of a tree of files, beside the tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cpuset::CpuSet;
use machine_text::{Form, Lack, MachineText};
use topology_discovery::SysfsTree;
use topology_model::{KubeletView, Machine, MachineInfo};

fn unpacked(path: &Path) -> String {
    let packed = fs::read(path).unwrap();
    let stream = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
    io::read_to_string(stream).unwrap()
}

/// The files of a folder of fixtures, by the name of the machine.
fn fixtures(folder: &str, suffix: &str) -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut named: Vec<(String, PathBuf)> = files
        .filter_map(|path| Some((path.file_name()?.to_str()?.strip_suffix(suffix)?.to_owned(), path)))
        .filter(|(name, _)| !name.contains('.'))
        .collect();
    named.sort();
    named
}

fn of_tree(name: &str) -> Machine {
    let archive = machine_fixtures::archive(name).unwrap();
    topology_discovery::read(&SysfsTree::archive(archive).unwrap()).unwrap().machine
}

/// Where a machine that was read from text differs from that of the tree, in what the text has.
fn differences(tree: &Machine, text: &MachineText) -> Vec<String> {
    let machine = &text.machine;
    let sets = |machine: &Machine| -> [BTreeSet<String>; 4] {
        let shown = |sets: Vec<&CpuSet>| sets.into_iter().map(ToString::to_string).collect();
        let of_nodes = machine.nodes().iter().map(|node| format!("{}: {}", node.id, node.cpus)).collect();
        let caches = (2..=3).flat_map(|level| machine.caches_at(level)).map(|cache| &cache.cpus).collect();
        [
            shown(machine.cores().iter().map(|core| &core.cpus).collect()),
            shown(machine.packages().iter().map(|package| &package.cpus).collect()),
            of_nodes,
            shown(caches),
        ]
    };
    let mut found = Vec::new();
    for ((what, one), other) in
        ["cores", "packages", "nodes", "caches"].into_iter().zip(sets(tree)).zip(sets(machine))
    {
        if one != other && !(what == "caches" && text.lacks.contains(&Lack::Caches)) {
            found.push(format!(
                "{what}: tree only {:?}, text only {:?}",
                one.difference(&other),
                other.difference(&one)
            ));
        }
    }
    for (one, other) in tree.nodes().iter().zip(machine.nodes()) {
        let mebibytes = |memory: Option<u64>| memory.map(|bytes| bytes >> 20);
        if mebibytes(one.memory) != mebibytes(other.memory) {
            found.push(format!("memory of {}: {:?} {:?}", one.id, one.memory, other.memory));
        }
        if one.distances != other.distances && !text.lacks.contains(&Lack::Distances) {
            found.push(format!("distances of {}: {:?} {:?}", one.id, one.distances, other.distances));
        }
    }
    if tree.offline() != machine.offline() {
        found.push(format!("offline: {} {}", tree.offline(), machine.offline()));
    }
    found
}

#[test]
fn tables_and_numactl_tell_the_machine() {
    let texts = fixtures("machine-texts", ".lscpu.txt.zst");
    assert!(texts.len() >= 20, "{} texts", texts.len());
    for (name, path) in texts {
        let read = machine_text::read(&unpacked(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(differences(&of_tree(&name), &read), Vec::<String>::new(), "{name}");
        assert_eq!(read.assumed, Vec::<String>::new(), "{name}");
        let lacks_distances = !read.forms.contains(&Form::Numactl);
        assert_eq!(read.lacks.contains(&Lack::Distances), lacks_distances, "{name}");
        assert!(!read.lacks.contains(&Lack::Memory), "{name}: {:?}", read.lacks);
    }
}

/// What the kubelet's managers see of both, but for amounts that a text rounds.
#[test]
fn the_kubelet_sees_the_same_cpus() {
    for (name, path) in fixtures("machine-texts", ".lscpu.txt.zst") {
        let read = machine_text::read(&unpacked(&path)).unwrap();
        let view = |machine: &Machine| KubeletView::new(&MachineInfo::from(machine)).unwrap();
        let (tree, text) = (view(&of_tree(&name)), view(&read.machine));
        let sets = |view: &KubeletView| -> [BTreeSet<String>; 4] {
            let cpus = view.cpus();
            [
                cpus.cores().map(|(_, cpus)| cpus.to_string()).collect(),
                cpus.sockets().map(|(_, cpus)| cpus.to_string()).collect(),
                cpus.nodes().map(|(id, cpus)| format!("{id} {cpus}")).collect(),
                cpus.caches().map(|(_, cpus)| cpus.to_string()).collect(),
            ]
        };
        assert_eq!(sets(&tree), sets(&text), "{name}");
    }
}

#[test]
fn counts_alone_tell_the_cores() {
    for (name, path) in fixtures("machine-texts", ".lscpu.txt.zst") {
        let text = unpacked(&path);
        let counts = text.split("\n$ ").nth(1).unwrap();
        let read = machine_text::read(counts).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut found = differences(&of_tree(&name), &read);
        found.retain(|line| !line.starts_with("memory") && !line.starts_with("distances"));
        assert!(found.is_empty(), "{name}: {found:?} {:?}", read.assumed);
    }
}

#[test]
fn hwloc_tells_the_machine() {
    let texts = fixtures("hwloc", ".xml.zst");
    assert!(texts.len() >= 18, "{} texts", texts.len());
    for (name, path) in texts {
        let read = machine_text::read(&unpacked(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let tree = of_tree(&name);
        assert_eq!(differences(&tree, &read), Vec::<String>::new(), "{name}");
        let devices = |machine: &Machine| -> Vec<String> {
            let devices = machine.devices().iter().filter(|device| !device.is_bridge());
            devices
                .map(|device| format!("{} {:?} {:?}", device.address, device.vendor, device.node.id()))
                .collect()
        };
        assert_eq!(devices(&tree), devices(&read.machine), "{name}");
        assert_eq!(tree.hugepages(), read.machine.hugepages(), "{name}");
    }
}

#[test]
fn drawings_tell_cores_and_nodes() {
    let texts = fixtures("machine-texts", ".lstopo.txt.zst");
    assert!(texts.len() >= 4, "{} texts", texts.len());
    for (name, path) in texts {
        let read = machine_text::read(&unpacked(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut found = differences(&of_tree(&name), &read);
        // It is rounded.
        found.retain(|line| !line.starts_with("memory"));
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
}
