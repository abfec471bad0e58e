//! Files of the repository that commands make, and figures in documents: what a command writes there, between two lines.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;

use crate::workspace::root;

/// The last of both lines.
const END: &str = "<!-- end -->\n";

/// Writes what `command` has found out to a document of the workspace, between `<!-- command -->` and `<!-- end -->`.
///
/// # Errors
/// The document lacks those lines, or cannot be written.
pub fn write_figures(document: &str, command: &str, text: &str) -> anyhow::Result<()> {
    let begin = format!("<!-- {command} -->\n");
    let path = root().join(document);
    let old = fs::read_to_string(&path)?;
    let parts = old.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.with_context(|| format!("{document} lacks the lines between which the figures are"))?;
    ensure!(!text.contains(END), "the figures contain the line that ends them");
    Ok(fs::write(&path, format!("{before}{begin}{text}{END}{after}"))?)
}

/// What to do with files that a command makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// Write those that differ from the committed ones.
    Write,
    /// Write nothing: fail if one differs.
    Compare,
}

impl Renewal {
    /// Writes or compares files, paths from the root of the workspace. `command` is what writes them.
    ///
    /// # Errors
    /// One differs, or cannot be written.
    pub fn renew(self, files: Vec<(PathBuf, Vec<u8>)>, command: &str) -> anyhow::Result<()> {
        let is_old = |(path, made): &(PathBuf, Vec<u8>)| {
            fs::read(root().join(path)).is_ok_and(|committed| committed == *made)
        };
        let differing: Vec<_> = files.into_iter().filter(|file| !is_old(file)).collect();
        if self == Self::Compare && !differing.is_empty() {
            let names: Vec<_> = differing.iter().map(|(path, _)| path.display().to_string()).collect();
            bail!("not as it is made now (run `{command}`): {}", names.join(", "));
        }
        for (path, made) in differing {
            fs::write(root().join(&path), made)?;
            eprintln!("wrote {}", path.display());
        }
        Ok(())
    }
}

/// Today in UTC, as `2026-01-31`.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}
