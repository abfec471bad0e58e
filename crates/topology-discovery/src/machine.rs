//! One reading of a tree: the true machine, what cAdvisor makes of it, and what is wrong with the files.

mod agree;
mod caches;
mod cpus;
mod kernel_names;
mod nodes;
mod pci;

pub(crate) use caches::SHARED;
pub(crate) use cpus::{PACKAGE, THREADS};
pub(crate) use kernel_names::{folders, has_hardware_address};
pub(crate) use nodes::NODE_CPUS;
pub(crate) use pci::{HIVE, LOCAL};

use cpuset::CpuSet;
use thiserror::Error;
use topology_model::{InvalidMachine, Machine, MachineInfo, MachineParts, Smt};

use crate::cadvisor::{self, CadvisorError};
use crate::kernel::{CPUS, HUGEPAGES, Kernel, MEMINFO, field_kib, no_line};
use crate::problem::{Problem, Substitute};
use crate::tree::SysfsTree;

/// What a tree says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Discovery {
    /// The true machine.
    pub machine: Machine,
    /// What cAdvisor reports of it. Where cAdvisor would give up, that which it stumbles over is mended: a missing
    /// total of memory is the sum of the nodes, a missing link to a CPU comes from the node's mask.
    pub info: MachineInfo,
    /// What is missing or contradicts itself, and what was assumed instead; by path.
    pub problems: Vec<Problem>,
}

/// Why a tree is no machine.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// There are no CPUs: this is no tree of a machine.
    #[error("there is no folder of a CPU, such as cpu0, in sys/devices/system/cpu")]
    NoCpus,
    /// The CPUs are in a folder that may not be looked into; empty for the top of the tree.
    #[error("permission denied{}{}", if .0.is_empty() { "" } else { ": " }, .0)]
    Denied(String),
    /// There are CPUs, and nothing says that one of them runs.
    #[error(
        "sys/devices/system/cpu has the folders of CPUs {0}, but nothing says which of them are online: it has no usable list `online`, and none of them has a topology folder. Write the list of those that run into sys/devices/system/cpu/online, such as {0}"
    )]
    NoOnlineCpus(CpuSet),
    /// What was read does not fit together.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
    /// cAdvisor's reading failed even though its holes were mended.
    #[error(transparent)]
    Cadvisor(#[from] CadvisorError),
}

/// Reads a machine.
///
/// ```
/// use topology_discovery::{MemoryTree, SysfsTree, read};
///
/// let mut files = MemoryTree::new();
/// files.add_file("sys/devices/system/cpu/online", b"0-1\n");
/// for cpu in ["cpu0", "cpu1"] {
///     files.add_file(&format!("sys/devices/system/cpu/{cpu}/topology/thread_siblings_list"), b"0-1\n");
/// }
/// let discovery = read(&SysfsTree::from(files))?;
///
/// assert_eq!(discovery.machine.cores().len(), 1);
/// assert!(discovery.problems.iter().any(|problem| problem.path == "proc/meminfo"));
/// # Ok::<(), topology_discovery::DiscoveryError>(())
/// ```
pub fn read(tree: &SysfsTree) -> Result<Discovery, DiscoveryError> {
    let kernel = Kernel::new(tree);
    let parts = parts(&kernel)?;
    let machine = Machine::new(parts)?;
    let info = cadvisor::read_mended(&kernel)?.info;
    Ok(Discovery { machine, info, problems: kernel.into_problems() })
}

fn parts(kernel: &Kernel<'_>) -> Result<MachineParts, DiscoveryError> {
    let cpus = cpus::lists(kernel);
    if cpus.online.is_empty() {
        let folders = cpus::folders(kernel);
        return Err(match (folders.is_empty(), kernel.tree.denied(CPUS)) {
            (false, _) => DiscoveryError::NoOnlineCpus(folders),
            (true, Some(folder)) => DiscoveryError::Denied(folder),
            (true, None) => DiscoveryError::NoCpus,
        });
    }
    let (packages, cores) = cpus::packages_and_cores(kernel, &cpus.online);
    // Where it cannot be read, that is reported once it is known whether its nodes make up for it.
    let meminfo = kernel.content(MEMINFO).ok().and_then(|_| kernel.text(MEMINFO, Substitute::Unknown));
    let field = |name| meminfo.as_deref().and_then(|text| field_kib(text, name));
    let memory = field("MemTotal").map(|kib| kib.saturating_mul(1024));
    let hugepages = kernel.hugepages(HUGEPAGES);
    let nodes = nodes::nodes(kernel, &cpus, memory, &hugepages);
    let devices = pci::devices(kernel, &cpus.online, &nodes);
    let default_hugepage_kib = field("Hugepagesize");
    if meminfo.is_some() && default_hugepage_kib.is_none() && !hugepages.is_empty() {
        kernel.lacks(MEMINFO, &no_line("Hugepagesize"), Substitute::Unknown);
    }
    let parts = MachineParts {
        caches: caches::caches(kernel, &cpus.online),
        packages,
        cores,
        nodes,
        node_lists: nodes::lists(kernel),
        devices,
        smt: smt(kernel),
        memory,
        hugepages,
        default_hugepage_kib,
        cpus,
    };
    agree::check(kernel, &parts);
    Ok(parts)
}

fn smt(kernel: &Kernel<'_>) -> Smt {
    let active = format!("{CPUS}/smt/active");
    Smt {
        active: kernel.parsed(&active, Substitute::Unknown, |text| match text {
            "1" => Ok(true),
            "0" => Ok(false),
            other => Err(format!("{other:?} is neither 0 nor 1")),
        }),
        control: kernel.parsed(&format!("{CPUS}/smt/control"), Substitute::Unknown, |text| match text {
            "on" | "off" | "forceoff" | "notsupported" | "notimplemented" => Ok(text.to_owned()),
            // Processors of more than two threads a core count those that run.
            number if number.parse::<u32>().is_ok_and(|threads| threads > 0) => Ok(number.to_owned()),
            other => Err(format!("{other:?} is no state of threads")),
        }),
    }
}
