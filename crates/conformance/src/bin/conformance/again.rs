//! Recorded cases asked anew: what another release of the kubelet answers otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use conformance::Case;
use serde_json::{Value, json};

use crate::programs::{DOMAINS, Programs, complaint};

/// Asks recorded cases anew.
#[derive(Debug, clap::Args)]
pub(super) struct Again {
    /// Instead of playing, ask the kubelet's own code the cases of this folder anew, and say which answers are others.
    #[arg(long = "again", id = "again", value_name = "DIR", requires = "programs")]
    cases: Option<PathBuf>,
    /// With --again: the Go module with its programs.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// With --again: write the new answers over the old ones.
    #[arg(long, requires = "again")]
    write: bool,
}

/// What came of one file.
#[derive(Default)]
struct Compared {
    same: usize,
    differing: Vec<String>,
    /// The lines with the new answers.
    text: String,
}

impl Again {
    /// Whether this is what was asked for.
    pub(super) const fn is_asked(&self) -> bool {
        self.cases.is_some()
    }

    /// Asks and compares; only `domain` if one is given.
    #[expect(clippy::print_stdout, reason = "the differences are what it is for")]
    pub(super) fn ask(&self, domain: Option<&str>) -> anyhow::Result<()> {
        let (Some(folder), Some(programs)) = (&self.cases, &self.programs) else { return Ok(()) };
        let wanted: Vec<_> =
            DOMAINS.iter().filter(|(own, _)| domain.is_none_or(|only| only == *own)).collect();
        let programs = Programs::build(programs, folder, &wanted)?;
        let mut all = Compared::default();
        for (domain, program) in wanted {
            for file in files(&folder.join(domain))? {
                let compared = ask_file(&programs, program, domain, &file)?;
                if self.write && !compared.differing.is_empty() {
                    fs::write(&file, &compared.text)
                        .with_context(|| format!("failed to write {}", file.display()))?;
                }
                all.same += compared.same;
                all.differing.extend(compared.differing);
            }
        }
        for difference in &all.differing {
            println!("{difference}");
        }
        println!("{} answers are the same, {} differ", all.same, all.differing.len());
        Ok(())
    }
}

/// The case files of a domain.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn ask_file(programs: &Programs, program: &str, domain: &str, file: &Path) -> anyhow::Result<Compared> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let mut compared = Compared::default();
    let (mut lines, mut asked) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).with_context(|| format!("{} holds no JSON lines", file.display()))?;
        // Data that cases name, and facts that take minutes of waiting, are not asked for.
        let kind = line["case"]["kind"].as_str().unwrap_or_default();
        let is_asked = line["case"].is_object() && !kind.is_empty() && !["fact", "watch"].contains(&kind);
        if is_asked {
            let mut question = line["case"].clone();
            question["id"] = line["id"].clone();
            asked.push(question);
        }
        lines.push((line, is_asked));
    }
    if asked.is_empty() {
        compared.text = text;
        return Ok(compared);
    }
    eprintln!("{}: asking {} cases", file.display(), asked.len());
    let answers = programs.ask(program, domain, &asked)?;
    for answer in &answers {
        if let Some(complaint) = complaint(answer) {
            bail!("{program} does not take case {}: {complaint}", answer["id"]);
        }
    }
    let mut answers = answers.into_iter();
    for (mut line, is_asked) in lines {
        if is_asked && let Some(answer) = answers.next() {
            let case = |line: &Value| Case::answered(domain, "", line["case"].clone(), line.clone());
            let mut new = json!({ "id": line["id"], "case": line["case"] });
            for field in ["result", "panic", "hang", "unstable"] {
                if let Some(value) = answer.get(field) {
                    new[field] = value.clone();
                }
            }
            let (before, now) = (case(&line)?, case(&new)?);
            if before.agrees_with(&now) {
                compared.same += 1;
            } else {
                compared.differing.push(format!("{domain} {}", before.id));
                line = new;
            }
        }
        compared.text += &(line.to_string() + "\n");
    }
    Ok(compared)
}
