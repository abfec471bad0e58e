//! `topolet serve`: a node's agent, or a look at a node that a kubelet owns.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use bounded_http::{Open, SocketGroup};
use clap::{Args, ValueHint};
use config_advice::DecidedBy;
use node_daemon::{CgroupRoot, Damaged, Ended, Log, SOCKET, Setup};
use node_input::{IdentitySource, LoadedMachine};

use crate::arguments::{
    BackupArguments, IdentityArguments, MachineArguments, RulesArguments, must_be_loopback,
};
use crate::cluster_arguments::PodSourceArguments;
use crate::log_arguments::LogArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
// serve decides as topolet, and serve --observe as the kubelet: --for has nothing to choose.
#[command(mut_arg("decided_by", |program| program.hide(true)))]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct ServeArguments {
    /// The folder with state and sockets, laid out as the kubelet's. Made if missing. Without it /var/lib/topolet; with
    /// --observe the root folder of the kubelet that runs on this machine, else /var/lib/kubelet.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    root: Option<PathBuf>,
    /// Reads what a running kubelet writes, and writes nothing: what would be decided can be asked, and metrics read.
    /// Without --config the configuration of the kubelet that runs with this root folder is used, and if none is found to
    /// run config.yaml in the root folder. Options of topolet's own are no kubelet's, so --topolet-config cannot be given.
    #[arg(long, conflicts_with_all = ["manifests", "topolet_config"])]
    observe: bool,
    /// A folder with manifests; their pods run as long as they are there. Pods of a file that cannot be read stay as
    /// they are until it can be.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    manifests: Option<PathBuf>,
    /// Where requests come in; without it topolet.sock in the root folder, or with --observe /run/topolet.sock.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    socket: Option<PathBuf>,
    /// The group whose members may connect to the socket, by name or number; without it the group that topolet runs
    /// with. The socket has mode 0660.
    #[arg(long, value_name = "GROUP", conflicts_with = "socket_for_all")]
    socket_group: Option<SocketGroup>,
    /// Every user may connect to the socket (mode 0666). Users other than root and the one that topolet runs as may
    /// look, and change nothing.
    #[arg(long)]
    socket_for_all: bool,
    /// The most pods in one request (explain, dry run) of a client that may not change anything. Clients that may:
    /// 10,000.
    #[arg(long, value_name = "PODS", default_value = "100")]
    explain_limit: NonZeroUsize,
    /// A loopback address where they come in too. There nothing can be changed without the token.
    #[arg(long, value_name = "ADDRESS:PORT")]
    tcp: Option<SocketAddr>,
    /// A file whose first line is the token, 16 characters or more, that TCP needs to change something.
    #[arg(long, value_name = "FILE", requires = "tcp")]
    token_file: Option<PathBuf>,
    /// An address, of any interface, at which everybody who can reach it may read /metrics, /healthz and /readyz, and
    /// nothing else: for Prometheus.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics_address: Option<SocketAddr>,
    #[command(flatten)]
    log: LogArguments,
    /// Makes what is missing before it serves: the folders, and at --config a configuration that pins containers on this
    /// machine. What is there stays as it is.
    #[arg(long, conflicts_with = "observe")]
    init: bool,
    /// Does not start from state that a kubelet would not start from, and says so in its words. Else it is repaired.
    #[arg(long, conflicts_with = "observe")]
    strict: bool,
    #[command(flatten)]
    backups: BackupArguments,
    /// Folder of the cgroups that keep containers on their CPUs [default: /sys/fs/cgroup]; `off` writes none. With
    /// --observe they are only read, and `off` reads none.
    #[arg(long, value_name = "DIR|off")]
    cgroup_root: Option<CgroupRoot>,
    /// The /proc in which interrupts are found and moved off partition CPUs.
    #[arg(long, value_name = "DIR", conflicts_with = "observe", default_value = "/proc", value_hint = ValueHint::DirPath)]
    proc_root: PathBuf,
    /// With --observe: a folder for node files of pods that the kubelet refused and that are decided otherwise here, with
    /// the pods; the log has the command that decides on each again. The last 20 are kept. It is not in the kubelet's
    /// root folder.
    #[arg(long, value_name = "DIR", requires = "observe", value_hint = ValueHint::DirPath)]
    disagreements: Option<PathBuf>,
    /// With --observe: where `topolet guard` reports.
    #[arg(long, value_name = "FILE", requires = "observe", default_value = node_guard::REPORT)]
    guard_report: PathBuf,
    #[command(flatten)]
    pods: PodSourceArguments,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    rules: RulesArguments,
    #[command(flatten)]
    identity: IdentityArguments,
}

/// The root folder of a node that is served.
const SERVED: &str = "/var/lib/topolet";
/// Where the socket is when the root is not ours to write to.
const OBSERVING: &str = "/run/topolet.sock";

