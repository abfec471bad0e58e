//! What `-h` prints: the examples, then one line for each option that is used often. `--help` has all of them, whole.
//!
//! Tests render the `-h` of every command: it fits a screen of 80 columns and 40 lines, and every line below is used.

use clap::{Arg, Command};

/// Usage and examples come before the options.
const TEMPLATE: &str =
    "{before-help}{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}{tab}";

/// Commands by their words, each with its line.
const COMMANDS: &[(&str, &str)] = &[
    ("demo", "Admits pods on a built-in machine; needs nothing"),
    ("topology", "Draws a machine: NUMA nodes, CPUs, memory, devices"),
    ("capture", "Packs a machine's topology, or a node, into a file"),
    ("admit", "Admits pods one after the other; explains each decision"),
    ("repack", "Says which pods restart so that a refused pod fits"),
    ("diff", "Compares decisions under several configurations"),
    ("simulate", "Simulates pods on machines; counts how many fit"),
    ("explain", "Explains all that led to each decision, and what fits"),
    ("state", "Reads the kubelet's state files: who holds what"),
    ("status", "Shows a node on one screen: free, held, wrong"),
    ("diagnose", "Says what is wrong with nodes of a support bundle"),
    ("claim", "Checks slices, device classes and claims"),
    ("config", "Checks a kubelet's configuration, and proposes one"),
    ("upgrade", "Compares releases of the kubelet on a node"),
    ("serve", "Runs as a node's agent, or beside a kubelet (--observe)"),
    ("ui", "Shows a node in a browser; changes nothing"),
    ("fleet", "Runs many simulated nodes of a cluster, for tests"),
    ("scheduler", "Runs an extender of kube-scheduler"),
    ("kubectl", "Explains pods and nodes of a cluster"),
    ("completions", "Prints what a shell needs for completion"),
    ("schema", "Prints schemas of documents and of the HTTP interface"),
    ("licences", "Prints the licences of everything in the program"),
    ("config check", "Checks a configuration on a machine and proposes one"),
    ("config show", "Prints the effective configuration of a kubelet"),
    ("upgrade check", "Compares two releases of the kubelet on a node"),
    ("claim check", "Checks objects of resource.k8s.io as an API server does"),
    ("state check", "Finds what is wrong in state files, most harmful first"),
    ("state repair", "Says how to repair state files; --apply does it"),
    ("export nrt", "Prints a NodeResourceTopology of a node"),
    ("export resourceslices", "Prints a machine's devices as ResourceSlices"),
    ("get events", "Events of the node since the daemon started"),
    ("kubectl explain", "Explains why a pod was refused, or what it holds"),
    ("kubectl nodes", "Lists all nodes: free, largest that fits, refused"),
    ("kubectl node", "Shows a node on one screen: free, held, wrong"),
];

