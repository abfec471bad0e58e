//! `kubectl topolet nodes`: all nodes of a cluster, a row each.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use cluster_overview::{ClusterObjects, ClusterOverview, Detail, NodeRow, RowBasis, RowOrder};
use jiff::Timestamp;
use node_daemon::cluster_node::Cluster;
use node_output::{Document, Format};

use super::cluster::PlaceArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

/// Between two looks of `--watch`.
const PERIOD: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub(crate) struct AllNodes {
    /// The nodes; without any all of them.
    #[arg(value_name = "NODE")]
    names: Vec<String>,
    /// Nodes with these labels, such as `pool=gpu`.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// Nodes with something: refusals in the last hour, conditions, or nothing that is published.
    #[arg(long, value_name = "WHAT")]
    only: Option<Only>,
    /// By what rows are sorted.
    #[arg(long, value_name = "COLUMN", default_value = "name")]
    sort: Sorted,
    /// Prints each row that changes, every 5 s.
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    place: PlaceArguments,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: NodesFormat,
}

/// Which nodes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Only {
    /// Those that refused pods in the last hour.
    Refusing,
    /// Those with a condition, such as `NotReady`.
    Conditions,
    /// Those of which nothing is published.
    Unknown,
}

/// By what.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Sorted {
    /// Their names.
    Name,
    /// Most free CPUs on one NUMA node first.
    Cpu,
    /// Most free memory on one NUMA node first.
    Memory,
    /// Most refusals first.
    Refused,
    /// Least of what was asked for fits first.
    Fits,
}

/// How.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum NodesFormat {
    /// For people.
    Table,
    /// With all resources, reasons, and what was asked for.
    Wide,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

impl Only {
    fn is(self, row: &NodeRow) -> bool {
        match self {
            Self::Refusing => row.refusals() > 0,
            Self::Conditions => !row.conditions.is_empty(),
            Self::Unknown => row.basis == RowBasis::Unknown,
        }
    }
}

impl Sorted {
    const fn order(self) -> RowOrder {
        match self {
            Self::Name => RowOrder::Name,
            Self::Cpu => RowOrder::Cpu,
            Self::Memory => RowOrder::Memory,
            Self::Refused => RowOrder::Refused,
            Self::Fits => RowOrder::Fits,
        }
    }
}

pub(super) fn run(arguments: &AllNodes, screen: Screen) -> anyhow::Result<Outcome> {
    let detail = match arguments.output {
        NodesFormat::Table => Some(Detail::Brief),
        NodesFormat::Wide => Some(Detail::Wide),
        NodesFormat::Json | NodesFormat::Yaml => None,
    };
    if arguments.watch && detail.is_none() {
        bail!("--watch prints rows: expected -o table or wide");
    }
    let cluster = arguments.place.connect()?;
    let overview = look(&cluster, arguments)?;
    for name in &arguments.names {
        if !overview.nodes.iter().any(|row| row.node == *name) && arguments.only.is_none() {
            bail!("there is no node {name}; `kubectl get nodes` lists all nodes");
        }
    }
    let is_fine = overview.nodes.iter().all(|row| row.conditions.is_empty() && row.refusals() == 0);
    let document =
        |format| Document::new("NodesOverview", &overview).text(format).map(Option::unwrap_or_default);
    match (detail, arguments.output) {
        (Some(detail), _) => screen.show(&overview.text(detail, screen.page))?,
        (None, NodesFormat::Yaml) => screen.print(&document(Format::Yaml)?)?,
        (None, _) => screen.print(&document(Format::Json)?)?,
    }
    if let Some(detail) = detail.filter(|_| arguments.watch) {
        watch(&cluster, arguments, overview, detail, screen)?;
    }
    Ok(if is_fine { Outcome::Done } else { Outcome::SomethingWrong })
}

/// Prints the rows that change, until the reader goes away.
fn watch(
    cluster: &Cluster,
    arguments: &AllNodes,
    overview: ClusterOverview,
    detail: Detail,
    screen: Screen,
) -> anyhow::Result<()> {
    let mut known: BTreeMap<String, NodeRow> = by_name(overview.nodes);
    loop {
        thread::sleep(PERIOD);
        let mut now = match look(cluster, arguments) {
            Ok(now) => now,
            Err(error) => {
                screen.warn(format_args!("{error:#}"));
                continue;
            }
        };
        let rows = by_name(now.nodes.clone());
        now.nodes.retain(|row| known.get(&row.node) != Some(row));
        now.not_seen.clear();
        for gone in known.keys().filter(|name| !rows.contains_key(*name)) {
            screen.print(&format!("{gone} is gone, or is none of these any more\n"))?;
        }
        if !now.nodes.is_empty() {
            screen.print(&now.text(detail, screen.page))?;
        }
        known = rows;
    }
}

fn by_name(rows: Vec<NodeRow>) -> BTreeMap<String, NodeRow> {
    rows.into_iter().map(|row| (row.node.clone(), row)).collect()
}

fn look(cluster: &Cluster, arguments: &AllNodes) -> anyhow::Result<ClusterOverview> {
    let objects = ClusterObjects::listed(cluster, arguments.selector.as_deref(), Timestamp::now())?;
    let mut overview = ClusterOverview::new(&objects);
    let names = &arguments.names;
    overview.nodes.retain(|row| {
        (names.is_empty() || names.contains(&row.node)) && arguments.only.is_none_or(|only| only.is(row))
    });
    overview.sort(arguments.sort.order());
    Ok(overview)
}
