//! A node on one screen, by what its kubelet's files say.

use node_output::{JudgedBy, NodeStatus, NumaNodes, Usage};
use node_state::Problem;

use crate::asked::Listener;
use crate::claims_beside::{ClaimsBeside, Pairs};
use crate::devices::DeviceText;
use crate::machine::LoadedMachine;
use crate::missing_memory::MissingMemory;
use crate::node::LoadedNode;
use crate::node_sources::NodeSources;
use crate::residents::{Known, Residents};
use crate::source::Resident;
use crate::sources::RulesSource;

impl NodeSources {
    /// The node on one screen, as the files of its kubelet say it, with what excludes each other there by slices and device classes.
    /// `listener` hears of what is in doubt.
    ///
    /// # Errors
    /// Something cannot be read, or a kubelet does not start with the configuration.
    pub fn status(&self, claims: &ClaimsBeside, listener: &impl Listener) -> anyhow::Result<NodeStatus> {
        let machine = LoadedMachine::load_node(&self.machine)?;
        let packed = machine.packed.as_deref();
        let rules = self.rules.clone().of_node(&self.identity, &self.residents, packed)?;
        let devices = DeviceText::on(&rules, &self.machine, &self.residents)?;
        let mut status = match self.residents.of_node(packed)? {
            Some(resident) => self.status_by_files(&machine, &resident, &rules, devices.clone(), listener)?,
            None => self.status_without_files(&machine, &rules, devices.clone(), listener)?,
        };
        // Without the kubelet's configuration its CPU manager is not known.
        let node = if machine.has_configuration(&rules) {
            LoadedNode::on(&machine, &rules, devices).map_err(|error| format!("{error:#}"))
        } else {
            Err("the configuration of the kubelet is not known".to_owned())
        };
        match node {
            Ok(node) => {
                let resources = node.plugin_resources();
                let resources = resources.iter().map(String::as_str);
                let Pairs { found, gaps } = claims.pairs(packed, node.cpu_manager(), resources);
                let found = found.iter().map(|pair| format!("{pair}; avoided by {}", pair.remedy()));
                status.conflicts.extend(found);
                status.notes.extend(gaps);
            }
            Err(why) => status.notes.extend(claims.not_looked_at(packed, &why)),
        }
        Ok(status)
    }

    fn status_by_files(
        &self,
        machine: &LoadedMachine,
        resident: &Resident,
        rules: &RulesSource,
        devices: Option<DeviceText>,
        listener: &impl Listener,
    ) -> anyhow::Result<NodeStatus> {
        let Self { machine: source, residents: given, .. } = self;
        let judged = machine.judge(source, resident, rules, devices.clone())?;
        for warning in judged.warnings() {
            listener.warn(warning);
        }
        let mut status = NodeStatus::new(judged.by.clone());
        let findings = judged.findings(resident, &resident.quarantine()?);
        let missing = machine.missing_memory(&source.machine).filter(|_| judged.by.has_machine());
        let at_another_boot = judged.node.at_another_boot(&resident.folder);
        let wrong = findings.into_iter().filter(|finding| finding.problem != Problem::Odd);
        status.problems = wrong.map(|finding| format!("{}: {}", finding.file, finding.what)).collect();
        let restart = judged.next_restart(resident);
        status.problems.extend(restart.sentences());
        status.restart = Some(restart);
        // What runs is counted by the product, which goes on where a kubelet would not.
        let node =
            if judged.by.is_configured() { LoadedNode::on(machine, rules, devices)? } else { judged.node };
        match Residents::new(&node, given, resident) {
            Ok(residents) => {
                // What pods hold that are gone is free for those that come.
                let usage = Usage::new(&node.node, &node.cpus, &residents.ledger.collect());
                let nodes = if status.node.has_machine() { NumaNodes::Known } else { NumaNodes::NotKnown };
                let is_configured = status.node.is_configured();
                status.usage = Some(if is_configured { usage } else { usage.of_holdings(nodes) });
                status.notes = residents.notes;
                status.source = Some(resident.from.clone());
                status.names_from.clone_from(&resident.names_from);
                status.listed_by = given.pods.is_some().then_some("--pods");
            }
            // `problems` already lists what is wrong with the files.
            Err(_) if !status.problems.is_empty() => {
                status.notes =
                    vec!["what is free is not known: a kubelet does not start from these files".to_owned()];
            }
            Err(error) => status.problems.push(format!("{error:#}")),
        }
        add_missing_memory(&mut status, missing, &node);
        status.notes.extend(at_another_boot.filter(|_| status.problems.is_empty()).map(str::to_owned));
        Ok(status)
    }

    /// A node of which no state is known.
    fn status_without_files(
        &self,
        machine: &LoadedMachine,
        rules: &RulesSource,
        devices: Option<DeviceText>,
        listener: &impl Listener,
    ) -> anyhow::Result<NodeStatus> {
        let node = LoadedNode::on(machine, rules, devices)?;
        let missing = machine.missing_memory(&self.machine.machine);
        if !machine.has_configuration(rules) {
            let mut status = NodeStatus::new(JudgedBy::files_and_machine(&node.line));
            status.notes = node.resident_gaps();
            status.notes.extend(machine.config_gaps().into_iter().map(|gap| gap.text));
            status.notes.push(
            "what is free is not known: neither a configuration of the kubelet (--config) nor state of it (--state) was given \
             or found"
                .to_owned(),
        );
            status.notes.extend(missing.map(|missing| missing.to_string()));
            return Ok(status);
        }
        for warning in &node.warnings {
            listener.warn(warning);
        }
        let residents = node.residents(&self.residents)?;
        let mut status = NodeStatus::new(node.line.clone().into());
        // What is free is not known where what runs is not.
        let is_known = residents.known != Known::Nothing;
        status.usage = is_known.then(|| Usage::new(&node.node, &node.cpus, &residents.ledger.collect()));
        status.notes = residents.notes;
        if let Some(why) = &node.kubelet_stops {
            status.problems.push(format!("the kubelet does not start: {why}"));
        }
        add_missing_memory(&mut status, missing, &node);
        Ok(status)
    }
}

/// Adds memory that the NUMA nodes of the machine do not have: a problem where policy Static depends on it.
fn add_missing_memory(status: &mut NodeStatus, missing: Option<MissingMemory>, node: &LoadedNode) {
    match missing {
        Some(missing) if node.compares_node_totals() => status.problems.push(missing.with_static()),
        Some(missing) => status.notes.push(missing.to_string()),
        None => {}
    }
}
