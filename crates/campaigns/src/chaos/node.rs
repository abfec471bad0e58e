//! A node that is killed again and again, and the outcome.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use workspace_tools::client::Client;

use super::damage::Damage;
use crate::node::invariants::{self, Disk};
use crate::node::load::{self, CLIENTS, Figures, Folder, Load, Pace};
use crate::node::{Clock, Daemon, Programs};
use crate::reliability::Evidence;

/// A node that is killed again and again, and all that is known of it.
pub(super) struct Node<'a> {
    programs: &'a Programs,
    pub(super) root: PathBuf,
    pub(super) log: PathBuf,
    pub(super) loads: Vec<Load>,
    folder: Folder,
    /// The command that runs this, with its seed.
    command: &'a str,
}

/// The outcome of all kills.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) starts: Vec<Duration>,
    pub(super) violations: Vec<String>,
    pub(super) figures: Figures,
    pub(super) skipped: Vec<String>,
}

impl Outcome {
    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Takes over what the clients of a node did.
    pub(super) fn take(&mut self, node: &mut Node<'_>) {
        for load in &mut node.loads {
            self.figures.add(&std::mem::take(&mut load.figures));
        }
        let odd = std::mem::take(&mut self.figures.odd);
        if !odd.is_empty() {
            node.violated("answers under load", &odd, self);
        }
    }
}

impl<'a> Node<'a> {
    pub(super) fn new(programs: &'a Programs, place: &Path, name: &str, seed: u64, command: &'a str) -> Self {
        let root = place.join(name);
        let folder = Folder::new(&root, seed);
        let loads = (0..CLIENTS).map(|number| Load::new(number, CLIENTS, seed)).collect();
        Self { programs, log: place.join(format!("{name}.log")), root, loads, folder, command }
    }

    /// Starts the daemon and checks what it knows.
    pub(super) fn start(
        &mut self,
        clock: Clock,
        spoilt: Option<Damage>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<Daemon> {
        let about = spoilt.as_ref().map(|damage| format!(" (after {})", damage.what)).unwrap_or_default();
        let disk = spoilt.map_or(Disk::Whole, |damage| Disk::Damaged(damage.named));
        let daemon = Daemon::start(self.programs, &self.root, clock, &self.log)
            .with_context(|| format!("it does not start again{about}"))?;
        outcome.starts.push(daemon.start);
        self.check(&about, &disk, outcome)?;
        Ok(daemon)
    }

    /// Checks what the daemon knows while no request comes.
    pub(super) fn check(&mut self, about: &str, disk: &Disk, outcome: &mut Outcome) -> anyhow::Result<()> {
        let found = invariants::check(&self.root, &self.loads, disk)?;
        if !found.violations.is_empty() {
            let kills = outcome.counts.get("kills").copied().unwrap_or_default();
            self.violated(&format!("after kill {kills}{about}"), &found.violations, outcome);
        }
        // As an operator does: the quarantined pods are deleted, and nothing of them runs any more.
        let client = Client::of(&self.root);
        for name in &found.quarantined {
            outcome.count("pods in quarantine");
            client
                .ask("DELETE", &load::path(name), "")
                .with_context(|| format!("{name} cannot be deleted"))?;
        }
        for load in &mut self.loads {
            load.settle(&found.admitted);
        }
        Ok(())
    }

    /// Has the clients ask and manifests change while something happens.
    pub(super) fn under_load(
        &mut self,
        pace: Pace,
        happens: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let stop = AtomicBool::new(false);
        let Self { root, loads, folder, .. } = self;
        std::thread::scope(|threads| {
            for load in loads {
                threads.spawn(|| load.run(root, pace, &stop));
            }
            threads.spawn(|| folder.churn(Duration::from_millis(50), &stop));
            let happened = happens();
            stop.store(true, Ordering::Relaxed);
            happened
        })
    }

    /// Records violations and keeps what shows them again.
    pub(super) fn violated(&self, step: &str, violations: &[String], outcome: &mut Outcome) {
        let evidence = Evidence { command: self.command, step, violations, root: &self.root, log: &self.log };
        let kept = evidence.keep("chaos");
        outcome.violations.extend(violations.iter().map(|what| format!("{step}: {what} ({kept})")));
    }
}
