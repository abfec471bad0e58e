//! Machines that are captured: the same machine again, small, and without what identifies it.

use std::path::Path;

use crate::cpuinfo::SAMPLES;
use crate::small::{CPUS, NODES, PCI, Small};
use topology_discovery::{Capture, MemoryTree, SysfsTree, read};

/// Captures a tree and holds what is read again against what was read before.
fn check(name: &str, tree: &SysfsTree) -> Vec<u8> {
    let before = read(tree).unwrap_or_else(|error| panic!("{name}: {error}"));
    let capture = Capture::of(tree).unwrap_or_else(|error| panic!("{name}: {error}"));
    let archive = capture.archive().unwrap();
    let again = SysfsTree::archive(&archive).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let after = read(&again).unwrap();
    assert!(before.machine == after.machine, "{name}: another machine");
    assert_eq!(before.info, after.info, "{name}: cAdvisor sees another machine");
    assert_eq!(before.problems, after.problems, "{name}: other problems");
    assert!(after == *capture.found(), "{name}: the archive is not what was captured");
    archive
}

/// The built-in machines, and those that others captured, below the folder `TOPOLET_RECORDED`.
#[test]
fn a_machine_is_the_same_after_it_is_captured() {
    let mut machines: Vec<_> = machine_fixtures::names()
        .map(|name| (name.to_owned(), machine_fixtures::archive(name).unwrap().to_vec()))
        .collect();
    if let Some(recorded) = std::env::var_os("TOPOLET_RECORDED") {
        for kind in ["real", "synthesised"] {
            let folder = Path::new(&recorded).join("machines").join(kind);
            let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let paths = entries.map(|entry| entry.unwrap().path());
            let archives = paths.filter(|path| path.to_string_lossy().ends_with(".tar.zst"));
            machines.extend(archives.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())));
        }
    }
    for (name, archive) in machines {
        let size = check(&name, &SysfsTree::archive(&archive).unwrap()).len();
        assert!(size < 1_000_000, "{name} takes {size} bytes");
    }
}

/// The architecture is known from `/proc/cpuinfo` alone, and decides which clocks and caches cAdvisor reads.
#[test]
fn a_machine_of_any_architecture_is_the_same_after_it_is_captured() {
    for (architecture, text) in SAMPLES {
        let server = Small::server().with("proc/cpuinfo", text);
        let found = server.read();
        assert!(found.problems.is_empty(), "{architecture}: {:?}", found.problems);
        let has_clock = matches!(architecture, "x86" | "ppc64le");
        assert_eq!(found.info.cpu_frequency_khz > 0, has_clock, "{architecture}");
        check(architecture, &server.tree());
        let is_s390x = architecture == "s390x";
        assert_eq!(found.info.num_books, if is_s390x { 2 } else { 0 }, "{architecture}");
        // What lacks a clock says the same of it before and after.
        check(architecture, &server.with("proc/cpuinfo", "processor\t: 0\nflags\t: fpu\n").tree());
    }
}

/// What contradicts itself is captured with both sides, under the names by which it was reported.
#[test]
fn problems_are_those_of_the_machine_after_it_is_captured() {
    let of_cpu = |cpu: u32, name: &str| format!("{CPUS}/cpu{cpu}/{name}");
    let node = |name: &str| format!("{NODES}/node0/{name}");
    for (path, text) in [
        (node("cpulist"), "0-1,4"),
        (node("cpumap"), "31"),
        (node("cpumap"), "xyz"),
        (node("meminfo"), "Node 0 MemFree: 3 kB"),
        (node("distance"), "10"),
        (of_cpu(0, "topology/thread_siblings"), "1"),
        (of_cpu(0, "topology/thread_siblings_list"), "0-1"),
        (of_cpu(1, "topology/core_cpus_list"), "1"),
        (of_cpu(2, "topology/package_cpus"), "ff"),
        (of_cpu(2, "topology/core_siblings_list"), "2-3"),
        (of_cpu(2, "topology/core_id"), "7"),
        (of_cpu(3, "cache/index3/shared_cpu_list"), "0-7"),
        (of_cpu(3, "cache/index3/size"), "1K"),
        (of_cpu(0, "cpufreq/cpuinfo_max_freq"), "fast"),
        (format!("{PCI}/0000:01:00.0/local_cpus"), "f"),
        (format!("{NODES}/nodeX9/cpulist"), "9"),
        ("proc/cpuinfo".to_owned(), "model name\t: something without a clock\nflags\t: fpu"),
        ("proc/meminfo".to_owned(), "MemTotal:  1 kB\nMemFree:  1 kB"),
        ("proc/meminfo".to_owned(), "MemFree:  1 kB"),
    ] {
        let target = Small::server().tree().target(&path).unwrap_or(path);
        let server = Small::server().with(&target, text);
        assert!(!server.read().problems.is_empty(), "{target}: {text}");
        check(&target, &server.tree());
    }
    for gone in ["proc/cpuinfo", "proc/meminfo", "sys/devices/system/node", "sys/devices/system/cpu/online"] {
        check(gone, &Small::server().without(gone).tree());
    }
}

