//! Cases of one domain, asked of the kubelet's own code and played here.

use anyhow::Context as _;
use conformance::{Case, Corpus, Expected, Listed, Outcome, Report};
use serde_json::{Value, json};

use crate::programs::{Attempt, Programs, complaint};

/// How often a case is asked again whose answer is another than ours. Some answers of the kubelet hang on the order in
/// which its maps are walked or its threads run: if it gives ours in another run, that is a listed difference.
const AGAIN: usize = 5;

/// One domain's program, and what its answers are compared with.
pub(super) struct Asking<'a> {
    pub(super) programs: &'a Programs,
    pub(super) program: &'a str,
    pub(super) domain: &'a str,
    pub(super) corpus: &'a Corpus,
}

impl Asking<'_> {
    /// Asks the cases of a text, one a line, and counts; only those of `kind`, if one is given. Cases that are not
    /// played here are counted as skipped.
    pub(super) fn count_text(
        &self,
        text: &str,
        kind: Option<&str>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (asked, skipped) = questions(self.domain, text, kind)?;
        for case in skipped {
            report.count(&case, Outcome::Skipped);
        }
        if !asked.is_empty() {
            self.count(&asked, report)?;
        }
        Ok(())
    }

    /// Asks and counts; what differs is asked again.
    fn count(&self, questions: &[Value], report: &mut Report) -> anyhow::Result<()> {
        let domain = self.domain;
        let mut differing = Vec::new();
        for (case, outcome) in self.ask(questions, Attempt::First)? {
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
            let again = self.ask(&questions, Attempt::Again)?;
            let mut left = Vec::new();
            for (before, (case, outcome)) in differing.into_iter().zip(again) {
                // A run that took too long says nothing.
                if matches!(outcome, Outcome::Failed { .. }) || case.expected == Expected::Hang {
                    left.push(before);
                } else {
                    report.count(&case, Outcome::Listed(Listed::Reproduced));
                }
            }
            differing = left;
        }
        for (case, outcome) in differing {
            report.count(&case, outcome);
        }
        Ok(())
    }

    /// The kubelet's answers, and what ours are beside them. A case that its program does not take has failed.
    fn ask(&self, questions: &[Value], attempt: Attempt) -> anyhow::Result<Vec<(Case, Outcome)>> {
        let answers = self.programs.ask(self.program, self.domain, questions, attempt)?;
        let played = questions.iter().zip(answers).map(|(question, answer)| {
            if let Some(complaint) = complaint(&answer) {
                let answer = json!({ "id": question["id"], "panic": complaint });
                let case = Case::answered(self.domain, "", question.clone(), answer)?;
                return Ok((
                    case,
                    Outcome::Failed { got: json!("not played: the kubelet's side has no answer") },
                ));
            }
            let case = Case::answered(self.domain, "", question.clone(), answer)?;
            let case = case.of(self.corpus.release());
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
