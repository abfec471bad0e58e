//! Which PCI functions of a machine the devices of a plugin are, by the name of their resource.
//!
//! A Node object has the number of its devices alone. Where a plugin is known, its devices are the machine's functions of a vendor and
//! class, each of them once or in equal shares (time-slices, partitions, work queues), so that each device is on the NUMA node of its
//! function. Where the number does not come out, the devices are near no NUMA node, and a warning has the reason.

mod mig;
mod share;

use pod_spec::ResourceName;
use topology_model::{Machine, PciDevice, Sriov};

pub(crate) use self::share::Placed;
use self::share::{Shares, spread};

/// The functions that a plugin offers.
struct Plugin {
    /// Names of its resources; one that ends in `/` or `_` is the beginning of them.
    resources: &'static [&'static str],
    /// What a function is called in a message.
    what: &'static str,
    vendor: u16,
    /// Classes and subclasses.
    classes: &'static [u16],
    /// Numbers of the vendor; empty: any.
    devices: &'static [u16],
    shares: Shares,
}

const DISPLAY: &[u16] = &[0x0300, 0x0302, 0x0380];
const ACCELERATOR: &[u16] = &[0x0300, 0x0302, 0x0380, 0x1200];
/// A class of processors for particular tasks; the base system's other peripherals.
const COPROCESSOR: &[u16] = &[0x0b40, 0x0880, 0x1200];

/// Virtual functions of `QuickAssist`, of which alone Intel's plugin makes devices.
const QAT_FUNCTIONS: &[u16] =
    &[0x0442, 0x0443, 0x18a1, 0x19e3, 0x37c9, 0x4941, 0x4943, 0x4945, 0x4947, 0x4949, 0x6f55];

/// Sources: the plugins of NVIDIA, of Intel (`intel/intel-device-plugins-for-kubernetes`, 94a91bc) and of AMD
/// (`ROCm/k8s-device-plugin`, ed76468).
const PLUGINS: &[Plugin] = &[
    Plugin {
        resources: &["nvidia.com/gpu", "nvidia.com/gpu.shared"],
        what: "GPU of NVIDIA",
        vendor: 0x10de,
        classes: &[0x0300, 0x0302],
        devices: &[],
        shares: Shares::Equal,
    },
    Plugin {
        resources: &["amd.com/gpu"],
        what: "GPU of AMD",
        vendor: 0x1002,
        classes: ACCELERATOR,
        devices: &[],
        shares: Shares::UpTo(8),
    },
    Plugin {
        resources: &["amd.com/spx_"],
        what: "GPU of AMD",
        vendor: 0x1002,
        classes: ACCELERATOR,
        devices: &[],
        shares: Shares::One,
    },
    Plugin {
        resources: &["amd.com/dpx_", "amd.com/tpx_", "amd.com/qpx_", "amd.com/cpx_"],
        what: "GPU of AMD",
        vendor: 0x1002,
        classes: ACCELERATOR,
        devices: &[],
        shares: Shares::UpTo(8),
    },
    Plugin {
        resources: &["gpu.intel.com/i915", "gpu.intel.com/xe"],
        what: "GPU of Intel",
        vendor: 0x8086,
        classes: DISPLAY,
        devices: &[],
        shares: Shares::Equal,
    },
    Plugin {
        resources: &["npu.intel.com/accel"],
        what: "NPU of Intel",
        vendor: 0x8086,
        classes: &[0x1200],
        devices: &[0x643e, 0x7d1d, 0xad1d, 0xb03e],
        shares: Shares::Equal,
    },
    Plugin {
        resources: &["qat.intel.com/"],
        what: "virtual function of QuickAssist",
        vendor: 0x8086,
        classes: COPROCESSOR,
        devices: QAT_FUNCTIONS,
        shares: Shares::One,
    },
    Plugin {
        resources: &["dsa.intel.com/"],
        what: "Data Streaming Accelerator",
        vendor: 0x8086,
        classes: COPROCESSOR,
        devices: &[0x0b25, 0x11fb, 0x1212],
        shares: Shares::Equal,
    },
    Plugin {
        resources: &["iaa.intel.com/"],
        what: "In-Memory Analytics Accelerator",
        vendor: 0x8086,
        classes: COPROCESSOR,
        devices: &[0x0cfe, 0x1216],
        shares: Shares::Equal,
    },
    Plugin {
        resources: &["dlb.intel.com/pf"],
        what: "Dynamic Load Balancer",
        vendor: 0x8086,
        classes: COPROCESSOR,
        devices: &[0x2710, 0x2714],
        shares: Shares::One,
    },
    Plugin {
        resources: &["dlb.intel.com/vf"],
        what: "virtual function of a Dynamic Load Balancer",
        vendor: 0x8086,
        classes: COPROCESSOR,
        devices: &[0x2711, 0x2715],
        shares: Shares::One,
    },
    Plugin {
        resources: &["fpga.intel.com/"],
        what: "FPGA of Intel",
        vendor: 0x8086,
        classes: &[0x1200],
        devices: &[0x09c4, 0x09c5, 0x0b2b, 0x0b2c, 0x0b30, 0x0b31],
        shares: Shares::Equal,
    },
];

