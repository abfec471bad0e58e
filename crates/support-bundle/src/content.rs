//! What a text is, by its content: people rename files.

use crate::bundle::{DocumentKind, StateName};
use crate::json_line;
use crate::log::is_of_kubelet;

/// What a file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// A text of a node.
    OfNode(DocumentKind),
    /// The command lines of kubelets in a list of processes: one, or several.
    Processes(Vec<String>),
    /// Objects of a cluster, with pods, nodes or events among them.
    Objects,
    /// A configuration that is no node's own file.
    OfCluster,
    /// Objects that decide on claims.
    Claims,
    /// Objects that describe NUMA nodes.
    Zones,
    /// Lines of a log.
    Log,
    /// A node as `kubectl describe` prints it, which is not read.
    Described,
    /// A document that may be a configuration in a form that the whole of it shows.
    PerhapsConfiguration(Kinds),
    /// Nothing that tells of a node.
    Nothing,
}

/// Whether a document has kinds of objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kinds {
    /// Some.
    Some,
    /// None: it is a file of a node, if anything.
    None,
}

/// Kinds of which a configuration of kubelets is made, and that lie in a cluster.
const CLUSTER_KINDS: [&str; 5] =
    ["KubeletConfig", "PerformanceProfile", "MachineConfig", "EC2NodeClass", "NodePool"];

/// What the file called `name` is; `on_node` is its path on the node. Of a large file `text` is the beginning.
pub(crate) fn content(name: &str, on_node: &str, text: &str) -> Content {
    let of_name = StateName::ALL.into_iter().find(|state| state.file_name() == name);
    if let Some(state) = of_name {
        return Content::OfNode(DocumentKind::State(state));
    }
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if trimmed.is_empty() {
        return Content::Nothing;
    }
    if is_of_topolet(trimmed) {
        return Content::Nothing;
    }
    if trimmed.lines().next().is_some_and(json_line::is_one) {
        return Content::Log;
    }
    if trimmed.starts_with('{')
        && let Some(content) = of_json(trimmed)
    {
        return content;
    }
    if is_hostname(name, trimmed) {
        return Content::OfNode(DocumentKind::Hostname);
    }
    // What a program printed for people may quote a document.
    let kinds = if is_document(trimmed) { kinds(text) } else { Vec::new() };
    let has = |wanted: &[&str]| kinds.iter().any(|kind| wanted.contains(kind));
    if text.contains("kubelet.config.k8s.io") && has(&["KubeletConfiguration"]) && !has(&CLUSTER_KINDS) {
        return Content::OfNode(DocumentKind::Configuration);
    }
    if has(&CLUSTER_KINDS) {
        return Content::OfCluster;
    }
    let are_zones =
        has(&["NodeResourceTopology", "NodeResourceTopologyList", "Numatopology", "NumatopologyList"]);
    let are_objects = has(&["Pod", "PodList", "Node", "NodeList", "Event", "EventList"]);
    if are_zones && !are_objects {
        return Content::Zones;
    }
    if are_objects || has(&["List"]) {
        let is_static = on_node.starts_with("etc/kubernetes/manifests/");
        return if is_static { Content::OfNode(DocumentKind::StaticPod) } else { Content::Objects };
    }
    if text.contains("resource.k8s.io/") && !kinds.is_empty() {
        return Content::Claims;
    }
    let is_perhaps = is_document(trimmed) && names_kubelet(trimmed);
    if !kinds.is_empty() {
        return if is_perhaps { Content::PerhapsConfiguration(Kinds::Some) } else { Content::Nothing };
    }
    let commands = commands_of(trimmed);
    if !commands.is_empty() {
        return Content::Processes(commands);
    }
    let is_k3s = on_node.starts_with("etc/rancher/") && on_node.contains("/config.yaml");
    if is_k3s || trimmed.contains("[settings.kubernetes]") {
        return Content::OfNode(DocumentKind::Configuration);
    }
    if is_flags(name, on_node, trimmed) {
        return Content::OfNode(DocumentKind::Flags);
    }
    if is_machine(trimmed) {
        return Content::OfNode(DocumentKind::Machine);
    }
    let starts = |part: &str| trimmed.lines().take(400).any(|line| line.trim_start().starts_with(part));
    if trimmed.starts_with("Name:") && starts("Allocatable:") && starts("Kubelet Version:") {
        return Content::Described;
    }
    if trimmed.lines().take(200).any(is_of_kubelet) {
        return Content::Log;
    }
    if is_perhaps { Content::PerhapsConfiguration(Kinds::None) } else { Content::Nothing }
}