pub(super) fn run(arguments: &ServeArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(address) = arguments.tcp {
        must_be_loopback("--tcp", address)?;
    }
    node_daemon::check_address_space()?;
    let log = arguments.log.start()?;
    match serve(arguments, &log) {
        Ok(Ended::Stop) => Ok(Outcome::Done),
        Ok(Ended::Reload) => {
            // Its lines are written before the log is another one.
            drop(log);
            Err(again())
        }
        Err(error) => {
            log.end_with(move || screen.error(&error));
            Ok(Outcome::Failed)
        }
    }
}

/// Executes the program anew, with the same arguments and process id. Returns only if that fails.
fn again() -> anyhow::Error {
    if let Err(error) = node_daemon::reload_waits() {
        return error;
    }
    let error = match std::env::current_exe() {
        Ok(program) => Command::new(program).args(std::env::args_os().skip(1)).exec(),
        Err(error) => error,
    };
    anyhow::Error::new(error).context("failed to start again")
}

/// Makes what is missing.
fn init(arguments: &ServeArguments, log: &Log) -> anyhow::Result<()> {
    if let Some(folder) = &arguments.manifests {
        fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    }
    let rules = arguments.rules.source();
    let Some(path) = rules.config.as_deref().filter(|name| name.contains('/')).map(Path::new) else {
        return Ok(());
    };
    let failed = || format!("failed to write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    }
    let mut file = match File::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        file => file.with_context(failed)?,
    };
    let proposal = || {
        let machine = LoadedMachine::load(&arguments.machine.source())?;
        machine.proposed_configuration(rules.kubelet_rules(), DecidedBy::Topolet)
    };
    let written =
        proposal().and_then(|text| Ok(file.write_all(text.as_bytes()).and_then(|()| file.sync_all())?));
    if written.is_err() {
        // Half a configuration would be taken for one.
        let _ = fs::remove_file(path);
    }
    written.with_context(failed)?;
    let shown = path.display();
    log.note(&format!(
        "{shown} was missing and is written: a configuration that pins containers on this machine"
    ));
    Ok(())
}

fn serve(arguments: &ServeArguments, log: &Log) -> anyhow::Result<Ended> {
    if arguments.init {
        init(arguments, log)?;
    }
    let root = match (&arguments.root, arguments.observe) {
        (Some(root), _) => root.clone(),
        (None, false) => PathBuf::from(SERVED),
        (None, true) => {
            let machine = arguments.machine.source();
            LoadedMachine::load_node(&machine)?.kubelet_root(&machine)?
        }
    };
    let socket = match (&arguments.socket, arguments.observe) {
        (Some(socket), _) => socket.clone(),
        (None, false) => root.join(SOCKET),
        (None, true) => PathBuf::from(OBSERVING),
    };
    let mut rules = arguments.rules.source();
    let program = if arguments.observe { DecidedBy::Kubelet } else { DecidedBy::Topolet };
    ensure!(
        rules.decided_by.is_none_or(|asked| asked == program),
        "serve decides as topolet does, and serve --observe as the kubelet that it looks at: leave --for out"
    );
    rules.decided_by = Some(program);
    let mut identity = arguments.identity.source();
    let pods = arguments.pods.sources(&identity)?;
    if !arguments.observe && arguments.pods.joins() {
        ensure!(
            identity.node.is_none(),
            "--node is not for a member of a cluster, whose Node object topolet writes: use --node-name and \
             --node-labels"
        );
        // Its object has others too, at which the scheduler has looked.
        identity = IdentitySource::default();
    } else if arguments.pods.has_cluster() && identity.node_labels.is_empty() {
        // It is that of the node at the API server, which has other labels. The kubelet has looked at them.
        identity.node_name = None;
    }
    let setup = Setup {
        root,
        manifests: arguments.manifests.clone(),
        socket,
        open: match (arguments.socket_for_all, arguments.socket_group) {
            (true, _) => Open::ToAll,
            (false, None) => Open::ToOwnGroup,
            (false, Some(group)) => Open::ToGroup(group),
        },
        explained: arguments.explain_limit,
        tcp: arguments.tcp,
        metrics: arguments.metrics_address,
        token_file: arguments.token_file.clone(),
        machine: arguments.machine.source(),
        rules,
        identity,
        log,
        damaged: if arguments.strict { Damaged::Refuse } else { Damaged::Repair },
        keep: arguments.backups.kept(),
        pods,
        published: arguments.pods.publications(arguments.identity.node_name.as_deref())?,
        disagreements: arguments.disagreements.clone(),
        guard: arguments.guard_report.clone(),
        cgroups: arguments.cgroup_root.clone().unwrap_or(CgroupRoot::Usual),
        proc: arguments.proc_root.clone(),
    };
    if arguments.observe { node_daemon::observe(&setup) } else { node_daemon::serve(&setup) }
}
