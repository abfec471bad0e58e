//! The CPU driver: it reads the CPUs of a machine, waits until a kubelet has registered it, connects to the runtime by NRI, and publishes.
//!
//! Neither is here. The kubelet's part in the registration is played; the socket of NRI accepts connections and never answers, so
//! that the driver publishes and ends after five tries to register there.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use local_cluster::{Cluster, Process, User};
use serde_json::Value;

use super::apart::{Folders, NODE, apart};
use super::registration::register;
use super::trial::{Outcome, Trial, last_error, object, until};

/// What it is called among drivers.
pub(crate) const DRIVER: &str = "dra.cpu";
const USER: User<'static> = User { name: "dra-driver-cpu", groups: &[] };
/// Where a kubelet looks for plugins, and where plugins look for the runtime, as the driver sees them.
const PLUGINS: &str = "var/lib/kubelet/plugins_registry";
const NRI: &str = "run/nri";

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

/// The driver of a node, registered. It ends with this.
pub(crate) struct CpuDriver {
    pub(crate) process: Process,
    /// Connections wait here.
    _nri: UnixListener,
}

impl CpuDriver {
    /// Starts it as that of a node, with more options, and registers it. It sees `sysfs` in the place of `/sys`, where one is given, and
    /// writes its log to `folder`. Needs root.
    ///
    /// # Errors
    /// It ends before it is registered, with its last words.
    pub(crate) fn start(
        cluster: &Cluster,
        file: &Path,
        node: &str,
        sysfs: Option<&Path>,
        options: &[&str],
        folder: &Path,
    ) -> anyhow::Result<Self> {
        cluster.apply(RIGHTS)?;
        // Its sockets are in /var/lib/kubelet and its CDI files in /run, wherever it is started.
        let mut command = apart(file, Folders { replaced: sysfs.map(|sysfs| (sysfs, "/sys")), ..NODE });
        command
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig_of(USER, Duration::from_hours(1))?)
            .args(["--hostname-override", node, "--bind-address", "127.0.0.1:0", "--v", "4"])
            .args(options);
        let mut process = Process::start(&format!("dracpu-{node}"), &command, folder)?;
        let id = process.id();
        let socket = until("the driver's socket", || process.why_ended(), || plugin_socket(id))?;
        let nri = seen(id, NRI);
        fs::create_dir_all(&nri)?;
        let nri =
            UnixListener::bind(nri.join("nri.sock")).context("failed to listen in the place of a runtime")?;
        register(&socket, DRIVER)?;
        Ok(Self { process, _nri: nri })
    }
}

/// A folder as a process sees it.
fn seen(id: u32, folder: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{id}/root/{folder}"))
}

/// The socket at which the driver of a process waits for a kubelet.
fn plugin_socket(id: u32) -> anyhow::Result<PathBuf> {
    let mounts = |id: &str| fs::read_link(format!("/proc/{id}/ns/mnt"));
    ensure!(mounts(&id.to_string())? != mounts("self")?, "it has no mounts yet");
    for entry in fs::read_dir(seen(id, PLUGINS))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sock") {
            return Ok(path);
        }
    }
    anyhow::bail!("it has no socket there")
}

/// The devices that a driver publishes of a node; an error while there are none.
///
/// # Errors
/// There are none, or a pool is not complete.
pub(crate) fn published(cluster: &Cluster, driver: &str, node: &str) -> anyhow::Result<(usize, usize)> {
    let list = object(cluster, &["resourceslices"])?;
    let slices = list["items"].as_array().into_iter().flatten().map(|slice| &slice["spec"]);
    let own: Vec<&Value> =
        slices.filter(|spec| spec["driver"] == driver && spec["nodeName"] == node).collect();
    let count = own.first().and_then(|spec| spec["pool"]["resourceSliceCount"].as_u64());
    let count = count.with_context(|| format!("{driver} publishes nothing of {node}"))?;
    ensure!(count == own.len() as u64, "{driver} has published {} of {count} slices of {node}", own.len());
    Ok((own.iter().map(|spec| spec["devices"].as_array().map_or(0, Vec::len)).sum(), own.len()))
}

pub(super) fn attempt(trial: &Trial, file: &Path) -> anyhow::Result<Outcome> {
    let (cluster, _fleet) = trial.cluster_with_nodes()?;
    let folder = tempfile::Builder::new().prefix("dracpu").tempdir()?;
    let mut driver = CpuDriver::start(&cluster, file, "node-1", None, &[], folder.path())?;
    let (devices, slices) =
        until("a ResourceSlice", || driver.process.why_ended(), || published(&cluster, DRIVER, "node-1"))?;
    let error = last_error(&mut driver.process, folder.path())?;
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let (devices, slices) = (counted(devices, "device"), counted(slices, "slice"));
    Ok(Outcome::ends(
        format!(
            "reads the machine's CPUs and, registered by this command in the place of a kubelet, publishes {devices} in {slices}; \
             at NRI nobody answers"
        ),
        error,
    ))
}
