//! A day of a node: the owner's thread, those who work for it, and those who ask it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use device_manager::{AllocateReply, Device, Moment, PluginOptions, Question, Reply};
use kubelet_checkpoint::store::Store;
use node_agent::{Agent, Event, Owner, PluginEvent, Request, Snapshot};
use node_config::DecidedBy;
use node_input::{LoadedMachine, LoadedNode, MachineSource, OptionsSource, PINNED, RulesSource};
use node_state::{PodList, StateFolder};
use node_view::clock::SystemClock;
use node_view::{Message, Mode, NodeConditions, NodeView, OwnerReply, ServedNode};
use parking_lot::Mutex;
use pod_spec::{ContainerKey, ContainerName, Pod, PodUid};
use shuttle::sync::Mutex as ModelMutex;
use shuttle::sync::mpsc;
use shuttle::thread::{self, JoinHandle};
use tokio::sync::oneshot;

use super::super::OwnerThread;
use super::VF;
use super::stand_ins::{Channel, Files, ModelEnforcer, ModelInbox, ModelPlugins, ModelWriter, Order, pause};
use crate::owner::Job;
use crate::scribe::Writing;

/// Two NUMA nodes with four CPUs each, of which one is the system's.
static NODE: LazyLock<Arc<ServedNode>> = LazyLock::new(|| node(None));

