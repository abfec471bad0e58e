//! Arguments that several commands share. What one command alone takes is declared beside it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use node_agent::KeptBackups;
use node_config::{DecidedBy, Scope, TopologyPolicyName};
use node_input::{
    Addition, BaseChoice, IdentitySource, KubeletVersion, LoadedNode, MachineSource, ManifestReading,
    NodeSources, OptionsSource, PodlessObjects, ResidentsSource, RulesSource, StaticPods,
};
use node_output::Format;
use topology_manifest::UnknownFields;

use crate::client::SOCKET;
use crate::help_forms;

/// Which pods are asked about, on which node.
#[derive(Args, Debug)]
pub(crate) struct PodsArguments {
    /// A file with pods, lists of them, or workloads that make them (Deployment, Job and so on), as YAML or JSON; or a folder
    /// with such files; `-` reads standard input. Slices, device classes and claims among them decide on claims. Can be given
    /// more than once.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) imagined: ImaginedArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
}

impl PodsArguments {
    pub(crate) fn sources(&self) -> NodeSources {
        NodeSources {
            machine: MachineSource { add: self.imagined.add.clone(), ..self.machine.source() },
            rules: self.rules.source(),
            identity: self.identity.source(),
            residents: self.residents.source(),
        }
    }
}

/// What the node is called, its labels and taints.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct IdentityArguments {
    /// The Node object as YAML or JSON, as `kubectl get node NODE -o yaml` prints it. Its name, labels and `NoExecute`
    /// taints decide on pods with a node name, node selector or required node affinity; without it these are not looked
    /// at.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) node: Option<PathBuf>,
    /// Name of the node. It has no taints, and as labels --node-labels, `kubernetes.io/hostname` and `kubernetes.io/os`.
    #[arg(long, value_name = "NAME", conflicts_with = "node")]
    pub(crate) node_name: Option<String>,
    /// The node's labels: KEY=VALUE,KEY=VALUE.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', requires = "node_name")]
    pub(crate) node_labels: Vec<String>,
}

impl IdentityArguments {
    pub(crate) fn source(&self) -> IdentitySource {
        let Self { node, node_name, node_labels } = self.clone();
        IdentitySource { node, node_name, node_labels }
    }
}

/// What a kubelet calls this host's node.
pub(crate) fn host_name() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_lowercase())
}

/// What runs on the node.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ResidentsArguments {
    /// A kubelet's root folder or a copy of it, whose state files say what pods hold. Without it the node file's state,
    /// or for `live` that in /var/lib/kubelet, else nothing runs.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Which pods run: manifests with UIDs, such as `kubectl get pods -o yaml` prints, with which requests, host ports
    /// and the number of pods count too; or a folder like /var/log/pods, which has names only. What other pods hold is
    /// free. For `live`, /var/log/pods is read.
    #[arg(long, value_name = "PATH")]
    pub(crate) pods: Option<PathBuf>,
    /// Nothing runs on the node, whatever its state files say.
    #[arg(long, conflicts_with_all = ["state", "pods"])]
    pub(crate) empty: bool,
}

impl ResidentsArguments {
    pub(crate) fn source(&self) -> ResidentsSource {
        let Self { state, pods, empty } = self.clone();
        ResidentsSource { state, pods, empty }
    }
}

/// How manifests of pods are read.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReadingArguments {
    /// Ignores fields that pods of Kubernetes v1.36.3 do not have, with a warning. Without it such a field refuses its
    /// object, as kubectl's validation does.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Takes objects without pods, such as Services, for an error.
    #[arg(long)]
    pub(crate) strict: bool,
    /// The pods are static pods of the kubelet's manifests folder: critical, so they preempt others. Pods of files in
    /// the configuration's staticPodPath, or without one in /etc/kubernetes/manifests, are static without it.
    #[arg(long = "static")]
    pub(crate) are_static: bool,
}

impl ReadingArguments {
    /// For pods of a node.
    pub(crate) fn of_node(self, node: &LoadedNode) -> ManifestReading<'_> {
        self.beside(node.static_pods.as_deref())
    }

    /// For pods of a node whose kubelet reads static pods there; `None`: where kubelets usually do.
    pub(crate) const fn beside(self, static_pods: Option<&Path>) -> ManifestReading<'_> {
        let Self { lenient, strict, are_static } = self;
        ManifestReading {
            unknown: if lenient { UnknownFields::Report } else { UnknownFields::Refuse },
            podless: if strict { PodlessObjects::Refused } else { PodlessObjects::Skipped },
            static_pods: if are_static { StaticPods::All } else { StaticPods::At(static_pods) },
        }
    }
}