#[test]
fn nothing_that_identifies_a_machine_is_captured() {
    const SECRET: &str = "52:54:00:SECRET";
    let mut files = MemoryTree::new();
    let cpu = "sys/devices/system/cpu";
    files.add_file(&format!("{cpu}/online"), b"0\n");
    files.add_file(&format!("{cpu}/cpu0/topology/core_id"), b"0\n");
    let device = "sys/devices/pci0000:00/0000:00:01.0";
    files.add_file(&format!("{device}/class"), b"0x020000\n");
    files.add_link("sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0");
    files.add_file("proc/meminfo", b"MemTotal: 1024 kB\nSwapTotal: 0 kB\n");
    let cpuinfo = format!("processor: 0\nSerial : {SECRET}\nmodel name : a model\ncpu MHz : 2000.000\n");
    files.add_file("proc/cpuinfo", cpuinfo.as_bytes());
    for path in [
        format!("{device}/net/eth0/address"),
        format!("{device}/net/enx525400abcdef/address"),
        format!("{device}/vpd"),
        format!("{device}/nvme/nvme0/serial"),
        format!("{device}/config"),
        format!("{cpu}/cpu0/topology/ppin"),
        format!("{cpu}/modalias"),
        "sys/class/dmi/id/product_serial".to_owned(),
        "sys/class/net/eth0/address".to_owned(),
        "proc/sys/kernel/hostname".to_owned(),
        "etc/machine-id".to_owned(),
    ] {
        files.add_file(&path, SECRET.as_bytes());
    }
    let capture = Capture::of(&SysfsTree::from(files)).unwrap();
    assert_eq!(capture.found().machine.devices().len(), 1, "the device is there");
    let shown = format!("{:?}", capture.files());
    for gone in [SECRET, "525400abcdef", "serial", "ppin", "hostname", "machine-id"] {
        assert!(!shown.contains(gone), "{gone} is captured");
    }
    let archive = capture.archive().unwrap();
    let mut text = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(archive.as_slice()).unwrap();
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    assert!(!String::from_utf8_lossy(&text).contains(SECRET));
    assert!(String::from_utf8_lossy(&text).contains("a model"), "the text is that of the files");
}

#[test]
fn what_changes_by_the_minute_changes_no_capture() {
    let machine = |free: u32, mhz: u32| {
        let mut files = MemoryTree::new();
        files.add_file("sys/devices/system/cpu/online", b"0\n");
        files.add_file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", b"3000000\n");
        files.add_file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", format!("{mhz}\n").as_bytes());
        files.add_file("proc/cpuinfo", format!("processor : 0\ncpu MHz : {mhz}.000\n").as_bytes());
        let meminfo = format!("MemTotal: 1024 kB\nMemFree: {free} kB\nSwapTotal: 0 kB\n");
        files.add_file("proc/meminfo", meminfo.as_bytes());
        let node = format!("Node 0 MemTotal: 1024 kB\nNode 0 MemFree: {free} kB\n");
        files.add_file("sys/devices/system/node/node0/meminfo", node.as_bytes());
        files.add_file("sys/devices/system/node/node0/cpulist", b"0\n");
        Capture::of(&SysfsTree::from(files)).unwrap().archive().unwrap()
    };
    assert!(machine(700, 1200) == machine(300, 2900));
}

#[test]
fn a_capture_of_a_capture_is_the_same() {
    let tree = SysfsTree::archive(machine_fixtures::archive("xeon-2s-96cpu-sriov").unwrap()).unwrap();
    let once = Capture::of(&tree).unwrap().archive().unwrap();
    let twice = Capture::of(&SysfsTree::archive(&once).unwrap()).unwrap().archive().unwrap();
    assert!(once == twice);
}

#[test]
fn this_machine_is_captured() {
    match read(&SysfsTree::live()) {
        Ok(_) => drop(check("this machine", &SysfsTree::live())),
        Err(error) => println!("skipped: the files of this machine are hidden: {error}"),
    }
}
