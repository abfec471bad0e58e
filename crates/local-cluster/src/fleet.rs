//! Nodes of the cluster in one process: `topolet fleet`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::nodes::VALID;
use crate::processes::Process;
use crate::{Cluster, NODES, PATIENCE, User};

/// What it is called among the programs of a cluster.
const NAME: &str = "fleet";

/// Nodes in one process, which runs until this is dropped.
#[derive(Debug)]
pub struct Fleet {
    count: usize,
    folder: PathBuf,
    process: Process,
}

impl Fleet {
    /// Starts so many nodes, with more arguments of `topolet fleet`. [`NODE_RIGHTS`](crate::NODE_RIGHTS) have to be there.
    /// Waits for nothing.
    ///
    /// # Errors
    /// The program cannot be started, or its kubeconfig not be written.
    pub fn start(cluster: &Cluster, program: &Path, count: u16, arguments: &[&str]) -> anyhow::Result<Self> {
        let kubeconfig = cluster.kubeconfig_of(User { name: "fleet", groups: &[NODES] }, VALID)?;
        let folder = cluster.folder.path().join(NAME);
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let mut command = Command::new(program);
        command.arg("fleet").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--logging-format", "json", "--nodes", &count.to_string()]).args(arguments);
        let process = Process::start(NAME, &command, &folder)?;
        Ok(Self { count: count.into(), folder, process })
    }

    /// Waits until as many nodes as it has are in the cluster, ready and without taints.
    ///
    /// # Errors
    /// The fleet ends, or they are not ready in time.
    pub fn until_ready(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        let (began, fields) = (
            Instant::now(),
            "jsonpath={range .items[*]}{.spec.taints}{.status.conditions[?(@.type=='Ready')].status} {end}",
        );
        loop {
            let text = cluster.kubectl(&["get", "nodes", "-o", fields])?;
            let ready = text.split(' ').filter(|node| *node == "True").count();
            if ready >= self.count {
                return Ok(());
            }
            if let Some(why) = self.why_ended() {
                bail!("{why}");
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "{ready} of {} nodes are ready after {PATIENCE:?}",
                self.count
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// If it has ended: that, and its last words.
    pub fn why_ended(&mut self) -> Option<String> {
        self.process.why_ended()
    }

    /// All that it has logged: one JSON object a line.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join(format!("{NAME}.log"))).unwrap_or_default()
    }
}
