//! Memory of a machine that its NUMA nodes do not have: how much, what the kubelet then counts, and why, where the files say
//! it.
//!
//! The threshold is [`MemoryGap`]'s. The kernel writes nowhere why totals differ, so causes are read from what lies beside
//! them: a node that is listed and has no folder, a total that was another when the kubelet started, blocks of memory that
//! are offline, a balloon, a file that something is mounted over. Captures have some of these files only.

use std::fmt;

use config_advice::{ANOTHER_BOOT, DecidedBy, MemoryGap, OTHER_MACHINE_STATE};
use distribution_config::{Distribution, Removal};
use k8s_quantity::Amount;
use node_output::ranges;
use node_state::{FindingLine, Problem, StateFolder};
use topology_discovery::{Discovery, SysfsTree};
use topology_model::{Machine, MachineInfo, NodeId, PciDevice};

use crate::machine::{LIVE, LoadedMachine, files_of};
use crate::node::LoadedNode;

/// Folder of the blocks in which memory is plugged in and brought online.
const BLOCKS: &str = "sys/devices/system/memory";
/// Folder of the devices that are balloons.
const BALLOONS: &str = "sys/bus/virtio/drivers/virtio_balloon";
/// What is mounted here.
const MOUNTS: &str = "proc/self/mounts";
/// PCI vendor of virtio devices, and its numbers of balloons, of both forms.
const VIRTIO: (u16, [u16; 2]) = (0x1af4, [0x1002, 0x1045]);
/// The file that the kubelet compares with NUMA nodes.
const STATE: &str = "memory_manager_state";

/// A machine whose NUMA nodes have another amount of memory than the machine; `Display` gives a sentence with the amounts,
/// what the kubelet counts and the cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingMemory {
    gap: MemoryGap,
    /// What the files say of the cause.
    evidence: Vec<Evidence>,
}

/// What the files say of a cause.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Evidence {
    /// Nodes are listed as online and have no folder.
    HiddenNodes(Vec<NodeId>),
    /// Nodes without a usable total.
    NoTotal(Vec<NodeId>),
    /// A node has more than when the kubelet's file was written.
    Grown { node: i64, was: u64, is: u64 },
    /// So many blocks of memory are offline; of so many bytes each, where that is known.
    Offline { blocks: u64, bytes: Option<u64> },
    /// The host can take memory.
    Balloon,
    /// Something is mounted over `/proc/meminfo`.
    Container,
}

impl LoadedMachine {
    /// Memory that its NUMA nodes do not have; `None`: they have all of it, or one of the amounts is not known. `name` is the
    /// argument by which the machine was read.
    #[must_use]
    pub fn missing_memory(&self, name: &str) -> Option<MissingMemory> {
        let mut missing = MissingMemory::new(&self.info, self.machine.as_ref())?;
        let state = self.packed.as_deref().and_then(|packed| packed.state.as_ref());
        missing.evidence.extend(state.and_then(|state| grown(&self.info, state)));
        // Of a machine as JSON there are no files.
        if let Some((_, tree)) = self.machine.as_ref().and_then(|_| files_of(name).ok()) {
            missing.look_at(&tree, name);
        }
        Some(missing)
    }
}

impl LoadedNode {
    /// Whether its kubelet compares the memory of NUMA nodes with its file each time it starts: policy Static.
    #[must_use]
    pub fn compares_node_totals(&self) -> bool {
        self.rules.decided_by == DecidedBy::Kubelet && self.config().memory_policy() == "Static"
    }

    /// What a reboot does to the kubelet, which keeps memory in `folder` by policy Static, as text to be shown; `None`: it
    /// keeps none there. It matters where nothing else is wrong.
    #[must_use]
    pub fn at_another_boot(&self, folder: &StateFolder) -> Option<&'static str> {
        let files = self.distribution.map(Distribution::state_files);
        let is_deleted = files.is_some_and(|files| files.memory == Removal::AtBoot);
        (self.compares_node_totals() && folder.memory.is_some() && !is_deleted).then_some(ANOTHER_BOOT)
    }
}

impl MissingMemory {
    /// Of a machine that was `found` in the files of `tree`, which `name` names.
    #[must_use]
    pub fn of(found: &Discovery, tree: &SysfsTree, name: &str) -> Option<Self> {
        let mut missing = Self::new(&found.info, Some(&found.machine))?;
        missing.look_at(tree, name);
        Some(missing)
    }

    /// The finding about a folder of a kubelet with policy Static.
    #[must_use]
    pub fn of_state(&self) -> FindingLine {
        FindingLine {
            problem: Problem::Sums,
            file: STATE.to_owned(),
            what: self.to_string(),
            kubelet: format!(
                "starts as long as every NUMA node has the total that the file has, and does not start after a change: start \
                 memory manager error: {OTHER_MACHINE_STATE}"
            ),
            fault: None,
            help: "set memoryManagerPolicy to None while memory is missing, or drain the node and delete the file before each \
                   start of the kubelet"
                .to_owned(),
        }
    }

