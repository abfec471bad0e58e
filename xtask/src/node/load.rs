//! Clients that apply and delete pods, each its own, and know what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuset::CpuSet;
use serde_json::{Value, json};

use super::client::Client;

/// What the device plugin has.
pub(crate) const RESOURCE: &str = "example.com/vf";

/// How many pods a client has at once, at most.
const POD_LIMIT: usize = 8;

/// Exclusive CPUs of all clients' pods together. The manifests' pods, which are critical, always fit beside them: else
/// they would preempt pods, which nobody acknowledges.
const CPUS: usize = 72;

/// CPUs of the largest pod that fits.
const LARGEST: u32 = 4;

/// How fast requests come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// The next when the last is answered.
    Unbounded,
    /// One each such time, however long the last took, with the clients in turn; what is late is made up for.
    Every(Duration),
}

/// One client, and what it knows of its pods.
#[derive(Debug)]
pub(crate) struct Load {
    name: String,
    /// Its turn among the clients, from 0 to less than 1.
    turn: f64,
    random: fastrand::Rng,
    count: u64,
    /// Exclusive CPUs that its pods have at most.
    cpus: usize,
    /// Acknowledged and not deleted, with the exclusive CPUs that the answer named.
    pub(crate) live: BTreeMap<String, String>,
    /// Neither acknowledged nor refused, because the connection ended before the answer, and not admitted so far.
    pub(crate) unknown: BTreeSet<String>,
    /// Whose deletion was acknowledged.
    pub(crate) deleted: BTreeSet<String>,
    pub(crate) figures: Figures,
}

/// What a client did.
#[derive(Clone, Default, Debug)]
pub(crate) struct Figures {
    pub(crate) applied: u64,
    /// Those of them that were granted a device.
    pub(crate) with_devices: u64,
    pub(crate) refused: u64,
    pub(crate) deleted: u64,
    pub(crate) explained: u64,
    /// Pods that could not be decided on since the disk is full.
    pub(crate) no_space: u64,
    /// Time of each apply that was answered, in microseconds, from when it was due.
    pub(crate) latencies: Vec<u32>,
    /// Requests that were due and not sent before the time was over.
    pub(crate) unsent: u64,
    /// Answers that nothing explains.
    pub(crate) odd: Vec<String>,
}

impl Figures {
    /// Requests that were answered.
    pub(crate) const fn events(&self) -> u64 {
        self.applied + self.refused + self.deleted + self.explained + self.no_space
    }

    /// What did not happen that a run is about: a daemon that admits nothing breaks nothing. Device plugins need a
    /// moment after each start, so that a run of few admissions may grant no device.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        const FEW: u64 = 10_000;
        let of = |count, what| (count == 0).then_some(what);
        let pods = of(self.applied, "no pod was admitted");
        let devices = of(self.with_devices, "no pod was granted a device").filter(|_| self.applied >= FEW);
        pods.into_iter().chain(devices).chain(of(self.deleted, "no pod was deleted"))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.applied += other.applied;
        self.with_devices += other.with_devices;
        self.refused += other.refused;
        self.deleted += other.deleted;
        self.explained += other.explained;
        self.no_space += other.no_space;
        self.latencies.extend(&other.latencies);
        self.unsent += other.unsent;
        self.odd.extend(other.odd.iter().cloned());
    }
}

impl Load {
    /// One of so many clients.
    pub(crate) fn new(number: usize, clients: usize, seed: u64) -> Self {
        Self {
            name: format!("client-{number}"),
            turn: f64::from(u32::try_from(number).unwrap_or_default())
                / f64::from(u32::try_from(clients).unwrap_or(1)),
            random: fastrand::Rng::with_seed(seed ^ ((number as u64 + 1) << 32)),
            count: 0,
            cpus: CPUS / clients,
            live: BTreeMap::new(),
            unknown: BTreeSet::new(),
            deleted: BTreeSet::new(),
            figures: Figures::default(),
        }
    }

