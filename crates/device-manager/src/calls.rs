//! What a plugin may do: how long a call takes, how much it says, how long its connections stay open. The calls
//! themselves are made elsewhere; these are the points in which they differ from the kubelet's.

use core::time::Duration;

/// How long a plugin may take to answer `GetPreferredAllocation` and `Allocate`. Other calls have limits of the
/// kubelet's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PluginTime {
    /// As long as it takes: a plugin that hangs holds up all admissions, as in the kubelet.
    Unlimited,
    /// So long; then the call has failed with `DeadlineExceeded`.
    Within(Duration),
}

impl Default for PluginTime {
    /// Two minutes, as the kubelet grants a container runtime.
    fn default() -> Self {
        Self::Within(Duration::from_mins(2))
    }
}

/// How large a list of devices may be, as a message. Other messages of plugins have the kubelet's limit, 4 MiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PluginMessages {
    /// 4 MiB, the kubelet's: a longer list of devices ends the stream.
    UpTo4MiB,
    /// 16 MiB.
    #[default]
    UpTo16MiB,
}

impl PluginMessages {
    /// What is not a list of devices: 4 MiB, as in the kubelet.
    pub const ANSWER: usize = 4 << 20;

    /// The limit, in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::UpTo4MiB => 4 << 20,
            Self::UpTo16MiB => 16 << 20,
        }
    }
}

/// What happens to the connection of a plugin when another registers for the same resource, or the same one again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplacedPlugins {
    /// It stays open, as in the kubelet: its lists count, and its end closes the newer connection. A plugin that
    /// registers again and again uses up the file descriptors.
    KeepOpen,
    /// It is closed, without an event, when the newer plugin has listed its devices. Until then it is as in the
    /// kubelet. A newer plugin that does not list is closed when the next one has registered.
    #[default]
    Close,
}
