//! The owner's thread, as it is, among others, in thousands of orders in which they may run.
//!
//! What is not the owner's stands in: files are a map, plugins and cgroups are threads that answer. Every look at the
//! clock and every file operation is a place where another thread may go on.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use clap::Parser as _;
use device_manager::{AllocateReply, Device, Moment, PluginOptions, Question, Reply};
use kubelet_checkpoint::store::{Fs, Store};
use node_agent::{
    Agent, Enforcement, Event, Found, Listing, Others, Owner, PluginEvent, Request, Runs, Snapshot,
};
use pod_spec::{ContainerKey, ContainerName, Pod, PodLevelResources, PodUid};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::mpsc::{self, Sender, SyncSender};
use shuttle::sync::{Condvar, Mutex as ModelMutex, MutexGuard as ModelGuard};
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, Runner};
use tokio::sync::oneshot;
use topology_admission::Verdict;
use topology_manifest::{Source, read_accepted_pods};

use super::{Enforcer, Inbox, Message, OwnerThread, Plugins, Told, Writer};
use crate::arguments::{Arguments, Command};
use crate::node::{LoadedMachine, LoadedNode};
use crate::serve::metrics::Metrics;
use crate::serve::scribe::Job;
use crate::serve::shared::{Log, Mode, Notes, Shared};

const VF: &str = "example.com/vf";
/// So few that senders wait.
const ROOM: usize = 2;

/// Two NUMA nodes with four CPUs each, of which one is the system's.
static NODE: LazyLock<LoadedNode> = LazyLock::new(|| {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines/2n-8cpu.json");
    let words = ["topolet", "admit", "-f", "-", "--machine", machine, "--config", "pinned"];
    let Ok(Arguments { command: Command::Admit(admit), .. }) = Arguments::try_parse_from(words) else {
        panic!("the arguments are right");
    };
    let machine = LoadedMachine::load(&admit.pods.machine);
    let node = machine.and_then(|machine| LoadedNode::on(&machine, &admit.pods.rules, None));
    node.unwrap_or_else(|error| panic!("{error:#}"))
});

/// A place where another thread may go on.
fn pause() {
    AtomicUsize::new(0).load(Ordering::SeqCst);
}

/// Files that are never lost. Clones are the same.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<BTreeMap<PathBuf, Vec<u8>>>>);

impl Files {
    fn all(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fs for Files {
    type File = PathBuf;
    type Lock = ();

    fn create(&self, path: &Path) -> io::Result<PathBuf> {
        self.all().insert(path.to_path_buf(), Vec::new());
        Ok(path.to_path_buf())
    }

    fn write(&self, file: &mut PathBuf, contents: &[u8]) -> io::Result<()> {
        self.all().entry(file.clone()).or_default().extend(contents);
        Ok(())
    }

    fn sync(&self, _: &mut PathBuf) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        pause();
        let mut all = self.all();
        let contents = all.remove(from).ok_or(io::ErrorKind::NotFound)?;
        all.insert(to.to_path_buf(), contents);
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        pause();
        self.all().remove(path).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn read(&self, path: &Path, _: usize) -> io::Result<Vec<u8>> {
        self.all().get(path).cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let all = self.all();
        let inside = all.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_owned())).collect())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<()>> {
        Ok(Some(()))
    }
}

/// The channel to the owner, as the standard library's is: who sends waits for room, and when the owner has gone, so
/// has all that was on its way. What comes is a message, or, as `None`, that the owner's time is up.
#[derive(Clone)]
struct Channel(Arc<(ModelMutex<Waiting>, Condvar)>);

struct Waiting {
    messages: VecDeque<Option<Message>>,
    is_open: bool,
}

impl Channel {
    fn new() -> Self {
        let waiting = Waiting { messages: VecDeque::new(), is_open: true };
        Self(Arc::new((ModelMutex::new(waiting), Condvar::new())))
    }

