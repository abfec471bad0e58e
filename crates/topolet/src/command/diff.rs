//! `topolet diff`: the same pods under several configurations.

use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, ValueHint};
use node_input::{
    Asked, DeviceText, KubeletVersion, LoadedMachine, LoadedNode, MachineSource, Residents, RulesSource,
    Sequence, Wholeness,
};
use node_output::{Compared, Comparison, Document, Format, NodeLine};
use topology_admission::{Detail, Series, Tries};

use crate::arguments::{
    DeviceArguments, IdentityArguments, ImaginedArguments, MachineArguments, OutputArguments,
    ProgramArguments, ReadingArguments, ResidentsArguments, policies, scopes,
};
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct DiffArguments {
    /// A file with pods, or workloads that make them, as YAML or JSON; or a folder with such files; `-` reads standard
    /// input. Can be given more than once.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A configuration, as `admit` takes it. Given more than once, each is tried; without it that of the node.
    #[arg(short, long = "config", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    configs: Vec<String>,
    /// Topology Manager policies to try with each configuration.
    #[arg(long = "policy", value_name = "POLICY", value_delimiter = ',', value_parser = policies())]
    policies: Vec<String>,
    /// Topology Manager scopes to try with each policy.
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', value_parser = scopes())]
    scopes: Vec<String>,
    /// Release of the kubelet whose rules apply.
    #[arg(long, value_name = "VERSION")]
    kubelet: Option<KubeletVersion>,
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    devices: DeviceArguments,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    imagined: ImaginedArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    residents: ResidentsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &DiffArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let every = arguments.rules();
    ensure!(
        every.len() > 1,
        "one configuration has nothing to differ from: give --config twice, or several policies or scopes, as in \
         --policy restricted,single-numa-node"
    );
    let source = MachineSource { add: arguments.imagined.add.clone(), ..arguments.machine.source() };
    let machine = LoadedMachine::load_node(&source)?;
    let (identity, given) = (arguments.identity.source(), arguments.residents.source());
    let mut notes: Vec<String> = Vec::new();
    let mut compared = Vec::new();
    let mut asked: Option<(pod_spec::PodRules, Asked)> = None;
    for rules in every {
        let rules = rules.of_node(&identity, &given, machine.packed.as_deref())?;
        let node = LoadedNode::on(&machine, &rules, DeviceText::on(&rules, &source, &given)?)?
            .with_identity(&identity)?;
        let pods = match asked.take() {
            Some((rules, pods)) if rules == node.node.pod_rules() => pods,
            _ => read(arguments, &node, screen)?,
        };
        let residents = node.residents(&given)?;
        let unknown = node.first_notes().chain(residents.not_looked_at());
        let unknown = unknown.chain(node.not_looked_at(&pods.pods)).chain(pods.claims_elsewhere());
        let unknown = unknown.chain(node.unchecked(&pods.pods));
        for note in unknown.collect::<Vec<_>>() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        compared.push(decide(&node, line(&node, &rules), residents, &pods)?);
        asked = Some((node.node.pod_rules(), pods));
    }
    // What is wrong with the files is reported, and a table of nothing adds no answer.
    let is_without_pods = asked
        .as_ref()
        .is_some_and(|(_, asked)| asked.pods.is_empty() && asked.wholeness == Wholeness::Partial);
    if is_without_pods && arguments.output.output == Format::Table {
        return Ok(Outcome::Partial);
    }
    let comparison = Comparison::new(compared, notes);
    match Document::new("Comparison", &comparison).of(comparison.rules_of()).text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&comparison.text(screen.page))?,
    }
    Ok(match asked.map(|(_, pods)| pods.wholeness) {
        Some(Wholeness::Partial) => Outcome::Partial,
        _ if !comparison.is_alike() || comparison.differs_from_kubelet() => Outcome::SomethingWrong,
        _ if comparison.has_undecided_claims() => Outcome::SomethingWrong,
        _ => Outcome::Done,
    })
}

impl DiffArguments {
    /// Each configuration with each policy and scope.
    fn rules(&self) -> Vec<RulesSource> {
        let Self { configs, policies, scopes, kubelet, program, devices, .. } = self;
        let mut rules = Vec::new();
        for config in or_none(configs) {
            for policy in or_none(policies) {
                for scope in or_none(scopes) {
                    rules.push(RulesSource {
                        distribution: None,
                        config: config.clone(),
                        kubelet_flags: Vec::new(),
                        base: None,
                        kubelet: *kubelet,
                        decided_by: program.decided_by,
                        policy: policy.clone(),
                        scope: scope.clone(),
                        devices: devices.devices.clone(),
                        selected: devices.selected.clone(),
                        topolet_config: None,
                    });
                }
            }
        }
        rules
    }
}

/// All values, or that there is none.
fn or_none(values: &[String]) -> Vec<Option<String>> {
    if values.is_empty() { vec![None] } else { values.iter().cloned().map(Some).collect() }
}

fn read(arguments: &DiffArguments, node: &LoadedNode, screen: Screen) -> anyhow::Result<Asked> {
    let reading = arguments.reading.of_node(node);
    let mut asked = Asked::from_files(&arguments.files, reading, node.node.pod_rules(), &screen)?;
    asked.keep_those_of(node.node.identity().map(|identity| identity.name.as_str()), &screen)?;
    Ok(asked)
}

/// The node in a line. It lists policy and scope, so ` with --policy …` after the configuration is cut.
fn line(node: &LoadedNode, rules: &RulesSource) -> NodeLine {
    let mut line = node.line.clone();
    for (name, value) in [("scope", &rules.scope), ("policy", &rules.policy)] {
        let suffix = value.as_ref().map(|value| format!(" with --{name} {value}"));
        if let Some(plain) =
            suffix.and_then(|suffix| line.configuration.strip_suffix(&suffix).map(str::to_owned))
        {
            line.configuration = plain;
        }
    }
    line
}

fn decide(
    node: &LoadedNode,
    line: NodeLine,
    residents: Residents,
    asked: &Asked,
) -> anyhow::Result<Compared> {
    let mut compared = Compared::new(line);
    // A comparison does not search for what would fit.
    let series = Series::new(&node.node, residents.ledger, Detail::Short, Tries(0));
    let mut sequence = Sequence::new(node, asked, series);
    for pod in &asked.pods {
        compared.add(&sequence.decide(pod)?);
    }
    Ok(compared)
}
