//! Long helps that are lists: the forms in which a machine and a configuration are given, one a line.

/// The forms of `--machine`.
pub(crate) const MACHINE: &str = "\
The machine. A word with `/` or `.` is a path:
- live: this machine
- NAME: a built-in machine (`topolet topology --list`)
- FOLDER: `sys` and `proc` of a machine, such as a copy of its root; the kubelet's files below it count as those of `live`
- ARCHIVE: such a folder as zip, or as tar by zstd, gzip, xz or bzip2; `sys` and `proc` lie at most three folders down, as \
sosreport and hwloc-gather-topology pack them
- NODE FILE: from `topolet capture --node`; its state, pods, configuration and devices hold unless others are given
- NAME.json: cAdvisor's MachineInfo
- NAME.xml: what hwloc exports
- TEXT: what `lscpu -e`, `lscpu`, `numactl -H`, `lspci -Dnnv`, `lstopo` or `virsh capabilities` print, or a kubelet's line \
`Detected CPU topology`, one after the other in a file, or in files with commas between them
- VIRTUAL MACHINE: what `virsh dumpxml` prints, or a command line of QEMU
- OBJECT: a NodeResourceTopology, or a Numatopology of Volcano, as far as it describes the node";

/// The forms that a configuration is read in.
macro_rules! config_forms {
    () => {
        "\
The kubelet's configuration, as YAML, JSON or TOML:
- `KubeletConfiguration`, also among documents for kubeadm
- what a kubelet answers at /configz
- `KubeletConfig` or `PerformanceProfile` of OpenShift
- `NodeConfig` or user data of EKS
- settings of Bottlerocket
- a configuration of Talos or k3s
- `#cloud-config`
- an object of a cluster such as Rancher's
- a folder of drop-ins: a kubelet's --config-dir, or config.yaml.d of k3s
- pinned: built in, pins as much as possible
- kubelet-defaults: built in, the kubelet's own, which pin nothing
"
    };
}

/// The forms of `--config` where a node decides.
pub(crate) const CONFIG: &str = concat!(
    config_forms!(),
    "\nWithout it that of a node file, or for `live` that of its kubelet, else `pinned`; `state` and `status` guess none"
);

/// The forms of `--config` where the configuration itself is in question.
pub(crate) const CHECKED_CONFIG: &str = concat!(
    config_forms!(),
    "\nWithout it that of a node file, or for `live` that of its kubelet, else `kubelet-defaults`"
);

/// The forms of `--config` where two releases are compared.
pub(crate) const COMPARED_CONFIG: &str = concat!(
    config_forms!(),
    "\nWithout it that of a node file, or for `live` that of its kubelet, else `pinned`"
);

/// The forms of `--config` where a machine is drawn.
pub(crate) const DRAWN_CONFIG: &str = concat!(
    config_forms!(),
    "\nWhat it reserves is shown. Without it that of a node file, or for `live` that of its kubelet; else nothing is known of \
     reservations"
);

/// Manifests of pods where their claims are not decided.
pub(crate) const PODS_WITHOUT_CLAIMS: &str = "\
A file with pods, lists of them, or workloads that make them (Deployment, Job and so on), as YAML or JSON; or a folder with \
such files; `-` reads standard input. Can be given more than once";
