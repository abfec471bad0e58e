//! Folders of state that each release of the kubelet has written, and topolet by the rules of each, read by all of
//! them: `cargo xtask kubelet-node --all-releases`, which builds the kubelets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::daemon::{Daemon, Folder, until};
use crate::kubelet::{Holdings, Kubelet, Series, project, running};
use serde_json::Value;

/// How long a folder may take that is read at once.
const TO_READ: Duration = Duration::from_secs(10);

const STATE_FILES: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];

/// Who writes or reads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// The kubelet's own code, of a version.
    Kubelet(String, PathBuf),
    /// We, by the rules of a release.
    Topolet(&'static str),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubelet(version, _) => f.pad(&format!("kubelet {version}")),
            Self::Topolet(release) => f.pad(&format!("topolet {release}")),
        }
    }
}

impl Who {
    fn all() -> Vec<Self> {
        let folder =
            Path::new(env!("CARGO_BIN_EXE_topolet")).parent().unwrap().parent().unwrap().join("kubelet");
        let releases = fs::read_dir(project().join("crates/workspace-tools/kubelet/releases")).unwrap();
        let mut kubelets: Vec<Self> = releases
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .map(|version| {
                let program = folder.join(&version).join("admission");
                Self::Kubelet(version, program)
            })
            .collect();
        kubelets.push(Self::Kubelet("1.36.3".to_owned(), folder.join("admission")));
        kubelets.sort();
        kubelets.extend(["1.34", "1.35", "1.36", "1.37"].map(Self::Topolet));
        kubelets
    }

    /// Which 1.x it is.
    fn minor(&self) -> u32 {
        let version = match self {
            Self::Kubelet(version, _) => version.as_str(),
            Self::Topolet(release) => release,
        };
        version.split('.').nth(1).unwrap().parse().unwrap()
    }

    /// Plays a series in a folder; what is held at its end and who holds it, with the pods as they were sent. `None` if
    /// it does not start with such a configuration.
    fn write(&self, series: &Series, root: &Path) -> Option<Written> {
        match self {
            Self::Kubelet(_, program) => {
                let (mut kubelet, started) = Kubelet::start(program, root, series, &[]);
                let mut held = Holdings::of_kubelet(&started["start"].as_object()?["state"]);
                let mut names = BTreeSet::new();
                for step in &series.steps {
                    let answer = kubelet.step(step);
                    held = Holdings::of_kubelet(&answer["state"]);
                    running(&mut names, step, &answer);
                }
                Some(Written::new(held, &names, series))
            }
            Self::Topolet(release) => {
                let own = Folder::new();
                let [machine, config, devices] = series.arguments(own.path());
                let more = ["--devices", devices.to_str().unwrap(), "--kubelet", release];
                let daemon = Daemon::spawn(machine.to_str().unwrap(), root, config.to_str().unwrap(), &more);
                ready(&daemon)?;
                let mut names = BTreeSet::new();
                for step in &series.steps {
                    match step["op"].as_str().unwrap() {
                        "add" => {
                            let reply = daemon.ask("POST", "/v1/pods", &step["pod"].to_string());
                            let said: Value = serde_json::from_str(&reply.body).unwrap();
                            if said["decisions"][0]["admitted"] == true {
                                names.insert(step["pod"]["metadata"]["name"].as_str().unwrap().to_owned());
                            }
                        }
                        "remove" => {
                            let name = step["name"].as_str().unwrap();
                            daemon.ask("DELETE", &format!("/v1/pods/default/{name}"), "");
                            names.remove(name);
                        }
                        _ => {}
                    }
                }
                Some(Written::new(served(&daemon), &names, series))
            }
        }
    }

    /// What is held, as read from a folder; else why it is not read.
    fn read(&self, series: &Series, from: &Path, pods: &[Value]) -> Result<Holdings, String> {
        let copy = Folder::new();
        fs::create_dir(copy.path().join("device-plugins")).unwrap();
        // A policy that books nothing writes none.
        for file in STATE_FILES.into_iter().filter(|file| from.join(file).exists()) {
            fs::copy(from.join(file), copy.path().join(file)).unwrap();
        }
        match self {
            Self::Kubelet(_, program) => {
                let (_, answer) = Kubelet::start(program, copy.path(), series, pods);
                match answer["error"].as_str() {
                    Some(error) => Err(error.to_owned()),
                    None => Ok(Holdings::of_kubelet(&answer["loaded"])),
                }
            }
            Self::Topolet(release) => {
                let own = Folder::new();
                let [machine, config, devices] = series.arguments(own.path());
                let socket = own.path().join("observe.sock");
                let more = ["--observe", "--socket", socket.to_str().unwrap(), "--kubelet", release];
                let more = [&more[..], &["--devices", devices.to_str().unwrap()]].concat();
                let (machine, config) = (machine.to_str().unwrap(), config.to_str().unwrap());
                let daemon = Daemon::spawn(machine, copy.path(), config, &more).at(&socket);
                observes(&daemon)?;
                Ok(served(&daemon))
            }
        }
    }

