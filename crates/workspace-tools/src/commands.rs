//! Commands of `cargo xtask` that are not xtask's: it lists them, and starts the programs that have them.

use std::process::{Command, ExitCode};

use crate::workspace::{build, target};

/// A program with commands of `cargo xtask`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Long runs that people start by hand, in `crates/campaigns`.
    Campaigns,
    /// Guests, in `crates/guest`.
    Guest,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Campaigns, Self::Guest];

    /// The names of its commands, each with its line in `cargo xtask --help`.
    pub const fn commands(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Campaigns => CAMPAIGNS,
            Self::Guest => GUEST,
        }
    }

    /// Builds the program, and gives the command that starts it; the caller appends the program's arguments.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn start(self) -> anyhow::Result<Command> {
        let name = match self {
            Self::Campaigns => "campaigns",
            Self::Guest => "vm",
        };
        build(&[name])?;
        Ok(Command::new(target().join("debug").join(name)))
    }
}

/// The exit code of a result; an error is printed with its causes.
pub fn exit(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the enum `Command` of a program's commands, each a type with `run`.
#[macro_export]
macro_rules! commands {
    ($($name:ident($command:ty),)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($name($command),)*
        }

        impl Command {
            fn run(self) -> anyhow::Result<()> {
                match self {
                    $(Self::$name(command) => command.run(),)*
                }
            }
        }
    };
}

const CAMPAIGNS: &[(&str, &str)] = &[
    (
        "bench",
        "Measures what must be reached and the curves of growth: time, allocations, memory, \
         instructions",
    ),
    (
        "chaos",
        "Kills a daemon under load, restarts it, and looks whether anything is lost or has two \
         owners. Needs about 0.5 s a kill",
    ),
    (
        "chart",
        "Renders the chart with helm and compares it with the kustomizations; installs, upgrades and \
         removes it on a local control plane. Needs Go; the first build takes some minutes",
    ),
    (
        "cluster",
        "Starts etcd, kube-apiserver and kube-scheduler on loopback, prints how to use them, and ends \
         them with Enter or Ctrl-C",
    ),
    (
        "cluster-chaos",
        "Kills the API server and nodes while kube-scheduler places pods, and fails if a pod is lost \
         or admitted twice",
    ),
    (
        "cluster-claims",
        "Places pods with claims on a local cluster and compares the devices that kube-scheduler \
         allocates with those that topolet names beforehand",
    ),
    (
        "dashboards",
        "Checks rules and their tests with promtool, and has a Prometheus scrape nodes: every rule is \
         evaluated, and every query of the dashboards has an answer, or asks for what has not \
         happened. Half an hour of a simulated node is drawn as the dashboard lays it out, in \
         target/dashboards. Needs Debian's package prometheus",
    ),
    (
        "dist",
        "Builds the Debian package and the archive for krew, with the static program, into dist of \
         cargo's target folder",
    ),
    (
        "fleet",
        "Runs `topolet fleet` with pods that come to each node by themselves, and measures its share \
         of a core and its memory",
    ),
    ("formats", "Gives listed public files to the readers of commands, and counts which are understood"),
    (
        "fuzz",
        "Runs fuzz targets, one after the other; needs the nightly toolchain and `cargo install \
         cargo-fuzz`",
    ),
    (
        "guard",
        "Measures the guard of exclusive CPUs beside a scripted runtime with NRI 0.12.3, and kills it while pods come and go. \
         Needs Go",
    ),
    (
        "hint-costs",
        "Measures what a kubelet's hints cost for each set of NUMA nodes and each combination. Needs \
         Go",
    ),
    (
        "kubelet-faults",
        "Reproduces faults of the kubelet or of resource claims in a release, or in all, and prints which release has which",
    ),
    (
        "kubelet-node",
        "Has the kubelet's own managers write a folder that `topolet serve --observe` watches, and \
         start from folders that topolet has written. Ends by itself",
    ),
    (
        "kubelet-vectors",
        "Asks the kubelet's own code the committed cases again and lists those whose answer differs \
         from the recorded one",
    ),
    (
        "nfd",
        "Compares what is published of a node with what Node Feature Discovery's topology updater \
         publishes, and measures how long an admission takes to get there. Needs Go; the first build \
         takes some minutes",
    ),
    (
        "nri",
        "Runs the scripted plugin of `nri-plugin` on recorded cases of NRI's own runtime side, in three versions. Needs Go",
    ),
    ("object-fields", "Writes the table of fields that strict reading of manifests compares with (needs Go)"),
    ("observe", "Measures `topolet serve --observe` beside 500 pods and a steady stream of refusals"),
    (
        "openapi-client",
        "Has a public validator read what `topolet serve` answers at /openapi.json, generates a \
         client in Python from it, and applies, explains and deletes a pod with the client over TCP. \
         Needs Python 3",
    ),
    (
        "others",
        "Builds programs that others wrote, and has each do its first useful thing on a local \
         cluster. Needs Go; the first builds take many minutes",
    ),
    (
        "page",
        "Opens the page of `topolet serve` and of `topolet ui` in a browser without a screen and uses \
         it; leaves pictures of every view in `target/page`. axe-core, which npm fetches, looks at \
         each view",
    ),
    ("pci-names", "Writes the names of devices from a PCI ID list (Debian: package `pci.ids`)"),
    ("pictures", "Draws the machines and a decision into `docs/pictures`"),
    ("placement", "Simulates eight workloads on six machines under every placement strategy"),
    (
        "proposals",
        "Has the kubelet's own code validate all proposals, start with them and admit a pod. Needs Go",
    ),
    ("reliability", "Writes docs/reliability.md from the figures of the campaigns"),
    ("scheduler-growth", "Measures `scheduler-extender` on 10 to 10,000 nodes of which no two are alike"),
    (
        "schedulers",
        "Places the pods of scenarios with several schedulers on nodes of topolet, and counts what \
         the nodes refuse",
    ),
    ("soak", "Runs a daemon under a steady load, and fails if its memory or its descriptors grow"),
    (
        "static",
        "Builds topolet statically to `target/static/topolet`, and runs it in a root file system that \
         has nothing else",
    ),
    ("texts", "Reads changed manifests and configurations as kubectl and the kubelet do (needs Go)"),
];

const GUEST: &[(&str, &str)] =
    &[("vm", "Boots a guest with the topology of a fixture machine under QEMU, and runs tests in it")];
