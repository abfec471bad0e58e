//! Nodes for trials of pods: this node, built-in machines and uploaded node files, with their own configuration or with other
//! policies.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::http::StatusCode;
use kubelet_release::Release;
use node_config::{CpuOption, PREFER_CLOSEST, Scope, Strategy, TopologyPolicyName};
use node_input::{
    DeviceText, Known, LoadedMachine, LoadedNode, MachineSource, OtherRules, Requests, ResidentsSource,
    RulesSource,
};
use node_view::NodeView;
use parking_lot::Mutex;
use serde::Serialize;
use topology_admission::Ledger;

use super::failure::Failure;
use super::page_questions::{AskedMachine, PageQuestions};
use super::query::{Parameter, Query};
use super::simulation_runs::SimulationRuns;
use super::trial_examples::{Example, examples};

/// At most this many prepared nodes are cached: two that are compared, each with a few policies.
const READY: usize = 6;
/// At most this many uploaded node files are kept.
const FILES: usize = 4;
/// The prefix in the name of an uploaded machine.
const SENT: &str = "file:";

/// The parameters that choose a node and its policies.
pub(super) const PARAMETERS: [Parameter; 8] =
    [MACHINE, POLICY, SCOPE, CPU_OPTIONS, TOPOLOGY_OPTIONS, PLACEMENT, KUBELET, CONFIGURATION];
/// Empty: this node.
pub(super) const MACHINE: Parameter = Parameter::undescribed("machine");
const POLICY: Parameter = Parameter::undescribed("policy");
const SCOPE: Parameter = Parameter::undescribed("scope");
const CPU_OPTIONS: Parameter = Parameter::undescribed("cpuOptions");
const TOPOLOGY_OPTIONS: Parameter = Parameter::undescribed("topologyOptions");
const PLACEMENT: Parameter = Parameter::undescribed("placement");

/// The kubelet whose rules apply; empty: the one of the machine.
pub(super) const KUBELET: Parameter = Parameter::undescribed("kubelet");
/// How many bytes at the start of the body are a configuration, in the place of the machine's own; manifests follow them.
pub(super) const CONFIGURATION: Parameter = Parameter::undescribed("configuration");

/// The configuration at the start of a body, if there is one, and what follows it.
pub(super) fn parts(query: &Query, mut body: Vec<u8>) -> Result<(Option<String>, Vec<u8>), Failure> {
    let Some(bytes) = query.get(CONFIGURATION) else { return Ok((None, body)) };
    let bytes = bytes.parse().ok().filter(|bytes| *bytes <= body.len());
    let bytes = bytes.ok_or_else(|| Failure::wrong("configuration is a number of bytes of the body"))?;
    let rest = body.split_off(bytes);
    let text = String::from_utf8(body).map_err(|_| Failure::wrong("the configuration is not UTF-8"))?;
    Ok((Some(text), rest))
}

/// Cache of prepared nodes, and the uploaded ones.
#[derive(Default)]
pub(super) struct TrialNodes {
    ready: Mutex<VecDeque<(Wanted, Arc<Prepared>)>>,
    sent: Mutex<VecDeque<(String, Arc<TrialNode>)>>,
    /// How many node files were uploaded so far.
    files: Mutex<u64>,
}

/// The node and policies of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// `None`: this node.
    machine: Option<String>,
    rules: OtherRules,
}

/// A cache entry. Of this node only the configuration is cached, since its pods change.
enum Prepared {
    Rules(Box<LoadedNode>),
    Whole(Box<TrialNode>),
}

/// A node on which pods are tried.
#[derive(Clone)]
pub(super) struct TrialNode {
    pub(super) node: LoadedNode,
    pub(super) ledger: Ledger,
    /// Which requests of the pods on it are known.
    pub(super) requests: Requests,
    /// Remarks for the answer, such as parts of the node file that are ignored.
    pub(super) notes: Vec<String>,
    /// The machine of a node file.
    machine: Option<Arc<LoadedMachine>>,
}

impl Wanted {
    /// From a query.
    pub(super) fn of(query: &Query) -> Self {
        let text = |name| query.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let list = |name| {
            let list = query.get(name)?.split(',').filter(|word| !word.is_empty());
            Some(list.map(str::to_owned).collect())
        };
        Self {
            machine: text(MACHINE),
            rules: OtherRules {
                policy: text(POLICY),
                scope: text(SCOPE),
                cpu_options: list(CPU_OPTIONS),
                topology_options: list(TOPOLOGY_OPTIONS),
                placement: text(PLACEMENT),
                kubelet: text(KUBELET),
                ..OtherRules::default()
            },
        }
    }
}