    /// What policy Static does with it too, as text to be shown.
    #[must_use]
    pub fn with_static(&self) -> String {
        format!(
            "{self}. After each change of a node's total a restart of the kubelet fails: {OTHER_MACHINE_STATE}"
        )
    }

    /// The same beside texts that may have the amounts already.
    #[must_use]
    pub fn beside<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> String {
        let gap = self.gap.to_string();
        if texts.into_iter().any(|text| text.contains(&gap)) {
            format!("why the NUMA nodes have other memory than the machine: {}", self.cause())
        } else {
            self.to_string()
        }
    }

    fn new(info: &MachineInfo, machine: Option<&Machine>) -> Option<Self> {
        let gap = MemoryGap::of(info)?;
        let mut evidence = Vec::new();
        if let Some(machine) = machine.filter(|_| gap.is_of_machine()) {
            let online = machine.node_lists().online.iter().flatten();
            let hidden: Vec<NodeId> = online.copied().filter(|id| machine.node(*id).is_none()).collect();
            let silent = machine.nodes().iter().filter(|node| node.memory.is_none()).map(|node| node.id);
            let silent: Vec<NodeId> = silent.collect();
            evidence.extend((!hidden.is_empty()).then_some(Evidence::HiddenNodes(hidden)));
            evidence.extend((!silent.is_empty()).then_some(Evidence::NoTotal(silent)));
            evidence.extend(machine.devices().iter().any(is_balloon).then_some(Evidence::Balloon));
        }
        Some(Self { gap, evidence })
    }

    /// Adds what other files of the machine say.
    fn look_at(&mut self, tree: &SysfsTree, name: &str) {
        let text = |path: &str| {
            let content = tree.read(path).ok().flatten()?;
            Some(String::from_utf8_lossy(&content).trim().to_owned())
        };
        if self.gap.is_of_machine() {
            let blocks = tree.list(BLOCKS).unwrap_or_default();
            let is_offline = |block: &&String| {
                block.starts_with("memory")
                    && text(&format!("{BLOCKS}/{block}/state")).is_some_and(|state| state == "offline")
            };
            let offline = blocks.iter().filter(is_offline).fold(0_u64, |count, _| count + 1);
            let bytes = text(&format!("{BLOCKS}/block_size_bytes"));
            let bytes = bytes.and_then(|digits| u64::from_str_radix(&digits, 16).ok());
            self.evidence.extend((offline > 0).then_some(Evidence::Offline { blocks: offline, bytes }));
            let balloons = tree.list(BALLOONS).unwrap_or_default();
            if balloons.iter().any(|name| name.starts_with("virtio")) {
                self.evidence.push(Evidence::Balloon);
            }
            self.evidence.dedup();
        }
        // The mounts that are read are those of this process.
        let is_mounted = |mounts: String| {
            mounts.lines().any(|line| line.split_ascii_whitespace().nth(1) == Some("/proc/meminfo"))
        };
        if name == LIVE && text(MOUNTS).is_some_and(is_mounted) {
            self.evidence.push(Evidence::Container);
        }
    }

    /// Why, as far as it is known.
    fn cause(&self) -> String {
        let seen: Vec<String> = self.evidence.iter().map(ToString::to_string).collect();
        if !seen.is_empty() {
            return format!("what its files say of the cause: {}", seen.join("; "));
        }
        let possible = if self.gap.is_of_machine() {
            "memory that the kernel brings up by and by, hot-plugged blocks that are offline, a balloon, or a NUMA node that \
             sysfs does not show"
        } else {
            "a container that sees less than its host (lxcfs), or memory that was unplugged meanwhile"
        };
        format!("the cause is not known here, and can be {possible}")
    }
}

/// The first node that has more memory than the kubelet's file says: hot-plugged memory would be the machine's as well, so the
/// kernel brings it up.
fn grown(info: &MachineInfo, state: &StateFolder) -> Option<Evidence> {
    let file = state.contents_of_any().memory?.ok()?.state;
    let total = |node: i64| {
        let (_, own) = file.nodes.iter().flatten().find(|(id, _)| id.0 == node)?;
        let mut tables = own.as_ref()?.memory.iter().flatten();
        tables.find(|(resource, _)| resource.as_str() == "memory")?.1.as_ref().map(|table| table.total)
    };
    info.topology.iter().flatten().find_map(|node| {
        let was = total(node.id).filter(|was| *was < node.memory)?;
        Some(Evidence::Grown { node: node.id, was, is: node.memory })
    })
}

fn is_balloon(device: &PciDevice) -> bool {
    let (vendor, devices) = VIRTIO;
    device.vendor == Some(vendor) && device.device.is_some_and(|device| devices.contains(&device))
}

