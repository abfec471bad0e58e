//! `cargo xtask texts`: what is read of texts, beside what the Go code of kubectl and the kubelet reads of them.

mod judged;
mod shapes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::json;
use workspace_tools::document::write_figures;
use workspace_tools::kubelet::go_build;

use self::judged::{Judged, Read, judge};
use self::shapes::{Form, shape};

/// Reads changed manifests and configurations as kubectl and the kubelet do (needs Go)
#[derive(Debug, clap::Args)]
pub(crate) struct Texts {
    /// How many of each form
    #[arg(long, default_value_t = 10_000)]
    count: u32,
    /// Of the random changes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures to docs/texts.md
    #[arg(long)]
    write: bool,
}

/// What the Go code made of a text.
#[derive(Deserialize)]
struct Answer {
    result: Option<Read>,
}

/// How many texts were judged how.
#[derive(Default)]
struct Figures {
    read: u32,
    refused: u32,
    listed: BTreeMap<&'static str, u32>,
    unlisted: Vec<String>,
}

/// At most so many unlisted differences are shown.
const SHOWN: usize = 40;

impl Texts {
    #[expect(clippy::print_stdout, reason = "the output of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let manifests = self.compare(Form::Manifest)?;
        let configurations = self.compare(Form::Configuration)?;
        let text = format!("{}{}", manifests.rows("kubectl"), configurations.rows("the kubelet"));
        println!("{text}");
        if self.write {
            write_figures("docs/texts.md", "texts", &text)?;
        }
        let unlisted: Vec<String> =
            [manifests, configurations].into_iter().flat_map(|own| own.unlisted).collect();
        let shown = unlisted.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        ensure!(unlisted.is_empty(), "{} differences are not listed:\n{shown}", unlisted.len());
        Ok(())
    }

    /// Asks the Go program about all texts of a form.
    fn compare(&self, form: Form) -> anyhow::Result<Figures> {
        let program = go_build(&["texts"])?.join("texts");
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let texts: Vec<String> = (0..self.count).map(|_| shape(form, &mut rng)).collect();
        let mut go = Command::new(program).arg("run").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut questions = go.stdin.take().context("the program has no input")?;
        let answers = BufReader::new(go.stdout.take().context("the program has no output")?);
        let mut figures = Figures::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (id, text) in texts.iter().enumerate() {
                    let question = json!({ "id": id, "form": form.name(), "text": text });
                    // A program that died is found by its missing answers.
                    if writeln!(questions, "{question}").is_err() {
                        return;
                    }
                }
                drop(questions);
            });
            let mut lines = answers.lines();
            for text in &texts {
                let line = lines.next().context("the Go program ended early")??;
                let answer: Answer = serde_json::from_str(&line).with_context(|| line.clone())?;
                figures.add(form, text, answer.result.as_ref().with_context(|| line.clone())?);
            }
            anyhow::Ok(())
        })?;
        ensure!(go.wait()?.success(), "the Go program failed");
        Ok(figures)
    }
}

impl Figures {
    fn add(&mut self, form: Form, text: &str, theirs: &Read) {
        match judge(form, text, theirs) {
            Judged::Equal => self.read += 1,
            Judged::BothRefuse => self.refused += 1,
            Judged::Listed(kind) => *self.listed.entry(kind).or_default() += 1,
            Judged::Unlisted(difference) => self.unlisted.push(difference),
        }
    }

    fn rows(&self, who: &str) -> String {
        let mut rows = format!("| texts, beside {who} | count |\n|---|---|\n");
        let _ = writeln!(rows, "| read, with the same value | {} |", self.read);
        let _ = writeln!(rows, "| refused by both | {} |", self.refused);
        for (kind, count) in &self.listed {
            let _ = writeln!(rows, "| {kind} | {count} |");
        }
        let _ = writeln!(rows, "| not listed | {} |\n", self.unlisted.len());
        rows
    }
}
