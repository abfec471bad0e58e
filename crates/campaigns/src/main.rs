//! Campaigns of `cargo xtask`: long runs that people start by hand. They measure topolet, compare it with what others wrote,
//! or renew what is recorded of these. CI and releases need none of it but a short run of a few.

mod reliability;
mod node;
mod chaos;
mod soak;
mod observe;
mod fuzz;
mod usage;
mod cluster;
mod cluster_chaos;
mod fleet;
mod schedulers;
mod scheduler_growth;
mod placement;
mod nfd;
mod others;
mod charts;
mod bench;
mod hint_costs;
mod kubelet;
mod promises;
mod kubelet_faults;
mod proposals;
mod object_fields;
mod pci_names;
mod page;
mod pictures;
mod dashboards;
mod openapi_client;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Bench),
    Chaos(chaos::Chaos),
    Cluster(cluster::Cluster),
    ClusterChaos(cluster_chaos::ClusterChaos),
    Dashboards(dashboards::Dashboards),
    Fleet(fleet::Fleet),
    Fuzz(fuzz::Fuzz),
    HintCosts(hint_costs::HintCosts),
    KubeletFaults(kubelet_faults::KubeletFaults),
    KubeletNode(kubelet::KubeletNode),
    KubeletVectors(kubelet::KubeletVectors),
    Nfd(nfd::Nfd),
    ObjectFields(object_fields::ObjectFields),
    Observe(observe::Observe),
    OpenapiClient(openapi_client::OpenapiClient),
    Others(others::Others),
    Page(page::Page),
    PciNames(pci_names::PciNames),
    Pictures(pictures::Pictures),
    Placement(placement::Placement),
    Proposals(proposals::Proposals),
    Reliability(reliability::Reliability),
    SchedulerGrowth(scheduler_growth::SchedulerGrowth),
    Schedulers(schedulers::Schedulers),
    Soak(soak::Soak),
}

fn main() -> std::process::ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

impl Command {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Bench(bench) => bench.run(),
            Self::Chaos(chaos) => chaos.run(),
            Self::Cluster(cluster) => cluster.run(),
            Self::ClusterChaos(chaos) => chaos.run(),
            Self::Dashboards(dashboards) => dashboards.run(),
            Self::Fleet(fleet) => fleet.run(),
            Self::Fuzz(fuzz) => fuzz.run(),
            Self::HintCosts(costs) => costs.run(),
            Self::KubeletFaults(faults) => faults.run(),
            Self::KubeletNode(node) => node.run(),
            Self::KubeletVectors(vectors) => vectors.run(),
            Self::Nfd(nfd) => nfd.run(),
            Self::ObjectFields(fields) => fields.run(),
            Self::Observe(observe) => observe.run(),
            Self::OpenapiClient(client) => client.run(),
            Self::Others(others) => others.run(),
            Self::Page(page) => page.run(),
            Self::PciNames(names) => names.run(),
            Self::Pictures(pictures) => pictures.run(),
            Self::Placement(placement) => placement.run(),
            Self::Proposals(proposals) => proposals.run(),
            Self::Reliability(reliability) => reliability.run(),
            Self::SchedulerGrowth(growth) => growth.run(),
            Self::Schedulers(schedulers) => schedulers.run(),
            Self::Soak(soak) => soak.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use workspace_tools::commands::Program;

    #[test]
    fn xtask_lists_these_commands() {
        let cli = super::Cli::command();
        let line = |of: &clap::Command| of.get_about().map(ToString::to_string).unwrap_or_default();
        let own: Vec<_> = cli.get_subcommands().map(|of| (of.get_name(), line(of))).collect();
        let listed = Program::Campaigns.commands().iter().map(|(name, line)| (*name, (*line).to_owned()));
        assert_eq!(own, listed.collect::<Vec<_>>());
    }
}
