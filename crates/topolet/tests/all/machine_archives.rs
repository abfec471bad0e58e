//! Machines in archives and bundles, as people have them: whatever a file is called, and in whatever folder the machine lies.

use std::fs::File;

use crate::tree::{Place, Tree};

/// Packs the machine of a place, once in each folder, beside a file of text.
fn pack(place: &Place, file: &str, folders: &[&str]) {
    let mut archive = tar::Builder::new(File::create(place.path().join(file)).unwrap());
    for folder in folders {
        archive.append_dir_all(folder, place.path().join("machine")).unwrap();
    }
    let text = b"kind: List\n";
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    archive.append_data(&mut header, "must-gather.local.1/pods.yaml", &text[..]).unwrap();
    archive.into_inner().unwrap();
}

/// What is printed where the exit status says that something is wrong.
fn printed_with_problems(place: &Place, arguments: &[&str]) -> String {
    let output = place.topolet(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_archive_is_known_by_its_content_and_its_machine_found_in_a_folder() {
    let place = Tree::of_nodes(2).written("packed");
    pack(&place, "support.bin", &["sosreport-worker-0-2026"]);
    let shown = place.printed(&["topology", "-m", "./support.bin", "-o", "tree"]);
    assert_eq!(shown.replace("support.bin", "machine"), place.shown("tree"));
    place.printed(&["capture", "same.tar.zst", "-m", "support.bin"]);
    place.printed(&["capture", "--check", "same.tar.zst", "-m", "./machine"]);
}

#[test]
fn a_folder_may_hold_the_machine_some_folders_below() {
    let place = Tree::of_nodes(2).with("var/lib/kubelet/cpu_manager_state", "torn").written("below");
    std::fs::create_dir_all(place.path().join("bundle/nodes")).unwrap();
    std::fs::rename(place.path().join("machine"), place.path().join("bundle/nodes/worker-0")).unwrap();
    let shown = printed_with_problems(&place, &["topology", "-m", "./bundle"]);
    assert!(shown.starts_with("bundle") && shown.contains("2 NUMA nodes"), "{shown}");
    // The kubelet's files lie where the machine does.
    let checked = printed_with_problems(&place, &["state", "check", "-m", "./bundle"]);
    assert!(checked.contains("cpu_manager_state") && checked.contains("does not start"), "{checked}");
}

/// As in a sosreport, which copies some of the files of `sys` and `proc`.
#[test]
fn what_a_bundle_lacks_of_a_machine_is_named() {
    let place = Tree::of_nodes(2).without("proc/cpuinfo").without_memory().written("lacking");
    pack(&place, "sosreport.tar", &["sosreport-worker-0-2026"]);
    let shown = place.printed(&["topology", "-m", "./sosreport.tar"]);
    assert!(shown.contains("2 NUMA nodes") && shown.contains("proc/meminfo is missing"), "{shown}");
}

#[test]
fn several_machines_are_named_with_what_to_give() {
    let place = Tree::of_nodes(1).written("several");
    pack(&place, "two.tar", &["nodes/a", "nodes/b"]);
    let error = place.error(&["topology", "-m", "./two.tar"]);
    assert_eq!(
        error,
        "error: failed to read ./two.tar: 2 machines are in it, in nodes/a, nodes/b: expected one of these folders; \
         `tar xf ./two.tar` unpacks it\n"
    );
    let folder = place.path().join("nodes");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::rename(place.path().join("machine"), folder.join("a")).unwrap();
    let other = Tree::of_nodes(1).written("several-other");
    std::fs::rename(other.path().join("machine"), folder.join("b")).unwrap();
    let error = place.error(&["admit", "-m", "./nodes", "-f", "pod.yaml"]);
    assert!(
        error.contains("./nodes: 2 machines are in it, in a, b: expected one of these folders"),
        "{error}"
    );
    assert!(place.printed(&["topology", "-m", "./nodes/b"]).contains("1 NUMA node"));
}

#[test]
fn an_archive_without_a_machine_says_what_is_in_it_and_what_to_run() {
    let place = Tree::of_nodes(1).written("no-machine");
    pack(&place, "must-gather.tar", &[]);
    assert_eq!(
        place.error(&["topology", "-m", "./must-gather.tar"]),
        "error: failed to read ./must-gather.tar: no machine is in the archive: sys/devices/system/cpu is neither at its top \
         nor up to 3 folders below; at its top are must-gather.local.1; `topolet capture NODE.tar.zst` on the node packs \
         its machine; `topolet diagnose ./must-gather.tar` reads a support bundle such as a must-gather\n"
    );
    std::fs::write(place.path().join("machine/sysinfo.tgz"), "packed again").unwrap();
    std::fs::remove_dir_all(place.path().join("machine/sys")).unwrap();
    pack(&place, "nested.tar", &["must-gather.local.1/nodes/worker-0"]);
    let error = place.error(&["topology", "-m", "./nested.tar"]);
    let next = "`tar xf ./nested.tar` unpacks it and archives in it: must-gather.local.1/nodes/worker-0/sysinfo.tgz; \
                `topolet diagnose ./nested.tar` reads a support bundle such as a must-gather\n";
    assert!(error.ends_with(next), "{error}");
}

#[test]
fn what_is_called_an_archive_and_is_none_is_refused_as_one() {
    let place = Tree::of_nodes(1).written("no-archive");
    for (name, content, expected) in [
        ("text.tgz", "kind: Pod", "it is neither a tar or zip archive nor packed by zstd, gzip, xz or bzip2"),
        ("empty.zip", "", "archive is empty"),
    ] {
        std::fs::write(place.path().join(name), content).unwrap();
        let error = place.error(&["topology", "-m", &format!("./{name}")]);
        assert!(error.contains(expected), "{name}: {error}");
    }
}
