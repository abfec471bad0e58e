//! Fresh cases, asked of the kubelet's own code on the spot.
//!
//! The Go programs that recorded the cases are copied, built and run below `target/oracle`; where they come from stays
//! as it is. Only cases that are played here are asked: the others are counted as skipped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use conformance::{Case, Corpus, Outcome, Report};
use serde_json::{Value, json};

/// The domains that have a program; `quantity` is asked of that for memory.
const DOMAINS: &[(&str, &str)] = &[
    ("admission", "admission"),
    ("cpu", "cpu"),
    ("device", "device"),
    ("memory", "memory"),
    ("quantity", "memory"),
    ("topology", "topology"),
];

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
    #[arg(long, requires = "live", value_parser = clap::builder::PossibleValuesParser::new(DOMAINS.iter().map(|(domain, _)| *domain)))]
    domain: Option<String>,
    /// Only this kind of the domain.
    #[arg(long, requires = "domain")]
    kind: Option<String>,
    /// Ask the cases of this file, one a line, instead of making some.
    #[arg(long, requires = "domain", value_name = "FILE")]
    cases: Option<PathBuf>,
}

/// The built programs and their data.
struct Programs {
    folder: PathBuf,
}

impl Live {
    /// Asks, plays and counts; nothing if no programs are given.
    pub(super) fn play(&self, report: &mut Report) -> anyhow::Result<()> {
        let Some(source) = &self.programs else { return Ok(()) };
        let wanted: Vec<_> = DOMAINS
            .iter()
            .filter(|(domain, _)| self.domain.as_deref().is_none_or(|only| only == *domain))
            .collect();
        let programs = Programs::build(source, &wanted)?;
        let data = source.parent().filter(|parent| !parent.as_os_str().is_empty());
        let corpus = Corpus::at(data.map_or_else(|| source.join(".."), Path::to_path_buf));
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
            eprintln!("{domain}: asking {} cases", asked.len());
            let answers = programs.ask(program, domain, &asked)?;
            ensure!(
                answers.len() == asked.len(),
                "{program} answered {} of {} cases",
                answers.len(),
                asked.len()
            );
            for (question, answer) in asked.into_iter().zip(answers) {
                let case = Case::answered(domain, "", question, answer)?;
                let outcome = conformance::play(&corpus, &case);
                report.count(&case, outcome);
            }
        }
        Ok(())
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

impl Programs {
    /// Copies the sources, builds the programs of these domains and unpacks the machines that cases name.
    fn build(source: &Path, wanted: &[&(&str, &str)]) -> anyhow::Result<Self> {
        ensure!(source.join("go.mod").is_file(), "{} holds no Go module", source.display());
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(target, PathBuf::from);
        let folder = target.join("oracle");
        copy(source, &folder.join("src"))?;
        let data = source.join("..");
        for (from, to) in [("machineinfo", "machineinfo"), ("admission/machines", "admission-machines")] {
            if data.join(from).is_dir() {
                conformance::unpack(&data.join(from), &folder.join(to))?;
            }
        }
        let mut programs: Vec<String> =
            wanted.iter().map(|(_, program)| format!("./cmd/{program}")).collect();
        programs.dedup();
        eprintln!("building the kubelet's own code (minutes, the first time)");
        let mut go = Command::new("go");
        go.args(["build", "-o", "../bin/"]).args(programs).current_dir(folder.join("src"));
        let status = go.status().context("failed to start Go, which has to be installed")?;
        ensure!(status.success(), "`go build` failed: {status}");
        Ok(Self { folder: folder.canonicalize()? })
    }

    fn generate(&self, program: &str, seed: u64, count: u32, kind: Option<&str>) -> anyhow::Result<String> {
        let mut command = self.command(program, "gen");
        command.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
        if let Some(kind) = kind {
            command.args(["--kind", kind]);
        }
        self.output(command, program, "gen")
    }

    /// The kubelet's answers, in the order of the questions.
    fn ask(&self, program: &str, domain: &str, questions: &[Value]) -> anyhow::Result<Vec<Value>> {
        let path = self.folder.join(format!("{domain}.cases"));
        let lines: Vec<String> = questions.iter().map(|question| as_asked(domain, question)).collect();
        fs::write(&path, lines.join("\n") + "\n")?;
        // Whole nodes answer differently from run to run; this form runs each several times and marks such places.
        let form = if program == "admission" { "vectors" } else { "run" };
        let mut command = self.command(program, form);
        command.stdin(File::open(&path)?);
        let text = self.output(command, program, form)?;
        let parsed = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        let answers = parsed.with_context(|| format!("an answer of {program} is no JSON"))?;
        for answer in &answers {
            if let Some(fault) = ["error", "bad_case"].iter().find_map(|name| fault(answer, name)) {
                bail!("{program} does not take case {}: {fault}", answer["id"]);
            }
        }
        Ok(answers)
    }

    fn command(&self, program: &str, form: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(program));
        command.arg(form).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// What a program prints. It goes through a file, so that large answers need no second thread.
    fn output(&self, mut command: Command, program: &str, form: &str) -> anyhow::Result<String> {
        let path = self.folder.join(format!("{program}.{form}.out"));
        let status = command
            .stdout(File::create(&path)?)
            .status()
            .with_context(|| format!("failed to start {program}"))?;
        ensure!(status.success(), "`{program} {form}` failed: {status}");
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    }
}

/// A case as its program reads it: whole nodes have their id beside the case.
fn as_asked(domain: &str, question: &Value) -> String {
    if domain == "admission" {
        let mut case = question.clone();
        let id = case.as_object_mut().and_then(|fields| fields.remove("id"));
        return json!({ "id": id, "case": case }).to_string();
    }
    question.to_string()
}

/// A complaint about a case that stands where its answer should.
fn fault<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    let answered = ["result", "panic", "hang"].iter().any(|field| answer.get(field).is_some());
    if answered {
        answer["result"].get(name).filter(|_| name == "bad_case")?.as_str()
    } else {
        answer[name].as_str()
    }
}

/// The workspace's own build folder.
fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// Copies the files of a folder and those below it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("failed to create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            // The text, not the file: what is copied may be read-only.
            let text = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
            fs::write(&target, text).with_context(|| format!("failed to write {}", target.display()))?;
        }
    }
    Ok(())
}