impl fmt::Display for MissingMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gap, .. } = self;
        let [nodes, machine] = Amount::told_apart([gap.nodes, gap.machine].map(Amount::Bytes));
        let cause = self.cause();
        write!(
            f,
            "{gap}. The kubelet counts {machine} for the node as a whole, and policy Static {nodes} on NUMA nodes; {cause}"
        )
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |ids: &[NodeId]| ranges(ids.iter().map(|id| id.0));
        match self {
            Self::HiddenNodes(ids) => {
                write!(f, "NUMA {} is listed as online, and sysfs has no folder of it", shown(ids))
            }
            Self::NoTotal(ids) => write!(f, "no usable meminfo of NUMA {}", shown(ids)),
            Self::Grown { node, was, is } => {
                let [was, is] = Amount::told_apart([*was, *is].map(Amount::Bytes));
                write!(
                    f,
                    "the kernel brings memory up by and by, since NUMA {node} had {was} when {STATE} was written and has {is} now"
                )
            }
            Self::Offline { blocks, bytes } => {
                let noun = if *blocks == 1 { "block of memory is" } else { "blocks of memory are" };
                write!(f, "{blocks} {noun} offline")?;
                let all = bytes.map(|bytes| Amount::Bytes(bytes.saturating_mul(*blocks)));
                all.map_or(Ok(()), |all| write!(f, " ({all})"))
            }
            Self::Balloon => f.write_str("a balloon, by which the host takes memory and gives it back"),
            Self::Container => {
                f.write_str("something is mounted over /proc/meminfo, as lxcfs does for containers")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use topology_discovery::{MemoryTree, read};

    use super::*;

    /// A machine with 16GiB, of whose nodes each has the given KiB; `None`: its folder has no meminfo.
    fn tree(nodes: &[Option<u64>], files: &[(&str, &str)]) -> SysfsTree {
        let mut tree = MemoryTree::new();
        let mut add = |path: &str, text: &str| tree.add_file(path, text.as_bytes());
        add("sys/devices/system/cpu/online", "0\n");
        add("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
        add("proc/meminfo", "MemTotal: 16777216 kB\n");
        add("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.000\n");
        for (id, kib) in nodes.iter().enumerate() {
            let folder = format!("sys/devices/system/node/node{id}");
            add(&format!("{folder}/cpulist"), if id == 0 { "0\n" } else { "\n" });
            if let Some(kib) = kib {
                add(&format!("{folder}/meminfo"), &format!("Node {id} MemTotal: {kib} kB\n"));
            }
        }
        for (path, text) in files {
            add(path, text);
        }
        tree.into()
    }

    #[track_caller]
    fn check(nodes: &[Option<u64>], files: &[(&str, &str)], expected: Option<&str>) {
        let tree = tree(nodes, files);
        let missing = MissingMemory::of(&read(&tree).unwrap(), &tree, LIVE);
        assert_eq!(missing.is_some(), expected.is_some(), "{missing:?}");
        if let (Some(missing), Some(expected)) = (missing, expected) {
            assert!(missing.to_string().ends_with(expected), "{missing}");
        }
    }

    #[test]
    fn the_cause_is_what_the_files_say_of_it() {
        let gib = |gib: u64| Some(gib << 20);
        let block = "sys/devices/system/memory/memory";
        let unknown = "the cause is not known here, and can be memory that the kernel brings up by and by, hot-plugged blocks that \
                       are offline, a balloon, or a NUMA node that sysfs does not show";
        check(&[gib(16)], &[], None);
        // Memory without CPUs is a node's as any other: CXL, HBM.
        check(&[gib(4), gib(12)], &[], None);
        check(&[gib(4)], &[], Some(unknown));
        check(
            &[gib(4)],
            &[],
            Some(&format!(
                "the NUMA nodes have 4Gi of memory together, and the machine 16Gi. The kubelet counts 16Gi for the node as a \
                 whole, and policy Static 4Gi on NUMA nodes; {unknown}"
            )),
        );
        check(
            &[gib(8)],
            &[("sys/devices/system/node/online", "0-1\n")],
            Some(
                "what its files say of the cause: NUMA 1 is listed as online, and sysfs has no folder of it",
            ),
        );
        check(&[gib(8), None], &[], Some("no usable meminfo of NUMA 1"));
        check(
            &[gib(8)],
            &[
                ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
                (&format!("{block}0/state"), "online\n"),
                (&format!("{block}8/state"), "offline\n"),
                (&format!("{block}9/state"), "offline\n"),
            ],
            Some("what its files say of the cause: 2 blocks of memory are offline (256Mi)"),
        );
        check(
            &[gib(8)],
            &[("sys/bus/virtio/drivers/virtio_balloon/virtio3/status", "0\n")],
            Some("a balloon, by which the host takes memory and gives it back"),
        );
        check(&[gib(8)], &[("sys/bus/virtio/drivers/virtio_balloon/bind", "")], Some(unknown));
        check(
            &[gib(64)],
            &[],
            Some(
                "can be a container that sees less than its host (lxcfs), or memory that was unplugged meanwhile",
            ),
        );
        check(
            &[gib(64)],
            &[("proc/self/mounts", "sysfs /sys sysfs rw 0 0\nlxcfs /proc/meminfo fuse.lxcfs rw 0 0\n")],
            Some("something is mounted over /proc/meminfo, as lxcfs does for containers"),
        );
    }

    #[test]
    fn machines_of_which_an_amount_is_not_known_have_no_gap() {
        check(&[None], &[], None);
        check(&[Some(4 << 20)], &[("proc/meminfo", "SwapTotal: 0 kB\n")], None);
    }
}