/// Arguments by the words of their command, `*` for any, and their id. Those that are not listed, and those without a line, are
/// left to `--help`.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("*", "machine", "live, a name, a folder, a file"),
    ("*", "files", "Manifests of pods: a file, a folder, or -"),
    ("*", "add", "Imagines more on a node: intel.com/vf@1=8"),
    ("*", "config", "KubeletConfiguration, or a built-in name"),
    ("*", "kubelet", "Release whose rules apply, such as 1.37"),
    ("config check", "kubelet_flags", "Flags of the kubelet, or a file with them"),
    ("config show", "kubelet_flags", "Flags of the kubelet, or a file with them"),
    ("*", "policy", "none, best-effort, restricted, single-numa-node"),
    ("*", "scope", "container or pod"),
    ("*", "devices", "A file with the node's devices"),
    ("*", "state", "A kubelet's root folder with its state files"),
    ("*", "pods", "Pods that run: manifests, or /var/log/pods"),
    ("*", "only", "Shows only refused or unpinned pods"),
    ("*", "named", "Shows only pods of this name"),
    ("*", "kubeconfig", "How to reach the API server"),
    ("*", "output", "table, json or yaml"),
    ("admit", "selected", "PCI functions as devices: NAME=VENDOR:DEVICE"),
    ("admit", "output", "table, json, yaml or svg"),
    ("explain", "bundle", "Of a support bundle the refusal of this pod"),
    ("explain", "resize", "Explains a resize: POD cpu=12 memory=8Gi"),
    ("explain", "output", "table, json, yaml or svg"),
    ("repack", "moves", "The most pods that move, 1 to 8"),
    ("repack", "apply", "Carries the plan out on a running topolet"),
    ("diff", "configs", "A configuration to compare; repeat it"),
    ("diff", "policies", "Policies to compare: best-effort,restricted"),
    ("diff", "scopes", "Scopes to compare: container,pod"),
    ("simulate", "file", "A scenario; with --find-max a pod"),
    ("simulate", "find_max", "Counts how many of the pod fit"),
    ("simulate", "seed", "Seed of the random draws"),
    ("simulate", "legend", "Explains the columns"),
    ("simulate", "empty", "Nothing runs on the node"),
    ("simulate", "output", "table, json, yaml, csv or svg"),
    ("topology", "list", "Lists the built-in machines"),
    ("topology", "output", "table, tree, svg, json and others"),
    ("capture", "file", "The file to write, NAME.tar.zst"),
    ("capture", "check", "Compares the machine with FILE instead"),
    ("capture", "node", "Packs state, configuration and devices too"),
    ("capture", "claims", "Slices, classes and claims"),
    ("export nrt", "node_name", "The node's name in its cluster"),
    ("export nrt", "output", "yaml or json"),
    ("export resourceslices", "node_name", "The node's name in its cluster"),
    ("export resourceslices", "driver", "The driver's name"),
    ("export resourceslices", "output", "yaml or json"),
    ("state repair", "apply", "Writes the files, and keeps the old ones"),
    ("state repair", "dry_run", "Writes nothing, as without --apply"),
    ("state repair", "force", "Also where a running pod may lose something"),
    ("config check", "propose", "Prints the proposed configuration alone"),
    ("config check", "drop_in", "Prints the changed fields as a drop-in"),
    ("config check", "base", "Distribution beneath the configuration"),
    ("config check", "claims", "Slices and device classes of the node"),
    ("diagnose", "paths", "Bundles: folders, archives or files"),
    ("diagnose", "only_node", "Looks at this node alone"),
    ("diagnose", "pod", "Explains the refusal of this pod alone"),
    ("diagnose", "anonymise", "Writes a bundle for a public issue"),
    ("diagnose", "mapping", "With --anonymise: which name is which"),
    ("diagnose", "output", "table, json, yaml or svg"),
    ("status", "claims", "Slices and device classes of the node"),
    ("config show", "base", "Distribution beneath the configuration"),
    ("upgrade check", "from", "Release that runs now"),
    ("upgrade check", "to", "Release to compare with"),
    ("upgrade check", "drained", "The node is drained, its state deleted"),
    ("claim check", "files", "Objects of resource.k8s.io: files or folders"),
    ("admit", "devices", ""),
    ("serve", "policy", ""),
    ("serve", "scope", ""),
    ("serve", "devices", ""),
    ("serve", "root", "Folder with state and sockets"),
    ("serve", "observe", "Only looks at a node that a kubelet owns"),
    ("serve", "manifests", "Folder with manifests of pods that run"),
    ("serve", "socket", "Unix socket that requests come to"),
    ("serve", "socket_group", "Group that may connect to the socket"),
    ("serve", "metrics_address", "Address for Prometheus"),
    ("serve", "init", "Creates missing folders and configuration"),
    ("serve", "publish_nrt", "Publishes a NodeResourceTopology"),
    ("serve", "publish_state", "Publishes NodeState for the scheduler"),
    ("serve", "node_name", "The node's name in its cluster"),
    ("ui", "address", "Address of the page"),
    ("fleet", "nodes", "How many nodes"),
    ("fleet", "name", "Prefix of their names"),
    ("fleet", "publish_nrt", "Publishes NodeResourceTopologies"),
    ("fleet", "publish_state", "Publishes NodeStates"),
    ("fleet", "pods_a_second", "Pods of --filename that come to each node"),
    ("scheduler", "address", "Where it listens"),
    ("scheduler", "tls_cert", "Certificate of the extender"),
    ("scheduler", "tls_key", "Its private key"),
    ("scheduler", "client_ca", "Authorities of client certificates"),
    ("scheduler", "client_name", "Name of a client that may ask"),
    ("scheduler", "insecure_http", "Plain HTTP for every user of this host"),
    ("scheduler", "threads", "Threads that decide"),
    ("scheduler", "within", "Time for an answer"),
    ("get pods", "names", "Names, NAMESPACE/NAME, or UIDs"),
    ("get pods", "namespace", "Of one namespace"),
    ("get pods", "all_namespaces", "Of all namespaces, which is the default"),
    ("get pods", "watch", "Prints each pod that changes"),
    ("get pods", "output", "table, wide, name, json or yaml"),
    ("get events", "watch", "Prints each event as it happens"),
    ("describe pod", "name", "Name, or NAMESPACE/NAME"),
    ("describe pod", "namespace", "The pod's namespace"),
    ("apply", "dry_run", "Says what would be decided, and admits nothing"),
    ("apply", "lenient", "Ignores unknown fields, with a warning"),
    ("delete pod", "names", "Names, or NAMESPACE/NAME"),
    ("delete pod", "namespace", "The pods' namespace"),
    ("kubectl explain", "name", "The pod"),
    ("kubectl explain", "context", "Context of the kubeconfig"),
    ("kubectl explain", "namespace", "The pod's namespace"),
    ("kubectl explain", "agent", "Socket or URL of the node's agent"),
    ("kubectl node", "name", "The node"),
    ("kubectl node", "context", "Context of the kubeconfig"),
    ("kubectl node", "agent", "Socket or URL of the node's agent"),
    ("kubectl nodes", "names", "The nodes; without any all of them"),
    ("kubectl nodes", "selector", "Nodes with these labels"),
    ("kubectl nodes", "watch", "Prints each row that changes"),
    ("kubectl nodes", "only", "refusing, conditions or unknown"),
    ("kubectl nodes", "sort", "name, cpu, memory, refused or fits"),
    ("kubectl nodes", "output", "table, wide, json or yaml"),
    ("kubectl nodes", "context", "Context of the kubeconfig"),
    ("completions", "completed", "The shell, or kubectl"),
    ("schema", "kind", "Kind of document; without it all are listed"),
    ("schema", "openapi", "Prints the HTTP interface as OpenAPI 3.1"),
    ("man", "folder", "The folder to write into"),
];

