//! In the place of `diagnose`, in a build without bundles.

use std::path::Path;

use crate::arguments::DecisionFormat;
use crate::outcome::Outcome;
use crate::screen::Screen;
use crate::smaller_build;

pub(super) fn explain(_: &Path, _: &str, _: DecisionFormat, _: Screen) -> anyhow::Result<Outcome> {
    Err(anyhow::Error::msg(smaller_build::lacks("support bundles")))
}
