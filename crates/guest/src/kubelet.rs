//! A boot with a real kubelet: it is started with the guest, each line `row JSON` of its console is a step in which topolet's
//! prediction was compared with what the kubelet did, and the steps are summed up.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use local_cluster::release_of_tests;
use serde::{Deserialize, Serialize};
use workspace_tools::control_plane;

use crate::boot::{Boot, Next, disk};
use crate::image::Programs;
use crate::kubelet_programs;
use crate::needs::folder;
use crate::shape::Shape;
use crate::translate::{arguments, kernel_line};

/// Memory in MiB that is plugged in while a kubelet runs.
const SPARE: u64 = 256;

/// A boot with a kubelet, before it is started.
#[derive(Debug)]
pub(crate) struct KubeletBoot {
    /// Releases that run on the node one after the other.
    pub(crate) releases: Vec<String>,
    pub(crate) mode: Mode,
    pub(crate) shape: Shape,
    /// The guest is ended after this time; `None`: after the time that its mode allows.
    pub(crate) limit: Option<Duration>,
    pub(crate) wrong_answers: bool,
    pub(crate) install: bool,
}

/// Which pods the kubelet gets, and what is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Mode {
    /// So many, drawn from a seed.
    Pods { count: usize, seed: u64 },
    /// So many, drawn from a seed. topolet gets no argument that names the kubelet and has to find it.
    Unaided { count: usize, seed: u64 },
    /// Those that it refuses, kind by kind.
    Refusals,
    /// A few; everything that the kubelet writes about them is kept.
    Statuses,
    /// Those of a control plane in the same guest.
    Cluster { image: bool },
    /// Those that share CPUs and those that do not, beside `topolet guard`; the seed tells boots apart.
    Guard { seed: u64 },
}

/// The result of one boot.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) kubelet: String,
    pub(crate) machine: String,
    #[serde(rename = "about")]
    pub(crate) mode: Mode,
    pub(crate) seconds: u64,
    pub(crate) rows: Vec<Row>,
}

/// One step of the guest: a pod, a deletion, a restart or another release; a refusal, or a change that would fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) step: String,
    pub(crate) pod: String,
    pub(crate) asked: String,
    pub(crate) configuration: String,
    /// The cause, of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// What topolet predicted.
    #[serde(default)]
    pub(crate) said: Option<String>,
    /// What the kubelet did.
    #[serde(default)]
    pub(crate) did: Option<String>,
    /// What the kubelet wrote about a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<serde_json::Value>,
    pub(crate) differences: Vec<String>,
}

