//! What cAdvisor makes of a tree: the machine information that the kubelet starts from, accidents included.
//!
//! cAdvisor reads some files by their names' lexical order, groups CPUs into cores by numbers that need not be
//! unique, drops all caches of a node when one lacks an id, and refuses machines for a missing swap line. The rules
//! are in `topology` and `caches` beside this; here is what is read in which order, and what becomes of a refusal:
//! it is a typed error where the question is what cAdvisor does ([`read_as_cadvisor`]), and a problem with a stated
//! assumption where the question is what the machine is.

mod caches;
mod counts;
mod online;
mod pages;
mod scan;
mod topology;

pub use scan::ParseUintError;

use std::borrow::Cow;

use cpuset::{AtoiError, go_quote};
use thiserror::Error;
use topology_model::MachineInfo;

use crate::kernel::{Bytes, CPUS, HUGEPAGES, Kernel, MEMINFO, no_line};
use crate::problem::Substitute;
use crate::tree::SysfsTree;

/// The processors in words.
pub(crate) const CPUINFO: &str = "proc/cpuinfo";
/// The clock by which cAdvisor goes, where it is there.
pub(crate) const MAX_FREQUENCY: &str = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";

/// The architecture that cAdvisor was built for; it reads some files on some of them only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum CpuArchitecture {
    /// 64-bit x86, and others that are read like it (`POWER`, Itanium).
    #[default]
    Amd64,
    /// 32-bit and 64-bit ARM.
    Arm,
    /// IBM Z: books and drawers, and no cache ids.
    S390x,
    /// RISC-V.
    Riscv64,
    /// 64-bit MIPS.
    Mips64,
}

impl CpuArchitecture {
    /// Whether `/proc/cpuinfo` must tell a clock.
    const fn tells_clock(self) -> bool {
        matches!(self, Self::Amd64)
    }

    /// What a `/proc/cpuinfo` text was written by.
    pub(crate) fn of_cpuinfo(text: &str) -> Self {
        let has = |name: &str| text.lines().any(|line| line.starts_with(name));
        if text.contains("IBM/S390") {
            Self::S390x
        } else if has("CPU implementer") || has("CPU architecture") {
            Self::Arm
        } else if has("isa\t") || has("mmu\t\t: sv") {
            Self::Riscv64
        } else if has("system type") && has("cpu model") {
            Self::Mips64
        } else {
            Self::Amd64
        }
    }
}

/// What cAdvisor reports of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CadvisorInfo {
    /// The machine information.
    pub info: MachineInfo,
    /// Name of the processor's vendor; empty where `/proc/cpuinfo` does not say.
    pub vendor: String,
    /// Why there is no topology. cAdvisor logs it and goes on with no CPUs at all.
    pub topology_error: Option<TopologyError>,
}