impl Wanted {
    /// The same with a configuration.
    pub(super) fn configured(mut self, configuration: Option<String>) -> Self {
        self.rules.configuration = configuration;
        self
    }
}

impl TrialNodes {
    /// The machine of a question.
    pub(super) fn machine(&self, name: Option<&str>) -> Result<AskedMachine, Failure> {
        let Some(name) = name else { return Ok(AskedMachine::This) };
        if !name.starts_with(SENT) {
            must_be_built_in(name)?;
            return Ok(AskedMachine::BuiltIn(name.to_owned()));
        }
        let machine = self.sent(name)?.machine.clone();
        machine.map(AskedMachine::Sent).ok_or_else(|| Failure::ours("a node file without its machine"))
    }

    /// The node of a request, with its pods as they are now.
    pub(super) fn find(&self, view: &NodeView, wanted: &Wanted) -> Result<TrialNode, Failure> {
        if wanted.machine.is_none() && wanted.rules.is_none() {
            return Ok(this(view));
        }
        let known = {
            let ready = self.ready.lock();
            ready.iter().find(|(known, _)| known == wanted).map(|(_, made)| made.clone())
        };
        let made = if let Some(made) = known {
            made
        } else {
            let files = *self.files.lock();
            self.keep(wanted, self.make(view, wanted)?, files)
        };
        match &*made {
            Prepared::Whole(trial_node) => Ok(TrialNode::clone(trial_node)),
            Prepared::Rules(other) => {
                let this = this(view);
                Ok(TrialNode { ledger: restarted(&this, other)?, node: LoadedNode::clone(other), ..this })
            }
        }
    }

    fn make(&self, view: &NodeView, wanted: &Wanted) -> Result<Prepared, Failure> {
        let Some(machine) = &wanted.machine else {
            return by(view.node(), &wanted.rules).map(|node| Prepared::Rules(Box::new(node)));
        };
        let trial_node = match machine.strip_prefix(SENT) {
            Some(_) => self.sent(machine)?,
            None => Arc::new(built_in(machine)?),
        };
        let other = by(&trial_node.node, &wanted.rules)?;
        let ledger = restarted(&trial_node, &other)?;
        Ok(Prepared::Whole(Box::new(TrialNode { node: other, ledger, ..TrialNode::clone(&trial_node) })))
    }

    /// Caches a node that was prepared after `files` uploads, unless another file was uploaded since, which may replace its file.
    fn keep(&self, wanted: &Wanted, made: Prepared, files: u64) -> Arc<Prepared> {
        let made = Arc::new(made);
        let mut ready = self.ready.lock();
        if *self.files.lock() != files {
            return made;
        }
        if ready.len() == READY {
            ready.pop_front();
        }
        ready.push_back((wanted.clone(), made.clone()));
        made
    }

    fn sent(&self, name: &str) -> Result<Arc<TrialNode>, Failure> {
        let sent = self.sent.lock();
        let found = sent.iter().find(|(known, _)| known == name).map(|(_, trial_node)| trial_node.clone());
        let gone = format!("the node file {} is not here any more: drop it again", &name[SENT.len()..]);
        found.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, gone))
    }

    /// Keeps an uploaded node file, and returns the name of its machine.
    pub(super) fn take(&self, name: &str, archive: &[u8]) -> Result<String, Failure> {
        let trial_node = in_file(name, archive).map_err(|error| Failure::wrong(format!("{error:#}")))?;
        let name = format!("{SENT}{name}");
        let mut ready = self.ready.lock();
        ready.retain(|(wanted, _)| wanted.machine.as_deref() != Some(&*name));
        let mut sent = self.sent.lock();
        sent.retain(|(known, _)| *known != name);
        if sent.len() == FILES {
            sent.pop_front();
        }
        sent.push_back((name.clone(), Arc::new(trial_node)));
        *self.files.lock() += 1;
        Ok(name)
    }
}

/// This node.
fn this(view: &NodeView) -> TrialNode {
    TrialNode {
        node: view.node().clone(),
        ledger: view.snapshot().ledger.clone(),
        requests: view.requests(),
        notes: Vec::new(),
        machine: None,
    }
}

fn by(node: &LoadedNode, rules: &OtherRules) -> Result<LoadedNode, Failure> {
    node.by(rules).map_err(|error| Failure::given(&error))
}

fn restarted(trial_node: &TrialNode, other: &LoadedNode) -> Result<Ledger, Failure> {
    let ledger = trial_node.node.restarted_as(other, &trial_node.ledger);
    ledger.map_err(|error| Failure::new(StatusCode::CONFLICT, format!("{error:#}")))
}