impl KubeletBoot {
    /// Builds, boots, and prints a line for each step.
    ///
    /// # Errors
    /// Something is missing, or the guest does not get to its end.
    #[expect(clippy::print_stdout, reason = "its result")]
    pub(crate) fn run(&self, kernel: &Path, programs: &Programs) -> anyhow::Result<Outcome> {
        kubelet_programs::build(&self.releases, self.install)?;
        let control_plane = match self.mode {
            Mode::Cluster { .. } => Some(release_of_tests()),
            // An API server of an older release does not take a kubelet of a newer one.
            Mode::Guard { .. } => self.releases.first().cloned(),
            _ => None,
        };
        if let Some(release) = &control_plane {
            control_plane::build(release)?;
        }
        // Each list of releases has separate files.
        let of_mode = match self.mode {
            Mode::Cluster { .. } => "cluster-".to_owned(),
            Mode::Guard { seed } => format!("guard-{seed}-"),
            _ => String::new(),
        };
        let name = format!("{of_mode}{}", self.releases.join("-"));
        let root = folder().join(format!("root-{name}.ext4"));
        let with_topolet = self.mode == Mode::Cluster { image: true };
        kubelet_programs::disk(&root, &self.releases, control_plane.as_deref(), with_topolet, programs)?;
        let archive = folder().join(format!("archive-{name}.cpio"));
        programs.archive(&archive, &self.shape, &[])?;
        let words = match self.mode {
            Mode::Pods { count, seed } => format!("guest.pods={count} guest.seed={seed}"),
            Mode::Unaided { count, seed } => {
                format!("guest.unaided=all guest.pods={count} guest.seed={seed}")
            }
            Mode::Refusals => "guest.refusals=all".to_owned(),
            Mode::Statuses => "guest.statuses=all".to_owned(),
            Mode::Cluster { image } => {
                let form = if image { " guest.image=own" } else { "" };
                format!("guest.cluster={}{form}", control_plane.as_deref().unwrap_or_default())
            }
            Mode::Guard { .. } => "guest.guard=all".to_owned(),
        };
        let releases = self.releases.join(",");
        let mut command_line = format!("{} guest.kubelet={releases} {words}", kernel_line(&self.shape));
        if self.wrong_answers {
            command_line += " guest.wrong=answers";
        }
        let log = folder().join(match self.mode {
            Mode::Pods { seed, .. } => format!("kubelet-{name}-{seed}.log"),
            Mode::Unaided { seed, .. } => format!("kubelet-{name}-unaided-{seed}.log"),
            Mode::Refusals => format!("kubelet-{name}-refusals.log"),
            Mode::Statuses => format!("kubelet-{name}-statuses.log"),
            Mode::Cluster { .. } | Mode::Guard { .. } => format!("kubelet-{name}.log"),
        });
        let machine = [arguments(&self.shape), disk(&root, "root")].concat();
        let limit = self.limit.unwrap_or_else(|| self.mode.limit());
        let spare = matches!(self.mode, Mode::Unaided { .. }).then_some(SPARE);
        let boot = Boot { kernel: kernel.to_path_buf(), archive, machine, command_line, limit, log, spare };
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        let mut is_failure = false;
        let took = boot.run(|line| {
            if let Some(row) =
                line.strip_prefix("row ").and_then(|text| serde_json::from_str::<Row>(text).ok())
            {
                println!("{}", row.line());
                rows.push(row);
            } else if line.contains("FAILED") || (is_failure && line.starts_with("    ")) {
                is_failure = true;
                failures.push(line.to_owned());
            }
            if line == "ask memory" { Next::AddMemory } else { Next::Listen }
        })?;
        ensure!(
            failures.is_empty(),
            "the guest gave up after {} steps:\n{}",
            rows.len(),
            failures.join("\n")
        );
        let outcome = Outcome {
            kubelet: self.releases.join(", "),
            machine: self.shape.machine.clone(),
            mode: self.mode,
            seconds: took.as_secs(),
            rows,
        };
        let is_whole = match self.mode {
            Mode::Pods { count, .. } => outcome.steps("add") == count,
            // The last steps of each mode.
            Mode::Refusals => outcome.steps("drift") == 2,
            Mode::Unaided { .. } | Mode::Statuses => outcome.steps("end") == 1,
            Mode::Cluster { .. } => outcome.steps("count") == 1,
            Mode::Guard { .. } => outcome.steps("cost") == 1,
        };
        ensure!(
            is_whole,
            "the guest ended after {} steps; its console is in {}",
            outcome.rows.len(),
            boot.log.display()
        );
        Ok(outcome)
    }
}

impl Mode {
    /// How long a guest may run: a pod takes up to ten seconds, and the start a minute or two.
    const fn limit(self) -> Duration {
        match self {
            Self::Pods { count, .. } => Duration::from_secs(300 + 20 * count as u64),
            Self::Unaided { count, .. } => Duration::from_secs(1200 + 60 * count as u64),
            Self::Refusals | Self::Cluster { .. } => Duration::from_hours(1),
            Self::Guard { .. } => Duration::from_hours(2),
            Self::Statuses => Duration::from_mins(20),
        }
    }
}

impl Outcome {
    /// How many steps are of this kind, as [`Row::step`] names it.
    pub(crate) fn steps(&self, step: &str) -> usize {
        self.rows.iter().filter(|row| row.step == step).count()
    }

    /// How many steps have a difference.
    pub(crate) fn disagreements(&self) -> usize {
        self.rows.iter().filter(|row| !row.differences.is_empty()).count()
    }

    /// Prints the summary of all steps.
    ///
    /// # Errors
    /// topolet and the kubelet disagree in some step.
    #[expect(clippy::print_stdout, reason = "its result")]
    pub(crate) fn judge(&self) -> anyhow::Result<()> {
        let of_pods = ["add", "refusal", "try", "refused", "runs"];
        let (pods, wrong) =
            (of_pods.into_iter().map(|step| self.steps(step)).sum::<usize>(), self.disagreements());
        println!(
            "\nkubelet {}: {pods} pods, {} steps, {wrong} disagreements, in {} s",
            self.kubelet,
            self.rows.len(),
            self.seconds
        );
        ensure!(wrong == 0, "topolet and kubelet {} disagree in {wrong} steps", self.kubelet);
        Ok(())
    }
}

impl Row {
    fn line(&self) -> String {
        let mut line = format!("{:<8}{:<8}", self.step, self.pod);
        if let Some(seen) = &self.seen {
            line += &format!("{} {seen} ", self.asked);
        }
        if let (Some(said), Some(did)) = (&self.said, &self.did) {
            line += &format!("said {said:<36} did {did:<34}");
        }
        line += if self.differences.is_empty() { "same" } else { "DIFFERS" };
        for difference in &self.differences {
            line += &format!("\n    {difference}");
        }
        line
    }
}
