//! The CPU manager's part of the configuration: policy and options, checked in the kubelet's order with its texts.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cpuset::go_quote;
use kubelet_release::{OptionStage, Rules};
use thiserror::Error;

use crate::boolean::parse_bool;
use crate::{FeatureGates, Gate, TopologyPolicyName};

/// `cpuManagerPolicy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CpuPolicyName {
    /// `none`: no container has exclusive CPUs.
    #[default]
    None,
    /// `static`: Guaranteed containers with whole CPUs have.
    Static,
}

/// An option of the static policy; `cpu_manager::Options` says what each changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuOption {
    /// `align-by-socket`.
    AlignBySocket,
    /// `distribute-cpus-across-cores`.
    DistributeAcrossCores,
    /// `distribute-cpus-across-numa`.
    DistributeAcrossNuma,
    /// `full-pcpus-only`.
    FullPcpusOnly,
    /// `prefer-align-cpus-by-uncorecache`.
    PreferAlignByUncoreCache,
    /// `strict-cpu-reservation`.
    StrictReservation,
}

impl CpuOption {
    /// All of them, by name.
    pub const ALL: [Self; 6] = [
        Self::AlignBySocket,
        Self::DistributeAcrossCores,
        Self::DistributeAcrossNuma,
        Self::FullPcpusOnly,
        Self::PreferAlignByUncoreCache,
        Self::StrictReservation,
    ];

    /// The name in a configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AlignBySocket => "align-by-socket",
            Self::DistributeAcrossCores => "distribute-cpus-across-cores",
            Self::DistributeAcrossNuma => "distribute-cpus-across-numa",
            Self::FullPcpusOnly => "full-pcpus-only",
            Self::PreferAlignByUncoreCache => "prefer-align-cpus-by-uncorecache",
            Self::StrictReservation => "strict-cpu-reservation",
        }
    }

    /// The gate that must be on for the option to be named at all, and what its stage is called.
    const fn gate(self, rules: &Rules) -> Option<(Gate, &'static str)> {
        let stage = match self {
            Self::AlignBySocket | Self::DistributeAcrossCores => {
                return Some((Gate::CpuManagerPolicyAlphaOptions, "Alpha"));
            }
            Self::DistributeAcrossNuma => OptionStage::Beta,
            Self::FullPcpusOnly => OptionStage::Stable,
            Self::PreferAlignByUncoreCache => rules.uncore_cache_option,
            Self::StrictReservation => rules.strict_reservation,
        };
        match stage {
            OptionStage::Beta => Some((Gate::CpuManagerPolicyBetaOptions, "Beta")),
            OptionStage::Stable => None,
        }
    }
}

/// What the machine and the rest of the configuration offer to the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuFacts {
    /// How many sockets the machine has.
    pub sockets: usize,
    /// How many NUMA nodes with CPUs it has.
    pub nodes_with_cpus: usize,
    /// The Topology Manager's policy.
    pub topology_policy: TopologyPolicyName,
}

/// Why policy or options are refused. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CpuConfigError {
    /// No such policy.
    #[error("unknown policy: \"{0}\"")]
    UnknownPolicy(String),
    /// Options of a policy that has none.
    #[error("new none policy error: None policy: received unsupported options=map[{}]", pairs(.0))]
    OptionsWithoutPolicy(BTreeMap<String, String>),
    /// No such option.
    #[error("new static policy error: unknown CPU Manager Policy option: {}", go_quote(.0))]
    UnknownOption(String),
    /// The option is not mature enough for the gates.
    #[error(
        "new static policy error: CPU Manager Policy {stage}-level Options not enabled, but option \"{option}\" provided"
    )]
    Gate {
        /// `Alpha` or `Beta`.
        stage: &'static str,
        /// The option.
        option: &'static str,
    },
    /// An option with a value that is no boolean.
    #[error(
        "new static policy error: bad value for option \"{option}\": strconv.ParseBool: parsing {}: invalid syntax",
        go_quote(value)
    )]
    NotBoolean {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
    },
    /// Two options that exclude each other.
    #[error("new static policy error: static policy options {} and {} can not be used at the same time", .0.name(), .1.name())]
    Excluded(CpuOption, CpuOption),
    /// Alignment by socket and by single node.
    #[error(
        "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    )]
    SocketsAndSingleNode,
    /// Alignment by socket where a socket is less than a node.
    #[error(
        "new static policy error: Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    )]
    MoreSocketsThanNodes,
}

