//! Archives in each form that people have: the same machine as in ours, or one clear error in little memory.

use std::io::Read;

use crate::packing::{
    Entry, ZEROS_XZ, bzip2, entries, file, forms, gzip, header, link, packed, tar_of, xz, xz_of_window,
    zip_of,
};
use allocation_counter::measure;
use rawzip::CompressionMethod;
use tar::EntryType;
use topology_discovery::{ArchiveError, Discovery, SysfsTree, TreeError, is_archive, read};

/// A machine of two CPUs.
fn small() -> Vec<Entry> {
    let mut all = vec![
        file("sys/devices/system/cpu/online", "0-1\n"),
        file("sys/devices/system/node/node0/cpulist", "0-1\n"),
        file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 2048 kB\n"),
        file("proc/meminfo", "MemTotal: 4096 kB\n"),
    ];
    for cpu in ["cpu0", "cpu1"] {
        all.push(file(&format!("sys/devices/system/cpu/{cpu}/topology/thread_siblings_list"), "0-1\n"));
        all.push(link(&format!("sys/devices/system/node/node0/{cpu}"), &format!("../../cpu/{cpu}")));
    }
    all
}

fn below(folder: &str, all: &[Entry]) -> Vec<Entry> {
    all.iter().map(|entry| entry.below(folder)).collect()
}

fn machine(archive: &[u8]) -> Discovery {
    read(&SysfsTree::archive(archive).unwrap_or_else(|error| panic!("{error}: {error:?}"))).unwrap()
}

fn error(archive: &[u8]) -> TreeError {
    SysfsTree::archive(archive).unwrap_err()
}

fn refused(archive: &[u8]) -> ArchiveError {
    match error(archive) {
        TreeError::Archive(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_machine_is_the_same_in_every_form() {
    for name in machine_fixtures::names() {
        let own = machine_fixtures::archive(name).unwrap();
        let expected = SysfsTree::archive(own).unwrap();
        let mut stream = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(own).unwrap().read_to_end(&mut stream).unwrap();
        let all = entries(&stream);
        let mut forms = packed(&stream);
        forms.retain(|(form, _)| *form != "zstd");
        // A packer of zip is made anew for each file, which takes long where there are tens of thousands.
        let is_small = all.len() < 10_000;
        let method = if is_small { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
        forms.push(("zip", zip_of(&all, method)));
        if is_small {
            forms.push(("tar of a folder", tar_of(&below(&format!("sosreport-{name}-2026/host"), &all))));
        }
        for (form, archive) in forms {
            assert!(is_archive(&archive[..archive.len().min(512)]), "{name} in {form}");
            let files = same_files(&SysfsTree::archive(&archive).unwrap(), &expected, "");
            assert!(files > 1000, "{name} in {form}: {files} files");
        }
    }
}

/// How many files two trees have alike, with folders and links in both.
fn same_files(tree: &SysfsTree, other: &SysfsTree, path: &str) -> usize {
    let target = tree.target(path);
    assert_eq!(target, other.target(path), "{path}");
    let names = tree.list(path);
    assert_eq!(names, other.list(path), "{path}");
    match names {
        // A link; what it leads to has its own place.
        _ if target.as_deref() != Some(path) => 0,
        Some(names) => {
            let below = |name: &String| if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            names.iter().map(|name| same_files(tree, other, &below(name))).sum()
        }
        None => {
            assert_eq!(tree.read(path).unwrap(), other.read(path).unwrap(), "{path}");
            1
        }
    }
}

/// The same machine as `tar` of GNU packs it with gzip, xz and bzip2.
fn of_other_programs() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("tgz", include_bytes!("../../../../fixtures/field/84-packed-machine/m.tgz").to_vec()),
        ("tar.xz", include_bytes!("../../../../fixtures/field/84-packed-machine/m.tar.xz").to_vec()),
        ("tar.bz2", include_bytes!("../../../../fixtures/field/84-packed-machine/m.tar.bz2").to_vec()),
    ]
}

#[test]
fn archives_of_other_programs_are_read() {
    let found: Vec<Discovery> = of_other_programs().iter().map(|(_, archive)| machine(archive)).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].machine.online().len(), 4);
    assert!(found[0] == found[1] && found[1] == found[2]);
}

#[test]
fn a_machine_lies_at_the_top_or_in_three_folders_at_most() {
    let expected = machine(&tar_of(&small()));
    for folder in ["h", "a/b", "./a/b/c"] {
        let mut all = below(folder, &small());
        all.push(file(&format!("{folder}/var/log/messages"), "many lines"));
        all.push(Entry::HardLink(format!("{folder}/proc/cpuinfo"), format!("{folder}/proc/meminfo")));
        for (form, archive) in forms(&all) {
            assert!(machine(&archive).machine == expected.machine, "{folder} in {form}");
        }
    }
    let deeper = error(&gzip(&tar_of(&below("must-gather/b/c/d", &small()))));
    assert_eq!(
        deeper.to_string(),
        "no machine is in the archive: sys/devices/system/cpu is neither at its top nor up to 3 folders below; at its top \
         are must-gather"
    );
    // One at the top is meant, whatever lies below.
    let both = [small(), below("backup", &small())].concat();
    assert!(machine(&tar_of(&both)) == expected);
}

