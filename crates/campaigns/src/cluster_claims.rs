//! `cargo xtask cluster-claims`: kube-scheduler allocates devices to the claims of many pods, and topolet says beforehand which.

mod allocated;
mod drawn;
mod drivers;
mod figures;
mod beside;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use fastrand::Rng;
use fs_err as fs;
use local_cluster::{Fleet, NODE_RIGHTS, Parts, Programs, RELEASE};
use serde_json::{Value, json};
use workspace_tools::control_plane;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::target;

use self::allocated::{Allocated, allocated};
use self::beside::{Machine, Places, said, word};
use self::drawn::drawn;
use self::drivers::Drivers;
use self::figures::Figures;
use crate::machine_tree::unpack;

const DOCUMENT: &str = "docs/claims.md";

/// Places pods with claims on a local cluster and compares the devices that kube-scheduler allocates with those that topolet names
/// beforehand.
///
/// kube-controller-manager makes the claims of templates. Before each pod `topolet admit --kubeconfig` is asked for its devices on every
/// node; then the pod is created, and its `status.allocation` on the node that kube-scheduler takes has to be the same. A pod that gets
/// no node must get no devices on any. A pod of which kube-scheduler's search may take too long is left out.
///
/// Of each pod that is placed, `topolet admit` is then asked about all pods of the node: what it says of the pod's devices beside its
/// CPUs and memory has to be what the devices of `status.allocation`, their slices and the machine's /sys say. Fails on the first
/// difference.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterClaims {
    /// Pods that are created, some of which are deleted again.
    #[arg(long, default_value_t = 300)]
    pods: usize,
    /// Which pods.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The built-in machine of each node, whose GPUs, network cards and disks are its devices.
    #[arg(long, value_name = "MACHINE", default_value = "epyc-2s-96cpu-16l3-8gpu")]
    machine: String,
    /// The release of Kubernetes.
    #[arg(long, value_name = "VERSION", default_value = RELEASE)]
    kubelet_version: String,
    /// The CPU driver publishes the CPUs of the machine, and the example driver what its profiles make up. Needs root, and Go for the
    /// first build.
    #[arg(long)]
    drivers: bool,
    /// Writes the figures to docs/claims.md.
    #[arg(long)]
    write: bool,
}

const NODES: u16 = 2;
/// How long kube-scheduler may take for a pod.
const PATIENCE: Duration = Duration::from_mins(1);
/// Devices whose driver publishes no NUMA node, as those of the example driver for GPUs.
const PLACELESS: &str = "gpu.example.com";
/// Configuration and policy of the nodes.
const RULES: [&str; 4] = ["--config", "pinned", "--policy", "best-effort"];

impl ClusterClaims {
    #[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        control_plane::build(&self.kubelet_version)?;
        let topolet = control_plane::topolet()?;
        let programs = Programs::built(&target(), &self.kubelet_version)?;
        let folder = tempfile::Builder::new().prefix("claims").tempdir()?;
        let tree = folder.path().join("machine");
        unpack(&self.machine, &tree)?;
        let cluster = local_cluster::Cluster::start(&programs, Parts::Controllers)?;
        cluster.apply(NODE_RIGHTS)?;
        let arguments = [&["--machine", self.machine.as_str()], &RULES[..]].concat();
        let mut fleet = Fleet::start(&cluster, &topolet, NODES, &arguments)?;
        fleet.until_ready(&cluster)?;
        let machine = Machine::of(&tree.join("sys"))?;
        let nodes: Vec<String> = (1..=NODES).map(name).collect();
        let drivers = self.drivers.then(|| Drivers::start(&cluster, &nodes, &machine, folder.path()));
        let _drivers = drivers.transpose()?;
        let desk = Desk { campaign: &self, cluster, topolet, machine, pod: folder.path().join("pod.yaml") };
        let classes = desk.publish()?;
        let text = desk.place(&classes)?.to_string();
        print!("{text}");
        if !self.write {
            return Ok(());
        }
        write_figures(
            DOCUMENT,
            &format!("cargo xtask cluster-claims --kubelet-version {}", self.kubelet_version),
            &text,
        )
    }
}

struct Desk<'a> {
    campaign: &'a ClusterClaims,
    cluster: local_cluster::Cluster,
    topolet: PathBuf,
    machine: Machine,
    /// The file of the pod that is asked about, or of those of a node.
    pod: PathBuf,
}