    fn locked(&self) -> ModelGuard<'_, Waiting> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed<'a>(&self, waiting: ModelGuard<'a, Waiting>) -> ModelGuard<'a, Waiting> {
        self.0.1.wait(waiting).unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: Option<Message>) {
        let mut waiting = self.locked();
        while waiting.is_open && waiting.messages.len() == ROOM {
            waiting = self.changed(waiting);
        }
        if waiting.is_open {
            waiting.messages.push_back(message);
        }
        self.0.1.notify_all();
    }
}

/// The owner's end of it.
struct ModelInbox {
    channel: Channel,
    /// The plugin that the owner has been told of last.
    plugin: Arc<Mutex<u8>>,
}

impl Inbox for ModelInbox {
    fn next(&mut self, _: Duration) -> Result<Message, RecvTimeoutError> {
        let mut waiting = self.channel.locked();
        let message = loop {
            match waiting.messages.pop_front() {
                Some(message) => break message,
                None => waiting = self.channel.changed(waiting),
            }
        };
        self.channel.0.1.notify_all();
        if let Some(Message::EventThen(Event::Plugin(PluginEvent::Registered(..)), _)) = &message {
            *self.plugin.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        message.ok_or(RecvTimeoutError::Timeout)
    }
}

impl Drop for ModelInbox {
    fn drop(&mut self) {
        let mut waiting = self.channel.locked();
        waiting.is_open = false;
        waiting.messages.clear();
        self.channel.0.1.notify_all();
    }
}

/// The sockets: which plugin there is now is told in the order in which its answers are.
#[derive(Clone)]
struct ModelPlugins {
    asked: Sender<Question>,
}

impl Plugins for ModelPlugins {
    fn ask(&self, question: Question) {
        let _ = self.asked.send(question);
    }
}

/// Checks decisions where the owner gives them out, and has them written up by another thread.
struct ModelWriter {
    jobs: SyncSender<Job>,
    plugin: Arc<Mutex<u8>>,
}

impl Writer for ModelWriter {
    fn write(&self, job: Job) {
        let plugin = *self.plugin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Verdict::Admitted(_) = &job.decided.verdict {
            let held = job.decided.after.devices().iter().filter(|(pod, ..)| **pod == job.decided.pod.uid);
            for (_, _, _, held) in held {
                assert_eq!(*held.reply.0, [plugin], "an answer of a plugin that has been replaced is taken");
            }
        }
        let _ = self.jobs.send(job);
    }
}

/// Cgroups: where each container is.
struct ModelEnforcer(Sender<Order>);

enum Order {
    Enforce(Enforcement),
    Then(Box<dyn FnOnce() + Send>),
}

impl Enforcer for ModelEnforcer {
    fn enforce(&mut self, enforcement: Enforcement) {
        let _ = self.0.send(Order::Enforce(enforcement));
    }

    fn after(&mut self, then: Box<dyn FnOnce() + Send>) {
        let _ = self.0.send(Order::Then(then));
    }
}

/// A day of a node.
struct Day {
    shared: Arc<Shared>,
    files: Files,
    owner: Channel,
    seconds: Arc<Mutex<u64>>,
    /// The cgroups that have been written, by id of the container.
    written: Arc<Mutex<BTreeSet<String>>>,
    /// The plugin that is there, from 1 on; held while something is told of it.
    plugin: Arc<ModelMutex<u8>>,
    threads: Vec<JoinHandle<()>>,
    owners: JoinHandle<()>,
}

impl Day {
    fn begins() -> Self {
        let node = NODE.clone();
        let files = Files::default();
        let Ok(store) = Store::on(files.clone(), Path::new("/")) else { panic!("nobody has the folder") };
        let seconds = Arc::<Mutex<u64>>::default();
        let time = seconds.clone();
        let clock = move || {
            pause();
            Moment(Duration::from_secs(*time.lock().unwrap_or_else(PoisonError::into_inner)))
        };
        let ledger = node.empty_ledger();
        let (agent, effects) = Agent::new(Owner::new(node.node.clone(), &ledger, []), store, &clock);
        let snapshot = agent.snapshot();
        let shared = Arc::new(Shared {
            metrics: Metrics::new(&node, &snapshot),
            node,
            machine: serde_json::Value::Null,
            drawing: String::new(),
            snapshot: ArcSwap::from_pointee(snapshot),
            log: Log::default(),
            mode: Mode::Serve,
            notes: Notes::default(),
        });
        let owner = Channel::new();
        let (jobs, written_up) = mpsc::sync_channel::<Job>(1);
        let (orders, ordered) = mpsc::channel();
        let (asked, questions) = mpsc::channel::<Question>();
        let told_of = Arc::<Mutex<u8>>::default();
        let plugin = Arc::new(ModelMutex::new(0));
        let mut thread = OwnerThread {
            agent,
            shared: shared.clone(),
            inbox: Box::new(ModelInbox { channel: owner.clone(), plugin: told_of.clone() }),
            scribe: Box::new(ModelWriter { jobs, plugin: told_of }),
            plugins: Box::new(ModelPlugins { asked }),
            enforcer: Box::new(ModelEnforcer(orders)),
            clock: Box::new(clock),
            waiting: HashMap::new(),
            tickets: 0,
        };
        let owners = thread::spawn(move || thread.run(effects));
        let written = Arc::<Mutex<BTreeSet<String>>>::default();
        let scribe = {
            let shared = shared.clone();
            thread::spawn(move || written_up.into_iter().for_each(|job| job.done(&shared)))
        };
        let cgroups = {
            let written = written.clone();
            thread::spawn(move || {
                for order in ordered {
                    match order {
                        Order::Enforce(one) => {
                            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                            written.insert(one.id.as_str().to_owned());
                        }
                        Order::Then(then) => then(),
                    }
                }
            })
        };
        let plugins = {
            let (owner, plugin) = (owner.clone(), plugin.clone());
            thread::spawn(move || {
                for question in questions {
                    let Ok(now) = plugin.lock() else { return };
                    let reply = Reply::Allocated(AllocateReply(Arc::from(vec![*now])));
                    owner.send(Some(Message::Event(Event::Replied(question, reply))));
                }
            })
        };
        let threads = vec![scribe, cgroups, plugins];
        Self { shared, files, owner, seconds, written, plugin, threads, owners }
    }

