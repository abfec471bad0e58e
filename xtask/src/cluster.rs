//! `cargo xtask cluster`: a Kubernetes control plane on loopback.

use std::io::Read as _;

use local_cluster::{Parts, Program, Programs, RELEASE, package};

use crate::kubernetes::Release;
use crate::target;

/// Starts etcd, kube-apiserver and kube-scheduler on loopback, prints how to use them, and ends them with Enter or Ctrl-C.
///
/// They are built from Kubernetes' Go module first: some minutes, once for each release.
#[derive(Debug, clap::Args)]
pub(crate) struct Cluster {
    /// The release of Kubernetes.
    #[arg(long, value_name = "VERSION", default_value = RELEASE)]
    kubelet_version: String,
    /// Builds the programs, and starts nothing.
    #[arg(long)]
    build: bool,
    /// Without kube-scheduler: pods are bound by whoever creates them.
    #[arg(long)]
    without_scheduler: bool,
}

impl Cluster {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        build(&self.kubelet_version)?;
        if self.build {
            return Ok(());
        }
        let programs = Programs::built(&target(), &self.kubelet_version)?;
        let parts = if self.without_scheduler { Parts::Storage } else { Parts::Scheduler };
        let cluster = local_cluster::Cluster::start(&programs, parts)?;
        println!("Kubernetes {} answers at {}", self.kubelet_version, cluster.server());
        println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        println!("alias kubectl={}", programs.path(Program::Kubectl).display());
        println!("Enter ends it.");
        // Whatever comes, or the end of it.
        let _ = std::io::stdin().read(&mut [0])?;
        Ok(())
    }
}

/// Builds the programs of a release that are not built yet.
pub(crate) fn build(release: &str) -> anyhow::Result<()> {
    let programs = Release(release);
    Program::ALL.into_iter().try_for_each(|program| programs.build(program.name(), &package(program)))
}
