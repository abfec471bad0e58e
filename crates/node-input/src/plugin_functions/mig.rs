//! Partitions of GPUs of NVIDIA (MIG): which profiles a product has, and how many instances of one a GPU can have.
//!
//! Source: NVIDIA's *MIG User Guide*, "Supported MIG Profiles", and the numbers of products in the default configuration of
//! `NVIDIA/mig-parted` (bd7160f). A resource has the name of its profile, in which the plugin writes `.` for `+`.

use pod_spec::ResourceName;
use topology_model::{Machine, PciDevice};

use super::share::{Placed, Shares, spread};

/// A product.
struct Product {
    /// What it is called.
    name: &'static str,
    /// NVIDIA's numbers of it.
    devices: &'static [u16],
    /// Its profiles, with the most instances that a GPU has of one.
    profiles: &'static [(&'static str, u32)],
}

const PRODUCTS: &[Product] = &[
    Product {
        name: "A30",
        devices: &[0x20b7],
        profiles: &[("1g.6gb", 4), ("1g.6gb.me", 1), ("2g.12gb", 2), ("2g.12gb.me", 1), ("4g.24gb", 1)],
    },
    Product {
        name: "A100 40GB",
        devices: &[0x20b0, 0x20b1, 0x20f1, 0x20f6],
        profiles: &[
            ("1g.5gb", 7),
            ("1g.5gb.me", 1),
            ("1g.10gb", 4),
            ("2g.10gb", 3),
            ("3g.20gb", 2),
            ("4g.20gb", 1),
            ("7g.40gb", 1),
        ],
    },
    Product {
        name: "A100 80GB or H100 80GB",
        devices: &[0x20b2, 0x20b5, 0x20f3, 0x20f5, 0x2322, 0x2324, 0x2330, 0x2331],
        profiles: &[
            ("1g.10gb", 7),
            ("1g.10gb.me", 1),
            ("1g.20gb", 4),
            ("2g.20gb", 3),
            ("3g.40gb", 2),
            ("4g.40gb", 1),
            ("7g.80gb", 1),
        ],
    },
    Product {
        name: "H100 96GB, GH200 96GB or H20",
        devices: &[0x20b6, 0x2329, 0x233d, 0x2342],
        profiles: &[
            ("1g.12gb", 7),
            ("1g.12gb.me", 1),
            ("1g.24gb", 4),
            ("2g.24gb", 3),
            ("3g.48gb", 2),
            ("4g.48gb", 1),
            ("7g.96gb", 1),
        ],
    },
    Product {
        name: "H100 NVL",
        devices: &[0x2321, 0x233a],
        profiles: &[
            ("1g.12gb", 7),
            ("1g.12gb.me", 1),
            ("1g.24gb", 4),
            ("2g.24gb", 3),
            ("3g.47gb", 2),
            ("4g.47gb", 1),
            ("7g.94gb", 1),
        ],
    },
    Product {
        name: "GH200 144GB",
        devices: &[0x2348],
        profiles: &[
            ("1g.18gb", 7),
            ("1g.18gb.me", 1),
            ("1g.36gb", 4),
            ("2g.36gb", 3),
            ("3g.72gb", 2),
            ("4g.72gb", 1),
            ("7g.144gb", 1),
        ],
    },
    Product {
        name: "H200",
        devices: &[0x2335, 0x233b],
        profiles: &[
            ("1g.18gb", 7),
            ("1g.18gb.me", 1),
            ("1g.35gb", 4),
            ("2g.35gb", 3),
            ("3g.71gb", 2),
            ("4g.71gb", 1),
            ("7g.141gb", 1),
        ],
    },
    Product {
        name: "B200",
        devices: &[0x2901],
        profiles: &[
            ("1g.23gb", 7),
            ("1g.23gb.me", 1),
            ("1g.45gb", 4),
            ("2g.45gb", 3),
            ("3g.90gb", 2),
            ("4g.90gb", 1),
            ("7g.180gb", 1),
        ],
    },
    Product {
        name: "GB200",
        devices: &[0x2941],
        profiles: &[
            ("1g.23gb", 7),
            ("1g.23gb.me", 1),
            ("1g.47gb", 4),
            ("2g.47gb", 3),
            ("3g.93gb", 2),
            ("4g.93gb", 1),
            ("7g.186gb", 1),
        ],
    },
    Product {
        name: "B300",
        devices: &[0x3182],
        profiles: &[
            ("1g.34gb", 7),
            ("1g.34gb.me", 1),
            ("1g.67gb", 4),
            ("2g.67gb", 3),
            ("3g.135gb", 2),
            ("4g.135gb", 1),
            ("7g.269gb", 1),
        ],
    },
    Product {
        name: "GB300",
        devices: &[0x31c2],
        profiles: &[
            ("1g.35gb", 7),
            ("1g.35gb.me", 1),
            ("1g.70gb", 4),
            ("2g.70gb", 3),
            ("3g.139gb", 2),
            ("4g.139gb", 1),
            ("7g.278gb", 1),
        ],
    },
    Product {
        name: "RTX PRO 6000 Blackwell",
        devices: &[0x2bb5],
        profiles: &[
            ("1g.24gb", 4),
            ("1g.24gb.me.all", 1),
            ("1g.24gb.gfx", 4),
            ("2g.48gb", 2),
            ("2g.48gb.me.all", 1),
            ("2g.48gb.gfx", 2),
            ("4g.96gb", 1),
            ("4g.96gb.gfx", 1),
        ],
    },
];

