//! Reads the parts of a scenario.

use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use node_config::{OwnOptions, Placement};

use super::claims::read_claims;
use super::spans::{SPAN, read_spans, span};
use super::{
    Scenario, ScenarioArrivals, ScenarioConfiguration, ScenarioMachine, ScenarioOptions, ScenarioPlace,
    ScenarioPod, ScenarioRepack, ScenarioRetry, SchedulerName, TracedPod,
};
use crate::node::{Field, MapEntry, Value, known_fields};
use crate::own::{read_sections, read_strategy};
use crate::pods::read_inline_pod;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// More is a typing error, or more than a simulation should be asked.
const MOST_PODS: u64 = 10_000_000;
const MOST_MACHINES: u64 = 10_000;
const MOST_RUNS: u64 = 1000;
const MOST_WEIGHT: u64 = 1_000_000;

const FIELDS: [&str; 11] = [
    "apiVersion",
    "kind",
    "seed",
    "runs",
    "scheduler",
    "retry",
    "repack",
    "machines",
    "configurations",
    "pods",
    "arrivals",
];

/// Reads a scenario.
///
/// ```yaml
/// apiVersion: topolet.dev/v1alpha1
/// kind: Scenario
/// seed: 7                                # default 0
/// runs: 3                                # with seeds 7, 8 and 9; default 1
/// scheduler: spread                      # or pack, blind, topolet, topology-match, kai; also of one configuration
/// retry: true                            # pods that did not run come again: 1 s later, doubling to 10 s; default false
/// repack: {moves: 1, price: 5m}          # for a refused pod at most one other moves, and runs 5 min longer; also of one configuration
/// machines:
/// - {machine: spr-8480-snc4-8node, count: 4, hugepages: "0:1Gi=16", memory: "0=64Gi", devices: devices.yaml}
/// configurations:                        # default: the built-in one
/// - {name: strict, config: pinned, policy: single-numa-node, scope: pod, cpuOptions: {full-pcpus-only: true}}
/// - {name: roomy, kubelet: "1.37", placement: keep-room}          # decided by topolet, which has placement strategies
/// - {name: own, topoletConfig: {memory: {nodes: withCPUs}}}       # or the path of a file
/// - name: by-claims                      # devices by claims in place of device plugins; all three fields may be left out
///   claims:
///     resources: [nvidia.com/gpu]        # default: all that the machines have
///     matchAttribute: resource.kubernetes.io/numaNode   # of all devices of a claim; default: none
///     cpus: numanode                     # or socket, individual: by the CPU driver; default: by the kubelet
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
    let nodes = documents(source, RepeatedKey::Refused)?;
    let (Some(node), rest) = (nodes.first(), nodes.get(1..).unwrap_or_default()) else {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    };
    if let Some(second) = rest.first() {
        let found = "a second document".to_owned();
        return Err(Field::document(source, second)
            .fail(Problem::Unexpected { found, expected: "one scenario in a file" }));
    }
    document(&Field::document(source, node))
}

