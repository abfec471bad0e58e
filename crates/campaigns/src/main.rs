//! Campaigns of `cargo xtask`: long runs that people start by hand. They measure topolet, compare it with what others wrote,
//! or renew what is recorded of these, and make what a release consists of. CI runs a few of them, for a short time.

mod reliability;
mod machine_tree;
mod node;
mod chaos;
mod soak;
mod observe;
mod fuzz;
mod formats;
mod usage;
mod cluster;
mod cluster_chaos;
mod cluster_claims;
mod fleet;
mod schedulers;
mod scheduler_growth;
mod placement;
mod nfd;
mod nri;
mod guard;
mod others;
mod charts;
mod chart;
mod bench;
mod hint_costs;
mod kubelet;
mod promises;
mod kubelet_faults;
mod proposals;
mod texts;
mod object_fields;
mod pci_names;
mod page;
mod pictures;
mod dashboards;
mod dist;
mod static_build;
mod openapi_client;

use clap::Parser;
use workspace_tools::commands::exit;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

workspace_tools::commands! {
    Bench(bench::Bench),
    Chaos(chaos::Chaos),
    Chart(chart::Chart),
    Cluster(cluster::Cluster),
    ClusterChaos(cluster_chaos::ClusterChaos),
    ClusterClaims(cluster_claims::ClusterClaims),
    Dashboards(dashboards::Dashboards),
    Dist(dist::Dist),
    Fleet(fleet::Fleet),
    Formats(formats::Formats),
    Fuzz(fuzz::Fuzz),
    Guard(guard::Guard),
    HintCosts(hint_costs::HintCosts),
    KubeletFaults(kubelet_faults::KubeletFaults),
    KubeletNode(kubelet::KubeletNode),
    KubeletVectors(kubelet::KubeletVectors),
    Nfd(nfd::Nfd),
    Nri(nri::Nri),
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
    Static(static_build::Static),
    Texts(texts::Texts),
}

fn main() -> std::process::ExitCode {
    exit(Cli::parse().command.run())
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
