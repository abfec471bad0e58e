//! Scenarios of simulations: machines, configurations, kinds of pods, and when they come. [`read_scenario`] shows the
//! format.

mod claims;
mod read;
mod spans;

use core::num::NonZeroU32;
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeMap;

use node_config::OwnOptions;
use pod_spec::Pod;

pub use self::claims::{ScenarioClaims, ScenarioCpuDevices};
pub use self::read::read_scenario;
pub use self::spans::Spans;
use crate::node::Field;
use crate::{ManifestError, Problem, Source, Warning};

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What random times are drawn from; run `n` is drawn from `seed + n`.
    pub seed: u64,
    /// How many runs there are of each configuration, at least one.
    pub runs: u32,
    /// How pods are sent to machines.
    pub scheduler: SchedulerName,
    /// Whether pods that did not run are tried again.
    pub retry: ScenarioRetry,
    /// Whether pods move for one that was refused.
    pub repack: Option<ScenarioRepack>,
    /// Kinds of machines, at least one.
    pub machines: Vec<ScenarioMachine>,
    /// Configurations, each of which is tried on all machines; their names differ. Maybe none.
    pub configurations: Vec<ScenarioConfiguration>,
    /// Kinds of pods, at least one; their names differ.
    pub pods: Vec<ScenarioPod>,
    /// When they come.
    pub arrivals: ScenarioArrivals,
}

/// A place in a scenario, for what is found out after it has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioPlace {
    field: String,
    span: Range<usize>,
}

/// How pods are sent to machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SchedulerName {
    /// `spread`: where most is free in sum.
    #[default]
    Spread,
    /// `pack`: where least is free in sum.
    Pack,
    /// `blind`: to one machine after the other.
    Blind,
    /// `topolet`: where the pod would be admitted by the kubelet's rules, and is aligned best.
    Topolet,
    /// `topology-match`: as `spread`, where the filter of the scheduler plugins lets it pass.
    TopologyMatch,
    /// `kai`: as `pack`, where the filter of KAI-Scheduler lets it pass, on the fewest NUMA nodes.
    Kai,
}

/// Whether pods that did not run are tried again: `retry`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScenarioRetry {
    /// `false`: each is tried once.
    #[default]
    Never,
    /// `true`: after a time that doubles from 1 s to 10 s, and when a pod has left.
    BackOff,
}

/// Pods that move so that one that was refused fits: `repack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScenarioRepack {
    /// `moves`: the most that move for one, 1 to 3.
    pub moves: NonZeroU32,
    /// `price`: so much longer a pod runs that was moved.
    pub price: Duration,
}

/// A kind of machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioMachine {
    /// A built-in name, or a path.
    pub machine: String,
    /// How many there are of it, at least one.
    pub count: usize,
    /// Other huge pages than it has.
    pub hugepages: Option<String>,
    /// Other memory of its NUMA nodes than it has.
    pub memory: Option<String>,
    /// Path of its device inventory; `None`: what a built-in machine has, else none.
    pub devices: Option<String>,
    /// Where it is written.
    pub place: ScenarioPlace,
}

/// A configuration to be tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioConfiguration {
    /// What it is called in results.
    pub name: String,
    /// How pods are sent to machines; `None`: as [`Scenario::scheduler`] says.
    pub scheduler: Option<SchedulerName>,
    /// Whether pods move for one that was refused; `None`: as [`Scenario::repack`] says.
    pub repack: Option<ScenarioRepack>,
    /// A built-in one, or the path of a file.
    pub config: Option<String>,
    /// The kubelet whose rules apply, as a version; `None`: the default release.
    pub kubelet: Option<String>,
    /// Options of this project's own; `None`: a kubelet decides.
    pub options: Option<ScenarioOptions>,
    /// Topology Manager policy instead of the configuration's.
    pub policy: Option<String>,
    /// Topology Manager scope instead of the configuration's.
    pub scope: Option<String>,
    /// Options of the CPU manager instead of the configuration's.
    pub cpu_options: BTreeMap<String, String>,
    /// Options of the Topology Manager beside the configuration's.
    pub topology_options: BTreeMap<String, String>,
    /// How pods claim devices; `None`: device plugins offer everything.
    pub claims: Option<ScenarioClaims>,
    /// Where it is written.
    pub place: ScenarioPlace,
}

/// Options of this project's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScenarioOptions {
    /// Path of a file with them.
    File(String),
    /// As they are written in the scenario.
    Inline(Box<OwnOptions>),
}

/// A kind of pod.
#[derive(Clone, Debug)]
pub struct ScenarioPod {
    /// The pod as it is written, without what an API server fills in; its name is that of the kind.
    pub pod: Pod,
    /// How often it comes against the others, at least 1.
    pub weight: u32,
    /// How long one runs; `None`: to the end.
    pub lifetime: Option<Spans>,
    /// Where it is written.
    pub place: ScenarioPlace,
}

/// When pods come.
#[derive(Clone, PartialEq, Debug)]
pub enum ScenarioArrivals {
    /// Times between arrivals are drawn, and the kinds of pods by weight.
    Drawn {
        /// How many in all.
        count: usize,
        /// The time between two of them.
        every: Spans,
    },
    /// As recorded, in the order of time.
    Trace(Vec<TracedPod>),
}

/// A pod of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedPod {
    /// When it comes, since the beginning.
    pub at: Duration,
    /// Which kind of pod: a position in [`Scenario::pods`].
    pub pod: usize,
    /// How long it runs; `None`: to the end.
    pub stays: Option<Duration>,
}

impl Scenario {
    /// The error that something at `place` of `source`, from which the scenario was read, is of no use.
    #[must_use]
    pub fn refuse(
        source: &Source<'_>,
        place: &ScenarioPlace,
        what: String,
        expected: &'static str,
    ) -> ManifestError {
        ManifestError::at(source, &place.field, &place.span, Problem::Useless { what, expected })
    }

    /// The same as a warning.
    #[must_use]
    pub fn warn(source: &Source<'_>, place: &ScenarioPlace, what: String, expected: &'static str) -> Warning {
        Warning(Self::refuse(source, place, what, expected))
    }
}

impl ScenarioPlace {
    fn of(field: &Field<'_>) -> Self {
        Self { field: field.path.clone(), span: field.node.span.clone() }
    }
}
