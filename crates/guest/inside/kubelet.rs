//! A real kubelet in the guest: before each pod topolet predicts what will happen, and afterwards that is compared with what the
//! kubelet did ([`facts`]). Rows on the console have the two as `said` and `did`.

mod cluster;
mod compare;
mod configuration;
mod facts;
mod drift;
mod guard;
mod http;
mod observer;
mod processes;
mod refusals;
mod sampler;
mod statuses;
mod unaided;
mod upgrade;
mod wish;

use std::time::Instant;

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::{Value, json};

use compare::Difference;
use configuration::Configuration;
use processes::{Finding, Processes};
use upgrade::UpgradePrediction;
use wish::PodWish;

use crate::machine::{Guest, json_of_line};

/// Topology policies and scopes that a run goes through; the node is empty when they change.
const CONFIGURATIONS: &[(&str, &str)] = &[
    ("single-numa-node", "container"),
    ("restricted", "pod"),
    ("best-effort", "container"),
    ("restricted", "container"),
];

/// What a run does, as the kernel's command line says.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The releases that run on the node, one after the other, with the pods of the one before; at least one.
    pub(crate) releases: Vec<String>,
    pub(crate) mode: Mode,
    /// Predictions are made wrong before they are compared, so that each comparison has to fail.
    pub(crate) wrong_answers: bool,
}

/// Which pods the kubelet gets.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// So many, drawn from a seed.
    Pods { count: usize, seed: u64 },
    /// Those that it refuses, kind by kind.
    Refusals,
    /// A few; everything that the kubelet writes about them is kept.
    Statuses,
    /// So many, drawn from a seed. topolet gets no argument that names the kubelet and has to find it.
    Unaided { count: usize, seed: u64 },
    /// Those of a control plane of this release, in the same guest, with the observer in this form.
    Cluster { release: String, observer: observer::Form },
    /// Those that share CPUs and those that do not, beside `topolet guard`.
    Guard,
}

/// A run: the processes, the pods that run, and what was compared.
struct Session<'a> {
    guest: &'a Guest,
    plan: &'a Plan,
    processes: Processes,
    rng: Rng,
    running: Vec<PodWish>,
    /// The prediction of the last change of the release.
    upgrade: Option<UpgradePrediction>,
    began: Instant,
}

/// Runs all steps; each prints one line `row JSON`.
///
/// # Errors
/// A process does not start, or something does not come to rest.
pub(crate) fn run(guest: &Guest, plan: &Plan) -> anyhow::Result<()> {
    let (first, later) = plan.releases.split_first().context("no release")?;
    match &plan.mode {
        Mode::Pods { count, seed } => {
            let mut session = Session::begin(guest, plan, first, Finding::Arguments)?;
            session.rng = Rng::with_seed(*seed);
            session.pods(*count, later)
        }
        Mode::Unaided { count, seed } => {
            let mut session = Session::begin(guest, plan, first, Finding::Process)?;
            session.rng = Rng::with_seed(*seed);
            unaided::all(&mut session, *count)
        }
        Mode::Refusals => {
            let mut session = Session::begin(guest, plan, first, Finding::Arguments)?;
            refusals::all(&mut session)?;
            drift::all(&mut session)
        }
        Mode::Statuses => statuses::all(&mut Session::begin(guest, plan, first, Finding::Arguments)?),
        Mode::Cluster { release, observer } => cluster::run(guest, first, release, *observer),
        Mode::Guard => guard::run(guest, first),
    }
}

/// The `at`-th of the configurations that a run goes through.
fn configuration(at: usize) -> Configuration {
    let (policy, scope) = CONFIGURATIONS[at % CONFIGURATIONS.len()];
    Configuration::new(policy, scope)
}

impl<'a> Session<'a> {
    fn begin(guest: &'a Guest, plan: &'a Plan, release: &str, finding: Finding) -> anyhow::Result<Self> {
        let began = Instant::now();
        let processes = Processes::start(guest, release, configuration(0), finding)?;
        Ok(Self { guest, plan, processes, rng: Rng::new(), running: Vec::new(), upgrade: None, began })
    }
}

