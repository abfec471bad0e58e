//! What a plugin is granted when it is called: how long it may take, and how much it may say. The calls themselves
//! are made elsewhere; these are the two points in which they differ from the kubelet's.

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

/// How large a message of a plugin may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PluginMessages {
    /// 4 MiB, the kubelet's: a longer list of devices ends the stream.
    UpTo4MiB,
    /// 16 MiB.
    #[default]
    UpTo16MiB,
}

impl PluginMessages {
    /// The limit.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::UpTo4MiB => 4 << 20,
            Self::UpTo16MiB => 16 << 20,
        }
    }
}
