//! `cargo xtask cluster-claims`: kube-scheduler allocates devices to the claims of many pods, and topolet says beforehand which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use anyhow::{Context as _, bail, ensure};
use fastrand::Rng;
use fs_err as fs;
use local_cluster::{Fleet, NODE_RIGHTS, Parts, Programs, RELEASE};
use serde_json::{Value, json};
use workspace_tools::control_plane;
use workspace_tools::workspace::target;

/// Places pods with claims on a local cluster and compares the devices that kube-scheduler allocates with those that topolet names
/// beforehand.
///
/// kube-controller-manager makes the claims of templates. Before each pod `topolet admit --kubeconfig` is asked for its devices on every
/// node; then the pod is created, and its `status.allocation` on the node that kube-scheduler takes has to be the same. A pod that gets
/// no node must get no devices on any. Fails on the first difference.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterClaims {
    /// Pods that are created, some of which are deleted again.
    #[arg(long, default_value_t = 300)]
    pods: usize,
    /// Which pods.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The machine of each node, whose GPUs, network cards and disks are its devices.
    #[arg(long, value_name = "MACHINE", default_value = "epyc-2s-96cpu-16l3-8gpu")]
    machine: String,
    /// The release of Kubernetes.
    #[arg(long, value_name = "VERSION", default_value = RELEASE)]
    kubelet_version: String,
}

const NODES: u16 = 2;
const NUMA: &str = "resource.kubernetes.io/numaNode";
/// How long kube-scheduler may take for a pod.
const PATIENCE: Duration = Duration::from_mins(1);
/// Devices whose driver publishes no NUMA node, as those of the example driver for GPUs.
const PLACELESS: &str = "gpu.example.com";

/// A device by driver, pool and name, for a request.
type Allocated = [String; 4];

/// What came out.
#[derive(Debug, Default)]
struct Figures {
    placed: usize,
    without_devices: usize,
    devices: usize,
    deleted: usize,
}

impl ClusterClaims {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        control_plane::build(&self.kubelet_version)?;
        let topolet = control_plane::topolet()?;
        let programs = Programs::built(&target(), &self.kubelet_version)?;
        let cluster = local_cluster::Cluster::start(&programs, Parts::Controllers)?;
        cluster.apply(NODE_RIGHTS)?;
        let arguments = ["--machine", &self.machine, "--config", "pinned", "--policy", "best-effort"];
        let mut fleet = Fleet::start(&cluster, &topolet, NODES, &arguments)?;
        fleet.until_ready(&cluster)?;
        let folder = tempfile::Builder::new().prefix("claims").tempdir()?;
        let desk = Desk { campaign: &self, cluster, topolet, pod: folder.path().join("pod.yaml") };
        let classes = desk.publish()?;
        let figures = desk.place(&classes)?;
        println!(
            "{} pods of seed {} on {NODES} nodes with {} of Kubernetes {}: {figures}",
            self.pods, self.seed, self.machine, self.kubelet_version
        );
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { placed, without_devices, devices, deleted } = self;
        write!(
            f,
            "{placed} were placed with {devices} devices, {without_devices} found no devices, {deleted} were deleted; 0 disagreements"
        )
    }
}