/// Options that claims of devices are decided by.
const OF_CLAIMS: &[&str] = &["feature_gates", "kubeconfig", "context"];

/// Headings of options, by the words of their command, `*` for any; the first that has an option's id counts. Options
/// without one, or with an empty one, are a command's own.
const HEADINGS: &[(&str, &str, &[&str])] = &[
    (
        "capture",
        "With --node",
        &[
            "state",
            "config",
            "topolet_config",
            "pods",
            "devices",
            "claims",
            "kubeconfig",
            "context",
            "node_name",
            "kubelet_pid",
        ],
    ),
    ("admit", "Claims of devices", OF_CLAIMS),
    ("explain", "Claims of devices", OF_CLAIMS),
    ("simulate", "Claims of devices", OF_CLAIMS),
    ("claim check", "Claims of devices", OF_CLAIMS),
    ("serve", "State", &["root", "strict", "keep_backups", "init"]),
    (
        "serve",
        "Requests",
        &[
            "socket",
            "socket_group",
            "socket_for_all",
            "explain_limit",
            "tcp",
            "token_file",
            "metrics_address",
        ],
    ),
    (
        "serve",
        "Cluster",
        &[
            "kubeconfig",
            "in_cluster",
            "simulate_containers",
            "publish_nrt",
            "publish_state",
            "join",
            "take_over_nrt",
            "kubelet_url",
            "kubelet_token_file",
            "kubelet_certificate",
            "node_name",
            "node_labels",
        ],
    ),
    ("*", "Machine", &["machine", "add", "hugepages", "memory", "kubelet_pid"]),
    (
        "*",
        "Rules",
        &[
            "config",
            "configs",
            "kubelet_flags",
            "base",
            "kubelet",
            "decided_by",
            "topolet_config",
            "policy",
            "policies",
            "scope",
            "scopes",
            "devices",
            "selected",
        ],
    ),
    ("*", "What runs", &["state", "pods", "empty"]),
    ("capture", "", &["node"]),
    ("*", "Node object", &["node", "node_name", "node_labels"]),
    ("*", "Manifests", &["lenient", "strict", "are_static"]),
    ("*", "Log", &["logging_format", "log_level"]),
];

