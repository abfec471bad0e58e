//! `topolet scheduler` beside a scheduler of the cluster.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::certificates::{Authority, Signed};
use crate::extender_client::{ExtenderClient, Shown};
use crate::nodes::VALID;
use crate::processes::Process;
use crate::{Cluster, SCHEDULER, User, free_port};

/// What it is called among the programs of a cluster, and as a user.
const NAME: &str = "topolet-scheduler";
/// Where it listens by the file that is deployed.
const DEPLOYED: &str = "127.0.0.1:10270";
/// Where kube-scheduler has its certificate by that file.
const CERTIFICATES: &str = "/etc/topolet/scheduler";

/// What `topolet scheduler` may do.
pub const EXTENDER_RIGHTS: &str = include_str!("../../../deploy/scheduler/rights.yaml");
/// What kube-scheduler's configuration has for it.
const CONFIGURATION: &str = include_str!("../../../deploy/scheduler/kube-scheduler.yaml");

/// An extender with mutual TLS as it is deployed, which runs until this is dropped.
#[derive(Debug)]
pub struct Extender {
    address: SocketAddr,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    /// Signs its certificate and those of its clients, and nothing else.
    authority: Authority,
    kube_scheduler: Signed,
    process: Option<Process>,
}

impl Extender {
    /// Starts it at a port that is free, and waits for nothing. [`EXTENDER_RIGHTS`] have to be there.
    ///
    /// # Errors
    /// It cannot be started, or its certificates cannot be written.
    pub fn start(cluster: &Cluster, program: &Path) -> anyhow::Result<Self> {
        Self::start_with(cluster, program, &[])
    }

    /// The same, with more arguments of `topolet scheduler`.
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn start_with(cluster: &Cluster, program: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let kubeconfig = cluster.kubeconfig_of(User { name: NAME, groups: &[] }, VALID)?;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let authority = Authority::new()?;
        let folder = cluster.folder.path();
        let kube_scheduler = authority.client(SCHEDULER.name, &[], VALID)?;
        let own = authority.server(VALID)?;
        let path = |name: &str| certificates(folder).join(name).display().to_string();
        let mut arguments = vec![
            "scheduler".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--address={address}"),
            format!("--tls-cert={}", path("tls.crt")),
            format!("--tls-key={}", path("tls.key")),
            format!("--client-ca={}", path("ca.crt")),
            format!("--client-name={}", SCHEDULER.name),
        ];
        arguments.extend(more.iter().map(|&one| one.to_owned()));
        fs::create_dir_all(certificates(folder))?;
        let authority_text = authority.certificate();
        for (name, text) in [
            ("ca.crt", &authority_text),
            ("tls.crt", &own.certificate),
            ("tls.key", &own.key),
            ("client.crt", &kube_scheduler.certificate),
            ("client.key", &kube_scheduler.key),
        ] {
            fs::write(path(name), text).with_context(|| format!("failed to write {}", path(name)))?;
        }
        let (program, folder) = (program.to_path_buf(), folder.to_path_buf());
        let mut extender =
            Self { address, program, arguments, folder, authority, kube_scheduler, process: None };
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

    /// The folder with `ca.crt`, and with `client.crt` and `client.key` of kube-scheduler.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        certificates(&self.folder)
    }

    /// A client.
    ///
    /// # Errors
    /// Its certificate cannot be made.
    pub fn client(&self, shown: Shown) -> anyhow::Result<ExtenderClient> {
        let other;
        let signed = match shown {
            Shown::KubeScheduler => Some(&self.kube_scheduler),
            Shown::Nothing => None,
            Shown::Expired => {
                other = self.authority.expired_client(SCHEDULER.name)?;
                Some(&other)
            }
            Shown::OtherName => {
                other = self.authority.client("other", &[], VALID)?;
                Some(&other)
            }
        };
        ExtenderClient::new(self.address, &self.authority, signed)
    }

    /// What kube-scheduler's configuration has for it: the file that is deployed, with this address and these certificates.
    #[must_use]
    pub fn configuration(&self) -> String {
        CONFIGURATION
            .replace(DEPLOYED, &self.address.to_string())
            .replace(CERTIFICATES, &self.certificates().display().to_string())
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

fn certificates(folder: &Path) -> PathBuf {
    folder.join("extender")
}
