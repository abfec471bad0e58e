//! The result of a simulation, as it is written: for each configuration the sums and means over its runs.

use std::collections::BTreeMap;
use std::time::Duration;

use node_simulation::{HostOutcome, Outcome, Retry};
use pod_spec::{Pod, ResourceName};
use serde::Serialize;

use crate::claims::{ClaimWay, claims};
use crate::device_figures::{DevicePlacement, SearchFigures};
use crate::prepare::{Prepared, PreparedConfiguration};
use crate::runs::Done;

/// The results of a scenario.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    pub(crate) runs: u32,
    pub(crate) scheduler: &'static str,
    pub(crate) machines: Vec<MachineCount>,
    pub(crate) configurations: Vec<Summary>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MachineCount {
    pub(crate) machine: String,
    pub(crate) count: usize,
}

/// One configuration: counts are sums over its runs, all else means. Shares are from 0 to 1.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) configuration: String,
    /// The scheduler, where it is not the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheduler: Option<&'static str>,
    pub(crate) pods: u64,
    pub(crate) admitted: u64,
    /// How many any placement could have admitted at most, with the future known; absent where pods are tried again or end
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_most: Option<u64>,
    /// By the kubelet's reason; `NoRoom`: no machine has enough in sum.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Admitted pods of single runs; absent if there is one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) admitted_in_a_run: Option<Spread>,
    /// Refused pods of single runs; absent if there is one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused_in_a_run: Option<Spread>,
    /// How many more pods a run admitted than the run of the first configuration with the same seed; absent if there is one run, and
    /// in the first configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more_than_first: Option<Difference>,
    /// Where pods that did not run were tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tried_again: Option<TriedAgain>,
    pub(crate) preempted: u64,
    /// How often pods were moved so that another one fits; absent where none may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) moves: Option<u64>,
    /// Admitted pods that hold exclusive CPUs, memory or devices.
    pub(crate) placed: u64,
    /// Those of them that are on the minimum number of NUMA nodes.
    pub(crate) aligned: u64,
    pub(crate) aligned_share: f64,
    /// How pods claim devices; absent: device plugins offer everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claims: Option<ClaimWay>,
    /// Where the devices of admitted pods are; absent: no admitted pod has devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) devices: Option<DevicePlacement>,
    /// What kube-scheduler's searches for claimed devices cost; absent where nothing is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) searches: Option<SearchFigures>,
    /// Mean over machines, weighted by their number.
    pub(crate) fragmentation: f64,
    pub(crate) span_seconds: f64,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) machines: Vec<MachineUse>,
    pub(crate) steps: Vec<Moment>,
    pub(crate) each_run: Vec<RunLine>,
}

/// How far the runs differ.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Spread {
    pub(crate) least: u64,
    pub(crate) median: f64,
    pub(crate) mean: f64,
    pub(crate) most: u64,
}

/// A difference between two configurations, over runs with the same seeds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Difference {
    pub(crate) mean: f64,
    /// The standard error of the mean: a mean within twice of it may be chance.
    pub(crate) error: f64,
}

/// What happened to pods that were tried again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TriedAgain {
    /// Pods that ran at their first try.
    pub(crate) at_first_try: u64,
    /// Tries after the first.
    pub(crate) retries: u64,
    /// Every refusal by a node, by the kubelet's reason.
    pub(crate) node_refusals: BTreeMap<String, u64>,
    /// From the arrival of a pod until it ran, over all that ran.
    pub(crate) seconds_to_place: SecondsToPlace,
}

/// How long pods waited, in seconds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecondsToPlace {
    pub(crate) mean: f64,
    /// Half of the pods waited no longer.
    pub(crate) half: f64,
    pub(crate) ninety_percent: f64,
    pub(crate) longest: f64,
}

/// One kind of pod.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Kind {
    pub(crate) pod: String,
    pub(crate) arrived: u64,
    pub(crate) admitted: u64,
    /// Admitted pods of single runs; absent if there is one run.
    #[serde(rename = "admittedInARun", skip_serializing_if = "Option::is_none")]
    pub(crate) admitted_in_a_run: Option<Spread>,
    pub(crate) placed: u64,
    pub(crate) aligned: u64,
    pub(crate) refused: BTreeMap<String, u64>,
    /// Its claims of devices, which are not decided here: pods are admitted without them.
    #[serde(rename = "withoutClaims", skip_serializing_if = "Vec::is_empty")]
    pub(crate) without_claims: Vec<String>,
}

