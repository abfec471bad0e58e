//! One boot with a real kubelet, and what was said and done in it.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use super::boot::{Boot, Next, disk};
use super::image::Programs;
use super::kubelet_programs;
use super::needs::folder;
use super::shape::Shape;
use super::translate::{arguments, kernel_line};

/// A boot that has not been made.
#[derive(Debug)]
pub(crate) struct Session {
    /// Releases that run on the node one after the other.
    pub(crate) releases: Vec<String>,
    pub(crate) pods: usize,
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) limit: Duration,
    pub(crate) wrong_answers: bool,
    pub(crate) install: bool,
}

/// What one boot came to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) kubelet: String,
    pub(crate) machine: String,
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    pub(crate) rows: Vec<Row>,
}

/// One step of the guest: a pod, a deletion, a restart or another release.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) step: String,
    pub(crate) pod: String,
    pub(crate) asked: String,
    pub(crate) configuration: String,
    #[serde(default)]
    pub(crate) said: Option<String>,
    #[serde(default)]
    pub(crate) did: Option<String>,
    pub(crate) differences: Vec<String>,
}

impl Session {
    /// Builds, boots, and prints a line for each step.
    ///
    /// # Errors
    /// Something is missing, or the guest does not get to its end.
    #[expect(clippy::print_stdout, reason = "its result")]
    pub(crate) fn run(&self, kernel: &Path, programs: &Programs) -> anyhow::Result<Outcome> {
        kubelet_programs::build(&self.releases, self.install)?;
        // Runs of other releases do not share it.
        let name = self.releases.join("-");
        let root = folder().join(format!("root-{name}.ext4"));
        kubelet_programs::disk(&root, &self.releases, programs)?;
        let archive = folder().join(format!("archive-{name}.cpio"));
        programs.archive(&archive, &self.shape, &[])?;
        let mut line = format!(
            "{} guest.kubelet={} guest.pods={} guest.seed={}",
            kernel_line(&self.shape),
            self.releases.join(","),
            self.pods,
            self.seed
        );
        if self.wrong_answers {
            line += " guest.wrong=answers";
        }
        let log = folder().join(format!("kubelet-{name}-{}.log", self.seed));
        let machine = [arguments(&self.shape), disk(&root, "root")].concat();
        let boot = Boot { kernel: kernel.to_path_buf(), archive, machine, line, limit: self.limit, log };
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        let mut fails = false;
        let took = boot.run(|line| {
            if let Some(row) =
                line.strip_prefix("row ").and_then(|text| serde_json::from_str::<Row>(text).ok())
            {
                println!("{}", row.line());
                rows.push(row);
            } else if line.contains("FAILED") || (fails && line.starts_with("    ")) {
                fails = true;
                failures.push(line.to_owned());
            }
            Next::Listen
        })?;
        ensure!(
            failures.is_empty(),
            "the guest gave up after {} steps:\n{}",
            rows.len(),
            failures.join("\n")
        );
        let added = rows.iter().filter(|row| row.step == "add").count();
        ensure!(
            added == self.pods,
            "the guest ended after {added} pods; its console is in {}",
            boot.log.display()
        );
        let seconds = took.as_secs();
        let machine = self.shape.machine.clone();
        Ok(Outcome { kubelet: self.releases.join(", "), machine, seed: self.seed, seconds, rows })
    }
}

impl Outcome {
    /// How many steps have a difference.
    pub(crate) fn disagreements(&self) -> usize {
        self.rows.iter().filter(|row| !row.differences.is_empty()).count()
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// There is a disagreement.
    #[expect(clippy::print_stdout, reason = "its result")]
    pub(crate) fn judge(&self) -> anyhow::Result<()> {
        let (pods, wrong) = (self.rows.iter().filter(|row| row.step == "add").count(), self.disagreements());
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
