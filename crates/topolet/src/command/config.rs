//! `topolet config`: whether a kubelet starts with a configuration on a machine, and what would be right there.

use admission_report::Notice;
use clap::{Args, Subcommand, ValueHint};
use node_config::DecidedBy;
use node_input::{
    ConfigAdvice, ConfigSubject, IdentitySource, InputWarning, KubeletVersion, LoadedMachine, NamedBy,
    ResidentsSource, RulesSource,
};
use node_output::{Document, Format, config_check};

use crate::arguments::{
    BesideConfigArguments, DeviceArguments, MachineArguments, OutputArguments, ResidentsArguments, programs,
};
use crate::claim_arguments::ClaimsBesideArguments;
use crate::examples;
use crate::help_forms;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ConfigCommand {
    /// Checks a kubelet configuration on a machine and proposes one that pins there. Exit status 2 if anything is
    /// wrong.
    #[command(after_help = examples::CONFIG_CHECK)]
    Check(ConfigCheckArguments),
    /// Prints the configuration that a kubelet has in the end: the fields that decide, with what the distribution sets
    /// beneath them and the flags over them.
    #[command(after_help = examples::CONFIG_SHOW)]
    Show(ConfigShowArguments),
}

/// Which configuration.
#[derive(Args, Debug)]
pub(crate) struct ConfigSourceArguments {
    /// The kubelet's configuration.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath, long_help = help_forms::CHECKED_CONFIG)]
    pub(crate) config: Option<String>,
    #[command(flatten)]
    pub(crate) over: BesideConfigArguments,
    /// Release of the kubelet that reads it: 1.34, 1.35, 1.36, 1.37, or a version such as v1.37.2. Without it one that
    /// writes state files as the machine's are, else 1.36.
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubelet: Option<KubeletVersion>,
}

#[derive(Args, Debug)]
pub(crate) struct ConfigShowArguments {
    #[command(flatten)]
    pub(crate) source: ConfigSourceArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
}

#[derive(Args, Debug)]
pub(crate) struct ConfigCheckArguments {
    #[command(flatten)]
    pub(crate) source: ConfigSourceArguments,
    /// Prints nothing but the proposed configuration: the given file with the proposed fields changed in place, and
    /// everything else in it, comments too, as it was. A list that changes is written anew, and comments inside it are
    /// lost. What `/configz` answered becomes a file that a kubelet reads.
    #[arg(long, conflicts_with = "output")]
    pub(crate) propose: bool,
    /// Prints nothing but the fields that change, as a file for the kubelet's drop-in folder (`--config-dir`, names end
    /// in `.conf`). There lists replace lists, and a field that is `null` is removed. Not for a
    /// `KubeletConfig` of OpenShift.
    #[arg(long, conflicts_with_all = ["output", "propose"])]
    pub(crate) drop_in: bool,
    /// The program that is to run with the proposal.
    #[arg(long = "for", value_name = "PROGRAM", default_value = "kubelet", value_parser = programs())]
    pub(crate) target: DecidedBy,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    #[command(flatten)]
    pub(crate) beside: ClaimsBesideArguments,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &ConfigArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ConfigCommand::Check(arguments) => check(arguments, screen),
        ConfigCommand::Show(arguments) => show(arguments, screen),
    }
}

impl ConfigSourceArguments {
    /// The rules by which a kubelet of the machine reads it; `defaults` says what is done with the kubelet's defaults where
    /// there is no configuration.
    fn rules(
        &self,
        machine: &LoadedMachine,
        residents: &ResidentsSource,
        target: DecidedBy,
        defaults: &str,
        screen: Screen,
    ) -> anyhow::Result<RulesSource> {
        let Self { config, over: BesideConfigArguments { kubelet_flags, base }, kubelet } = self;
        if config.is_none() {
            for gap in machine.known_config_gaps()? {
                screen.warn(gap);
            }
        }
        let rules = RulesSource {
            config: config.clone(),
            kubelet_flags: kubelet_flags.clone(),
            base: *base,
            kubelet: *kubelet,
            decided_by: Some(target),
            ..RulesSource::default()
        };
        if let Some(why) = machine.why_unconfigured(&rules) {
            screen.warn(Notice::warning(format!("{why}. {defaults}: the kubelet's defaults")));
        }
        let rules = rules.of_node(&IdentitySource::default(), residents, machine.packed.as_deref())?;
        if let Some(doubt) = rules
            .kubelet
            .filter(|version| version.named_by() == NamedBy::Argument)
            .and_then(|version| version.doubt("--kubelet"))
        {
            screen.warn(doubt);
        }
        Ok(rules)
    }
}

fn show(arguments: &ConfigShowArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let machine = LoadedMachine::load_node(&arguments.machine.source())?;
    let view = machine.view_to_check()?;
    let residents = ResidentsSource::default();
    let rules = arguments.source.rules(&machine, &residents, DecidedBy::Kubelet, "Shown", screen)?;
    let config = arguments.source.config.as_deref();
    let (read, _) = node_input::configuration_to_check(config, &machine, &view, rules.reading())?;
    for notice in read.notices().chain(read.counted_here(config, &machine, &view)) {
        screen.warn(notice);
    }
    for warning in read.warnings.iter().chain(&read.unread) {
        screen.warn(InputWarning::Configuration(warning.clone()));
    }
    screen.print(&read.written_out()?)?;
    Ok(Outcome::Done)
}

fn check(arguments: &ConfigCheckArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let machine = LoadedMachine::load_node(&arguments.machine.source())?;
    let view = machine.view_to_check()?;
    let residents = arguments.residents.source();
    let DeviceArguments { devices, selected } = arguments.devices.clone();
    let source = arguments.source.rules(&machine, &residents, arguments.target, "Checked", screen)?;
    let source = RulesSource { devices, selected, ..source };
    let claims = arguments.beside.read()?;
    let config = arguments.source.config.as_deref();
    let (read, text) = node_input::configuration_to_check(config, &machine, &view, source.reading())?;
    if let Some(warning) = node_input::memory_must_be_known_by(&machine, &read.config)? {
        screen.warn(warning);
    }
    for notice in read.notices().chain(read.counted_here(config, &machine, &view)) {
        screen.warn(notice);
    }
    let subject = ConfigSubject {
        machine: &machine,
        view: &view,
        rules: &source,
        residents: &residents,
        claims: &claims,
        target: arguments.target,
    };
    let advice = ConfigAdvice::on(subject, &read, &text)?;
    let outcome = if advice.is_wrong() { Outcome::SomethingWrong } else { Outcome::Done };
    if arguments.propose {
        let file = advice.whole_file()?;
        advice.left_wrong(&file)?.into_iter().for_each(|notice| screen.warn(notice));
        screen.print(&file)?;
        return Ok(outcome);
    }
    if arguments.drop_in {
        screen.print(&advice.drop_in()?)?;
        return Ok(outcome);
    }
    let snippet = advice.snippet()?;
    let checked = advice.document(&arguments.machine.machine)?;
    let format = arguments.output.output;
    if format == Format::Table {
        screen.show(&config_check(&checked, advice.given(), &snippet, screen.page))?;
    } else if let Some(text) = Document::new("ConfigCheck", &checked).of(checked.rules_of()).text(format)? {
        screen.print(&text)?;
    }
    Ok(outcome)
}
