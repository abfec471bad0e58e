//! How fast the page is.

pub(super) fn measure(_write: bool) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
