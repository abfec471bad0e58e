//! A node by other rules: what would be decided if its configuration were another.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, ensure};
use node_config::{KubeletConfiguration, OwnOptions, Strategy};
use node_output::NodeLine;
use topology_admission::{Compat, Ledger, Node, RunningPods, StartOptions};

use crate::configuration;
use crate::kubelet_version::KubeletVersion;
use crate::node::{DecidesBy, Keeping, LoadedNode, hazards};
use crate::start_failure::{refuse_invalid, start_failed};
use crate::ways_out::WaysOut;

/// Options of the static CPU policy that need a feature gate which is off by default.
const ALPHA_OPTIONS: [&str; 2] = ["align-by-socket", "distribute-cpus-across-cores"];
const ALPHA_GATE: &str = "CPUManagerPolicyAlphaOptions";

/// What a configuration is called that is given as a text.
const GIVEN: &str = "the given configuration";

/// Rules in the place of those of a node's configuration. `None`: as it is configured.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct OtherRules {
    /// The whole configuration, as a text in any form that is read; the other rules replace fields of it.
    pub configuration: Option<String>,
    /// The kubelet that reads it and whose rules apply, such as `1.37` or `v1.37.2`.
    pub kubelet: Option<String>,
    /// `topologyManagerPolicy`.
    pub policy: Option<String>,
    /// `topologyManagerScope`.
    pub scope: Option<String>,
    /// `cpuManagerPolicy`. With `none` it has no options.
    pub cpu_policy: Option<String>,
    /// Exactly these of `cpuManagerPolicyOptions` are on. The gate that alpha options need is on with them.
    pub cpu_options: Option<Vec<String>>,
    /// Exactly these of `topologyManagerPolicyOptions` that are true or false are on.
    pub topology_options: Option<Vec<String>>,
    /// `memoryManagerPolicy`. With `None` nothing is reserved on NUMA nodes.
    pub memory_policy: Option<String>,
    /// `reservedSystemCPUs`.
    pub reserved_cpus: Option<String>,
    /// The option `placement.strategy` of this project's own.
    pub placement: Option<String>,
}

