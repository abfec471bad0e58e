//! `topolet export`: a node as other programs want it.

use std::path::PathBuf;

use admission_report::{Notice, claims_notice, unchecked_notice};
use anyhow::{anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use node_input::{
    ADVICE, Asked, DeviceText, IdentitySource, Known, LIVE, LoadedMachine, LoadedNode, Wholeness,
};
use node_resource_topology::{Fingerprint, FingerprintMethod, NodeFacts, NodeResourceTopology, UnnamedPods};
use pod_spec::Pod;
use topology_admission::{Ledger, Verdict};
use topology_manifest::check_node_name;

use crate::arguments::{MachineArguments, ReadingArguments, ResidentsArguments, RulesArguments};
use crate::examples;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    #[command(subcommand)]
    pub(crate) command: ExportCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ExportCommand {
    /// Prints a `NodeResourceTopology` (topology.node.k8s.io/v1alpha2) for schedulers that know NUMA nodes. Exit
    /// status 2 if a pod was refused.
    #[command(after_help = examples::NRT)]
    Nrt(NrtArguments),
}

#[derive(Args, Debug)]
pub(crate) struct NrtArguments {
    /// What the node is called in its cluster. Without it the host name of this machine, or the name of the machine.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Pods that are admitted first, as YAML or JSON; `-` reads standard input.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: ObjectFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ObjectFormat {
    /// For `kubectl apply`.
    Yaml,
    /// The same as JSON.
    Json,
}

pub(super) fn run(arguments: &ExportArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ExportCommand::Nrt(arguments) => nrt(arguments, screen),
    }
}

fn nrt(arguments: &NrtArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let residents = arguments.residents.source();
    let rules = arguments.rules.source();
    let devices = DeviceText::on(&rules, &source, &residents)?;
    let rules = rules.of_node(&IdentitySource::default(), &residents, machine.packed.as_deref())?;
    let node = LoadedNode::on(&machine, &rules, devices)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    for note in node.first_notes() {
        screen.warn(Notice::warning(note));
    }
    for unbooked in unbooked(&node) {
        screen.warn(unbooked);
    }
    let residents = node.residents(&residents)?;
    // The object says none of it, and no option names the state.
    if let Some(beside) = residents.line.as_ref().filter(|_| arguments.residents.state.is_none()) {
        let line = node.line.headline(screen.page);
        screen.warn(format_args!("{}, {beside}", line.trim_end().replace("\n  ", " ")));
    }
    for note in &residents.notes {
        screen.warn(Notice::warning(note.clone()));
    }
    let method = match residents.known {
        Known::All => Some(FingerprintMethod::All),
        Known::Holders => Some(FingerprintMethod::WithExclusiveResources),
        Known::Nothing => None,
    };
    let reading = arguments.reading.of_node(&node);
    let asked = Asked::from_files(&arguments.files, reading, node.node.pod_rules(), &screen)?;
    let mut outcome =
        if asked.wholeness == Wholeness::Whole { Outcome::Done } else { Outcome::SomethingWrong };
    if let Some(warning) = claims_notice(&asked.pods) {
        screen.warn(warning);
        outcome = Outcome::SomeRefused;
    }
    // What pods hold that are gone is available.
    let mut ledger = residents.ledger.collect();
    for pod in &asked.pods {
        let (after, admitted) = admit(&node, &ledger, pod, screen)?;
        ledger = after;
        if !admitted {
            outcome = Outcome::SomeRefused;
        }
    }
    let fingerprint = method.and_then(|method| fingerprint(&ledger, method, screen));
    let facts = NodeFacts { node: &node.node, view: node.view(), config: node.config(), ledger: &ledger };
    let name = arguments.node_name.clone().unwrap_or_else(|| host_name(arguments, &machine));
    check_node_name(&name)
        .map_err(|wrong| anyhow!("no node can be called {name:?}: {wrong}; --node-name gives another"))?;
    let object = NodeResourceTopology::new(&name, facts, fingerprint.as_ref());
    screen.print(&match arguments.output {
        ObjectFormat::Yaml => serde_saphyr::to_string(&object)?,
        ObjectFormat::Json => serde_json::to_string_pretty(&object)? + "\n",
    })?;
    Ok(outcome)
}

/// What no manager books by NUMA node, as warnings: a scheduler that reads the object may take it for what is free.
fn unbooked(node: &LoadedNode) -> Vec<Notice> {
    let managers = [
        ("CPU", "none", "cpu", node.node.cpus().is_none()),
        ("memory", "None", "memory and huge pages", node.node.memory().is_none()),
    ];
    let off = managers.into_iter().filter(|(.., is_off)| *is_off);
    off.map(|(manager, policy, resources, _)| {
        Notice::warning(format!(
            "the {manager} manager's policy is {policy}, so the kubelet books no {resources} by NUMA node: each \
             zone shows all that its node has, without reservations, as available"
        ))
    })
    .collect()
}

/// The ledger with the pod, or without it if it is refused.
fn admit(node: &LoadedNode, ledger: &Ledger, pod: &Pod, screen: Screen) -> anyhow::Result<(Ledger, bool)> {
    let attempt = node.node.admission(ledger, pod).attempt();
    let admitted = match &attempt.verdict {
        Verdict::Admitted(_) => {
            if let Some(warning) = unchecked_notice(&node.node, ledger.inventory(), pod, ADVICE) {
                screen.warn(warning);
            }
            true
        }
        Verdict::Refused(refused) => {
            let Pod { namespace, name, .. } = pod;
            screen.warn(Notice::warning(format!(
                "pod {namespace}/{name} is refused and left out: {}: {}",
                refused.reason, refused.message
            )));
            false
        }
        Verdict::NeedsPlugin(question) => {
            bail!("the device plugin of {} would have to be asked, and there is none", question.resource())
        }
    };
    Ok((ledger.commit(attempt)?, admitted))
}

/// `None` where pods are known by UID alone.
fn fingerprint(ledger: &Ledger, method: FingerprintMethod, screen: Screen) -> Option<Fingerprint> {
    match Fingerprint::of_pods(method, ledger.pods()) {
        Ok(fingerprint) => Some(fingerprint),
        Err(UnnamedPods(unnamed)) => {
            screen.warn(Notice::warning(format!(
                "{unnamed} pods are known by UID alone, so there is no fingerprint; --pods says what they are called"
            )));
            None
        }
    }
}

fn host_name(arguments: &NrtArguments, machine: &LoadedMachine) -> String {
    let own = (arguments.machine.machine == LIVE).then(crate::arguments::host_name).flatten();
    own.unwrap_or_else(|| machine.name.clone())
}