impl Session<'_> {
    /// So many pods, drawn one after the other.
    fn pods(&mut self, count: usize, later: &[String]) -> anyhow::Result<()> {
        let mut later = later.iter();
        let each = count.div_ceil(CONFIGURATIONS.len()).max(1);
        let each_release = count.div_ceil(self.plan.releases.len()).max(1);
        for at in 0..count {
            if at > 0 && at % each == 0 {
                self.empty()?;
                self.processes.reconfigure(self.guest, configuration(at / each))?;
            } else if at % 13 == 12 {
                self.restart()?;
            }
            if at > 0
                && at % each_release == 0
                && let Some(release) = later.next()
            {
                self.change_release(release)?;
            }
            while self.running.len() > 5 || (self.running.len() > 2 && self.rng.u8(..) < 100) {
                self.delete_any()?;
            }
            let wish = PodWish::random(at, &mut self.rng);
            self.add(&wish)?;
        }
        self.empty()
    }

    /// Asks topolet, gives the kubelet the pod, and compares.
    fn add(&mut self, wish: &PodWish) -> anyhow::Result<()> {
        let mut predicted = self.processes.ask(wish)?;
        if self.plan.wrong_answers {
            compare::falsify(&mut predicted);
        }
        self.processes.put(wish)?;
        let actual = self.processes.wait_for(&wish.name)?;
        let mut differences = compare::verdict(&predicted, &actual);
        if actual.is_running() {
            differences.extend(compare::placement(&predicted, wish, self.processes.devices())?);
            // A release writes the state files in its format only when something changes.
            let has_cpus = compare::has_exclusive_cpus(&predicted);
            if let Some(upgrade) = self.upgrade.as_ref().filter(|_| has_cpus) {
                differences.extend(upgrade.forms()?);
            }
            self.running.push(wish.clone());
        } else {
            self.processes.take(&wish.name)?;
        }
        differences.extend(compare::node(&self.processes)?);
        let what = json!({"said": compare::summary(&predicted), "did": actual.summary()});
        self.row("add", &wish.name, &wish.summary(), &what, &differences);
        Ok(())
    }

    /// Takes one pod away.
    fn delete_any(&mut self) -> anyhow::Result<()> {
        let at = self.rng.usize(..self.running.len());
        self.delete_at(at)
    }

    /// Takes that pod away; what it held has to be free.
    fn delete_at(&mut self, at: usize) -> anyhow::Result<()> {
        let wish = self.running.swap_remove(at);
        self.processes.take(&wish.name)?;
        let differences = compare::node(&self.processes)?;
        self.row("delete", &wish.name, "", &json!({}), &differences);
        Ok(())
    }

    /// Kills the kubelet and starts it again: its files and containers have to stay as they are.
    fn restart(&mut self) -> anyhow::Result<()> {
        let before = facts::state()?;
        let ran = facts::pods()?.containers();
        self.processes.restart()?;
        for wish in &self.running {
            self.processes.wait_for(&wish.name)?;
        }
        let mut differences = compare::node(&self.processes)?;
        differences.extend(Difference::of("state files after a restart", &before, &facts::state()?));
        differences.extend(Difference::of("containers after a restart", &ran, &facts::pods()?.containers()));
        self.row("restart", "", "", &json!({}), &differences);
        Ok(())
    }

    /// Puts another release on the node, with the pods that run: what `topolet upgrade check` says has to happen.
    fn change_release(&mut self, release: &str) -> anyhow::Result<()> {
        let mut predicted = self.processes.ask_upgrade(release)?;
        if self.plan.wrong_answers {
            predicted.falsify();
        }
        self.processes.change_release(release)?;
        let mut differences = predicted.differences(&self.processes, &self.running)?;
        let mut kept = Vec::new();
        for wish in std::mem::take(&mut self.running) {
            if self.processes.wait_for(&wish.name)?.is_running() {
                kept.push(wish);
            } else {
                self.processes.take(&wish.name)?;
            }
        }
        self.running = kept;
        differences.extend(compare::node(&self.processes)?);
        let actual = format!("{} pods run by {release}", self.running.len());
        self.row("release", "", "", &json!({"said": predicted.summary(), "did": actual}), &differences);
        self.upgrade = Some(predicted);
        Ok(())
    }

    fn empty(&mut self) -> anyhow::Result<()> {
        while !self.running.is_empty() {
            self.delete_any()?;
        }
        Ok(())
    }

    fn row(&self, step: &str, pod: &str, asked: &str, what: &Value, differences: &[Difference]) {
        let row = json!({
            "second": self.began.elapsed().as_secs(), "step": step, "pod": pod, "asked": asked,
            "configuration": self.processes.configuration().to_string(), "kind": what["kind"], "said": what["said"], "did": what["did"],
            "differences": differences.iter().map(Difference::text).collect::<Vec<_>>(),
        });
        print_row(&row);
    }

    /// A row of what the kubelet wrote about a pod.
    fn seen(&self, pod: &str, asked: &str, seen: &Value) {
        let configuration = self.processes.configuration().to_string();
        let row = json!({
            "step": "status", "pod": pod, "asked": asked, "configuration": configuration, "seen": seen, "differences": [],
        });
        print_row(&row);
    }
}

impl Plan {
    /// `None` if the guest is for other tests.
    ///
    /// # Errors
    /// Its words are no numbers.
    pub(crate) fn read(word: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        let Some(releases) = word("kubelet") else { return Ok(None) };
        let number = |name: &str| word(name).with_context(|| format!("guest.{name} is missing"));
        let mode = if word("refusals").is_some() {
            Mode::Refusals
        } else if word("statuses").is_some() {
            Mode::Statuses
        } else if word("guard").is_some() {
            Mode::Guard
        } else if let Some(release) = word("cluster") {
            let observer =
                if word("image").is_some() { observer::Form::Pod } else { observer::Form::Process };
            Mode::Cluster { release, observer }
        } else {
            let count = number("pods")?.parse().context("guest.pods")?;
            let seed = number("seed")?.parse().context("guest.seed")?;
            if word("unaided").is_some() { Mode::Unaided { count, seed } } else { Mode::Pods { count, seed } }
        };
        Ok(Some(Self {
            releases: releases.split(',').map(str::to_owned).collect(),
            mode,
            wrong_answers: word("wrong").as_deref() == Some("answers"),
        }))
    }
}

/// Prints a step, which `cargo xtask vm` reads.
fn print_row(row: &Value) {
    print_line(&format!("row {row}"));
}

/// Prints a line for `cargo xtask vm`.
#[expect(clippy::print_stdout, reason = "its result")]
fn print_line(line: &str) {
    println!("{line}");
}

/// The rest of the line of a program's output that begins with `word`.
fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(word))
}

/// What the kubelet's pod resources service lists.
fn pod_resources() -> anyhow::Result<Value> {
    let output = std::process::Command::new("/bin/probe").arg("podresources").output().context("no probe")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    json_of_line(after(&text, "LIST ").with_context(|| format!("the kubelet lists no resources: {text}"))?)
}