/// The same, where pods wait for device plugins.
static DEFERRING: LazyLock<Arc<ServedNode>> = LazyLock::new(|| {
    node(Some(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/options/deferring.yaml"))))
});

fn node(topolet_config: Option<PathBuf>) -> Arc<ServedNode> {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines/2n-8cpu.json");
    let machine = LoadedMachine::load(&MachineSource::named(machine));
    let node = machine.and_then(|machine| {
        let node = LoadedNode::without_devices(
            &machine,
            &RulesSource {
                config: Some(PINNED.to_owned()),
                decided_by: Some(DecidedBy::Topolet),
                topolet_config: topolet_config.map(OptionsSource::File),
                ..RulesSource::default()
            },
        )?;
        ServedNode::new(node, &machine, Mode::Serve, Vec::new())
    });
    node.map_or_else(|error| panic!("{error:#}"), Arc::new)
}

/// A day of a node.
pub(super) struct Day {
    view: NodeView,
    files: Files,
    owner: Channel,
    seconds: Arc<Mutex<u64>>,
    /// The cgroups that have been written, by id of the container.
    written: Arc<Mutex<BTreeSet<String>>>,
    /// The number of the current plugin, from 1 on; locked while a message about it is sent.
    plugin: Arc<ModelMutex<u8>>,
    threads: Vec<JoinHandle<()>>,
    owners: JoinHandle<()>,
}

impl Day {
    pub(super) fn begins() -> Self {
        Self::on(&NODE)
    }

    /// The same, where pods wait for device plugins.
    pub(super) fn begins_with_deferral() -> Self {
        Self::on(&DEFERRING)
    }

    fn on(served: &Arc<ServedNode>) -> Self {
        let node = &served.node;
        let files = Files::default();
        let Ok(store) = Store::on(files.clone(), Path::new("/")) else { panic!("nobody has the folder") };
        let seconds = Arc::<Mutex<u64>>::default();
        let time = seconds.clone();
        let clock = move || {
            pause();
            Moment(Duration::from_secs(*time.lock()))
        };
        let ledger = node.empty_ledger();
        let (agent, effects) = Agent::new(Owner::new(node.node.clone(), &ledger, []), store, &clock);
        let conditions = Arc::new(NodeConditions::new(Arc::new(SystemClock)));
        let (view, writers) = NodeView::new(served.clone(), agent.snapshot(), conditions);
        let owner = Channel::new();
        let (jobs, written_up) = mpsc::sync_channel::<Job>(1);
        let (orders, ordered) = mpsc::channel();
        let (asked, questions) = mpsc::channel::<Question>();
        let told_of = Arc::<Mutex<u8>>::default();
        let plugin = Arc::new(ModelMutex::new(0));
        let mut thread = OwnerThread {
            agent,
            snapshots: writers.snapshots,
            metrics: view.metrics.clone(),
            events: view.events.clone(),
            news: Arc::default(),
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
            let writing = Writing::new(&view, writers.decisions);
            thread::spawn(move || written_up.into_iter().for_each(|job| writing.write_up(job)))
        };
        let cgroups = {
            let written = written.clone();
            thread::spawn(move || {
                for order in ordered {
                    match order {
                        Order::Enforce(one) => {
                            let mut written = written.lock();
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
        Self { view, files, owner, seconds, written, plugin, threads, owners }
    }

    /// Runs a client on a new thread.
    pub(super) fn somebody(&self, does: impl FnOnce(Client) + Send + 'static) -> JoinHandle<()> {
        let client = Client {
            view: self.view.clone(),
            owner: self.owner.clone(),
            seconds: self.seconds.clone(),
            written: self.written.clone(),
            plugin: self.plugin.clone(),
        };
        thread::spawn(move || does(client))
    }

    /// Stops the owner; then everything that was promised is on disk, and nothing else.
    pub(super) fn ends(self) -> BTreeSet<String> {
        let Self { view, files, owner, threads, owners, .. } = self;
        owner.send(Some(Message::Stop));
        owners.join().unwrap_or_else(|_| panic!("the owner has panicked"));
        for thread in threads {
            thread.join().unwrap_or_else(|_| panic!("somebody has panicked"));
        }
        let last = view.snapshot();
        check(&last);
        let Ok(store) = Store::on(files, Path::new("/")) else { panic!("nobody has the folder") };
        let node = &view.node().node;
        let found = StateFolder::read(&store).unwrap_or_else(|error| panic!("{error}"));
        let repaired =
            found.plan_repair(node, &PodList::Recorded).unwrap_or_else(|unknown| panic!("{unknown}"));
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

/// What must hold in every published snapshot.
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
pub(super) struct Client {
    view: NodeView,
    owner: Channel,
    seconds: Arc<Mutex<u64>>,
    written: Arc<Mutex<BTreeSet<String>>>,
    plugin: Arc<ModelMutex<u8>>,
}

impl Client {
    pub(super) fn tell(&self, message: Message) {
        self.owner.send(Some(message));
    }

    /// Asks; `None`: the owner has stopped before it answered.
    pub(super) fn ask(&self, request: Request) -> Option<OwnerReply> {
        let (answer, told) = oneshot::channel();
        self.tell(Message::Ask(request, answer));
        shuttle::future::block_on(told).ok()
    }

    /// Asks, and does not wait.
    pub(super) fn ask_and_leave(&self, request: Request) {
        let (answer, _) = oneshot::channel();
        self.tell(Message::Ask(request, answer));
    }

    /// Whether a pod is admitted; snapshots have it once this returns.
    pub(super) fn admit(&self, pod: &Arc<Pod>) -> Option<bool> {
        match self.ask(Request::Admit(pod.clone()))? {
            OwnerReply::Decided(report) | OwnerReply::Moved(report, _) => Some(report.is_admitted()),
            OwnerReply::Answer(_) => None,
        }
    }

    /// Waits until no pod waits for a plugin.
    pub(super) fn until_nobody_waits(&self) {
        while !self.look().deferred.is_empty() {
            thread::yield_now();
        }
    }

    pub(super) fn is_there(&self, pod: &Pod) -> bool {
        self.look().pods.contains_key(&pod.uid)
    }

    pub(super) fn look(&self) -> Arc<Snapshot> {
        let snapshot = self.view.snapshot();
        check(&snapshot);
        snapshot
    }

    pub(super) fn start(&self, pod: &Pod, id: &str) -> Option<OwnerReply> {
        let container = ContainerKey { pod: pod.uid.clone(), container: ContainerName::new("app") };
        let cgroup = Some(PathBuf::from(id));
        self.ask(Request::Started { container, id: id.into(), cgroup })
    }

    pub(super) fn is_written(&self, id: &str) -> bool {
        self.written.lock().contains(id)
    }

    /// Time passes, and the owner's is up.
    pub(super) fn wait(&self, seconds: u64) {
        *self.seconds.lock() += seconds;
        self.owner.send(None);
    }

    /// The next plugin registers and lists its device; it goes on when the owner has taken that in.
    pub(super) fn register(&self) {
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