/// Whether a document has a key that names the kubelet or one of its fields.
fn names_kubelet(text: &str) -> bool {
    // Every object has these.
    let is_field = |key| !matches!(key, "apiVersion" | "kind") && topology_manifest::is_kubelet_field(key);
    text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        let keys = line.split([':', '=']).next().unwrap_or_default();
        let key = keys.trim_matches(|letter: char| letter.is_whitespace() || "-[]{}\"',".contains(letter));
        let is_own = key.len() < 64 && key.to_ascii_lowercase().contains("kubelet");
        key.len() < line.len() && (is_own || is_field(key))
    })
}

/// Whether it is a document that topolet has printed, such as an earlier diagnosis that lies beside what it is about.
fn is_of_topolet(text: &str) -> bool {
    text.lines().take(3).map(|line| line.get(..200).unwrap_or(line)).any(|line| {
        line.split_once("apiVersion")
            .is_some_and(|(_, value)| value.trim_start_matches(['"', ':', ' ']).starts_with("topolet.dev/"))
    })
}

/// Whether a text begins as a document of YAML, JSON or TOML does: with a key, a mark, or a comment.
fn is_document(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| {
        let key = line.split(['=', ':']).next().unwrap_or_default().trim_end();
        let is_key = key.len() < line.len()
            && !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./\"'".contains(&byte));
        line.starts_with(['{', '[', '-', '%']) || is_key || key == "MIME-Version"
    })
}

/// Of a JSON object; `None`: it is of none of these forms.
fn of_json(text: &str) -> Option<Content> {
    let has = |key: &str| text.contains(key);
    Some(Content::OfNode(match () {
        () if has("\"defaultCpuSet\"") && has("\"policyName\"") => DocumentKind::State(StateName::Cpu),
        () if has("\"machineState\"") && has("\"policyName\"") => DocumentKind::State(StateName::Memory),
        () if has("\"PodDeviceEntries\"") => DocumentKind::State(StateName::Device),
        () if has("\"ClaimInfoStateList\"") => DocumentKind::State(StateName::Claims),
        () if has("\"kubeletconfig\"") => DocumentKind::Configz,
        () if has("\"podResources\"")
            || has("\"pod_resources\"")
            || has("\"cpuIds\"")
            || has("\"cpu_ids\"") =>
        {
            DocumentKind::PodResources
        }
        () if has("\"lscpu\"") || has("\"num_cores\"") && has("\"topology\"") => DocumentKind::Machine,
        () => return None,
    }))
}

/// The kinds of a text's objects and of their lists, without those within them.
fn kinds(text: &str) -> Vec<&str> {
    let line = |line: &'_ str| -> bool {
        line.trim_start_matches(['-', ' ', '{']).trim_start().trim_start_matches('"').starts_with("kind")
    };
    let found = text.lines().filter(|own| line(own)).filter_map(|line| {
        let (_, value) = line.split_once("kind")?;
        let value = value.trim_start_matches('"').trim_start().strip_prefix(':')?;
        let value = value.trim().trim_matches(|letter| matches!(letter, '"' | '\'' | ',' | '}'));
        value.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(value)
    });
    let mut kinds: Vec<&str> = found.filter(|kind| !kind.is_empty()).collect();
    // JSON on one line.
    if text.trim_start().starts_with('{') {
        let parts = text.split("\"kind\"").skip(1).take(64);
        let named = parts.filter_map(|part| {
            part.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split('"').next()
        });
        kinds.extend(named);
    }
    kinds
}

/// Whether it is the output of `hostname`, or the file of that name.
fn is_hostname(name: &str, text: &str) -> bool {
    let is_called_so = name == "hostname" || name == "hostname.txt" || name.starts_with("hostname_-");
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default().trim();
    is_called_so
        && lines.next().is_none()
        && !line.is_empty()
        && line.len() <= 253
        && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

/// The command lines of kubelets in a list of processes: what begins with a word that ends in `kubelet`.
fn commands_of(text: &str) -> Vec<String> {
    let head = text.lines().next().unwrap_or_default();
    let is_list = head.contains("PID") && (head.contains("COMMAND") || head.contains("CMD"));
    let commands = text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let program = words.by_ref().find(|word| word.rsplit('/').next() == Some("kubelet"))?;
        let rest: Vec<&str> = words.collect();
        rest.first()
            .is_some_and(|flag| flag.starts_with("--"))
            .then(|| format!("{program} {}", rest.join(" ")))
    });
    commands.filter(|_| is_list).collect()
}

/// Whether it sets flags of a kubelet.
fn is_flags(name: &str, on_node: &str, text: &str) -> bool {
    let is_unit = name == "kubelet.service" || on_node.contains("kubelet.service.d/");
    let is_environment =
        name == "kubeadm-flags.env" || matches!(on_node, "etc/default/kubelet" | "etc/sysconfig/kubelet");
    (is_unit || is_environment || text.contains("kubelet") && text.contains("ExecStart="))
        && topology_manifest::is_kubelet_arguments(text)
}

