//! What runs beside the scheduler, and what kills it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::bail;
use local_cluster::{Extender, Fleet, Node};
use node_simulation::Random;

use super::play::Killed;

/// The agents of the nodes, and what the scheduler asks.
pub(super) struct Running {
    pub(super) agents: Agents,
    pub(super) extender: Option<Extender>,
}

/// The agents of the nodes.
pub(super) enum Agents {
    /// All in one process.
    Fleet(Fleet),
    /// One for each node.
    Processes(Vec<Node>),
}

impl Running {
    /// If one has ended: that, and its last words.
    pub(super) fn why_ended(&mut self) -> Option<String> {
        match &mut self.agents {
            Agents::Fleet(fleet) => fleet.why_ended(),
            Agents::Processes(nodes) => nodes.iter_mut().find_map(Node::why_ended),
        }
    }
}

/// Between two kills.
const PAUSE: Duration = Duration::from_secs(2);
/// How long what was killed is away.
const AWAY: Duration = Duration::from_millis(700);

/// A thread that kills agents and extenders, and starts them again.
pub(super) struct Chaos {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<(Running, Killed)>>,
}

impl Chaos {
    pub(super) fn start(running: Running) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        Self { is_over, thread: thread::spawn(move || kill(running, &stop)) }
    }

    /// What still runs, and how many were killed.
    pub(super) fn end(self) -> anyhow::Result<(Running, Killed)> {
        self.is_over.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(ended) => ended,
            Err(_) => bail!("the thread that kills processes has ended"),
        }
    }
}

fn kill(mut running: Running, is_over: &AtomicBool) -> anyhow::Result<(Running, Killed)> {
    let (mut random, mut killed) = (Random::new(7), Killed::default());
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(PAUSE);
        let Agents::Processes(nodes) = &mut running.agents else {
            bail!("only agents that run as separate processes can be killed");
        };
        // Every third time the extender, where there is one.
        let drawn = random.below(3 * nodes.len().max(1) as u64);
        match &mut running.extender {
            Some(extender) if drawn.is_multiple_of(3) => {
                extender.kill();
                thread::sleep(AWAY);
                extender.restart()?;
                killed.extenders += 1;
            }
            _ => {
                let at = usize::try_from(drawn / 3)?;
                let Some(node) = nodes.get_mut(at) else { continue };
                node.kill();
                thread::sleep(AWAY);
                node.restart()?;
                killed.agents += 1;
            }
        }
    }
    Ok((running, killed))
}