    /// Somebody of whom the owner does not know does something.
    fn somebody(&self, does: impl FnOnce(Client) + Send + 'static) -> JoinHandle<()> {
        let client = Client {
            shared: self.shared.clone(),
            owner: self.owner.clone(),
            seconds: self.seconds.clone(),
            written: self.written.clone(),
            plugin: self.plugin.clone(),
        };
        thread::spawn(move || does(client))
    }

    /// The owner is told to stop; then everything that was promised is on disk, and nothing else.
    fn ends(self) -> BTreeSet<String> {
        let Self { shared, files, owner, threads, owners, .. } = self;
        owner.send(Some(Message::Stop));
        owners.join().unwrap_or_else(|_| panic!("the owner has panicked"));
        for thread in threads {
            thread.join().unwrap_or_else(|_| panic!("somebody has panicked"));
        }
        let last = shared.snapshot.load_full();
        check(&last);
        let Ok(store) = Store::on(files, Path::new("/")) else { panic!("nobody has the folder") };
        let node = &shared.node.node;
        let found = Found::read(&store).unwrap_or_else(|error| panic!("{error}"));
        let repaired = found.repair(node, &Runs::Recorded).unwrap_or_else(|unknown| panic!("{unknown}"));
        assert!(repaired.findings.is_empty(), "{:?}", repaired.findings);
        let restarted = repaired.start.ledger(node, last.ledger.inventory().clone(), Moment::default());
        let restarted = restarted.unwrap_or_else(|error| panic!("{error}"));
        let cpus = |ledger: &topology_admission::Ledger| -> BTreeMap<String, String> {
            let held = ledger.cpus().into_iter().flat_map(cpu_manager::Holdings::iter);
            held.map(|(pod, _, cpus)| (pod.to_string(), cpus.to_string())).collect()
        };
        assert_eq!(cpus(&restarted), cpus(&last.ledger), "the last state is on disk");
        let pods: BTreeSet<String> = names(&last);
        let stored: BTreeSet<String> =
            repaired.start.records.iter().map(|record| record.pod.name.clone()).collect();
        assert_eq!(stored, pods, "and so are its pods");
        pods
    }
}

fn names(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.pods.values().map(|record| record.pod.name.clone()).collect()
}

/// What must be so in every snapshot that anybody ever sees.
fn check(snapshot: &Snapshot) {
    let held = snapshot.ledger.cpus().unwrap_or_else(|| panic!("the policy is static"));
    let mut taken = held.shared().clone();
    let mut with_cpus = BTreeSet::new();
    for (pod, container, cpus) in held.iter() {
        assert!(taken.is_disjoint(cpus), "{pod}/{container}: CPUs {cpus} have two owners");
        taken = &taken | cpus;
        with_cpus.insert(pod.clone());
    }
    assert_eq!(taken.to_string(), "0-7", "every CPU is somebody's");
    let pods: BTreeSet<PodUid> = snapshot.pods.keys().cloned().collect();
    assert_eq!(with_cpus, pods, "who holds something is there, and the other way round");
    let booked: BTreeSet<PodUid> = snapshot.ledger.pods().map(|pod| pod.uid.clone()).collect();
    assert_eq!(booked, pods);
    let running: BTreeSet<_> = snapshot.pods.values().flat_map(|record| record.running.keys()).collect();
    let placed: BTreeSet<_> = snapshot.places.iter().map(|place| &place.id).collect();
    assert_eq!(placed, running, "who runs has a place");
    let devices: Vec<_> = snapshot.ledger.devices().iter().flat_map(|(.., held)| held.devices()).collect();
    assert_eq!(devices.iter().collect::<BTreeSet<_>>().len(), devices.len(), "no device has two owners");
}

/// Who asks, looks, or tells.
struct Client {
    shared: Arc<Shared>,
    owner: Channel,
    seconds: Arc<Mutex<u64>>,
    written: Arc<Mutex<BTreeSet<String>>>,
    plugin: Arc<ModelMutex<u8>>,
}

impl Client {
    fn tell(&self, message: Message) {
        self.owner.send(Some(message));
    }

