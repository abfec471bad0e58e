//! The rules of a kubelet that are worth comparing: policies with their scopes, and options.

use alloc::borrow::ToOwned;

use node_config::{KubeletConfiguration, Scope, TopologyPolicyName};
use topology_admission::Node;

/// Policies of the Topology Manager with the scopes that differ under them.
pub const POLICIES_AND_SCOPES: [(TopologyPolicyName, Scope); 7] = [
    (TopologyPolicyName::None, Scope::Container),
    (TopologyPolicyName::BestEffort, Scope::Container),
    (TopologyPolicyName::BestEffort, Scope::Pod),
    (TopologyPolicyName::Restricted, Scope::Container),
    (TopologyPolicyName::Restricted, Scope::Pod),
    (TopologyPolicyName::SingleNumaNode, Scope::Container),
    (TopologyPolicyName::SingleNumaNode, Scope::Pod),
];

/// An option of the CPU manager or the Topology Manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyOption {
    name: &'static str,
    manager: Manager,
    /// The feature gate without which it cannot be set.
    gate: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manager {
    Cpu,
    Topology,
}

const ALPHA: Option<&str> = Some("CPUManagerPolicyAlphaOptions");

const OPTIONS: [PolicyOption; 7] = [
    PolicyOption { name: "full-pcpus-only", manager: Manager::Cpu, gate: None },
    PolicyOption { name: "strict-cpu-reservation", manager: Manager::Cpu, gate: None },
    PolicyOption { name: "distribute-cpus-across-numa", manager: Manager::Cpu, gate: None },
    PolicyOption { name: "distribute-cpus-across-cores", manager: Manager::Cpu, gate: ALPHA },
    PolicyOption { name: "align-by-socket", manager: Manager::Cpu, gate: ALPHA },
    PolicyOption { name: "prefer-align-cpus-by-uncorecache", manager: Manager::Cpu, gate: None },
    PolicyOption { name: "prefer-closest-numa-nodes", manager: Manager::Topology, gate: None },
];

impl PolicyOption {
    /// The options that `config` does not set and that a manager of `node` has, which was started with it.
    pub fn unset(config: &KubeletConfiguration, node: &Node) -> impl Iterator<Item = &'static Self> {
        let has_cpus = node.cpus().is_some();
        OPTIONS
            .iter()
            .filter(move |option| !option.is_set(config) && (option.manager == Manager::Topology || has_cpus))
    }

    /// As a kubelet's configuration names it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn is_set(&self, config: &KubeletConfiguration) -> bool {
        match self.manager {
            Manager::Cpu => config.cpu_manager_policy_options.contains_key(self.name),
            Manager::Topology => config.topology_manager_policy_options.contains_key(self.name),
        }
    }

    /// Turns it on, with its feature gate.
    pub fn set(&self, config: &mut KubeletConfiguration) {
        let options = match self.manager {
            Manager::Cpu => &mut config.cpu_manager_policy_options,
            Manager::Topology => &mut config.topology_manager_policy_options,
        };
        options.insert(self.name.to_owned(), "true".to_owned());
        if let Some(gate) = self.gate {
            config.feature_gates.insert(gate.to_owned(), true);
        }
    }
}