/// An absolute link starts at the machine's own top, and a hard link is a path of the archive.
#[test]
fn links_of_a_machine_in_a_folder_stay_in_it() {
    let mut all = below("host", &small());
    all.retain(|entry| !matches!(entry, Entry::File(path, _) if path.ends_with("proc/meminfo")));
    all.push(file("host/proc/real", "MemTotal: 8192 kB\n"));
    all.push(link("host/proc/meminfo", "/proc/real"));
    for (form, archive) in forms(&all) {
        assert_eq!(machine(&archive).machine.memory(), Some(8192 << 10), "{form}");
    }
    all.pop();
    all.push(Entry::HardLink("host/proc/meminfo".to_owned(), "host/proc/real".to_owned()));
    for (form, archive) in packed(&tar_of(&all)) {
        assert_eq!(machine(&archive).machine.memory(), Some(8192 << 10), "{form}");
    }
    all.pop();
    all.push(file("proc/secret", "MemTotal: 1 kB\n"));
    let far = format!("{}proc/secret", "../".repeat(9));
    for target in ["../../proc/secret", &far, "/host/proc/real", "meminfo"] {
        all.push(link("host/proc/meminfo", target));
        for (form, archive) in forms(&all) {
            assert_ne!(machine(&archive).machine.memory(), Some(1 << 10), "{target} in {form}");
            assert_ne!(machine(&archive).machine.memory(), Some(8192 << 10), "{target} in {form}");
        }
        all.pop();
    }
}

#[test]
fn several_machines_are_named() {
    let folders = ["node-a", "node-b", "more/node-c", "more/node-d", "more/x/node-e", "more/x/node-f"];
    let all: Vec<Entry> = folders.iter().flat_map(|folder| below(folder, &small())).collect();
    for (form, archive) in forms(&all) {
        assert_eq!(
            error(&archive).to_string(),
            "6 machines are in it, in node-a, node-b, more/node-c, more/node-d, more/x/node-e, …: expected one of these \
             folders",
            "{form}"
        );
    }
}

#[test]
fn archives_without_a_machine_say_what_is_in_them() {
    let all = [
        file("must-gather.local/timestamp", ""),
        file("must-gather.local/nodes/worker-0/sysinfo.tgz", "packed again"),
        file("must-gather.local/namespaces/all/pods.yaml", "kind: List"),
        file("event-filter.html", ""),
        file("proc/version", "Linux"),
    ];
    for (form, archive) in forms(&all) {
        let TreeError::NoMachine(names) = error(&archive) else { panic!("{form}") };
        assert_eq!(names.top, ["must-gather.local", "event-filter.html", "proc"], "{form}");
        assert_eq!(names.archives, ["must-gather.local/nodes/worker-0/sysinfo.tgz"], "{form}");
    }
    for (form, archive) in forms(&[]) {
        let expected = form == "tar" || matches!(refused(&archive), ArchiveError::Empty);
        assert!(expected, "{form}: {:?}", error(&archive));
    }
    for (form, archive) in packed(b"kind: Pod\n".repeat(100).as_slice()) {
        let said = refused(&archive).to_string();
        let packer = form.split(' ').next().unwrap();
        let expected = match packer {
            "tar" => "it is neither a tar or zip archive nor packed by zstd, gzip, xz or bzip2".to_owned(),
            packer => format!("it is packed by {packer}, but what is packed is not a tar archive"),
        };
        assert_eq!(said, expected, "{form}");
        assert_eq!(is_archive(&archive), form != "tar");
    }
}

#[test]
fn entries_that_climb_out_are_refused_in_every_form() {
    let mut all = small();
    all.push(file("sys/../../etc/passwd", "x"));
    for (form, archive) in forms(&all) {
        let error = refused(&archive);
        assert!(
            matches!(&error, ArchiveError::Name(name) if name.ends_with("etc/passwd")),
            "{form}: {error:?}"
        );
    }
}

