//! State files that keep a kubelet from starting, and that the node's distribution deletes.

use distribution_config::{Distribution, Removal, Rollout, StateFiles};
use kubelet_checkpoint::cpu::CpuError;
use kubelet_checkpoint::store::StateFile;
use node_state::{FindingLine, Problem, StartError, StateFolder};
use topology_admission::{Node, RunningPods, SourcesReady};

use crate::node::LoadedNode;

/// When files are deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// Before each start, since the policy is another.
    EachStart,
    /// At a boot: a restart of the kubelet alone meets them.
    Boot,
}

/// A folder of which a distribution deletes files.
pub(crate) struct Removed {
    /// What is left of it.
    pub(crate) folder: StateFolder,
    /// The deleted files that matter.
    files: Vec<StateFile>,
    when: When,
    who: StateFiles,
}

impl Removed {
    /// What a boot deletes, whether a kubelet would start from it or not. `None`: nothing that is there.
    pub(crate) fn at_boot(distribution: Option<Distribution>, folder: &StateFolder) -> Option<Self> {
        let who = distribution?.state_files();
        let mut left = folder.clone();
        let mut files = Vec::new();
        if who.cpu == Removal::AtBoot && left.cpu.take().is_some() {
            files.push(StateFile::Cpu);
        }
        if who.memory == Removal::AtBoot && left.memory.take().is_some() {
            files.push(StateFile::Memory);
        }
        (!files.is_empty()).then_some(Self { folder: left, files, when: When::Boot, who })
    }

    /// What keeps the kubelet of `node` from starting and is deleted. `None`: nothing does, or it stays.
    fn of_refused(distribution: Option<Distribution>, node: &Node, folder: &StateFolder) -> Option<Self> {
        let who = distribution?.state_files();
        if who.cpu == Removal::OfOtherPolicy {
            let left = StateFolder { cpu: None, ..folder.clone() };
            let removed = Self { folder: left, files: vec![StateFile::Cpu], when: When::EachStart, who };
            return is_of_other_policy(node, folder).then_some(removed);
        }
        let mut removed = Self::at_boot(distribution, folder)?;
        removed.files.retain(|file| is_refused(node, folder, *file));
        (!removed.files.is_empty()).then_some(removed)
    }

    /// What another release of the kubelet does not find, since it comes to the node with a boot, or is started with another policy.
    pub(crate) fn by_upgrade(node: &LoadedNode, folder: &StateFolder) -> Option<Self> {
        match node.distribution?.state_files().release {
            Rollout::Boots => Self::at_boot(node.distribution, folder),
            Rollout::RestartsKubelet | Rollout::NotKnown => node.removed_of(folder),
        }
    }

    /// Whether the files are gone when the kubelet starts with a changed configuration.
    pub(crate) fn is_with_configuration(&self) -> bool {
        self.when == When::EachStart || self.who.configuration == Rollout::Boots
    }

    /// What is deleted, and when, as a sentence without a full stop.
    pub(crate) fn sentence(&self) -> String {
        let (who, files) = (self.who.who, self.named());
        let (they, keep) = if self.files.len() == 1 { ("it", "keeps") } else { ("they", "keep") };
        match self.when {
            When::EachStart => format!(
                "{who} deletes {files} before the kubelet starts with another policy than the file's; what containers hold by it is \
                 forgotten"
            ),
            When::Boot => {
                let boots = match self.who.configuration {
                    Rollout::Boots => " boots the node with a changed configuration, and",
                    Rollout::RestartsKubelet | Rollout::NotKnown => "",
                };
                format!(
                    "{who}{boots} deletes {files} at each boot: {they} {keep} the kubelet from starting until then"
                )
            }
        }
    }

    /// What an upgrade does not find, as a sentence without a full stop.
    pub(crate) fn of_upgrade(&self) -> String {
        match self.when {
            When::EachStart => self.sentence(),
            When::Boot => format!(
                "the upgrade boots the node, and {} deletes {} at each boot: containers get anew what they held by that",
                self.who.who,
                self.named()
            ),
        }
    }

    fn named(&self) -> String {
        let files: Vec<&str> = self.files.iter().map(|file| file.path()).collect();
        files.join(" and ")
    }

    /// A finding with what becomes of its file.
    fn told(&self, line: FindingLine) -> FindingLine {
        if self.files.iter().all(|file| file.path() != line.file) {
            return line;
        }
        match self.when {
            When::EachStart => FindingLine {
                problem: Problem::Odd,
                kubelet: format!("starts: {}", self.sentence()),
                help: "drain the node first: its containers may run on CPUs that are given out anew"
                    .to_owned(),
                ..line
            },
            When::Boot => FindingLine {
                kubelet: format!("{}; {}", line.kubelet, self.sentence()),
                help: format!("drain the node and boot it; or, to restart the kubelet alone, {}", line.help),
                ..line
            },
        }
    }
}

/// Whether the kubelet does not start from a file alone.
fn is_refused(node: &Node, folder: &StateFolder, file: StateFile) -> bool {
    let mut alone = StateFolder::default();
    match file {
        StateFile::Cpu => alone.cpu.clone_from(&folder.cpu),
        StateFile::Memory => alone.memory.clone_from(&folder.memory),
        StateFile::Device => alone.device.clone_from(&folder.device),
    }
    let pods = RunningPods { sources: SourcesReady::No, ..RunningPods::default() };
    alone.strict(node).map_or(true, |start| node.restore(start.stored, pods).is_err())
}

/// Whether the CPU manager's file is one that another policy wrote.
fn is_of_other_policy(node: &Node, folder: &StateFolder) -> bool {
    let alone = StateFolder { cpu: folder.cpu.clone(), ..StateFolder::default() };
    matches!(alone.strict(node), Err(StartError::Cpu(CpuError::OtherPolicy { .. })))
}

impl LoadedNode {
    /// What of a folder keeps its kubelet from starting and is deleted by its distribution. `None`: nothing.
    pub(crate) fn removed_of(&self, folder: &StateFolder) -> Option<Removed> {
        Removed::of_refused(self.distribution, &self.node, folder)
    }

    /// Findings about a folder, with what the node's distribution does to the files.
    pub(crate) fn with_removed(&self, folder: &StateFolder, lines: Vec<FindingLine>) -> Vec<FindingLine> {
        let Some(removed) = self.removed_of(folder) else { return lines };
        let mut lines: Vec<FindingLine> = lines.into_iter().map(|line| removed.told(line)).collect();
        lines.sort_by_key(|line| line.problem);
        lines
    }
}
