//! A machine's files made small enough to be kept, and free of private data.
//!
//! Only files that are named here are taken: those that tell the topology. So nothing that identifies a machine gets
//! in: no serial numbers, no addresses of network cards, no names of hosts or of what is on disks. What the kernel calls
//! a device (`eth0`, `nvme0n1`) is kept, unless the address of a network card is in it. What changes from one minute to
//! the next is left out of the files that are taken, so that a machine is captured the same each time.

mod texts;

use cpuset::CpuSet;
use thiserror::Error;

use crate::archive::{MAX_CONTENT, PackError, pack};
use crate::cadvisor::{CPUINFO, MAX_FREQUENCY};
use crate::kernel::{CPUS, HUGEPAGES, MEMINFO, NODES, PCI};
use crate::machine::{HIVE, LOCAL, NODE_CPUS, PACKAGE, SHARED, THREADS, folders, has_hardware_address};
use crate::memory::MemoryTree;
use crate::read_error::ReadError;
use crate::tree::SysfsTree;
use crate::{Discovery, DiscoveryError, read};

/// Files of the folder of all CPUs, and of its folder `smt`.
const OF_CPUS: [&str; 6] = ["online", "possible", "present", "isolated", "offline", "kernel_max"];
const OF_SMT: [&str; 2] = ["active", "control"];
/// Files of a CPU's folder `topology`.
const OF_TOPOLOGY: [&str; 6] =
    ["physical_package_id", "die_id", "cluster_id", "core_id", "book_id", "drawer_id"];
/// The same CPUs under several names, as lists and as masks, in the order in which they are looked for: the first of
/// each form is enough.
const SIBLINGS: [&[&str]; 6] = [
    &THREADS,
    &PACKAGE,
    &["die_cpus_list", "die_cpus"],
    &["cluster_cpus_list", "cluster_cpus"],
    &["book_siblings_list", "book_siblings"],
    &["drawer_siblings_list", "drawer_siblings"],
];
/// Files of a cache.
const OF_CACHE: [&str; 8] = [
    "id",
    "level",
    "type",
    "size",
    "coherency_line_size",
    "number_of_sets",
    "physical_line_partition",
    "ways_of_associativity",
];
/// Files of the folder of all nodes.
const OF_NODES: [&str; 6] =
    ["online", "possible", "has_cpu", "has_memory", "has_normal_memory", "has_generic_initiator"];
/// Files of a PCI device.
const OF_DEVICE: [&str; 7] =
    ["class", "vendor", "device", "revision", "numa_node", "sriov_numvfs", "sriov_totalvfs"];

/// Why a machine cannot be captured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// It cannot even be read.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// A file that is there cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The files are larger than an archive may be.
    #[error("the files of the machine are larger than {most} MiB", most = MAX_CONTENT >> 20)]
    TooLarge,
    /// It cannot be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// A captured machine.
#[derive(Clone, Debug)]
pub struct Capture {
    files: MemoryTree,
    found: Discovery,
}

impl Capture {
    /// Takes the files that tell a machine's topology.
    pub fn of(tree: &SysfsTree) -> Result<Self, CaptureError> {
        let mut taking = CaptureRun { tree, files: MemoryTree::new() };
        taking.all()?;
        let files = taking.files;
        let found = read(&SysfsTree::from(files.clone()))?;
        Ok(Self { files, found })
    }

    /// With a file that is not one of the machine's; its path is from the root of the archive.
    #[must_use]
    pub fn with_file(mut self, path: &str, content: &[u8]) -> Self {
        self.files.add_file(path, content);
        self
    }

    /// What is read from the captured files.
    #[must_use]
    pub const fn found(&self) -> &Discovery {
        &self.found
    }

    /// The captured files.
    #[must_use]
    pub const fn files(&self) -> &MemoryTree {
        &self.files
    }

    /// The bytes of a `.tar.zst` archive: the same each time, without times, owners and places.
    pub fn archive(&self) -> Result<Vec<u8>, CaptureError> {
        Ok(pack(&self.files)?)
    }
}

