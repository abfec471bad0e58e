//! Eight workloads, in shares of a NUMA node so that each fits every machine.

/// One workload: its pods, and the devices that they need.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// What it is, in a few words.
    pub(super) what: &'static str,
    pub(super) devices: &'static [Devices],
    pub(super) pods: &'static [Kind],
}

/// Devices of one resource.
#[derive(Debug)]
pub(super) struct Devices {
    pub(super) resource: &'static str,
    /// The number on each NUMA node that has any.
    pub(super) on_node: u32,
    pub(super) place: DevicePlace,
}

/// Which NUMA nodes with CPUs have devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DevicePlace {
    Each,
    /// The first, the third and so on.
    EverySecond,
    First,
    /// The first, and the first of the second half.
    Two,
}

/// A kind of pods.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) weight: u32,
    pub(super) runs: Runs,
    pub(super) containers: &'static [Container],
}

/// How long pods run, in hours.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runs {
    Exponential(f64),
    /// The median; sigma is 1.
    LogNormal(f64),
}

/// What a container has for itself: CPUs and memory in hundredths of a NUMA node, and devices in order of the workload's. One
/// without CPUs shares them.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) cpus: u32,
    pub(super) memory: u32,
    pub(super) devices: &'static [u32],
}

const fn one(cpus: u32, memory: u32, devices: &'static [u32]) -> Container {
    Container { cpus, memory, devices }
}

const fn kind(name: &'static str, weight: u32, runs: Runs, containers: &'static [Container]) -> Kind {
    Kind { name, weight, runs, containers }
}

const fn on(resource: &'static str, on_node: u32, place: DevicePlace) -> Devices {
    Devices { resource, on_node, place }
}

use DevicePlace::{Each, EverySecond, First, Two};
use Runs::{Exponential, LogNormal};