fn pairs(options: &BTreeMap<String, String>) -> String {
    let pairs: Vec<_> = options.iter().map(|(name, value)| alloc::format!("{name}:{value}")).collect();
    pairs.join(" ")
}

impl CpuPolicyName {
    /// The policy of this name; names are case-sensitive.
    ///
    /// # Errors
    /// An unknown name, or options for `none`, which has none.
    pub fn check(name: &str, options: &BTreeMap<String, String>) -> Result<Self, CpuConfigError> {
        match name {
            "none" if options.is_empty() => Ok(Self::None),
            "none" => Err(CpuConfigError::OptionsWithoutPolicy(options.clone())),
            "static" => Ok(Self::Static),
            unknown => Err(CpuConfigError::UnknownPolicy(unknown.to_string())),
        }
    }

    /// The name in a configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Static => "static",
        }
    }
}

/// The options of the static policy that are switched on; which stage an option is in is for `rules` to say.
///
/// # Errors
/// If single options are at fault, each of them: which one the kubelet would report is left to chance there. Else the
/// first combination that is.
pub fn cpu_options(
    options: &BTreeMap<String, String>,
    gates: &FeatureGates,
    rules: &Rules,
    facts: CpuFacts,
) -> Result<BTreeSet<CpuOption>, Vec<CpuConfigError>> {
    use CpuOption as O;

    let mut on = BTreeSet::new();
    let mut faults = Vec::new();
    for (name, value) in options {
        match switched_on(name, value, gates, rules) {
            Ok(Some(option)) => {
                on.insert(option);
            }
            Ok(None) => {}
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    for (one, other) in [
        (O::FullPcpusOnly, O::DistributeAcrossCores),
        (O::DistributeAcrossNuma, O::DistributeAcrossCores),
        (O::PreferAlignByUncoreCache, O::DistributeAcrossCores),
        (O::PreferAlignByUncoreCache, O::DistributeAcrossNuma),
    ] {
        if on.contains(&one) && on.contains(&other) {
            return Err(alloc::vec![CpuConfigError::Excluded(one, other)]);
        }
    }
    if on.contains(&O::AlignBySocket) {
        if facts.topology_policy == TopologyPolicyName::SingleNumaNode {
            return Err(alloc::vec![CpuConfigError::SocketsAndSingleNode]);
        }
        if facts.sockets > facts.nodes_with_cpus {
            return Err(alloc::vec![CpuConfigError::MoreSocketsThanNodes]);
        }
    }
    Ok(on)
}

/// The option of this name if its value is true. An option set to false needs its gate nevertheless.
fn switched_on(
    name: &str,
    value: &str,
    gates: &FeatureGates,
    rules: &Rules,
) -> Result<Option<CpuOption>, CpuConfigError> {
    let Some(option) = CpuOption::ALL.into_iter().find(|option| option.name() == name) else {
        return Err(CpuConfigError::UnknownOption(name.to_string()));
    };
    if let Some((gate, stage)) = option.gate(rules)
        && !gates.is_on(gate)
    {
        return Err(CpuConfigError::Gate { stage, option: option.name() });
    }
    match parse_bool(value) {
        Some(on) => Ok(on.then_some(option)),
        None => Err(CpuConfigError::NotBoolean { option: option.name(), value: value.to_string() }),
    }
}
