//! The table of plugins, as it is, in thousands of orders in which its tasks may run. What plugins say comes from
//! stand-ins; every step of theirs is a place where another task may go on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use device_manager::{
    AllocateReply, Device, DeviceId, DeviceIds, PluginOptions, Question, Reply, RpcCode, RpcError,
};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::mpsc::{self, Receiver, Sender};
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, Runner, future};
use tokio::sync::mpsc as lists;

use super::Plugins;
use crate::event::{DisconnectReason, ServerEvent};
use crate::metrics::Metrics;
use crate::setup::{Folders, Setup};
use crate::wire::{ConnectError, Wire};

const GPU: &str = "vendor.example/gpu";

/// One of two plugins for the same resource. Their options differ, so events and answers show which one acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Old,
    New,
}

impl Name {
    fn socket(self) -> PathBuf {
        PathBuf::from(format!("{self:?}"))
    }

    fn of(options: PluginOptions) -> Self {
        if options.pre_start { Self::New } else { Self::Old }
    }

    fn answer(self) -> Reply {
        Reply::Allocated(AllocateReply(Arc::from(format!("{self:?}").as_bytes())))
    }
}

/// The plugins' side.
#[derive(Clone, Default)]
struct Stage(Arc<Mutex<BTreeMap<PathBuf, lists::UnboundedReceiver<Vec<Device>>>>>);

impl Stage {
    /// A plugin that lists so often and then ends its stream.
    fn plugin(&self, name: Name, times: usize) {
        let (sender, lists) = lists::unbounded_channel();
        for _ in 0..times {
            let _ = sender.send(vec![Device::new(&format!("{name:?}"), &[0])]);
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.socket(), lists);
    }
}

impl Wire for Stage {
    type Client = Name;
    type Lists = lists::UnboundedReceiver<Vec<Device>>;

    async fn introduced(&self, socket: &Path) -> Result<(Name, PluginOptions), ConnectError> {
        future::yield_now().await;
        let name = [Name::Old, Name::New].into_iter().find(|name| name.socket() == socket);
        let name = name.ok_or(ConnectError::Dial)?;
        Ok((name, PluginOptions { pre_start: name == Name::New, ..PluginOptions::default() }))
    }

    async fn lists(&self, client: &mut Name) -> Result<Self::Lists, RpcError> {
        future::yield_now().await;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || RpcError { code: RpcCode(14), message: "closed".to_owned() };
        all.remove(&client.socket()).ok_or_else(closed)
    }

    async fn next(&self, lists: &mut Self::Lists) -> Result<Option<Vec<Device>>, RpcError> {
        future::yield_now().await;
        Ok(lists.recv().await)
    }

    async fn call(&self, client: &mut Name, _: &Question) -> Result<Reply, RpcError> {
        for _ in 0..3 {
            future::yield_now().await;
        }
        Ok(client.answer())
    }
}

/// A message to the owner of the inventory.
enum Message {
    Event(ServerEvent),
    Answer(Reply),
}

/// Everything, in its order; events are taken in, one after the other.
fn keeper(told: Receiver<Message>) -> JoinHandle<usize> {
    thread::spawn(move || {
        let mut stands: Option<Name> = None;
        let mut has_new_listed = false;
        let mut answers = 0;
        for told in told {
            match told {
                Message::Event(ServerEvent::Registered { options, .. }) => stands = Some(Name::of(options)),
                Message::Event(ServerEvent::Listed { devices, .. }) => {
                    // The lists of an older one count until the newer one has listed, as in the kubelet.
                    let is_new = devices.iter().any(|device| device.id.as_str() == "New");
                    assert!(!is_new || stands == Some(Name::New), "who has gone lists nothing any more");
                    assert!(is_new || !has_new_listed, "who has been replaced lists nothing any more");
                    has_new_listed |= is_new;
                }
                Message::Event(ServerEvent::Gone { .. }) => (stands, has_new_listed) = (None, false),
                Message::Event(
                    ServerEvent::ListRefused { .. }
                    | ServerEvent::OneGone { .. }
                    | ServerEvent::NotRegistered { .. }
                    | ServerEvent::EndedUnnoticed { .. }
                    | ServerEvent::ServedAgain { .. }
                    | ServerEvent::NotServed { .. },
                ) => {}
                Message::Answer(Reply::Failed(_)) => answers += 1,
                Message::Answer(reply) => {
                    answers += 1;
                    let own = stands.map(Name::answer);
                    assert_eq!(Some(reply), own, "an answer is of the plugin that stands for the resource");
                }
            }
        }
        answers
    })
}

type Node = Arc<Plugins<Stage>>;

fn node() -> (Node, Stage, Sender<Message>, JoinHandle<usize>) {
    node_of(keeper)
}

