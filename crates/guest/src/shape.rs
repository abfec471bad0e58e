//! The machine that QEMU emulates for a guest. The command that boots it and the program in it both read this.

use serde::{Deserialize, Serialize};

/// A machine as QEMU can emulate it. Its CPUs are numbered package by package, in each by node, core and thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// The fixture machine that it is made of.
    pub(crate) machine: String,
    pub(crate) threads: usize,
    /// By node id, which has no gaps.
    pub(crate) nodes: Vec<NodeShape>,
}

/// One NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct NodeShape {
    /// The position of its package; `None` for a node without CPUs.
    pub(crate) package: Option<usize>,
    pub(crate) cores: usize,
    /// In MiB, what the kernel keeps for itself included.
    pub(crate) memory: u64,
    /// To every node by id, in the kernel's unit: 10 is the distance to itself.
    pub(crate) distances: Vec<u32>,
    /// Number of pages of 2 MiB.
    pub(crate) huge_pages: u64,
    pub(crate) device: Option<DeviceShape>,
}

/// An `NVMe` controller on a PCI bus of the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum DeviceShape {
    Plain,
    /// So many virtual functions can be made of it.
    Functions(usize),
}

impl Shape {
    /// How many CPUs it has.
    pub(crate) fn cpus(&self) -> usize {
        self.nodes.iter().map(|node| node.cores).sum::<usize>() * self.threads
    }
}
