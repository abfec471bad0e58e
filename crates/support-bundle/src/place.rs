//! Which node a file is about, and whether it is looked at, by its path in a bundle.
//!
//! Archives in a bundle are folders by the names of their files: `nodes/worker-1/sysinfo.tgz/sys/…`.

/// Where a file belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place<'p> {
    pub(crate) unit: UnitPlace<'p>,
    /// Its path on the node, or below the folder of its unit.
    pub(crate) inner: &'p str,
    pub(crate) look: Look,
}

/// Files of one node, or of none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum UnitPlace<'p> {
    /// A folder `nodes/NAME` of a must-gather.
    Node {
        folder: &'p str,
        name: &'p str,
    },
    /// A folder with the root of a node: `etc`, `var`, `sys`, or the outputs of `sos`. The folder is empty at the top.
    Root(&'p str),
    /// The first folder below the path that was given; empty at its top.
    Loose(&'p str),
    Cluster,
}

/// How a file is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// It belongs to the files of a machine.
    Tree,
    /// The same, and it is a text that tells of a machine.
    TreeAndText,
    /// It has objects of a cluster.
    Objects,
    /// It is a log of a kubelet, or of a whole node.
    Log,
    /// Its content says what it is.
    ByContent,
    /// It tells nothing.
    Not,
}

/// Folders at the root of a node, and below the folder of a sosreport.
const ROOTS: [&[&str]; 11] = [
    &["sys", "devices"],
    &["sys", "bus"],
    &["sys", "class"],
    &["sys", "kernel"],
    &["sys", "fs"],
    &["proc"],
    &["etc"],
    &["var", "lib"],
    &["var", "log"],
    &["usr", "lib", "systemd"],
    &["sos_commands"],
];

/// Folders of a must-gather that tell nothing of nodes.
const NOT_OF_NODES: [&str; 12] = [
    "audit_logs",
    "etcd_info",
    "ingress_controllers",
    "insights-data",
    "monitoring",
    "network_logs",
    "pod_network_connectivity_check",
    "static-pods",
    "webhooks",
    "requests",
    "ceph",
    "noobaa",
];

/// Groups of a must-gather's cluster-scoped objects that decide on nodes.
const GROUPS: [&str; 5] = [
    "core",
    "machineconfiguration.openshift.io",
    "performance.openshift.io",
    "resource.k8s.io",
    "topology.node.k8s.io",
];

/// Kinds in these groups.
const KINDS: [&str; 8] = [
    "nodes",
    "kubeletconfigs",
    "machineconfigs",
    "performanceprofiles",
    "resourceslices",
    "deviceclasses",
    "devicetaintrules",
    "noderesourcetopologies",
];

/// Where the file at a path lies.
pub(crate) fn place(path: &str) -> Place<'_> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let name = parts.last().copied().unwrap_or_default();
    let at = |wanted: &str| parts.iter().position(|part| *part == wanted);
    if let Some(at) = at("cluster-scoped-resources") {
        let below = parts.get(at + 1..).unwrap_or_default();
        let is_wanted = matches!(below, [group, kind, ..]
            if GROUPS.contains(group) && KINDS.iter().any(|known| kind.trim_end_matches(".yaml") == *known));
        return of_cluster(name, if is_wanted { Look::Objects } else { Look::Not });
    }
    if let Some(at) = at("namespaces") {
        let look = match parts.get(at + 2..).unwrap_or_default() {
            ["core", file] if ["pods", "events", "pods.yaml", "events.yaml"].contains(file) => Look::Objects,
            ["core", "pods" | "events", file] if is_object(file) => Look::Objects,
            ["pods", pod, file] if stem(file) == *pod && is_object(file) => Look::Objects,
            // Of a sosreport: `sos_commands/openshift/namespaces/NAMESPACE/pods/POD.yaml`.
            ["pods" | "events", file] if is_object(file) => Look::Objects,
            ["resource.k8s.io", ..] if is_object(name) => Look::Objects,
            _ => Look::Not,
        };
        return of_cluster(name, look);
    }
    if at("host_service_logs").is_some() {
        return of_cluster(name, if name.starts_with("kubelet") { Look::Log } else { Look::Not });
    }
    let nodes = at("nodes").filter(|at| parts.len() > at + 2);
    if nodes.is_none() && parts.iter().any(|part| NOT_OF_NODES.contains(part)) {
        return of_cluster(name, Look::Not);
    }
    // What the gatherer of a must-gather says of itself lies beside the folders of nodes.
    if matches!(parts.as_slice(), [.., "nodes", "debug" | "skipped_nodes.txt"]) {
        return of_cluster(name, Look::Not);
    }
    let from = nodes.map_or(0, |at| at + 2);
    let root = (from..parts.len()).find(|at| is_root(parts.get(*at..).unwrap_or_default()));
    let start = |at: usize| parts.get(at).map_or(path.len(), |part| offset(path, part));
    let (above, inner) = match root {
        Some(root) => {
            (path.get(..start(root)).unwrap_or_default(), path.get(start(root)..).unwrap_or_default())
        }
        None => ("", path.get(start(from)..).unwrap_or_default()),
    };
    let unit = match (nodes, root) {
        (Some(at), _) => {
            let folder = path.get(..start(from)).unwrap_or_default().trim_end_matches('/');
            UnitPlace::Node { folder, name: parts.get(at + 1).copied().unwrap_or_default() }
        }
        (None, Some(_)) => UnitPlace::Root(above.trim_end_matches('/')),
        (None, None) => {
            UnitPlace::Loose(if parts.len() > 1 { parts.first().copied().unwrap_or_default() } else { "" })
        }
    };
    let look = if root.is_some() { of_root(inner, name) } else { by_name(name) };
    Place { unit, inner, look }
}

