//! Clients that apply, resize and delete pods, each its own, and know what was acknowledged. One of them has others' pods
//! moved, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuset::CpuSet;
use serde_json::{Value, json};
use workspace_tools::client::Client;

/// What the device plugin has.
pub(crate) const RESOURCE: &str = "example.com/vf";

/// How many pods a client has at once, at most.
const POD_LIMIT: usize = 8;

/// Exclusive CPUs of all clients' pods together. The manifests' pods, which are critical, always fit beside them: else
/// they would preempt pods, which no answer acknowledges.
const CPUS: usize = 32;

/// CPUs of the largest pod that fits without moves.
const LARGEST: u32 = 4;

/// Clients at once.
pub(crate) const CLIENTS: usize = 4;

// A client whose pods could hold no second pod of the largest size would only ever delete: nothing would be resized or moved.
const _: () = assert!(CPUS / CLIENTS >= 2 * LARGEST as usize);

/// CPUs of a pod beside which others do not all fit on the first NUMA node.
const IN_THE_WAY: u32 = 36;

/// CPUs of a pod for which others move when that one has gone. It fits beside all of them, but not on one NUMA node.
const WIDE: u32 = 44;

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
    /// Whether it has others' pods moved.
    moves: bool,
    /// Its pod that spreads others, or for which they have moved: beside its [`CPUS`].
    wide: Option<(String, Wide)>,
    /// Acknowledged and not deleted.
    pub(crate) live: BTreeMap<String, Granted>,
    /// Acknowledged as waiting for a device plugin, and not deleted: it may be admitted by now. One at most.
    pub(crate) deferred: BTreeSet<String>,
    /// Neither acknowledged nor refused, because the connection ended before the answer, and not admitted so far.
    pub(crate) unknown: BTreeSet<String>,
    /// Whose deletion was acknowledged, or which was refused for good.
    pub(crate) deleted: BTreeSet<String>,
    pub(crate) figures: Figures,
}

/// The exclusive CPUs of a pod, by what its client has been answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Granted {
    /// As the last answer named them.
    pub(crate) cpus: CpuSet,
    /// How many they may be besides: a resize was not answered, or an answer named none.
    pub(crate) or_count: Option<usize>,
}

impl Granted {
    /// Whether the pod of this name may have these CPUs.
    pub(crate) fn allows(&self, name: &str, cpus: &CpuSet) -> bool {
        let is_as_named = if stays(name) { *cpus == self.cpus } else { cpus.len() == self.cpus.len() };
        is_as_named || self.or_count == Some(cpus.len())
    }

    /// The most CPUs that it may have.
    fn most(&self) -> usize {
        self.cpus.len().max(self.or_count.unwrap_or_default())
    }
}

impl From<&str> for Granted {
    /// A list as answers have it.
    fn from(cpus: &str) -> Self {
        Self { cpus: cpus.parse().unwrap_or_default(), or_count: None }
    }
}

/// What a wide pod is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wide {
    Spreads,
    HasMoved,
}

/// Whether a pod that is deleted has to be there: no pod waits any longer than its daemon runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    There,
    PerhapsGone,
}

/// Whether no request of others moves the pod: one of five.
fn stays(name: &str) -> bool {
    name.ends_with(['3', '8'])
}

/// What a client did.
#[derive(Clone, Default, Debug)]
pub(crate) struct Figures {
    pub(crate) applied: u64,
    /// Those of them that were granted a device.
    pub(crate) with_devices: u64,
    pub(crate) refused: u64,
    /// Pods that have to wait for a device plugin.
    pub(crate) deferred: u64,
    pub(crate) resized: u64,
    /// Pods that were moved, so that another one fits.
    pub(crate) moved: u64,
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
        self.applied
            + self.refused
            + self.deferred
            + self.resized
            + self.deleted
            + self.explained
            + self.no_space
    }

    /// What did not happen that a run is about: a daemon that admits nothing breaks nothing. Device plugins need a
    /// moment after each start, so that a run of few admissions may grant no device.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        const FEW: u64 = 10_000;
        let of = |count, what| (count == 0).then_some(what);
        let pods = of(self.applied, "no pod was admitted");
        let rare = [
            of(self.with_devices, "no pod was granted a device"),
            of(self.deferred, "no pod waited for a device plugin"),
            of(self.resized, "no pod was resized"),
            of(self.moved, "no pod was moved"),
        ];
        let rare = rare.into_iter().flatten().filter(|_| self.applied >= FEW);
        pods.into_iter().chain(rare).chain(of(self.deleted, "no pod was deleted"))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.applied += other.applied;
        self.with_devices += other.with_devices;
        self.refused += other.refused;
        self.deferred += other.deferred;
        self.resized += other.resized;
        self.moved += other.moved;
        self.deleted += other.deleted;
        self.explained += other.explained;
        self.no_space += other.no_space;
        self.latencies.extend(&other.latencies);
        self.unsent += other.unsent;
        self.odd.extend(other.odd.iter().cloned());
    }
}