/// Why cAdvisor stops, and the kubelet with it. The texts are cAdvisor's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CadvisorError {
    /// A file that must be there is not.
    #[error("open /{0}: no such file or directory")]
    NotThere(String),
    /// A file that must be readable is not.
    #[error("{0}")]
    Unreadable(String),
    /// No clock in `/proc/cpuinfo`.
    #[error("could not detect clock speed from output: {}", go_quote(.0))]
    NoClock(String),
    /// The clock's file is no number.
    #[error("could not parse frequency {}", go_quote(.0))]
    Frequency(String),
    /// No `MemTotal` or `SwapTotal`.
    #[error("failed to match regexp in output: {}", go_quote(.0))]
    NoMatch(String),
    /// A number of more than 64 bits.
    #[error(transparent)]
    Number(#[from] ParseUintError),
    /// The machine's huge pages.
    #[error(transparent)]
    HugePages(#[from] HugePagesError),
}

/// Why cAdvisor has no topology. The texts are cAdvisor's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A node's or CPU's name, or an id, is no integer.
    #[error(transparent)]
    Integer(#[from] AtoiError),
    /// A name in a CPU folder that has no number after `cpu`.
    #[error("unexpected format of CPU directory, cpuDirRegExp /cpu(\\d+), cpuDir: /{0}")]
    CpuFolder(String),
    /// A node's memory file has no total.
    #[error("failed to match regexp in output: {}", go_quote(.0))]
    NoMatch(String),
    /// A number of more than 64 bits.
    #[error(transparent)]
    Number(#[from] ParseUintError),
    /// A node's huge pages.
    #[error(transparent)]
    HugePages(#[from] HugePagesError),
    /// A distance is no number.
    #[error("cannot convert {0} to int")]
    Distance(String),
    /// There is no CPU folder.
    #[error("no CPU is available, cpusPath: /sys/devices/system/cpu")]
    NoCpus,
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Why huge pages cannot be counted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum HugePagesError {
    /// A name without `-`: cAdvisor crashes.
    #[error("cAdvisor crashes on the huge page folder {0:?}")]
    Crash(String),
    /// The page size is no number.
    #[error(transparent)]
    Size(#[from] ParseUintError),
    /// There is no count.
    #[error("open /{0}: no such file or directory")]
    NotThere(String),
    /// The count cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The count is no number.
    #[error("could not parse file nr_hugepage for {folder}, contents {}", go_quote(.content))]
    Count {
        /// Name of the folder.
        folder: String,
        /// Trimmed content.
        content: String,
    },
}

/// What cAdvisor, built for an architecture, reports of a tree.
pub fn read_as_cadvisor(
    tree: &SysfsTree,
    architecture: CpuArchitecture,
) -> Result<CadvisorInfo, CadvisorError> {
    Reader { kernel: &Kernel::new(tree), holes: Holes::Refuse, architecture }.read()
}

/// What cAdvisor would report if what it stumbles over were mended; what was mended is reported to `kernel`.
pub(crate) fn read_mended(kernel: &Kernel<'_>) -> Result<CadvisorInfo, CadvisorError> {
    let text = kernel.text(CPUINFO, Substitute::CpuFolders).unwrap_or_default();
    let architecture = CpuArchitecture::of_cpuinfo(&text);
    Reader { kernel, holes: Holes::Mend, architecture }.read()
}

/// What to do where cAdvisor gives up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holes {
    /// Give up too.
    Refuse,
    /// Report it, and go on with an assumption.
    Mend,
}

struct Reader<'k, 't> {
    kernel: &'k Kernel<'t>,
    holes: Holes,
    architecture: CpuArchitecture,
}

impl<'t> Reader<'_, 't> {
    fn read(&self) -> Result<CadvisorInfo, CadvisorError> {
        let cpuinfo = self.mend(self.must_read(CPUINFO), CPUINFO, Substitute::CpuFolders, String::new)?;
        let cpu_frequency_khz = self.khz(&cpuinfo)?;
        let meminfo = self.must_read(MEMINFO);
        let meminfo = if self.holes == Holes::Mend { meminfo.ok() } else { Some(meminfo?) };
        let known_total =
            meminfo.as_deref().map(|text| self.capacity(text, "MemTotal")).transpose()?.flatten();
        let swap = meminfo.as_deref().map(|text| self.capacity(text, "SwapTotal")).transpose()?;
        if swap == Some(None) {
            self.kernel.lacks(MEMINFO, &no_line("SwapTotal"), Substitute::NoSwap);
        }
        let hugepages = self.hugepages(HUGEPAGES)?;
        let (topology, num_cpus, topology_error) = match self.topology() {
            Ok((topology, num_cpus)) => (topology, num_cpus, None),
            Err(TopologyError::HugePages(crash @ HugePagesError::Crash(_))) => return Err(crash.into()),
            Err(error) => {
                if self.holes == Holes::Mend {
                    self.kernel.unusable(CPUS, &error, Substitute::Unknown);
                }
                (None, 0, Some(error))
            }
        };
        let memory_capacity = known_total.unwrap_or_else(|| {
            let sum = topology.iter().flatten().fold(0u64, |sum, node| sum.saturating_add(node.memory));
            let assumed = if sum > 0 { Substitute::SumOfNodes } else { Substitute::Unknown };
            match meminfo {
                Some(_) => self.kernel.lacks(MEMINFO, &no_line("MemTotal"), assumed),
                None => self.unreadable(MEMINFO, assumed),
            }
            sum
        });
        let info = MachineInfo {
            num_cpus,
            num_physical_cores: self.count(&cpuinfo, "core id", "core_id"),
            num_sockets: self.count(&cpuinfo, "physical id", "physical_package_id"),
            num_books: self.count_on_s390x(&cpuinfo, "book id", "book_id"),
            num_drawers: self.count_on_s390x(&cpuinfo, "drawer id", "drawer_id"),
            cpu_frequency_khz,
            memory_capacity,
            swap_capacity: swap.flatten().unwrap_or(0),
            hugepages,
            topology,
        };
        Ok(CadvisorInfo { info, vendor: scan::vendor(&cpuinfo).to_owned(), topology_error })
    }

    /// A result, or what stands in for it when holes are mended.
    fn mend<T, E: ToString>(
        &self,
        result: Result<T, E>,
        path: &str,
        assumed: Substitute,
        fallback: impl FnOnce() -> T,
    ) -> Result<T, E> {
        match result {
            Err(error) if self.holes == Holes::Mend => {
                if self.kernel.tree.target(path).is_none() {
                    self.kernel.missing(path, assumed);
                } else {
                    self.kernel.unusable(path, beginning(&error.to_string()), assumed);
                }
                Ok(fallback())
            }
            result => result,
        }
    }

    /// The text of a file as it is; `None` if it is not there; the reader's words if it cannot be read.
    fn text(&self, path: &str) -> Result<Option<Cow<'t, str>>, String> {
        let content = self.kernel.content(path)?;
        Ok(content.map(|content| match content {
            Bytes::Held(bytes) => String::from_utf8_lossy(bytes),
            Bytes::Shared(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }))
    }

    fn must_read(&self, path: &str) -> Result<String, CadvisorError> {
        let text = self.text(path).map_err(CadvisorError::Unreadable)?;
        text.map(Cow::into_owned).ok_or_else(|| CadvisorError::NotThere(path.to_owned()))
    }

    /// Reports a file that could not be read, with the reason if it is there.
    fn unreadable(&self, path: &str, assumed: Substitute) {
        match self.text(path) {
            Err(reason) => self.kernel.unusable(path, &reason, assumed),
            Ok(_) => self.kernel.missing_unless_there(path, assumed),
        }
    }

    /// A total of `/proc/meminfo` in bytes; `None` if it is not there and that is to be mended. It wraps around, as
    /// cAdvisor's does.
    fn capacity(&self, meminfo: &str, name: &str) -> Result<Option<u64>, CadvisorError> {
        let digits = scan::kilobytes(meminfo, &format!("{name}:"));
        let kib = digits.map(scan::parse_uint).transpose();
        match kib {
            Ok(Some(kib)) => Ok(Some(kib.wrapping_mul(1024))),
            _ if self.holes == Holes::Mend => Ok(None),
            Ok(None) => Err(CadvisorError::NoMatch(meminfo.to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    /// The clock in kHz; zero where no file has it and that is mended. The texts of cAdvisor quote the whole
    /// file, so problems have other texts.
    fn khz(&self, cpuinfo: &str) -> Result<u64, CadvisorError> {
        match self.clock(cpuinfo) {
            Err(error) if self.holes == Holes::Mend => {
                match error {
                    CadvisorError::NoClock(_) if cpuinfo.is_empty() => {}
                    CadvisorError::NoClock(_) => {
                        self.kernel.lacks(CPUINFO, "line cpu MHz or clock: NUMBER", Substitute::NoClock);
                    }
                    error => self.kernel.unusable(MAX_FREQUENCY, &error, Substitute::NoClock),
                }
                Ok(0)
            }
            clock => clock,
        }
    }

    fn clock(&self, cpuinfo: &str) -> Result<u64, CadvisorError> {
        if let Some(text) = self.text(MAX_FREQUENCY).map_err(CadvisorError::Unreadable)? {
            let number = scan::unsigned(&text).map(|(number, _)| number);
            return number.ok_or_else(|| CadvisorError::Frequency(text.into_owned()));
        }
        if !self.architecture.tells_clock() {
            return Ok(0);
        }
        scan::clock_mhz(cpuinfo)
            .map(|mhz| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "digits without a sign; cAdvisor cuts off what is left of a kHz"
                )]
                let khz = (mhz * 1000.0) as u64;
                khz
            })
            .ok_or_else(|| CadvisorError::NoClock(cpuinfo.to_owned()))
    }
}

/// The beginning of a text that may quote a whole file.
fn beginning(text: &str) -> &str {
    const MOST: usize = 120;
    let cut = text.char_indices().nth(MOST).map_or(text.len(), |(at, _)| at);
    text.get(..cut).unwrap_or(text)
}