/// Whether a tool has printed a machine.
fn is_machine(text: &str) -> bool {
    let has = |part: &str| text.contains(part);
    has("NUMA node0 CPU(s)")
        || has("Architecture:") && has("CPU(s):")
        || has("CPU NODE SOCKET CORE")
        || has("available: ") && has("node 0 cpus:")
        || has("# CPU,Core,Socket,Node")
        || text.starts_with("MemTotal:")
        || has("<!DOCTYPE topology")
        || has("<topology") && has("<object type=")
        || has("<capabilities>") && has("<topology>")
        || text.starts_with("Machine (") && has("Core")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_what_only_it_has() {
        use DocumentKind::{
            Configuration, Configz, Flags, Hostname, Machine, PodResources, State, StaticPod,
        };
        let of_node = Content::OfNode;
        for (name, on_node, text, expected) in [
            ("cpu_manager_state", "cpu_manager_state", "torn", of_node(State(StateName::Cpu))),
            (
                "state.json",
                "state.json",
                "{\"policyName\":\"static\",\"defaultCpuSet\":\"0\"}",
                of_node(State(StateName::Cpu)),
            ),
            ("a", "a", "{\"kubeletconfig\":{\"kind\":\"KubeletConfiguration\"}}", of_node(Configz)),
            (
                "a",
                "a",
                "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
                of_node(Configuration),
            ),
            (
                "kubelet.conf",
                "etc/kubernetes/kubelet.conf",
                "apiVersion: v1\nkind: Config\nusers: []\n",
                Content::Nothing,
            ),
            (
                "p.yaml",
                "p.yaml",
                "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\n",
                Content::OfCluster,
            ),
            ("p.yaml", "p.yaml", "apiVersion: v1\nkind: Pod\n", Content::Objects),
            (
                "p.json",
                "p.json",
                "{\"apiVersion\":\"v1\",\"items\":[],\"kind\":\"PodList\"}",
                Content::Objects,
            ),
            ("n.yaml", "n.yaml", "kind: NodeResourceTopology\nmetadata: {name: n}\n", Content::Zones),
            ("n.yaml", "n.yaml", "kind: List\nitems:\n- kind: Numatopology\n", Content::Zones),
            ("p.yaml", "etc/kubernetes/manifests/p.yaml", "apiVersion: v1\nkind: Pod\n", of_node(StaticPod)),
            ("a", "a", "{\"podResources\":[{\"name\":\"a\"}]}", of_node(PodResources)),
            ("hostname", "etc/hostname", "worker-1\n", of_node(Hostname)),
            (
                "ps",
                "ps",
                "USER PID COMMAND\nroot 1 /usr/bin/kubelet --config=/a --v=2\n",
                Content::Processes(vec!["/usr/bin/kubelet --config=/a --v=2".into()]),
            ),
            ("kubeadm-flags.env", "kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--v=2\"\n", of_node(Flags)),
            ("a.txt", "a.txt", "available: 1 nodes (0)\nnode 0 cpus: 0 1\n", of_node(Machine)),
            (
                "a.txt",
                "a.txt",
                "Nov 26 10:21:03 w-1 kubelet[2]: I1126 10:21:03.1 2 kubelet.go:1] \"x\"\n",
                Content::Log,
            ),
            (
                "talos.yaml",
                "talos.yaml",
                "machine:\n  kubelet:\n    extraConfig:\n      cpuManagerPolicy: static\n",
                Content::PerhapsConfiguration(Kinds::None),
            ),
            ("a.yaml", "a.yaml", "memoryManagerPolicy: Static\n", Content::PerhapsConfiguration(Kinds::None)),
            ("values.yaml", "values.yaml", "image: x\nreplicas: 2\n", Content::Nothing),
            (
                "out.txt",
                "out.txt",
                "10.0.0.1: {\"ts\":1.5,\"caller\":\"kubelet/kubelet.go:1480\",\"msg\":\"x\"}\n",
                Content::Log,
            ),
            (
                "out.json",
                "out.json",
                "{\"ts\":1.5,\"caller\":\"kubelet/event.go:1\",\"msg\":\"Event occurred\",\"kind\":\"Pod\"}\n",
                Content::Log,
            ),
            ("notes.md", "notes.md", "The pod was refused.\n", Content::Nothing),
            (
                "out.json",
                "out.json",
                "{\n  \"apiVersion\": \"topolet.dev/v1alpha1\",\n  \"kind\": \"Diagnosis\",\n  \"nodes\": [{\"kind\": \"Pod\", \"cpuIds\": []}]\n}\n",
                Content::Nothing,
            ),
            (
                "out.txt",
                "out.txt",
                "bundle · files · 6 files\n\n  apiVersion: kubelet.config.k8s.io/v1beta1\n  kind: KubeletConfiguration\n",
                Content::Nothing,
            ),
        ] {
            assert_eq!(content(name, on_node, text), expected, "{name}: {text}");
        }
    }
}
