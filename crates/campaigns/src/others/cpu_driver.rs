//! The CPU driver: it reads the machine's CPUs, and waits for a kubelet that registers it.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use local_cluster::{Process, User};

use super::apart::{NODE, apart};
use super::trial::{Outcome, Trial, last_error, object};

const USER: User<'static> = User { name: "dra-driver-cpu", groups: &[] };

/// What it needs of an API server, for the user above.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: dra-driver-cpu}
rules:
- {apiGroups: [''], resources: [nodes], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dra-driver-cpu}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: dra-driver-cpu}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dra-driver-cpu}]
";

pub(super) fn attempt(trial: &Trial, file: &Path) -> anyhow::Result<Outcome> {
    let (cluster, _fleet) = trial.cluster_with_nodes()?;
    cluster.apply(RIGHTS)?;
    let folder = tempfile::Builder::new().prefix("dracpu").tempdir()?;
    // Its sockets are in /var/lib/kubelet and its CDI files in /run, wherever it is started.
    let mut command = apart(file, NODE);
    command.arg("--kubeconfig").arg(cluster.kubeconfig_of(USER, Duration::from_hours(1))?).args([
        "--hostname-override",
        "node-1",
        "--bind-address",
        "127.0.0.1:0",
        "--v",
        "4",
    ]);
    let mut driver = Process::start("dracpu", &command, folder.path())?;
    let error = last_error(&mut driver, folder.path())?;
    let log = driver.log();
    ensure!(log.contains("detected online CPUs"), "it read no CPUs:\n{log}");
    let slices = object(&cluster, &["resourceslices"])?;
    let count = slices["items"].as_array().map_or(0, Vec::len);
    Ok(Outcome::ends(
        format!(
            "reads the machine's CPUs and waits 30 s for a kubelet that registers it; {count} slices are published"
        ),
        error,
    ))
}
