//! `cargo xtask fixtures`: machines that are made here, from a page of facts each.
//!
//! A description is `xtask/machines/NAME.json`. From it come `crates/machine-fixtures/machines/NAME.tar.zst`, the files
//! under `/sys` and `/proc` that the kernel of such a machine shows, and `fixtures/machines/NAME.json`, what a reader
//! must find in them. Both are written from the description, by code that shares nothing with the reader, and are the
//! same bytes each time.

mod description;
mod lists;
mod layout;
mod tree;
mod files;
mod truth;

use std::path::{Path, PathBuf};

use fs_err as fs;
use workspace_tools::document::Renewal;
use workspace_tools::workspace::root;

use description::Description;
use layout::Layout;

/// Writes the generated machines, or checks that the committed ones are what their descriptions give.
#[derive(Debug, clap::Args)]
pub(crate) struct Fixtures {
    /// Write nothing; fail if a committed file differs.
    #[arg(long)]
    pub(crate) check: bool,
}

impl Fixtures {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let descriptions = root().join("xtask/machines");
        let (mut files, mut made) = (Vec::new(), 0);
        for path in sorted(&descriptions)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let machine = Description::read(&path)?;
            let layout = Layout::of(&machine)?;
            let archive = tree::packed(&files::all(&machine, &layout))?;
            let truth = truth::text(&name, &machine, &layout);
            files.push((format!("crates/machine-fixtures/machines/{name}.tar.zst").into(), archive));
            files.push((format!("fixtures/machines/{name}.json").into(), truth.into_bytes()));
            made += 1;
        }
        let renewal = if self.check { Renewal::Compare } else { Renewal::Write };
        renewal.renew(files, "cargo xtask fixtures")?;
        eprintln!("fixtures: {made} machines as described");
        Ok(())
    }
}

/// The files of a folder by name.
fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
