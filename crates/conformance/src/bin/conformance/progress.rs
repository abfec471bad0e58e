//! How far a long run is: a file that is replaced as a whole after each piece, so that a run that was ended in any
//! moment goes on with the piece it was at.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, ensure};
use conformance::{Figures, Report};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How many differing cases of each kind are kept in full; those beyond are counted.
const KEPT: usize = 1_000;

/// What is asked: the arguments that decide which cases there are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) domain: String,
    /// `None`: the program's own mix.
    pub(super) kind: Option<String>,
    /// Of the first piece; each next one has the next seed.
    pub(super) seed: u32,
    /// How many cases there are.
    pub(super) count: u32,
    /// How many of them are asked at once.
    pub(super) piece: u32,
}

/// A run, and what came of the pieces that have been asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    #[serde(flatten)]
    run: Run,
    /// How many pieces have been asked.
    done: u32,
    kinds: BTreeMap<String, Figures>,
}

/// What one call of the program makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) seed: u64,
    pub(super) count: u32,
}

impl Progress {
    /// What the file says of this run; a run that has not begun, if there is no file. An error if the file is of
    /// another run.
    pub(super) fn open(run: Run, file: Option<&Path>) -> anyhow::Result<Self> {
        let text = match file.map(|path| (path, fs::read_to_string(path))) {
            Some((path, Ok(text))) => Some((path, text)),
            Some((path, Err(error))) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("failed to read {}", path.display()));
            }
            _ => None,
        };
        let Some((path, text)) = text else { return Ok(Self { run, done: 0, kinds: BTreeMap::new() }) };
        let there: Self = serde_json::from_str(&text)
            .with_context(|| format!("{} does not hold a run; remove it to begin anew", path.display()))?;
        ensure!(
            there.run == run,
            "{} is of another run: it has {}, and what is asked for is {}; give the same arguments, or another file",
            path.display(),
            json!(there.run),
            json!(run),
        );
        Ok(there)
    }

    /// The piece that is to be asked next; `None` after the last.
    pub(super) fn next(&self) -> Option<Piece> {
        let left = self.run.count.checked_sub(self.asked()).filter(|left| *left > 0)?;
        let seed = u64::from(self.run.seed) + u64::from(self.done);
        Some(Piece { seed, count: left.min(self.run.piece) })
    }

    /// How many cases have been made.
    pub(super) fn asked(&self) -> u32 {
        self.done.saturating_mul(self.run.piece).min(self.run.count)
    }

    /// How many of them have another answer.
    pub(super) fn failed(&self) -> usize {
        self.kinds.values().map(|figures| figures.failed).sum()
    }

    /// An empty report that keeps what this keeps.
    #[expect(clippy::unused_self, reason = "what is kept is kept here")]
    pub(super) const fn report(&self) -> Report {
        Report::keeping(KEPT)
    }

    /// Counts one piece.
    pub(super) fn add(&mut self, found: BTreeMap<String, Figures>) {
        let mut all = self.report();
        all.add(std::mem::take(&mut self.kinds));
        all.add(found);
        self.kinds = all.kinds;
        self.done += 1;
    }

    pub(super) fn into_kinds(self) -> BTreeMap<String, Figures> {
        self.kinds
    }

    /// Replaces the file as a whole, on disk when this returns.
    pub(super) fn save(&self, path: &Path) -> anyhow::Result<()> {
        replace(path, &serde_json::to_string_pretty(self)?)
    }

    /// The figures for readers: no case in full, and nothing that changes from machine to machine but its size.
    pub(super) fn write_figures(&self, folder: &Path) -> anyhow::Result<()> {
        let Run { domain, kind, seed, count, piece } = &self.run;
        let kinds: BTreeMap<&str, _> = self.kinds.iter().map(|(kind, figures)| {
            let ids: Vec<_> = figures.differences.iter().map(|case| &case["id"]).collect();
            let Figures { passed, listed, failed, skipped, .. } = figures;
            let row = json!({ "passed": passed, "listed": listed, "failed": failed, "skipped": skipped, "failing": ids });
            (kind.as_str(), row)
        }).collect();
        let only = kind.as_ref().map_or_else(String::new, |kind| format!(" --kind {kind}"));
        let command = format!(
            "cargo xtask conformance --live SRC --domain {domain}{only} --count {count} --piece {piece} --seed {seed}"
        );
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let today = jiff::Timestamp::now().strftime("%F").to_string();
        let figures = json!({
            "campaign": "conformance", "command": command, "date": today, "cores": cores,
            "domain": domain, "cases": self.asked(), "kinds": kinds,
        });
        fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
        replace(&folder.join(format!("conformance-{domain}.json")), &serde_json::to_string_pretty(&figures)?)
    }
}

fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().permissions(mode()).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().with_context(|| format!("failed to write {}", path.display()))
}

/// What other files have: these are read by others too.
fn mode() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run { domain: "quantity".to_owned(), kind: None, seed: 7, count: 45, piece: 20 }
    }

    fn found(id: &str) -> BTreeMap<String, Figures> {
        let case = json!({ "id": id, "case": { "kind": "quantity" } });
        let figures = Figures { passed: 19, failed: 1, differences: vec![case], ..Figures::default() };
        BTreeMap::from([("quantity/quantity".to_owned(), figures)])
    }

    #[test]
    fn a_run_that_was_ended_goes_on_with_the_next_piece() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.json");
        let mut progress = Progress::open(run(), Some(&path)).unwrap();
        let mut pieces = Vec::new();
        while let Some(piece) = progress.next() {
            pieces.push((piece.seed, piece.count));
            progress.add(found(&format!("{}", piece.seed)));
            progress.save(&path).unwrap();
            progress = Progress::open(run(), Some(&path)).unwrap();
        }
        assert_eq!(pieces, [(7, 20), (8, 20), (9, 5)]);
        assert_eq!((progress.asked(), progress.failed()), (45, 3));
        let kinds = progress.into_kinds();
        let ids: Vec<_> = kinds["quantity/quantity"].differences.iter().map(|case| &case["id"]).collect();
        assert_eq!(ids, ["7", "8", "9"]);
    }

    #[test]
    fn a_file_of_another_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.json");
        Progress::open(run(), None).unwrap().save(&path).unwrap();
        for other in [
            Run { seed: 8, ..run() },
            Run { count: 46, ..run() },
            Run { piece: 21, ..run() },
            Run { domain: "cpu".to_owned(), ..run() },
            Run { kind: Some("take".to_owned()), ..run() },
        ] {
            let error = Progress::open(other, Some(&path)).unwrap_err();
            assert!(error.to_string().contains("is of another run"), "{error:#}");
        }
        fs::write(&path, "{\"domain\":").unwrap();
        let error = Progress::open(run(), Some(&path)).unwrap_err();
        assert!(error.to_string().contains("does not hold a run"), "{error:#}");
    }
}
