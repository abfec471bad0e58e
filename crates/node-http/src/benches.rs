//! Nodes on which pods are tried: this one, built-in machines and node files that were sent, by their rules or by others.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::http::StatusCode;
use node_config::{CpuOption, PREFER_CLOSEST, Scope, Strategy, TopologyPolicyName};
use node_input::{
    DeviceText, Known, LoadedMachine, LoadedNode, MachineSource, OtherRules, Requests, ResidentsSource,
    RulesSource,
};
use node_view::NodeView;
use parking_lot::Mutex;
use serde::Serialize;
use topology_admission::Ledger;

use super::desk::Desk;
use super::failure::Failure;
use super::query::{Parameter, Query};

/// So many nodes beside this one are kept ready: two that are compared, each by some rules.
const READY: usize = 6;
/// So many node files are kept.
const FILES: usize = 4;
/// What the name of a machine begins with that was sent.
const SENT: &str = "file:";

/// Which node is meant, and by which rules.
pub(super) const PARAMETERS: [Parameter; 6] =
    [MACHINE, POLICY, SCOPE, CPU_OPTIONS, TOPOLOGY_OPTIONS, PLACEMENT];
/// Empty: this node.
pub(super) const MACHINE: Parameter = Parameter::undescribed("machine");
const POLICY: Parameter = Parameter::undescribed("policy");
const SCOPE: Parameter = Parameter::undescribed("scope");
const CPU_OPTIONS: Parameter = Parameter::undescribed("cpuOptions");
const TOPOLOGY_OPTIONS: Parameter = Parameter::undescribed("topologyOptions");
const PLACEMENT: Parameter = Parameter::undescribed("placement");

/// Nodes that have been made ready.
#[derive(Default)]
pub(super) struct Benches {
    ready: Mutex<VecDeque<(Wanted, Arc<Made>)>>,
    sent: Mutex<VecDeque<(String, Arc<Bench>)>>,
    /// How many node files have come so far.
    files: Mutex<u64>,
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// `None`: this node.
    machine: Option<String>,
    rules: OtherRules,
}

/// What is kept of it. Of this node only its rules are: what runs there changes.
enum Made {
    Rules(Box<LoadedNode>),
    Whole(Box<Bench>),
}

/// A node that decides.
#[derive(Clone)]
pub(super) struct Bench {
    pub(super) node: LoadedNode,
    pub(super) ledger: Ledger,
    /// Which requests of the pods on it are known.
    pub(super) requests: Requests,
    /// What has to be known beside what is decided.
    pub(super) notes: Vec<String>,
}

impl Wanted {
    /// As a query says.
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
                ..OtherRules::default()
            },
        }
    }
}

impl Benches {
    /// The node that is wanted, as it is now.
    pub(super) fn find(&self, view: &NodeView, wanted: &Wanted) -> Result<Bench, Failure> {
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
            Made::Whole(bench) => Ok(Bench::clone(bench)),
            Made::Rules(other) => {
                let this = this(view);
                Ok(Bench { ledger: restarted(&this, other)?, node: LoadedNode::clone(other), ..this })
            }
        }
    }

    fn make(&self, view: &NodeView, wanted: &Wanted) -> Result<Made, Failure> {
        let Some(machine) = &wanted.machine else {
            return by(view.node(), &wanted.rules).map(|node| Made::Rules(Box::new(node)));
        };
        let bench = match machine.strip_prefix(SENT) {
            Some(_) => self.sent(machine)?,
            None => Arc::new(built_in(machine)?),
        };
        let other = by(&bench.node, &wanted.rules)?;
        let ledger = restarted(&bench, &other)?;
        Ok(Made::Whole(Box::new(Bench { node: other, ledger, ..Bench::clone(&bench) })))
    }

    /// Keeps what was made after `files` node files had come: if another has come since, it may be of one that is replaced.
    fn keep(&self, wanted: &Wanted, made: Made, files: u64) -> Arc<Made> {
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

    fn sent(&self, name: &str) -> Result<Arc<Bench>, Failure> {
        let sent = self.sent.lock();
        let found = sent.iter().find(|(known, _)| known == name).map(|(_, bench)| bench.clone());
        let gone = format!("the node file {} is not here any more: drop it again", &name[SENT.len()..]);
        found.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, gone))
    }

    /// Keeps a node file; what the machine in it is called from now on.
    pub(super) fn take(&self, name: &str, archive: &[u8]) -> Result<String, Failure> {
        let bench = in_file(name, archive).map_err(|error| Failure::wrong(format!("{error:#}")))?;
        let name = format!("{SENT}{name}");
        let mut ready = self.ready.lock();
        ready.retain(|(wanted, _)| wanted.machine.as_deref() != Some(&*name));
        let mut sent = self.sent.lock();
        sent.retain(|(known, _)| *known != name);
        if sent.len() == FILES {
            sent.pop_front();
        }
        sent.push_back((name.clone(), Arc::new(bench)));
        *self.files.lock() += 1;
        Ok(name)
    }
}

