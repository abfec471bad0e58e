//! Which machine is meant: this one, a built-in one, or one in files.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use admission_report::Notice;
use anyhow::{Context, bail};
use topology_discovery::{Problem, Substitute, SysfsTree};
use topology_model::{Machine, MachineInfo};

use crate::counted::Counted;
use crate::files;
use crate::packed::{Gap, Packed};

/// The name of this machine.
pub const LIVE: &str = "live";

/// What it is called in outputs.
pub(crate) const THIS: &str = "this machine";

/// A machine that has been read.
#[derive(Clone)]
pub struct LoadedMachine {
    /// As it is shown.
    pub name: String,
    /// As the kubelet gets it, with the memory and huge pages that were asked for.
    pub info: MachineInfo,
    /// As it is; `None` where only cAdvisor's view is known.
    pub machine: Option<Machine>,
    /// What could not be read, and what was assumed instead.
    pub problems: Vec<Problem>,
    /// What is not the machine's own but was asked for: `--memory 0=64Gi`.
    pub given: Vec<String>,
    /// What a node file says beside the machine.
    pub packed: Option<Arc<Packed>>,
    /// As its kubelet counts it, where it runs and the machine has changed since its start.
    pub(crate) counted: Option<Counted>,
}

/// The most bytes of a MachineInfo file that are read; the largest machines' are a few hundred kilobytes.
const MAX_JSON: u64 = 16 << 20;
/// The most bytes of an XML file that are read.
#[cfg(feature = "hwloc")]
const MAX_XML: u64 = 32 << 20;
/// The most bytes of an archive that are read.
const MAX_ARCHIVE: u64 = 64 << 20;

impl LoadedMachine {
    /// Why the configuration of the node's kubelet is not known.
    pub fn config_gaps(&self) -> Vec<Notice> {
        let gaps = self.packed.iter().flat_map(|packed| &packed.gaps);
        let texts = gaps.filter_map(|gap| match gap {
            Gap::Config(text) => Some(Notice::warning(text.clone())),
            Gap::Residents(_) => None,
        });
        texts.collect()
    }

    /// The machine as its running kubelet counts it, and in what it differs now; `None`: in nothing that is known.
    pub(crate) fn as_counted(&self) -> Option<(Self, &Counted)> {
        let counted = self.counted.as_ref()?;
        Some((Self { info: counted.info.clone(), ..self.clone() }, counted))
    }

    /// A machine as it was read.
    pub(crate) const fn new(
        name: String,
        info: MachineInfo,
        machine: Option<Machine>,
        problems: Vec<Problem>,
    ) -> Self {
        Self { name, info, machine, problems, given: Vec::new(), packed: None, counted: None }
    }

    /// Whether it is one of the machines that are part of the program.
    pub(crate) fn is_built_in(&self) -> bool {
        machine_fixtures::archive(&self.name).is_some()
    }

    /// Whether the kernel knows NUMA nodes. Without them one node holds everything, and cAdvisor takes the packages
    /// for nodes.
    pub fn has_numa_nodes(&self) -> bool {
        !self.problems.iter().any(|problem| problem.lack.assumed() == Substitute::OneNode)
    }

    /// The machine that a `--machine` argument means.
    pub fn named(name: &str) -> anyhow::Result<Self> {
        let path = Path::new(name);
        if name.contains(['/', '.']) && path.extension().is_some_and(|extension| extension == "json") {
            let info = topology_discovery::machine_info_from_json(&bytes(path, MAX_JSON)?)
                .with_context(|| format!("failed to read {name}"))?;
            return Ok(Self::new(short(path), info, None, Vec::new()));
        }
        if is_xml(path) {
            return Self::from_xml(name, path);
        }
        let (short, tree) = files_of(name)?;
        let packed = if name.ends_with(".tar.zst") { Packed::read(name, &short, &tree)? } else { None };
        Ok(Self { packed: packed.map(Arc::new), ..Self::read(&short, &tree)? })
    }

    /// The machine in the archive of a captured machine or of a node file, which is called `name`.
    ///
    /// # Errors
    /// It is no such archive.
    pub fn in_archive(name: &str, archive: &[u8]) -> anyhow::Result<Self> {
        let tree = SysfsTree::archive(archive).with_context(|| format!("failed to read {name}"))?;
        let short = name.strip_suffix(".tar.zst").unwrap_or(name);
        let packed = Packed::read(name, short, &tree)?;
        Ok(Self { packed: packed.map(Arc::new), ..Self::read(short, &tree)? })
    }

    /// A machine as hwloc wrote it. What cAdvisor would tell is made of it.
    #[cfg(feature = "hwloc")]
    fn from_xml(name: &str, path: &Path) -> anyhow::Result<Self> {
        use topology_discovery::{HwlocSource, read_with_hwloc};
        let text =
            String::from_utf8(bytes(path, MAX_XML)?).with_context(|| format!("failed to read {name}"))?;
        let machine =
            read_with_hwloc(HwlocSource::Xml(&text)).with_context(|| format!("failed to read {name}"))?;
        Ok(Self::new(short(path), MachineInfo::from(&machine), Some(machine), Vec::new()))
    }

    #[cfg(not(feature = "hwloc"))]
    fn from_xml(name: &str, path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            bail!("machine {name} does not exist");
        }
        bail!(
            "{name} is read by a build with hwloc: cargo install topolet --features hwloc, with libhwloc-dev and libudev-dev"
        )
    }

    fn read(name: &str, tree: &SysfsTree) -> anyhow::Result<Self> {
        let found = topology_discovery::read(tree).with_context(|| format!("failed to read {name}"))?;
        Ok(Self::new(name.to_owned(), found.info, Some(found.machine), found.problems))
    }
}

fn is_xml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"))
}

/// The files of the machine that a `--machine` argument means, and what it is called.
pub fn files_of(name: &str) -> anyhow::Result<(String, SysfsTree)> {
    let path = Path::new(name);
    if name == LIVE {
        return Ok((THIS.to_owned(), SysfsTree::live()));
    }
    if !name.contains(['/', '.']) {
        return built_in(name);
    }
    if name.ends_with(".tar.zst") {
        let tree = SysfsTree::archive(&bytes(path, MAX_ARCHIVE)?)
            .with_context(|| format!("failed to read {name}"))?;
        let short = short(path);
        return Ok((short.strip_suffix(".tar.zst").unwrap_or(&short).to_owned(), tree));
    }
    if is_xml(path) && path.exists() {
        bail!("{name} tells a machine and not its files");
    }
    if !path.is_dir() {
        let what = if path.exists() { "is no folder, .tar.zst, .json or .xml" } else { "does not exist" };
        bail!("machine {name} {what}");
    }
    let tree = SysfsTree::directory(path).with_context(|| format!("failed to read machine {name}"))?;
    Ok((short(path), tree))
}

fn built_in(name: &str) -> anyhow::Result<(String, SysfsTree)> {
    let Some(archive) = machine_fixtures::archive(name) else {
        if Path::new(name).exists() {
            bail!("no built-in machine is called {name}; what is here by that name is ./{name}");
        }
        bail!(
            "no built-in machine is called {name}; there are\n  {}\nA path has a / or a . in it, and `live` is this machine",
            machine_fixtures::names().collect::<Vec<_>>().join("\n  ")
        );
    };
    Ok((name.to_owned(), SysfsTree::archive(archive)?))
}

fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn bytes(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let file = files::open(path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("failed to read {}", path.display()))?;
    if bytes.len() as u64 > limit {
        bail!("{} has more than {} MiB", path.display(), limit >> 20);
    }
    Ok(bytes)
}