fn document(document: &Field<'_>) -> Result<Scenario, ManifestError> {
    header(document, "kind", "Scenario", |found| Problem::Kind { found, expected: "kind Scenario" })?;
    header(document, "apiVersion", "topolet.dev/v1alpha1", |found| Problem::ApiVersion {
        found,
        expected: "apiVersion topolet.dev/v1alpha1",
    })?;
    // After that: of another kind all fields are other ones.
    let mut known = FIELDS.to_vec();
    known.push("trace");
    let expected = "seed, runs, scheduler, retry, repack, machines, configurations, pods, arrivals or trace";
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
        scheduler: read_scheduler(document)?.unwrap_or_default(),
        retry: read_retry(document)?,
        repack: read_repack(document)?,
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

fn read_scheduler(field: &Field<'_>) -> Result<Option<SchedulerName>, ManifestError> {
    const EXPECTED: &str = "spread, pack, blind, topolet, topology-match or kai";
    let Some(field) = field.get("scheduler")? else { return Ok(None) };
    Ok(Some(match field.text(EXPECTED)? {
        "spread" => SchedulerName::Spread,
        "pack" => SchedulerName::Pack,
        "blind" => SchedulerName::Blind,
        "topolet" => SchedulerName::Topolet,
        "topology-match" => SchedulerName::TopologyMatch,
        "kai" => SchedulerName::Kai,
        _ => return Err(field.unexpected(EXPECTED)),
    }))
}

fn read_retry(document: &Field<'_>) -> Result<ScenarioRetry, ManifestError> {
    let Some(field) = document.get("retry")? else { return Ok(ScenarioRetry::default()) };
    match field.node.value {
        Value::Bool(true) => Ok(ScenarioRetry::BackOff),
        Value::Bool(false) => Ok(ScenarioRetry::Never),
        _ => Err(field.unexpected("true or false")),
    }
}

fn read_repack(field: &Field<'_>) -> Result<Option<ScenarioRepack>, ManifestError> {
    const MOVES: &str = "a number of pods, 1 to 3";
    let Some(field) = field.get("repack")? else { return Ok(None) };
    known_fields(&field, &["moves", "price"], "moves or price")?;
    let moves = number(&field, "moves", 1..=3, MOVES)?.and_then(|moves| u32::try_from(moves).ok());
    let moves = moves.and_then(NonZeroU32::new);
    Ok(Some(ScenarioRepack {
        moves: moves.ok_or_else(|| field.fail(Problem::Missing { field: "moves", expected: MOVES }))?,
        price: field.get("price")?.map_or(Ok(Duration::ZERO), |price| span(&price))?,
    }))
}

fn read_machine(field: &Field<'_>) -> Result<ScenarioMachine, ManifestError> {
    const MACHINE: &str = "the name of a built-in machine, or a path";
    let known = ["machine", "count", "hugepages", "memory", "devices"];
    known_fields(field, &known, "machine, count, hugepages, memory or devices")?;
    let count = number(field, "count", 1..=MOST_MACHINES, "a number of machines, 1 to 10000")?.unwrap_or(1);
    Ok(ScenarioMachine {
        machine: field.require("machine", MACHINE)?.text(MACHINE)?.to_owned(),
        count: usize::try_from(count).unwrap_or(usize::MAX),
        hugepages: optional(field, "hugepages", "pages as in 0:1Gi=16,1:1Gi=16")?,
        memory: optional(field, "memory", "memory as in 0=64Gi,1=64Gi")?,
        devices: optional(field, "devices", "the path of a device inventory")?,
        place: ScenarioPlace::of(field),
    })
}

fn read_configuration(field: &Field<'_>) -> Result<ScenarioConfiguration, ManifestError> {
    const NAME: &str = "what the configuration is called";
    const KNOWN: [&str; 12] = [
        "name",
        "scheduler",
        "repack",
        "config",
        "kubelet",
        "topoletConfig",
        "placement",
        "policy",
        "scope",
        "cpuOptions",
        "topologyOptions",
        "claims",
    ];
    let expected = "name, scheduler, repack, config, kubelet, topoletConfig, placement, policy, scope, cpuOptions, topologyOptions or claims";
    known_fields(field, &KNOWN, expected)?;
    let name = field.require("name", NAME)?;
    let text = name.text(NAME)?;
    if text.is_empty() || text.chars().any(char::is_control) || text.chars().count() > 80 {
        return Err(name.unexpected("a name of one line, at most 80 letters"));
    }
    Ok(ScenarioConfiguration {
        name: text.to_owned(),
        scheduler: read_scheduler(field)?,
        repack: read_repack(field)?,
        config: optional(field, "config", "pinned, kubelet-defaults, or the path of a file")?,
        kubelet: optional(field, "kubelet", "a release of the kubelet in quotes, such as \"1.37\"")?,
        options: read_own(field)?,
        policy: optional(field, "policy", "a policy of the Topology Manager")?,
        scope: optional(field, "scope", "container or pod")?,
        cpu_options: read_options(field, "cpuOptions")?,
        topology_options: read_options(field, "topologyOptions")?,
        claims: read_claims(field)?,
        place: ScenarioPlace::of(field),
    })
}

/// Options of this project's own: `topoletConfig`, or its `placement.strategy` alone.
fn read_own(field: &Field<'_>) -> Result<Option<ScenarioOptions>, ManifestError> {
    let strategy = read_strategy(field, "placement")?;
    let Some(own) = field.get("topoletConfig")? else {
        return Ok(strategy.map(|strategy| {
            let placement = Placement { strategy, ..Placement::default() };
            ScenarioOptions::Inline(Box::new(OwnOptions { placement, ..OwnOptions::default() }))
        }));
    };
    if strategy.is_some() {
        return Err(own.unexpected("no topoletConfig beside placement: placement.strategy in it is the same"));
    }
    if let Value::Map(_) = own.node.value {
        let mut options = OwnOptions::default();
        read_sections(&own, &[], &mut options)?;
        return Ok(Some(ScenarioOptions::Inline(Box::new(options))));
    }
    Ok(Some(ScenarioOptions::File(own.text("the path of a file, or its fields")?.to_owned())))
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
    let option = |MapEntry { key, value, .. }: MapEntry<'_>| {
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
        pod: read_inline_pod(&pod)?,
        weight: u32::try_from(weight).unwrap_or(u32::MAX),
        lifetime: field.get("lifetime")?.map(|lifetime| read_spans(&lifetime)).transpose()?,
        place: ScenarioPlace::of(&pod),
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