/// Resources whose devices are files of the kernel or of the whole machine: plugins list them without NUMA nodes.
const NOWHERE: &[&str] = &[
    "sgx.intel.com/",
    "gpu.intel.com/monitoring",
    "gpu.intel.com/i915_monitoring",
    "gpu.intel.com/xe_monitoring",
    "devices.kubevirt.io/",
    "smarter-devices/",
    "squat.ai/",
];

/// What the devices of a resource are on a machine, which has so many of them.
pub(crate) fn placed(resource: &ResourceName, count: u32, machine: &Machine) -> Placed {
    let name = resource.as_str();
    if NOWHERE.iter().any(|own| is_called(own, name)) {
        return Placed::Nowhere;
    }
    if let Some(profile) = name.strip_prefix("nvidia.com/mig-") {
        return mig::placed(profile, count, machine);
    }
    let known = PLUGINS.iter().find(|plugin| plugin.resources.iter().any(|own| is_called(own, name)));
    let Some(plugin) = known else { return Placed::NotKnown };
    let functions: Vec<&PciDevice> = machine.devices().iter().filter(|own| plugin.offers(own)).collect();
    spread(resource, count, &functions, plugin.what, plugin.shares)
}

/// The profiles of partitions that the machine's GPUs of NVIDIA can have, as resources; empty: none of them is known.
pub(crate) fn mig_resources(machine: &Machine) -> Vec<String> {
    mig::resources(machine)
}

fn is_called(own: &str, name: &str) -> bool {
    name == own || own.ends_with(['/', '_']) && name.starts_with(own)
}

