//! How many files the daemon may have open, and who takes how many of them.

use anyhow::Context as _;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files for state, the log, watchers and threads: more than twice as many as a daemon without connections has open.
const RESERVE: usize = 64;

/// The files of the daemon by what they are for. Together they are at most those that it may have open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenFiles {
    /// Connections of HTTP clients.
    pub(super) clients: usize,
    /// Connections to plugins, and those that come in on the two sockets for plugins and pod resources.
    pub(super) plugins: usize,
}

impl OpenFiles {
    /// Raises the limit as far as this process may, as kubelets do, and shares it out. A soft limit is for programs
    /// that hand numbers of files to `select`, which this one does not.
    pub(super) fn raise() -> anyhow::Result<Self> {
        const WHAT: Resource = Resource::RLIMIT_NOFILE;
        let (soft, hard) = getrlimit(WHAT).context("failed to ask how many files may be open")?;
        let limit = if setrlimit(WHAT, hard, hard).is_ok() { hard } else { soft };
        Ok(Self::of(usize::try_from(limit).unwrap_or(usize::MAX)))
    }

    /// Half of what the reserve leaves for each. The reserve is at most half of all.
    const fn of(limit: usize) -> Self {
        let reserve = if limit / 2 < RESERVE { limit / 2 } else { RESERVE };
        let clients = (limit - reserve) / 2;
        Self { clients, plugins: limit - reserve - clients }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_has_files_left_whatever_connects() {
        for (limit, reserve) in [(20, 10), (96, 48), (127, 63), (128, 64), (1024, 64), (1 << 20, 64)] {
            let OpenFiles { clients, plugins } = OpenFiles::of(limit);
            assert_eq!(limit - clients - plugins, reserve, "of {limit}");
            assert!(plugins - clients <= 1, "of {limit}");
        }
    }
}
