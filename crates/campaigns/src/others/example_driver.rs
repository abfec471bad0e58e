//! The example driver's plugin of a kubelet publishes GPUs of a node, and kube-scheduler allocates one of them.
//!
//! No kubelet is there to prepare the claim: nothing registers the plugin, and no container gets the device.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use local_cluster::{Cluster, Process, User};

use super::trial::{Outcome, Trial, object, until};

/// The driver of profile `gpu`; that of another profile is called by it.
const DRIVER: &str = "gpu.example.com";
const NODE: &str = "node-2";
const USER: User<'static> = User { name: "dra-example-driver", groups: &[] };

/// As its chart has them, for the user above.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: dra-example-driver}
rules:
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get, list, watch]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims/status], verbs: [update]}
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims/driver]
  verbs: ['associated-node:update', 'associated-node:patch']
  resourceNames: [gpu.example.com]
- {apiGroups: [''], resources: [nodes], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch, create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dra-example-driver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: dra-example-driver}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dra-example-driver}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: \"device.driver == 'gpu.example.com'\"}}]}
";

const POD: &str = "
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: trains}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  containers: [{name: app, image: none, resources: {claims: [{name: gpu}]}}]
";

/// Starts the plugin as that of a node with one of its profiles and more options. It writes below `folder`.
///
/// # Errors
/// It cannot be started.
pub(crate) fn start(
    cluster: &Cluster,
    file: &Path,
    node: &str,
    profile: &str,
    options: &[&str],
    folder: &Path,
) -> anyhow::Result<Process> {
    cluster.apply(RIGHTS)?;
    let name = format!("example-{profile}-{node}");
    let own = folder.join(&name);
    let path = |name: &str| own.join(name).display().to_string();
    fs_err::create_dir_all(path("registry"))?;
    let mut command = Command::new(file);
    command
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig_of(USER, Duration::from_hours(1))?)
        .args(["--node-name", node, "--device-profile", profile, "--cdi-root", &path("cdi")])
        .args(["--kubelet-registrar-directory-path", &path("registry")])
        .args(["--kubelet-plugins-directory-path", &path("plugins")])
        .args(options);
    Process::start(&name, &command, folder)
}

pub(super) fn attempt(trial: &Trial, file: &Path) -> anyhow::Result<Outcome> {
    let (cluster, _fleet) = trial.cluster_with_nodes()?;
    let folder = tempfile::Builder::new().prefix("dra").tempdir()?;
    let mut driver = start(&cluster, file, NODE, "gpu", &["--num-devices", "4"], folder.path())?;
    let devices = until(
        "a ResourceSlice",
        || driver.why_ended(),
        || {
            let slices = object(&cluster, &["resourceslices"])?;
            let spec = &slices["items"][0]["spec"];
            ensure!(spec["driver"] == DRIVER && spec["nodeName"] == NODE, "slices are {slices}");
            let devices = spec["devices"].as_array().map_or(0, Vec::len);
            ensure!(devices == 4, "{devices} devices are published");
            Ok(devices)
        },
    )?;
    cluster.apply(POD)?;
    let device = until(
        "an allocated claim",
        || driver.why_ended(),
        || {
            let pod = object(&cluster, &["pod", "trains"])?;
            let claim = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"].as_str();
            let claim = claim.with_context(|| format!("the pod has no claim: {}", pod["status"]))?;
            let status = object(&cluster, &["resourceclaim", claim])?["status"].clone();
            let allocated = &status["allocation"]["devices"]["results"][0];
            ensure!(allocated["driver"] == DRIVER && allocated["pool"] == NODE, "the claim is {status}");
            ensure!(pod["spec"]["nodeName"] == NODE, "the pod is on no node: {}", pod["spec"]);
            Ok(allocated["device"].as_str().unwrap_or_default().to_owned())
        },
    )?;
    Ok(Outcome::works(format!(
        "publishes {devices} devices of a node, of which kube-scheduler allocates `{device}` to a pod's claim"
    )))
}