fn node_of<T>(keeper: fn(Receiver<Message>) -> T) -> (Node, Stage, Sender<Message>, T) {
    let stage = Stage::default();
    let (sender, told) = mpsc::channel();
    let keeper = keeper(told);
    let teller = sender.clone();
    let tell = move |event| {
        // The keeper goes last.
        let _ = teller.send(Message::Event(event));
    };
    let setup = Setup::new(Folders::below(Path::new("/")));
    let plugins = Plugins::new(stage.clone(), &setup, Metrics::default(), tell, BTreeSet::new);
    (Arc::new(plugins), stage, sender, keeper)
}

fn register(plugins: &Node, name: Name) -> JoinHandle<bool> {
    let plugins = plugins.clone();
    thread::spawn(move || future::block_on(plugins.connect(GPU.into(), name.socket())).is_ok())
}

fn ask(plugins: &Node, sender: &Sender<Message>) -> JoinHandle<()> {
    let (plugins, sender) = (plugins.clone(), sender.clone());
    let devices: DeviceIds = [DeviceId::new("gpu-0")].into_iter().collect();
    let question = Question::Allocate { resource: GPU.into(), devices };
    thread::spawn(move || {
        future::block_on(plugins.ask(question, move |_, reply| {
            let _ = sender.send(Message::Answer(reply));
        }));
    })
}

fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|_| panic!("somebody has panicked"))
}

/// A plugin is replaced by another while it lists and is asked, and goes; so does the other.
fn one_replaces_the_other() {
    let (plugins, stage, sender, keeper) = node();
    stage.plugin(Name::Old, 2);
    stage.plugin(Name::New, 1);
    assert!(joined(register(&plugins, Name::Old)));
    let asking = [ask(&plugins, &sender), ask(&plugins, &sender)];
    let new = register(&plugins, Name::New);
    let gone = {
        let plugins = plugins.clone();
        thread::spawn(move || {
            plugins.gone(&GPU.into(), Path::new(""), DisconnectReason::SocketRemoved);
        })
    };
    asking.into_iter().for_each(joined);
    // That its socket vanishes may come before it has been introduced.
    joined(new);
    joined(gone);
    plugins.close_all();
    let table = plugins.table();
    assert!(table.open.count(&GPU.into()) == 0 && table.asked.is_empty(), "nobody is left");
    drop(table);
    drop((plugins, sender));
    assert_eq!(joined(keeper), 2, "each question has one answer");
}

/// A plugin that does not answer registers in the place of one that works, which goes on working.
fn one_fails_to_replace_the_other() {
    let (plugins, stage, sender, keeper) = node();
    stage.plugin(Name::Old, 2);
    assert!(joined(register(&plugins, Name::Old)));
    let failing = {
        let plugins = plugins.clone();
        thread::spawn(move || future::block_on(plugins.connect(GPU.into(), "nobody".into())).is_err())
    };
    joined(ask(&plugins, &sender));
    assert!(joined(failing));
    plugins.close_all();
    let table = plugins.table();
    assert!(table.open.count(&GPU.into()) == 0 && table.asked.is_empty(), "nobody is left");
    drop(table);
    drop((plugins, sender));
    assert_eq!(joined(keeper), 1);
}

/// A keeper that counts answers.
fn counter(told: Receiver<Message>) -> JoinHandle<usize> {
    thread::spawn(move || told.into_iter().filter(|told| matches!(told, Message::Answer(_))).count())
}

/// A plugin registers many times at once, while it lists, is asked, and sometimes its stream ends.
fn one_registers_again_and_again() {
    let (plugins, stage, sender, keeper) = node_of(counter);
    stage.plugin(Name::Old, 2);
    stage.plugin(Name::New, 1);
    let again: Vec<_> =
        [Name::Old, Name::New, Name::New, Name::New].map(|name| register(&plugins, name)).into();
    let asking = ask(&plugins, &sender);
    for thread in again {
        joined(thread);
    }
    joined(asking);
    let left = plugins.table().open.count(&GPU.into());
    assert!(left <= MOST, "{left} connections are open");
    plugins.close_all();
    let table = plugins.table();
    assert!(table.open.count(&GPU.into()) == 0 && table.asked.is_empty(), "nobody is left");
    drop(table);
    drop((plugins, sender));
    assert_eq!(joined(keeper), 1, "the question has one answer");
}

/// One that has listed and one that has not; no connection is still being dialled.
const MOST: usize = 2;

/// The same orders are played in every run.
const SEED: u64 = 1;

/// Plays it in so many orders, drawn evenly; and in half as many where few tasks give way.
fn play(model: fn(), orders: usize) {
    let config = || {
        let mut config = Config::default();
        // Threads of a model have small stacks by themselves.
        config.stack_size = 1 << 18;
        config
    };
    Runner::new(RandomScheduler::new_from_seed(SEED, orders), config()).run(model);
    Runner::new(PctScheduler::new_from_seed(SEED, 3, orders / 2), config()).run(model);
}

#[test]
fn a_plugin_that_is_replaced_is_not_listened_to() {
    play(one_replaces_the_other, 4000);
}

#[test]
fn a_plugin_that_is_not_replaced_goes_on() {
    play(one_fails_to_replace_the_other, 2000);
}

#[test]
fn connections_of_a_resource_are_bounded() {
    play(one_registers_again_and_again, 500);
}
