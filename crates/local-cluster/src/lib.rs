#![doc = include_str!("../README.md")]

mod certificates;
mod programs;
mod processes;
mod controllers;
mod kubelet;
mod pods_endpoint;
mod rights;
mod tls;
mod nodes;
mod fleet;
mod exchange;
mod extender_client;
mod extender;
mod kinds;
mod workload;
mod outages;

use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tempfile::TempDir;

use self::certificates::{Authority, Signed};
pub use self::extender::{EXTENDER_RIGHTS, Extender};
pub use self::extender_client::{ExtenderClient, Shown};
pub use self::fleet::Fleet;
pub use self::kinds::Kind;
pub use self::kubelet::ForwardingKubelet;
pub use self::nodes::{Containers, Node, NodeOptions};
pub use self::outages::{Figures, Outages};
pub use self::pods_endpoint::PodsEndpoint;
pub use self::processes::Process;
pub use self::programs::{Program, Programs, RELEASE, package, release_of_tests};
pub use self::rights::{
    KUBELET_RIGHTS, KUBELETS, NODE_RIGHTS, NODES, OBSERVER_RIGHTS, PUBLISHER_RIGHTS, READER_RIGHTS, WATCHER,
    WATCHER_RIGHTS,
};
pub use self::workload::{ContainerProcess, Workload};

/// How long a program may take until it answers, unless the caller gives it longer.
const PATIENCE: Duration = Duration::from_secs(90);

/// What runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// etcd and the API server: the client that creates a pod binds it.
    Storage,
    /// kube-scheduler too.
    Scheduler,
    /// kube-controller-manager too, with the rights that each controller has in a real cluster.
    Controllers,
}

/// A user of the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User<'a> {
    /// As audit logs have it, and messages about missing rights.
    pub name: &'a str,
    /// Groups that it belongs to.
    pub groups: &'a [&'a str],
}

/// Schedulers. The API server gives this user the rights of kube-scheduler by itself.
const SCHEDULER: User<'static> = User { name: "system:kube-scheduler", groups: &[] };

/// Who may do everything.
const ADMIN: User<'static> = User { name: "admin", groups: &["system:masters"] };

/// A control plane that runs until this is dropped.
#[derive(Debug)]
pub struct Cluster {
    // Ended in this order.
    scheduler: Option<Process>,
    controllers: Option<Process>,
    api_server: Option<Process>,
    etcd: Process,
    parts: Parts,
    programs: Programs,
    authority: Authority,
    ports: Ports,
    patience: Duration,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    api_server: u16,
    etcd: u16,
    peers: u16,
}

impl Cluster {
    /// Starts one and waits until it answers.
    ///
    /// # Errors
    /// A program does not start, with the last lines of its log.
    pub fn start(programs: &Programs, parts: Parts) -> anyhow::Result<Self> {
        Self::start_within(programs, parts, PATIENCE)
    }

