//! What tests need beside the repository.

use anyhow::Context as _;

/// What some tests need: where CI is set, it is a failure if it cannot be had; elsewhere that is said, and so do the tests.
pub(crate) fn needed_in_ci(what: &str, built: anyhow::Result<()>) -> anyhow::Result<()> {
    match built {
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {what}: {error:#}");
            Ok(())
        }
        built => built.with_context(|| format!("{what} cannot be run")),
    }
}
