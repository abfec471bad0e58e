//! How many files the daemon may have open.

use anyhow::Context as _;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as this process may, as kubelets do, and returns it. A soft limit is for programs that
/// hand numbers of files to `select`, which this one does not.
pub(super) fn raise() -> anyhow::Result<usize> {
    const WHAT: Resource = Resource::RLIMIT_NOFILE;
    let (soft, hard) = getrlimit(WHAT).context("failed to ask how many files may be open")?;
    let limit = if setrlimit(WHAT, hard, hard).is_ok() { hard } else { soft };
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}