/// Small archives that unpack to gigabytes, and windows of gigabytes.
#[test]
fn bombs_are_refused_in_little_memory() {
    let head = header("var/log/messages", EntryType::Regular, 4 << 30);
    let zeros = vec![0; 8 << 20];
    let long = |head: Vec<u8>, part: &[u8]| [head, part.repeat(65)].concat();
    let machine = tar_of(&small());
    let parts = 20_000;
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("gzip", long(gzip(head.as_bytes()), &gzip(&zeros)), "archive unpacks to more than 512 MiB"),
        ("xz", long(xz(head.as_bytes()), ZEROS_XZ), "archive unpacks to more than 512 MiB"),
        ("bzip2", long(bzip2(head.as_bytes()), &bzip2(&zeros)), "archive unpacks to more than 512 MiB"),
        (
            "xz with a window of 4 GiB",
            xz_of_window(&machine, 40),
            "it is packed by xz in a way that cannot be read: its window is larger than 64 MiB",
        ),
        (
            "xz with a window of 96 MiB",
            xz_of_window(&machine, 29),
            "it is packed by xz in a way that cannot be read: its window is larger than 64 MiB",
        ),
        ("empty parts of gzip", gzip(b"").repeat(parts), "archive is damaged after 0 entries"),
        ("empty parts of bzip2", bzip2(b"").repeat(parts), "archive is damaged after 0 entries"),
        ("a zip of one large file", claimed(&zeros, 33 << 20), "has 34603008 bytes, more than 32 MiB"),
        ("a zip that gives more than it says", claimed(&zeros, 10), "archive is damaged after 0 entries"),
        (
            "a zip that gives less than it says",
            claimed(&zeros, 9 << 20),
            "archive is damaged after 0 entries",
        ),
    ];
    for (name, archive, expected) in cases {
        let mut said = String::new();
        let cost = measure(|| said = refused(&archive).to_string());
        assert!(said.contains(expected), "{name}: {said}");
        // The largest are the window of xz, and a file of 8 MiB.
        assert!(cost.bytes_max < 32 << 20, "{name}: {} bytes at once", cost.bytes_max);
        println!("{name}: {} bytes, {} KiB at once", archive.len(), cost.bytes_max >> 10);
    }
    assert_eq!(self::machine(&xz_of_window(&machine, 28)).machine.online().len(), 2, "64 MiB, as of xz -9");
}

/// A zip of a file that says it has another size.
fn claimed(content: &[u8], size: u32) -> Vec<u8> {
    let all = [Entry::File("sys/large".to_owned(), content.to_vec())];
    let mut archive = zip_of(&all, CompressionMethod::DEFLATE);
    let entry = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    archive[entry + 24..entry + 28].copy_from_slice(&size.to_le_bytes());
    archive
}

/// Entries of a zip archive that all point at one packed file.
#[test]
fn a_zip_of_entries_over_each_other_is_refused() {
    let content = vec![7; 1 << 20];
    let all: Vec<Entry> = (0..9).map(|at| Entry::File(format!("sys/{at}"), content.clone())).collect();
    let mut archive = zip_of(&all, CompressionMethod::STORE);
    let entries: Vec<usize> =
        (0..archive.len() - 4).filter(|at| archive[*at..].starts_with(b"PK\x01\x02")).collect();
    // Only the first one's bytes stay, and each entry begins there.
    let (first, directory) = (entries[0] / 9, entries[0]);
    for at in entries {
        archive[at + 42..at + 46].copy_from_slice(&[0; 4]);
    }
    archive.drain(first..directory);
    let end = archive.len() - 22;
    archive[end + 16..end + 20].copy_from_slice(&u32::try_from(first).unwrap().to_le_bytes());
    let said = refused(&archive);
    assert!(matches!(said, ArchiveError::Damaged { entries: 1, .. }), "{said:?}");
}

#[test]
fn methods_of_zip_that_are_not_read_are_named() {
    let mut archive = zip_of(&small(), CompressionMethod::STORE);
    let entry = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    archive[entry + 10] = 93;
    let said = refused(&archive).to_string();
    assert_eq!(said, "it is packed by zip in a way that cannot be read: method 93 of zip");
    archive[entry + 8] |= 1;
    let said = refused(&archive).to_string();
    assert_eq!(said, "it is packed by zip in a way that cannot be read: it is encrypted");
}

/// A small machine in every form, and archives of other programs.
fn small_archives() -> Vec<(&'static str, Vec<u8>)> {
    [forms(&small()), of_other_programs()].concat()
}

/// No prefix is another machine, and none takes the program down.
#[test]
fn an_archive_that_ends_early_is_an_error_or_the_same_machine() {
    for (form, archive) in small_archives() {
        let expected = machine(&archive);
        let mut same = 0;
        for length in 0..archive.len() {
            if let Ok(tree) = SysfsTree::archive(&archive[..length]) {
                assert!(read(&tree).unwrap() == expected, "{form}: {length} of {} bytes", archive.len());
                same += 1;
            }
        }
        // The second of two blocks of zeros, or zeros behind the last part.
        assert!(same <= 512, "{form}: {same} prefixes are whole");
    }
}

/// Damage is found by the packer's sums, or is damage to the files of what has none: tar as it is, and names in zip.
#[test]
fn a_damaged_byte_is_an_error_or_damage_to_a_file() {
    for (form, archive) in small_archives() {
        let expected = machine(&archive);
        let has_sums = !matches!(form, "tar" | "zstd" | "zip" | "stored zip");
        for at in 0..archive.len() {
            let mut damaged = archive.clone();
            damaged[at] ^= 0x55;
            if let Ok(tree) = SysfsTree::archive(&damaged) {
                let found = read(&tree);
                assert!(!has_sums || found == Ok(expected.clone()), "{form}: byte {at} of {}", archive.len());
            }
        }
    }
}