/// Any other word would be a path of this host.
fn must_be_built_in(name: &str) -> Result<(), Failure> {
    if machine_fixtures::names().any(|known| known == name) {
        return Ok(());
    }
    Err(Failure::new(StatusCode::NOT_FOUND, format!("no built-in machine is called {name}")))
}

/// A built-in machine without pods.
fn built_in(name: &str) -> Result<TrialNode, Failure> {
    must_be_built_in(name)?;
    let make = || -> anyhow::Result<TrialNode> {
        let source = MachineSource::named(name);
        let (rules, residents) = (RulesSource::default(), ResidentsSource::default());
        let machine = LoadedMachine::load(&source)?;
        let node = LoadedNode::on(&machine, &rules, DeviceText::on(&rules, &source, &residents)?)?;
        let ledger = node.empty_ledger();
        let (requests, notes) = (Requests::OfEveryPod, Vec::new());
        Ok(TrialNode { node, ledger, requests, notes, machine: None })
    };
    make().map_err(|error| Failure::ours(&format!("{error:#}")))
}

/// The node of a node file, with what runs on it.
fn in_file(name: &str, archive: &[u8]) -> anyhow::Result<TrialNode> {
    let machine = LoadedMachine::in_archive(name, archive)?;
    let residents = ResidentsSource::default();
    let rules = RulesSource::default().of_node(
        &node_input::IdentitySource::default(),
        &residents,
        machine.packed.as_deref(),
    )?;
    let node = LoadedNode::without_devices(&machine, &rules)?;
    let residents = node.residents(&residents)?;
    let notes = residents.not_looked_at().into_iter().chain(residents.line.clone()).collect();
    let requests = match residents.known {
        Known::All => Requests::OfEveryPod,
        Known::Holders | Known::Nothing => Requests::WhatIsHeld,
    };
    Ok(TrialNode { node, ledger: residents.ledger, requests, notes, machine: Some(Arc::new(machine)) })
}

/// The choices of the page, and the configuration of the chosen machine.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Choices {
    machines: Vec<&'static str>,
    policies: [&'static str; 4],
    scopes: [&'static str; 2],
    cpu_options: [&'static str; 6],
    topology_options: [&'static str; 1],
    placements: [&'static str; 5],
    /// The policies and options of the machine that the request names.
    configured: Configured,
    /// Whether node files can be sent.
    node_files: bool,
    /// Whether scenarios can be run, and which are built in.
    scenarios: Option<Vec<&'static str>>,
    /// The kubelets whose rules can be chosen.
    kubelets: Vec<String>,
    /// Manifests to begin with.
    examples: Vec<Example>,
    /// The arguments of the command line that name this node; `None`: a daemon serves it.
    arguments: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configured {
    policy: &'static str,
    scope: &'static str,
    cpu_options: Vec<String>,
    topology_options: Vec<String>,
    placement: &'static str,
}

impl Choices {
    /// For a node; with `runs` scenarios can be run and node files be uploaded; with `questions` they are answered.
    pub(super) fn new(
        trial_node: &TrialNode,
        runs: Option<&SimulationRuns>,
        questions: Option<&dyn PageQuestions>,
    ) -> Self {
        use TopologyPolicyName as P;

        let config = trial_node.node.config();
        let on = |options: &std::collections::BTreeMap<String, String>| {
            options.iter().filter(|(_, value)| *value == "true").map(|(name, _)| name.clone()).collect()
        };
        Self {
            machines: machine_fixtures::names().collect(),
            policies: [P::None, P::BestEffort, P::Restricted, P::SingleNumaNode].map(P::name),
            scopes: [Scope::Container, Scope::Pod].map(Scope::name),
            cpu_options: CpuOption::ALL.map(CpuOption::name),
            topology_options: [PREFER_CLOSEST],
            placements: Strategy::ALL.map(Strategy::name),
            configured: Configured {
                policy: trial_node.node.line.topology_policy,
                scope: trial_node.node.line.topology_scope,
                cpu_options: on(&config.cpu_manager_policy_options),
                topology_options: on(&config.topology_manager_policy_options),
                placement: trial_node.node.options().placement.strategy.name(),
            },
            node_files: runs.is_some(),
            scenarios: runs.map(SimulationRuns::scenarios),
            kubelets: Release::ALL.iter().map(|release| format!("v{}", release.newest())).collect(),
            examples: examples(&trial_node.node.node, &trial_node.ledger),
            arguments: questions.map(|questions| questions.arguments().to_owned()),
        }
    }
}
