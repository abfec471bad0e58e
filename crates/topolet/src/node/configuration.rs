//! The kubelet configuration: a file's, or a built-in one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{KubeletConfiguration, OwnOptions, ReservedMemory};
use topology_manifest::{Source, Warning, read_kubelet_config, read_own_options};
use topology_model::{KubeletView, NodeMemory};

use crate::render::manifest_error;

/// The built-in configuration that pins as much as the kubelet can.
pub(crate) const PINNED: &str = "pinned";
/// What a kubelet without a configuration file does.
pub(super) const DEFAULTS: &str = "kubelet-defaults";

/// A configuration and what it is called.
pub(crate) struct ReadConfiguration {
    pub(crate) name: String,
    pub(crate) config: KubeletConfiguration,
    /// Where the kubelet reads static pods.
    pub(crate) static_pods: Option<PathBuf>,
    /// Whether it is OpenShift's, of which an operator makes the kubelet's own file.
    pub(crate) is_openshift: bool,
    /// What in it has no effect.
    pub(crate) warnings: Vec<Warning>,
}

/// The configuration `argument`: a built-in one or a file; without an argument [`PINNED`].
pub(crate) fn read(argument: Option<&str>, view: &KubeletView) -> anyhow::Result<ReadConfiguration> {
    let argument = argument.unwrap_or(PINNED);
    let built_in = |config| ReadConfiguration {
        name: argument.to_owned(),
        config,
        static_pods: None,
        is_openshift: false,
        warnings: Vec::new(),
    };
    match argument {
        PINNED => Ok(built_in(pinned(view))),
        DEFAULTS => Ok(built_in(KubeletConfiguration::default())),
        path => from_file(path),
    }
}

/// The options of topolet's own in the file `path`.
pub(crate) fn own_options(path: &Path) -> anyhow::Result<OwnOptions> {
    own_options_of(&path.display().to_string(), &crate::document::read(path)?)
}

/// The same from the text `name`.
pub(crate) fn own_options_of(name: &str, text: &[u8]) -> anyhow::Result<OwnOptions> {
    Source::from_bytes(name, text).and_then(|source| read_own_options(&source)).map_err(manifest_error)
}

/// The configuration in a file.
pub(crate) fn from_file(path: &str) -> anyhow::Result<ReadConfiguration> {
    from_text(path, &bytes(path)?)
}

/// Whether a configuration of this name is built in.
pub(super) fn is_built_in(name: &str) -> bool {
    matches!(name, PINNED | DEFAULTS)
}

/// What is in the file of a configuration.
pub(super) fn bytes(path: &str) -> anyhow::Result<Vec<u8>> {
    let path = Path::new(path);
    if path.is_dir() {
        anyhow::bail!(
            "{} is a folder: a configuration is one file; what a kubelet answers at /configz has its drop-ins in it",
            path.display()
        );
    }
    crate::document::read(path).with_context(|| {
        format!("failed to read configuration {} (built in are {PINNED} and {DEFAULTS})", path.display())
    })
}

/// The configuration in a text that is called `name`.
pub(crate) fn from_text(name: &str, text: &[u8]) -> anyhow::Result<ReadConfiguration> {
    let read = Source::from_bytes(name, text)
        .and_then(|source| read_kubelet_config(&source))
        .map_err(manifest_error)?;
    let static_pods = read.static_pod_path.map(PathBuf::from);
    Ok(ReadConfiguration {
        name: name.to_owned(),
        config: read.config,
        static_pods,
        is_openshift: read.is_openshift,
        warnings: read.warnings,
    })
}

/// So many NUMA nodes a kubelet accepts without being told.
const USUAL_NODES: usize = 8;
/// What is kept for the system per package, in bytes.
pub(crate) const KEPT: i64 = 1 << 30;
/// The part of all that is kept which is kept free by eviction, as by the kubelet's own defaults.
const EVICTION: i64 = 100 << 20;

/// Policies static, Static and restricted. For each package its first core is reserved, and 1Gi of memory on its
/// first NUMA node with at least four times as much; without any such node memory is not managed.
pub(crate) fn pinned(view: &KubeletView) -> KubeletConfiguration {
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        topology_manager_policy: text("restricted"),
        reserved_system_cpus: Some(first_cores(view).to_string()),
        ..KubeletConfiguration::default()
    };
    if view.nodes().len() > USUAL_NODES {
        // A kubelet does not start on such a machine unless it is told to.
        let nodes = view.nodes().len().to_string();
        config.topology_manager_policy_options.insert("max-allowable-numa-nodes".to_owned(), nodes);
    }
    let mut kept: BTreeMap<i32, i64> = BTreeMap::new();
    for node in nodes_to_keep_memory_on(view) {
        *kept.entry(node).or_default() += KEPT;
    }
    if !kept.is_empty() {
        let all: i64 = kept.values().sum();
        config.memory_manager_policy = text("Static");
        let amount = |bytes| Quantity::from_units(bytes, Format::BinarySi);
        config.system_reserved.insert("memory".to_owned(), amount(all - EVICTION).to_string());
        config.reserved_memory = kept
            .into_iter()
            .map(|(numa_node, bytes)| ReservedMemory {
                numa_node,
                limits: [("memory".to_owned(), amount(bytes))].into(),
            })
            .collect();
    }
    config
}

/// The first core of each package.
pub(crate) fn first_cores(view: &KubeletView) -> CpuSet {
    let cpus = view.cpus();
    let mut reserved = CpuSet::new();
    for (_, package) in cpus.sockets() {
        if let Some((_, core)) = cpus.cores().find(|(_, core)| core.is_subset(package)) {
            reserved |= core;
        }
    }
    reserved
}

/// A node for each package: one of its own if one has enough memory, else any.
pub(crate) fn nodes_to_keep_memory_on(view: &KubeletView) -> Vec<i32> {
    let has_room = |node: &&NodeMemory| node.beside_hugepages() >= 4 * KEPT.unsigned_abs();
    let roomy: Vec<&NodeMemory> = view.node_memory().iter().filter(has_room).collect();
    let packages = view.cpus().sockets().filter_map(|(_, package)| {
        let own = roomy
            .iter()
            .find(|node| view.cpus().cpus_in_node(node.id).is_some_and(|cpus| !cpus.is_disjoint(package)));
        own.or(roomy.first()).and_then(|node| i32::try_from(node.id.0).ok())
    });
    packages.collect()
}