/// A command, which has these words after the program's name, and those below it with what `-h` prints of them.
pub(crate) fn shortened(command: Command, path: &str) -> Command {
    let has_examples = command.get_after_help().is_some_and(|text| text.to_string().starts_with("Examples:"));
    let command = if has_examples { command.help_template(TEMPLATE) } else { command };
    let line = COMMANDS.iter().find(|(words, _)| *words == path).map(|(_, line)| *line);
    let command = match line {
        Some(line) => {
            let long = command.get_long_about().or_else(|| command.get_about()).cloned().unwrap_or_default();
            command.about(line).long_about(long)
        }
        None => command,
    };
    let command = command.mut_args(|argument| shortened_argument(argument, path));
    command.mut_subcommands(|below| {
        let name = below.get_name().to_owned();
        let path = if path.is_empty() { name } else { format!("{path} {name}") };
        shortened(below, &path)
    })
}

/// An argument with the line that `-h` prints of it. Its values are in that line, and listed by `--help`.
fn shortened_argument(argument: Arg, path: &str) -> Arg {
    let id = argument.get_id().as_str();
    let heading =
        HEADINGS.iter().find(|(command, _, ids)| [path, "*"].contains(command) && ids.contains(&id));
    let heading = heading.map(|(_, heading, _)| *heading).filter(|heading| !heading.is_empty());
    let lines = || ARGUMENTS.iter().filter(|(_, argument, _)| *argument == id);
    let line = lines().find(|(command, ..)| *command == path);
    let line = line.or_else(|| lines().find(|(command, ..)| *command == "*"));
    let Some((_, _, line)) = line.filter(|(.., line)| !line.is_empty()) else {
        return argument.help_heading(heading).hide_short_help(true);
    };
    let mut long = argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string);
    let values = argument.get_possible_values();
    if !values.is_empty() && !argument.is_hide_possible_values_set() && argument.get_action().takes_values() {
        let value = |value: &clap::builder::PossibleValue| {
            let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
            format!("\n- {}{help}", value.get_name())
        };
        let values = values.iter().map(value).collect::<String>();
        long = Some(format!("{}\n\nPossible values:{values}", long.unwrap_or_default()));
    }
    let takes_values = argument.get_action().takes_values();
    let argument = argument.help_heading(heading).help(*line);
    argument.long_help(long.unwrap_or_default()).hide_possible_values(takes_values)
}

// Builds with fewer features have fewer commands.
#[cfg(all(test, feature = "serve", feature = "terminal"))]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory as _};

    use super::{ARGUMENTS, COMMANDS, HEADINGS};
    use crate::command::Arguments;

    /// The words of each command, and the ids of its arguments.
    fn all(command: &Command, path: &str, found: &mut Vec<(String, BTreeSet<String>)>) {
        let ids = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
        found.push((path.to_owned(), ids));
        for below in command.get_subcommands() {
            all(below, format!("{path} {}", below.get_name()).trim_start(), found);
        }
    }

    #[test]
    fn every_line_belongs_to_a_command_or_an_option() {
        let mut found = Vec::new();
        all(&Arguments::command(), "", &mut found);
        let is_there = |path: &str, id: &str| {
            found.iter().any(|(command, ids)| (path == "*" || path == command) && ids.contains(id))
        };
        for (path, _) in COMMANDS {
            assert!(found.iter().any(|(command, _)| command == path), "{path}");
        }
        for (path, id, _) in ARGUMENTS {
            assert!(is_there(path, id), "{path}: {id}");
        }
        for (path, _, ids) in HEADINGS {
            assert!(ids.iter().all(|id| is_there(path, id)), "{path}: {ids:?}");
        }
    }
}
