//! A handler that keeps what it is asked, and does what the names of containers say.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nri_plugin::{
    Backoff, ContainerEvent, Creation, Event, Events, Handler, NodeState, Notice, Plugin, PodEvent,
    Reconnect, Refusal, RunError, Stop, Updater, Updates,
};

/// Answers with an annotation of so many bytes for `pad-BYTES`, refuses `refused`, panics for `panics`, and takes its
/// time for `slow-MILLISECONDS`.
pub(crate) struct Kept {
    said: Sender<String>,
    events: Events,
}

impl Kept {
    fn keep(&self, what: impl Into<String>) {
        // A test that has ended does not listen.
        let _ = self.said.send(what.into());
    }
}

impl Handler for Kept {
    fn events(&self) -> Events {
        self.events
    }

    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        self.keep(format!("synchronize {} {}", node.containers.len(), node.pages));
        Ok(Updates::new())
    }

    fn run_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.keep(format!("run {}", event.pod.id));
        Ok(())
    }

    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        let name = &event.container.name;
        self.keep(format!("create {name}"));
        if let Some(milliseconds) = name.strip_prefix("slow-") {
            thread::sleep(Duration::from_millis(milliseconds.parse()?));
        }
        if let Some(length) = name.strip_prefix("pad-") {
            answer.adjust.annotation("pad", &"x".repeat(length.parse()?))?;
        }
        assert!(name != "panics", "the handler is at its end");
        if name == "refused" { Err(Refusal::new("no CPUs are free on NUMA node 1")) } else { Ok(()) }
    }

    fn start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.keep(format!("start {}", event.container.name));
        Ok(())
    }

    fn remove_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.keep(format!("remove {}", event.container.name));
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        self.keep(match notice {
            Notice::NotConnected { .. } => "not connected".to_owned(),
            Notice::Synchronized(runtime) => {
                format!("synchronized with {:?}", runtime.nri.at_least().to_string())
            }
            Notice::Disconnected { reason, next } => format!("disconnected: {reason}, next {next:?}"),
            Notice::Late { request, .. } => format!("late {request}"),
            other => format!("{other:?}"),
        });
    }
}

/// A plugin that runs on another thread.
pub(crate) struct Running {
    pub(crate) said: Receiver<String>,
    pub(crate) stop: Stop,
    thread: JoinHandle<Result<(), RunError>>,
}

/// A backoff that a test can wait for.
pub(crate) const SOON: Backoff =
    Backoff { first: Duration::from_millis(20), most: Duration::from_millis(80) };

/// A plugin that ends with its connection.
pub(crate) fn plugin() -> Plugin {
    Plugin::new("kept", 10).unwrap().reconnect(Reconnect::Never)
}

impl Running {
    pub(crate) fn start(plugin: &Plugin) -> Self {
        Self::with(plugin, |_| ())
    }

    pub(crate) fn with(plugin: &Plugin, beside: impl FnOnce(&Updater) + Send + 'static) -> Self {
        let (sender, said) = channel();
        let events =
            Event::RunPodSandbox | Event::CreateContainer | Event::StartContainer | Event::RemoveContainer;
        let handler = Kept { said: sender, events };
        let plugin = plugin.clone();
        let stop = plugin.stop();
        let thread = thread::spawn(move || plugin.run_with(handler, beside));
        Self { said, stop, thread }
    }

    /// The next thing that the handler keeps.
    pub(crate) fn next(&self) -> String {
        self.said.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    /// Waits until the handler keeps this.
    pub(crate) fn until(&self, what: &str) {
        while self.next() != what {}
    }

    /// How it has ended; `None` if it panicked.
    pub(crate) fn end(self) -> Option<Result<(), RunError>> {
        self.thread.join().ok()
    }

    /// The error with which it ended.
    pub(crate) fn error(self) -> String {
        let error = self.end().unwrap().unwrap_err();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    }
}