impl Desk<'_> {
    fn topolet(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output =
            Command::new(&self.topolet).args(arguments).output().context("topolet cannot be started")?;
        // 2: the pod does not fit.
        ensure!(
            matches!(output.status.code(), Some(0 | 2)),
            "topolet {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Publishes the devices of each node, and a class for each driver, whose names come back.
    fn publish(&self) -> anyhow::Result<Vec<String>> {
        for node in (1..=NODES).map(name) {
            let text = self.topolet(&[
                "export",
                "resourceslices",
                "-m",
                &self.campaign.machine,
                "--node-name",
                &node,
                "-o",
                "yaml",
            ])?;
            self.cluster.apply(&text)?;
            if self.campaign.drivers {
                continue;
            }
            let devices: Vec<Value> = (0..4).map(|at| json!({"name": format!("card-{at}")})).collect();
            let pool = json!({"name": node, "generation": 1, "resourceSliceCount": 1});
            let slice = json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": format!("{node}-placeless")},
                "spec": {"driver": PLACELESS, "nodeName": node, "pool": pool, "devices": devices},
            });
            self.cluster.apply(&slice.to_string())?;
        }
        let slices = self.object(&["resourceslices"])?;
        let mut drivers: Vec<String> = Vec::new();
        for slice in slices["items"].as_array().into_iter().flatten() {
            let driver = slice["spec"]["driver"].as_str().unwrap_or_default().to_owned();
            if !drivers.contains(&driver) {
                drivers.push(driver);
            }
        }
        for driver in &drivers {
            let expression = format!("device.driver == '{driver}'");
            let class = json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": driver},
                "spec": {"selectors": [{"cel": {"expression": expression}}]},
            });
            self.cluster.apply(&class.to_string())?;
        }
        // API servers list by name, and names of slices have random parts.
        drivers.sort();
        Ok(drivers)
    }

    fn place(&self, classes: &[String]) -> anyhow::Result<Figures> {
        let Self { campaign, .. } = self;
        let mut random = Rng::with_seed(campaign.seed);
        let mut figures = Figures { pods: campaign.pods, ..Figures::default() };
        let mut running: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let places = Places::of(&self.object(&["resourceslices"])?, &self.machine);
        for number in 0..campaign.pods {
            let pod = format!("pod-{number}");
            let manifest = drawn(&pod, classes, &mut random);
            fs::write(&self.pod, &manifest)?;
            let Some(ours) = self.ours()? else {
                figures.slow += 1;
                continue;
            };
            self.cluster.apply(&manifest)?;
            if let Some((node, devices)) = self.allocated(&pod)? {
                let own = ours.get(&node).and_then(Option::as_ref);
                ensure!(
                    own == Some(&devices),
                    "{pod} has {devices:?} on {node}, and topolet named {own:?}:\n{manifest}"
                );
                figures.placed += 1;
                for [_, driver, ..] in &devices {
                    *figures.devices.entry(driver.clone()).or_default() += 1;
                }
                let beside = running.entry(node.clone()).or_default();
                beside.push(pod.clone());
                let decision = self.admitted(&node, beside)?;
                let found = word(&decision["containers"][0], &devices, &places, &self.machine)?;
                let said = said(&decision);
                ensure!(
                    said == [found],
                    "{pod} on {node} with {devices:?} is {found}, and topolet says {said:?}: {decision}"
                );
                *figures.words.entry(found).or_default() += 1;
            } else {
                let fits: Vec<&String> =
                    ours.iter().filter(|(_, own)| own.is_some()).map(|(node, _)| node).collect();
                ensure!(
                    fits.is_empty(),
                    "{pod} gets no node, and topolet has devices on {fits:?}:\n{manifest}"
                );
                figures.without_devices += 1;
                self.delete(&pod)?;
            }
            let all: Vec<(String, String)> = running
                .iter()
                .flat_map(|(node, pods)| pods.iter().map(|pod| (node.clone(), pod.clone())))
                .collect();
            if !all.is_empty() && random.u8(0..3) == 0 {
                let (node, gone) = &all[random.usize(0..all.len())];
                self.delete(gone)?;
                running.entry(node.clone()).or_default().retain(|pod| pod != gone);
                figures.deleted += 1;
            }
        }
        Ok(figures)
    }

    /// What topolet decides on the last of the pods of a node, which come in this order.
    fn admitted(&self, node: &str, pods: &[String]) -> anyhow::Result<Value> {
        let names: Vec<&str> = ["pod"].into_iter().chain(pods.iter().map(String::as_str)).collect();
        fs::write(&self.pod, self.object(&names)?.to_string())?;
        let last = pods.last().map_or("", String::as_str);
        let mut decisions = self.decisions(node, &["--pod", last])?;
        let decision = decisions["decisions"][0].take();
        ensure!(
            decision["admitted"] == true,
            "{last} runs on {node}, and topolet does not admit it: {decision}"
        );
        Ok(decision)
    }

    /// What topolet decides on the file of pods and a node.
    fn decisions(&self, node: &str, more: &[&str]) -> anyhow::Result<Value> {
        let (pod, kubeconfig) = (text(&self.pod), text(&self.cluster.kubeconfig()));
        let of_node = ["admit", "-m", &self.campaign.machine, "-f", &pod, "--node-name", node];
        let rest = ["--kubeconfig", &kubeconfig, "-o", "json"];
        Ok(serde_json::from_str(&self.topolet(&[&of_node[..], &RULES, &rest, more].concat())?)?)
    }

    /// The devices that topolet names on each node, for a pod that gets none there `None`; `None`: kube-scheduler's search may take
    /// longer than its limit.
    fn ours(&self) -> anyhow::Result<Option<BTreeMap<String, Option<Vec<Allocated>>>>> {
        let mut ours = BTreeMap::new();
        for node in (1..=NODES).map(name) {
            let mut decisions = self.decisions(&node, &[])?;
            let decision = decisions["decisions"][0].take();
            let limit = &decision["claims"]["search"]["limit"];
            if decision["unschedulable"]["kind"] == "timesOut" || !(limit.is_null() || limit == "within") {
                return Ok(None);
            }
            let claims = decision["claims"]["claims"].as_array().into_iter().flatten();
            let devices = claims.flat_map(|claim| claim["devices"].as_array().into_iter().flatten());
            let devices: Vec<Allocated> = devices.map(|device| allocated(device, "consumed")).collect();
            ours.insert(node, (decision["verdict"] != "unschedulable").then_some(devices));
        }
        Ok(Some(ours))
    }

    /// The node and the devices that kube-scheduler gives a pod; `None`: it finds none.
    fn allocated(&self, pod: &str) -> anyhow::Result<Option<(String, Vec<Allocated>)>> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let object = self.object(&["pod", pod])?;
            let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
            let is_refused = |condition: &&Value| {
                condition["type"] == "PodScheduled"
                    && condition["status"] == "False"
                    && condition["message"]
                        .as_str()
                        .is_some_and(|message| message.contains("nodes are available"))
            };
            if conditions.filter(is_refused).count() > 0 && object["spec"]["nodeName"].is_null() {
                return Ok(None);
            }
            if let Some(node) = object["spec"]["nodeName"].as_str() {
                let claim = object["status"]["resourceClaimStatuses"][0]["resourceClaimName"].as_str();
                let claim = claim.with_context(|| format!("{pod} has no claim: {}", object["status"]))?;
                let status = self.object(&["resourceclaim", claim])?["status"].take();
                let devices = status["allocation"]["devices"]["results"].as_array().into_iter().flatten();
                let devices = devices.map(|device| allocated(device, "consumedCapacity"));
                return Ok(Some((node.to_owned(), devices.collect())));
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("{pod} is neither placed nor refused after {PATIENCE:?}")
    }

    /// Deletes a pod, and waits until its claim is gone.
    fn delete(&self, pod: &str) -> anyhow::Result<()> {
        self.cluster.kubectl(&["delete", "pod", pod, "--wait=true"])?;
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let claims = self.object(&["resourceclaims"])?;
            let owners = claims["items"].as_array().into_iter().flatten();
            let mut owners = owners.map(|claim| &claim["metadata"]["ownerReferences"][0]["name"]);
            if !owners.any(|owner| owner == pod) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("the claim of {pod} is there {PATIENCE:?} after the pod")
    }

    fn object(&self, what: &[&str]) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.cluster.kubectl(&[&["get"], what, &["-o", "json"]].concat())?)?)
    }
}

fn name(node: u16) -> String {
    format!("node-{node}")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