    /// Asks; `None`: the owner has stopped before it answered.
    fn ask(&self, request: Request) -> Option<Told> {
        let (answer, told) = oneshot::channel();
        self.tell(Message::Ask(request, answer));
        shuttle::future::block_on(told).ok()
    }

    /// Asks, and does not wait.
    fn ask_and_leave(&self, request: Request) {
        let (answer, _) = oneshot::channel();
        self.tell(Message::Ask(request, answer));
    }

    /// Whether a pod is admitted. Who is told so sees it.
    fn admit(&self, pod: &Arc<Pod>) -> Option<bool> {
        match self.ask(Request::Admit(pod.clone()))? {
            Told::Decided(decision) => Some(decision.admitted),
            Told::Answer(_) => None,
        }
    }

    fn is_there(&self, pod: &Pod) -> bool {
        self.look().pods.contains_key(&pod.uid)
    }

    fn look(&self) -> Arc<Snapshot> {
        let snapshot = self.shared.snapshot.load_full();
        check(&snapshot);
        snapshot
    }

    fn start(&self, pod: &Pod, id: &str) -> Option<Told> {
        let container = ContainerKey { pod: pod.uid.clone(), container: ContainerName::new("app") };
        let cgroup = Some(PathBuf::from(id));
        self.ask(Request::Started { container, id: id.into(), cgroup })
    }

