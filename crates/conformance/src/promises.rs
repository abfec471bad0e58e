//! What is predicted of a kubelet before it is asked, and what it then does.
//!
//! Machines of a folder, random configurations, and on each random fillings: pods that come and go, restarts, changes of
//! devices. For each step our answer is made first, with [what becomes of the kubelet](kubelet_fates) beside it; then the kubelet's
//! own code is asked, in a process that may crash or hang. Nothing is drawn from answers.

mod tally;
mod worker;
mod draw;
mod machines;
mod configurations;
mod pods;
mod script;
mod play;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kubelet_release::Release;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use topology_discovery::machine_info_to_json;

use crate::admission::with_pages;
use crate::case::Case;
use draw::{Described, Draw};
use play::{Filling, Patience, Player};
use pods::Setting;
use worker::Program;

pub use tally::{Exception, Figures, Said, Tally, What};

/// What is played.
#[derive(Clone, Debug)]
pub struct Run {
    /// The folder of machines.
    pub machines: PathBuf,
    /// The program `admission` of a release.
    pub program: PathBuf,
    /// The release.
    pub release: Release,
    /// Where all draws come from.
    pub seed: u64,
    /// Configurations on each machine.
    pub configurations: u64,
    /// Fillings with each configuration.
    pub fillings: u64,
    /// How long is waited where no answer is foretold.
    pub patience: Duration,
    /// How long is waited where an answer is foretold.
    pub hang: Duration,
    /// Only these.
    pub only: Only,
    /// How many configurations are played at the same time.
    pub jobs: NonZeroUsize,
}

/// Which part of a run is played.
#[derive(Clone, Debug, Default)]
pub struct Only {
    /// The machine of this name.
    pub machine: Option<String>,
    /// The configuration of this number.
    pub configuration: Option<u64>,
    /// The filling of this number.
    pub filling: Option<u64>,
    /// No more configurations than these in all, one after the other over all machines.
    pub most: Option<u64>,
}

impl Run {
    /// Plays everything; `seen` hears of each configuration that is done.
    ///
    /// # Errors
    /// What cannot be read or asked, and those of `seen`.
    pub fn play(&self, seen: impl FnMut(&Tally, &str) -> anyhow::Result<()> + Send) -> anyhow::Result<Tally> {
        let mut machines = machines::machines(&self.machines)?;
        if let Some(only) = &self.only.machine {
            machines.retain(|machine| machine.name == *only);
        }
        ensure!(!machines.is_empty(), "no machine to play in {}", self.machines.display());
        let folder = tempfile::tempdir().context("failed to make a folder for machines")?;
        for machine in &machines {
            let path = folder.path().join(format!("{}.json", machine.name));
            write(&path, &machine_info_to_json(&machine.info)?)?;
        }
        let program = Program { path: self.program.clone(), machines: folder.path().to_path_buf() };
        let numbers = (0..self.configurations)
            .filter(|number| self.only.configuration.is_none_or(|only| only == *number));
        let all = numbers.flat_map(|number| machines.iter().map(move |machine| (machine, number)));
        let most = self.only.most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let left = Mutex::new(all.take(most));
        let tally = Tally { machines: machines.len() as u64, ..Tally::default() };
        let sum = Mutex::new((tally, seen));
        let worker = || -> anyhow::Result<()> {
            let patience = Patience { fate: self.patience, hang: self.hang };
            let mut player = Player { program: &program, patience, worker: None, waits: 0 };
            loop {
                let Some((machine, number)) = left.lock().next() else { return Ok(()) };
                let mut tally = Tally { configurations: 1, ..Tally::default() };
                let played = self.configured(machine, number, &mut player, &mut tally);
                let (sum, seen) = &mut *sum.lock();
                sum.add(tally);
                if let Err(error) = played.and_then(|()| seen(sum, &machine.name)) {
                    while left.lock().next().is_some() {}
                    return Err(error);
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.get()).map(|_| scope.spawn(worker)).collect();
            let ends = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ends.collect::<anyhow::Result<Vec<()>>>()
        })?;
        Ok(sum.into_inner().0)
    }

    fn configured(
        &self,
        machine: &Described,
        number: u64,
        player: &mut Player<'_>,
        tally: &mut Tally,
    ) -> anyhow::Result<()> {
        player.waits = 0;
        let mut draw = Draw::of(self.seed, &machine.name, &[number]);
        let config = configurations::configuration(machine, &mut draw);
        let pages = draw::pages(machine, &mut draw);
        let devices = configurations::devices(machine, &mut draw);
        let mut case = Map::new();
        case.insert("kind".into(), json!("sequence"));
        case.insert("machine".into(), json!(machine.name));
        case.insert("config".into(), config.clone());
        case.insert("devices".into(), devices.clone());
        let machine = match &pages {
            Some(pages) => {
                case.insert("hugepages".into(), pages.clone());
                Described::new(&machine.name, with_pages(machine.info.clone(), pages))
            }
            None => machine.clone(),
        };
        // What the kubelet answers is heard step by step.
        let case = Case::answered("admission", "", Value::Object(case), json!({ "hang": true }))?;
        let case = case.of(self.release);
        let serves_pods = config["featureGates"]["PodLevelResourceManagers"] == true;
        let options = &config["cpuManagerPolicyOptions"];
        let distributes =
            options["full-pcpus-only"] == "true" && options["distribute-cpus-across-numa"] == "true";
        let setting = Setting { machine: &machine, devices: &devices, serves_pods, distributes };
        for filling in (0..self.fillings).filter(|at| self.only.filling.is_none_or(|only| only == *at)) {
            let mut draw = Draw::of(self.seed, &machine.name, &[number, filling]);
            let steps = script::steps(&setting, &config, &mut draw);
            let filling =
                Filling { machine: &machine, case: &case, steps: &steps, numbers: (number, filling) };
            player.play(&filling, tally)?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}