/// One kind of machine.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MachineUse {
    pub(crate) machine: String,
    pub(crate) fragmentation: f64,
    pub(crate) numa: Vec<NodeUse>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct NodeUse {
    pub(crate) node: i64,
    /// The share that was held, by resource.
    pub(crate) held: BTreeMap<String, f64>,
    /// The share that was free while pods of the mix had no room there, by resource: FGD's measure.
    pub(crate) stranded: BTreeMap<String, f64>,
}

/// The state of all machines at one moment, as means over the runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Moment {
    pub(crate) seconds: f64,
    pub(crate) running: f64,
    pub(crate) refused: f64,
    pub(crate) cpus_held: f64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunLine {
    pub(crate) seed: u64,
    pub(crate) pods: u64,
    pub(crate) admitted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_most: Option<u64>,
    pub(crate) placed: u64,
    pub(crate) aligned: u64,
    /// Admitted pods with devices elsewhere than their CPUs and memory; absent: no admitted pod has devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) misaligned: Option<u64>,
    /// Calls of kube-scheduler's inner search for claimed devices; absent where nothing is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search_steps: Option<u64>,
    pub(crate) fragmentation: f64,
    pub(crate) refused: BTreeMap<String, u64>,
}

impl Report {
    /// Whether the pods of some configuration claim devices.
    pub(crate) fn has_claims(&self) -> bool {
        self.configurations.iter().any(|summary| summary.claims.is_some())
    }

    /// Whether pods have claims of devices, which are not decided here.
    #[must_use]
    pub fn has_undecided_claims(&self) -> bool {
        self.configurations
            .iter()
            .flat_map(|summary| &summary.kinds)
            .any(|kind| !kind.without_claims.is_empty())
    }

    /// Sums up the runs of each configuration, as [`run`](crate::run) returns them.
    #[must_use]
    pub fn new(prepared: &Prepared, outcomes: &[Vec<Done>]) -> Self {
        let machines = prepared.machines.iter();
        let first = outcomes.first().map_or(&[][..], Vec::as_slice);
        Self {
            scenario: prepared.name.clone(),
            seed: prepared.seed,
            runs: prepared.runs(),
            scheduler: prepared.scheduler.name(),
            machines: machines
                .map(|(machine, count)| MachineCount { machine: machine.clone(), count: *count })
                .collect(),
            configurations: prepared
                .configurations
                .iter()
                .zip(outcomes)
                .enumerate()
                .map(|(at, (configuration, runs))| Summary {
                    more_than_first: if at == 0 { None } else { Difference::of(first, runs) },
                    ..Summary::new(prepared, configuration, runs)
                })
                .collect(),
        }
    }
}

