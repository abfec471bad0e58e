//! Fresh cases, asked of the kubelet's own code on the spot. Only cases that are played here are asked: the others are
//! counted as skipped.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use conformance::{Case, Corpus, Expected, Outcome, Report};
use serde_json::{Value, json};

use crate::programs::{DOMAINS, Programs};

/// How often a case is asked again whose answer is another than ours. Some answers of the kubelet hang on the order in
/// which its maps are walked or its threads run: if it gives ours in another run, that is a listed difference.
const AGAIN: usize = 5;

/// Where fresh cases come from.
#[derive(Debug, clap::Args)]
pub(super) struct Live {
    /// Also ask the kubelet's own code: the folder of its Go programs, with their data beside it.
    #[arg(long = "live", id = "live", value_name = "SRC")]
    programs: Option<PathBuf>,
    /// Seed of the fresh cases.
    #[arg(long, requires = "live", default_value_t = 1)]
    seed: u64,
    /// How many cases are made for each domain.
    #[arg(long, requires = "live", default_value_t = 100)]
    count: u32,
    /// Only this domain.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(DOMAINS.iter().map(|(domain, _)| *domain)))]
    domain: Option<String>,
    /// Only this kind of the domain.
    #[arg(long, requires = "domain")]
    kind: Option<String>,
    /// Ask the cases of this file, one a line, instead of making some.
    #[arg(long, requires = "domain", value_name = "FILE")]
    cases: Option<PathBuf>,
}

impl Live {
    /// The domain that is asked for; `None`: all.
    pub(super) fn domain(&self) -> Option<&str> {
        self.domain.as_deref()
    }

    /// Asks, plays and counts; nothing if no programs are given.
    pub(super) fn play(&self, report: &mut Report) -> anyhow::Result<()> {
        let Some(source) = &self.programs else { return Ok(()) };
        let wanted: Vec<_> = DOMAINS
            .iter()
            .filter(|(domain, _)| self.domain.as_deref().is_none_or(|only| only == *domain))
            .collect();
        let data = source.parent().filter(|parent| !parent.as_os_str().is_empty());
        let data = data.map_or_else(|| source.join(".."), Path::to_path_buf);
        let programs = Programs::build(source, &data, &wanted)?;
        let corpus = Corpus::at(data);
        for (domain, program) in wanted {
            let kind = if *domain == "quantity" { Some("quantity") } else { self.kind.as_deref() };
            let text = match &self.cases {
                Some(file) => {
                    fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?
                }
                None => programs.generate(program, self.seed, self.count, kind)?,
            };
            let (asked, skipped) = questions(domain, &text, self.kind.as_deref())?;
            for case in skipped {
                report.count(&case, Outcome::Skipped);
            }
            if asked.is_empty() {
                continue;
            }
            let asking = Asking { programs: &programs, program, domain, corpus: &corpus };
            asking.count(&asked, report)?;
        }
        Ok(())
    }
}

/// One domain's program, and what its answers are compared with.
struct Asking<'a> {
    programs: &'a Programs,
    program: &'a str,
    domain: &'a str,
    corpus: &'a Corpus,
}

impl Asking<'_> {
    /// Asks and counts; what differs is asked again.
    fn count(&self, questions: &[Value], report: &mut Report) -> anyhow::Result<()> {
        let domain = self.domain;
        eprintln!("{domain}: asking {} cases", questions.len());
        let mut differing = Vec::new();
        for (case, outcome) in self.ask(questions)? {
            if matches!(outcome, Outcome::Failed { .. }) {
                differing.push((case, outcome));
            } else {
                report.count(&case, outcome);
            }
        }
        for _ in 0..AGAIN {
            if differing.is_empty() {
                break;
            }
            eprintln!("{domain}: asking {} that differ again", differing.len());
            let questions: Vec<Value> = differing.iter().map(|(case, _)| case.input.clone()).collect();
            let again = self.ask(&questions)?;
            let mut left = Vec::new();
            for (before, (case, outcome)) in differing.into_iter().zip(again) {
                // A run that took too long says nothing.
                if matches!(outcome, Outcome::Failed { .. }) || case.expected == Expected::Hang {
                    left.push(before);
                } else {
                    report.count(&case, Outcome::Listed);
                }
            }
            differing = left;
        }
        for (case, outcome) in differing {
            report.count(&case, outcome);
        }
        Ok(())
    }

    /// The kubelet's answers, and what ours are beside them.
    fn ask(&self, questions: &[Value]) -> anyhow::Result<Vec<(Case, Outcome)>> {
        let answers = self.programs.ask(self.program, self.domain, questions)?;
        let played = questions.iter().zip(answers).map(|(question, answer)| {
            let case = Case::answered(self.domain, "", question.clone(), answer)?;
            let outcome = conformance::play(self.corpus, &case);
            Ok((case, outcome))
        });
        played.collect()
    }
}

/// The cases of a domain that are played here, and those that are not.
fn questions(domain: &str, text: &str, kind: Option<&str>) -> anyhow::Result<(Vec<Value>, Vec<Case>)> {
    let (mut asked, mut skipped) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let mut line: Value =
            serde_json::from_str(line).with_context(|| format!("case {} of {domain} is no JSON", at + 1))?;
        // Some programs write the case alone, with its id in it.
        let id = line["id"].clone();
        let mut case = if line.get("case").is_some() { line["case"].take() } else { line };
        let own = case["kind"].as_str().unwrap_or_default().to_owned();
        if kind.is_some_and(|kind| kind != own) {
            continue;
        }
        if conformance::is_covered(domain, &own) {
            case["id"] = id;
            asked.push(case);
        } else {
            skipped.push(Case::answered(domain, "", case, json!({ "id": id, "hang": true }))?);
        }
    }
    Ok((asked, skipped))
}
