//! `topolet state repair`: a folder of state is put in order, and what was there is kept.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::Args;
use kubelet_checkpoint::store::Store;
use node_agent::{ReplacedFile, Unfinished, complete_moves, write_repair};
use node_input::{
    IdentitySource, LoadedMachine, LoadedNode, MachineSource, NO_CONFIGURATION, ResidentsSource, RulesSource,
};
use node_output::{Document, RepairProgress, RepairedFile, StateRepair};
use node_state::{FolderRepair, Losses, StateFolder};

use crate::arguments::{BackupArguments, FolderArguments, MachineArguments, OutputArguments, RulesArguments};
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct StateRepairArguments {
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// Writes the files. Without it nothing is written.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) apply: bool,
    /// Says what would be done, and writes nothing: what is done without --apply.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --apply, writes the files even if a running pod loses something, or nothing proves what it holds; such pods are
    /// quarantined. Needed too where parts of a file are lost and --pods is not given.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) backups: BackupArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &StateRepairArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let root = arguments.folder.state.as_deref().unwrap_or(Path::new(node_input::OWN));
    node_input::must_be_folder(root)?;
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let holders = node_input::any_state_of(root)?.holders();
    let names = node_input::pod_names(arguments.folder.pods.as_deref(), root, holders.as_ref())?;
    let state = ResidentsSource { state: Some(root.to_path_buf()), ..ResidentsSource::default() };
    let rules = arguments.rules.source().of_node(&IdentitySource::default(), &state, None)?;
    must_be_known(&machine, &source, &rules, root)?;
    let node = LoadedNode::strictest(&machine, &rules)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    // A repair that writes locks the folder before it reads.
    let store = if arguments.apply { Some(Store::open(root)?) } else { None };
    if let Some(store) = &store {
        // Else the next start would put its texts over those that are written here.
        let cannot = "failed to complete moves of pods that had been decided";
        if let Unfinished::NotWritten(left) = complete_moves(store).context(cannot)? {
            return Err(left.why).context(cannot);
        }
    }
    let found =
        StateFolder::look(root).with_context(|| format!("failed to read the state in {}", root.display()))?;
    if found.is_empty() {
        bail!("{} contains no kubelet state", root.display());
    }
    let folder = node_input::any_state_of(root)?;
    let earlier = node_input::still_quarantined(root, &folder, &names)?;
    let plan = found
        .plan_repair(&node.node, &names.pod_list(&found, &earlier))
        .with_context(|| format!("failed to repair {}", root.display()))?;
    let mut repair = FolderRepair::of(plan, &node.node, &names, earlier)?;
    let losses = if arguments.force { Losses::Accepted } else { Losses::Refused };
    let progress = match &store {
        Some(store) if repair.may_be_written(losses) => {
            let replaced = write_repair(store, &mut repair, arguments.backups.kept(), |error| {
                screen.warn(format!("an old backup is not removed: {:#}", anyhow::Error::new(error)));
            })?;
            let line = |file: &ReplacedFile| RepairedFile::new(&file.path, file.backup.as_deref());
            RepairProgress::Written(replaced.iter().map(line).collect())
        }
        Some(_) => RepairProgress::Refused,
        None => RepairProgress::Shown,
    };
    let shown = StateRepair::new(&node.line, &repair, &names, progress);
    if let Some(text) = Document::new("StateRepair", &shown).text(arguments.output.output)? {
        screen.print(&text)?;
    } else {
        let headline = node.line.headline(screen.page);
        screen.show(&format!("{headline}\n{}", node_output::repairs(&shown, screen.page)))?;
    }
    let is_left = !arguments.apply && !arguments.dry_run && !repair.files.is_empty();
    if is_left && repair.may_be_written(Losses::Refused) {
        screen.warn("note: nothing is written: the same command with --apply writes it");
    }
    let is_right = !is_left && repair.leaves_nothing_open();
    Ok(if is_right { Outcome::Done } else { Outcome::SomethingWrong })
}

/// Refuses to repair for a configuration or a machine that is only guessed: the kubelet might not start from what is written.
fn must_be_known(
    machine: &LoadedMachine,
    source: &MachineSource,
    rules: &RulesSource,
    root: &Path,
) -> anyhow::Result<()> {
    let shown = root.display();
    if let Some(why) = machine.is_not_of(source, Some(root), &node_input::any_state_of(root)?)? {
        bail!(
            "failed to repair {shown}: its files are evidently of another machine: {why}; --machine names theirs"
        );
    }
    if !machine.has_configuration(rules) {
        let gap =
            machine.config_gaps().first().map_or_else(|| NO_CONFIGURATION.to_owned(), ToString::to_string);
        bail!(
            "failed to repair {shown}: {gap}. Which files are right depends on it, and the kubelet might not start from what is \
             written for another"
        );
    }
    Ok(())
}
