//! What happens in place of a kubelet's answer on this node, or with it, and which change of its configuration avoids it: each is
//! tried.

use std::collections::BTreeMap;

use device_manager::Replies;
use kubelet_fates::{Fate, Kubelet};
use kubelet_release::Fault;
use pod_spec::Pod;
use topology_admission::{Ledger, Placement, Verdict};

use crate::node::LoadedNode;
use crate::other_rules::OtherRules;
use crate::ways_out::WayOut;

/// What happens, and the changes that avoid it, each with its result.
#[derive(Clone, PartialEq, Debug)]
pub struct FateOfPod {
    /// What happens.
    pub fate: Fate,
    /// The changes that were tried and avoid it.
    pub avoided_by: Vec<String>,
}

impl LoadedNode {
    /// What happens in place of the kubelet's answer on `pod`, or with it; `None`: it is answered as
    /// [`Node::admission`](topology_admission::Node::admission) says, or topolet decides here.
    #[must_use]
    pub fn fate(&self, before: &Ledger, pod: &Pod, replies: &Replies) -> Option<FateOfPod> {
        let fate = Kubelet::of(&self.node)?.fate(before, pod, replies)?;
        let fault = fate.fault();
        let ways = self.ways_out.of(fault, || self.find_ways_out(fault));
        let tried = ways.iter().filter_map(|way| {
            let ledger = self.restarted_as(&way.node, before).ok()?;
            if Kubelet::of(&way.node.node)?.fate(&ledger, pod, replies).is_some() {
                return None;
            }
            match way.node.node.admission(&ledger, pod).with(replies).attempt().verdict {
                Verdict::Admitted(placement) => Some(format!("{}: {}", way.change, given(&placement))),
                Verdict::Refused(_) | Verdict::NeedsPlugin(_) => None,
            }
        });
        let avoided_by = tried.collect();
        Some(FateOfPod { fate, avoided_by })
    }

    fn find_ways_out(&self, fault: Fault) -> Vec<WayOut<Self>> {
        let config = self.config();
        let without = |option: &str, options: &BTreeMap<String, String>| {
            let is_on = |name: &&String| {
                options.get(*name).and_then(|value| node_config::parse_bool(value)).unwrap_or(false)
            };
            let others = options.keys().filter(|name| *name != option).filter(is_on);
            options.contains_key(option).then(|| others.cloned().collect::<Vec<_>>())
        };
        let cpu_option = |option: &'static str| {
            let cpu_options = Some(without(option, &config.cpu_manager_policy_options)?);
            Some((format!("without {option}"), OtherRules { cpu_options, ..OtherRules::default() }))
        };
        let topology_option = |option: &'static str| {
            let topology_options = Some(without(option, &config.topology_manager_policy_options)?);
            Some((format!("without {option}"), OtherRules { topology_options, ..OtherRules::default() }))
        };
        let policy = |name: &str| {
            let rules = OtherRules { policy: Some(name.to_owned()), ..OtherRules::default() };
            (config.topology_policy() != name).then(|| (format!("topologyManagerPolicy {name}"), rules))
        };
        let no_memory_policy = || {
            let rules = OtherRules { memory_policy: Some("None".to_owned()), ..OtherRules::default() };
            (config.memory_policy() != "None").then(|| ("memoryManagerPolicy None".to_owned(), rules))
        };
        let changes = match fault {
            Fault::DistributeHang => {
                vec![cpu_option("distribute-cpus-across-numa"), cpu_option("full-pcpus-only")]
            }
            Fault::FullNode => vec![cpu_option("strict-cpu-reservation")],
            Fault::DistanceIndex => vec![topology_option("prefer-closest-numa-nodes")],
            Fault::MissingPageSize | Fault::UnevenGroup => vec![no_memory_policy()],
            Fault::MergeProduct => vec![policy("single-numa-node"), no_memory_policy(), policy("none")],
            Fault::NodeIds => vec![policy("none"), no_memory_policy()],
            Fault::BusySibling => {
                let cpus = self.whole_cores_reserved();
                let rules = OtherRules { reserved_cpus: cpus.clone(), ..OtherRules::default() };
                vec![cpus.map(|cpus| (format!("reservedSystemCPUs {cpus}"), rules))]
            }
            _ => Vec::new(),
        };
        let started = changes.into_iter().flatten().filter_map(|(change, rules)| {
            let node = self.by(&rules).ok()?;
            Some(WayOut { change, node })
        });
        started.collect()
    }

    /// The reserved CPUs with the whole core of each; `None`: they are whole cores.
    fn whole_cores_reserved(&self) -> Option<String> {
        let reserved = self.node.cpus()?.reserved();
        let mut whole = reserved.clone();
        for (_, core) in self.cpus.cores().filter(|(_, core)| !(*core & reserved).is_empty()) {
            whole |= core;
        }
        (whole != *reserved).then(|| whole.to_string())
    }
}

/// What its containers are given, in a few words.
fn given(placement: &Placement) -> String {
    let own = placement.containers.iter().filter_map(|placed| placed.cpus.as_ref()?.exclusive());
    let cpus: Vec<String> = own.map(ToString::to_string).collect();
    if cpus.is_empty() { "admitted".to_owned() } else { format!("admitted with CPUs {}", cpus.join(" and ")) }
}
