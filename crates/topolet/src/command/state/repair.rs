//! `topolet state repair`: a folder of state is put in order, and what was there is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use device_manager::{Inventory, Moment};
use kubelet_checkpoint::store::Store;
use node_agent::{ReplacedFile, Unfinished, complete_moves, mend, prune};
use node_input::{
    IdentitySource, LoadedMachine, LoadedNode, MachineSource, NO_CONFIGURATION, ResidentsSource, RulesSource,
};
use node_output::{Document, NodeLine};
use node_state::{
    Basis, FaultKind, FileRepair, Left, PodNames, Quarantine, Quarantined, RepairPlan, StateFolder,
};
use pod_spec::PodUid;

use crate::arguments::{BackupArguments, FolderArguments, MachineArguments, OutputArguments, RulesArguments};
use crate::outcome::Outcome;
use crate::render::{self, Screen};
use crate::repair::{FileLine, QuarantinedLine, RepairLine, StateRepair};

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
    /// quarantined. Without it nothing is written then, nor if parts of a file are lost and no list of pods is given.
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
    // Whoever writes has the lock from before it reads.
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
    let mut earlier = node_input::still_quarantined(root, &folder, &names)?;
    let mut repaired = found
        .plan_repair(&node.node, &names.pod_list(&found, &earlier))
        .with_context(|| format!("cannot repair {}", root.display()))?;
    earlier.pods.retain(|uid, quarantined| {
        let manifest = names.specs().get(&PodUid::new(uid));
        let is_whole = manifest.is_some_and(|manifest| repaired.is_whole(&node.node, manifest));
        quarantined.basis == Basis::Conflict || !is_whole
    });
    let ledger =
        repaired.start.ledger(&node.node, Inventory::new(node.node.nodes().clone()), Moment::default())?;
    let mended = repaired.settle(&node.node, &ledger);
    let mut told = told(&repaired, &names, &node.line, !arguments.apply);
    let in_conflict =
        repaired.findings.iter().filter(|repair| repair.finding.fault.kind() != FaultKind::Unproven);
    let in_conflict: BTreeSet<&PodUid> = in_conflict.flat_map(|repair| &repair.quarantined).collect();
    let kept = |line: &QuarantinedLine| {
        let own = PodUid::new(&line.uid);
        let is_unproven = !in_conflict.contains(&own);
        let basis = if names.known().is_none() && is_unproven { Basis::NotListed } else { Basis::Conflict };
        let left = if repaired.start.holds(&own) { Left::Something } else { Left::Nothing };
        let (name, why) = (line.pod.clone(), line.why.clone());
        (line.uid.clone(), Quarantined { name, why, left, basis, backups: Vec::new() })
    };
    let pods = told.quarantined.iter().map(kept).collect();
    let mut quarantine = Quarantine { pods, lost: told.lost.clone() };
    // What a running pod holds is given up only if somebody says so.
    let is_harmless = quarantine.pods.is_empty() && quarantine.lost.is_empty();
    let store = store.filter(|_| arguments.force || is_harmless);
    told.written = store.is_some();
    told.aside = mended.iter().filter(|file| file.text.is_none()).map(|file| text(&file.path)).collect();
    told.files = match &store {
        Some(store) => {
            // First, so that whoever stops in between knows: what is not mended yet is found again.
            node_input::write_quarantine(store, &with(&quarantine, &earlier))?;
            let kept = mend(store, &mended)?;
            for error in prune(store, arguments.backups.kept()) {
                screen.warn(format!("an old backup is not removed: {:#}", anyhow::Error::new(error)));
            }
            let backups = kept.iter().filter_map(|kept| kept.backup.as_deref().map(text));
            let backups: Vec<String> = backups.collect();
            for quarantined in quarantine.pods.values_mut() {
                quarantined.backups.clone_from(&backups);
            }
            node_input::write_quarantine(store, &with(&quarantine, &earlier))?;
            kept.into_iter().map(FileLine::from).collect()
        }
        None => mended.iter().map(FileLine::from).collect(),
    };
    told.still_quarantined = earlier.pods;
    told.still_quarantined.retain(|uid, _| !quarantine.pods.contains_key(uid));
    if let Some(text) = Document::new("StateRepair", &told).text(arguments.output.output)? {
        screen.print(&text)?;
    } else {
        let headline = node.line.headline(screen.page);
        screen.show(&format!("{headline}\n{}", render::repairs(&told, screen.page)))?;
    }
    let is_left = !arguments.apply && !arguments.dry_run && !told.files.is_empty();
    if is_left {
        screen.warn("nothing is written: `topolet state repair` writes with --apply only; earlier releases wrote without it");
    }
    let is_right = !is_left
        && told.quarantined.is_empty()
        && told.still_quarantined.is_empty()
        && told.lost.is_empty()
        && earlier.lost.is_empty();
    Ok(if is_right { Outcome::Done } else { Outcome::SomethingWrong })
}

