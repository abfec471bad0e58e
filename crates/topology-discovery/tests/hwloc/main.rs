//! One machine, two readers: hwloc and sysfs agree on every tree, but where a line of [`ALLOWED`] says why not.
//!
//! hwloc takes its tree from the environment, so each tree is read by a separate process: this test again, with
//! the folder in `HWLOC_FSROOT`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

mod compare;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use compare::{Field, compare};
use topology_discovery::{HwlocError, HwlocSource, SysfsTree, read, read_with_hwloc};

/// The machine that a child is to read: its name.
const CHILD: &str = "TOPOLET_HWLOC_MACHINE";

/// A field in which hwloc has another opinion on a machine, and why.
struct Allowed(&'static str, Field, &'static str);

const LIST_ONLY: &str =
    "the devices have a list of their CPUs and no mask: hwloc reads the mask, and has them at the machine";
const MASKS: &str =
    "the kernel's masks and lists of shared caches contradict each other: hwloc reads the masks";
const ZERO: &str = "no vendor is told: hwloc has 0";
const PLACED: &str = "the kernel tells no node: hwloc goes by the mask of near CPUs, and finds it";
const GIVEN_UP: &str =
    "CPU 0 is offline: hwloc 2.9 gives up, and describes so many CPUs as this computer has";
const OVERLAP: &str =
    "every node lists every CPU: hwloc makes one node, sysfs goes by the links, which do not overlap";

const ALLOWED: &[Allowed] = &[
    Allowed("xeon-2s-80cpu-hugepages-300pci", Field::DeviceNodes, LIST_ONLY),
    Allowed("xeon-l5640-interleaved-82pci", Field::DeviceNodes, LIST_ONLY),
    Allowed("icelake-2s-112cpu-300pci", Field::DeviceNodes, LIST_ONLY),
    Allowed("bulldozer-8n-modules", Field::Caches, MASKS),
    Allowed("power9-v100-8n-trimmed", Field::Devices, ZERO),
    Allowed("power9-v100-8n-trimmed", Field::DeviceNodes, PLACED),
    Allowed("power8-subcores-offline", Field::Cpus, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::Packages, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::PackageIds, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::Cores, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::CoreKinds, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::Nodes, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::NodeCpus, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::Memory, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::Hugepages, GIVEN_UP),
    Allowed("power8-subcores-offline", Field::Distances, GIVEN_UP),
    Allowed("xeon-overlapping-nodes-buggy", Field::Nodes, OVERLAP),
    Allowed("xeon-overlapping-nodes-buggy", Field::NodeCpus, OVERLAP),
    Allowed("xeon-overlapping-nodes-buggy", Field::Memory, OVERLAP),
    Allowed("xeon-overlapping-nodes-buggy", Field::Hugepages, OVERLAP),
    Allowed("xeon-overlapping-nodes-buggy", Field::Distances, OVERLAP),
];

/// The folder of captured machines that may not be copied, and of what hwloc saw on them; `None`: none is given.
fn recorded() -> Option<PathBuf> {
    std::env::var_os("TOPOLET_RECORDED").map(PathBuf::from)
}

/// Archives by name: the built-in machines, and those that were captured.
fn machines() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = machine_fixtures::names()
        .map(|name| (name.to_owned(), machine_fixtures::archive(name).unwrap().to_vec()))
        .collect();
    let Some(folder) = recorded().map(|folder| folder.join("machines/real")) else { return all };
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if let Some(name) = path.file_name().unwrap().to_string_lossy().strip_suffix(".tar.zst") {
            all.push((name.to_owned(), fs::read(&path).unwrap()));
        }
    }
    all
}

/// A folder that is removed in the end.
struct Unpacked(PathBuf);

impl Unpacked {
    /// Tens of thousands of small files: in memory where there is a place for that, since disks take a second for
    /// what memory does in ten milliseconds.
    fn new(name: &str, archive: &[u8]) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let folder = place.join(format!("topolet-hwloc-{}-{name}", std::process::id()));
        let stream = ruzstd::decoding::StreamingDecoder::new(archive).unwrap();
        tar::Archive::new(stream).unpack(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The result of `work` for each item, with as many threads as there are processors; in no order.
fn each<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let taken = std::iter::from_fn(|| items.get(next.fetch_add(1, Ordering::Relaxed)));
                    taken.map(&work).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// What a child does: prints the fields in which the readers differ.
#[test]
fn child() {
    let (Some(name), Some(folder)) = (std::env::var_os(CHILD), std::env::var_os("HWLOC_FSROOT")) else {
        return;
    };
    let own = read(&SysfsTree::directory(&folder).unwrap()).unwrap().machine;
    match read_with_hwloc(HwlocSource::Tree) {
        Ok(machine) => {
            for (field, what) in compare(&own, &machine) {
                println!("differs {field:?} {what}");
            }
        }
        Err(error) => println!("differs {:?} {error}", Field::All),
    }
    println!("compared {}", name.to_string_lossy());
}

/// The lines that a child prints of a machine.
fn differences(name: &str, folder: &Path) -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        .env("HWLOC_FSROOT", folder)
        .env_remove("HWLOC_XMLFILE")
        .env_remove("HWLOC_SYNTHETIC")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains(&format!("compared {name}")), "{name}: {text}");
    let lines = text.lines().filter_map(|line| line.split_once("differs ").map(|(_, rest)| rest.to_owned()));
    lines.collect()
}