    /// The same on a slow machine, where each program may take so long until it answers.
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn start_within(programs: &Programs, parts: Parts, patience: Duration) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("cluster").tempdir()?;
        let ports = Ports { api_server: free_port()?, etcd: free_port()?, peers: free_port()? };
        let authority = Authority::new()?;
        let etcd = etcd(programs, folder.path(), ports)?;
        let mut cluster = Self {
            scheduler: None,
            controllers: None,
            api_server: None,
            etcd,
            parts,
            programs: programs.clone(),
            authority,
            ports,
            patience,
            folder,
        };
        cluster.prepare()?;
        cluster.start_api_server()?;
        if parts == Parts::Controllers {
            cluster.start_controllers()?;
        }
        if parts != Parts::Storage {
            cluster.start_scheduler(&programs.checked(Program::Scheduler)?, "")?;
        }
        Ok(cluster)
    }

    /// One for a test, of the programs that are built in the folder `target`. `None`: they are not, and a line
    /// says so; in CI it is a failure.
    ///
    /// # Panics
    /// It does not start, or CI has not built it.
    #[must_use]
    pub fn for_test(target: &Path, parts: Parts) -> Option<Self> {
        match Programs::built(target, &release_of_tests()) {
            Ok(programs) => Some(Self::start(&programs, parts).unwrap_or_else(|error| panic!("{error:#}"))),
            Err(why) => {
                assert!(std::env::var_os("CI").is_none(), "{why}");
                println!("skipped: {why}");
                None
            }
        }
    }

    /// A kubeconfig with all rights.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("admin.conf")
    }

    /// The address of the API server.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api_server)
    }

    /// A kubeconfig of a user, whose certificate is valid for so long. The user has only the rights that the
    /// caller grants.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn kubeconfig_of(&self, user: User<'_>, valid: Duration) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join(format!("{}.conf", user.name.replace([':', '/'], "-")));
        let signed = self.authority.client(user.name, user.groups, valid)?;
        let (certificate, key) =
            (certificates::base64(&signed.certificate), certificates::base64(&signed.key));
        let credentials = format!("client-certificate-data: {certificate}\n    client-key-data: {key}");
        fs::write(&path, self.kubeconfig_text(user.name, &credentials))?;
        Ok(path)
    }

    /// A kubeconfig of a service account, with a token that is valid for an hour.
    ///
    /// # Errors
    /// There is no such account, or it cannot be written.
    pub fn kubeconfig_of_account(&self, namespace: &str, name: &str) -> anyhow::Result<PathBuf> {
        let token = self.kubectl(&["create", "token", name, "--namespace", namespace, "--duration", "1h"])?;
        let path = self.folder.path().join(format!("{namespace}-{name}.conf"));
        let credentials = format!("token: {}", token.trim());
        fs::write(&path, self.kubeconfig_text(name, &credentials))?;
        Ok(path)
    }

    /// What kubectl prints.
    ///
    /// # Errors
    /// kubectl fails, with what it says.
    pub fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.kubectl_with(arguments, "")
    }

    /// Applies a manifest.
    ///
    /// # Errors
    /// As of [`Self::kubectl`].
    pub fn apply(&self, manifest: &str) -> anyhow::Result<String> {
        self.kubectl_with(&["apply", "-f", "-"], manifest)
    }

    /// Writes a certificate of a server on loopback to a folder, `tls.crt` and `tls.key` as in a Secret. Clients of the
    /// cluster trust it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_certificate(&self, folder: &Path) -> anyhow::Result<()> {
        let signed = self.authority.server(Duration::from_hours(24))?;
        for (name, text) in [("tls.crt", signed.certificate), ("tls.key", signed.key)] {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        }
        Ok(())
    }

    /// The certificate in PEM by which all others of the cluster are signed.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn certificate_authority(&self) -> anyhow::Result<String> {
        let path = self.folder.path().join("ca.pem");
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    }

    /// kubectl, to be run by the caller.
    #[must_use]
    pub fn kubectl_command(&self) -> Command {
        let mut command = Command::new(self.programs.path(Program::Kubectl));
        command.env("KUBECONFIG", self.kubeconfig()).env("HOME", self.folder.path());
        command
    }

    /// A kubelet that connects every forwarded port to `forwarded`. It is the kubelet of a node whose object
    /// has the address 127.0.0.1 and its port.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn forwarding_kubelet(&self, forwarded: SocketAddr) -> anyhow::Result<ForwardingKubelet> {
        ForwardingKubelet::start(&self.authority.server(Duration::from_hours(24))?, forwarded)
    }

    /// Ends the API server as a power cut would; [`Self::start_api_server`] starts it again.
    pub fn kill_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server, and waits until it answers.
    ///
    /// # Errors
    /// It does not, with the last lines of its log.
    pub fn start_api_server(&mut self) -> anyhow::Result<()> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let etcd = format!("http://127.0.0.1:{}", self.ports.etcd);
        // The others wait for controllers.
        let without = match self.parts {
            Parts::Storage | Parts::Scheduler => "ServiceAccount,TaintNodesByCondition",
            Parts::Controllers => "",
        };
        let mut command = Command::new(self.programs.checked(Program::ApiServer)?);
        command
            .args(["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"])
            .args(["--secure-port", &self.ports.api_server.to_string()])
            .args(["--etcd-servers", &etcd])
            .args(["--client-ca-file", &path("ca.pem")])
            .args(["--tls-cert-file", &path("server.pem"), "--tls-private-key-file", &path("server.key")])
            .args(["--kubelet-client-certificate", &path("kubelet-client.pem")])
            .args(["--kubelet-client-key", &path("kubelet-client.key")])
            .args(["--kubelet-certificate-authority", &path("ca.pem")])
            .args(["--service-account-issuer", &self.server()])
            .args(["--service-account-key-file", &path("accounts.pub")])
            .args(["--service-account-signing-key-file", &path("accounts.key")])
            .args(["--service-cluster-ip-range", "10.96.0.0/16", "--authorization-mode", "RBAC"])
            .args(["--disable-admission-plugins", without])
            .args(["--endpoint-reconciler-type", "none", "--watch-cache=true"]);
        let process = Process::start("kube-apiserver", &command, self.folder.path())?;
        self.api_server = Some(process);
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports.api_server));
        self.until("the API server answers", |cluster| {
            // kubectl takes long where the machine is slow, and from the API server's share of it.
            TcpStream::connect(address).context("it does not listen yet")?;
            cluster.kubectl(&["get", "--raw", "/readyz"])?;
            // Made by the API server itself, some time later.
            cluster.kubectl(&["get", "namespace", "default"])
        })
    }

    /// Starts a scheduler, in the place of the one that may run. `configuration` is what its
    /// `KubeSchedulerConfiguration` has beside the way to the API server, as lines of YAML. It has the rights of
    /// kube-scheduler.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_scheduler(&mut self, program: &Path, configuration: &str) -> anyhow::Result<()> {
        self.scheduler = None;
        let kubeconfig = self.kubeconfig_of(SCHEDULER, Duration::from_hours(24))?;
        let path = self.folder.path().join("scheduler.yaml");
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             leaderElection: {{leaderElect: false}}\nclientConnection: {{kubeconfig: {}}}\n{configuration}",
            serde_json::Value::from(kubeconfig.display().to_string())
        );
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(path).arg("--secure-port=0");
        self.scheduler = Some(Process::start("kube-scheduler", &command, self.folder.path())?);
        Ok(())
    }

    /// If a program has ended: which one, and its last words.
    pub fn why_ended(&mut self) -> Option<String> {
        let started = [&mut self.scheduler, &mut self.controllers, &mut self.api_server];
        let mut running = started.into_iter().flatten().chain([&mut self.etcd]);
        running.find_map(Process::why_ended)
    }

    /// All that schedulers have logged.
    #[must_use]
    pub fn scheduler_log(&self) -> String {
        fs::read_to_string(self.folder.path().join("kube-scheduler.log")).unwrap_or_default()
    }

    /// Certificates, keys and kubeconfigs.
    fn prepare(&self) -> anyhow::Result<()> {
        let write = |name: &str, text: &str| -> anyhow::Result<()> {
            let path = self.folder.path().join(name);
            fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))
        };
        let both = |name: &str, signed: &Signed| -> anyhow::Result<()> {
            write(&format!("{name}.pem"), &signed.certificate)?;
            write(&format!("{name}.key"), &signed.key)
        };
        let year = Duration::from_hours(24 * 365);
        write("ca.pem", &self.authority.certificate())?;
        both("server", &self.authority.server(year)?)?;
        both("kubelet-client", &self.authority.client("api-server", &["system:masters"], year)?)?;
        let accounts = certificates::key_pair()?;
        write("accounts.pub", &accounts.certificate)?;
        write("accounts.key", &accounts.key)?;
        self.kubeconfig_of(ADMIN, year)?;
        Ok(())
    }

    fn kubeconfig_text(&self, user: &str, credentials: &str) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "apiVersion: v1\nkind: Config\ncurrent-context: local\n\
             clusters: [{{name: local, cluster: {{server: {server}, certificate-authority: {authority}}}}}]\n\
             contexts: [{{name: local, context: {{cluster: local, user: {name}}}}}]\n\
             users:\n- name: {name}\n  user:\n    {credentials}\n",
            server = quoted(&self.server()),
            authority = quoted(&self.folder.path().join("ca.pem").display().to_string()),
            name = quoted(user),
        );
        text
    }

    fn kubectl_with(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let mut command = self.kubectl_command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("failed to start kubectl")?;
        if let Some(mut to) = child.stdin.take() {
            // kubectl may end before it has read all.
            let _ = std::io::Write::write_all(&mut to, input.as_bytes());
        }
        let Output { status, stdout, stderr } = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&stderr);
        ensure!(status.success(), "kubectl {}: {}", arguments.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    }

    /// Waits until something works.
    fn until(&mut self, what: &str, works: impl Fn(&Self) -> anyhow::Result<String>) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let Err(error) = works(self) else { return Ok(()) };
            if let Some(why) = self.why_ended() {
                bail!("{why}");
            }
            if start.elapsed() > self.patience {
                return Err(error.context(format!("{:?} went by and still not: {what}", self.patience)));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn etcd(programs: &Programs, folder: &Path, ports: Ports) -> anyhow::Result<Process> {
    let (clients, peers) =
        (format!("http://127.0.0.1:{}", ports.etcd), format!("http://127.0.0.1:{}", ports.peers));
    let mut command = Command::new(programs.path(Program::Etcd));
    command
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
        .args(["--initial-cluster", &format!("default={peers}")])
        // Nothing of it is needed after a crash of the machine.
        .args(["--unsafe-no-fsync", "--log-level", "warn"]);
    Process::start("etcd", &command, folder)
}

/// A free TCP port of loopback.
///
/// # Errors
/// There is none.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
