//! What a daemon is given, and the node that it is about.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::bail;
use bounded_http::Open;
use kubelet_checkpoint::store::OtherFile;
use node_agent::KeptBackups;
use node_enforce::CgroupRoot;
use node_input::{IdentitySource, LoadedMachine, LoadedNode, MachineSource, OptionsSource, RulesSource};
use node_observe::PodSources;
use node_view::Mode;
use node_view::node_sources::NodeSources;

use super::log::Log;
use super::root::Damaged;

/// Where a process finds its own open files: a shell makes such a pipe of `<(COMMAND)`, whose writer runs already.
const OPEN_FILES: [&str; 2] = ["/dev", "/proc"];

/// What a daemon is given.
pub struct Setup<'a> {
    /// The folder with state and sockets, laid out as the kubelet's.
    pub root: PathBuf,
    /// A folder with manifests of pods that run as long as they are there.
    pub manifests: Option<PathBuf>,
    /// Where requests come in.
    pub socket: PathBuf,
    /// Who may connect to it.
    pub open: Open,
    /// The most pods in one request of a client that may not change anything.
    pub explained: NonZeroUsize,
    /// A loopback address where they come in too.
    pub tcp: Option<SocketAddr>,
    /// A file whose first line is the token that TCP needs to change something.
    pub token_file: Option<PathBuf>,
    /// An address that serves metrics and the node's health without a token.
    pub metrics: Option<SocketAddr>,
    /// The node's machine.
    pub machine: MachineSource,
    /// The rules by which it decides.
    pub rules: RulesSource,
    /// What the node is called.
    pub identity: IdentitySource,
    /// Whose lost lines are counted.
    pub log: &'a Log,
    /// What is done with state that is not as it should be.
    pub damaged: Damaged,
    /// Backups of each file that a repair leaves.
    pub keep: KeptBackups,
    /// Who tells of a kubelet's pods where the kubelet's pods API does not.
    pub pods: PodSources,
    /// What schedulers read of the node.
    pub published: node_publish::Publications,
    /// With a kubelet: where node files of pods are written that are decided otherwise here; `None`: nowhere.
    pub disagreements: Option<PathBuf>,
    /// Where a guard of exclusive CPUs writes its report, if there is one; a look at a kubelet's node reads it.
    pub guard: PathBuf,
    /// Where cgroups of containers are written, or with a kubelet read.
    pub cgroups: CgroupRoot,
    /// Where the kernel's `/proc` is, in which interrupts on CPUs of partitions are found and moved.
    pub proc: PathBuf,
}

impl Setup<'_> {
    /// Where the parts of the node are that the daemon is about.
    pub(super) fn sources(&self, mode: Mode) -> NodeSources {
        let Self { root, machine, rules, identity, .. } = self;
        NodeSources {
            root: root.clone(),
            mode,
            machine: machine.clone(),
            rules: rules.clone(),
            identity: identity.clone(),
        }
    }

    /// Reads the node.
    ///
    /// # Errors
    /// A file is a named pipe or cannot be read, or a kubelet would not start with it.
    pub(super) fn load(&self, mode: Mode) -> anyhow::Result<(LoadedNode, LoadedMachine)> {
        self.refuse_pipes()?;
        let sources = self.sources(mode);
        let loaded = sources.load()?;
        for warning in &loaded.0.warnings {
            tracing::warn!("{}", warning.in_one_line());
        }
        for note in sources.doubts(&loaded.1) {
            tracing::info!("{note}");
        }
        Ok(loaded)
    }

    /// Refuses pipes that have names: reading one waits for a writer, and a daemon starts unattended, after a crash too.
    fn refuse_pipes(&self) -> anyhow::Result<()> {
        let Self { machine, rules, token_file, .. } = self;
        let given = [
            ("--machine", Some(Path::new(&machine.machine))),
            ("--config", rules.config.as_deref().map(Path::new)),
            ("--topolet-config", rules.topolet_config.as_ref().and_then(OptionsSource::file)),
            ("--devices", rules.devices.as_deref()),
            ("--token-file", token_file.as_deref()),
        ];
        for (option, path) in given {
            let Some(path) = path else { continue };
            // Who reads it says why it cannot be read.
            let Ok(about) = fs::metadata(path) else { continue };
            let is_open = OPEN_FILES.iter().any(|folder| path.starts_with(folder));
            if OtherFile::of(&about) == Some(OtherFile::Pipe) && !is_open {
                bail!("{option} {} is a named pipe: expected a regular file", path.display());
            }
        }
        Ok(())
    }
}
