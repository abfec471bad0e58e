//! The node by which a folder of state is judged, and how much is known of it.

use std::path::Path;

use admission_report::Notice;
use node_config::{DecidedBy, KubeletConfiguration};
use node_output::JudgedBy;
use node_state::{FindingLine, Quarantine, StateFolder};
use topology_admission::Compat;
use topology_model::KubeletView;

use crate::base_choice::BaseChoice;
use crate::configuration::DEFAULTS;
use crate::devices::DeviceText;
use crate::implied::Written;
use crate::machine::{LIVE, LoadedMachine};
use crate::node::{LoadedNode, decided_by};
use crate::other_machine;
use crate::pod_names::OWN;
use crate::source::Resident;
use crate::sources::{MachineSource, RulesSource};

/// The node by which a folder is judged.
pub struct JudgedNode {
    /// As strict as the kubelet, but for its limit on NUMA nodes. Without a configuration it is one under which the files
    /// can have been written.
    pub node: LoadedNode,
    /// What is known of it.
    pub by: JudgedBy,
    /// What is not known, for the reader.
    pub notices: Vec<Notice>,
}

/// As a program that starts looks at state files, but for the kubelet's limit on nodes, which is no matter of these.
fn strict(program: DecidedBy) -> Compat {
    match program {
        DecidedBy::Kubelet => Compat { node_limit: node_config::NodeCountCheck::Skip, ..Compat::KUBELET },
        DecidedBy::Topolet => Compat::default(),
    }
}

/// What names a configuration, in a sentence.
pub const NO_CONFIGURATION: &str = "no configuration of the kubelet was given or found; --config names it";

impl JudgedNode {
    /// Warnings that come before everything else, as text.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let configured = self.node.warnings.iter().filter(|_| self.by.is_configured());
        self.notices.iter().map(ToString::to_string).chain(configured.map(ToString::to_string))
    }

    /// What is wrong with the files.
    #[must_use]
    pub fn findings(&self, resident: &Resident, quarantine: &Quarantine) -> Vec<FindingLine> {
        let Resident { folder, names, .. } = resident;
        if self.by.is_configured() {
            self.node.with_removed(folder, folder.check(&self.node.node, names, quarantine))
        } else {
            folder.check_files(&self.node.node, names, quarantine)
        }
    }
}

impl LoadedNode {
    /// A node with a changed configuration, which looks at state files as the program that decides does when it starts.
    ///
    /// # Errors
    /// Something cannot be read, or the program does not start with the configuration.
    pub fn starting(
        machine: &LoadedMachine,
        rules: &RulesSource,
        change: impl FnOnce(&mut KubeletConfiguration),
    ) -> anyhow::Result<Self> {
        Self::with(machine, rules, None, strict(decided_by(machine, rules)?), change)
    }

    /// A node that looks at state files as strictly as a kubelet that starts, whichever program decides: what this takes both
    /// take.
    ///
    /// # Errors
    /// Something cannot be read, or the program does not start with the configuration.
    pub fn strictest(machine: &LoadedMachine, rules: &RulesSource) -> anyhow::Result<Self> {
        Self::with(machine, rules, None, strict(DecidedBy::Kubelet), |_| ())
    }
}

impl LoadedMachine {
    /// Whether the configuration of the kubelet is given, or found where the machine keeps it.
    #[must_use]
    pub fn has_configuration(&self, rules: &RulesSource) -> bool {
        rules.config.is_some()
            || !rules.kubelet_flags.is_empty()
            || rules.base.is_some_and(|base| base != BaseChoice::None)
            || self.packed.as_deref().is_some_and(|packed| packed.config.is_some())
    }

