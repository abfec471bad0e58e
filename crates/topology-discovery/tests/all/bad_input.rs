//! Trees and archives that are broken, hostile or empty: a typed error with its place, or a machine with problems.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{EntryType, Header};
use topology_discovery::{
    ArchiveError, Discovery, DiscoveryError, MachineInfoError, MemoryTree, SysfsTree, TreeError,
    machine_info_from_json, read,
};

const CPUS: &str = "sys/devices/system/cpu";

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("topology-discovery-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn add(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Two CPUs of one core, without anything else.
    fn with_two_cpus(name: &str) -> Self {
        let folder = Self::new(name);
        folder.add("sys/devices/system/cpu/online", "0-1\n");
        for cpu in 0..2 {
            folder.add(&format!("{CPUS}/cpu{cpu}/topology/core_id"), "0\n");
            folder.add(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"), "0\n");
            folder.add(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings"), "3\n");
        }
        folder
    }

    fn read(&self) -> Discovery {
        read(&SysfsTree::directory(&self.0).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing is lost when the system's own cleaning has to do it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The problems that are about a path.
fn said_of(found: &Discovery, path: &str) -> Vec<String> {
    found.problems.iter().filter(|problem| problem.path == path).map(ToString::to_string).collect()
}

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    // Written by hand, because the library refuses names that climb out.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_cksum();
    header
}

fn packed(entries: &[(Header, &[u8])]) -> Vec<u8> {
    let mut stream = Vec::new();
    for (header, content) in entries {
        stream.extend_from_slice(header.as_bytes());
        stream.extend_from_slice(content);
        stream.resize(stream.len().next_multiple_of(512), 0);
    }
    stream.extend([0; 1024]);
    compress_to_vec(stream.as_slice(), CompressionLevel::Fastest)
}

fn refused(archive: &[u8]) -> ArchiveError {
    match SysfsTree::archive(archive).expect_err("the archive is refused") {
        TreeError::Archive(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = SysfsTree::directory("/nowhere/at/all").expect_err("there is no such folder");
    assert!(matches!(&error, TreeError::Open { path, .. } if path == "/nowhere/at/all"), "{error:?}");
    let folder = Folder::new("file");
    folder.add("file", "");
    let error = SysfsTree::directory(folder.0.join("file")).expect_err("a file is no folder");
    assert!(matches!(&error, TreeError::NotAFolder(path) if path.ends_with("/file")), "{error:?}");
}

#[test]
fn an_empty_folder_has_no_cpus() {
    let folder = Folder::new("empty");
    let tree = SysfsTree::directory(&folder.0).unwrap();
    assert_eq!(read(&tree), Err(DiscoveryError::NoCpus));
    assert_eq!(read(&SysfsTree::from(MemoryTree::new())), Err(DiscoveryError::NoCpus));
}

#[test]
fn a_folder_that_may_not_be_entered_is_not_taken_for_an_empty_one() {
    for (name, closed) in [("closed", ""), ("half", "sys/devices"), ("last", CPUS)] {
        let folder = Folder::with_two_cpus(name);
        let path = folder.0.join(closed);
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let may_enter = fs::read_dir(&path).is_ok();
        let found = read(&SysfsTree::directory(&folder.0).unwrap());
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        if may_enter {
            println!("skipped: root may enter every folder");
            return;
        }
        assert_eq!(found, Err(DiscoveryError::Denied(closed.to_owned())), "{name}");
    }
}

#[test]
fn the_smallest_tree_is_a_machine_with_one_node() {
    let found = Folder::with_two_cpus("small").read();
    assert_eq!(found.machine.nodes().len(), 1);
    assert_eq!(found.machine.cores().len(), 1);
    assert_eq!(found.info.num_cpus, 2);
    assert_eq!(
        said_of(&found, "sys/devices/system/node"),
        ["sys/devices/system/node is missing: one node is taken to hold everything"]
    );
}

#[test]
fn links_that_loop_or_leave_the_tree_lead_nowhere() {
    let folder = Folder::with_two_cpus("links");
    let secret = Folder::new("secret");
    secret.add("meminfo", "MemTotal: 4096 kB\n");
    fs::create_dir_all(folder.0.join("proc")).unwrap();
    let up = "../".repeat(20);
    let outside = format!("{up}{}", secret.0.join("meminfo").display());
    std::os::unix::fs::symlink(outside, folder.0.join("proc/meminfo")).unwrap();
    std::os::unix::fs::symlink("present", folder.0.join(CPUS).join("present")).unwrap();
    std::os::unix::fs::symlink("b", folder.0.join(CPUS).join("possible")).unwrap();
    std::os::unix::fs::symlink("possible", folder.0.join(CPUS).join("b")).unwrap();

    let found = folder.read();
    assert_eq!(found.machine.memory(), None, "a file outside of the tree is not read");
    assert_eq!(found.machine.cpus().present, None);
    assert_eq!(found.machine.cpus().possible, None);
    assert!(!said_of(&found, "proc/meminfo").is_empty());
}

#[test]
fn a_link_to_an_absolute_path_starts_at_the_root_of_the_tree() {
    let folder = Folder::with_two_cpus("absolute");
    folder.add("other/meminfo", "MemTotal: 4096 kB\n");
    fs::create_dir_all(folder.0.join("proc")).unwrap();
    std::os::unix::fs::symlink("/other/meminfo", folder.0.join("proc/meminfo")).unwrap();
    assert_eq!(folder.read().machine.memory(), Some(4096 << 10));
}

#[test]
fn a_file_of_a_gibibyte_is_not_read() {
    let folder = Folder::with_two_cpus("huge");
    fs::create_dir_all(folder.0.join("proc")).unwrap();
    File::create(folder.0.join("proc/meminfo")).unwrap().set_len(1 << 30).unwrap();
    let found = folder.read();
    assert!(
        said_of(&found, "proc/meminfo").iter().any(|text| text.contains("larger than")),
        "{:?}",
        found.problems
    );
}

#[test]
fn what_is_no_text_or_no_list_is_named() {
    let folder = Folder::with_two_cpus("garbage");
    for (name, content) in [("present", "0-4294967295\n"), ("possible", "one, two\n"), ("isolated", "3-1\n")]
    {
        folder.add(&format!("{CPUS}/{name}"), content);
    }
    fs::write(folder.0.join(CPUS).join("cpu0/topology/core_id"), [0xff, 0xfe, 0x30]).unwrap();
    fs::create_dir_all(folder.0.join(CPUS).join("cpu0/topology/die_id")).unwrap();
    let found = folder.read();
    for name in ["present", "possible", "isolated", "cpu0/topology/core_id", "cpu0/topology/die_id"] {
        assert!(!said_of(&found, &format!("{CPUS}/{name}")).is_empty(), "{name}: {:?}", found.problems);
    }
}

#[test]
fn an_archive_may_end_anywhere() {
    let whole =
        machine_fixtures::archive("threadripper3960x-nps4-memoryless-4node").expect("a machine of the list");
    let step = whole.len() / 40;
    for length in (0..whole.len()).step_by(step) {
        let error = refused(&whole[..length]);
        let expected = matches!(
            error,
            ArchiveError::OtherForm
                | ArchiveError::Packing { .. }
                | ArchiveError::Damaged { .. }
                | ArchiveError::Empty
        );
        assert!(expected, "{length} bytes: {error:?}");
    }
}

#[test]
fn an_archive_may_be_damaged_anywhere() {
    let whole =
        machine_fixtures::archive("threadripper3960x-nps4-memoryless-4node").expect("a machine of the list");
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x55;
        if let Ok(tree) = SysfsTree::archive(&damaged) {
            // Damage that the packer cannot see is damage to the files.
            let _ = read(&tree);
        }
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    assert!(matches!(refused(b""), ArchiveError::Empty));
    assert!(matches!(refused(b"{\"num_cores\": 4}"), ArchiveError::OtherForm));
    let text =
        compress_to_vec(b"no tar archive, only text".repeat(100).as_slice(), CompressionLevel::Fastest);
    assert!(matches!(refused(&text), ArchiveError::NotTar { packer: "zstd" }));
    assert!(matches!(refused(&packed(&[])), ArchiveError::Empty));
}

#[test]
fn archives_that_unpack_to_too_much_are_refused() {
    let huge = refused(&packed(&[(header("sys/huge", EntryType::Regular, 10 << 30), b"")]));
    assert!(
        matches!(&huge, ArchiveError::FileTooLarge { path, size } if path == "sys/huge" && *size == 10 << 30)
    );

    let name = refused(&packed(&[(header("long", EntryType::GNULongName, 1 << 30), b"")]));
    assert!(matches!(name, ArchiveError::NameTooLong), "{name:?}");

    let zeros = vec![0; 24 << 20];
    let file = |name| (header(name, EntryType::Regular, 24 << 20), zeros.as_slice());
    let many = refused(&packed(&[file("sys/a"), file("sys/b"), file("sys/c")]));
    assert!(matches!(many, ArchiveError::TooLarge), "{many:?}");

    let deep = "d/".repeat(45);
    let deep = refused(&packed(&[
        (header("long", EntryType::GNULongName, 180), deep.repeat(2).as_bytes()),
        (header("d", EntryType::Directory, 0), b""),
    ]));
    assert!(matches!(deep, ArchiveError::NameTooLong), "{deep:?}");
}

#[test]
fn entries_that_climb_out_of_an_archive_are_refused() {
    let error = refused(&packed(&[(header("sys/../../etc/passwd", EntryType::Regular, 1), b"x")]));
    assert!(matches!(&error, ArchiveError::Name(name) if name == "sys/../../etc/passwd"), "{error:?}");
}

#[test]
fn links_in_an_archive_that_loop_or_climb_lead_nowhere() {
    let mut tree = MemoryTree::new();
    tree.add_file(&format!("{CPUS}/online"), b"0\n");
    tree.add_link("proc/meminfo", "../../etc/shadow");
    tree.add_link("proc/cpuinfo", "cpuinfo");
    tree.add_link("sys/devices/system/node", "node");
    let found = read(&SysfsTree::from(tree)).unwrap();
    assert_eq!(found.machine.memory(), None);
    for path in ["proc/meminfo", "proc/cpuinfo", "sys/devices/system/node"] {
        assert!(!said_of(&found, path).is_empty(), "{path}: {:?}", found.problems);
    }
}

/// Old kernels have folders of CPUs without a topology, and no list of those that run.
#[test]
fn folders_of_cpus_that_say_nothing_are_named() {
    let mut tree = MemoryTree::new();
    for cpu in 0..8 {
        tree.add_folder(&format!("{CPUS}/cpu{cpu}"));
    }
    let error = read(&SysfsTree::from(tree)).expect_err("no CPU is known to run");
    assert_eq!(
        error.to_string(),
        "sys/devices/system/cpu has the folders of CPUs 0-7, but nothing says which of them are online: \
         it has no usable list `online`, and none of them has a topology folder. \
         Write the list of those that run into sys/devices/system/cpu/online, such as 0-7"
    );
}

/// As in captures that lack files: what is not there is not taken for an empty node without a word.
#[test]
fn a_node_of_which_nothing_tells_the_cpus_is_said_to_lack_that() {
    let folder = Folder::with_two_cpus("bare-node");
    folder.add("sys/devices/system/node/node0/cpumap", "3\n");
    folder.add("sys/devices/system/node/node1/distance", "20 10\n");
    let list = "sys/devices/system/node/node1/cpulist";
    assert_eq!(
        said_of(&folder.read(), list),
        [format!("{list} is missing: the node is taken to have no CPUs")]
    );
}

/// The problems of a small machine with this `/proc/meminfo` and nodes of this size.
fn said_of_memory(name: &str, meminfo: Option<&str>, node: &str) -> Vec<String> {
    let folder = Folder::with_two_cpus(name);
    folder.add("proc/cpuinfo", "processor : 0\ncpu MHz : 1000.000\n");
    folder.add("sys/devices/system/node/node0/meminfo", node);
    if let Some(text) = meminfo {
        folder.add("proc/meminfo", text);
    }
    let found = folder.read();
    let own = found.problems.iter().filter(|problem| problem.path.ends_with("meminfo"));
    own.map(ToString::to_string).collect()
}

#[test]
fn what_is_said_of_memory_is_one_true_sentence() {
    let (node, no_node) = ("Node 0 MemTotal: 1024 kB\n", "Node 0 MemFree: 5 kB\n");
    let nothing = "sys/devices/system/node/node0/meminfo has no line MemTotal: NUMBER kB: not known";
    for (meminfo, node, expected) in [
        (
            None,
            node,
            &["proc/meminfo is missing: the machine's memory is taken as the sum over its nodes"][..],
        ),
        (None, no_node, &["proc/meminfo is missing: not known", nothing]),
        (
            Some("MemTotal: 5 kB\n"),
            node,
            &["proc/meminfo has no line SwapTotal: NUMBER kB: swap is taken as zero"],
        ),
        (
            Some("SwapTotal: 0 kB\n"),
            node,
            &[
                "proc/meminfo has no line MemTotal: NUMBER kB: the machine's memory is taken as the sum over its nodes",
            ],
        ),
        (
            Some("SwapTotal: 0 kB\n"),
            no_node,
            &["proc/meminfo has no line MemTotal: NUMBER kB: not known", nothing],
        ),
        (Some("MemTotal: 5 kB\nSwapTotal: 0 kB\n"), node, &[]),
    ] {
        assert_eq!(said_of_memory("memory", meminfo, node), expected, "{meminfo:?}");
    }
}

#[test]
fn a_machine_without_cpuinfo_says_so_once() {
    let folder = Folder::with_two_cpus("cpuinfo");
    assert_eq!(
        said_of(&folder.read(), "proc/cpuinfo"),
        ["proc/cpuinfo is missing: packages and cores are counted from the CPU folders"]
    );
    folder.add("proc/cpuinfo", "processor : 0\nflags : fpu\n");
    assert_eq!(
        said_of(&folder.read(), "proc/cpuinfo"),
        ["proc/cpuinfo has no line cpu MHz or clock: NUMBER: the clock is taken as zero"]
    );
}

#[test]
fn machine_information_of_another_kind_is_refused() {
    for text in ["", "null", "{", "{\"num_cores\": \"four\"}", "{\"topology\": [{}]}", "\u{0}"] {
        assert!(matches!(machine_info_from_json(text.as_bytes()), Err(MachineInfoError::Json(_))), "{text}");
    }
    for text in ["{}", "[]", " [4]", "{\"kind\": \"Pod\"}"] {
        assert!(
            matches!(machine_info_from_json(text.as_bytes()), Err(MachineInfoError::OtherKind)),
            "{text}"
        );
    }
    assert!(matches!(machine_info_from_json(&vec![b' '; 17 << 20]), Err(MachineInfoError::TooLarge)));
}

#[test]
fn folder_and_archive_of_a_machine_are_one_machine() {
    let name = "threadripper3960x-nps4-memoryless-4node";
    let archive = machine_fixtures::archive(name).expect("a machine of the list");
    let folder = Folder::new("unpacked");
    let stream = ruzstd::decoding::StreamingDecoder::new(archive).unwrap();
    tar::Archive::new(stream).unpack(&folder.0).unwrap();
    assert_eq!(folder.read(), read(&SysfsTree::archive(archive).unwrap()).unwrap());
}
