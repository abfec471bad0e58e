//! Whether a kubelet that has started anew decides by other rules than those that are known.
//!
//! A kubelet reads its configuration, the machine and its devices when it starts, and never again. So a file that
//! changes while the kubelet runs means nothing yet. A kubelet that starts makes its pod resources socket anew, before it
//! admits pods. Then they are read again: if one has changed, the program restarts with it. Until then no refusal is
//! explained.

use std::sync::Arc;
use std::time::{Duration, Instant};

use node_input::{LoadedMachine, LoadedNode};
use node_view::NodeView;
use node_view::node_sources::{self, NodeSources};
use tokio::sync::Notify;

use super::look::{KubeletStart, Look};

/// Between two tries to read what could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// The rules, and the start of the kubelet since which they hold.
pub(super) struct Rules {
    sources: NodeSources,
    /// Notified when everything has to be read again.
    reload: Arc<Notify>,
    started: Option<KubeletStart>,
    known: Known,
    /// Whether they are those of a kubelet whose process was found.
    are_of_process: bool,
    /// When it was last looked whether the kubelet counts another machine.
    recounted: Option<Instant>,
}

/// Whether the kubelet's rules are known.
enum Known {
    Yes,
    /// They are others, and the program starts anew.
    Others,
    /// The kubelet has started anew, and they cannot be read.
    Unreadable {
        why: String,
        since: Instant,
    },
}

impl Rules {
    /// Those that were read before the kubelet's files were.
    pub(super) fn new(
        sources: NodeSources,
        reload: Arc<Notify>,
        first: &Look,
        machine: &LoadedMachine,
    ) -> Self {
        let (started, are_of_process) = (first.kubelet(), node_sources::runs(machine));
        Self { sources, reload, started, known: Known::Yes, are_of_process, recounted: None }
    }

    /// Why they are not known, once the kubelet may have started anew; `None`: they are as they were.
    pub(super) fn why_unknown(&mut self, view: &NodeView, look: &Look) -> Option<String> {
        let started = look.kubelet().or(self.started);
        let is_new = started != self.started;
        self.started = started;
        let is_due =
            matches!(&self.known, Known::Unreadable { since, .. } if view.clock.since(*since) >= AGAIN);
        if is_new || is_due {
            self.known = self.read(view);
        }
        match &self.known {
            Known::Yes => None,
            Known::Others => Some("the kubelet has started anew and decides by other rules".to_owned()),
            Known::Unreadable { why, .. } => {
                Some(format!("the kubelet has started anew, and its rules are not known: {why}"))
            }
        }
    }

    /// Starts the program anew if the kubelet counts other memory or huge pages than are known here, and its files fit with
    /// them: `fits` says whether they do on a node. A kubelet writes its files a moment after it has read the machine.
    pub(super) fn recount(&mut self, view: &NodeView, fits: impl FnOnce(&LoadedNode) -> bool) {
        if self.recounted.is_some_and(|before| view.clock.since(before) < AGAIN) {
            return;
        }
        self.recounted = Some(view.clock.now());
        if let Ok((now, _)) = self.sources.load()
            && now.view() != view.node().view()
            && now.config() == view.node().config()
            && fits(&now)
        {
            tracing::info!(
                "the kubelet counts other memory or huge pages than are known here, which are read"
            );
            self.reload.notify_one();
        }
    }

    fn read(&self, view: &NodeView) -> Known {
        match self.sources.load() {
            // A kubelet that fails to start does not say by which.
            Ok((_, machine)) if self.are_of_process && !node_sources::runs(&machine) => {
                Known::Unreadable { why: "it does not run any more".to_owned(), since: view.clock.now() }
            }
            Ok((now, _)) if now.decides_as(view.node()) => {
                let configuration = &now.line.configuration;
                tracing::info!(configuration, "the kubelet has started anew and decides by the same rules");
                Known::Yes
            }
            Ok(_) => {
                tracing::info!("the kubelet has started anew and decides by other rules, which are read");
                self.reload.notify_one();
                Known::Others
            }
            Err(error) => Known::Unreadable { why: format!("{error:#}"), since: view.clock.now() },
        }
    }
}