    /// Asks until it is told to stop; goes on while nobody answers.
    pub(crate) fn run(&mut self, root: &Path, pace: Pace, stop: &AtomicBool) {
        let client = Client::of(root);
        let began = Instant::now();
        let mut events = 0;
        while !stop.load(Ordering::Relaxed) {
            let due = match pace {
                Pace::Unbounded => Instant::now(),
                Pace::Every(time) => {
                    let due = began + time.mul_f64(self.turn) + time * events;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    events += 1;
                    due
                }
            };
            if self.step(&client, due).is_err() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        if let Pace::Every(time) = pace {
            let due = began.elapsed().as_micros() / time.as_micros().max(1);
            self.figures.unsent += u64::try_from(due).unwrap_or_default().saturating_sub(events.into());
        }
    }

    /// One request, which was due at a moment.
    fn step(&mut self, client: &Client, due: Instant) -> io::Result<()> {
        let draw = self.random.u8(0..100);
        if draw < 20 {
            self.explain(client)
        } else if self.is_full() || (draw < 60 && !self.live.is_empty()) {
            let at = self.random.usize(0..self.live.len());
            let Some(name) = self.live.keys().nth(at).cloned() else { return Ok(()) };
            self.delete(client, &name)
        } else {
            self.apply(client, due)
        }
    }

    /// Whether the largest of its pods could be too much.
    fn is_full(&self) -> bool {
        let held = self.live.values().map(|cpus| cpus.parse().map_or(0, |cpus: CpuSet| cpus.len()));
        let largest = usize::try_from(LARGEST).unwrap_or_default();
        !self.live.is_empty() && (self.live.len() >= POD_LIMIT || held.sum::<usize>() + largest > self.cpus)
    }

    fn explain(&mut self, client: &Client) -> io::Result<()> {
        let name = format!("{}-explained", self.name);
        let body = self.pod(&name).to_string();
        let reply = client.ask("POST", "/v1/explain", &body)?;
        self.figures.explained += 1;
        // Whoever may change nothing waits for others, or is sent away when too many ask.
        if ![200, 429, 503].contains(&reply.status) {
            self.odd("explain", &name, reply.status, &reply.body);
        }
        Ok(())
    }

    fn apply(&mut self, client: &Client, due: Instant) -> io::Result<()> {
        let name = format!("{}-{}", self.name, self.count);
        self.count += 1;
        let body = self.pod(&name).to_string();
        let Ok(reply) = client.ask("POST", "/v1/pods", &body) else {
            self.unknown.insert(name);
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let time = u32::try_from(due.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.figures.latencies.push(time);
        match reply.status {
            200 => {
                let container = &reply.json()["decisions"][0]["containers"][0];
                self.live.insert(name, container["exclusiveCpus"].as_str().unwrap_or_default().to_owned());
                self.figures.applied += 1;
                self.figures.with_devices +=
                    u64::from(container["devices"].as_array().is_some_and(|of| !of.is_empty()));
            }
            422 => {
                self.figures.refused += 1;
                // A refused pod is listed until it is deleted.
                let _ = client.ask("DELETE", &path(&name), "");
            }
            507 => {
                self.figures.no_space += 1;
                // It may be on disk in part, and then waits; it is nobody's.
                self.unknown.insert(name);
            }
            503 => {
                self.unknown.insert(name);
            }
            status => self.odd("apply", &name, status, &reply.body),
        }
        Ok(())
    }

    fn delete(&mut self, client: &Client, name: &str) -> io::Result<()> {
        self.live.remove(name);
        let Ok(reply) = client.ask("DELETE", &path(name), "") else {
            self.unknown.insert(name.to_owned());
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match reply.status {
            200 => {
                self.deleted.insert(name.to_owned());
                self.figures.deleted += 1;
            }
            503 | 507 => {
                self.unknown.insert(name.to_owned());
            }
            // Acknowledged, and now it is not there.
            status => self.odd("delete", name, status, &reply.body),
        }
        Ok(())
    }

    fn odd(&mut self, what: &str, name: &str, status: u16, body: &str) {
        let body: String = body.chars().take(300).collect();
        self.figures.odd.push(format!("{what} of {name}: status {status}: {body}"));
    }

    /// One of the kinds of pods that there are.
    fn pod(&mut self, name: &str) -> Value {
        let memory = format!("{}Mi", 256 * self.random.u32(1..9));
        let cpus = self.random.u32(1..=LARGEST).to_string();
        let resources = match self.random.u8(0..10) {
            0..6 => json!({ "limits": { "cpu": cpus, "memory": memory } }),
            6..8 => json!({ "limits": { "cpu": cpus, "memory": memory, RESOURCE: "1" } }),
            8 => json!({ "requests": { "cpu": "100m", "memory": memory } }),
            // One that fits nowhere.
            _ if self.random.bool() => json!({ "limits": { "cpu": "200", "memory": memory } }),
            _ => json!({}),
        };
        pod(name, &resources)
    }

    /// Whether the name is of a pod of this client.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        name.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Takes over what the daemon says of the pods whose fate is not known. Those that wait may be admitted later.
    pub(crate) fn settle(&mut self, admitted: &BTreeMap<String, String>) {
        for name in std::mem::take(&mut self.unknown) {
            match admitted.get(&name) {
                Some(cpus) => drop(self.live.insert(name, cpus.clone())),
                None => drop(self.unknown.insert(name)),
            }
        }
        // What was lost has been reported; it is not reported twice.
        self.live.retain(|name, _| admitted.contains_key(name));
    }
}

pub(crate) fn path(name: &str) -> String {
    format!("/v1/pods/default/{name}")
}

fn pod(name: &str, resources: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "x", "resources": resources }] },
    })
}

/// Manifests that come and go.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    random: fastrand::Rng,
}

impl Folder {
    pub(crate) fn new(root: &Path, seed: u64) -> Self {
        Self { path: super::process::manifests(root), random: fastrand::Rng::with_seed(!seed) }
    }

    /// Writes and removes until it is told to stop.
    pub(crate) fn churn(&mut self, pause: Duration, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            // A full disk takes no manifest; the next time it may.
            let _ = self.step();
            std::thread::sleep(pause);
        }
    }

    fn step(&mut self) -> io::Result<()> {
        let name = format!("static-{}", self.random.u8(0..6));
        let path = self.path.join(format!("{name}.json"));
        if path.exists() {
            return fs::remove_file(path);
        }
        let cpus = self.random.u8(1..3).to_string();
        let text = pod(&name, &json!({ "limits": { "cpu": cpus, "memory": "512Mi" } })).to_string();
        // As editors do: a name that begins with a dot is nobody's manifest.
        let beside = self.path.join(format!(".{name}"));
        fs::write(&beside, text)?;
        fs::rename(beside, path)
    }
}
