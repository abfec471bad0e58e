//! cAdvisor's machine information as a kubelet logs it when it starts, at verbosity 1 and above: Go's `%+v` of the structure.
//!
//! ```text
//! manager.go:217] Machine: {Timestamp:2026-11-26 10:20:00 +0000 UTC NumCores:2 NumPhysicalCores:1 NumSockets:1
//! CpuFrequency:2400000 MemoryCapacity:4101840896 … Topology:[{Id:0 Memory:4101840896 HugePages:[{PageSize:2048 NumPages:0}]
//! Cores:[{Id:0 Threads:[0 1] Caches:[{Id:0 Size:32768 Type:Data Level:1}] UncoreCaches:[] SocketID:0}] Caches:[…] Distances:[10]}] …}
//! ```
//!
//! It is what the kubelet itself starts from. A list that is empty and one that is absent are written alike, which no decision
//! depends on.

use std::fmt::Write as _;

use thiserror::Error;
use topology_model::{Cache, HugePages, MachineCore, MachineInfo, MachineNode};

/// What stands before the structure.
const MARK: &str = "Machine: {";

/// Why a line has no machine information.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LoggedMachineError {
    /// It has no end: a journal cuts lines off at 48 KiB.
    #[error("the line with `Machine: {{` is cut off")]
    CutOff,
    /// A part of it is of another form, or missing.
    #[error("the line with `Machine: {{`: {0} is missing, or of another form than kubelets write")]
    Form(&'static str),
}

/// Reads the last such line of a log; `None`: it has none.
///
/// # Errors
/// The line is cut off, or of a release that writes less.
pub fn machine_info_from_log(log: &str) -> Option<Result<MachineInfo, LoggedMachineError>> {
    let is_one = |line: &&str| line.contains(MARK) && line.contains("NumCores:");
    let line = log.lines().rev().find(is_one)?;
    let (_, structure) = line.split_once(MARK)?;
    Some(read(structure))
}

/// Writes what matters of it in that form, without a line break.
#[must_use]
pub fn machine_info_to_log(info: &MachineInfo) -> String {
    let mut text = format!(
        "{MARK}NumCores:{} NumPhysicalCores:{} NumSockets:{} CpuFrequency:{} MemoryCapacity:{} SwapCapacity:{} HugePages:[{}] Topology:[",
        info.num_cpus,
        info.num_physical_cores,
        info.num_sockets,
        info.cpu_frequency_khz,
        info.memory_capacity,
        info.swap_capacity,
        pages_text(info.hugepages.as_deref()),
    );
    for (at, node) in info.topology.iter().flatten().enumerate() {
        let cores = node.cores.iter().flatten().map(core_text).collect::<Vec<_>>().join(" ");
        let distances = node.distances.iter().flatten().map(u64::to_string).collect::<Vec<_>>().join(" ");
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{}{{Id:{} Memory:{} HugePages:[{}] Cores:[{cores}] Caches:[{}] Distances:[{distances}]}}",
            if at == 0 { "" } else { " " },
            node.id,
            node.memory,
            pages_text(node.hugepages.as_deref()),
            caches_text(node.caches.as_deref()),
        );
    }
    text + "]}"
}

fn core_text(core: &MachineCore) -> String {
    let threads = core.thread_ids.iter().flatten().map(i64::to_string).collect::<Vec<_>>().join(" ");
    format!(
        "{{Id:{} Threads:[{threads}] Caches:[{}] UncoreCaches:[{}] SocketID:{}}}",
        core.core_id,
        caches_text(core.caches.as_deref()),
        caches_text(core.uncore_caches.as_deref()),
        core.socket_id,
    )
}

fn caches_text(caches: Option<&[Cache]>) -> String {
    let one =
        |own: &Cache| format!("{{Id:{} Size:{} Type:{} Level:{}}}", own.id, own.size, own.kind, own.level);
    caches.unwrap_or_default().iter().map(one).collect::<Vec<_>>().join(" ")
}

