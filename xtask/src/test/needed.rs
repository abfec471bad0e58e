//! What tests need beside the repository.

use anyhow::Context as _;

/// Something that tests need: if it cannot be built, CI fails. Elsewhere a line says so, and the tests that need it are skipped.
pub(crate) fn needed_in_ci(what: &str, built: anyhow::Result<()>) -> anyhow::Result<()> {
    match built {
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {what}: {error:#}");
            Ok(())
        }
        built => built.with_context(|| format!("{what} cannot be run")),
    }
}
