//! Figures by kind, and comparison with those of before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::case::{Case, Expected, Listed, Outcome};
use crate::corpus::{ByKind, Corpus, CorpusError};
use crate::written::WrittenAnswers;
use crate::{over_sockets, play};

/// What came of the cases of one kind.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Same answer, listed differences included.
    pub passed: usize,
    /// Of those: other answers that are right all the same, see [`Listed`].
    pub listed: usize,
    /// Of those: with real sockets between, as well as without.
    pub over_sockets: usize,
    /// Another answer.
    pub failed: usize,
    /// Not played.
    pub skipped: usize,
    /// The first cases with another answer, in full.
    pub differences: Vec<Value>,
}

/// What came of all cases.
#[derive(Clone, Debug)]
pub struct Report {
    /// By `domain/kind`.
    pub kinds: ByKind<Figures>,
    /// Our answers where the kubelet has none.
    pub unanswered: WrittenAnswers,
    /// How many differences of each kind are kept in full.
    kept: usize,
    /// What [`unanswered`](Self::unanswered) is compared with.
    written: Option<WrittenAnswers>,
}

impl Default for Report {
    /// Nothing yet; of each kind the first difference will be kept.
    fn default() -> Self {
        Self::keeping(1)
    }
}

/// How many cases of each kind passed before.
pub type Baseline = BTreeMap<String, Passes>;

/// The cases of one kind that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// All, listed differences included.
    pub passed: usize,
    /// Of those: listed differences.
    pub listed: usize,
}

impl Report {
    /// Nothing yet; so many differences of each kind will be kept in full.
    #[must_use]
    pub const fn keeping(kept: usize) -> Self {
        Self { kinds: ByKind::new(), unanswered: WrittenAnswers::new(), kept, written: None }
    }

    /// Compares our answers where the kubelet has none with `written`: another one fails, and so does one that is not
    /// written.
    #[must_use]
    pub fn comparing_with(self, written: WrittenAnswers) -> Self {
        Self { written: Some(written), ..self }
    }