impl OtherRules {
    /// Whether nothing is another.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What is other, as it is written behind the name of a configuration.
    fn words(&self) -> String {
        let list = |all: &Vec<String>| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        let words = [
            self.kubelet.as_ref().map(|version| format!("kubelet {version}")),
            self.policy.as_ref().map(|policy| format!("policy {policy}")),
            self.scope.as_ref().map(|scope| format!("scope {scope}")),
            self.cpu_policy.as_ref().map(|policy| format!("CPU policy {policy}")),
            self.cpu_options.as_ref().map(|options| format!("CPU options {}", list(options))),
            self.topology_options.as_ref().map(|options| format!("topology options {}", list(options))),
            self.memory_policy.as_ref().map(|policy| format!("memory policy {policy}")),
            self.reserved_cpus.as_ref().map(|cpus| format!("reserved CPUs {cpus}")),
            self.placement.as_ref().map(|placement| format!("placement {placement}")),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl LoadedNode {
    /// The same machine and devices by other rules.
    ///
    /// # Errors
    /// A kubelet would not start with them.
    pub fn by(&self, other: &OtherRules) -> anyhow::Result<Self> {
        if other.is_none() {
            return Ok(self.clone());
        }
        let (view, decided_by) = (self.view().clone(), self.decided_by());
        let OtherRules {
            configuration,
            kubelet,
            policy,
            scope,
            cpu_policy,
            cpu_options,
            topology_options,
            memory_policy,
            reserved_cpus,
            placement,
        } = other;
        let named = |version: &String| {
            version.parse::<KubeletVersion>().with_context(|| format!("kubelet {version}"))
        };
        let kubelet = kubelet.as_ref().map(named).transpose()?;
        let (name, mut config) = self.read_again(configuration.as_deref(), kubelet)?;
        config.topology_manager_policy = policy.clone().or(config.topology_manager_policy);
        config.topology_manager_scope = scope.clone().or(config.topology_manager_scope);
        if let Some(policy) = cpu_policy {
            config.cpu_manager_policy = Some(policy.clone());
            if policy == "none" {
                config.cpu_manager_policy_options.clear();
            }
        }
        if let Some(options) = cpu_options {
            config.cpu_manager_policy_options.clear();
            let on = options.iter().map(|option| (option.clone(), "true".to_owned()));
            config.cpu_manager_policy_options.extend(on);
            if options.iter().any(|option| ALPHA_OPTIONS.contains(&option.as_str())) {
                config.feature_gates.insert(ALPHA_GATE.to_owned(), true);
            }
        }
        if let Some(options) = topology_options {
            // Numbers stay.
            config.topology_manager_policy_options.retain(|_, value| value.parse::<i64>().is_ok());
            let on = options.iter().map(|option| (option.clone(), "true".to_owned()));
            config.topology_manager_policy_options.extend(on);
        }
        if let Some(policy) = memory_policy {
            config.memory_manager_policy = Some(policy.clone());
            if policy == "None" {
                config.reserved_memory.clear();
            }
        }
        config.reserved_system_cpus = reserved_cpus.clone().or(config.reserved_system_cpus);
        let options = self.options_with(placement.as_deref())?;
        let words = other.words();
        let name = if words.is_empty() { name } else { format!("{name} with {words}") };
        refuse_invalid(&config, &name)?;
        let machine = &self.line.machine;
        let mut node = Node::start_with(
            &view,
            &config,
            StartOptions::decided_as(Compat::from(decided_by)).with_own(options.clone()),
        )
        .map_err(|error| start_failed(&error, &name, machine, &view, &config))?;
        if let Some(identity) = self.node.identity() {
            node = node.with_identity(identity.clone());
        }
        let links = self.rules.links.clone();
        if let Some(links) = links.clone() {
            node = node.with_links(links);
        }
        let line = NodeLine::new(machine, &name, decided_by, &node);
        let hazards = hazards(decided_by, &config, &view);
        let keeping = Keeping::new(&config);
        let rules = Arc::new(DecidesBy { view, config, options, decided_by, links });
        Ok(Self {
            node: Arc::new(node),
            line,
            hazards,
            keeping,
            rules,
            ways_out: WaysOut::default(),
            ..self.clone()
        })
    }

    /// A configuration in the place of the node's own, or that as another kubelet decides by it, and what it is called.
    fn read_again(
        &self,
        text: Option<&str>,
        kubelet: Option<KubeletVersion>,
    ) -> anyhow::Result<(String, KubeletConfiguration)> {
        let own = self.config();
        let rules = kubelet.map_or(own.rules, KubeletVersion::rules);
        let Some(text) = text else {
            let name = self.line.configuration.clone();
            return Ok((name, KubeletConfiguration { rules, ..own.clone() }));
        };
        let cpus = self.view().cpus().num_cpus();
        let read = configuration::from_text(GIVEN, text.as_bytes(), cpus, rules.into())?.accepted()?;
        Ok((read.shown_name(), read.config))
    }

    fn options_with(&self, placement: Option<&str>) -> anyhow::Result<OwnOptions> {
        let mut options = self.options();
        if let Some(name) = placement {
            let strategy = Strategy::ALL.into_iter().find(|strategy| strategy.name() == name);
            options.placement.strategy =
                strategy.with_context(|| format!("there is no placement strategy {name}"))?;
        }
        Ok(options)
    }

    /// What runs on this node, which holds `ledger`, as it is found by `other`, the same machine by other rules.
    ///
    /// # Errors
    /// A kubelet with these rules would not start from what the other has stored.
    pub fn restarted_as(&self, other: &Self, ledger: &Ledger) -> anyhow::Result<Ledger> {
        ensure!(self.view() == other.view(), "another machine has nothing of what runs here");
        let pods = RunningPods::admitted(ledger.pods_by_arrival().cloned());
        let restored = other.node.restore(self.node.stored(ledger), pods);
        let restored = restored.map_err(|error| {
            anyhow!("a kubelet with these rules would not start from what runs on this node: {error}")
        })?;
        Ok(restored.with_inventory(ledger.inventory().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::OtherRules;
    use crate::{LoadedNode, MachineSource, PINNED, RulesSource};

    fn node() -> LoadedNode {
        let rules = RulesSource { config: Some(PINNED.to_owned()), ..RulesSource::default() };
        let node = LoadedNode::load(&MachineSource::named("xeon-2s-96cpu-sriov"), &rules);
        node.unwrap_or_else(|error| panic!("{error:#}"))
    }

    const GIVEN: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,48
topologyManagerPolicy: single-numa-node
";

    #[test]
    fn a_given_configuration_decides_by_the_given_kubelet() {
        let other = OtherRules {
            configuration: Some(GIVEN.to_owned()),
            kubelet: Some("1.34".to_owned()),
            ..OtherRules::default()
        };
        let node = node().by(&other).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(node.line.topology_policy, "single-numa-node");
        assert!(node.line.rules_of.starts_with("v1.34"), "{}", node.line.rules_of);
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_other_is_decided_by_and_said() {
        let node = node();
        for (other, expected) in [
            (OtherRules::default(), Ok("pinned: restricted, container")),
            (
                OtherRules { policy: Some("best-effort".to_owned()), ..OtherRules::default() },
                Ok("pinned with policy best-effort: best-effort, container"),
            ),
            (
                OtherRules {
                    scope: Some("pod".to_owned()),
                    cpu_options: Some(names(&["distribute-cpus-across-cores"])),
                    placement: Some("most-allocated".to_owned()),
                    ..OtherRules::default()
                },
                Ok(
                    "pinned with scope pod, CPU options distribute-cpus-across-cores, placement most-allocated: restricted, pod",
                ),
            ),
            (
                OtherRules { topology_options: Some(names(&[])), ..OtherRules::default() },
                Ok("pinned with topology options none: restricted, container"),
            ),
            (
                OtherRules { kubelet: Some("1.37".to_owned()), ..OtherRules::default() },
                Ok("pinned with kubelet 1.37: restricted, container"),
            ),
            (
                OtherRules {
                    configuration: Some(GIVEN.to_owned()),
                    scope: Some("pod".to_owned()),
                    ..OtherRules::default()
                },
                Ok("the given configuration with scope pod: single-numa-node, pod"),
            ),
            (OtherRules { kubelet: Some("newest".to_owned()), ..OtherRules::default() }, Err("newest")),
            (
                OtherRules { configuration: Some("kind: Pod\n".to_owned()), ..OtherRules::default() },
                Err("the given configuration"),
            ),
            (
                OtherRules { policy: Some("best".to_owned()), ..OtherRules::default() },
                Err(
                    "invalid configuration: topologyManagerPolicy (--topology-manager-policy) \"best\" must be one of",
                ),
            ),
            (
                OtherRules {
                    cpu_options: Some(names(&["full-pcpus-only", "distribute-cpus-across-cores"])),
                    ..OtherRules::default()
                },
                Err("kubelet would not start"),
            ),
            (
                OtherRules { placement: Some("best".to_owned()), ..OtherRules::default() },
                Err("there is no placement strategy best"),
            ),
        ] {
            let found = node.by(&other).map(|node| {
                format!(
                    "{}: {}, {}",
                    node.line.configuration, node.line.topology_policy, node.line.topology_scope
                )
            });
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(error), Err(expected)) => {
                    let said = format!("{error:#}");
                    assert!(said.contains(expected), "{said}");
                }
                (found, expected) => panic!("{found:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn what_runs_stays_where_it_is() {
        let node = node();
        let other = OtherRules { policy: Some("none".to_owned()), ..OtherRules::default() };
        let other = node.by(&other).unwrap_or_else(|error| panic!("{error:#}"));
        let ledger = node.empty_ledger();
        let found = node.restarted_as(&other, &ledger).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(found.cpus(), ledger.cpus());
        assert_eq!(found.inventory(), ledger.inventory());
    }
}
