//! Scenarios of simulations: machines, configurations, kinds of pods, and when they come. [`read_scenario`] shows the
//! format.

use core::ops::Range;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use pod_spec::{Pod, PodLevelResources};

use crate::devices::known_fields;
use crate::kubelet::Warning;
use crate::node::{Field, Keyed, Value};
use crate::pods::read_inline_pod;
use crate::yaml::{Repeated, documents};
use crate::{ManifestError, Problem, Source};

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What random times are drawn from; run `n` is drawn from `seed + n`.
    pub seed: u64,
    /// How many runs there are of each configuration, at least one.
    pub runs: u32,
    /// How pods are sent to machines.
    pub scheduler: SchedulerName,
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
pub struct Place {
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
    /// Path of its device inventory.
    pub devices: Option<String>,
    /// Where it is written.
    pub place: Place,
}

/// A configuration to be tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioConfiguration {
    /// What it is called in results.
    pub name: String,
    /// A built-in one, or the path of a file.
    pub config: Option<String>,
    /// Path of a file with options of this project's own.
    pub topolet_config: Option<String>,
    /// Topology Manager policy instead of the configuration's.
    pub policy: Option<String>,
    /// Topology Manager scope instead of the configuration's.
    pub scope: Option<String>,
    /// Options of the CPU manager instead of the configuration's.
    pub cpu_options: BTreeMap<String, String>,
    /// Options of the Topology Manager beside the configuration's.
    pub topology_options: BTreeMap<String, String>,
    /// Where it is written.
    pub place: Place,
}

/// A kind of pod.
#[derive(Clone, Debug)]
pub struct ScenarioPod {
    /// The pod; its name is that of the kind.
    pub pod: Pod,
    /// How often it comes against the others, at least 1.
    pub weight: u32,
    /// How long one runs; `None`: to the end.
    pub lifetime: Option<Spans>,
    /// Where it is written.
    pub place: Place,
}

/// When pods come.
#[derive(Clone, PartialEq, Debug)]
pub enum ScenarioArrivals {
    /// Drawn.
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

/// How spans of time are distributed. Each can be: no range is reversed, no mean or median is zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Spans {
    /// Always this.
    Constant(Duration),
    /// From the one to the other, all as likely.
    Uniform(Duration, Duration),
    /// Without memory, with this mean.
    Exponential(Duration),
    /// Log-normal.
    LogNormal {
        /// Half are shorter.
        median: Duration,
        /// Standard deviation of the logarithm, from 0 to 10.
        sigma: f64,
    },
}

impl Scenario {
    /// The error that something at `place` of `source`, from which the scenario was read, is of no use.
    #[must_use]
    pub fn refuse(source: &Source<'_>, place: &Place, what: String, expected: &'static str) -> ManifestError {
        ManifestError::at(source, &place.field, &place.span, Problem::Useless { what, expected })
    }

    /// The same as a warning.
    #[must_use]
    pub fn warn(source: &Source<'_>, place: &Place, what: String, expected: &'static str) -> Warning {
        Warning(Self::refuse(source, place, what, expected))
    }
}

impl Place {
    fn of(field: &Field<'_>) -> Self {
        Self { field: field.path.clone(), span: field.node.span.clone() }
    }
}

/// More is a typing error, or more than a simulation should be asked.
const MOST_PODS: u64 = 10_000_000;
const MOST_MACHINES: u64 = 10_000;
const MOST_RUNS: u64 = 1000;
const MOST_WEIGHT: u64 = 1_000_000;

/// Reads a scenario.
///
/// ```yaml
/// apiVersion: topolet.dev/v1alpha1
/// kind: Scenario
/// seed: 7                                # default 0
/// runs: 3                                # with seeds 7, 8 and 9; default 1
/// scheduler: spread                      # or pack, or blind: one machine after the other, whatever they have
/// machines:
/// - {machine: spr-8480-snc4-8node, count: 4, hugepages: "0:1Gi=16", devices: devices.yaml}
/// configurations:                        # default: the built-in one
/// - {name: strict, config: pinned, policy: single-numa-node, scope: pod, cpuOptions: {full-pcpus-only: true}}
/// pods:
/// - weight: 3
///   lifetime: {exponential: 2h}          # or a span, {uniform: [1h, 3h]}, {logNormal: {median: 1h, sigma: 0.5}}
///   pod: {metadata: {name: dpdk}, spec: {containers: [{name: app, resources: {limits: {cpu: 8, memory: 4Gi}}}]}}
/// arrivals: {count: 1000, every: {exponential: 30s}}
/// ```
///
/// In place of `arrivals` there may be a recorded `trace`, a list of `{at: 90s, pod: dpdk, stays: 2h}` in the order of
/// time. It is the project's own format, so unlike in Kubernetes' an unknown field is an error.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_scenario(source: &Source<'_>) -> Result<Scenario, ManifestError> {
    let nodes = documents(source, Repeated::Refused)?;
    let (Some(node), rest) = (nodes.first(), nodes.get(1..).unwrap_or_default()) else {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    };
    if let Some(second) = rest.first() {
        let found = "a second document".to_owned();
        return Err(Field::document(source, second)
            .fail(Problem::Unexpected { found, expected: "one scenario in a file" }));
    }
    read_document(&Field::document(source, node))
}