pub(super) const WORKLOADS: [Workload; 8] = [
    Workload {
        name: "telco",
        what: "packet forwarders and radio units beside control pods; network cards on every second NUMA node",
        devices: &[on("intel.com/vf", 16, EverySecond)],
        pods: &[
            kind("forwarder", 4, Exponential(8.0), &[one(52, 15, &[2])]),
            kind("radio", 1, Exponential(24.0), &[one(80, 30, &[4]), one(12, 5, &[])]),
            kind("control", 4, Exponential(6.0), &[one(40, 20, &[])]),
            kind("web", 3, LogNormal(2.0), &[one(0, 2, &[])]),
        ],
    },
    Workload {
        name: "training",
        what: "jobs of one, two or four GPUs with a network card each, and data preparation",
        devices: &[on("nvidia.com/gpu", 4, Each), on("nvidia.com/nic", 4, Each)],
        pods: &[
            kind("one-gpu", 4, LogNormal(2.0), &[one(21, 10, &[1, 1])]),
            kind("two-gpus", 3, LogNormal(4.0), &[one(42, 20, &[2, 2])]),
            kind("four-gpus", 2, LogNormal(6.0), &[one(84, 40, &[4, 4])]),
            kind("prepare", 3, Exponential(1.0), &[one(17, 8, &[])]),
        ],
    },
    Workload {
        name: "inference",
        what: "models on one or two GPUs, two GPUs a NUMA node, beside services without any",
        devices: &[on("nvidia.com/gpu", 2, Each)],
        pods: &[
            kind("small-model", 5, Exponential(4.0), &[one(17, 12, &[1])]),
            kind("large-model", 2, Exponential(5.0), &[one(34, 25, &[2])]),
            kind("tokens", 3, LogNormal(2.0), &[one(23, 13, &[])]),
            kind("retrieval", 1, Exponential(6.0), &[one(56, 42, &[])]),
        ],
    },
    Workload {
        name: "nfv",
        what: "network functions with two cards in all, and what manages them",
        devices: &[on("intel.com/vf", 12, Two)],
        pods: &[
            kind("function", 4, Exponential(10.0), &[one(17, 5, &[2])]),
            kind("gateway", 2, Exponential(8.0), &[one(26, 9, &[4])]),
            kind("manager", 4, Exponential(8.0), &[one(13, 9, &[])]),
            kind("analysis", 1, Exponential(5.0), &[one(50, 18, &[])]),
        ],
    },
    Workload {
        name: "web",
        what: "pinned services of a quarter to a whole NUMA node, and caches that need memory",
        devices: &[],
        pods: &[
            kind("small", 5, Exponential(6.0), &[one(25, 13, &[])]),
            kind("middle", 3, Exponential(6.0), &[one(50, 32, &[])]),
            kind("large", 2, Exponential(8.0), &[one(75, 64, &[])]),
            kind("cache", 1, Exponential(8.0), &[one(25, 77, &[])]),
            kind("whole", 1, Exponential(4.0), &[one(87, 25, &[])]),
        ],
    },
    // The kinds, and about the shares, of the first 227 pods of openb_pod_list_default in Alibaba's
    // cluster-trace-gpu-v2023 with a part of a GPU as a whole one, for NUMA nodes of 48 CPUs and 4 GPUs.
    Workload {
        name: "alibaba-gpu-2023",
        what: "the kinds of pods of a public trace: one GPU each, or none, with 4 to 32 CPUs",
        devices: &[on("nvidia.com/gpu", 4, Each)],
        pods: &[
            kind("batch", 17, LogNormal(0.3), &[one(8, 2, &[1])]),
            kind("service", 7, LogNormal(2.0), &[one(25, 5, &[1])]),
            kind("large-service", 5, LogNormal(1.0), &[one(33, 13, &[1])]),
            kind("larger-service", 3, LogNormal(1.0), &[one(40, 17, &[1])]),
            kind("shared-8", 6, LogNormal(1.0), &[one(17, 8, &[1])]),
            kind("shared-4", 4, LogNormal(1.0), &[one(8, 4, &[1])]),
            kind("shared-6", 2, Exponential(3.0), &[one(12, 3, &[1])]),
            kind("no-gpu-8", 2, Exponential(6.0), &[one(17, 8, &[])]),
            kind("no-gpu-20", 2, Exponential(8.0), &[one(42, 17, &[])]),
            kind("no-gpu-32", 1, Exponential(8.0), &[one(67, 17, &[])]),
        ],
    },
    // The kinds, and about the shares, of 174 pods in the middle of Alibaba's cluster-trace-gpu-v2025 (disaggregated recommendation models):
    // nodes with a GPU ask for 8 or 12 CPUs, nodes without for 48, 64 or 96, here of NUMA nodes of 96 CPUs.
    Workload {
        name: "alibaba-dlrm-2025",
        what: "the kinds of pods of a public trace: recommendation models, GPU parts and CPU parts apart",
        devices: &[on("nvidia.com/gpu", 2, Each), on("acme.com/rdma", 50, Each)],
        pods: &[
            kind("gpu-8", 12, Exponential(6.0), &[one(9, 5, &[1, 6])]),
            kind("gpu-12", 2, Exponential(6.0), &[one(13, 15, &[1, 6])]),
            kind("cpu-48", 4, Exponential(5.0), &[one(50, 30, &[0, 1])]),
            kind("cpu-64", 6, Exponential(4.0), &[one(66, 40, &[0, 1])]),
            kind("cpu-96", 7, Exponential(5.0), &[one(87, 60, &[0, 1])]),
        ],
    },
    Workload {
        name: "adversarial",
        what: "sizes that leave gaps beside each other, few devices on one node, memory without CPUs",
        devices: &[on("acme.com/card", 4, First)],
        pods: &[
            kind("third", 3, Exponential(5.0), &[one(34, 17, &[])]),
            kind("half", 3, Exponential(5.0), &[one(47, 17, &[])]),
            kind("memory", 2, Exponential(5.0), &[one(20, 66, &[])]),
            kind("card", 1, Exponential(6.0), &[one(60, 8, &[2])]),
            kind("whole", 1, Exponential(6.0), &[one(87, 17, &[])]),
        ],
    },
];