/// Whether it is a GPU that can have partitions or is not known.
fn is_gpu(function: &PciDevice) -> bool {
    function.vendor == Some(0x10de) && matches!(function.class_code(), 0x0300 | 0x0302)
}

fn product(function: &PciDevice) -> Option<&'static Product> {
    let number = function.device?;
    PRODUCTS.iter().find(|product| product.devices.contains(&number))
}

/// What the instances of a profile are on a machine, which has so many of them.
pub(super) fn placed(profile: &str, count: u32, machine: &Machine) -> Placed {
    let most =
        |product: &Product| product.profiles.iter().find(|(own, _)| *own == profile).map(|(_, most)| *most);
    let gpus: Vec<&PciDevice> = machine.devices().iter().filter(|own| is_gpu(own)).collect();
    let known: Vec<&Product> = gpus.iter().filter_map(|gpu| product(gpu)).collect();
    let with: Vec<&PciDevice> = gpus
        .iter()
        .copied()
        .filter(|gpu| product(gpu).is_none_or(|product| most(product).is_some()))
        .collect();
    if let ([], Some(first)) = (with.as_slice(), known.first()) {
        let own: Vec<&str> = first.profiles.iter().map(|(profile, _)| *profile).collect();
        return Placed::Differs(format!(
            "the machine's {} has no profile {profile}, but {}",
            first.name,
            own.join(", ")
        ));
    }
    let most = known.iter().filter_map(|product| most(product)).min();
    let resource = ResourceName::new(&format!("nvidia.com/mig-{profile}"));
    spread(&resource, count, &with, "GPU of NVIDIA", most.map_or(Shares::Equal, Shares::UpTo))
}

/// The resources that partitions of the machine's GPUs are called by.
pub(super) fn resources(machine: &Machine) -> Vec<String> {
    let products = machine.devices().iter().filter(|own| is_gpu(own)).filter_map(product);
    let profiles = products.flat_map(|product| product.profiles);
    let all = profiles.map(|(profile, most)| format!("nvidia.com/mig-{profile} (up to {most} of a GPU)"));
    let mut once: Vec<String> = Vec::new();
    for resource in all {
        if !once.contains(&resource) {
            once.push(resource);
        }
    }
    once
}
