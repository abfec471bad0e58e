//! Files that say different things of one fact: each contradiction is one sentence with both files, what each says
//! and which is used.

use crate::small::{CPUS, NODES, Small};

/// The problems of the small server with some files changed.
fn said(changes: &[(&str, &str)]) -> Vec<String> {
    let mut server = Small::server();
    for (path, text) in changes {
        server = server.with(path, text);
    }
    server.read().problems.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(changes: &[(&str, &str)], expected: &[&str]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|line| line.replace("CPU/", &format!("{CPUS}/")).replace("NODE/", &format!("{NODES}/")))
        .collect();
    let changes: Vec<_> = changes
        .iter()
        .map(|(path, text)| {
            (path.replace("CPU/", &format!("{CPUS}/")).replace("NODE/", &format!("{NODES}/")), *text)
        })
        .collect();
    let changes: Vec<_> = changes.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    assert_eq!(said(&changes), expected);
}

#[test]
fn a_machine_that_is_sound_contradicts_nothing() {
    check(&[], &[]);
    // All names of one fact, as kernels since 5.3 have them.
    check(
        &[
            ("CPU/cpu0/topology/core_cpus_list", "0,4"),
            ("CPU/cpu0/topology/core_cpus", "11"),
            ("CPU/cpu0/topology/thread_siblings", "00000000,00000011"),
            ("CPU/cpu0/topology/package_cpus_list", "0-1,4-5"),
            ("CPU/cpu0/topology/core_siblings", "33"),
            ("CPU/cpu0/cache/index3/shared_cpu_list", "0-1,4-5"),
        ],
        &[],
    );
}

#[test]
fn a_list_and_a_mask_of_one_node_differ() {
    check(
        &[("NODE/node1/cpumap", "4c")],
        &[
            "NODE/node1/cpumap has CPUs 2-3,6, but NODE/node1/cpulist has CPUs 2-3,6-7: the node's CPU links are believed",
        ],
    );
}

#[test]
fn a_list_and_a_mask_of_one_cache_differ() {
    check(
        &[
            ("CPU/cpu0/cache/index3/shared_cpu_list", "0-1,4-5"),
            ("CPU/cpu0/cache/index3/shared_cpu_map", "11"),
        ],
        &[
            "CPU/cpu0/cache/index3/shared_cpu_map has CPUs 0,4, but CPU/cpu0/cache/index3/shared_cpu_list has CPUs 0-1,4-5: shared_cpu_list is believed",
        ],
    );
}

#[test]
fn a_list_and_a_mask_of_a_package_or_core_differ() {
    check(
        &[("CPU/cpu1/topology/package_cpus", "ff")],
        &[
            "CPU/cpu1/topology/package_cpus has CPUs 0-7, but CPU/cpu1/topology/core_siblings_list has CPUs 0-1,4-5: core_siblings_list is believed",
        ],
    );
    check(
        &[("CPU/cpu0/topology/thread_siblings", "1")],
        &[
            "CPU/cpu0/topology/thread_siblings has CPUs 0, but CPU/cpu0/topology/thread_siblings_list has CPUs 0,4: thread_siblings_list is believed",
        ],
    );
}

#[test]
fn the_number_of_a_package_and_its_cpus_differ() {
    check(
        &[("CPU/cpu2/topology/core_siblings_list", "2,6")],
        &[
            "CPU/cpu2/topology/core_siblings_list has CPUs 2,6, but CPU/cpu2/topology/physical_package_id has 1, as CPUs 2-3,6-7 have: CPUs with one package number are taken as one package",
        ],
    );
}

#[test]
fn the_threads_of_a_core_lie_on_two_nodes() {
    let links = [
        ("NODE/node0/cpulist", "0-1,5"),
        ("NODE/node0/cpumap", "23"),
        ("NODE/node1/cpulist", "2-4,6-7"),
        ("NODE/node1/cpumap", "dc"),
    ];
    let mut server = Small::server().without(&format!("{NODES}/node0/cpu4"));
    server.link(&format!("{NODES}/node1/cpu4"), "../../cpu/cpu4");
    for (path, text) in links {
        server = server.with(&path.replace("NODE/", &format!("{NODES}/")), text);
    }
    let card = "sys/devices/pci0000:00/0000:00:01.0";
    let server = server
        .with(&format!("{card}/local_cpulist"), "2-4,6-7")
        .with(&format!("{card}/0000:01:00.0/local_cpulist"), "2-4,6-7");
    let said: Vec<_> = server.read().problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [format!(
            "{CPUS}/cpu0/topology/thread_siblings_list has CPUs 0,4, but {NODES}/node1 has CPUs 2-4,6-7: each is taken as it reads"
        )]
    );
}

#[test]
fn siblings_and_numbers_of_cores_and_packages_differ() {
    // One thread has the number of another core.
    check(
        &[("CPU/cpu4/topology/core_id", "9")],
        &[
            "CPU/cpu4/topology/core_id has 9, but CPU/cpu0/topology/core_id has 0: CPUs are one core where they are siblings",
        ],
    );
    // Two cores have the number of one.
    check(
        &[("CPU/cpu0/topology/thread_siblings_list", "0"), ("CPU/cpu4/topology/thread_siblings_list", "4")],
        &[
            "CPU/cpu4/topology/thread_siblings_list has CPUs 4, but CPU/cpu4/topology/core_id has 0, as CPUs 0 have: CPUs are one core where they are siblings",
        ],
    );
    // A sibling is in another package.
    let said = said(&[(&format!("{CPUS}/cpu0/topology/thread_siblings_list"), "0,2,4")]);
    let expected = format!(
        "{CPUS}/cpu0/topology/thread_siblings_list has CPUs 0,2,4, but {CPUS}/cpu2/topology/physical_package_id has 1: a core has no CPUs of other packages"
    );
    assert!(said.contains(&expected), "{said:?}");
}