    /// Plays every case of [`Corpus::parts`], several files at once. The report is that of one file after the other.
    pub fn play(&mut self, folder: &Path, overlay: Option<&Path>) -> Result<(), CorpusError> {
        let parts = Corpus::parts(folder, overlay)?;
        let files: Vec<(&Corpus, &Path)> = parts
            .iter()
            .flat_map(|part| part.files.iter().map(|file| (&part.corpus, file.as_path())))
            .collect();
        let next = AtomicUsize::new(0);
        let play_some = || {
            let mut played = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((corpus, file)) = files.get(at) else { return played };
                played.push((at, self.of_file(corpus, file)));
            }
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
        let mut played = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(play_some)).collect();
            let mut all = play_some();
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            all
        });
        played.sort_by_key(|(at, _)| *at);
        for (_, of_file) in played {
            let Self { kinds, unanswered, .. } = of_file?;
            self.add(kinds);
            self.unanswered.extend(unanswered);
        }
        Ok(())
    }

    /// The report on the cases of one file.
    fn of_file(&self, corpus: &Corpus, file: &Path) -> Result<Self, CorpusError> {
        let mut report = Self { written: self.written.clone(), ..Self::keeping(self.kept) };
        for case in corpus.cases(file)? {
            let outcome = play(corpus, &case);
            report.count(&case, outcome);
        }
        Ok(report)
    }

    /// Counts one case.
    pub fn count(&mut self, case: &Case, outcome: Outcome) {
        let outcome = self.as_written(case, outcome);
        let figures = self.kinds.entry(case.counted_as()).or_default();
        if outcome == Outcome::Passed && over_sockets(case) {
            figures.over_sockets += 1;
        }
        match outcome {
            Outcome::Passed => figures.passed += 1,
            Outcome::Listed(_) => {
                figures.passed += 1;
                figures.listed += 1;
            }
            Outcome::Skipped => figures.skipped += 1,
            Outcome::Failed { got } => {
                figures.failed += 1;
                if figures.differences.len() < self.kept {
                    let mut expected = match &case.expected {
                        Expected::Result(result) => result.clone(),
                        Expected::Crash(text) => json!({ "crash": text }),
                        Expected::Hang => json!({ "hang": true }),
                    };
                    if let Some(written) = self.written.as_ref().and_then(|all| all.of(case)) {
                        expected = json!({ "kubelet": expected, "written": written });
                    }
                    figures
                        .differences
                        .push(json!({ "id": case.id, "case": case.input, "expected": expected, "got": got }));
                }
            }
        }
    }

    /// Keeps our answer where the kubelet has none, and compares it with the written one.
    fn as_written(&mut self, case: &Case, outcome: Outcome) -> Outcome {
        let Outcome::Listed(Listed::Unanswered(got)) = outcome else { return outcome };
        let is_written = self.written.as_ref().is_none_or(|all| all.has(case, &got));
        if !is_written {
            return Outcome::Failed { got };
        }
        self.unanswered.insert(case, &got);
        Outcome::Listed(Listed::Unanswered(got))
    }

    /// Adds what came of other cases; differences beyond those that are kept are counted alone.
    pub fn add(&mut self, other: ByKind<Figures>) {
        for (kind, more) in other {
            let figures = self.kinds.entry(kind).or_default();
            figures.passed += more.passed;
            figures.listed += more.listed;
            figures.over_sockets += more.over_sockets;
            figures.failed += more.failed;
            figures.skipped += more.skipped;
            let room = self.kept.saturating_sub(figures.differences.len());
            figures.differences.extend(more.differences.into_iter().take(room));
        }
    }

    /// Kinds of which fewer cases pass than in `baseline`, or more of them as listed differences; domains that have
    /// not been read, or not of that release, do not count.
    #[must_use]
    pub fn lost(&self, baseline: &Baseline) -> Vec<String> {
        let count =
            |kind: &str| self.kinds.get(kind).map_or((0, 0), |figures| (figures.passed, figures.listed));
        let domain = |kind: &str| {
            let (kind, release) = kind.split_once('@').unwrap_or((kind, ""));
            let domain = kind.split('/').next().unwrap_or_default();
            (domain.to_owned(), release.to_owned())
        };
        let read: BTreeSet<(String, String)> = self.kinds.keys().map(|kind| domain(kind)).collect();
        let mut lost = Vec::new();
        for (kind, before) in baseline.iter().filter(|(kind, _)| read.contains(&domain(kind))) {
            let (passed, listed) = count(kind);
            if passed < before.passed {
                lost.push(format!("{kind}: {passed} passed, {} before", before.passed));
            }
            if listed > before.listed {
                lost.push(format!("{kind}: {listed} listed differences, {} before", before.listed));
            }
        }
        lost
    }

    /// The passes by kind, to compare with later.
    #[must_use]
    pub fn baseline(&self) -> Baseline {
        let passed = self.kinds.iter().filter(|(_, figures)| figures.passed > 0);
        let passes = |figures: &Figures| Passes { passed: figures.passed, listed: figures.listed };
        passed.map(|(kind, figures)| (kind.clone(), passes(figures))).collect()
    }

    /// Passed, failed and skipped cases of all kinds.
    #[must_use]
    pub fn totals(&self) -> (usize, usize, usize) {
        self.kinds.values().fold((0, 0, 0), |(passed, failed, skipped), figures| {
            (passed + figures.passed, failed + figures.failed, skipped + figures.skipped)
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut uncovered = Vec::new();
        for (kind, figures) in &self.kinds {
            let played = figures.passed + figures.failed;
            if played == 0 {
                uncovered.push(format!("{kind} ({})", figures.skipped));
                continue;
            }
            write!(f, "{kind}: {}/{played}", figures.passed)?;
            if figures.listed > 0 {
                write!(f, ", of them {} listed differences", figures.listed)?;
            }
            if figures.over_sockets > 0 {
                write!(f, ", {} over sockets too", figures.over_sockets)?;
            }
            if figures.skipped > 0 {
                write!(f, ", {} skipped", figures.skipped)?;
            }
            writeln!(f)?;
            for difference in &figures.differences {
                writeln!(f, "  differs: {}", difference["id"].as_str().unwrap_or_default())?;
                for part in ["case", "expected", "got"] {
                    writeln!(f, "    {part}: {}", difference[part])?;
                }
            }
        }
        if !uncovered.is_empty() {
            writeln!(f, "not covered yet: {}", uncovered.join(", "))?;
        }
        let (passed, failed, skipped) = self.totals();
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}
