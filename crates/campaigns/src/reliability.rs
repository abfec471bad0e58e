//! `cargo xtask reliability`: the page of what the campaigns found, made of the figures that they wrote.
//!
//! Each campaign writes one small file below `docs/reliability`, which is committed; the page shows all of them.

mod evidence;
mod page;

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde_json::{Value, json};
use workspace_tools::document::Run;
use workspace_tools::workspace::root;

pub(crate) use evidence::{Evidence, previous};

/// Writes docs/reliability.md from the figures of the campaigns.
#[derive(Debug, clap::Args)]
pub(crate) struct Reliability {
    /// Fails if the page is not what the figures make, and writes nothing.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Where the figures of campaigns are.
pub(crate) fn folder() -> PathBuf {
    root().join("docs/reliability")
}

impl Reliability {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let text = page::text(&figures()?);
        let path = root().join("docs/reliability.md");
        if self.check {
            let there = fs::read_to_string(&path).unwrap_or_default();
            ensure!(there == text, "docs/reliability.md is old: run `cargo xtask reliability`");
            return Ok(());
        }
        Ok(fs::write(&path, text)?)
    }
}

/// Writes the figures of a campaign, and the page anew. `name` is that of the file; `command` is what was run.
pub(crate) fn write(campaign: &str, name: &str, command: &str, figures: &Value) -> anyhow::Result<()> {
    let Run { command, date, cores } = Run::of(command);
    let mut all = json!({ "campaign": campaign, "command": command, "date": date, "cores": cores });
    for (field, value) in figures.as_object().into_iter().flatten() {
        all[field] = value.clone();
    }
    fs::create_dir_all(folder())?;
    let path = folder().join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(&all)? + "\n";
    fs::write(&path, text)?;
    Reliability { check: false }.run()
}

/// All figures, by the names of their files.
fn figures() -> anyhow::Result<Vec<Value>> {
    let Ok(entries) = fs::read_dir(folder()) else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    let mut paths: Vec<_> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    let read = paths.iter().map(|path| {
        let text = fs::read_to_string(path)?;
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
    });
    read.collect()
}

/// The percentile `percent` of values, which are sorted; 0 if there are none.
pub(crate) fn percentile<T: Copy + Ord + Default>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable();
    let at = (values.len() * percent).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let mut values: Vec<u32> = (1..=200).rev().collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&mut values, percent)), [100, 198, 200]);
        assert_eq!(percentile(&mut [7_u32], 50), 7);
        assert_eq!(percentile::<u32>(&mut [], 99), 0);
    }

    #[test]
    fn the_page_is_what_the_figures_make() {
        Reliability { check: true }.run().unwrap();
    }
}
