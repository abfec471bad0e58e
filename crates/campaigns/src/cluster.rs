//! `cargo xtask cluster`: a Kubernetes control plane on loopback, and nodes for it.

use std::io::Read as _;

use local_cluster::{
    Containers, Extender, NODE_RIGHTS, Node, NodeOptions, Parts, Program, Programs, RELEASE,
};
use workspace_tools::control_plane::{self, MACHINE, build, topolet};
use workspace_tools::workspace::target;

use crate::schedulers::Scheduler;

/// Starts etcd, kube-apiserver and kube-scheduler on loopback, prints how to use them, and ends them with Enter or Ctrl-C.
///
/// They are built from Kubernetes' Go module first: some minutes, once for each release. With `--nodes 3` three nodes of
/// topolet join, whose machines and containers are simulated: `kubectl apply` pods, and see where they are placed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Cluster {
    /// The release of Kubernetes.
    #[arg(long, value_name = "VERSION", default_value = RELEASE)]
    kubelet_version: String,
    /// Builds the programs, and starts nothing.
    #[arg(long)]
    build: bool,
    /// With kube-controller-manager: Deployments and Jobs make pods, budgets have a status, templates make claims.
    #[arg(long, conflicts_with_all = ["without_scheduler", "topology_match", "extender"])]
    controllers: bool,
    /// Without kube-scheduler: the client that creates a pod binds it too.
    #[arg(long)]
    without_scheduler: bool,
    /// The scheduler of the scheduler plugins in the place of kube-scheduler, with `NodeResourceTopologyMatch`; nodes have
    /// the policy `single-numa-node` and publish what it reads.
    #[arg(long, conflicts_with = "without_scheduler")]
    topology_match: bool,
    /// kube-scheduler with `topolet scheduler` as its extender; nodes have the policy `single-numa-node` and publish their
    /// state.
    #[arg(long, conflicts_with_all = ["without_scheduler", "topology_match"])]
    extender: bool,
    /// Nodes that join, `node-1` and so on, each a process of `topolet serve --simulate-containers`.
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=100))]
    nodes: u16,
    /// The machine of each node.
    #[arg(long, value_name = "MACHINE", default_value = MACHINE)]
    machine: String,
}

impl Cluster {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        build(&self.kubelet_version)?;
        if self.build {
            return Ok(());
        }
        let topolet = if self.nodes > 0 || self.extender { Some(topolet()?) } else { None };
        let programs = Programs::built(&target(), &self.kubelet_version)?;
        let parts = if self.controllers {
            Parts::Controllers
        } else if self.without_scheduler || self.asks_nodes() {
            Parts::Storage
        } else {
            Parts::Scheduler
        };
        let mut cluster = local_cluster::Cluster::start(&programs, parts)?;
        if self.topology_match {
            let scheduler = Scheduler::TopologyMatch;
            scheduler.build()?;
            control_plane::prepare(&cluster)?;
            cluster.start_scheduler(&scheduler.program(), &scheduler.configuration(None)?)?;
        }
        let extender = match &topolet {
            Some(topolet) if self.extender => {
                control_plane::prepare(&cluster)?;
                let extender = Extender::start(&cluster, topolet)?;
                cluster.start_scheduler(&programs.path(Program::Scheduler), &extender.configuration())?;
                Some(extender)
            }
            _ => None,
        };
        let nodes = topolet.map_or_else(|| Ok(Vec::new()), |topolet| self.join(&cluster, &topolet))?;
        println!("Kubernetes {} answers at {}", self.kubelet_version, cluster.server());
        println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        println!("alias kubectl={}", programs.path(Program::Kubectl).display());
        for node in &nodes {
            println!("{}: TOPOLET_SOCKET={}", node.name(), node.socket().display());
        }
        if let Some(extender) = &extender {
            let authority = extender.certificates().join("ca.crt");
            println!(
                "topolet scheduler: curl --cacert {} https://{}/metrics",
                authority.display(),
                extender.address()
            );
        }
        println!("Enter ends it.");
        // Whatever comes, or the end of it.
        let _ = std::io::stdin().read(&mut [0])?;
        Ok(())
    }

    /// Whether the scheduler reads what nodes publish.
    const fn asks_nodes(&self) -> bool {
        self.topology_match || self.extender
    }

    fn join(&self, cluster: &local_cluster::Cluster, topolet: &std::path::Path) -> anyhow::Result<Vec<Node>> {
        cluster.apply(NODE_RIGHTS)?;
        // The only policy by which that scheduler filters.
        let published = if self.extender { "--publish-state" } else { "--publish-nrt" };
        let strict = [published, "--policy", "single-numa-node"];
        let arguments: &[&str] = if self.asks_nodes() { &strict } else { &[] };
        let options = NodeOptions {
            name: "node",
            machine: &self.machine,
            containers: Containers::Simulated,
            arguments,
        };
        Node::start_several(cluster, topolet, options, usize::from(self.nodes))
    }
}
