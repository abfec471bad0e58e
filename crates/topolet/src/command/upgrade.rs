//! `topolet upgrade`: what another release of the kubelet does otherwise on a node.

use std::path::{Path, PathBuf};

use admission_report::claims_notice;
use anyhow::bail;
use clap::{Args, Subcommand, ValueHint};
use node_config::DecidedBy;
use node_input::{
    Asked, BeforeUpgrade, DeviceText, KubeletVersion, LoadedMachine, NamedBy, OptionsSource,
    ReleaseConfigurations, RulesSource, UpgradeSource, UpgradeWay, Wholeness, inventory_of, options_of,
};
use node_output::{Document, UpgradeCheck};
use pod_spec::{PodLevelDefaults, PodLevelResources, PodRules};
use release_upgrade::{Subject, Upgrade};

use crate::arguments::{
    BesideConfigArguments, DeviceArguments, IdentityArguments, MachineArguments, OutputArguments,
    ReadingArguments, ResidentsArguments,
};
use crate::examples;
use crate::help_forms;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct UpgradeArguments {
    #[command(subcommand)]
    pub(crate) command: UpgradeCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum UpgradeCommand {
    /// Compares two releases of the kubelet on a node: configuration, state files, faults, pods, and the rule behind each
    /// difference. Exit status 2 if the outcome of any pod differs, a field that is written means something else, a file cannot
    /// be read back whole, or a release does not start; 0 if nothing but defaults changes; 1 on an error.
    #[command(after_help = examples::UPGRADE_CHECK)]
    Check(UpgradeCheckArguments),
}

#[derive(Args, Debug)]
pub(crate) struct UpgradeCheckArguments {
    /// Release that runs now: 1.34, 1.35, 1.36, 1.37, or a version such as v1.36.3. Without it that of the Node object
    /// (--node), else one that writes state files as the node's are, else 1.36.
    #[arg(long, value_name = "VERSION")]
    pub(crate) from: Option<KubeletVersion>,
    /// Release in question; an older one than --from is a downgrade.
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: KubeletVersion,
    /// A file with pods that are created after the upgrade, after those that run; `-` reads standard input.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The node is drained and its state files deleted: every pod is placed anew. Without it a node with state files
    /// restarts, and containers keep what they hold.
    #[arg(long, conflicts_with = "empty")]
    pub(crate) drained: bool,
    /// The kubelet's configuration.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath, long_help = help_forms::COMPARED_CONFIG)]
    pub(crate) config: Option<String>,
    #[command(flatten)]
    pub(crate) beside: BesideConfigArguments,
    /// Options of topolet's own, which no kubelet has.
    #[arg(long, value_name = "FILE")]
    pub(crate) topolet_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &UpgradeArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        UpgradeCommand::Check(arguments) => check(arguments, screen),
    }
}

fn check(arguments: &UpgradeCheckArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let view = machine.view_to_check()?;
    let rules = rules(arguments, &machine)?;
    let from = rules.kubelet.unwrap_or(KubeletVersion::DEFAULT);
    if let Some(why) = from.why_not_compared(arguments.to) {
        bail!("{why}");
    }
    doubts(arguments, from, screen);
    let configurations = ReleaseConfigurations::read(&machine, &rules, &view)?;
    let (identity, residents) = (arguments.identity.source(), arguments.residents.source());
    let devices = DeviceText::on(&rules, &source, &residents)?;
    let way = if arguments.drained { UpgradeWay::Drained } else { UpgradeWay::Restarted };
    let before = UpgradeSource { identity: &identity, residents: &residents, to: arguments.to, way };
    let running = BeforeUpgrade::read(&machine, &rules, devices.clone(), before)?;
    let (inventory, not_judged) = inventory_of(&machine, devices, &view)?;
    for warning in not_judged {
        screen.warn(warning);
    }
    let asked = arrivals(arguments, &configurations, screen)?;
    let subject = Subject {
        view: &view,
        config: &|rules| configurations.of(rules),
        refused_flag: &|rules| configurations.refused_flag(rules),
        options: &options_of(&machine, &rules)?,
        identity: running.identity.as_ref(),
        inventory: &inventory,
        folder: running.folder.as_ref().filter(|_| !arguments.drained),
        residents: &running.pods,
        arrivals: &asked.pods,
    };
    let upgrade = Upgrade::check(&subject, from.version(), arguments.to.version());
    let claims = claims_notice(&asked.pods);
    let outcome = match asked.wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole
            if upgrade.changes_anything() || claims.is_some() || running.is_not_started_again =>
        {
            Outcome::SomethingWrong
        }
        Wholeness::Whole => Outcome::Done,
    };
    let checked = UpgradeCheck::new(
        &machine.name,
        &configurations.name,
        from.named_by().to_string(),
        running.notes.into_iter().chain(claims.map(|notice| notice.text)).collect(),
        upgrade,
    );
    let rules_of = format!("v{}", arguments.to.version());
    let document = Document::new("UpgradeCheck", &checked).of(&rules_of);
    match document.text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&checked.text(screen.page))?,
    }
    Ok(outcome)
}

/// What names the node's rules, with the release that runs there.
fn rules(arguments: &UpgradeCheckArguments, machine: &LoadedMachine) -> anyhow::Result<RulesSource> {
    let rules = RulesSource {
        config: arguments.config.clone(),
        kubelet_flags: arguments.beside.kubelet_flags.clone(),
        base: arguments.beside.base,
        kubelet: arguments.from,
        decided_by: arguments.topolet_config.is_none().then_some(DecidedBy::Kubelet),
        topolet_config: arguments.topolet_config.clone().map(OptionsSource::File),
        devices: arguments.devices.devices.clone(),
        selected: arguments.devices.selected.clone(),
        ..RulesSource::default()
    };
    let (identity, residents) = (arguments.identity.source(), arguments.residents.source());
    rules.of_node(&identity, &residents, machine.packed.as_deref())
}

/// Releases that are not known, or in part.
fn doubts(arguments: &UpgradeCheckArguments, from: KubeletVersion, screen: Screen) {
    let place = match from.named_by() {
        NamedBy::Argument => "--from",
        NamedBy::NodeObject => "the Node object",
        NamedBy::Configuration => "the configuration",
        NamedBy::StateFiles | NamedBy::Executable | NamedBy::Log | NamedBy::Nobody => "the node",
    };
    let doubts = [from.doubt(place), arguments.to.doubt("--to")];
    doubts.into_iter().flatten().for_each(|doubt| screen.warn(doubt));
}

/// Pods that are created after the upgrade, without what is filled in at pod level.
fn arrivals(
    arguments: &UpgradeCheckArguments,
    configurations: &ReleaseConfigurations,
    screen: Screen,
) -> anyhow::Result<Asked> {
    let static_pods: Option<&Path> = configurations.static_pods.as_deref();
    let reading = arguments.reading.beside(static_pods);
    let written = PodRules {
        defaults: PodLevelDefaults::Nothing,
        ..PodRules::of(&arguments.to.rules(), PodLevelResources::Count)
    };
    Asked::from_files(&arguments.files, reading, written, &screen)
}
