//! Files of the repository that commands generate, and figures that commands write into documents between two marker lines.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;

use crate::workspace::root;

/// The line behind the figures.
const END: &str = "<!-- end -->\n";

/// A run that produced figures: the command, the day in UTC, and the number of cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The command line.
    pub command: String,
    /// `2026-01-31`, in UTC.
    pub date: String,
    /// The cores of the machine.
    pub cores: usize,
}

impl Run {
    /// The run of a command today on this machine.
    pub fn of(command: &str) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { command: command.to_owned(), date: today(), cores }
    }

    /// The run of this process, which `cargo xtask` has started. Of a path out of the repository only that it is one is kept.
    pub fn this() -> Self {
        let is_outside = |argument: &String| argument.starts_with('/') || argument.starts_with("../");
        let arguments = std::env::args().skip(1);
        let arguments =
            arguments.map(|argument| if is_outside(&argument) { "PATH".to_owned() } else { argument });
        Self::of(
            &["cargo", "xtask"].map(str::to_owned).into_iter().chain(arguments).collect::<Vec<_>>().join(" "),
        )
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.cores == 1 { "core" } else { "cores" };
        write!(f, "`{}`, {}, {} {noun}", self.command, self.date, self.cores)
    }
}

/// Writes figures to a document of the workspace, between `<!-- command -->` and `<!-- end -->`, with the run of this process
/// in front of them.
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
    let run = Run::this();
    ensure!(!text.contains(END), "the figures contain the line that ends them");
    Ok(fs::write(&path, format!("{before}{begin}Made by {run}.\n\n{text}{END}{after}"))?)
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

#[cfg(test)]
mod tests {
    use super::Run;

    #[test]
    fn a_run_is_its_command_day_and_cores() {
        let run = |cores| Run { command: "cargo xtask x".into(), date: "2026-01-31".into(), cores };
        assert_eq!(run(2).to_string(), "`cargo xtask x`, 2026-01-31, 2 cores");
        assert_eq!(run(1).to_string(), "`cargo xtask x`, 2026-01-31, 1 core");
        let today = Run::of("cargo xtask x");
        assert!(today.cores > 0 && today.date.len() == 10 && today.date.starts_with("20"), "{today}");
    }
}