/// Which machine.
#[derive(Args, Clone, Debug)]
pub(crate) struct MachineArguments {
    /// The machine.
    #[arg(
        short,
        long,
        value_name = "MACHINE",
        default_value = "live",
        value_hint = ValueHint::AnyPath,
        long_help = help_forms::MACHINE
    )]
    pub(crate) machine: String,
    /// Huge pages to decide with instead of those that the machine has: NODE:SIZE=PAGES, as in `0:1Gi=16,1:1Gi=16`.
    #[arg(long, value_name = "PAGES")]
    pub(crate) hugepages: Option<String>,
    /// Memory of NUMA nodes to decide with instead of what they have, or where the machine's files do not tell it:
    /// NODE=SIZE, as in `0=64Gi,1=64Gi`. A size is all of a node's memory, huge pages included; the machine has the
    /// sum of its nodes then.
    #[arg(long, value_name = "MEMORY")]
    pub(crate) memory: Option<String>,
    /// The process id of the kubelet that is meant, where several run on this machine.
    #[arg(long, value_name = "PID")]
    pub(crate) kubelet_pid: Option<u32>,
}

impl MachineArguments {
    pub(crate) fn source(&self) -> MachineSource {
        let Self { machine, hugepages, memory, kubelet_pid } = self.clone();
        MachineSource { machine, hugepages, memory, add: Vec::new(), kubelet_pid }
    }
}

/// What the machine is imagined to have more.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ImaginedArguments {
    /// Decides on an imagined machine that has this much more on a NUMA node, as RESOURCE@NODE=AMOUNT: cpu@0=16 in whole cores, memory@1=64Gi,
    /// hugepages-1Gi@0=16Gi out of the node's memory, or intel.com/vf@1=8 of any device plugin's resource. What pods hold stays
    /// held, what is added is free, and the configuration is that of the real machine. Can be given more than once.
    #[arg(long, value_name = "MORE")]
    pub(crate) add: Vec<Addition>,
}

/// What a repair leaves beside a file.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BackupArguments {
    /// How many backups of each file (NAME.bak-N) a repair keeps; it removes the oldest.
    #[arg(long, value_name = "NUMBER", default_value = "5")]
    keep_backups: NonZeroUsize,
}

impl BackupArguments {
    pub(crate) const fn kept(self) -> KeptBackups {
        KeptBackups(self.keep_backups)
    }
}

/// What lies over and beneath the kubelet's configuration.
#[derive(Args, Clone, Debug)]
pub(crate) struct BesideConfigArguments {
    /// Flags of the kubelet over that configuration, as "--max-pods=20 --v=2", or a file with them: `kubeadm-flags.env` and other
    /// files of variables, a unit or drop-in of systemd, a command line, or /proc/PID/cmdline. Several make one command line.
    /// Without --config and a configuration of the machine they are all that is known.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) kubelet_flags: Vec<String>,
    /// What a distribution sets beneath the configuration: `none`, or `openshift`, `eks`, `eks:TYPE` with an instance type
    /// such as `eks:m5.large`, `bottlerocket`, `talos`, `talos-controlplane`, `k3s`, `rke2`. Without it what the form of
    /// the file tells. Where no configuration is given or found it lies beneath the kubelet's defaults.
    #[arg(long, value_name = "NAME")]
    pub(crate) base: Option<BaseChoice>,
}

/// By which rules it decides.
#[derive(Args, Clone, Debug)]
pub(crate) struct RulesArguments {
    /// The kubelet's configuration.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath, long_help = help_forms::CONFIG)]
    pub(crate) config: Option<String>,
    #[command(flatten)]
    pub(crate) beside: BesideConfigArguments,
    /// Release of the kubelet whose rules apply: 1.34, 1.35, 1.36, 1.37, or a version such as v1.37.2. Without it that of
    /// the Node object (--node), else one that writes state files as the node's are, else 1.36.
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubelet: Option<KubeletVersion>,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// Options of topolet's own, which no kubelet has: `cpu.cacheAlignment`, `memory.nodes`, `memory.regroup`,
    /// `memory.drift`, `placement`, `podPolicy.allow`, `devices.links`, `devices.claims`.
    #[arg(long, value_name = "FILE")]
    pub(crate) topolet_config: Option<PathBuf>,
    /// Topology Manager policy instead of the configuration's.
    #[arg(long, value_name = "POLICY", value_parser = policies())]
    pub(crate) policy: Option<String>,
    /// Topology Manager scope instead of the configuration's.
    #[arg(long, value_name = "SCOPE", value_parser = scopes())]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
}

/// The names that a Topology Manager policy can have.
pub(crate) fn policies() -> PossibleValuesParser {
    PossibleValuesParser::new(TopologyPolicyName::ALL.map(TopologyPolicyName::name))
}

