//! Trees in which anything may be missing, cut, swapped or garbage.

use std::collections::BTreeSet;

use crate::small::{CPUS, Content, NODES, Small};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;
use proptest::test_runner::TestCaseError;
use proptest::{collection, prop_assert, prop_assert_eq};
use topology_discovery::{CpuArchitecture, DiscoveryError, ProblemKind, read, read_as_cadvisor};
use topology_model::{KubeletView, Machine};

/// So many cases, or as many as `PROPTEST_CASES` asks for.
fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { asked } else { ProptestConfig { cases, ..asked } }
}

/// What happens to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Remove(Index),
    RemoveBelow(Index),
    Cut(Index, Index),
    Swap(Index, Index),
    Replace(Index, Vec<u8>),
    Link(Index, Index),
}

const GARBAGE: &[&str] = &[
    "",
    "\0",
    "-1",
    "-9223372036854775808",
    "0-4294967295",
    "99999999999999999999",
    "8191",
    "8192",
    "7-3",
    "0-7:1/2",
    "ffffffff,ffffffff,ffffffff",
    "10 10 10 10 10 10 10 10",
    "MemTotal: 18446744073709551615 kB",
    "0x",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let garbage = proptest::sample::select(GARBAGE).prop_map(|text| text.as_bytes().to_vec());
    let bytes = prop_oneof![3 => garbage, 1 => collection::vec(any::<u8>(), 0..40)];
    let file = any::<Index>;
    prop_oneof![
        file().prop_map(Mutation::Remove),
        file().prop_map(Mutation::RemoveBelow),
        (file(), file()).prop_map(|(file, length)| Mutation::Cut(file, length)),
        (file(), file()).prop_map(|(file, other)| Mutation::Swap(file, other)),
        (file(), bytes).prop_map(|(file, bytes)| Mutation::Replace(file, bytes)),
        (file(), file()).prop_map(|(file, other)| Mutation::Link(file, other)),
    ]
}

fn mutate(server: &mut Small, mutation: Mutation) {
    let paths: Vec<String> = server.0.keys().cloned().collect();
    if paths.is_empty() {
        return;
    }
    let at = |index: Index| paths[index.index(paths.len())].clone();
    match mutation {
        Mutation::Remove(file) => {
            server.0.remove(&at(file));
        }
        Mutation::RemoveBelow(file) => {
            let path = at(file);
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            server.0.retain(|own, _| !own.starts_with(folder));
        }
        Mutation::Cut(file, length) => {
            if let Some(Content::File(bytes)) = server.0.get_mut(&at(file)) {
                bytes.truncate(length.index(bytes.len() + 1));
            }
        }
        Mutation::Swap(file, other) => {
            let (a, b) = (server.0.remove(&at(file)), server.0.remove(&at(other)));
            server.0.extend(b.map(|content| (at(file), content)));
            server.0.extend(a.map(|content| (at(other), content)));
        }
        Mutation::Replace(file, bytes) => {
            server.0.insert(at(file), Content::File(bytes));
        }
        Mutation::Link(file, other) => {
            server.0.insert(at(file), Content::Link(format!("/{}", at(other))));
        }
    }
}