struct Desk<'a> {
    campaign: &'a ClusterClaims,
    cluster: local_cluster::Cluster,
    topolet: PathBuf,
    /// The file of the pod that is asked about.
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
        let mut drivers: Vec<String> = vec![PLACELESS.to_owned()];
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
            let devices: Vec<Value> = (0..4).map(|at| json!({"name": format!("card-{at}")})).collect();
            let pool = json!({"name": node, "generation": 1, "resourceSliceCount": 1});
            let slice = json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": format!("{node}-placeless")},
                "spec": {"driver": PLACELESS, "nodeName": node, "pool": pool, "devices": devices},
            });
            self.cluster.apply(&slice.to_string())?;
        }
        let slices = self.object(&["resourceslices"])?;
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
        Ok(drivers)
    }

    fn place(&self, classes: &[String]) -> anyhow::Result<Figures> {
        let mut random = Rng::with_seed(self.campaign.seed);
        let (mut figures, mut running) = (Figures::default(), Vec::<String>::new());
        for number in 0..self.campaign.pods {
            let pod = format!("pod-{number}");
            let manifest = drawn(&pod, classes, &mut random);
            fs::write(&self.pod, &manifest)?;
            let ours = self.ours()?;
            self.cluster.apply(&manifest)?;
            if let Some((node, devices)) = self.allocated(&pod)? {
                let own = ours.get(&node).and_then(Option::as_ref);
                ensure!(
                    own == Some(&devices),
                    "{pod} has {devices:?} on {node}, and topolet named {own:?}:\n{manifest}"
                );
                figures.placed += 1;
                figures.devices += devices.len();
                running.push(pod);
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
            if !running.is_empty() && random.u8(0..3) == 0 {
                let gone = running.swap_remove(random.usize(0..running.len()));
                self.delete(&gone)?;
                figures.deleted += 1;
            }
        }
        Ok(figures)
    }

    /// The devices that topolet names on each node; `None`: the pod gets none there.
    fn ours(&self) -> anyhow::Result<BTreeMap<String, Option<Vec<Allocated>>>> {
        let (pod, kubeconfig) = (text(&self.pod), text(&self.cluster.kubeconfig()));
        let on = |node: String| {
            let machine = &self.campaign.machine;
            let answer = self.topolet(&[
                "admit",
                "-m",
                machine,
                "-f",
                &pod,
                "--kubeconfig",
                &kubeconfig,
                "--node-name",
                &node,
                "-o",
                "json",
            ])?;
            let decision = serde_json::from_str::<Value>(&answer)?["decisions"][0].take();
            let claims = decision["claims"]["claims"].as_array().cloned().unwrap_or_default();
            let devices = claims.iter().flat_map(|claim| claim["devices"].as_array().into_iter().flatten());
            let devices: Vec<Allocated> = devices.map(allocated).collect();
            Ok((node, (decision["verdict"] != "unschedulable").then_some(devices)))
        };
        (1..=NODES).map(name).map(on).collect()
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
                return Ok(Some((node.to_owned(), devices.map(allocated).collect())));
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

fn allocated(device: &Value) -> Allocated {
    ["request", "driver", "pool", "device"].map(|field| device[field].as_str().unwrap_or_default().to_owned())
}

/// A pod with pinned or shared CPUs and the template of its claim: one to three requests, of which those with a NUMA node may have to be
/// on one.
fn drawn(pod: &str, classes: &[String], random: &mut Rng) -> String {
    let count = random.usize(1..=3);
    let requests: Vec<Value> = (0..count)
        .map(|at| {
            let class = &classes[random.usize(0..classes.len())];
            json!({"name": format!("r-{at}"), "exactly": {"deviceClassName": class, "count": random.u8(1..=3)}})
        })
        .collect();
    let is_placed = |request: &&Value| request["exactly"]["deviceClassName"] != PLACELESS;
    let placed: Vec<&Value> = requests.iter().filter(is_placed).map(|request| &request["name"]).collect();
    let constraints = if !placed.is_empty() && random.bool() {
        json!([{"matchAttribute": NUMA, "requests": placed}])
    } else {
        json!([])
    };
    let cpus = ["1", "2", "4", "500m"][random.usize(0..4)];
    let template = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": pod},
        "spec": {"spec": {"devices": {"requests": requests, "constraints": constraints}}},
    });
    let resources = json!({"limits": {"cpu": cpus, "memory": "256Mi"}, "claims": [{"name": "d"}]});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod},
        "spec": {
            "resourceClaims": [{"name": "d", "resourceClaimTemplateName": pod}],
            "containers": [{"name": "app", "image": "none", "resources": resources}],
            "terminationGracePeriodSeconds": 0,
        },
    });
    format!("{template}\n---\n{pod}\n")
}