/// The names that a Topology Manager scope can have.
pub(crate) fn scopes() -> PossibleValuesParser {
    PossibleValuesParser::new(Scope::ALL.map(Scope::name))
}

/// Which program decides.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ProgramArguments {
    /// The program that decides: `kubelet`, with its faults, or `topolet` (`topolet serve`), which mends them and takes any
    /// number of NUMA nodes. Without it `topolet` with --topolet-config or on a node file of topolet's own node, else
    /// `kubelet`.
    #[arg(long = "for", value_name = "PROGRAM", value_parser = programs())]
    pub(crate) decided_by: Option<DecidedBy>,
}

/// The programs that decide on nodes.
pub(crate) fn programs() -> impl TypedValueParser<Value = DecidedBy> {
    PossibleValuesParser::new(DecidedBy::ALL.map(DecidedBy::name))
        .try_map(|name| DecidedBy::named(&name).ok_or("neither kubelet nor topolet"))
}

/// Which devices there are.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DeviceArguments {
    /// Devices of the node, by resource: `devices:`, a list of `resource: NAME` with `list: [{id: ID, nodes: [0]}]`,
    /// `perNode: {0: 4}`, or `pci: {vendor: "10de", device: ID, class: "0302"}`, functions that the machine has. Read
    /// too: a kubelet's podresources answers (what pods hold by `List` counts where no state tells it), configurations of the
    /// SR-IOV and NVIDIA plugins, policies and states of the SR-IOV operator, a Node, a `NodeResourceTopology`, and what
    /// `nvidia-smi topo -m` prints.
    #[arg(long, value_name = "FILE")]
    pub(crate) devices: Option<PathBuf>,
    /// PCI functions of the machine as devices of a resource: RESOURCE=VENDOR:DEVICE:CLASS, where empty parts are any and
    /// the class may be left out, as in `nvidia.com/gpu=10de::0302` or `intel.com/vf=8086:1889`.
    #[arg(long = "device", value_name = "FUNCTIONS", conflicts_with = "devices")]
    pub(crate) selected: Vec<String>,
}

impl RulesArguments {
    pub(crate) fn source(&self) -> RulesSource {
        let Self { config, beside, kubelet, program, topolet_config, policy, scope, devices } = self.clone();
        let BesideConfigArguments { kubelet_flags, base } = beside;
        let decided_by = program.decided_by;
        let DeviceArguments { devices, selected } = devices;
        RulesSource {
            distribution: None,
            config,
            kubelet_flags,
            base,
            kubelet,
            decided_by,
            topolet_config: topolet_config.map(OptionsSource::File),
            policy,
            scope,
            devices,
            selected,
        }
    }
}

/// Which state.
#[derive(Args, Debug)]
pub(crate) struct FolderArguments {
    /// The kubelet's root folder, or a copy of it; without it that of the node file, else /var/lib/kubelet.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Which pods there are, so that they have names and pods that are gone are found: a folder like /var/log/pods,
    /// or manifests with UIDs. For this machine's own state, /var/log/pods is read.
    #[arg(long, value_name = "PATH")]
    pub(crate) pods: Option<PathBuf>,
}

/// Which daemon.
#[derive(Args, Debug)]
pub(crate) struct SocketArguments {
    /// Where the daemon listens.
    #[arg(
        long,
        value_name = "PATH",
        env = "TOPOLET_SOCKET",
        default_value = SOCKET,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) socket: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct OutputArguments {
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    pub(crate) output: Format,
}

/// How decisions are printed.
#[derive(Args, Debug)]
pub(crate) struct DecisionOutputArguments {
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DecisionFormat,
}

/// A value of `--output`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum DecisionFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// A picture of the decision on one pod (--pod): what each NUMA node had, and what was chosen or lacked.
    Svg,
}

impl DecisionFormat {
    /// The format of a text; `None`: a picture.
    pub(crate) const fn text(self) -> Option<Format> {
        match self {
            Self::Table => Some(Format::Table),
            Self::Json => Some(Format::Json),
            Self::Yaml => Some(Format::Yaml),
            Self::Svg => None,
        }
    }
}

/// The values of `--output`.
fn formats() -> impl TypedValueParser<Value = Format> {
    let values = [("table", "For people"), ("json", "For programs"), ("yaml", "For programs and people")];
    let values = values.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        "json" => Format::Json,
        "yaml" => Format::Yaml,
        _ => Format::Table,
    })
}

/// Refuses an address that other hosts reach, by the option that names it.
#[cfg(feature = "serve")]
pub(crate) fn must_be_loopback(option: &str, address: std::net::SocketAddr) -> anyhow::Result<()> {
    anyhow::ensure!(
        address.ip().is_loopback(),
        "{option} {address}: expected a loopback address such as 127.0.0.1:{}",
        address.port()
    );
    Ok(())
}