    /// That no configuration of a kubelet is given or found, as text to be shown; `None`: there is one, or the machine is a
    /// built-in one.
    #[must_use]
    pub fn why_unconfigured(&self, rules: &RulesSource) -> Option<&'static str> {
        (!self.has_configuration(rules) && !self.is_built_in()).then_some(NO_CONFIGURATION)
    }

    /// Why a folder that was named is evidently not of this machine, where no machine was named; `None`: it may be.
    ///
    /// # Errors
    /// The kubelet could not use the machine.
    pub fn is_not_of(
        &self,
        source: &MachineSource,
        root: Option<&Path>,
        folder: &StateFolder,
    ) -> anyhow::Result<Option<String>> {
        let is_own = root.is_none_or(|root| root == Path::new(OWN));
        if source.machine != LIVE || is_own {
            return Ok(None);
        }
        let view = KubeletView::new(&self.info)?;
        let nodes: Vec<_> = view.nodes().ids().collect();
        Ok(other_machine::evidence(&Written::of(folder), view.cpus().all(), &nodes))
    }

    /// Why state files are evidently those of another machine, as text to be shown; `None`: they may be its own.
    pub(crate) fn contradicted_by(&self, folder: &StateFolder) -> Option<String> {
        let view = KubeletView::new(&self.info).ok()?;
        let nodes: Vec<_> = view.nodes().ids().collect();
        let why = other_machine::evidence(&Written::of(folder), view.cpus().all(), &nodes)?;
        Some(format!("the state files are evidently those of another machine: {why}"))
    }

    /// The node by which `resident` is judged: with the configuration that is given or found, else with what the files say
    /// themselves; on this machine, or, where it is evidently another's and no machine was named, on one that has
    /// what the files name.
    ///
    /// # Errors
    /// Something cannot be read, or a kubelet does not start with the configuration.
    pub fn judge(
        &self,
        source: &MachineSource,
        resident: &Resident,
        rules: &RulesSource,
        devices: Option<DeviceText>,
    ) -> anyhow::Result<JudgedNode> {
        self.judge_with(source, resident, rules, devices, |_| ())
    }

    /// The same with a configuration in which something has been changed.
    ///
    /// # Errors
    /// Something cannot be read, or a kubelet does not start with the configuration.
    pub(crate) fn judge_with(
        &self,
        source: &MachineSource,
        resident: &Resident,
        rules: &RulesSource,
        devices: Option<DeviceText>,
        change: impl FnOnce(&mut KubeletConfiguration),
    ) -> anyhow::Result<JudgedNode> {
        if let Some(why) = self.is_not_of(source, resident.root.as_deref(), &resident.folder)? {
            let text = format!(
                "these files are evidently of another machine: {why}; --machine names theirs. They are judged by themselves \
                 alone"
            );
            let written = Written::of(&resident.folder);
            let node = implied(&other_machine::machine_of(&written), &written, rules)?;
            let by = JudgedBy::files_alone(&node.line);
            return Ok(JudgedNode { node, by, notices: vec![Notice::warning(text)] });
        }
        if self.has_configuration(rules) {
            let node = LoadedNode::with(self, rules, devices, strict(decided_by(self, rules)?), change)?;
            let by = JudgedBy::Configured(node.line.clone());
            return Ok(JudgedNode { node, by, notices: Vec::new() });
        }
        let node = implied(self, &Written::of(&resident.folder), rules)?;
        let by = JudgedBy::files_and_machine(&node.line);
        let gaps = self.config_gaps();
        let text = format!("{NO_CONFIGURATION}. The files are judged by themselves and by the machine alone");
        let notices = if gaps.is_empty() { vec![Notice::warning(text)] } else { gaps };
        Ok(JudgedNode { node, by, notices })
    }
}

/// The node under whose configuration the files can have been written; where there is none, one with the kubelet's defaults.
fn implied(machine: &LoadedMachine, written: &Written, rules: &RulesSource) -> anyhow::Result<LoadedNode> {
    let view = KubeletView::new(&machine.info)?;
    let config = written.configuration(view.cpus().all(), rules.kubelet_rules());
    let plain =
        RulesSource { config: Some(DEFAULTS.to_owned()), kubelet: rules.kubelet, ..RulesSource::default() };
    let compat = strict(decided_by(machine, rules)?);
    let node = LoadedNode::with(machine, &plain, None, compat, |own| *own = config);
    node.or_else(|_| LoadedNode::with(machine, &plain, None, compat, |_| ()))
}