struct CaptureRun<'t> {
    tree: &'t SysfsTree,
    files: MemoryTree,
}

impl CaptureRun<'_> {
    fn all(&mut self) -> Result<(), CaptureError> {
        self.each(CPUS, &OF_CPUS)?;
        self.each(&format!("{CPUS}/smt"), &OF_SMT)?;
        for name in self.names(CPUS, "cpu") {
            self.cpu(&format!("{CPUS}/{name}"))?;
        }
        for kind in ["cpu_core", "cpu_atom"] {
            self.file(&format!("sys/devices/{kind}/cpus"))?;
        }
        self.file(MAX_FREQUENCY)?;
        self.each(NODES, &OF_NODES)?;
        for name in self.names(NODES, "node") {
            self.node(&format!("{NODES}/{name}"))?;
        }
        self.hugepages(HUGEPAGES)?;
        for name in self.tree.list(PCI).unwrap_or_default() {
            self.device(&name)?;
        }
        self.changed(MEMINFO, texts::meminfo)?;
        // Without a fixed clock cAdvisor takes that of the moment, and does not start without one.
        let has_clock = self.files.target(MAX_FREQUENCY).is_some();
        let clock = if has_clock { texts::Clock::LeftOut } else { texts::Clock::Kept };
        self.changed(CPUINFO, |text| texts::cpuinfo(text, clock))
    }

    fn cpu(&mut self, folder: &str) -> Result<(), CaptureError> {
        self.files.add_folder(folder);
        self.file(&format!("{folder}/online"))?;
        let topology = format!("{folder}/topology");
        if self.tree.list(&topology).is_some() {
            self.files.add_folder(&topology);
            self.each(&topology, &OF_TOPOLOGY)?;
            SIBLINGS.iter().try_for_each(|names| self.forms(&topology, names))?;
        }
        let caches = format!("{folder}/cache");
        for name in self.names(&caches, "index") {
            let folder = format!("{caches}/{name}");
            self.each(&folder, &OF_CACHE)?;
            self.forms(&folder, &SHARED)?;
        }
        Ok(())
    }

    fn node(&mut self, folder: &str) -> Result<(), CaptureError> {
        self.files.add_folder(folder);
        self.file(&format!("{folder}/distance"))?;
        self.forms(folder, &NODE_CPUS)?;
        self.changed(&format!("{folder}/meminfo"), texts::meminfo)?;
        for name in self.names(folder, "cpu") {
            self.link(folder, &name);
        }
        self.hugepages(&format!("{folder}/hugepages"))
    }

    fn hugepages(&mut self, folder: &str) -> Result<(), CaptureError> {
        for name in self.tree.list(folder).unwrap_or_default() {
            self.files.add_folder(&format!("{folder}/{name}"));
            self.file(&format!("{folder}/{name}/nr_hugepages"))?;
        }
        Ok(())
    }

    /// A device lies in the folders of the bridges above it; the folder of all devices has links.
    fn device(&mut self, name: &str) -> Result<(), CaptureError> {
        self.link(PCI, name);
        let Some(folder) = self.tree.target(&format!("{PCI}/{name}")) else { return Ok(()) };
        self.each(&folder, &OF_DEVICE)?;
        self.each(&folder, &[HIVE])?;
        self.forms(&folder, &LOCAL)?;
        if let Some(driver) = self.tree.driver(&folder) {
            let way = relative(&folder, &format!("sys/bus/pci/drivers/{driver}"));
            self.files.add_link(&format!("{folder}/driver"), &way);
        }
        for named in folders(self.tree, &folder) {
            if !has_hardware_address(&named) {
                self.files.add_folder(&named);
            }
        }
        for name in self.tree.list(&folder).unwrap_or_default() {
            let number = name.strip_prefix("virtfn");
            if name == "physfn"
                || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
            {
                self.link(&folder, &name);
            }
        }
        Ok(())
    }

    /// Names that begin with a prefix and end with a digit: those are looked at, by cAdvisor too.
    fn names(&self, folder: &str, prefix: &str) -> Vec<String> {
        let mut names = self.tree.list(folder).unwrap_or_default();
        names.retain(|name| {
            let number = name.strip_prefix(prefix);
            number.is_some_and(|number| number.ends_with(|last: char| last.is_ascii_digit()))
        });
        names
    }

    fn each(&mut self, folder: &str, names: &[&str]) -> Result<(), CaptureError> {
        names.iter().try_for_each(|name| self.file(&format!("{folder}/{name}")))
    }

    /// Of some files that say the same the first list and the first mask, and all that say something else: kernels
    /// contradict themselves, and some readers know masks alone.
    fn forms(&mut self, folder: &str, names: &[&str]) -> Result<(), CaptureError> {
        let mut taken: Option<Option<CpuSet>> = None;
        let (mut has_list, mut has_mask) = (false, false);
        for name in names {
            let path = format!("{folder}/{name}");
            let Some(content) = self.content(&path)? else { continue };
            let is_list = name.ends_with("list");
            let cpus = str::from_utf8(&content).ok().and_then(|text| {
                if is_list {
                    CpuSet::from_kernel_list(text.trim()).ok()
                } else {
                    CpuSet::from_kernel_mask(text.trim()).ok()
                }
            });
            let has_form = if is_list { &mut has_list } else { &mut has_mask };
            if !*has_form || taken.as_ref().is_none_or(|first| cpus.is_none() || cpus != *first) {
                *has_form = true;
                self.add(&path, &content)?;
                taken.get_or_insert(cpus);
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), CaptureError> {
        let Some(content) = self.content(path)? else { return Ok(()) };
        self.add(path, &content)
    }

    /// A file of which only a part is taken.
    fn changed(&mut self, path: &str, change: impl FnOnce(&str) -> String) -> Result<(), CaptureError> {
        let Some(content) = self.content(path)? else { return Ok(()) };
        self.add(path, change(&String::from_utf8_lossy(&content)).as_bytes())
    }

    /// The content of a file. Kernels have files that cannot be read at the moment: these are as good as not there.
    fn content(&self, path: &str) -> Result<Option<Vec<u8>>, CaptureError> {
        match self.tree.read(path) {
            Ok(content) => Ok(content.map(std::borrow::Cow::into_owned)),
            Err(ReadError::Io { .. } | ReadError::NotAFile(_)) => Ok(None),
            Err(error @ ReadError::TooLarge(_)) => Err(error.into()),
        }
    }

    fn add(&mut self, path: &str, content: &[u8]) -> Result<(), CaptureError> {
        if self.files.content_len() + content.len() > MAX_CONTENT / 2 {
            return Err(CaptureError::TooLarge);
        }
        self.files.add_file(path, content);
        Ok(())
    }

    /// A link to where an entry of a folder leads; the entry itself is a folder where it is no
    /// link to something else.
    fn link(&mut self, folder: &str, name: &str) {
        let path = format!("{folder}/{name}");
        let Some(target) = self.tree.target(&path) else { return };
        if target == path || target == folder {
            self.files.add_folder(&path);
        } else {
            self.files.add_link(&path, &relative(folder, &target));
        }
    }
}

/// The way from a folder to a path, both from the root.
fn relative(folder: &str, path: &str) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (folder.split('/').collect(), path.split('/').collect());
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from.iter().skip(shared).map(|_| "..");
    up.chain(to.iter().skip(shared).copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn ways_go_up_to_what_is_shared() {
        for (folder, path, way) in [
            (
                "sys/bus/pci/devices",
                "sys/devices/pci0000:00/0000:00:01.0",
                "../../../devices/pci0000:00/0000:00:01.0",
            ),
            ("sys/devices/system/node/node0", "sys/devices/system/cpu/cpu3", "../../cpu/cpu3"),
            ("a", "b", "../b"),
            ("a/b", "a/b/c", "c"),
        ] {
            assert_eq!(relative(folder, path), way);
        }
    }
}
