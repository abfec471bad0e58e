//! Whole machines against their truth files.

use crate::truth;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::truth::Truth;
use topology_discovery::{Discovery, SysfsTree, machine_info_from_json, machine_info_to_json, read};
use topology_model::MachineInfo;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of captured machines that may not be copied, and of what others saw on them; `None`: none is given.
fn recorded() -> Option<PathBuf> {
    std::env::var_os("TOPOLET_RECORDED").map(PathBuf::from)
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path())
}

fn truth(path: &Path) -> Truth {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_archive(name: &str, archive: &[u8]) -> Discovery {
    let tree = SysfsTree::archive(archive).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    read(&tree).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// The lines in which a machine differs from its truth.
fn differences(name: &str, truth: &Truth, archive: &[u8]) -> Vec<String> {
    let found = read_archive(name, archive);
    let lines = truth::compare(truth, &found.machine).lines();
    lines.into_iter().map(|line| format!("{name}: {line}")).collect()
}

#[test]
fn every_machine_is_what_its_truth_file_says() {
    let mut all = Vec::new();
    for name in machine_fixtures::names() {
        let truth = truth(&project().join(format!("fixtures/machines/{name}.json")));
        all.extend(differences(
            name,
            &truth,
            machine_fixtures::archive(name).expect("a machine of the list"),
        ));
    }
    for (name, archive) in captured_machines() {
        let truth = truth(&recorded().unwrap().join(format!("machines/real/{name}.json")));
        all.extend(differences(&name, &truth, &archive));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn the_embedded_machines_lack_nothing() {
    let mut all = Vec::new();
    for name in machine_fixtures::names() {
        let found = read_archive(name, machine_fixtures::archive(name).expect("a machine of the list"));
        all.extend(found.problems.iter().map(|problem| format!("{name}: {problem}")));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The machine information that cAdvisor itself printed: of the embedded machines, and of the captured ones.
fn printed_by_cadvisor() -> BTreeMap<String, MachineInfo> {
    let committed = project().join("fixtures/cadvisor");
    let more = recorded().map(|folder| folder.join("oracle/machineinfo"));
    let mut all = BTreeMap::new();
    for path in std::iter::once(committed).chain(more).flat_map(|folder| files(&folder)) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json.zst")) else {
            continue;
        };
        let mut text = Vec::new();
        let packed = std::fs::read(&path).unwrap();
        ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap().read_to_end(&mut text).unwrap();
        let info = machine_info_from_json(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        all.insert(name.to_owned(), info);
    }
    all
}

#[test]
fn cadvisor_would_print_the_same() {
    let printed = printed_by_cadvisor();
    let mut compared = BTreeSet::new();
    let mut all = Vec::new();
    let embedded = machine_fixtures::names().map(|name| {
        (name.to_owned(), machine_fixtures::archive(name).expect("a machine of the list").to_vec())
    });
    let captured = captured_machines();
    let expected = if captured.is_empty() { 18 } else { printed.len() };
    for (name, archive) in embedded.chain(captured) {
        let Some(mut printed) = printed.get(&name).cloned() else { continue };
        compared.insert(name.clone());
        let Discovery { info, problems, .. } = read_archive(&name, &archive);
        // The printed values come from a tree with made-up files in the place of those that the archive lacks.
        let lacks = |path| problems.iter().any(|problem| problem.path == path && problem.lack.is_missing());
        if lacks("proc/meminfo") {
            printed.memory_capacity = info.memory_capacity;
        }
        if lacks("proc/cpuinfo") {
            printed.num_physical_cores = info.num_physical_cores;
            printed.cpu_frequency_khz = info.cpu_frequency_khz;
        }
        let own = machine_info_to_json(&info).unwrap();
        let printed = machine_info_to_json(&printed).unwrap();
        if let Some((at, (printed, own))) =
            printed.lines().zip(own.lines()).enumerate().find(|(_, (printed, own))| printed != own)
        {
            all.push(format!("{name}: line {at}: cAdvisor prints {printed}, own {own}"));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert_eq!(compared.len(), expected, "{compared:?}");
}

/// Machines that were captured, by name.
fn captured_machines() -> Vec<(String, Vec<u8>)> {
    let folder = recorded().map(|folder| folder.join("machines/real"));
    let paths = folder.iter().flat_map(|folder| files(folder));
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".tar.zst")?.to_owned();
        Some((name, std::fs::read(&path).unwrap()))
    });
    named.collect()
}

#[test]
fn this_machine_is_read() {
    match read(&SysfsTree::live()) {
        Ok(found) => {
            let usable = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            assert!(found.machine.online().len() >= usable, "{:?}", found.machine.online());
        }
        Err(error) => println!("skipped: the files of this machine are hidden: {error}"),
    }
}

/// A machine that is known without its files is to the kubelet what it is with them.
#[test]
fn machine_information_is_made_of_a_machine() {
    for name in machine_fixtures::names() {
        let found = read_archive(name, machine_fixtures::archive(name).expect("a machine of the list"));
        let mut made = MachineInfo::from(&found.machine);
        // What no machine tells.
        made.cpu_frequency_khz = found.info.cpu_frequency_khz;
        made.num_physical_cores = found.info.num_physical_cores;
        made.num_sockets = found.info.num_sockets;
        made.swap_capacity = found.info.swap_capacity;
        let (made, own) = (machine_info_to_json(&made).unwrap(), machine_info_to_json(&found.info).unwrap());
        let differs = made.lines().zip(own.lines()).find(|(made, own)| made != own);
        assert_eq!(differs, None, "{name}");
        assert!(made == own, "{name}");
    }
}
