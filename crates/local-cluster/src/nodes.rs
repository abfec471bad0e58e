//! Nodes of the cluster: `topolet serve` as a process for each, with simulated machines and containers.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::exchange::exchanged;
use crate::processes::Process;
use crate::{Cluster, NODES, PATIENCE, User};

/// The node's own folder, below the one with its log.
const ROOT: &str = "root";

/// Who starts the containers of pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Containers {
    /// They count as running at once.
    Simulated,
    /// A client that reports them to the node.
    Reported,
}

/// What a node is started with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeOptions<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its machine, as of `--machine`.
    pub machine: &'a str,
    /// Who starts containers there.
    pub containers: Containers,
    /// More arguments of `topolet serve`.
    pub arguments: &'a [&'a str],
}

/// How long the certificate of a node is valid.
pub(crate) const VALID: Duration = Duration::from_hours(24);

/// A node that runs until this is dropped.
#[derive(Debug)]
pub struct Node {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    process: Option<Process>,
}

impl Node {
    /// Starts one in a folder of the cluster, and waits until it is ready. [`NODE_RIGHTS`](crate::NODE_RIGHTS) have to be
    /// there.
    ///
    /// # Errors
    /// It does not get ready, with the last lines of its log.
    pub fn start(cluster: &Cluster, program: &Path, options: NodeOptions<'_>) -> anyhow::Result<Self> {
        let mut node = Self::new(cluster, program, options)?;
        node.restart()?;
        Ok(node)
    }

    /// Starts so many that are alike: `NAME-1`, `NAME-2` and so on, after the name of the options.
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn start_several(
        cluster: &Cluster,
        program: &Path,
        options: NodeOptions<'_>,
        count: usize,
    ) -> anyhow::Result<Vec<Self>> {
        let numbered = |number: usize| {
            let name = format!("{}-{number}", options.name);
            Self::start(cluster, program, NodeOptions { name: &name, ..options })
        };
        (1..=count).map(numbered).collect()
    }

    /// One that has not been started.
    ///
    /// # Errors
    /// Its folder or kubeconfig cannot be written.
    pub fn new(cluster: &Cluster, program: &Path, options: NodeOptions<'_>) -> anyhow::Result<Self> {
        let NodeOptions { name, machine, containers, arguments: more } = options;
        let user = User { name: &format!("node:{name}"), groups: &[NODES] };
        let kubeconfig = cluster.kubeconfig_of(user, VALID)?;
        let folder = cluster.folder.path().join(name);
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let text = |path: &Path| path.display().to_string();
        let mut arguments = vec!["serve".to_owned()];
        let given = [
            ("--root", text(&folder.join(ROOT))),
            ("--machine", machine.to_owned()),
            ("--config", "pinned".to_owned()),
            ("--node-name", name.to_owned()),
            ("--kubeconfig", text(&kubeconfig)),
            ("--cgroup-root", "off".to_owned()),
        ];
        arguments.extend(given.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
        if containers == Containers::Simulated {
            arguments.push("--simulate-containers".to_owned());
        }
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        Ok(Self { name: name.to_owned(), program: program.to_path_buf(), arguments, folder, process: None })
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it in its folder, without waiting for anything.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        self.process = Some(Process::start(&self.name, &command, &self.folder)?);
        Ok(())
    }

    /// Starts it in its folder, and waits until it is ready.
    ///
    /// # Errors
    /// It does not get ready, with the last lines of its log.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.spawn()?;
        let start = Instant::now();
        while let Err(error) = self.is_ready() {
            if let Some(why) = self.why_ended() {
                bail!("{why}");
            }
            ensure!(start.elapsed() < PATIENCE, "node {} is not ready: {error:#}\n{}", self.name, self.log());
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// If it has ended: that, and its last words.
    pub fn why_ended(&mut self) -> Option<String> {
        self.process.as_mut()?.why_ended()
    }

    /// Whether it answers that it is ready; else what it answers.
    ///
    /// # Errors
    /// It is not.
    pub fn is_ready(&self) -> anyhow::Result<()> {
        let (status, answer) = self.ask("GET /readyz", "")?;
        ensure!(status == 200, "{status}: {answer}");
        Ok(())
    }

    /// Sends it a request, such as `POST /v1/pods`, with its body. Gives the answer's status and body.
    ///
    /// # Errors
    /// It does not answer.
    pub fn ask(&self, request: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let stream = UnixStream::connect(self.socket())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        exchanged(stream, "localhost", request, body)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder with its state and sockets.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.folder.join(ROOT)
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.root().join("topolet.sock")
    }

    /// All that it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join(format!("{}.log", self.name))).unwrap_or_default()
    }

    /// What a command of topolet about it prints.
    ///
    /// # Errors
    /// It fails, with what it says.
    pub fn topolet(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        let output = command.args(arguments).env("TOPOLET_SOCKET", self.socket()).output()?;
        let (said, printed) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        ensure!(output.status.success(), "topolet {}: {}{printed}", arguments.join(" "), said.trim());
        Ok(printed.into_owned())
    }
}