impl Summary {
    fn new(prepared: &Prepared, configuration: &PreparedConfiguration, done: &[Done]) -> Self {
        let runs: Vec<Outcome> = done.iter().map(|run| run.outcome.clone()).collect();
        let runs = runs.as_slice();
        let sum = |of: fn(&Outcome) -> u64| runs.iter().map(of).sum::<u64>();
        let (placed, aligned) = (sum(Outcome::placed), sum(Outcome::aligned));
        let mut refused = BTreeMap::new();
        for (reason, count) in runs.iter().flat_map(Outcome::refused) {
            *refused.entry(reason.to_owned()).or_default() += count;
        }
        let each_run = (0..).zip(done).map(|(number, Done { outcome: run, at_most })| RunLine {
            at_most: *at_most,
            seed: prepared.run_seed(number),
            pods: run.arrived(),
            admitted: run.admitted(),
            placed: run.placed(),
            aligned: run.aligned(),
            misaligned: DevicePlacement::of([run.devices()]).map(|pods| pods.misaligned),
            search_steps: configuration.claims.as_ref().map(|_| run.searches.steps),
            fragmentation: rounded(fragmentation(run)),
            refused: run.refused().into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect(),
        });
        Self {
            configuration: configuration.name.clone(),
            scheduler: (configuration.scheduler != prepared.scheduler)
                .then(|| configuration.scheduler.name()),
            tried_again: (prepared.retry == Retry::BackOff).then(|| TriedAgain::new(runs)),
            pods: sum(Outcome::arrived),
            admitted: sum(Outcome::admitted),
            at_most: done.iter().map(|run| run.at_most).sum(),
            refused,
            admitted_in_a_run: Spread::of(runs.iter().map(Outcome::admitted)),
            more_than_first: None,
            refused_in_a_run: Spread::of(runs.iter().map(|run| run.refused().values().sum())),
            preempted: sum(|run| run.preempted),
            moves: configuration.repack.map(|_| sum(|run| run.moves)),
            placed,
            aligned,
            aligned_share: rounded(share(aligned, placed)),
            claims: configuration.claims.as_ref().map(ClaimWay::of),
            devices: DevicePlacement::of(runs.iter().map(Outcome::devices)),
            searches: configuration
                .claims
                .as_ref()
                .map(|_| SearchFigures::of(runs.iter().map(|run| &run.searches))),
            fragmentation: mean(runs, fragmentation),
            span_seconds: mean(runs, |run| run.span.as_secs_f64()),
            kinds: (0..)
                .zip(prepared.templates())
                .map(|(at, template)| kind(runs, at, &template.pod))
                .collect(),
            machines: prepared
                .machines
                .iter()
                .enumerate()
                .map(|(at, (machine, _))| machine_use(runs, at, machine))
                .collect(),
            steps: moments(runs),
            each_run: each_run.collect(),
        }
    }

    pub(crate) fn refused_in_all(&self) -> u64 {
        self.refused.values().sum()
    }

    /// The share of CPUs that were free while pods of the mix had no room on their NUMA node; each kind of machines counts alike.
    pub(crate) fn stranded(&self) -> f64 {
        let nodes = self.machines.iter().flat_map(|machine| &machine.numa);
        let shares: Vec<f64> = nodes.filter_map(|node| node.stranded.get("cpu").copied()).collect();
        mean(&shares, |share| *share)
    }

    /// The mean share of CPUs that containers held exclusively, over the moments.
    pub(crate) fn cpus_held(&self) -> f64 {
        mean(&self.steps, |step| step.cpus_held)
    }
}

impl Spread {
    /// `None` if there is only one number.
    #[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
    fn of(numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let mut sorted: Vec<u64> = numbers.collect();
        sorted.sort_unstable();
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let (lower, upper) = (sorted.get((sorted.len() - 1) / 2)?, sorted.get(sorted.len() / 2)?);
        let median = (lower + upper) as f64 / 2.0;
        (sorted.len() > 1).then(|| Self { least, median, mean: mean(&sorted, |number| *number as f64), most })
    }
}

impl Difference {
    /// That of `runs` from `first`, whose runs have the same seeds; `None` if there is only one run.
    #[expect(clippy::cast_precision_loss, reason = "numbers of pods and runs are small")]
    fn of(first: &[Done], runs: &[Done]) -> Option<Self> {
        let differences: Vec<f64> = first
            .iter()
            .zip(runs)
            .map(|(first, run)| run.outcome.admitted() as f64 - first.outcome.admitted() as f64)
            .collect();
        let count = differences.len() as f64;
        let mean = mean(&differences, |difference| *difference);
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        let error = rounded((squares / (count - 1.0) / count).sqrt());
        (differences.len() > 1).then_some(Self { mean, error })
    }
}

