//! What the kernel calls the network interfaces, disks and GPUs that drivers make of PCI devices.
//!
//! A driver's part of the kernel has a folder below that of the device, with one folder for each thing it made:
//! `net/eth0`, `infiniband/mlx5_0`, `nvme/nvme0/nvme0n1`, `drm/card0`, `virtio3/net/eth0`.

use crate::tree::SysfsTree;

/// Folders of the parts of the kernel below that of a device.
const PARTS: [&str; 5] = ["accel", "drm", "infiniband", "net", "nvme"];
/// The same below that of a device of virtio.
const VIRTIO_PARTS: [&str; 2] = ["block", "net"];

/// The folders of what drivers made of the device in a folder, by name; the last part of each path is a name.
pub(crate) fn folders(tree: &SysfsTree, device: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for part in PARTS {
        let folder = format!("{device}/{part}");
        for name in tree.list(&folder).unwrap_or_default() {
            match part {
                // Its namespaces are the disks; a controller without any has its own name.
                "nvme" => folders.extend(namespaces(tree, &format!("{folder}/{name}"), &name)),
                // Beside the card there are nodes for rendering, which are the same GPU.
                "drm" if !name.starts_with("card") => {}
                _ => folders.push(format!("{folder}/{name}")),
            }
        }
    }
    let virtio = tree.list(device).unwrap_or_default();
    for bus in virtio.iter().filter(|name| is_numbered(name, "virtio")) {
        for part in VIRTIO_PARTS {
            let folder = format!("{device}/{bus}/{part}");
            let names = tree.list(&folder).unwrap_or_default();
            folders.extend(names.iter().map(|name| format!("{folder}/{name}")));
        }
    }
    folders.sort_by(|one, other| last(one).cmp(last(other)));
    folders
}

/// What the kernel calls the parts of a device.
pub(super) fn kernel_names(tree: &SysfsTree, device: &str) -> Vec<String> {
    folders(tree, device).iter().map(|folder| last(folder).to_owned()).collect()
}

/// Whether a name holds the address of a network card, as udev names those that it cannot name by place
/// (`enx001b21aabbcc`).
pub(crate) fn has_hardware_address(folder: &str) -> bool {
    let name = last(folder);
    let address = ["en", "wl", "ib", "sl"].iter().find_map(|kind| name.strip_prefix(kind)?.strip_prefix('x'));
    address.is_some_and(|address| address.len() >= 12 && address.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// `nvme0n1` below `nvme0`, or below `nvme0` the hidden `nvme0c0n1` of a disk with several ways to it.
fn namespaces(tree: &SysfsTree, folder: &str, controller: &str) -> Vec<String> {
    let mut own = tree.list(folder).unwrap_or_default();
    own.retain(|name| is_numbered(name, &format!("{controller}n")));
    if own.is_empty() {
        return vec![folder.to_owned()];
    }
    own.iter().map(|name| format!("{folder}/{name}")).collect()
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
