//! A real kubelet in the guest: before each pod topolet says what will happen, and after it the two are compared.

mod compare;
mod did;
mod http;
mod processes;
mod upgrade;
mod wish;

use std::time::Instant;

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::{Value, json};

use compare::Difference;
use processes::Processes;
use upgrade::UpgradeSaid;
use wish::PodWish;

use crate::machine::{Guest, json_of_line};

/// Topology policies and scopes that a run goes through; the node is empty when they change.
const CONFIGURATIONS: &[(&str, &str)] = &[
    ("single-numa-node", "container"),
    ("restricted", "pod"),
    ("best-effort", "container"),
    ("restricted", "container"),
];

/// What a run is asked for, on the kernel's command line.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The releases that run on the node, one after the other, with the pods of the one before; at least one.
    pub(crate) releases: Vec<String>,
    pub(crate) pods: usize,
    pub(crate) seed: u64,
    /// Change what topolet said before it is compared.
    pub(crate) wrong_answers: bool,
}

/// A run: the processes, the pods that run, and what was compared.
struct Session<'a> {
    plan: &'a Plan,
    processes: Processes,
    rng: Rng,
    running: Vec<PodWish>,
    /// What was said of the last change of the release.
    upgrade: Option<UpgradeSaid>,
    began: Instant,
}

/// Runs all steps; each prints one line `row JSON`.
///
/// # Errors
/// A process does not start, or something does not come to rest.
pub(crate) fn run(guest: &Guest, plan: &Plan) -> anyhow::Result<()> {
    let began = Instant::now();
    let (first, later) = plan.releases.split_first().context("no release")?;
    let mut later = later.iter();
    let processes = Processes::start(guest, first, CONFIGURATIONS[0])?;
    let rng = Rng::with_seed(plan.seed);
    let mut session = Session { plan, processes, rng, running: Vec::new(), upgrade: None, began };
    let each = plan.pods.div_ceil(CONFIGURATIONS.len()).max(1);
    let each_release = plan.pods.div_ceil(plan.releases.len()).max(1);
    for at in 0..plan.pods {
        if at > 0 && at % each == 0 {
            session.empty()?;
            session.processes.reconfigure(guest, CONFIGURATIONS[at / each % CONFIGURATIONS.len()])?;
        } else if at % 13 == 12 {
            session.restart()?;
        }
        if at > 0
            && at % each_release == 0
            && let Some(release) = later.next()
        {
            session.change_release(release)?;
        }
        while session.running.len() > 5 || (session.running.len() > 2 && session.rng.u8(..) < 100) {
            session.delete()?;
        }
        let wish = PodWish::random(at, &mut session.rng);
        session.add(&wish)?;
    }
    session.empty()
}

impl Session<'_> {
    /// Asks topolet, gives the kubelet the pod, and compares.
    fn add(&mut self, wish: &PodWish) -> anyhow::Result<()> {
        let mut said = self.processes.ask(wish)?;
        if self.plan.wrong_answers {
            compare::falsify(&mut said);
        }
        self.processes.put(wish)?;
        let did = self.processes.wait_for(&wish.name)?;
        let mut differences = compare::verdict(&said, &did);
        if did.is_running() {
            differences.extend(compare::placement(&said, wish)?);
            // A release writes its form when something changes.
            let has_cpus = compare::has_exclusive_cpus(&said);
            if let Some(upgrade) = self.upgrade.as_ref().filter(|_| has_cpus) {
                differences.extend(upgrade.forms()?);
            }
            self.running.push(wish.clone());
        } else {
            self.processes.take(&wish.name)?;
        }
        differences.extend(compare::node(&self.processes)?);
        let what = json!({"said": compare::summary(&said), "did": did.summary()});
        self.row("add", &wish.name, &wish.summary(), &what, &differences);
        Ok(())
    }

    /// Takes one pod away; what it held has to be free.
    fn delete(&mut self) -> anyhow::Result<()> {
        let wish = self.running.swap_remove(self.rng.usize(..self.running.len()));
        self.processes.take(&wish.name)?;
        let differences = compare::node(&self.processes)?;
        self.row("delete", &wish.name, "", &json!({}), &differences);
        Ok(())
    }

    /// Kills the kubelet and starts it again: its files and containers have to stay as they are.
    fn restart(&mut self) -> anyhow::Result<()> {
        let before = did::state()?;
        let ran = did::pods()?.containers();
        self.processes.restart()?;
        for wish in &self.running {
            self.processes.wait_for(&wish.name)?;
        }
        let mut differences = compare::node(&self.processes)?;
        differences.extend(Difference::of("state files after a restart", &before, &did::state()?));
        differences.extend(Difference::of("containers after a restart", &ran, &did::pods()?.containers()));
        self.row("restart", "", "", &json!({}), &differences);
        Ok(())
    }

    /// Puts another release on the node, with the pods that run: what `topolet upgrade check` says has to happen.
    fn change_release(&mut self, release: &str) -> anyhow::Result<()> {
        let mut said = self.processes.ask_upgrade(release)?;
        if self.plan.wrong_answers {
            said.falsify();
        }
        self.processes.change_release(release)?;
        let mut differences = said.differences(&self.processes, &self.running)?;
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
        let did = format!("{} pods run by {release}", self.running.len());
        self.row("release", "", "", &json!({"said": said.summary(), "did": did}), &differences);
        self.upgrade = Some(said);
        Ok(())
    }

    fn empty(&mut self) -> anyhow::Result<()> {
        while !self.running.is_empty() {
            self.delete()?;
        }
        Ok(())
    }

    #[expect(clippy::print_stdout, reason = "its result")]
    fn row(&self, step: &str, pod: &str, asked: &str, what: &Value, differences: &[Difference]) {
        let row = json!({
            "second": self.began.elapsed().as_secs(), "step": step, "pod": pod, "asked": asked,
            "configuration": self.processes.configuration(), "said": what["said"], "did": what["did"],
            "differences": differences.iter().map(Difference::text).collect::<Vec<_>>(),
        });
        println!("row {row}");
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
        Ok(Some(Self {
            releases: releases.split(',').map(str::to_owned).collect(),
            pods: number("pods")?.parse().context("guest.pods")?,
            seed: number("seed")?.parse().context("guest.seed")?,
            wrong_answers: word("wrong").as_deref() == Some("answers"),
        }))
    }
}

/// The JSON behind a word of a program's output.
fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(word))
}

/// What the kubelet's pod resources service lists.
fn pod_resources() -> anyhow::Result<Value> {
    let output = std::process::Command::new("/bin/probe").arg("podresources").output().context("no probe")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    json_of_line(after(&text, "LIST ").with_context(|| format!("the kubelet lists no resources: {text}"))?)
}