    fn is_written(&self, id: &str) -> bool {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    /// Time passes, and the owner's is up.
    fn wait(&self, seconds: u64) {
        *self.seconds.lock().unwrap_or_else(PoisonError::into_inner) += seconds;
        self.owner.send(None);
    }

    /// The next plugin registers and lists its device; it goes on when the owner has taken that in.
    fn register(&self) {
        for event in [
            PluginEvent::Registered(VF.into(), PluginOptions::default()),
            PluginEvent::Listed(VF.into(), vec![Device::new("v0", &[0])]),
        ] {
            let (done, taken_in) = oneshot::channel();
            {
                let Ok(mut plugin) = self.plugin.lock() else { return };
                if let PluginEvent::Registered(..) = event {
                    *plugin += 1;
                }
                let then = Box::new(move || {
                    let _ = done.send(());
                });
                self.tell(Message::EventThen(Event::Plugin(event), then));
            }
            let _ = shuttle::future::block_on(taken_in);
        }
    }
}

/// A Guaranteed pod of one container, `app`.
fn pod(name: &str, cpus: u32, devices: u32) -> Arc<Pod> {
    let device = if devices > 0 { format!(", {VF}: {devices}") } else { String::new() };
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: app\n    image: x\n    \
         resources: {{limits: {{cpu: {cpus}, memory: 1Gi{device}}}}}\n"
    );
    let read = read_accepted_pods(&Source { name: "model", text: &text }, PodLevelResources::Count);
    let pods = read.unwrap_or_else(|error| panic!("{error}"));
    let pod = pods.into_iter().next().unwrap_or_else(|| panic!("there is one"));
    Arc::new(pod.delivered().with_defaults(PodLevelResources::Count))
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap_or_else(|_| panic!("somebody has panicked"));
    }
}

/// Pods of requests and of the folder come and go, containers start and exit, somebody looks, and time passes.
fn pods_and_containers() {
    let day = Day::begins();
    let threads = vec![
        day.somebody(|client| {
            let own = pod("a", 3, 0);
            let Some(is_admitted) = client.admit(&own) else { panic!("it is answered") };
            assert_eq!(client.is_there(&own), is_admitted, "who is told sees it");
            if is_admitted {
                assert!(matches!(client.start(&own, "a1"), Some(Told::Answer(node_agent::Answer::Done))));
                assert!(client.is_written("a1"), "it is where it belongs before it runs");
                assert!(matches!(
                    client.ask(Request::Exited("a1".into())),
                    Some(Told::Answer(node_agent::Answer::Done))
                ));
                assert!(client.ask(Request::Delete(own.uid.clone())).is_some(), "it is answered");
                assert!(!client.is_there(&own));
            }
        }),
        day.somebody(|client| {
            let own = pod("b", 3, 0);
            let Some(is_admitted) = client.admit(&own) else { panic!("it is answered") };
            assert_eq!(client.is_there(&own), is_admitted);
            client.ask_and_leave(Request::Delete(own.uid.clone()));
        }),
        day.somebody(|client| {
            let pods = vec![pod("f", 2, 0)];
            client.tell(Message::Event(Event::Listed(Listing { pods, others: Others::Gone })));
            client.tell(Message::Event(Event::Listed(Listing { pods: Vec::new(), others: Others::Gone })));
        }),
        day.somebody(|client| {
            let mut version = client.look().ledger.version();
            for _ in 0..3 {
                pause();
                let next = client.look().ledger.version();
                assert!(next >= version, "time does not run backwards");
                version = next;
            }
            client.wait(5);
        }),
    ];
    join(threads);
    assert_eq!(day.ends(), BTreeSet::new(), "all have been deleted");
}

/// A plugin is replaced while it is asked, goes, and is forgotten; its pods stay.
fn plugins_are_replaced() {
    let day = Day::begins();
    let threads = vec![
        day.somebody(|client| {
            client.register();
            client.register();
            client.tell(Message::Event(Event::Plugin(PluginEvent::Gone(VF.into()))));
            client.wait(301);
        }),
        day.somebody(|client| {
            let own = pod("d", 1, 1);
            for _ in 0..2 {
                let is_admitted = client.admit(&own) == Some(true);
                assert_eq!(client.is_there(&own), is_admitted);
                if is_admitted {
                    let _ = client.ask(Request::Delete(own.uid.clone()));
                }
            }
        }),
        day.somebody(|client| {
            client.ask_and_leave(Request::Admit(pod("e", 1, 1)));
            let _ = client.ask(Request::Delete(pod("e", 1, 1).uid.clone()));
        }),
    ];
    join(threads);
    let _ = day.ends();
}

/// The owner is told to stop in the middle of it: who was told that a pod is admitted finds it after the restart.
fn a_stop_keeps_what_was_promised() {
    let day = Day::begins();
    let promised = Arc::<Mutex<BTreeSet<String>>>::default();
    let admits = |name: &'static str, cpus: u32| {
        let promised = promised.clone();
        day.somebody(move |client| {
            if client.admit(&pod(name, cpus, 0)) == Some(true) {
                promised.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
            }
        })
    };
    let threads = vec![
        admits("a", 3),
        admits("b", 2),
        day.somebody(|client| {
            client.wait(5);
            client.register();
        }),
    ];
    let kept = day.ends();
    join(threads);
    let promised = promised.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(promised.is_subset(&kept), "{promised:?} were promised, {kept:?} are there");
}

/// The same orders are played in every run.
const SEED: u64 = 1;

/// Plays it in so many orders, drawn evenly; and in half as many where few threads give way.
fn play(model: fn(), orders: usize) {
    let config = || {
        let mut config = Config::default();
        // Threads of a model have small stacks by themselves.
        config.stack_size = 1 << 20;
        config
    };
    Runner::new(RandomScheduler::new_from_seed(SEED, orders), config()).run(model);
    Runner::new(PctScheduler::new_from_seed(SEED, 3, orders / 2), config()).run(model);
}

#[test]
fn pods_and_containers_in_any_order() {
    play(pods_and_containers, 400);
}

#[test]
fn plugins_are_replaced_in_any_order() {
    play(plugins_are_replaced, 400);
}

#[test]
fn a_stop_at_any_time_keeps_what_was_promised() {
    play(a_stop_keeps_what_was_promised, 400);
}