/// Where a part begins in the path that it is of.
fn offset(path: &str, part: &str) -> usize {
    part.as_ptr() as usize - path.as_ptr() as usize
}

const fn of_cluster(inner: &str, look: Look) -> Place<'_> {
    Place { unit: UnitPlace::Cluster, inner, look }
}

fn is_root(parts: &[&str]) -> bool {
    // A folder of loose files may be called as a folder at the root is: it is one with something in it.
    ROOTS.iter().any(|root| parts.len() > root.len() && parts.starts_with(root))
        || matches!(
            parts,
            [
                "node",
                "node.json" | "kubelet.yaml" | "topolet.yaml" | "pods.json" | "devices.json" | "claims.json"
            ] | ["node", "state", ..]
        )
}

/// Of a path at the root of a node.
fn of_root(inner: &str, name: &str) -> Look {
    let below = |folder: &str| inner.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    match () {
        () if inner == "proc/meminfo" => Look::TreeAndText,
        () if below("sys") || below("node") || inner == "proc/cpuinfo" || inner == "proc/cmdline" => {
            Look::Tree
        }
        () if below("proc") => Look::Not,
        () if below("sos_commands") => of_sos(inner, name),
        () if below("var/log") => {
            let is_log = !below("var/log/pods") && !below("var/log/containers") && is_node_log(name);
            if is_log { Look::Log } else { Look::Not }
        }
        () if below("var/lib/kubelet") => {
            // Below it are the volumes of pods.
            let depth = inner.matches('/').count();
            if depth <= 3 || depth == 4 && below("var/lib/kubelet/device-plugins") {
                Look::ByContent
            } else {
                Look::Not
            }
        }
        () if below("var/lib") => Look::Not,
        () if [
            "etc/kubernetes",
            "etc/openshift",
            "etc/rancher",
            "etc/systemd/system",
            "etc/default",
            "etc/sysconfig",
        ]
        .iter()
        .any(|folder| below(folder)) =>
        {
            Look::ByContent
        }
        () if inner == "etc/hostname" || inner.starts_with("usr/lib/systemd/system/kubelet.service") => {
            Look::ByContent
        }
        () => Look::Not,
    }
}

/// Of an output in a sosreport, in the folder of the plugin that has run the command.
fn of_sos(inner: &str, name: &str) -> Look {
    let plugin = inner.split('/').nth(1).unwrap_or_default();
    match plugin {
        "processor" if name.starts_with("lscpu") => Look::ByContent,
        "numa" if name.starts_with("numactl") => Look::ByContent,
        "host" if name.starts_with("hostname") => Look::ByContent,
        "process" if name.starts_with("ps_") => Look::ByContent,
        "hardware" | "hwloc" if name.contains("lstopo") => Look::ByContent,
        "kubernetes" | "openshift" | "logs" | "systemd" if name.starts_with("journalctl") => Look::Log,
        "kubernetes" | "openshift" if is_object(name) || is_listed(name) => Look::Objects,
        _ => Look::Not,
    }
}

/// Whether a file of `/var/log` can have lines of a kubelet.
fn is_node_log(name: &str) -> bool {
    ["kubelet", "messages", "syslog", "journal"].iter().any(|begin| name.starts_with(begin))
}

