//! `cargo xtask dashboards`: the rules and dashboards of `deploy` on what nodes really export.

mod dashboard;
mod picture;
mod programs;
mod prometheus;
mod simulated;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use fs_err as fs;
use workspace_tools::debian;
use workspace_tools::workspace::{build, root, run, target};

use dashboard::Dashboard;
use programs::{PATIENCE, Plugin, Topolet};
use prometheus::Prometheus;

/// Checks rules and their tests with promtool, and has a Prometheus scrape nodes: every rule is evaluated, and every query of
/// the dashboards has an answer, or asks for what has not happened. Half an hour of a simulated node is drawn as the
/// dashboard lays it out, in target/dashboards. Needs Debian's package prometheus.
#[derive(Debug, clap::Args)]
pub(crate) struct Dashboards {
    /// Installs prometheus by apt-get where it is missing.
    #[arg(long)]
    install: bool,
    /// Writes the picture to docs/pictures/dashboard.svg.
    #[arg(long)]
    write: bool,
}

/// Metrics of what does not happen on the nodes here, with the file that registers them. `_total` is added when counters are
/// written.
const QUIET: [(&str, &str); 2] = [
    ("topolet_nrt_publications", "crates/node-publish/src/topology/counted.rs"),
    ("topolet_nrt_publication_failures", "crates/node-publish/src/topology/counted.rs"),
];

/// How records of a rise within 15 minutes end: they have no value before Prometheus has run so long. The half hour has them.
const RISE: &str = ":rise15m";

impl Dashboards {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let found = ["promtool", "prometheus"].iter().all(|name| {
            let asked =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            asked.is_ok_and(|status| status.success())
        });
        if !found {
            ensure!(
                self.install,
                "prometheus is not installed; `cargo xtask dashboards --install` installs it"
            );
            debian::install(&["prometheus"])?;
        }
        rules()?;
        build(&["topolet"])?;
        let dashboard = Dashboard::read(&root().join("deploy/grafana/topolet-nodes.json"))?;
        let folder = target().join("dashboards");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        live(&folder, &dashboard)?;
        let drawn = simulated(&folder, &dashboard)?;
        let picture = if self.write {
            root().join("docs/pictures/dashboard.svg")
        } else {
            folder.join("dashboard.svg")
        };
        fs::write(&picture, drawn)?;
        println!("the dashboard is drawn in {}", picture.display());
        Ok(())
    }
}

/// The rules as they lie in the repository.
fn rules() -> anyhow::Result<()> {
    let folder = root().join("deploy/prometheus");
    for arguments in [
        ["check", "rules", "topolet.rules.yaml"].as_slice(),
        &["test", "rules", "topolet.rules.test.yaml"],
        &["check", "config", "scrape.yaml"],
    ] {
        run(Command::new("promtool").args(arguments).current_dir(&folder))?;
    }
    Ok(())
}

/// Whether a query asks for what does not happen here.
fn is_quiet(query: &str) -> anyhow::Result<bool> {
    for (metric, file) in QUIET {
        if query.contains(metric) {
            let source = fs::read_to_string(root().join(file))?;
            ensure!(source.contains(&format!("\"{metric}\"")), "{file} does not register {metric}");
            return Ok(true);
        }
    }
    Ok(false)
}

/// Has a Prometheus scrape a node and an observer beside it, and asks it everything.
fn live(folder: &Path, dashboard: &Dashboard) -> anyhow::Result<()> {
    let node = Topolet::serve(&folder.join("node"))?;
    let _plugin = Plugin::start(&node.root)?;
    node.until_metric("topolet_free_devices{")?;
    let observer = Topolet::observe(&node.root, &folder.join("observer.sock"))?;
    for (name, cpus, devices) in [("fits", 4, 1), ("large", 90, 0)] {
        node.apply(&simulated::pod(name, cpus, 2, devices))?;
    }
    let targets = [("worker-1", node.address.as_str()), ("worker-2", observer.address.as_str())];
    let prometheus = Prometheus::start(&folder.join("live"), &targets)?;
    prometheus.until("both nodes are scraped", r#"sum(up{job="topolet"}) == 2"#, PATIENCE)?;
    // Rates need two scrapes, and rates of what is counted need it counted between them.
    for at in 0..8 {
        let name = format!("again-{at}");
        node.apply(&simulated::pod(&name, 2, 1, 1))?;
        node.delete(&name)?;
        sleep(Duration::from_millis(700));
    }
    let began = Instant::now();
    let silent = loop {
        let silent = silent(&prometheus, dashboard)?;
        if silent.is_empty() || began.elapsed() > Duration::from_secs(40) {
            break silent;
        }
        sleep(Duration::from_secs(1));
    };
    ensure!(silent.is_empty(), "queries without an answer:\n{}", silent.join("\n"));
    let firing = prometheus.rules_are_well()?;
    ensure!(firing.is_empty(), "nothing is wrong, and yet there is: {}", firing.join(", "));
    let queries = dashboard.panels.iter().map(|panel| panel.queries.len()).sum::<usize>();
    println!(
        "{queries} queries of {} panels have answers on running nodes, and no rule warns",
        dashboard.panels.len()
    );
    // A warning comes when it should: the observer ends.
    drop(observer);
    prometheus.until("TopoletDown waits", r#"ALERTS{alertname="TopoletDown",node="worker-2"}"#, PATIENCE)
}

/// Queries that nothing answers, and should.
fn silent(prometheus: &Prometheus, dashboard: &Dashboard) -> anyhow::Result<Vec<String>> {
    let mut silent = Vec::new();
    for panel in &dashboard.panels {
        for (query, _) in &panel.queries {
            let answered = !prometheus.query(query)?.is_empty();
            match (answered, is_quiet(query)?) {
                (true, false) | (false, true) => {}
                (false, false) if query.contains(RISE) => {}
                (true, true) => bail!("{query} has an answer, and should have none here"),
                (false, false) => silent.push(format!("{}: {query}", panel.title)),
            }
        }
    }
    Ok(silent)
}

/// Half an hour of a simulated node, as the dashboard shows it.
fn simulated(folder: &Path, dashboard: &Dashboard) -> anyhow::Result<String> {
    let history = folder.join("history");
    let (start, end) = simulated::write(folder, &history)?;
    let rules: PathBuf = root().join("deploy/prometheus/topolet.rules.yaml");
    // A rule that reads another one's series finds them the second time.
    for _ in 0..2 {
        let prometheus = Prometheus::start(&history, &[])?;
        run(Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "rules", "--eval-interval=15s", "--start"])
            .arg(start.to_string())
            .arg(format!("--end={end}"))
            .arg(format!("--url=http://{}", prometheus.address))
            .arg(format!("--output-dir={}", history.join("data").display()))
            .arg(&rules)
            .stdout(Stdio::null()))?;
    }
    let prometheus = Prometheus::start(&history, &[])?;
    let mut silent = BTreeSet::new();
    let mut drawn = Vec::new();
    for panel in &dashboard.panels {
        let mut lines = Vec::new();
        for (query, name) in &panel.queries {
            let found = prometheus.range(query, end - 1800, end, 15)?;
            if found.is_empty() && !is_quiet(query)? && !query.contains("topolet_observe_") {
                silent.insert(query);
            }
            lines.extend(found.into_iter().map(|series| (series.called(name), series.points)));
        }
        drawn.push((panel, lines));
    }
    ensure!(silent.is_empty(), "queries without an answer in half an hour: {silent:#?}");
    Ok(picture::draw(&dashboard.title, &drawn, end - 1800, end))
}