impl Load {
    /// Client `number` of `clients`.
    pub(crate) fn new(number: usize, clients: usize, seed: u64) -> Self {
        Self {
            name: format!("client-{number}"),
            turn: f64::from(u32::try_from(number).unwrap_or_default())
                / f64::from(u32::try_from(clients).unwrap_or(1)),
            random: fastrand::Rng::with_seed(seed ^ ((number as u64 + 1) << 32)),
            count: 0,
            cpus: CPUS / clients,
            moves: number == 0,
            wide: None,
            live: BTreeMap::new(),
            deferred: BTreeSet::new(),
            unknown: BTreeSet::new(),
            deleted: BTreeSet::new(),
            figures: Figures::default(),
        }
    }

    /// Sends requests until `stop`; continues while the daemon does not answer.
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
        if let Some(name) = self.deferred.first().cloned()
            && self.random.u8(0..8) == 0
        {
            self.deferred.remove(&name);
            return self.delete(client, &name, Expected::PerhapsGone);
        }
        match self.random.u8(0..100) {
            0..20 => self.explain(client),
            20..60 if !self.live.is_empty() => self.delete_one(client),
            _ if self.is_full() => self.delete_one(client),
            60..70 => self.resize(client),
            70..78 if self.moves => self.move_others(client, due),
            _ => {
                let name = self.next_name();
                let pod = self.pod(&name);
                self.apply(client, due, name, &pod)
            }
        }
    }

    fn is_wide(&self, name: &str) -> bool {
        self.wide.as_ref().is_some_and(|(wide, _)| wide == name)
    }

    fn delete_one(&mut self, client: &Client) -> io::Result<()> {
        let all: Vec<String> = self.live.keys().filter(|name| !self.is_wide(name)).cloned().collect();
        let Some(name) = self.random.choice(all) else { return Ok(()) };
        self.live.remove(&name);
        self.delete(client, &name, Expected::There)
    }

    /// Whether the largest of its pods could be too much.
    fn is_full(&self) -> bool {
        let largest = usize::try_from(LARGEST).unwrap_or_default();
        let small = self.live.iter().filter(|(name, _)| !self.is_wide(name));
        let held: Vec<usize> = small.map(|(_, granted)| granted.most()).collect();
        let waiting = self.deferred.len() * largest;
        !held.is_empty()
            && (held.len() >= POD_LIMIT || held.iter().sum::<usize>() + waiting + largest > self.cpus)
    }

    fn explain(&mut self, client: &Client) -> io::Result<()> {
        let name = format!("{}-explained", self.name);
        let body = self.pod(&name).to_string();
        let reply = client.ask("POST", "/v1/explain", &body)?;
        self.figures.explained += 1;
        // A client that may only read waits for others, or gets 503 when too many ask.
        if ![200, 429, 503].contains(&reply.status) {
            self.odd("explain", &name, reply.status, &reply.body);
        }
        Ok(())
    }

    fn apply(&mut self, client: &Client, due: Instant, name: String, pod: &Value) -> io::Result<()> {
        let Ok(reply) = client.ask("POST", "/v1/pods", &pod.to_string()) else {
            self.unknown.insert(name);
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let time = u32::try_from(due.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.figures.latencies.push(time);
        match reply.status {
            200 => {
                let container = &reply.json()["decisions"][0]["containers"][0];
                self.live.insert(name, container["exclusiveCpus"].as_str().unwrap_or_default().into());
                self.figures.applied += 1;
                self.figures.with_devices +=
                    u64::from(container["devices"].as_array().is_some_and(|of| !of.is_empty()));
            }
            202 => self.wait(client, name)?,
            422 => {
                self.figures.refused += 1;
                // A refused pod is listed until it is deleted.
                let _ = client.ask("DELETE", &path(&name), "");
            }
            507 => {
                self.figures.no_space += 1;
                // It may be on disk in part, and then waits; no client owns it.
                self.unknown.insert(name);
            }
            503 => {
                self.unknown.insert(name);
            }
            status => self.odd("apply", &name, status, &reply.body),
        }
        Ok(())
    }

    /// A pod waits for its device plugin, in the place of the one that has waited so far.
    fn wait(&mut self, client: &Client, name: String) -> io::Result<()> {
        self.figures.deferred += 1;
        let former = self.deferred.pop_first();
        self.deferred.insert(name);
        former.map_or(Ok(()), |former| self.delete(client, &former, Expected::PerhapsGone))
    }

    /// Another number of CPUs for one of its pods that has some to itself.
    fn resize(&mut self, client: &Client) -> io::Result<()> {
        let largest = usize::try_from(LARGEST).unwrap_or_default();
        let sized = self.live.iter().filter(|(_, granted)| (1..=largest).contains(&granted.cpus.len()));
        let sized: Vec<String> = sized.map(|(name, _)| name.clone()).collect();
        let Some(name) = self.random.choice(sized) else { return Ok(()) };
        let cpus = self.random.u32(1..=LARGEST);
        let amounts = json!({ "cpu": cpus.to_string() });
        let container = json!({ "name": "main", "resources": { "requests": amounts, "limits": amounts } });
        let body = json!({ "spec": { "containers": [container] } }).to_string();
        let reply = client.ask("PATCH", &format!("{}/resize", path(&name)), &body);
        // It may be done for all that its client knows.
        if reply.as_ref().map_or(true, |reply| [503, 507].contains(&reply.status))
            && let Some(granted) = self.live.get_mut(&name)
        {
            granted.or_count = usize::try_from(cpus).ok();
        }
        let reply = reply?;
        match reply.status {
            200 => {
                let document = reply.json();
                let named = document["containers"][0]["exclusiveCpus"].as_str().unwrap_or_default();
                self.live.insert(name, named.into());
                self.figures.resized += 1;
            }
            // Fewer CPUs than the pod came with, or more than there are.
            409 | 503 | 507 => {}
            status => self.odd("resize", &name, status, &reply.body),
        }
        Ok(())
    }

    /// One step of three: a wide pod comes, so that later ones are on two NUMA nodes; it goes, and a wider one comes, for which
    /// pods of every client have to move; that one goes.
    fn move_others(&mut self, client: &Client, due: Instant) -> io::Result<()> {
        let wide = |name: &str, cpus: u32| {
            pod(name, &json!({ "limits": { "cpu": cpus.to_string(), "memory": "256Mi" } }))
        };
        // It may have been lost to a full disk, or never have come.
        let before = self.wide.take().filter(|(name, _)| self.live.remove(name).is_some());
        if let Some((name, _)) = &before {
            self.delete(client, name, Expected::There)?;
        }
        let name = self.next_name();
        match before {
            None => {
                self.wide = Some((name.clone(), Wide::Spreads));
                let pod = wide(&name, IN_THE_WAY);
                self.apply(client, due, name, &pod)
            }
            Some((_, Wide::Spreads)) => {
                self.wide = Some((name.clone(), Wide::HasMoved));
                let pod = wide(&name, WIDE);
                self.repack(client, name, &pod)
            }
            Some((_, Wide::HasMoved)) => Ok(()),
        }
    }

    fn repack(&mut self, client: &Client, name: String, pod: &Value) -> io::Result<()> {
        let Ok(reply) = client.ask("POST", "/v1/repack", &pod.to_string()) else {
            self.unknown.insert(name);
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match reply.status {
            200 => {
                let granted = Granted { cpus: CpuSet::default(), or_count: usize::try_from(WIDE).ok() };
                self.live.insert(name, granted);
                self.figures.applied += 1;
                self.figures.moved += reply.json()["applied"]["moved"].as_array().map_or(0, Vec::len) as u64;
            }
            // It does not come back by itself.
            409 | 422 => {
                self.figures.refused += 1;
                self.deleted.insert(name);
            }
            503 | 507 => {
                self.unknown.insert(name);
            }
            status => self.odd("repack", &name, status, &reply.body),
        }
        Ok(())
    }

    fn next_name(&mut self) -> String {
        let name = format!("{}-{}", self.name, self.count);
        self.count += 1;
        name
    }

    /// Deletes one that its client does not count among its pods any more.
    fn delete(&mut self, client: &Client, name: &str, expected: Expected) -> io::Result<()> {
        let Ok(reply) = client.ask("DELETE", &path(name), "") else {
            self.unknown.insert(name.to_owned());
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match reply.status {
            200 => {
                self.deleted.insert(name.to_owned());
                self.figures.deleted += 1;
            }
            404 if expected == Expected::PerhapsGone => {
                self.deleted.insert(name.to_owned());
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

    /// Takes over which pods the daemon has admitted, of those with an unknown outcome. Those that wait may be admitted later.
    pub(crate) fn settle(&mut self, admitted: &BTreeMap<String, String>) {
        for uncertain in [&mut self.unknown, &mut self.deferred] {
            for name in uncertain.extract_if(.., |name| admitted.contains_key(name)) {
                let cpus = admitted.get(&name).map(String::as_str).unwrap_or_default();
                self.live.insert(name, cpus.into());
            }
        }
        // What was lost has been reported; it is not reported twice.
        self.live.retain(|name, granted| {
            let now = admitted.get(name);
            if let Some(now) = now {
                *granted = now.as_str().into();
            }
            now.is_some()
        });
    }
}

pub(crate) fn path(name: &str) -> String {
    format!("/v1/pods/default/{name}")
}

fn pod(name: &str, resources: &Value) -> Value {
    let moves = if stays(name) { "never" } else { "restart" };
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "annotations": { "topolet.dev/move": moves } },
        "spec": { "containers": [{ "name": "main", "image": "x", "resources": resources }] },
    })
}

/// Where the manifests folder of a node is.
pub(crate) fn manifests(root: &Path) -> PathBuf {
    root.join("manifests")
}

/// Manifests that come and go.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    random: fastrand::Rng,
}

impl Folder {
    pub(crate) fn new(root: &Path, seed: u64) -> Self {
        Self { path: manifests(root), random: fastrand::Rng::with_seed(!seed) }
    }

    /// Writes and removes manifests until `stop`.
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
        // As editors do: a name that begins with a dot is no manifest.
        let beside = self.path.join(format!(".{name}"));
        fs::write(&beside, text)?;
        fs::rename(beside, path)
    }
}