fn is_object(name: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

/// Whether it is what `kubectl get` printed of pods, nodes or events, by the name that sos gives the output of a command.
fn is_listed(name: &str) -> bool {
    let is_format = ["_-o_json", "_-o_yaml"].iter().any(|format| name.contains(format));
    is_format && ["_pods", "_nodes", "_events"].iter().any(|kind| name.ends_with(kind))
}

/// Of a file that lies in no folder of a node.
fn by_name(name: &str) -> Look {
    // A log of a container, as `kubectl cluster-info dump` writes it.
    if name == "logs.txt"
        || [".html", ".png", ".svg", ".db", ".core", ".pcap"].iter().any(|end| name.ends_with(end))
    {
        return Look::Not;
    }
    let is_log = name.contains(".log") || !name.starts_with("kubelet");
    if name.ends_with("_logs_kubelet") || is_node_log(name) && is_log && !is_object(name) {
        return Look::Log;
    }
    Look::ByContent
}

/// A name without its end.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node<'p>(folder: &'p str, name: &'p str) -> UnitPlace<'p> {
        UnitPlace::Node { folder, name }
    }

    #[test]
    fn paths_of_known_bundles_have_their_node_and_their_look() {
        let sos = UnitPlace::Root("sosreport-w-1-x");
        for (path, unit, inner, look) in [
            ("q/cluster-scoped-resources/core/nodes/w-1.yaml", UnitPlace::Cluster, "w-1.yaml", Look::Objects),
            (
                "q/cluster-scoped-resources/core/persistentvolumes/a.yaml",
                UnitPlace::Cluster,
                "a.yaml",
                Look::Not,
            ),
            (
                "q/cluster-scoped-resources/performance.openshift.io/performanceprofiles/p.yaml",
                UnitPlace::Cluster,
                "p.yaml",
                Look::Objects,
            ),
            ("q/namespaces/ran/core/pods.yaml", UnitPlace::Cluster, "pods.yaml", Look::Objects),
            ("q/namespaces/ran/core/secrets.yaml", UnitPlace::Cluster, "secrets.yaml", Look::Not),
            ("q/namespaces/ran/pods/du-0/du-0.yaml", UnitPlace::Cluster, "du-0.yaml", Look::Objects),
            (
                "q/namespaces/ran/pods/du-0/du/du/logs/current.log",
                UnitPlace::Cluster,
                "current.log",
                Look::Not,
            ),
            (
                "q/host_service_logs/masters/kubelet_service.log",
                UnitPlace::Cluster,
                "kubelet_service.log",
                Look::Log,
            ),
            (
                "q/host_service_logs/masters/crio_service.log",
                UnitPlace::Cluster,
                "crio_service.log",
                Look::Not,
            ),
            ("q/nodes/w-1/w-1_logs_kubelet", node("q/nodes/w-1", "w-1"), "w-1_logs_kubelet", Look::Log),
            ("q/nodes/w-1/lscpu", node("q/nodes/w-1", "w-1"), "lscpu", Look::ByContent),
            (
                "nodes/w-1/sysinfo.tgz/sys/devices/system/cpu/online",
                node("nodes/w-1", "w-1"),
                "sys/devices/system/cpu/online",
                Look::Tree,
            ),
            ("q/audit_logs/a.log", UnitPlace::Cluster, "a.log", Look::Not),
            ("sosreport-w-1-x/proc/meminfo", sos, "proc/meminfo", Look::TreeAndText),
            (
                "sosreport-w-1-x/sos_commands/numa/numactl_--hardware",
                sos,
                "sos_commands/numa/numactl_--hardware",
                Look::ByContent,
            ),
            (
                "sosreport-w-1-x/var/lib/kubelet/cpu_manager_state",
                sos,
                "var/lib/kubelet/cpu_manager_state",
                Look::ByContent,
            ),
            (
                "sosreport-w-1-x/var/lib/kubelet/pods/a/volumes/b/c/secret",
                sos,
                "var/lib/kubelet/pods/a/volumes/b/c/secret",
                Look::Not,
            ),
            (
                "sosreport-w-1-x/sos_commands/openshift/namespaces/ran/pods/du-0.yaml",
                UnitPlace::Cluster,
                "du-0.yaml",
                Look::Objects,
            ),
            (
                "sosreport-w-1-x/sos_commands/kubernetes/cluster-info/ran/kubectl_get_-o_json_--namespace_ran_pods",
                sos,
                "sos_commands/kubernetes/cluster-info/ran/kubectl_get_-o_json_--namespace_ran_pods",
                Look::Objects,
            ),
            (
                "sosreport-w-1-x/sos_commands/kubernetes/cluster-info/ran/kubectl_get_-o_json_--namespace_ran_secrets",
                sos,
                "sos_commands/kubernetes/cluster-info/ran/kubectl_get_-o_json_--namespace_ran_secrets",
                Look::Not,
            ),
            ("q/nodes/debug", UnitPlace::Cluster, "debug", Look::Not),
            ("sosreport-w-1-x/var/log/messages", sos, "var/log/messages", Look::Log),
            ("sosreport-w-1-x/var/log/pods/a/b/0.log", sos, "var/log/pods/a/b/0.log", Look::Not),
            ("node/state/cpu_manager_state", UnitPlace::Root(""), "node/state/cpu_manager_state", Look::Tree),
            ("nodes.json", UnitPlace::Loose(""), "nodes.json", Look::ByContent),
            ("ran/pods.json", UnitPlace::Loose("ran"), "ran/pods.json", Look::ByContent),
            ("ran/du-0/logs.txt", UnitPlace::Loose("ran"), "ran/du-0/logs.txt", Look::Not),
            ("kubelet.log", UnitPlace::Loose(""), "kubelet.log", Look::Log),
            ("kubelet.yaml", UnitPlace::Loose(""), "kubelet.yaml", Look::ByContent),
            (
                "state/kubelet_internal_checkpoint",
                UnitPlace::Loose("state"),
                "state/kubelet_internal_checkpoint",
                Look::ByContent,
            ),
        ] {
            assert_eq!(place(path), Place { unit, inner, look }, "{path}");
        }
    }
}
