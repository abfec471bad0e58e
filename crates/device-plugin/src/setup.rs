//! Where the sockets are, and what is put up with on them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits::Limits;
use device_manager::{PluginMessages, PluginTime, ReplacedPlugins};
use kubelet_release::{PluginsPerResource, Rules};

/// What a server is started with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Where the sockets are.
    pub folders: Folders,
    /// How long calls may take.
    pub times: Times,
    /// How large a message may be.
    pub messages: PluginMessages,
    /// What happens to connections of plugins that are replaced.
    pub replaced: ReplacedPlugins,
    /// How many plugins may serve a resource, by the rules of a release.
    pub per_resource: PluginsPerResource,
    /// How many connections there are.
    pub limits: Limits,
    /// How many questions about pods are answered.
    pub questions: Questions,
}

/// How many questions the pod resources service answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Questions {
    /// Ten at once and a hundred a second, as the kubelet; what is above is refused.
    #[default]
    Rated,
    /// All of them, however many there are.
    All,
}

/// The folders that plugins, and those who ask about pods, have compiled in. Each must be an absolute path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folders {
    /// Where `kubelet.sock` is made, and plugins make theirs.
    pub device_plugins: PathBuf,
    /// Where plugins make sockets that are to be found.
    pub plugins_registry: PathBuf,
    /// Where the `kubelet.sock` of the pod resources service is made.
    pub pod_resources: PathBuf,
}

impl Folders {
    /// The kubelet's, if its root is `root`: usually `/var/lib/kubelet`. The folder of device plugins does not
    /// depend on it, as in the kubelet.
    #[must_use]
    pub fn of_kubelet(root: &Path) -> Self {
        Self {
            device_plugins: PathBuf::from("/var/lib/kubelet/device-plugins"),
            plugins_registry: root.join("plugins_registry"),
            pod_resources: root.join("pod-resources"),
        }
    }

    /// All three below one folder, under the kubelet's names.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { device_plugins: root.join("device-plugins"), ..Self::of_kubelet(root) }
    }
}

/// How long things take. The default is the kubelet's, but for [`PluginTime`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// Until a plugin that has registered is reached at its own socket; tried all the while.
    pub dial: Duration,
    /// For `GetPreferredAllocation` and `Allocate`.
    pub plugin: PluginTime,
    /// For `PreStartContainer`.
    pub pre_start: Duration,
    /// For `GetInfo` of a plugin whose socket was found.
    pub info: Duration,
    /// For telling it what came of its registration.
    pub notify: Duration,
    /// Between two looks into the folder of sockets that are to be found.
    pub look: Duration,
    /// Before a plugin that was found and failed is tried again, for the first time; doubled each time, up to
    /// [`Times::LONGEST_WAIT`] times as long.
    pub retry: Duration,
}

impl Times {
    /// How many times [`Times::retry`] the longest wait is: 122 s in the kubelet.
    pub const LONGEST_WAIT: u32 = 244;
}

impl Default for Times {
    fn default() -> Self {
        Self {
            dial: Duration::from_secs(10),
            plugin: PluginTime::default(),
            pre_start: Duration::from_secs(30),
            info: Duration::from_secs(1),
            notify: Duration::from_secs(5),
            look: Duration::from_secs(1),
            retry: Duration::from_millis(500),
        }
    }
}

impl Setup {
    /// These folders, and the defaults.
    #[must_use]
    pub fn new(folders: Folders) -> Self {
        Self {
            folders,
            times: Times::default(),
            messages: PluginMessages::default(),
            replaced: ReplacedPlugins::default(),
            per_resource: Rules::default().plugins_per_resource,
            limits: Limits::default(),
            questions: Questions::default(),
        }
    }
}
