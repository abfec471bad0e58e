//! `topolet scheduler` beside a scheduler of the cluster.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::nodes::VALID;
use crate::processes::Process;
use crate::{Cluster, User, free_port};

/// What it is called among the programs of a cluster, and as a user.
const NAME: &str = "topolet-scheduler";
/// Where it listens by the file that is deployed.
const DEPLOYED: &str = "https://127.0.0.1:10270";
/// What that file has for certificates, to its end.
const CERTIFICATES: &str = "  enableHTTPS: true\n";

/// What `topolet scheduler` may do.
pub const EXTENDER_RIGHTS: &str = include_str!("../../../deploy/scheduler/rights.yaml");
/// What kube-scheduler is told of it.
const CONFIGURATION: &str = include_str!("../../../deploy/scheduler/kube-scheduler.yaml");

/// An extender, which runs until this is dropped.
#[derive(Debug)]
pub struct Extender {
    address: SocketAddr,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    process: Option<Process>,
}

impl Extender {
    /// Starts it at a port that is free, with plain HTTP, so that tests can ask it without certificates, and waits for nothing.
    /// [`EXTENDER_RIGHTS`] have to be there.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(cluster: &Cluster, program: &Path) -> anyhow::Result<Self> {
        let kubeconfig = cluster.kubeconfig_of(User { name: NAME, groups: &[] }, VALID)?;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let arguments = ["scheduler".to_owned(), format!("--kubeconfig={}", kubeconfig.display())];
        let mut extender = Self {
            address,
            program: program.to_path_buf(),
            arguments: arguments
                .into_iter()
                .chain([format!("--address={address}"), "--insecure-http".to_owned()])
                .collect(),
            folder: cluster.folder.path().to_path_buf(),
            process: None,
        };
        extender.restart()?;
        Ok(extender)
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again, at the same port.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        self.process = Some(Process::start(NAME, &command, &self.folder)?);
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What kube-scheduler's configuration has for it: that of the file that is deployed, without certificates.
    #[must_use]
    pub fn configuration(&self) -> String {
        let (plain, _) = CONFIGURATION.split_once(CERTIFICATES).unwrap_or((CONFIGURATION, ""));
        plain.replace(DEPLOYED, &format!("http://{}", self.address))
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// If it has ended: that, and its last words.
    pub fn why_ended(&mut self) -> Option<String> {
        self.process.as_mut()?.why_ended()
    }

    /// All that it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join(format!("{NAME}.log"))).unwrap_or_default()
    }
}
