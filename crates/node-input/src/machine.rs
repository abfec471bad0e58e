//! Which machine is meant: this one, a built-in one, or one in files.

use std::path::Path;
use std::sync::Arc;

use admission_report::Notice;
use anyhow::{Context, anyhow, bail, ensure};
use machine_text::MachineTextError;
use topology_discovery::{Problem, Substitute, SysfsTree};
use topology_model::{Machine, MachineInfo};

use crate::counted::Counted;
use crate::files;
use crate::folder::diagnosed;
use crate::found_config::FoundConfig;
use crate::imagined::Imagined;
use crate::machine_archive;
use crate::machine_texts::{self, ReadText};
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
    /// What is not in the text from which it was read; `None`: it was not read from text.
    pub(crate) text: Option<ReadText>,
    /// What a node file says beside the machine.
    pub packed: Option<Arc<Packed>>,
    /// As its kubelet counts it, where it runs and the machine has changed since its start.
    pub(crate) counted: Option<Counted>,
    /// What it has more than the real machine; `None`: it is the real one.
    pub(crate) imagined: Option<Arc<Imagined>>,
}

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

    /// The same machine with a given configuration instead of the one that it has, in any form that is read; answers call
    /// it `name`.
    #[must_use]
    pub fn configured(self, name: &str, text: &str) -> Self {
        let config = FoundConfig::new(name.to_owned(), text.as_bytes().to_vec());
        let packed = match self.packed.as_deref() {
            Some(packed) => {
                let gaps = packed.gaps.iter().filter(|gap| !matches!(gap, Gap::Config(_))).cloned().collect();
                Packed { config: Some(config), gaps, ..packed.clone() }
            }
            None => Packed::of_configuration(config),
        };
        Self { packed: Some(Arc::new(packed)), ..self }
    }

    /// What was taken in place of something that the machine's text does not tell, and what is not known.
    pub(crate) fn text_notices(&self) -> Vec<Notice> {
        self.text.iter().flat_map(|text| text.notices(&self.name, &self.given)).collect()
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
        Self {
            name,
            info,
            machine,
            problems,
            given: Vec::new(),
            text: None,
            packed: None,
            counted: None,
            imagined: None,
        }
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
        if let Some((short, tree)) = machine_archive::read(name)? {
            return Self::unpacked(name, &short, &tree);
        }
        if is_text(name) {
            let (shown, (info, machine, text)) = machine_texts::read(name)?;
            return Ok(Self { text, ..Self::new(shown, info, machine, Vec::new()) });
        }
        let (short, tree) = files_of(name)?;
        let is_folder = name.contains(['/', '.']) && Path::new(name).is_dir();
        Self::read(&short, &tree)
            .map_err(|error| if is_folder { anyhow!("{error:#}; {}", diagnosed(name)) } else { error })
    }

    /// The machine in the archive of a captured machine or of a node file, which is called `name`.
    ///
    /// # Errors
    /// It is no such archive.
    pub fn in_archive(name: &str, archive: &[u8]) -> anyhow::Result<Self> {
        let tree = machine_archive::unpacked(name, archive)?;
        Self::unpacked(name, machine_archive::short(name), &tree)
    }

    /// The machine in a tree that was read from `file`, with what a node file has beside it; it is shown as `short`.
    ///
    /// # Errors
    /// The tree has no machine.
    pub(crate) fn of_tree(file: &str, short: &str, tree: &SysfsTree) -> anyhow::Result<Self> {
        Self::unpacked(file, short, tree)
    }

    /// The machine that texts with these names tell together; it is shown as `short`.
    ///
    /// # Errors
    /// They tell none, or contradict each other.
    pub(crate) fn of_texts(short: &str, texts: &[(&str, &[u8])]) -> anyhow::Result<Self> {
        let (info, machine, text) = machine_texts::of_texts(texts)?;
        Ok(Self { text, ..Self::new(short.to_owned(), info, machine, Vec::new()) })
    }

    /// The node of that name as an object in a text describes it; `None`: none does.
    ///
    /// # Errors
    /// The object is wrong.
    pub(crate) fn described(name: &str, text: &str) -> Option<Result<Self, MachineTextError>> {
        match machine_texts::of_node(text, name) {
            Err(MachineTextError::Unknown) => None,
            Err(error) => Some(Err(error)),
            Ok((info, machine, text)) => {
                Some(Ok(Self { text, ..Self::new(name.to_owned(), info, machine, Vec::new()) }))
            }
        }
    }

    /// A machine or the node of a node file.
    fn unpacked(name: &str, short: &str, tree: &SysfsTree) -> anyhow::Result<Self> {
        let packed = Packed::read(name, short, tree)?;
        Ok(Self { packed: packed.map(Arc::new), ..Self::read(short, tree)? })
    }

    fn read(name: &str, tree: &SysfsTree) -> anyhow::Result<Self> {
        let found = topology_discovery::read(tree).with_context(|| format!("failed to read {name}"))?;
        Ok(Self::new(name.to_owned(), found.info, Some(found.machine), found.problems))
    }
}

/// Whether it is a file or a pipe that is no archive, or several with commas between them, from which a machine is read as
/// text.
fn is_text(name: &str) -> bool {
    let is_text = |name: &str| {
        let path = Path::new(name);
        name.contains(['/', '.']) && path.exists() && !path.is_dir()
    };
    is_text(name) || name.contains(',') && name.split(',').all(is_text)
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
    if let Some(archived) = machine_archive::read(name)? {
        return Ok(archived);
    }
    if is_text(name) {
        bail!("{name} tells a machine and not its files");
    }
    if !path.try_exists().with_context(|| format!("failed to read machine {name}"))? {
        bail!("machine {name} does not exist");
    }
    let tree = SysfsTree::directory(path).with_context(|| format!("failed to read machine {name}"))?;
    Ok((files::short(path), tree))
}

fn built_in(name: &str) -> anyhow::Result<(String, SysfsTree)> {
    let Some(archive) = machine_fixtures::archive(name) else {
        if Path::new(name).exists() {
            bail!("no built-in machine is called {name}; what is here by that name is ./{name}");
        }
        ensure!(
            !name.is_empty(),
            "expected a machine: the name of a built-in one, a path with a / or a . in it, or `live`"
        );
        if let Some(meant) =
            terminal_text::nearest(name, &machine_fixtures::names().chain([LIVE]).collect::<Vec<_>>())
        {
            bail!("no built-in machine is called {name}; did you mean {meant}?");
        }
        bail!(
            "no built-in machine is called {name}; there are\n  {}\nA path has a / or a . in it, and `live` is this machine",
            machine_fixtures::names().collect::<Vec<_>>().join("\n  ")
        );
    };
    Ok((name.to_owned(), SysfsTree::archive(archive)?))
}