/// This node.
fn this(view: &NodeView) -> Bench {
    Bench {
        node: view.node().clone(),
        ledger: view.snapshot().ledger.clone(),
        requests: view.requests(),
        notes: Vec::new(),
    }
}

fn by(node: &LoadedNode, rules: &OtherRules) -> Result<LoadedNode, Failure> {
    node.by(rules).map_err(|error| Failure::wrong(format!("{error:#}")))
}

fn restarted(bench: &Bench, other: &LoadedNode) -> Result<Ledger, Failure> {
    let ledger = bench.node.restarted_as(other, &bench.ledger);
    ledger.map_err(|error| Failure::new(StatusCode::CONFLICT, format!("{error:#}")))
}

/// An empty machine of those that are built in.
fn built_in(name: &str) -> Result<Bench, Failure> {
    // Any other word would be a path of this host.
    if !machine_fixtures::names().any(|known| known == name) {
        return Err(Failure::new(StatusCode::NOT_FOUND, format!("no built-in machine is called {name}")));
    }
    let make = || -> anyhow::Result<Bench> {
        let source = MachineSource::named(name);
        let (rules, residents) = (RulesSource::default(), ResidentsSource::default());
        let machine = LoadedMachine::load(&source)?;
        let node = LoadedNode::on(&machine, &rules, DeviceText::on(&rules, &source, &residents)?)?;
        let ledger = node.empty_ledger();
        Ok(Bench { node, ledger, requests: Requests::OfEveryPod, notes: Vec::new() })
    };
    make().map_err(|error| Failure::ours(&format!("{error:#}")))
}

/// The node of a node file, with what runs on it.
fn in_file(name: &str, archive: &[u8]) -> anyhow::Result<Bench> {
    let machine = LoadedMachine::in_archive(name, archive)?;
    let residents = ResidentsSource::default();
    let rules = RulesSource::default().of_node(
        &node_input::IdentitySource::default(),
        &residents,
        machine.packed.as_deref(),
    )?;
    let node = LoadedNode::on(&machine, &rules, None)?;
    let residents = node.residents(&residents)?;
    let notes = residents.not_looked_at().into_iter().chain(residents.line.clone()).collect();
    let requests = match residents.known {
        Known::All => Requests::OfEveryPod,
        Known::Holders | Known::Nothing => Requests::WhatIsHeld,
    };
    Ok(Bench { node, ledger: residents.ledger, requests, notes })
}

/// What there is to choose from, and what is chosen where nobody does.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Choices {
    machines: Vec<&'static str>,
    policies: [&'static str; 4],
    scopes: [&'static str; 2],
    cpu_options: [&'static str; 6],
    topology_options: [&'static str; 1],
    placements: [&'static str; 5],
    /// By which rules the machine that is asked about decides.
    configured: Configured,
    /// Whether node files can be sent.
    node_files: bool,
    /// Whether scenarios can be run, and which are built in.
    scenarios: Option<Vec<&'static str>>,
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
    /// For a node; at a desk scenarios can be run, and node files be sent.
    pub(super) fn new(bench: &Bench, desk: Option<&Desk>) -> Self {
        use TopologyPolicyName as P;

        let config = bench.node.config();
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
                policy: bench.node.line.topology_policy,
                scope: bench.node.line.topology_scope,
                cpu_options: on(&config.cpu_manager_policy_options),
                topology_options: on(&config.topology_manager_policy_options),
                placement: bench.node.options().placement.strategy.name(),
            },
            node_files: desk.is_some(),
            scenarios: desk.map(Desk::scenarios),
        }
    }
}
