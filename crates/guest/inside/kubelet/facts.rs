//! What the kubelet did, as it can be read afterwards: its list of pods, its state files, and the cgroups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cpuset::CpuSet;
use serde_json::Value;

use super::http::http;
use crate::machine::{json_of_line, text};

/// The kubelet's folder.
pub(crate) const ROOT: &str = "/var/lib/kubelet";

/// The kubelet's own list of pods, as its read-only port has it.
pub(crate) struct Pods(pub(crate) Value);

/// A pod as the kubelet lists it.
#[derive(Clone, Debug)]
pub(crate) struct KubeletPod {
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) uid: String,
    /// Container id by name, of those that run.
    pub(crate) running: BTreeMap<String, String>,
}

impl Pods {
    /// The static pod whose manifest has this name.
    pub(crate) fn find(&self, pod: &str) -> Option<KubeletPod> {
        self.named(&of_static_pod(pod))
    }

    /// The pod that the kubelet lists under this name.
    pub(crate) fn named(&self, name: &str) -> Option<KubeletPod> {
        let pod = self.0["items"].as_array()?.iter().find(|own| own["metadata"]["name"] == *name)?;
        Some(KubeletPod::of(pod))
    }

    /// The ids of all running containers.
    pub(crate) fn containers(&self) -> Value {
        let all = self.0["items"].as_array().into_iter().flatten().map(KubeletPod::of);
        let mut ids: Vec<String> = all.flat_map(|pod| pod.running.into_values()).collect();
        ids.sort();
        ids.into()
    }

    /// The pods with their running containers.
    pub(crate) fn running(&self) -> Vec<KubeletPod> {
        let all = self.0["items"].as_array().into_iter().flatten().map(KubeletPod::of);
        all.filter(KubeletPod::is_running).collect()
    }
}

impl KubeletPod {
    fn of(pod: &Value) -> Self {
        let field = |name: &str| pod["status"][name].as_str().unwrap_or_default().to_owned();
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let running = statuses.filter(|status| status["state"]["running"].is_object()).filter_map(|status| {
            let id = status["containerID"].as_str()?.trim_start_matches("containerd://");
            Some((status["name"].as_str()?.to_owned(), id.to_owned()))
        });
        Self {
            phase: field("phase"),
            reason: field("reason"),
            message: field("message"),
            uid: pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            running: running.collect(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.phase == "Running"
    }

    /// Its phase, and the reason of a refusal.
    pub(crate) fn summary(&self) -> String {
        if self.is_running() { "Running".to_owned() } else { format!("{} {}", self.phase, self.reason) }
    }

    /// The cgroup of a container.
    pub(crate) fn group(&self, id: &str) -> Option<PathBuf> {
        let classes = ["", "burstable", "besteffort"].into_iter();
        let path = |class: &str| {
            Path::new("/sys/fs/cgroup/kubepods").join(class).join(format!("pod{}/{id}", self.uid))
        };
        classes.map(path).find(|path| path.is_dir())
    }
}

/// The kubelet's name of a static pod: it appends the name of the node.
pub(crate) fn of_static_pod(pod: &str) -> String {
    format!("{pod}-node1")
}

/// Whether the kubelet no longer lists a pod, and its CPUs are free. `name` is the kubelet's name of it.
///
/// # Errors
/// The kubelet does not answer, or its files cannot be read.
pub(crate) fn is_gone(name: &str, uid: &str) -> anyhow::Result<bool> {
    // Memory and devices of a pod that is gone stay in their files until they are next looked at.
    let state = state()?;
    let is_out = uid.is_empty() || !state["cpu"].to_string().contains(uid);
    Ok(is_out && pods()?.named(name).is_none() && has_all_cpus(&state)?)
}

/// What the kubelet's read-only port lists.
pub(crate) fn pods() -> anyhow::Result<Pods> {
    Ok(Pods(json_of_line(&http(10255, "/pods")?)?))
}

/// The managers' two state files.
pub(crate) fn state() -> anyhow::Result<Value> {
    let file = |name: &str| json_of_line(&text(Path::new(ROOT).join(name))?).with_context(|| name.to_owned());
    Ok(serde_json::json!({"cpu": file("cpu_manager_state")?, "memory": file("memory_manager_state")?}))
}

/// Whether each CPU is in the shared pool or a container's own. A kubelet that releases CPUs writes its file twice, without
/// them first: one that is killed in between does not start any more.
pub(crate) fn has_all_cpus(state: &Value) -> anyhow::Result<bool> {
    let cpu = &state["cpu"];
    let pods = cpu["entries"].as_object().into_iter().flatten();
    let own =
        pods.flat_map(|(_, containers)| containers.as_object().into_iter().flatten()).map(|(_, cpus)| cpus);
    let mut all = CpuSet::default();
    for cpus in own.chain([&cpu["defaultCpuSet"]]) {
        let cpus: CpuSet = cpus.as_str().unwrap_or_default().parse().context("CPUs in the kubelet's file")?;
        all = &all | &cpus;
    }
    let online: CpuSet = text("/sys/devices/system/cpu/online")?.trim().parse().context("online CPUs")?;
    Ok(all == online)
}