fn pages_text(pages: Option<&[HugePages]>) -> String {
    let one = |own: &HugePages| format!("{{PageSize:{} NumPages:{}}}", own.page_size_kib, own.num_pages);
    pages.unwrap_or_default().iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Reads the structure, which begins behind its bracket.
fn read(structure: &str) -> Result<MachineInfo, LoggedMachineError> {
    let inside = inside(structure, '}').ok_or(LoggedMachineError::CutOff)?;
    let machine = Fields(inside);
    let nodes = machine.items("Topology").ok_or(LoggedMachineError::Form("Topology"))?;
    if nodes.is_empty() {
        return Err(LoggedMachineError::Form("Topology"));
    }
    Ok(MachineInfo {
        num_cpus: machine.number("NumCores").ok_or(LoggedMachineError::Form("NumCores"))?,
        num_physical_cores: machine
            .number("NumPhysicalCores")
            .ok_or(LoggedMachineError::Form("NumPhysicalCores"))?,
        num_sockets: machine.number("NumSockets").ok_or(LoggedMachineError::Form("NumSockets"))?,
        // Books and drawers of IBM's machines, which others do not write.
        num_books: machine.number("NumBooks").unwrap_or_default(),
        num_drawers: machine.number("NumDrawers").unwrap_or_default(),
        cpu_frequency_khz: machine.number("CpuFrequency").unwrap_or_default(),
        memory_capacity: machine
            .number("MemoryCapacity")
            .ok_or(LoggedMachineError::Form("MemoryCapacity"))?,
        swap_capacity: machine.number("SwapCapacity").unwrap_or_default(),
        hugepages: Some(pages(machine)?),
        topology: Some(nodes.into_iter().map(node).collect::<Result<_, _>>()?),
    })
}

fn node(node: Fields<'_>) -> Result<MachineNode, LoggedMachineError> {
    let distances = node.numbers("Distances").ok_or(LoggedMachineError::Form("Distances"))?;
    let cores = node.items("Cores").ok_or(LoggedMachineError::Form("Cores"))?;
    Ok(MachineNode {
        id: node.number("Id").ok_or(LoggedMachineError::Form("Id of a NUMA node"))?,
        memory: node.number("Memory").ok_or(LoggedMachineError::Form("Memory of a NUMA node"))?,
        hugepages: Some(pages(node)?),
        cores: Some(cores.into_iter().map(core).collect::<Result<_, _>>()?),
        caches: Some(caches(node, "Caches")?),
        distances: Some(distances),
    })
}

fn core(core: Fields<'_>) -> Result<MachineCore, LoggedMachineError> {
    let text = |name: &str| core.value(name).filter(|text| !text.is_empty()).map(str::to_owned);
    Ok(MachineCore {
        core_id: core.number("Id").ok_or(LoggedMachineError::Form("Id of a core"))?,
        thread_ids: Some(core.numbers("Threads").ok_or(LoggedMachineError::Form("Threads"))?),
        caches: Some(caches(core, "Caches")?),
        uncore_caches: Some(caches(core, "UncoreCaches")?),
        socket_id: core.number("SocketID").ok_or(LoggedMachineError::Form("SocketID"))?,
        book_id: text("BookID"),
        drawer_id: text("DrawerID"),
    })
}

/// Caches, which kubelets that know none of the kind do not write.
fn caches(of: Fields<'_>, name: &str) -> Result<Vec<Cache>, LoggedMachineError> {
    let one = |cache: Fields<'_>| {
        Some(Cache {
            id: cache.number("Id")?,
            size: cache.number("Size")?,
            kind: cache.value("Type")?.to_owned(),
            level: cache.number("Level")?,
        })
    };
    let all = of.items(name).unwrap_or_default();
    all.into_iter().map(|cache| one(cache).ok_or(LoggedMachineError::Form("a cache"))).collect()
}

fn pages(of: Fields<'_>) -> Result<Vec<HugePages>, LoggedMachineError> {
    let one = |pages: Fields<'_>| {
        Some(HugePages { page_size_kib: pages.number("PageSize")?, num_pages: pages.number("NumPages")? })
    };
    let all = of.items("HugePages").unwrap_or_default();
    all.into_iter().map(|pages| one(pages).ok_or(LoggedMachineError::Form("HugePages"))).collect()
}

/// The fields of a structure as Go prints them: `Name:value Name:value`.
#[derive(Clone, Copy)]
struct Fields<'t>(&'t str);

impl<'t> Fields<'t> {
    /// The text of a field. A name stands at the beginning or behind a blank, outside brackets.
    fn value(self, name: &str) -> Option<&'t str> {
        let mut depth = 0_usize;
        let mut from = None;
        let mut is_start = true;
        for (at, letter) in self.0.char_indices() {
            let rest = self.0.get(at..)?;
            if depth == 0 && is_start && letter.is_ascii_uppercase() {
                let word = rest.split([' ', ':']).next()?;
                let is_name = rest.get(word.len()..)?.starts_with(':');
                match from {
                    Some(from) if is_name => return Some(self.0.get(from..at)?.trim_end()),
                    None if is_name && word == name => from = Some(at + word.len() + 1),
                    _ => {}
                }
            }
            match letter {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            is_start = letter == ' ';
        }
        Some(self.0.get(from?..)?.trim_end())
    }