/// Refuses to repair for a configuration or a machine that nobody has named: the kubelet might not start from what is written.
fn must_be_known(
    machine: &LoadedMachine,
    source: &MachineSource,
    rules: &RulesSource,
    root: &Path,
) -> anyhow::Result<()> {
    let shown = root.display();
    if let Some(why) = machine.is_not_of(source, Some(root), &node_input::any_state_of(root)?)? {
        bail!(
            "cannot repair {shown}: its files are evidently of another machine: {why}; --machine names theirs"
        );
    }
    if !machine.has_configuration(rules) {
        let gap =
            machine.config_gaps().first().map_or_else(|| NO_CONFIGURATION.to_owned(), ToString::to_string);
        bail!(
            "cannot repair {shown}: {gap}. Which files are right depends on it, and the kubelet might not start from what is \
             written for another"
        );
    }
    Ok(())
}

/// What was quarantined earlier is too.
fn with(quarantine: &Quarantine, earlier: &Quarantine) -> Quarantine {
    let mut all = earlier.clone();
    all.lost.extend(quarantine.lost.iter().cloned());
    all.pods.extend(quarantine.pods.iter().map(|(uid, quarantined)| (uid.clone(), quarantined.clone())));
    all
}

fn told<'a>(repaired: &RepairPlan, names: &PodNames, node: &'a NodeLine, dry_run: bool) -> StateRepair<'a> {
    let recorded = repaired.start.records.iter();
    let recorded: BTreeMap<&PodUid, String> = recorded
        .map(|record| (&record.pod.uid, format!("{}/{}", record.pod.namespace, record.pod.name)))
        .collect();
    let name = |uid: &PodUid| recorded.get(uid).cloned().unwrap_or_else(|| names.name(uid));
    let repairs = repaired.findings.iter().map(|repair| RepairLine {
        cause: repair.finding.fault.kind(),
        file: repair.finding.file.display().to_string(),
        found: repair.finding.fault.to_string(),
        assumed: repair.assumption.as_ref().map(ToString::to_string),
        done: repair.remedy.to_string(),
        quarantined: repair.quarantined.iter().map(name).collect(),
    });
    let quarantined = repaired.quarantined.iter().map(|(uid, why)| QuarantinedLine {
        pod: name(uid),
        uid: uid.to_string(),
        why: why.clone(),
    });
    StateRepair {
        node,
        dry_run,
        written: false,
        unfinished: repaired.unfinished.as_ref().map(name),
        repairs: repairs.collect(),
        quarantined: quarantined.collect(),
        still_quarantined: BTreeMap::new(),
        lost: repaired.lost.iter().map(|file| file.path().to_owned()).collect(),
        files: Vec::new(),
        aside: BTreeSet::new(),
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

impl From<ReplacedFile> for FileLine {
    fn from(kept: ReplacedFile) -> Self {
        Self { file: text(&kept.path), backup: kept.backup.as_deref().map(text) }
    }
}

impl From<&FileRepair> for FileLine {
    fn from(mended: &FileRepair) -> Self {
        let path: &PathBuf = &mended.path;
        Self { file: text(path), backup: None }
    }
}