/// Reads a tree in every way. What is read holds together, and is read again the same.
fn check(server: &Small) -> Result<(), TestCaseError> {
    let tree = server.tree();
    for architecture in [CpuArchitecture::Amd64, CpuArchitecture::S390x] {
        // cAdvisor may refuse; it must not do so by a panic.
        let _ = read_as_cadvisor(&tree, architecture);
    }
    let found = match read(&tree) {
        Ok(found) => found,
        Err(DiscoveryError::NoCpus) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    prop_assert_eq!(&read(&tree).unwrap(), &found);
    prop_assert_eq!(&Machine::new(found.machine.clone().into_parts()).unwrap(), &found.machine);
    // The kubelet may refuse what cAdvisor read, in words.
    let _ = KubeletView::new(&found.info);
    prop_assert!(!found.problems.iter().any(|problem| problem.to_string().len() > 1000));
    Ok(())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn no_tree_is_too_broken(mutations in collection::vec(mutation(), 1..12)) {
        let mut server = Small::server();
        for mutation in mutations {
            mutate(&mut server, mutation);
        }
        check(&server)?;
    }

    #[test]
    fn a_folder_of_anything_is_no_machine_or_one(
        files in collection::btree_map("(sys/devices/system/(cpu|node)/)?[a-z0-9/]{1,12}", Just("0-3\n"), 0..20),
    ) {
        let files = files.into_iter().map(|(path, text)| (path, Content::File(text.as_bytes().to_vec())));
        check(&Small(files.collect()))?;
    }
}

/// What may be lost without a word, and why; where several are lost, in this order.
const SILENT: [(&str, &str); 6] = [
    ("sys/bus/pci/devices/0000:01:00.0", "a device that is not there, and nothing behind it"),
    ("sys/bus/pci/devices/0000:00:01.0", "with what is behind it"),
    ("sys/devices/system/cpu/smt/active", "with its neighbour: kernels before 4.19 have neither"),
    ("sys/devices/system/cpu/smt/control", "with its neighbour: kernels before 4.19 have neither"),
    ("sys/devices/system/cpu/isolated", "where nothing is said of threads: kernels before 4.2 have none"),
    (
        "sys/devices/system/node/has_memory",
        "where nothing is said of threads: kernels before 4.14 may have none",
    ),
];

/// What is done to a file whose loss must be noticed.
#[derive(Clone, Debug)]
enum Harm {
    Lose(Index),
    Cut(Index, Index),
    Swap(Index, Index),
}

fn harm() -> impl Strategy<Value = Harm> {
    let file = any::<Index>;
    prop_oneof![
        file().prop_map(Harm::Lose),
        (file(), file()).prop_map(|(file, length)| Harm::Cut(file, length)),
        (file(), file()).prop_map(|(file, other)| Harm::Swap(file, other)),
    ]
}

/// Whether a file is of a form that the text of another fits: numbers, lists, masks. Values that are swapped
/// within one form are those of another machine, which cannot be detected.
fn form(content: &Content) -> String {
    match content {
        Content::Link(_) => "link".to_owned(),
        Content::File(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let is_plain = text.trim().chars().all(|c| c.is_ascii_digit() || "-,".contains(c));
            // Digits are numbers, lists and masks at once.
            if is_plain || ["33", "cc"].contains(&text.trim()) {
                return "digits".to_owned();
            }
            text.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect()
        }
    }
}

/// Does harm, and returns the paths that it touched; none where it cannot be noticed.
fn do_harm(server: &mut Small, harm: &Harm) -> Vec<String> {
    let paths: Vec<String> = server.0.keys().cloned().collect();
    let at = |index: &Index| paths[index.index(paths.len())].clone();
    match harm {
        Harm::Lose(file) => {
            server.0.remove(&at(file));
            vec![at(file)]
        }
        Harm::Cut(file, length) => {
            let Some(Content::File(bytes)) = server.0.get_mut(&at(file)) else { return Vec::new() };
            bytes.truncate(length.index(bytes.len() + 1));
            vec![at(file)]
        }
        Harm::Swap(file, other) => {
            let (a, b) = (server.0[&at(file)].clone(), server.0[&at(other)].clone());
            if form(&a) == form(&b) {
                return Vec::new();
            }
            server.0.extend([(at(file), b), (at(other), a)]);
            vec![at(file), at(other)]
        }
    }
}

/// Whether a problem is about a path: it, a folder of it, all of a folder by a `*`, or what a link leads to.
fn is_about(named: &str, path: &str) -> bool {
    let named = named.split('*').next().unwrap_or_default();
    // Devices are read through their links.
    let real = |path: &str| match path.strip_prefix("sys/devices/pci0000:00/0000:00:01.0") {
        Some(rest) if rest.starts_with("/0000") => format!("sys/bus/pci/devices{rest}"),
        Some(rest) => format!("sys/bus/pci/devices/0000:00:01.0{rest}"),
        None => path.to_owned(),
    };
    real(path).starts_with(named) || named.starts_with(&format!("{}/", real(path)))
}

/// What is known of a machine that harm was done to is what was known before, or a new problem is about a path that was
/// touched. The harm that may be silent counts as done before.
fn harm_is_noticed(harms: &[Harm]) -> Result<(), TestCaseError> {
    let (mut server, mut without) = (Small::server(), Small::server());
    let mut touched = BTreeSet::new();
    for harm in harms {
        touched.extend(do_harm(&mut server, harm));
    }
    let [card, bridge, ..] = SILENT.map(|(path, _)| path);
    let needed = |path: &str| path == bridge && server.0.contains_key(card);
    for (path, _) in SILENT.iter().filter(|(path, _)| !server.0.contains_key(*path) && !needed(path)) {
        without.0.remove(*path);
    }
    check(&server)?;
    let before = without.read();
    let Ok(found) = read(&server.tree()) else { return Ok(()) };
    let mut fresh = found.problems.iter().filter(|problem| !before.problems.contains(problem));
    let is_said = fresh.any(|problem| {
        let other =
            if let ProblemKind::Contradicts { other, .. } = &problem.lack { other } else { &problem.path };
        touched.iter().any(|path| is_about(&problem.path, path) || is_about(other, path))
    });
    prop_assert!(found.machine == before.machine || is_said, "{touched:?}: {:?}", found.problems);
    Ok(())
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn no_harm_is_passed_over_in_silence(harms in collection::vec(harm(), 1..7)) {
        harm_is_noticed(&harms)?;
    }
}

/// Every file of the server in turn is lost, and cut to each of its lengths.
#[test]
fn no_loss_is_passed_over_in_silence() {
    let before = Small::server().read();
    let mut silent = Vec::new();
    for (path, content) in Small::server().0 {
        let length = if let Content::File(bytes) = &content { bytes.len() } else { 0 };
        for cut in std::iter::once(None).chain((0..length).map(Some)) {
            let mut server = Small::server();
            match (cut, server.0.get_mut(&path)) {
                (Some(length), Some(Content::File(bytes))) => bytes.truncate(length),
                _ => drop(server.0.remove(&path)),
            }
            let Ok(found) = read(&server.tree()) else { continue };
            let is_said = found.problems.iter().any(|problem| !before.problems.contains(problem));
            if found.machine != before.machine && !is_said {
                silent.push(cut.map_or_else(|| path.clone(), |length| format!("{path} cut to {length}")));
            }
        }
    }
    // Lost alone, a file that others tell of is missed.
    assert_eq!(silent, [SILENT[0].0]);
}

/// Files whose loss changes what is known, each with what the problem must name.
#[test]
fn whatever_is_missing_is_said() {
    let node = |name: &str| format!("{NODES}/node1/{name}");
    let cpu = |name: &str| format!("{CPUS}/cpu2/{name}");
    for path in [
        "proc/meminfo".to_owned(),
        "proc/cpuinfo".to_owned(),
        NODES.to_owned(),
        format!("{CPUS}/online"),
        node("meminfo"),
        node("distance"),
        node("hugepages/hugepages-1048576kB/nr_hugepages"),
        cpu("topology/core_id"),
        cpu("topology/physical_package_id"),
        cpu("topology/thread_siblings_list"),
        cpu("cache/index3/level"),
        cpu("cache/index3/type"),
        cpu("cache/index3/shared_cpu_map"),
        "sys/devices/pci0000:00/0000:00:01.0/class".to_owned(),
    ] {
        let mut server = Small::server();
        if path.ends_with("nr_hugepages") {
            // The folder stays.
            server = server.with(&path.replace("nr_", "free_"), "0");
        }
        let found = server.without(&path).read();
        let name = path.rsplit('/').next().unwrap_or_default();
        let name = name.trim_end_matches("_list");
        assert!(
            found.problems.iter().any(|problem| problem.path.contains(name)),
            "nothing is said of {path}: {:?}",
            found.problems
        );
    }
}
