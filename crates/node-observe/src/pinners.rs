//! Which programs give CPUs to containers on the node, as far as files, claims and pods say it.
//!
//! Two that do so at once do not know of each other, and can give one CPU to two containers, or move a container off the CPUs that the
//! other gave it. Nothing is asked: a socket counts by being there, one that a crash left behind too.
//!
//! | program | known by |
//! |---|---|
//! | the kubelet's CPU manager | policy `static` in its configuration |
//! | the CPU driver `dra.cpu` (`kubernetes-sigs/dra-driver-cpu`) | its socket in `plugins_registry`, its claims in `dra_manager_state`, its slices |
//! | an NRI plugin for CPUs (`containers/nri-plugins`) | its file in `/opt/nri/plugins`, or a pod of its `DaemonSet` |
//!
//! NRI plugins that connect to the container runtime in another way leave nothing that can be read; neither does a node whose root is
//! not known, since the kubelet's folder is not `var/lib/kubelet` below it.

use std::fs;
use std::path::{Path, PathBuf};

use claim_explanation::CPU_DRIVER;
use node_guard::PINNING_PLUGINS;
use node_view::{NodeCondition, NodeView};
use pod_spec::Pod;

/// Where kubelets keep their files, below the root of the node.
const USUAL: &str = "var/lib/kubelet";
/// Where plugins of the kubelet register, below the kubelet's folder.
const REGISTRY: &str = "plugins_registry";

/// The programs that pin CPUs. Displays as a list of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Pinners(Vec<String>);

/// What is known of the CPU driver beside its socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuDriver {
    /// The kubelet has prepared claims of it.
    HasClaims,
    /// It publishes slices for the node.
    HasSlices,
    NotKnown,
}

impl Pinners {
    /// Those of a node whose kubelet has its files in the folder `root`, and has a CPU manager with policy `static` or not.
    pub(super) fn of(root: &Path, policy: CpuPolicy, driver: CpuDriver, pods: &[&Pod]) -> Self {
        let kubelet =
            (policy == CpuPolicy::Static).then(|| "the kubelet's CPU manager (policy static)".to_owned());
        let socket = socket(root).map(|name| format!("{REGISTRY}/{name} is there"));
        let driver = match driver {
            CpuDriver::HasClaims => Some("dra_manager_state has claims of it".to_owned()),
            CpuDriver::HasSlices => socket.or_else(|| Some("it publishes slices of the node".to_owned())),
            CpuDriver::NotKnown => socket,
        };
        let driver = driver.map(|by| format!("CPU driver {CPU_DRIVER} ({by})"));
        let nri = PINNING_PLUGINS.into_iter().filter_map(|plugin| {
            let by = file(root, plugin).or_else(|| pod_of(pods, plugin))?;
            Some(format!("NRI plugin {plugin} ({by})"))
        });
        Self(kubelet.into_iter().chain(driver).chain(nri).collect())
    }

    /// Logs which they are, if they are others than before, and sets the condition.
    pub(super) fn report(&self, view: &NodeView, before: Option<&Self>) {
        if before == Some(self) {
            return;
        }
        let names = self.0.join(", ");
        match self.0.len() {
            0 => tracing::info!("no program is known to pin CPUs of containers"),
            1 => tracing::info!("CPUs of containers are pinned by {names}"),
            _ => {
                let message = format!(
                    "{} programs pin CPUs of containers, and none knows what the others give: {names}; run only one of them",
                    self.0.len()
                );
                view.conditions.fails(NodeCondition::OnePinsCpus, &message);
                return;
            }
        }
        if before.is_some_and(|before| before.0.len() > 1) {
            let _ = view.conditions.works(NodeCondition::OnePinsCpus);
        }
    }
}

/// Whether the kubelet's CPU manager gives containers exclusive CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuPolicy {
    Static,
    None,
}

/// The socket of the CPU driver: `dra.cpu-reg.sock`, or with the UID of its pod between.
fn socket(root: &Path) -> Option<String> {
    let is_own = |name: &String| {
        let rest = name.strip_prefix(CPU_DRIVER).and_then(|rest| rest.strip_suffix("-reg.sock"));
        rest.is_some_and(|uid| uid.is_empty() || uid.starts_with('-'))
    };
    entries(&root.join(REGISTRY)).into_iter().find(is_own)
}

/// The file of an NRI plugin that the container runtime starts.
fn file(root: &Path, plugin: &str) -> Option<String> {
    node_guard::file_of(&root_of_node(root)?, plugin)
}

fn pod_of(pods: &[&Pod], plugin: &str) -> Option<String> {
    let pod = pods.iter().find(|pod| node_guard::is_pod_of(plugin, &pod.name))?;
    Some(format!("pod {}/{}", pod.namespace, pod.name))
}

/// The root of the node's files; `None`: it is not known.
fn root_of_node(root: &Path) -> Option<PathBuf> {
    root.ends_with(USUAL)
        .then(|| root.ancestors().nth(Path::new(USUAL).components().count()).map(Path::to_path_buf))?
}

/// The names in a folder, in order; none where it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        found.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use topology_manifest::{Source, read_pods};

    use super::*;

    #[test]
    fn programs_are_found_by_what_lies_there() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let root = folder.path().join(USUAL);
        let found = |policy, driver| Pinners::of(&root, policy, driver, &[]).0;
        assert_eq!(found(CpuPolicy::None, CpuDriver::NotKnown), Vec::<String>::new());
        let kubelet = "the kubelet's CPU manager (policy static)";
        assert_eq!(found(CpuPolicy::Static, CpuDriver::NotKnown), [kubelet]);
        let slices = "CPU driver dra.cpu (it publishes slices of the node)";
        assert_eq!(found(CpuPolicy::Static, CpuDriver::HasSlices), [kubelet, slices]);

        let add = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| fs::write(path, ""))
        };
        for other in ["var/lib/kubelet/plugins_registry/dra.cpux-reg.sock", "opt/nri/plugins/10-memtierd"] {
            assert!(add(other).is_ok());
            assert_eq!(found(CpuPolicy::Static, CpuDriver::NotKnown), [kubelet], "{other}");
        }
        for own in ["var/lib/kubelet/plugins_registry/dra.cpu-8c1f-reg.sock", "opt/nri/plugins/10-balloons"] {
            assert!(add(own).is_ok());
        }
        let driver = "CPU driver dra.cpu (plugins_registry/dra.cpu-8c1f-reg.sock is there)";
        let nri = "NRI plugin nri-resource-policy-balloons (/opt/nri/plugins/10-balloons)";
        assert_eq!(found(CpuPolicy::None, CpuDriver::NotKnown), [driver, nri]);
    }

    #[test]
    fn a_pod_of_a_plugins_daemon_set_is_known_by_its_name() {
        let named = |name: &str| {
            let text = format!(
                "{{kind: Pod, apiVersion: v1, metadata: {{name: {name}, namespace: kube-system}}, spec: {{containers: [{{name: c}}]}}}}"
            );
            let pods =
                read_pods(&Source { name: "pods", text: &text }).unwrap_or_else(|error| panic!("{error}"));
            pod_of(&pods.iter().collect::<Vec<_>>(), PINNING_PLUGINS[0])
        };
        let own = "nri-resource-policy-topology-aware-x7k2p";
        assert_eq!(named(own), Some(format!("pod kube-system/{own}")));
        assert_eq!(named("nri-resource-policy-topology-awareness"), None);
    }
}