impl Plugin {
    fn offers(&self, function: &PciDevice) -> bool {
        // Of a card with virtual functions these are offered.
        let is_shared = matches!(&function.sriov, Sriov::Physical(own) if !own.is_empty());
        function.vendor == Some(self.vendor)
            && self.classes.contains(&function.class_code())
            && (self.devices.is_empty() || function.device.is_some_and(|own| self.devices.contains(&own)))
            && !is_shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::LoadedMachine;

    fn machine(name: &str) -> Machine {
        LoadedMachine::named(name).unwrap().machine.unwrap()
    }

    /// `lspci -nn -vv` of accelerators, and a machine with two NUMA nodes around them.
    fn listed(functions: &[(&str, &str, &str, i64)]) -> Machine {
        let lines = functions.iter().map(|(slot, class, numbers, node)| {
            format!("{slot} Device [{class}]: Vendor Device [{numbers}]\n\tNUMA node: {node}\n")
        });
        let text = format!(
            "{}\navailable: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 1000 MB\nnode 1 cpus: 2 3\nnode 1 size: 1000 MB\n",
            lines.collect::<String>()
        );
        machine_text::read(&text).unwrap().machine
    }

    fn placed(resource: &str, count: u32, machine: &Machine) -> Placed {
        super::placed(&ResourceName::new(resource), count, machine)
    }

    /// What the devices are, and how many are on each NUMA node.
    fn counts(resource: &str, count: u32, machine: &Machine) -> (String, Vec<usize>) {
        match placed(resource, count, machine) {
            Placed::Functions { devices, what } => {
                let on = |node: i64| {
                    devices.iter().filter(|own| own.topology.ids().iter().any(|id| id.0 == node)).count()
                };
                (what, (0..2).map(on).collect())
            }
            other => panic!("{resource}: {count}: {other:?}"),
        }
    }

    #[test]
    fn gpus_of_nvidia_are_whole_shared_or_partitioned() {
        let machine = machine("epyc-2s-96cpu-16l3-8gpu");
        let all = "the machine's 8 GPUs of NVIDIA".to_owned();
        assert_eq!(counts("nvidia.com/gpu", 8, &machine), (all, vec![4, 4]));
        let shares = "4 of each of the machine's 8 GPUs of NVIDIA".to_owned();
        assert_eq!(counts("nvidia.com/gpu.shared", 32, &machine), (shares, vec![16, 16]));
        assert_eq!(counts("nvidia.com/mig-3g.20gb", 16, &machine).1, [8, 8]);
        for (resource, count, why) in [
            ("nvidia.com/gpu", 7, "7 of them are no equal share of the machine's 8 GPUs of NVIDIA"),
            (
                "nvidia.com/mig-3g.20gb",
                24,
                "24 of them are no equal share of the machine's 8 GPUs of NVIDIA with at most 2 of each",
            ),
            (
                "nvidia.com/mig-1g.18gb",
                56,
                "the machine's A100 40GB has no profile 1g.18gb, but 1g.5gb, 1g.5gb.me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb",
            ),
        ] {
            assert_eq!(placed(resource, count, &machine), Placed::Differs(why.to_owned()), "{resource}");
        }
        assert_eq!(
            mig_resources(&machine).first().map(String::as_str),
            Some("nvidia.com/mig-1g.5gb (up to 7 of a GPU)")
        );
    }

    #[test]
    fn partitions_of_amd_are_shares_of_a_gpu() {
        let machine = listed(&[("05:00.0", "1200", "1002:74a1", 0), ("85:00.0", "1200", "1002:74a1", 1)]);
        assert_eq!(counts("amd.com/gpu", 2, &machine).1, [1, 1]);
        assert_eq!(counts("amd.com/gpu", 16, &machine).1, [8, 8]);
        assert_eq!(counts("amd.com/cpx_nps4", 16, &machine).1, [8, 8]);
        assert_eq!(counts("amd.com/spx_nps1", 2, &machine).1, [1, 1]);
        // Of a machine with several styles the number of one does not tell whose they are.
        assert!(matches!(placed("amd.com/spx_nps1", 1, &machine), Placed::Differs(_)));
    }

    #[test]
    fn accelerators_of_intel_are_told_by_their_numbers() {
        let machine = listed(&[
            ("6b:00.0", "0b40", "8086:4940", 0),
            ("6b:00.1", "0b40", "8086:4941", 0),
            ("e8:00.1", "0b40", "8086:4941", 1),
            ("6a:01.0", "0880", "8086:0b25", 0),
            ("6a:02.0", "0880", "8086:0cfe", 0),
            ("9a:00.0", "0380", "8086:56c0", 1),
        ]);
        assert_eq!(counts("qat.intel.com/generic", 2, &machine).1, [1, 1]);
        assert_eq!(
            counts("qat.intel.com/asym-dc", 2, &machine).0,
            "the machine's 2 virtual functions of QuickAssist"
        );
        assert_eq!(counts("dsa.intel.com/wq-user-shared", 4, &machine).1, [4, 0]);
        assert_eq!(counts("iaa.intel.com/wq-user-dedicated", 1, &machine).1, [1, 0]);
        assert_eq!(counts("gpu.intel.com/i915", 3, &machine).1, [0, 3]);
        assert_eq!(placed("sgx.intel.com/epc", 8, &machine), Placed::Nowhere);
        assert_eq!(placed("gpu.intel.com/i915_monitoring", 1, &machine), Placed::Nowhere);
        assert_eq!(placed("example.com/card", 1, &machine), Placed::NotKnown);
        let none = "the machine has no FPGA of Intel among its PCI functions".to_owned();
        assert_eq!(placed("fpga.intel.com/region-ce48", 1, &machine), Placed::Differs(none));
    }
}