    fn number<N: std::str::FromStr>(self, name: &str) -> Option<N> {
        self.value(name)?.parse().ok()
    }

    /// `[0 48]`
    fn numbers<N: std::str::FromStr>(self, name: &str) -> Option<Vec<N>> {
        let list = self.value(name)?.strip_prefix('[')?.strip_suffix(']')?;
        list.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
    }

    /// `[{…} {…}]`: the fields of each.
    fn items(self, name: &str) -> Option<Vec<Self>> {
        let mut rest = self.value(name)?.strip_prefix('[')?.strip_suffix(']')?.trim_start();
        let mut items = Vec::new();
        while !rest.is_empty() {
            let item = inside(rest.strip_prefix('{')?, '}')?;
            items.push(Self(item));
            rest = rest.get(item.len() + 2..)?.trim_start();
        }
        Some(items)
    }
}

/// What stands before the bracket that ends a text.
fn inside(text: &str, end: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            letter if depth == 0 && letter == end => return text.get(..at),
            '}' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SysfsTree, read as discover};

    /// A line that a kubelet of v1.29.1 wrote on a virtual machine, with made-up ids.
    const LINE: &str = "Oct 25 06:24:22 worker-0 kubelet[30795]: I1025 06:24:22.097819   30795 manager.go:217] Machine: {Timestamp:2025-10-25 06:24:22.09768751 +0000 UTC m=+0.069251020 CPUVendorID:AuthenticAMD NumCores:2 NumPhysicalCores:2 NumSockets:1 CpuFrequency:1996247 MemoryCapacity:4101840896 SwapCapacity:1912598528 MemoryByType:map[] NVMInfo:{MemoryModeCapacity:0 AppDirectModeCapacity:0 AvgPowerBudget:0} HugePages:[{PageSize:1048576 NumPages:0} {PageSize:2048 NumPages:7}] MachineID:00 SystemUUID:00 BootID:00 Filesystems:[{Device:/run DeviceMajor:0 DeviceMinor:26 Capacity:410185728 Type:vfs Inodes:500713 HasInodes:true}] DiskMap:map[253:0:{Name:dm-0 Major:253 Minor:0 Size:10737418240 Scheduler:none}] NetworkDevices:[{Name:ens18 MacAddress:00:00:5e:00:53:01 Speed:-1 Mtu:1500}] Topology:[{Id:0 Memory:4101840896 HugePages:[{PageSize:1048576 NumPages:0} {PageSize:2048 NumPages:7}] Cores:[{Id:0 Threads:[0] Caches:[{Id:0 Size:65536 Type:Data Level:1}] UncoreCaches:[] SocketID:0} {Id:1 Threads:[1] Caches:[{Id:1 Size:65536 Type:Data Level:1}] UncoreCaches:[{Id:1 Size:16777216 Type:Unified Level:3}] SocketID:0}] Caches:[{Id:0 Size:16777216 Type:Unified Level:3}] Distances:[10]}] CloudProvider:Unknown InstanceType:Unknown InstanceID:None}\n";

    #[test]
    fn a_line_of_a_kubelet_is_the_machine_that_it_counts() {
        let info = machine_info_from_log(LINE).unwrap().unwrap();
        assert_eq!((info.num_cpus, info.num_sockets, info.memory_capacity), (2, 1, 4_101_840_896));
        let nodes = info.topology.as_ref().unwrap();
        let cores = nodes[0].cores.as_ref().unwrap();
        assert_eq!(cores[1].thread_ids, Some(vec![1]));
        assert_eq!(cores[1].uncore_caches.as_ref().unwrap()[0].level, 3);
        assert_eq!(nodes[0].hugepages.as_ref().unwrap()[1].num_pages, 7);
        assert_eq!(machine_info_from_log("I1025 manager.go:217] nothing"), None);
        let cut = LINE.get(..LINE.len() - 400).unwrap();
        assert_eq!(machine_info_from_log(cut), Some(Err(LoggedMachineError::CutOff)));
    }

    #[test]
    fn what_is_written_of_any_machine_is_read_back() {
        for name in machine_fixtures::names() {
            let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
            let info = discover(&tree).unwrap().info;
            let text = format!("I1126 10:20:00.000001 1 manager.go:217] {}\n", machine_info_to_log(&info));
            let again = machine_info_from_log(&text).unwrap().unwrap();
            // A list that is empty and one that is absent are written alike.
            assert_eq!(machine_info_to_log(&again), machine_info_to_log(&info), "{name}");
            assert_eq!(
                again.topology.map(|nodes| nodes.len()),
                info.topology.map(|nodes| nodes.len()),
                "{name}"
            );
        }
    }
}
