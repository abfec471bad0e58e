//! `topolet upgrade`: what another release of the kubelet does otherwise on a node.

use std::path::{Path, PathBuf};

use admission_report::claims_notice;
use anyhow::Context as _;
use clap::{Args, Subcommand, ValueHint};
use node_config::{DecidedBy, KubeletConfiguration, Release, Rules};
use node_input::{
    Asked, DeviceText, KubeletVersion, LoadedMachine, LoadedNode, NamedBy, RulesSource, Wholeness,
    configuration_of, inventory_of, options_of,
};
use node_output::{Document, UpgradeCheck};
use node_state::StateFolder;
use pod_spec::{Origin, Pod, PodLevelDefaults, PodLevelResources, PodRules};
use release_upgrade::{Subject, Upgrade};
use topology_admission::Identity;
use topology_model::KubeletView;

use crate::arguments::{
    DeviceArguments, IdentityArguments, MachineArguments, OutputArguments, ReadingArguments,
    ResidentsArguments,
};
use crate::examples;
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
    /// difference. Exit status 2 if a pod comes out otherwise, a field that is written means something else, a file cannot
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
    /// `KubeletConfiguration`, `KubeletConfig` or a kubelet's /configz as YAML or JSON; `pinned` or `kubelet-defaults`.
    /// Without it that of a node file, or of `live` that of its kubelet, else `pinned`.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) config: Option<String>,
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
    let view = KubeletView::new(&machine.info)
        .with_context(|| format!("the kubelet could not use machine {}", machine.name))?;
    let rules = rules(arguments, &machine)?;
    let from = rules.kubelet.unwrap_or(KubeletVersion::DEFAULT);
    doubts(arguments, from, screen);
    let configurations = Configurations::read(arguments, &machine, &view)?;
    let devices = DeviceText::on(&rules, &source, &arguments.residents.source())?;
    let running = Running::read(arguments, &machine, &rules, devices.clone())?;
    let (inventory, not_judged) = inventory_of(&machine, devices, &view)?;
    for warning in not_judged {
        screen.warn(warning);
    }
    let asked = arrivals(arguments, &configurations, screen)?;
    let subject = Subject {
        view: &view,
        config: &|rules| configurations.of(rules),
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
        kubelet: arguments.from,
        decided_by: arguments.topolet_config.is_none().then_some(DecidedBy::Kubelet),
        topolet_config: arguments.topolet_config.clone(),
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
        NamedBy::StateFiles | NamedBy::Executable | NamedBy::Nobody => "the node",
    };
    let doubts = [from.doubt(place), arguments.to.doubt("--to")];
    doubts.into_iter().flatten().for_each(|doubt| screen.warn(doubt));
}

/// The configuration as a kubelet of each release reads it.
struct Configurations {
    name: String,
    static_pods: Option<PathBuf>,
    by_release: Vec<(Rules, KubeletConfiguration)>,
}

impl Configurations {
    fn read(
        arguments: &UpgradeCheckArguments,
        machine: &LoadedMachine,
        view: &KubeletView,
    ) -> anyhow::Result<Self> {
        let read = |release| {
            let rules = Rules::of(release);
            let read = configuration_of(machine, arguments.config.as_deref(), view, rules)?;
            anyhow::Ok((rules, read))
        };
        let read = Release::ALL.into_iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let (name, static_pods) = read
            .last()
            .map(|(_, newest)| (newest.name.clone(), newest.static_pods.clone()))
            .unwrap_or_default();
        let by_release = read.into_iter().map(|(rules, read)| (rules, read.config)).collect();
        Ok(Self { name, static_pods, by_release })
    }

    /// Which fields are read depends on one rule.
    fn of(&self, rules: Rules) -> KubeletConfiguration {
        let alike = |(read, _): &&(Rules, KubeletConfiguration)| read.pod_sysctls == rules.pod_sysctls;
        let config = self.by_release.iter().find(alike).map(|(_, config)| config.clone());
        KubeletConfiguration { rules, ..config.unwrap_or_default() }
    }
}

/// What runs on the node before the upgrade.
#[derive(Default)]
struct Running {
    folder: Option<StateFolder>,
    pods: Vec<Pod>,
    identity: Option<Identity>,
    notes: Vec<String>,
    /// Whether no kubelet starts beside the files of what pods were admitted with.
    is_not_started_again: bool,
}

impl Running {
    fn read(
        arguments: &UpgradeCheckArguments,
        machine: &LoadedMachine,
        rules: &RulesSource,
        devices: Option<DeviceText>,
    ) -> anyhow::Result<Self> {
        // Where one of the releases does not start, the other reads what runs.
        let newer = RulesSource { kubelet: Some(arguments.to), ..rules.clone() };
        let node = LoadedNode::on(machine, rules, devices.clone())
            .or_else(|error| LoadedNode::on(machine, &newer, devices).map_err(|_| error));
        let node = match node {
            Ok(node) => node.with_identity(&arguments.identity.source())?,
            Err(error) => {
                let note = format!("not looked at: what runs here, since the node does not start: {error:#}");
                return Ok(Self { notes: vec![note], ..Self::default() });
            }
        };
        let source = arguments.residents.source();
        let residents = node.residents(&source)?;
        let resident = source.of_node(machine.packed.as_deref())?;
        let mut pods: Vec<Pod> = residents.ledger.pods().cloned().collect();
        if arguments.drained {
            // A new pod has no class yet; of one that only state files list, the class is all that is known.
            let known = resident.as_ref().map(|resident| resident.names.specs());
            let made_anew = |pod: &&mut Pod| known.is_some_and(|known| known.contains_key(&pod.uid));
            pods.iter_mut().filter(made_anew).for_each(|pod| pod.status_qos = None);
        }
        let mut notes: Vec<String> = node.first_notes().chain(residents.not_looked_at()).collect();
        if pods.len() > 1 {
            notes.push(
                "running pods are attempted in the order of their UIDs, and by a kubelet in that of their creation"
                    .to_owned(),
            );
        }
        let new_uids = pods.iter().filter(|pod| pod.constraints.origin == Origin::Static).count();
        let from = rules.kubelet.unwrap_or(KubeletVersion::DEFAULT).version();
        if new_uids > 0 && arguments.to.version().release() != from.release() {
            notes.push(format!(
                "not looked at: whether the manifests of the {new_uids} static pods have a metadata.uid; without one a \
                 static pod gets another by another release, which ends it and starts it anew, on what is free then"
            ));
        }
        let identity = node.node.identity().cloned();
        let is_not_started_again = residents.not_again.is_some() && !arguments.drained;
        let folder = resident.map(|resident| resident.folder);
        Ok(Self { folder, pods, identity, notes, is_not_started_again })
    }
}

/// Pods that are created after the upgrade, without what is filled in at pod level.
fn arrivals(
    arguments: &UpgradeCheckArguments,
    configurations: &Configurations,
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
