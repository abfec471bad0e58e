//! Kernel names of PCI devices: read from a tree, captured, and read back.

use topology_discovery::{Capture, MemoryTree, SysfsTree, read};

const ROOT: &str = "sys/devices/pci0000:00";

/// A machine with devices: address, class, folders below the device.
fn tree(devices: &[(&str, &str, &[&str])]) -> MemoryTree {
    let mut files = MemoryTree::new();
    files.add_file("sys/devices/system/cpu/online", b"0\n");
    files.add_file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", b"0\n");
    files.add_file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", b"2000000\n");
    files.add_file("proc/meminfo", b"MemTotal: 1024 kB\n");
    for (address, class, folders) in devices {
        let device = format!("{ROOT}/{address}");
        files.add_file(&format!("{device}/class"), class.as_bytes());
        files.add_link(
            &format!("sys/bus/pci/devices/{address}"),
            &format!("../../../devices/pci0000:00/{address}"),
        );
        for folder in *folders {
            files.add_folder(&format!("{device}/{folder}"));
        }
    }
    files
}

fn names(tree: &SysfsTree) -> Vec<Vec<String>> {
    let machine = read(tree).unwrap().machine;
    machine.devices().iter().map(|device| device.kernel_names.clone()).collect()
}

#[test]
fn devices_have_the_names_of_what_drivers_made_of_them() {
    let rows: [(&str, &[&str], &[&str]); 8] = [
        ("0x020000", &["net/eth0", "net/eth1"], &["eth0", "eth1"]),
        ("0x020700", &["infiniband/mlx5_0", "net/ib0", "infiniband_mad/umad0"], &["ib0", "mlx5_0"]),
        ("0x010802", &["nvme/nvme0/nvme0n1", "nvme/nvme0/hwmon1"], &["nvme0n1"]),
        ("0x010802", &["nvme/nvme1/nvme1c1n1", "nvme/nvme1/power"], &["nvme1"]),
        ("0x030200", &["drm/card1", "drm/renderD129"], &["card1"]),
        ("0x020000", &["virtio3/net/eth2", "virtiofs"], &["eth2"]),
        ("0x120000", &["accel/accel0"], &["accel0"]),
        // A bridge is no work, whatever is below it.
        ("0x060400", &["net/eth9"], &[]),
    ];
    let addresses: Vec<String> = (0..rows.len()).map(|at| format!("0000:00:0{at}.0")).collect();
    let devices: Vec<_> = rows
        .iter()
        .zip(&addresses)
        .map(|((class, below, _), address)| (address.as_str(), *class, *below))
        .collect();
    let found = names(&SysfsTree::from(tree(&devices)));
    for ((class, below, expected), names) in rows.iter().zip(&found) {
        assert_eq!(names, expected, "{class} with {below:?}");
    }
}

#[test]
fn a_captured_machine_keeps_them_without_addresses_of_network_cards() {
    let below: &[&str] = &["net/eth0", "net/enx001b21aabbcc", "net/enxio", "infiniband/mlx5_0"];
    let live = SysfsTree::from(tree(&[("0000:00:01.0", "0x020000", below)]));
    assert_eq!(names(&live), [["enx001b21aabbcc", "enxio", "eth0", "mlx5_0"]]);
    let archive = Capture::of(&live).unwrap().archive().unwrap();
    assert_eq!(names(&SysfsTree::archive(&archive).unwrap()), [["enxio", "eth0", "mlx5_0"]]);
}

#[test]
fn a_machine_captured_without_them_has_none() {
    let archive = machine_fixtures::archive("xeon-2s-96cpu-sriov").unwrap();
    assert!(names(&SysfsTree::archive(archive).unwrap()).iter().all(Vec::is_empty));
}

#[test]
fn drivers_are_read_by_links_that_lead_nowhere_too_and_captured() {
    let mut files = tree(&[("0000:00:01.0", "0x020000", &[]), ("0000:00:02.0", "0x020000", &[])]);
    let up = "../".repeat(4);
    files.add_link(&format!("{ROOT}/0000:00:01.0/driver"), &format!("{up}bus/pci/drivers/vfio-pci"));
    files.add_link(&format!("{ROOT}/0000:00:02.0/driver"), "../elsewhere");
    let drivers = |tree: &SysfsTree| -> Vec<Option<String>> {
        read(tree).unwrap().machine.devices().iter().map(|device| device.driver.clone()).collect()
    };
    let live = SysfsTree::from(files);
    let expected = [Some("vfio-pci".to_owned()), None];
    assert_eq!(drivers(&live), expected);
    let archive = Capture::of(&live).unwrap().archive().unwrap();
    assert_eq!(drivers(&SysfsTree::archive(&archive).unwrap()), expected);
}
