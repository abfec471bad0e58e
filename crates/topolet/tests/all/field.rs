//! Questions that people asked about their nodes, with their files: `fixtures/field`, one folder each, and one table of
//! all, `docs/field.md`. `FIELD=overwrite cargo test -p topolet --test all field` writes the table.
//!
//! The right answer comes from elsewhere (`evidence`), never from this program. A case that is still answered wrongly says
//! so in `open`; once its answers are right, the test asks to remove that line.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    source: SourceKind,
    question: String,
    /// In words.
    right: String,
    /// How the right answer is known.
    evidence: String,
    /// What is still wrong.
    open: Option<String>,
    asks: Vec<Ask>,
}

/// Where a case is from.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceKind {
    /// A report of what a kubelet did.
    Report,
    /// A published file.
    File,
    /// A machine was tried.
    Machine,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// A command line, in the folder of the case.
    run: String,
    status: i32,
    /// Phrases of the output, whatever its lines are broken at.
    #[serde(default)]
    prints: Vec<String>,
    /// Phrases that it does not have.
    #[serde(default)]
    lacks: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The cases by folder, in the order of their numbers.
fn cases() -> Vec<(PathBuf, Case)> {
    let folders = fs::read_dir(root().join("fixtures/field")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    let read = |folder: PathBuf| {
        let file = folder.join("case.yaml");
        let text = fs::read_to_string(&file).unwrap();
        let case =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (folder, case)
    };
    folders.into_iter().map(read).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

impl Ask {
    /// What is not as the case says.
    fn wrong(&self, folder: &Path) -> Vec<String> {
        let mut words = self.run.split_whitespace();
        assert_eq!(words.next(), Some("topolet"), "{}", self.run);
        // A command that writes writes to a copy.
        let copy = tempfile::TempDir::new().unwrap();
        copy_folder(folder, copy.path());
        let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
        let output = command.args(words).current_dir(copy.path()).env("LC_ALL", "C.UTF-8").output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        let normal = |phrase: &String| phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut wrong = Vec::new();
        if output.status.code() != Some(self.status) {
            wrong.push(format!("exit status {:?} instead of {}", output.status.code(), self.status));
        }
        wrong.extend(
            self.prints
                .iter()
                .filter(|phrase| !printed.contains(&normal(phrase)))
                .map(|phrase| format!("does not print {phrase:?}")),
        );
        wrong.extend(
            self.lacks
                .iter()
                .filter(|phrase| printed.contains(&normal(phrase)))
                .map(|phrase| format!("prints {phrase:?}")),
        );
        if !wrong.is_empty() {
            wrong.push(format!("printed: {printed}"));
        }
        wrong.into_iter().map(|what| format!("  {}: {what}", self.run)).collect()
    }
}

#[test]
fn questions_are_answered_rightly() {
    let mut failed = String::new();
    let cases = cases();
    assert!(cases.len() >= 20, "{} cases", cases.len());
    for (folder, case) in &cases {
        let wrong: Vec<String> = case.asks.iter().flat_map(|ask| ask.wrong(folder)).collect();
        let name = folder.file_name().unwrap().to_string_lossy();
        match (&case.open, wrong.is_empty()) {
            (None, false) => {
                let _ = writeln!(failed, "{name}: {}\n{}", case.right, wrong.join("\n"));
            }
            (Some(open), true) => {
                let _ = writeln!(failed, "{name} is right now, so that `open: {open}` can go");
            }
            _ => {}
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn the_table_lists_all_cases() {
    let cases = cases();
    let open = cases.iter().filter(|(_, case)| case.open.is_some()).count();
    let mut table = format!(
        "# Questions from the field\n\nQuestions that people asked about their nodes, each with its files in \
         [`fixtures/field`](../fixtures/field). The right answers come from kubelets, their code and documents, never from \
         topolet. Of {} cases {} are answered rightly; the others are listed with what is wrong.\n\n\
         | case | from | question | right answer | known by | still wrong |\n|---|---|---|---|---|---|\n",
        cases.len(),
        cases.len() - open
    );
    for (folder, case) in &cases {
        let name = folder.file_name().unwrap().to_string_lossy();
        let source = match case.source {
            SourceKind::Report => "a report",
            SourceKind::File => "a published file",
            SourceKind::Machine => "a machine",
        };
        let Case { question, right, evidence, open, .. } = case;
        let open = open.as_deref().unwrap_or("");
        let _ = writeln!(
            table,
            "| [{name}](../fixtures/field/{name}/case.yaml) | {source} | {question} | {right} | {evidence} | {open} |"
        );
    }
    let file = root().join("docs/field.md");
    if std::env::var_os("FIELD").is_some_and(|value| value == "overwrite") {
        fs::write(&file, &table).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        written, table,
        "`FIELD=overwrite cargo test -p topolet --test all field` writes docs/field.md"
    );
}
