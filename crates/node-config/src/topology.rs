//! The Topology Manager's part of the configuration: policy, scope and options, checked in the kubelet's order with
//! its texts.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cpuset::{AtoiError, go_atoi, go_quote};
use kubelet_release::{OptionStage, Rules};
use thiserror::Error;

use crate::boolean::parse_bool;
use crate::{FeatureGates, Gate};

/// `topologyManagerPolicy`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum TopologyPolicyName {
    /// `none`: no alignment.
    #[default]
    None,
    /// `best-effort`.
    BestEffort,
    /// `restricted`.
    Restricted,
    /// `single-numa-node`.
    SingleNumaNode,
}

/// `topologyManagerScope`: for what unit merges are made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Scope {
    /// `container`: each container on its own.
    #[default]
    Container,
    /// `pod`: the pod as a whole.
    Pod,
}

/// Which node set wins among those of equal size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TieBreak {
    /// The lowest number.
    #[default]
    LowestNumber,
    /// The one with the smallest average distance: option `prefer-closest-numa-nodes`.
    Closest,
}

/// What the machine offers to the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TopologyFacts {
    /// How many NUMA nodes it has, those without CPUs included.
    pub nodes: usize,
    /// Whether every node has a distance row.
    pub distances: DistanceRows,
}

/// Whether every node has a distance row; an empty row is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DistanceRows {
    /// Every node has one.
    Complete,
    /// Some node has none.
    Missing,
}

/// A checked configuration of the Topology Manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TopologyConfig {
    /// The policy.
    pub policy: TopologyPolicyName,
    /// The scope; not looked at under policy `none`.
    pub scope: Scope,
    /// Which of equal node sets wins.
    pub ties: TieBreak,
}

/// Why a configuration is refused; the texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TopologyConfigError {
    /// The option is in beta, and the gate for such is off.
    #[error("topology manager policy beta-level options not enabled, but option \"{0}\" provided")]
    Gate(&'static str),
    /// No such option.
    #[error("unknown Topology Manager Policy option: {}", go_quote(.0))]
    UnknownOption(String),
    /// A boolean option with another value.
    #[error("bad value for option \"{option}\": strconv.ParseBool: parsing {}: invalid syntax", go_quote(.value))]
    NotBoolean {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
    },
    /// A number option with another value.
    #[error("unable to convert policy option to integer \"{option}\": {error}")]
    NotInteger {
        /// The option.
        option: &'static str,
        /// What is wrong with the value.
        error: AtoiError,
    },
    /// A node limit below the kubelet's own.
    #[error("the minimum value of \"{MAX_NODES}\" should not be less than 8")]
    LimitTooLow,
    /// `prefer-closest-numa-nodes` on a machine without distances.
    #[error("cannot discover NUMA topology: error getting NUMA distances from cadvisor")]
    NoDistances,
    /// More nodes than the limit in force.
    #[error("unsupported on machines with more than {0} NUMA Nodes")]
    TooManyNodes(i64),
    /// No such policy.
    #[error("unknown policy: \"{0}\"")]
    UnknownPolicy(String),
    /// No such scope.
    #[error("unknown scope: \"{0}\"")]
    UnknownScope(String),
}

/// How many NUMA nodes the kubelet accepts at most, unless an option raises it.
const DEFAULT_NODE_LIMIT: i64 = 8;
const MAX_NODES: &str = "max-allowable-numa-nodes";
/// The option of the Topology Manager by which the closer one of equal node sets wins.
pub const PREFER_CLOSEST: &str = "prefer-closest-numa-nodes";

/// Whether the kubelet's limit on NUMA nodes is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NodeCountCheck {
    /// It is: 8, or what `max-allowable-numa-nodes` says.
    Kubelet,
    /// Any number of nodes is fine.
    #[default]
    Skip,
}

impl TopologyConfig {
    /// Checks policy, scope and options for a machine, in the kubelet's order: under policy `none` nothing at all is
    /// looked at; then options, distances, node count, policy, scope.
    ///
    /// # Errors
    /// What the kubelet would report. With several bad options it reports any one of them; here all are given. Never
    /// empty.
    pub fn check(
        policy: &str,
        scope: &str,
        options: &BTreeMap<String, String>,
        gates: &FeatureGates,
        rules: &Rules,
        facts: TopologyFacts,
        count: NodeCountCheck,
    ) -> Result<Self, Vec<TopologyConfigError>> {
        if policy == "none" {
            return Ok(Self::default());
        }
        let (mut ties, mut limit) = (TieBreak::LowestNumber, DEFAULT_NODE_LIMIT);
        let mut faults = Vec::new();
        let has_limit_option = match rules.node_limit_option {
            OptionStage::Beta => gates.is_on(Gate::TopologyManagerPolicyBetaOptions),
            OptionStage::Stable => true,
        };
        for (name, value) in options {
            match name.as_str() {
                MAX_NODES if !has_limit_option => faults.push(TopologyConfigError::Gate(MAX_NODES)),
                PREFER_CLOSEST => match parse_bool(value) {
                    Some(true) => ties = TieBreak::Closest,
                    Some(false) => {}
                    None => faults.push(TopologyConfigError::NotBoolean {
                        option: PREFER_CLOSEST,
                        value: value.clone(),
                    }),
                },
                MAX_NODES => match go_atoi(value) {
                    Ok(number) if number < DEFAULT_NODE_LIMIT => {
                        faults.push(TopologyConfigError::LimitTooLow);
                    }
                    Ok(number) => limit = number,
                    Err(error) => {
                        faults.push(TopologyConfigError::NotInteger { option: MAX_NODES, error });
                    }
                },
                _ => faults.push(TopologyConfigError::UnknownOption(name.clone())),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let check = |broken: bool, fault| if broken { Err(alloc::vec![fault]) } else { Ok(()) };
        check(
            ties == TieBreak::Closest && facts.distances == DistanceRows::Missing,
            TopologyConfigError::NoDistances,
        )?;
        let nodes = i64::try_from(facts.nodes).unwrap_or(i64::MAX);
        check(count == NodeCountCheck::Kubelet && nodes > limit, TopologyConfigError::TooManyNodes(limit))?;
        let policy = TopologyPolicyName::from_name(policy)
            .ok_or_else(|| alloc::vec![TopologyConfigError::UnknownPolicy(policy.to_string())])?;
        let scope = Scope::from_name(scope)
            .ok_or_else(|| alloc::vec![TopologyConfigError::UnknownScope(scope.to_string())])?;
        Ok(Self { policy, scope, ties })
    }
}

impl TopologyPolicyName {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::None, Self::BestEffort, Self::Restricted, Self::SingleNumaNode];

    /// The policy of this name; names are case-sensitive.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// The name in a configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BestEffort => "best-effort",
            Self::Restricted => "restricted",
            Self::SingleNumaNode => "single-numa-node",
        }
    }
}

impl Scope {
    /// Each of them.
    pub const ALL: [Self; 2] = [Self::Container, Self::Pod];

    /// The scope of this name; names are case-sensitive.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// The name in a configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Pod => "pod",
        }
    }
}
