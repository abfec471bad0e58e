//! Compares what topolet predicted with what the kubelet did.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cpuset::CpuSet;
use serde_json::{Value, json};

use super::facts::{self, KubeletPod, ROOT};
use super::pod_resources;
use super::processes::{DeviceNodes, Processes};
use super::wish::{DEVICE, PodWish};
use crate::machine::{json, text};

/// How long cgroups and the observer may take to follow the kubelet's state. Cgroups follow the state within one to
/// three of its periods of 10 s (kubernetes#138731).
const SETTLED: Duration = Duration::from_secs(45);

/// One place where prediction and kubelet differ, as a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference(String);

impl Difference {
    /// `None` where both are equal.
    pub(crate) fn of<T: PartialEq + Display>(what: &str, predicted: &T, actual: &T) -> Option<Self> {
        (predicted != actual).then(|| Self(format!("{what}: said {predicted}, did {actual}")))
    }

    /// One that is a sentence.
    pub(crate) const fn sentence(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// A prediction in a few words.
pub(crate) fn summary(predicted: &Value) -> String {
    match (predicted["verdict"].as_str(), predicted["refusal"]["reason"].as_str()) {
        (_, Some(reason)) => format!("refused {reason}"),
        (Some(verdict), None) => verdict.to_owned(),
        (None, None) => "nothing".to_owned(),
    }
}

/// Makes a wrong answer of a right one: with it every comparison has to fail.
pub(crate) fn falsify(predicted: &mut Value) {
    if predicted["admitted"] == true {
        for container in predicted["containers"].as_array_mut().into_iter().flatten() {
            container["exclusiveCpus"] = json!("0");
        }
    } else {
        predicted["refusal"]["message"] = json!("wrong");
    }
}

/// Whether a prediction gives some container exclusive CPUs.
pub(crate) fn has_exclusive_cpus(predicted: &Value) -> bool {
    let containers = predicted["containers"].as_array().into_iter().flatten();
    containers.into_iter().any(|container| container["exclusiveCpus"].is_string())
}

/// Compares the verdict: admitted or refused, with which reason and message.
pub(crate) fn verdict(predicted: &Value, actual: &KubeletPod) -> Vec<Difference> {
    let phase = if predicted["admitted"] == true { "Running" } else { "Failed" }.to_owned();
    let text = |name: &str| predicted["refusal"][name].as_str().unwrap_or_default().to_owned();
    let message = actual.message.trim_start_matches("Pod was rejected: ").to_owned();
    let all = [
        Difference::of("phase", &phase, &actual.phase),
        Difference::of("reason", &text("reason"), &actual.reason),
        Difference::of("message", &text("message"), &message),
    ];
    all.into_iter().flatten().collect()
}

/// Compares the CPUs, memory and devices of an admitted pod's containers with the kubelet's files and its pod resources service.
pub(crate) fn placement(
    predicted: &Value,
    wish: &PodWish,
    nodes: DeviceNodes,
) -> anyhow::Result<Vec<Difference>> {
    let actual = facts::pods()?.find(&wish.name).context("the pod is gone")?;
    let state = facts::state()?;
    let listed = pod_resources()?;
    let mut differences = Vec::new();
    let containers = predicted["containers"].as_array().map_or(&[][..], Vec::as_slice);
    differences.extend(Difference::of("containers", &containers.len(), &wish.containers()));
    for container in containers {
        let name = container["name"].as_str().unwrap_or_default();
        let what = |part: &str| format!("{part} of {name}");
        let cpus =
            |value: &Value| -> anyhow::Result<CpuSet> { Ok(value.as_str().unwrap_or_default().parse()?) };
        let predicted_cpus = cpus(&container["exclusiveCpus"])?;
        let actual_cpus = cpus(&state["cpu"]["entries"][&actual.uid][name])?;
        differences.extend(Difference::of(&what("cpu_manager_state"), &predicted_cpus, &actual_cpus));
        let predicted_memory = blocks(&container["memory"], "resource", "bytes", "nodes");
        let actual_memory =
            blocks(&state["memory"]["entries"][&actual.uid][name], "type", "size", "numaAffinity");
        differences.extend(Difference::of(&what("memory_manager_state"), &predicted_memory, &actual_memory));
        let resources = of_container(&listed, &format!("{}-node1", wish.name), name);
        let ids = resources["cpu_ids"].as_array().into_iter().flatten().map(ToString::to_string);
        let ids: CpuSet = ids.collect::<Vec<_>>().join(",").parse()?;
        differences.extend(Difference::of(&what("podresources' CPUs"), &predicted_cpus, &ids));
        let predicted_devices = devices(&container["devices"], "resource", "ids", nodes);
        let actual_devices = devices(&resources["devices"], "resource_name", "device_ids", nodes);
        differences.extend(Difference::of(&what("devices by node"), &predicted_devices, &actual_devices));
    }
    Ok(differences)
}

/// Compares the cgroups of all pods, `state show` and `serve --observe` with the kubelet's files. Tries for up to [`SETTLED`].
pub(crate) fn node(processes: &Processes) -> anyhow::Result<Vec<Difference>> {
    let began = Instant::now();
    loop {
        let differences = node_now(processes)?;
        if differences.is_empty() || began.elapsed() > SETTLED {
            return Ok(differences);
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

fn node_now(processes: &Processes) -> anyhow::Result<Vec<Difference>> {
    let state = facts::state()?;
    let mut differences = Vec::new();
    for pod in facts::pods()?.running() {
        for (name, id) in &pod.running {
            differences.extend(cgroup(&state, &pod, name, id)?);
        }
    }
    let recorded = entries(&state).to_string();
    let shown = json(&["state", "show", "--state", ROOT, "-o", "json"])?;
    differences.extend(Difference::of("state show", &holders(&shown).to_string(), &recorded));
    let observed = processes.observed()?;
    differences.extend(Difference::of("serve --observe", &holders(&observed).to_string(), &recorded));
    Ok(differences)
}

/// Compares the CPUs and NUMA nodes of one container's cgroup with the kubelet's files.
fn cgroup(state: &Value, pod: &KubeletPod, name: &str, id: &str) -> anyhow::Result<Vec<Difference>> {
    let Some(group) = pod.group(id) else {
        return Ok(vec![Difference(format!("container {name} of {} has no cgroup", pod.uid))]);
    };
    let own = state["cpu"]["entries"][&pod.uid][name].as_str();
    let pool = state["cpu"]["defaultCpuSet"].as_str().unwrap_or_default();
    let cpus: CpuSet = own.unwrap_or(pool).parse()?;
    let in_effect: CpuSet = text(group.join("cpuset.cpus.effective"))?.parse()?;
    let mut differences: Vec<Difference> =
        Difference::of(&format!("cpuset.cpus of {name} of {}", pod.uid), &cpus, &in_effect)
            .into_iter()
            .collect();
    let blocks = state["memory"]["entries"][&pod.uid][name].as_array().into_iter().flatten();
    let nodes = blocks.flat_map(|block| block["numaAffinity"].as_array().into_iter().flatten());
    let nodes: Vec<String> = nodes.map(ToString::to_string).collect();
    if !nodes.is_empty() {
        let mems: CpuSet = text(group.join("cpuset.mems.effective"))?.parse()?;
        let nodes = nodes.join(",").parse()?;
        differences.extend(Difference::of(&format!("cpuset.mems of {name} of {}", pod.uid), &nodes, &mems));
    }
    Ok(differences)
}

/// Exclusive CPUs by `UID/CONTAINER` in the kubelet's file.
pub(crate) fn entries(state: &Value) -> Value {
    let pods = state["cpu"]["entries"].as_object().into_iter().flatten();
    let all = pods.flat_map(|(uid, own)| {
        own.as_object().into_iter().flatten().map(move |(name, cpus)| (format!("{uid}/{name}"), cpus.clone()))
    });
    json!(all.collect::<BTreeMap<_, _>>())
}

/// The same of what topolet lists.
fn holders(listed: &Value) -> Value {
    let all = listed["containers"].as_array().into_iter().flatten();
    let all = all.filter(|own| own["cpus"].as_str().is_some_and(|cpus| !cpus.is_empty()));
    let key = |own: &Value| {
        format!(
            "{}/{}",
            own["uid"].as_str().unwrap_or_default(),
            own["container"].as_str().unwrap_or_default()
        )
    };
    json!(all.map(|own| (key(own), own["cpus"].clone())).collect::<BTreeMap<_, _>>())
}

/// Memory blocks as text, in one order. topolet writes nodes as `0-1`, the kubelet as `[0,1]`.
fn blocks(list: &Value, kind: &str, size: &str, nodes: &str) -> String {
    let ids_of = |value: &Value| {
        let ids = || value.as_array().into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
        let text = value.as_str().map_or_else(|| ids().join(","), str::to_owned);
        text.parse::<CpuSet>().map(|set| set.to_string()).unwrap_or_default()
    };
    let all = list.as_array().into_iter().flatten();
    let mut all: Vec<String> = all
        .map(|block| {
            format!(
                "{} {} on {}",
                block[kind].as_str().unwrap_or_default(),
                block[size],
                ids_of(&block[nodes])
            )
        })
        .collect();
    all.sort();
    all.join(", ")
}

/// How many devices of each node, all under the first where the nodes do not differ: which of equal devices the kubelet
/// takes depends on map order.
fn devices(list: &Value, resource: &str, ids: &str, nodes: DeviceNodes) -> String {
    let own = list.as_array().into_iter().flatten().filter(|of| of[resource] == DEVICE);
    let ids = own.flat_map(|of| of[ids].as_array().into_iter().flatten()).filter_map(Value::as_str);
    let mut counts = [0, 0];
    for id in ids {
        let number = id.rsplit('-').next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
        counts[if nodes == DeviceNodes::Both { number % 2 } else { 0 }] += 1;
    }
    format!("{} and {}", counts[0], counts[1])
}

fn of_container(listed: &Value, pod: &str, container: &str) -> Value {
    let pods = listed["pod_resources"].as_array().into_iter().flatten();
    let pod = pods.into_iter().find(|own| own["name"] == pod).cloned().unwrap_or_default();
    let containers = pod["containers"].as_array().into_iter().flatten();
    containers.into_iter().find(|own| own["name"] == container).cloned().unwrap_or_default()
}