const FIELDS: [&str; 9] =
    ["apiVersion", "kind", "seed", "runs", "scheduler", "machines", "configurations", "pods", "arrivals"];

fn read_document(document: &Field<'_>) -> Result<Scenario, ManifestError> {
    header(document, "kind", "Scenario", |found| Problem::Kind { found, expected: "kind Scenario" })?;
    header(document, "apiVersion", "topolet.dev/v1alpha1", |found| Problem::ApiVersion {
        found,
        expected: "apiVersion topolet.dev/v1alpha1",
    })?;
    // After that: of another kind all fields are other ones.
    let mut known = FIELDS.to_vec();
    known.push("trace");
    let expected = "seed, runs, scheduler, machines, configurations, pods, arrivals or trace";
    known_fields(document, &known, expected)?;
    let machines = at_least_one(document, "machines", "a list of at least one machine", read_machine)?;
    let configurations = match document.get("configurations")? {
        Some(list) => list.items()?.iter().map(read_configuration).collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    let mut names = BTreeSet::new();
    if let Some(twin) = configurations.iter().find(|own| !names.insert(own.name.as_str())) {
        let found = format!("there is a configuration {:?} already", twin.name);
        return Err(Scenario::refuse(
            document.source,
            &twin.place,
            found,
            "configurations of different names",
        ));
    }
    let pods = at_least_one(document, "pods", "a list of at least one kind of pod", read_kind)?;
    let mut kinds = BTreeMap::new();
    for (at, kind) in pods.iter().enumerate() {
        if kinds.insert(kind.pod.name.as_str(), at).is_some() {
            let found = format!("there is a pod {:?} already", kind.pod.name);
            return Err(Scenario::refuse(document.source, &kind.place, found, "pods of different names"));
        }
    }
    let arrivals = match (document.get("arrivals")?, document.get("trace")?) {
        (Some(arrivals), None) => read_arrivals(&arrivals)?,
        (None, Some(trace)) => ScenarioArrivals::Trace(read_trace(&trace, &kinds)?),
        (None, None) => {
            let expected = "when pods come: drawn, or as recorded";
            return Err(document.fail(Problem::Missing { field: "arrivals or trace", expected }));
        }
        (Some(_), Some(trace)) => {
            let found = "a trace beside arrivals".to_owned();
            return Err(trace.fail(Problem::Unexpected { found, expected: "one of the two" }));
        }
    };
    Ok(Scenario {
        seed: number(document, "seed", 0..=u64::MAX, "a number, 0 or more")?.unwrap_or(0),
        runs: number(document, "runs", 1..=MOST_RUNS, "a number of runs, 1 to 1000")?
            .and_then(|runs| u32::try_from(runs).ok())
            .unwrap_or(1),
        scheduler: read_scheduler(document)?,
        machines,
        configurations,
        pods,
        arrivals,
    })
}

fn header(
    document: &Field<'_>,
    key: &'static str,
    wanted: &'static str,
    other: impl FnOnce(String) -> Problem,
) -> Result<(), ManifestError> {
    let field = document.require(key, wanted)?;
    let found = field.text(wanted)?;
    if found == wanted { Ok(()) } else { Err(field.fail(other(found.to_owned()))) }
}

fn at_least_one<T>(
    document: &Field<'_>,
    key: &'static str,
    expected: &'static str,
    read: impl Fn(&Field<'_>) -> Result<T, ManifestError>,
) -> Result<Vec<T>, ManifestError> {
    let list = document.require(key, expected)?;
    let items = list.items()?;
    if items.is_empty() {
        return Err(list.fail(Problem::Unexpected { found: "an empty list".to_owned(), expected }));
    }
    items.iter().map(read).collect()
}

fn read_scheduler(document: &Field<'_>) -> Result<SchedulerName, ManifestError> {
    const EXPECTED: &str = "spread, pack or blind";
    let Some(field) = document.get("scheduler")? else { return Ok(SchedulerName::default()) };
    match field.text(EXPECTED)? {
        "spread" => Ok(SchedulerName::Spread),
        "pack" => Ok(SchedulerName::Pack),
        "blind" => Ok(SchedulerName::Blind),
        _ => Err(field.unexpected(EXPECTED)),
    }
}

fn read_machine(field: &Field<'_>) -> Result<ScenarioMachine, ManifestError> {
    const MACHINE: &str = "the name of a built-in machine, or a path";
    let known = ["machine", "count", "hugepages", "devices"];
    known_fields(field, &known, "machine, count, hugepages or devices")?;
    let count = number(field, "count", 1..=MOST_MACHINES, "a number of machines, 1 to 10000")?.unwrap_or(1);
    Ok(ScenarioMachine {
        machine: field.require("machine", MACHINE)?.text(MACHINE)?.to_owned(),
        count: usize::try_from(count).unwrap_or(usize::MAX),
        hugepages: optional(field, "hugepages", "pages as in 0:1Gi=16,1:1Gi=16")?,
        devices: optional(field, "devices", "the path of a device inventory")?,
        place: Place::of(field),
    })
}

fn read_configuration(field: &Field<'_>) -> Result<ScenarioConfiguration, ManifestError> {
    const NAME: &str = "what the configuration is called";
    const KNOWN: [&str; 7] =
        ["name", "config", "topoletConfig", "policy", "scope", "cpuOptions", "topologyOptions"];
    let expected = "name, config, topoletConfig, policy, scope, cpuOptions or topologyOptions";
    known_fields(field, &KNOWN, expected)?;
    let name = field.require("name", NAME)?;
    let text = name.text(NAME)?;
    if text.is_empty() || text.chars().any(char::is_control) || text.chars().count() > 80 {
        return Err(name.unexpected("a name of one line, at most 80 letters"));
    }
    Ok(ScenarioConfiguration {
        name: text.to_owned(),
        config: optional(field, "config", "pinned, kubelet-defaults, or the path of a file")?,
        topolet_config: optional(field, "topoletConfig", "the path of a file")?,
        policy: optional(field, "policy", "a policy of the Topology Manager")?,
        scope: optional(field, "scope", "container or pod")?,
        cpu_options: read_options(field, "cpuOptions")?,
        topology_options: read_options(field, "topologyOptions")?,
        place: Place::of(field),
    })
}

fn optional(
    field: &Field<'_>,
    key: &'static str,
    expected: &'static str,
) -> Result<Option<String>, ManifestError> {
    field.get(key)?.map(|field| field.text(expected).map(str::to_owned)).transpose()
}

/// Options by name, as text: what is right is for who uses them to say.
fn read_options(field: &Field<'_>, key: &'static str) -> Result<BTreeMap<String, String>, ManifestError> {
    let Some(options) = field.get(key)? else { return Ok(BTreeMap::new()) };
    let option = |Keyed { key, value, .. }: Keyed<'_>| {
        let text = match &value.node.value {
            Value::Bool(value) => value.to_string(),
            Value::Text(text) | Value::Number(text) => text.clone(),
            Value::Null | Value::List(_) | Value::Map(_) => {
                return Err(value.unexpected("true, false or a number"));
            }
        };
        Ok((key.to_owned(), text))
    };
    options.entries()?.into_iter().map(option).collect()
}

fn read_kind(field: &Field<'_>) -> Result<ScenarioPod, ManifestError> {
    const POD: &str = "a pod with metadata and spec";
    known_fields(field, &["weight", "lifetime", "pod"], "weight, lifetime or pod")?;
    let pod = field.require("pod", POD)?;
    let weight = number(field, "weight", 1..=MOST_WEIGHT, "a weight, 1 to 1000000")?.unwrap_or(1);
    Ok(ScenarioPod {
        pod: read_inline_pod(&pod)?.with_defaults(PodLevelResources::Count),
        weight: u32::try_from(weight).unwrap_or(u32::MAX),
        lifetime: field.get("lifetime")?.map(|lifetime| read_spans(&lifetime)).transpose()?,
        place: Place::of(&pod),
    })
}

fn read_arrivals(field: &Field<'_>) -> Result<ScenarioArrivals, ManifestError> {
    const COUNT: &str = "a number of pods, 1 to 10000000";
    known_fields(field, &["count", "every"], "count or every")?;
    let missing = || field.fail(Problem::Missing { field: "count", expected: COUNT });
    let count = number(field, "count", 1..=MOST_PODS, COUNT)?.ok_or_else(missing)?;
    let every =
        read_spans(&field.require("every", "the time between two pods, such as {exponential: 30s}")?)?;
    Ok(ScenarioArrivals::Drawn { count: usize::try_from(count).unwrap_or(usize::MAX), every })
}

fn read_trace(list: &Field<'_>, kinds: &BTreeMap<&str, usize>) -> Result<Vec<TracedPod>, ManifestError> {
    const POD: &str = "the name of a pod of this scenario";
    let mut trace: Vec<TracedPod> = Vec::new();
    for field in list.items()? {
        known_fields(&field, &["at", "pod", "stays"], "at, pod or stays")?;
        let at_field = field.require("at", SPAN)?;
        let at = span(&at_field)?;
        if let Some(last) = trace.last().filter(|last| last.at > at) {
            let found = format!("{at:?} after {:?}", last.at);
            return Err(at_field.fail(Problem::Unexpected { found, expected: "pods in the order of time" }));
        }
        let name = field.require("pod", POD)?;
        let Some(pod) = kinds.get(name.text(POD)?).copied() else { return Err(name.unexpected(POD)) };
        let stays = field.get("stays")?.map(|field| span(&field)).transpose()?;
        trace.push(TracedPod { at, pod, stays });
    }
    if trace.is_empty() {
        let found = "an empty list".to_owned();
        return Err(list.fail(Problem::Unexpected { found, expected: "at least one pod" }));
    }
    Ok(trace)
}

fn read_spans(field: &Field<'_>) -> Result<Spans, ManifestError> {
    const SPANS: &str = "a span of time, or one of exponential, uniform and logNormal";
    let Value::Map(_) = field.node.value else { return Ok(Spans::Constant(span(field)?)) };
    known_fields(field, &["exponential", "uniform", "logNormal"], "exponential, uniform or logNormal")?;
    let entries = field.entries()?;
    let [Keyed { key, value, .. }] = entries.as_slice() else {
        let found = format!("{} of them", entries.len());
        return Err(field.fail(Problem::Unexpected { found, expected: SPANS }));
    };
    match *key {
        "exponential" => Ok(Spans::Exponential(not_zero(value)?)),
        "uniform" => {
            const RANGE: &str = "a list of two spans of time, the shorter first";
            let items = value.items()?;
            let [from, to] = items.as_slice() else { return Err(value.unexpected(RANGE)) };
            let (shortest, longest) = (span(from)?, span(to)?);
            if shortest > longest {
                let found = format!("{shortest:?} to {longest:?}");
                return Err(value.fail(Problem::Unexpected { found, expected: RANGE }));
            }
            Ok(Spans::Uniform(shortest, longest))
        }
        _ => {
            const SIGMA: &str = "a number from 0 to 10";
            known_fields(value, &["median", "sigma"], "median or sigma")?;
            let sigma_field = value.require("sigma", SIGMA)?;
            let text = sigma_field.scalar(SIGMA)?;
            let sigma = text.parse().ok().filter(|sigma: &f64| (0.0..=10.0).contains(sigma));
            let sigma = sigma.ok_or_else(|| sigma_field.unexpected(SIGMA))?;
            Ok(Spans::LogNormal { median: not_zero(&value.require("median", SPAN)?)?, sigma })
        }
    }
}

fn not_zero(field: &Field<'_>) -> Result<Duration, ManifestError> {
    let span = span(field)?;
    if span.is_zero() { Err(field.unexpected("more than no time at all")) } else { Ok(span) }
}

const SPAN: &str = "a span of time such as 90s, 5m, 1h30m or 2d";
/// A hundred years: no simulation is longer.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);
/// Units of time, in nanoseconds; `ms` before `m`.
const UNITS: [(&str, f64); 5] = [("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("d", 86_400e9)];

fn span(field: &Field<'_>) -> Result<Duration, ManifestError> {
    let text = field.scalar(SPAN)?;
    parse_span(text).filter(|span| *span <= LONGEST).ok_or_else(|| field.unexpected(SPAN))
}

/// Numbers with units, as in `1h30m`; a bare `0` too.
fn parse_span(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))?;
        let (number, after) = rest.split_at(digits);
        let (unit, nanoseconds) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        sum += number.parse::<f64>().ok()? * nanoseconds;
        rest = after.strip_prefix(unit)?;
    }
    (!text.is_empty()).then_some(sum).and_then(|sum| Duration::try_from_secs_f64(sum / 1e9).ok())
}

/// A whole number in a range; `None` where nothing is written.
fn number(
    field: &Field<'_>,
    key: &'static str,
    range: core::ops::RangeInclusive<u64>,
    expected: &'static str,
) -> Result<Option<u64>, ManifestError> {
    let Some(field) = field.get(key)? else { return Ok(None) };
    let Value::Number(text) = &field.node.value else { return Err(field.unexpected(expected)) };
    let number = text.parse().ok().filter(|number| range.contains(number));
    let number = number.ok_or_else(|| field.fail(Problem::Range { found: text.clone(), expected }))?;
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_numbers_with_units() {
        for (text, seconds) in
            [("90s", 90.0), ("1h30m", 5400.0), ("2d", 172_800.0), ("0", 0.0), ("1.5m", 90.0), ("250ms", 0.25)]
        {
            assert_eq!(parse_span(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "90", "s", "-5s", "5 s", "1e3s", "1..5s", "5w", "999999999999999999999999d"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }
}
