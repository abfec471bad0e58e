//! A plugin for one synchronization: what the runtime says of itself and of its containers.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nri_plugin::{
    Event, Events, Handler, NodeState, Notice, Plugin, Reconnect, Refusal, RunError, Stop, Times, Updates,
};

use crate::handler::nri_of;
use crate::request::Requested;

/// What the runtime calls it; the last of all plugins.
const NAME: &str = "topolet-guard-check";
const INDEX: u8 = 99;

/// What a runtime has answered.
#[derive(Clone, Default, Debug)]
pub(super) struct Answered {
    pub(super) name: String,
    pub(super) version: String,
    /// Its version of NRI, for people.
    pub(super) nri: String,
    pub(super) follows_policy: bool,
    node: NodeState,
}

impl Answered {
    /// The containers that it has.
    pub(super) fn containers(&self) -> Vec<Requested> {
        let pod_of = |id: &str| self.node.pods.iter().find(|pod| pod.id == id);
        let containers = self.node.containers.iter();
        containers.filter_map(|one| Some(Requested::of(pod_of(&one.pod_sandbox_id)?, one))).collect()
    }

    /// The names of its pods.
    pub(super) fn pods(&self) -> impl Iterator<Item = &str> {
        self.node.pods.iter().map(|pod| pod.name.as_str())
    }
}

/// Asks the runtime that listens at a socket.
///
/// # Errors
/// There is none, or it does not synchronize the plugin: a sentence.
pub(super) fn ask(socket: &Path, wait: Duration) -> Result<Answered, String> {
    UnixStream::connect(socket).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such socket: the runtime does not run, or NRI is off".to_owned(),
        ErrorKind::ConnectionRefused => {
            "nothing listens there: the runtime does not run, or NRI is off".to_owned()
        }
        ErrorKind::PermissionDenied => "it may not be opened: only root can".to_owned(),
        _ => error.to_string(),
    })?;
    let times = Times { register: wait, configure: wait, ..Times::default() };
    let plugin = Plugin::new(NAME, INDEX).map_err(|error| error.to_string())?;
    let plugin = plugin.socket(socket).reconnect(Reconnect::Never).times(times);
    let answered = Mutex::new(None);
    let once = Once { answered: &answered, stop: plugin.stop(), node: NodeState::default() };
    let ended = plugin.run(once);
    let found = answered.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (found, ended) {
        (Some(found), _) => Ok(found),
        (None, Err(RunError::Ended(reason))) => Err(format!("the runtime does not take a plugin: {reason}")),
        (None, Err(error)) => Err(error.to_string()),
        (None, Ok(())) => Err("the runtime did not synchronize the plugin".to_owned()),
    }
}

struct Once<'a> {
    answered: &'a Mutex<Option<Answered>>,
    stop: Stop,
    node: NodeState,
}

impl Handler for Once<'_> {
    fn events(&self) -> Events {
        Event::RemoveContainer.into()
    }

    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        self.node = node;
        Ok(Updates::new())
    }

    fn notice(&mut self, notice: &Notice) {
        let Notice::Synchronized(runtime) = notice else { return };
        let found = Answered {
            name: runtime.name.clone(),
            version: runtime.version.clone(),
            nri: nri_of(runtime),
            follows_policy: runtime.follows_failure_policy(),
            node: std::mem::take(&mut self.node),
        };
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        self.stop.stop();
    }
}
