//! `cargo xtask placement`: what each placement strategy does to eight workloads on six machines, beside a bound that no
//! placement can pass.

mod machines;
mod scenario;
mod cell;
mod fleet;
mod tables;
mod workloads;

use std::path::Path;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, root};

use cell::{Cell, Simulated, Strategy};
use machines::{MACHINES, TOPOLET};
use scenario::{Fleet, scenario, strategies};
use workloads::{WORKLOADS, Workload};

/// Simulates eight workloads on six machines under every placement strategy.
#[derive(Debug, clap::Args)]
pub(crate) struct Placement {
    /// Writes the tables to docs/placement.md, and the picture beside it.
    #[arg(long)]
    write: bool,
    /// How many runs of each, with other pods.
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// How many pods come in a run.
    #[arg(long, default_value_t = 600)]
    pods: u32,
    /// The first seed; held-out workloads, for which no strategy was tuned, use others.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compares schedulers on fleets of 4, 20 and 100 nodes instead.
    #[arg(long)]
    fleet: bool,
    /// Only this workload.
    #[arg(long)]
    workload: Option<String>,
}

impl Placement {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = root().join("target/placement");
        fs::create_dir_all(&folder)?;
        let wanted = |own: &&Workload| self.workload.as_ref().is_none_or(|name| own.name == name);
        let workloads: Vec<&'static Workload> = WORKLOADS.iter().filter(wanted).collect();
        ensure!(!workloads.is_empty(), "there is no such workload: {}", workload_names());
        if self.fleet {
            ensure!(!self.write || self.workload.is_none(), "--write is for all workloads");
            return fleet::run(&workloads, self.seed, self.runs, self.write);
        }
        let mut cells = Vec::new();
        for machine in MACHINES {
            let nodes = machines::nodes(machine)?;
            for workload in workloads.iter().copied() {
                let configurations = strategies(workload, machine);
                let fleet = Fleet { machine, count: 1, configurations: &configurations };
                let text = scenario(workload, &fleet, &nodes, &self.drawn());
                let name = format!("{}-{machine}", workload.name);
                let devices = folder.join(format!("{name}-devices.yaml"));
                fs::write(&devices, scenario::devices(workload, &nodes))?;
                let mix = folder.join(format!("{name}-mix.yaml"));
                fs::write(&mix, scenario::mix(workload, &nodes))?;
                let strategies = simulated(&folder.join(format!("{name}.yaml")), &text)?;
                let cell = Cell { workload, machine, strategies };
                println!("{}", tables::line(&cell));
                cells.push(cell);
            }
        }
        let command =
            format!("{} runs of {} pods for each line, from seed {}.\n\n", self.runs, self.pods, self.seed);
        let text = command + &tables::text(&cells);
        println!("\n{text}");
        if self.write {
            ensure!(self.workload.is_none(), "--write is for all workloads");
            write_figures("docs/placement.md", "cargo xtask placement", &text)?;
            let path = root().join("docs/placement.svg");
            fs::write(&path, tables::picture(&cells))?;
        }
        Ok(())
    }

    const fn drawn(&self) -> scenario::Drawn {
        scenario::Drawn { runs: self.runs, pods: self.pods, seed: self.seed }
    }
}

fn workload_names() -> String {
    WORKLOADS.iter().map(|own| own.name).collect::<Vec<_>>().join(", ")
}

/// Runs a scenario.
fn simulated(path: &Path, text: &str) -> anyhow::Result<Vec<Strategy>> {
    fs::write(path, text)?;
    let mut command = cargo(&[TOPOLET, &["simulate", "-o", "json", "-f"]].concat());
    let output = command.arg(path).output().context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "topolet refuses {}: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let simulated: Simulated = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("what topolet says of {} is no report", path.display()))?;
    Ok(simulated.configurations)
}
