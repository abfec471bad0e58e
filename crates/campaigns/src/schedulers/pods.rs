//! The pods of a scenario, with the times at which they come.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use node_simulation::{Arrival, Distribution, DistributionError, Lifetime, Template, Weight, arrivals};
use pod_spec::{Container, ResourceList, Role};
use serde_json::{Map, Value, json};
use topology_manifest::{ScenarioArrivals, ScenarioMachine, ScenarioPod, Source, Spans, read_scenario};

/// What comes, and where it may run.
pub(super) struct Workload {
    /// The scenario's file.
    pub(super) name: String,
    /// As of `--machine`.
    pub(super) machine: String,
    /// Further arguments of a node about its machine.
    pub(super) machine_arguments: Vec<String>,
    /// In the order in which they come.
    pub(super) pods: Vec<Coming>,
}

/// A pod that comes.
pub(super) struct Coming {
    /// Its kind.
    pub(super) kind: String,
    /// Its containers.
    pub(super) spec: Value,
    /// When it comes.
    pub(super) at: Duration,
    /// How long it runs; `None`: to the end.
    pub(super) stays: Option<Duration>,
}

impl Workload {
    /// The first `count` pods of a scenario for a number of nodes, with the seconds that an hour of the scenario takes.
    pub(super) fn read(path: &Path, nodes: usize, count: usize, hour: f64) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        let bytes = fs::read(path)?;
        let source = Source::from_bytes(&shown, &bytes)?;
        let scenario = read_scenario(&source)?;
        let machine = scenario.machines.first().context("the scenario has no machine")?;
        let machines: usize = scenario.machines.iter().map(|machine| machine.count).sum();
        let ScenarioArrivals::Drawn { every, .. } = scenario.arrivals else {
            anyhow::bail!("{shown}: arrivals are a trace here, and are to be drawn");
        };
        let kinds = scenario.pods.iter().map(template).collect::<anyhow::Result<Vec<_>>>()?;
        let templates: Vec<Template> = kinds.iter().map(|(template, _)| template.clone()).collect();
        let scale = hour / 3600.0;
        #[expect(clippy::cast_precision_loss, reason = "a few")]
        let oftener = machines as f64 / nodes as f64;
        let come = |Arrival { at, template, stays }: Arrival| {
            let (template, spec) = kinds.get(template)?;
            Some(Coming {
                kind: template.name.clone(),
                spec: spec.clone(),
                at: at.mul_f64(scale * oftener),
                stays: stays.map(|stays| stays.mul_f64(scale)),
            })
        };
        let pods = arrivals(&templates, distribution(every)?, count, scenario.seed);
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self {
            name: path.file_name().unwrap_or_default().display().to_string(),
            machine: beside(folder, &machine.machine)?,
            machine_arguments: machine_arguments(folder, machine)?,
            pods: pods.into_iter().filter_map(come).collect(),
        })
    }
}

/// A word with `/` or `.` is a path, from the folder of the scenario.
fn beside(folder: &Path, machine: &str) -> anyhow::Result<String> {
    if !machine.contains(['/', '.']) {
        return Ok(machine.to_owned());
    }
    let path = folder.join(machine);
    let path = path.canonicalize().with_context(|| format!("there is no {}", path.display()))?;
    Ok(path.display().to_string())
}

fn machine_arguments(folder: &Path, machine: &ScenarioMachine) -> anyhow::Result<Vec<String>> {
    let mut arguments = Vec::new();
    let mut add = |option: &str, value: &Option<String>| {
        arguments.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
    };
    add("--hugepages", &machine.hugepages);
    add("--memory", &machine.memory);
    add("--devices", &machine.devices.as_deref().map(|path| beside(folder, path)).transpose()?);
    Ok(arguments)
}

/// A kind of pod, and the `spec` that an API server takes.
fn template(pod: &ScenarioPod) -> anyhow::Result<(Template, Value)> {
    let name = &pod.pod.name;
    ensure!(
        pod.pod.resources.is_none() && pod.pod.overhead.is_empty(),
        "pod {name}: only resources of containers are sent on"
    );
    let container = |one: &Container| {
        ensure!(one.role == Role::App, "pod {name}: container {} is no app container", one.name);
        Ok(json!({
            "name": one.name.as_str(),
            "image": "none",
            "resources": {"limits": amounts(&one.limits), "requests": amounts(&one.requests)},
        }))
    };
    let containers = pod.pod.containers.iter().map(container).collect::<anyhow::Result<Vec<_>>>()?;
    let weight = pod.weight.try_into().map_or(std::num::NonZeroU32::MIN, |weight| weight);
    let lifetime = match pod.lifetime {
        None => Lifetime::Forever,
        Some(spans) => Lifetime::Drawn(distribution(spans)?),
    };
    let template = Template { name: name.clone(), pod: pod.pod.clone(), weight: Weight(weight), lifetime };
    // A pod that is deleted is gone at once, and nothing else is to be waited for.
    Ok((template, json!({"containers": containers, "terminationGracePeriodSeconds": 1})))
}

fn amounts(list: &ResourceList) -> Value {
    let amounts: Map<String, Value> =
        list.iter().map(|(name, amount)| (name.to_string(), amount.to_string().into())).collect();
    amounts.into()
}

fn distribution(spans: Spans) -> Result<Distribution, DistributionError> {
    match spans {
        Spans::Constant(value) => Distribution::constant(value),
        Spans::Uniform(from, to) => Distribution::uniform(from, to),
        Spans::Exponential(mean) => Distribution::exponential(mean),
        Spans::LogNormal { median, sigma } => Distribution::log_normal(median, sigma),
    }
}
