//! Machines that are captured: the same machine again, small, and without what identifies it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

use std::path::Path;

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
    assert!(after == *capture.found(), "{name}: the archive is not what was captured");
    archive
}

#[test]
fn a_built_in_machine_is_the_same_after_it_is_captured() {
    for name in machine_fixtures::names() {
        let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
        let size = check(name, &tree).len();
        assert!(size < 800_000, "{name} takes {size} bytes");
    }
}

#[test]
fn a_machine_that_others_captured_is_the_same_after_it_is_captured_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/machines/real");
    let Ok(entries) = folder.read_dir() else {
        println!("skipped: there are no captured machines in {}", folder.display());
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".tar.zst") {
            check(&name, &SysfsTree::archive(&std::fs::read(&path).unwrap()).unwrap());
        }
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
    for gone in [SECRET, "eth0", "nvme0", "ppin", "hostname", "machine-id"] {
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