#[test]
fn both_readers_see_one_machine() {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let machines = machines();
    for (name, lines) in each(&machines, |(name, archive)| {
        let unpacked = Unpacked::new(name, archive);
        (name, differences(name, &unpacked.0))
    }) {
        for line in lines {
            let allowed = ALLOWED.iter().position(|Allowed(machine, field, _)| {
                machine == name && line.split_once(' ').is_some_and(|(own, _)| own == format!("{field:?}"))
            });
            match allowed {
                Some(at) => drop(used.insert(at)),
                None => wrong.push(format!("{name}: {line}")),
            }
        }
    }
    // An opinion that hwloc no longer has is no longer to be explained.
    for (at, Allowed(machine, field, why)) in ALLOWED.iter().enumerate() {
        if !used.contains(&at) && machines.iter().any(|(name, _)| name == machine) {
            wrong.push(format!("{machine}: {field:?} agrees now, but is explained: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_tree_that_is_not_there_is_not_this_machine() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nowhere", "--nocapture"])
        .env(CHILD, "nowhere")
        .env("HWLOC_FSROOT", "/nowhere/at/all")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// What the child of the test above does.
#[test]
fn nowhere() {
    if std::env::var_os(CHILD).is_some() {
        let read = read_with_hwloc(HwlocSource::Tree);
        assert!(matches!(read, Err(HwlocError::OtherMachine("this machine"))), "{read:?}");
    }
}

#[test]
fn synthetic_machines_are_read() {
    let machine =
        read_with_hwloc(HwlocSource::Synthetic("pack:2 [numa(memory=64GB)] l3:1 core:4 pu:2")).unwrap();
    assert_eq!((machine.packages().len(), machine.cores().len(), machine.online().len()), (2, 8, 16));
    assert_eq!(machine.nodes()[1].memory, Some(64_000_000_000));
    assert_eq!(machine.caches_at(3).count(), 2);
    for text in ["pack:0", "nonsense", "pack:2\0"] {
        assert!(
            matches!(read_with_hwloc(HwlocSource::Synthetic(text)), Err(HwlocError::Text(_))),
            "{text:?}"
        );
    }
}

#[test]
fn xml_is_read_as_the_tree_that_it_was_written_from() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hwloc");
    let folders: Vec<_> =
        std::iter::once(committed).chain(recorded().map(|folder| folder.join("oracle/hwloc"))).collect();
    let compared = AtomicUsize::new(0);
    let wrong = each(&machines(), |(name, archive)| {
        let files = folders.iter().map(|folder| folder.join(format!("{name}.xml.zst")));
        let Some(packed) = files.into_iter().find_map(|file| fs::read(file).ok()) else { return Vec::new() };
        compared.fetch_add(1, Ordering::Relaxed);
        // hwloc read the computer that it ran on, not this one.
        if name == "power8-subcores-offline" {
            return Vec::new();
        }
        let mut text = String::new();
        let mut stream = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        let from_xml =
            read_with_hwloc(HwlocSource::Xml(&text)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let own = read(&SysfsTree::archive(archive).unwrap()).unwrap().machine;
        let mut found = compare(&own, &from_xml);
        found.retain(|(field, _)| {
            !ALLOWED.iter().any(|Allowed(machine, allowed, _)| machine == name && allowed == field)
        });
        found.into_iter().map(|(field, what)| format!("{name}: {field:?} {what}")).collect()
    })
    .concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let compared = compared.into_inner();
    let expected = if recorded().is_some() { 40 } else { 18 };
    assert!(compared >= expected, "{compared} machines were compared");
    let cut = read_with_hwloc(HwlocSource::Xml("<topology version=\"2.0\"><object type=\"Machine\""));
    assert!(cut.is_err(), "{cut:?}");
}

#[test]
fn this_machine_is_read_by_both() {
    let (Ok(own), Ok(other)) = (read(&SysfsTree::live()), read_with_hwloc(HwlocSource::Live)) else {
        println!("skipped: the files of this machine are hidden");
        return;
    };
    let all = compare(&own.machine, &other);
    assert!(!all.iter().any(|(field, _)| *field == Field::Cpus), "{all:?}");
}