    /// Whether it starts with such a configuration where there is no state.
    fn starts(&self, series: &Series) -> bool {
        match self {
            Self::Kubelet(_, program) => Kubelet::starts(program, series),
            Self::Topolet(release) => {
                let (root, own) = (Folder::new(), Folder::new());
                let [machine, config, _] = series.arguments(own.path());
                let more = ["--kubelet", release];
                let daemon =
                    Daemon::spawn(machine.to_str().unwrap(), root.path(), config.to_str().unwrap(), &more);
                ready(&daemon).is_some()
            }
        }
    }
}

/// A folder of state as its writer knows it.
struct Written {
    held: Holdings,
    names: BTreeSet<String>,
    pods: Vec<Value>,
}

impl Written {
    fn new(held: Holdings, names: &BTreeSet<String>, series: &Series) -> Self {
        let added = series.steps.iter().filter(|step| step["op"] == "add").map(|step| step["pod"].clone());
        let by_name: BTreeMap<String, Value> =
            added.map(|pod| (pod["metadata"]["name"].as_str().unwrap().to_owned(), pod)).collect();
        let pods = names.iter().filter_map(|name| by_name.get(name)).cloned().collect();
        Self { held: held.with_devices_of(names), names: names.clone(), pods }
    }

    /// Whether a pod has something as a whole.
    fn has_whole_pods(&self) -> bool {
        self.held.held.keys().any(|key| key.contains("/ "))
    }
}

/// Waits until it serves; `None` if it has ended.
fn ready(daemon: &Daemon) -> Option<()> {
    let mut started = None;
    until("a daemon", || {
        let answers = daemon.try_get("/readyz").is_some_and(|reply| reply.status == 200);
        started = answers.then_some(());
        (answers || daemon.log().iter().any(|line| line.starts_with("error"))).then_some(())
    });
    started
}

/// Waits until it has read the folder; else says what keeps it from that.
fn observes(daemon: &Daemon) -> Result<(), String> {
    let end = Instant::now() + TO_READ;
    loop {
        let reply = daemon.try_get("/readyz");
        match reply {
            // A kubelet books what its managers do not undo; it is served all the same.
            Some(reply) if reply.status == 200 || reply.body.contains("the state is served") => return Ok(()),
            Some(reply) if Instant::now() > end => return Err(reply.body.trim().to_owned()),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn served(daemon: &Daemon) -> Holdings {
    Holdings::of_topolet(&serde_json::from_str(&daemon.get("/v1/state").body).unwrap())
}

/// What came of the folders of one writer at one reader.
#[derive(Default)]
struct Cell {
    same: usize,
    holdings: usize,
    /// What pods have as a whole is not read by an older release: see docs/releases.md.
    lost: Vec<String>,
    other: Vec<String>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{} ({})", self.same, self.holdings);
        for (count, what) in [(self.lost.len(), "lost"), (self.other.len(), "not")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        f.pad(&text)
    }
}

#[test]
#[ignore = "needs the kubelets of all releases: `cargo xtask kubelet-node --all-releases`"]
fn every_release_reads_what_every_release_has_written() {
    let everybody = Who::all();
    let mut cells: BTreeMap<(&Who, &Who), Cell> = BTreeMap::new();
    for series in Series::all() {
        let able: BTreeSet<&Who> = everybody.iter().filter(|who| who.starts(&series)).collect();
        for writer in &able {
            let root = Folder::new();
            let written = writer.write(&series, root.path()).unwrap();
            for reader in &able {
                let read = reader.read(&series, root.path(), &written.pods);
                let read = read.map(|held| held.with_devices_of(&written.names));
                let cell = cells.entry((writer, reader)).or_default();
                match read {
                    Ok(held) if held == written.held => {
                        cell.same += 1;
                        cell.holdings += held.held.len();
                    }
                    read => {
                        let read = read.map_or_else(|error| error, |held| format!("{held:?}"));
                        let text = format!("{}: {:?} as {read}", series.id, written.held);
                        let is_lost = written.has_whole_pods() && writer.minor() > reader.minor();
                        if is_lost { cell.lost.push(text) } else { cell.other.push(text) }
                    }
                }
            }
        }
    }
    let lost: Vec<_> = cells.values().flat_map(|cell| &cell.lost).collect();
    println!("{} folders lost what pods have as a whole:", lost.len());
    for lost in lost {
        println!("  {lost}");
    }
    println!("folders of a writer (row) that a reader (column) reads with the same holdings (how many):");
    print!("{:16}", "");
    for reader in &everybody {
        print!("{reader:>18}");
    }
    println!();
    for writer in &everybody {
        print!("{writer:16}");
        for reader in &everybody {
            let cell = cells.get(&(writer, reader)).map_or_else(String::new, ToString::to_string);
            print!("{cell:>18}");
        }
        println!();
    }
    let others: Vec<String> = cells
        .iter()
        .flat_map(|((writer, reader), cell)| {
            cell.other.iter().map(move |other| format!("{writer} -> {reader}: {other}"))
        })
        .collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert!(cells.values().all(|cell| cell.same > 0));
}