impl TriedAgain {
    fn new(runs: &[Outcome]) -> Self {
        let mut node_refusals = BTreeMap::new();
        for (reason, count) in runs.iter().flat_map(Outcome::node_refusals) {
            *node_refusals.entry(reason.to_owned()).or_default() += count;
        }
        let waits = runs.iter().flat_map(|run| &run.templates).flat_map(|kind| &kind.waits);
        let mut waits: Vec<f64> = waits.map(Duration::as_secs_f64).collect();
        waits.sort_by(f64::total_cmp);
        // The shortest wait that `percent` of all pods did not exceed.
        let within = |percent: usize| {
            let at = (waits.len() * percent).div_ceil(100).saturating_sub(1);
            rounded(waits.get(at).copied().unwrap_or(0.0))
        };
        Self {
            at_first_try: runs.iter().map(Outcome::at_first_try).sum(),
            retries: runs.iter().map(Outcome::retries).sum(),
            node_refusals,
            seconds_to_place: SecondsToPlace {
                mean: mean(&waits, |wait| *wait),
                half: within(50),
                ninety_percent: within(90),
                longest: within(100),
            },
        }
    }
}

/// The share of `part` in `all`, from 0 to 1; 0 if `all` is 0.
#[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
pub(crate) fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs are small")]
fn mean<T>(of: &[T], value: impl Fn(&T) -> f64) -> f64 {
    rounded(if of.is_empty() { 0.0 } else { of.iter().map(value).sum::<f64>() / of.len() as f64 })
}

/// Rounded to six digits after the point: more are noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "numbers of machines are small")]
fn fragmentation(run: &Outcome) -> f64 {
    let machines: usize = run.hosts.iter().map(|host| host.machines).sum();
    let sum: f64 = run.hosts.iter().map(|host| host.fragmentation * host.machines as f64).sum();
    if machines == 0 { 0.0 } else { sum / machines as f64 }
}

fn kind(runs: &[Outcome], at: usize, pod: &Pod) -> Kind {
    let mut sum = Kind {
        pod: String::new(),
        arrived: 0,
        admitted: 0,
        admitted_in_a_run: Spread::of(
            runs.iter().filter_map(|run| run.templates.get(at)).map(|kind| kind.admitted),
        ),
        placed: 0,
        aligned: 0,
        refused: BTreeMap::new(),
        without_claims: claims(pod),
    };
    for kind in runs.iter().filter_map(|run| run.templates.get(at)) {
        sum.pod.clone_from(&kind.name);
        sum.arrived += kind.arrived;
        sum.admitted += kind.admitted;
        sum.placed += kind.placed;
        sum.aligned += kind.aligned;
        for (reason, count) in &kind.refused {
            *sum.refused.entry(reason.clone()).or_default() += count;
        }
    }
    sum
}

fn machine_use(runs: &[Outcome], at: usize, machine: &str) -> MachineUse {
    let hosts: Vec<&HostOutcome> = runs.iter().filter_map(|run| run.hosts.get(at)).collect();
    let nodes = hosts.first().map_or(0, |host| host.numa.len());
    let node = |number: usize| {
        let uses = || hosts.iter().filter_map(|host| host.numa.get(number));
        NodeUse {
            node: uses().next().map_or(0, |used| used.node.0),
            held: means(uses().flat_map(|used| &used.held)),
            stranded: means(uses().flat_map(|used| &used.stranded)),
        }
    };
    MachineUse {
        machine: machine.to_owned(),
        fragmentation: mean(&hosts, |host| host.fragmentation),
        numa: (0..nodes).map(node).collect(),
    }
}

/// The mean share of each resource over the runs.
fn means<'a>(shares: impl Iterator<Item = &'a (ResourceName, f64)>) -> BTreeMap<String, f64> {
    let mut of: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (resource, share) in shares {
        of.entry(resource.to_string()).or_default().push(*share);
    }
    of.into_iter().map(|(resource, shares)| (resource, mean(&shares, |share| *share))).collect()
}

/// The mean of each moment over the runs.
#[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
fn moments(runs: &[Outcome]) -> Vec<Moment> {
    let steps = runs.first().map_or(0, |run| run.steps.len());
    let moment = |at: usize| {
        let of: Vec<_> = runs.iter().filter_map(|run| run.steps.get(at)).collect();
        Moment {
            seconds: mean(&of, |step| step.at.as_secs_f64()),
            running: mean(&of, |step| step.running as f64),
            refused: mean(&of, |step| step.refused as f64),
            cpus_held: mean(&of, |step| step.cpus_held),
        }
    };
    (0..steps).map(moment).collect()
}
