//! NRI plugins that are known to give CPUs to containers.

use std::fs;
use std::path::Path;

/// Where container runtimes find the plugins that they start, below the root of the node.
const FOLDER: &str = "opt/nri/plugins";

/// Plugins of `containers/nri-plugins`; the `DaemonSet` of each is called so too.
pub const PINNING_PLUGINS: [&str; 2] = ["nri-resource-policy-topology-aware", "nri-resource-policy-balloons"];

/// The file of a plugin that the container runtime starts, below the root of a node: an index and its name, as
/// `10-topology-aware`.
#[must_use]
pub fn file_of(root: &Path, plugin: &str) -> Option<String> {
    let short = plugin.trim_start_matches("nri-resource-policy-");
    let is_own = |name: &String| {
        let rest = name.split_once('-').filter(|(index, _)| index.len() == 2 && index.parse::<u8>().is_ok());
        rest.is_some_and(|(_, name)| name == plugin || name == short)
    };
    let mut names = launched(root);
    names.sort();
    let name = names.into_iter().find(is_own)?;
    Some(format!("/{FOLDER}/{name}"))
}

/// The names of all plugins that the container runtime starts.
pub(crate) fn launched(root: &Path) -> Vec<String> {
    let found = fs::read_dir(root.join(FOLDER)).into_iter().flatten();
    found.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Whether a pod with this name is one of the plugin's `DaemonSet`.
#[must_use]
pub fn is_pod_of(plugin: &str, pod: &str) -> bool {
    pod.strip_prefix(plugin).is_some_and(|rest| rest.starts_with('-'))
}
