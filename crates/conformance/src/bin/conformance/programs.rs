//! The Go programs that ask the kubelet's own code: built and run below `target/oracle`; where they come from stays as
//! it is.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// The domains that have a program; `quantity` is asked of that for memory.
pub(super) const DOMAINS: &[(&str, &str)] = &[
    ("admission", "admission"),
    ("cpu", "cpu"),
    ("device", "device"),
    ("memory", "memory"),
    ("quantity", "memory"),
    ("topology", "topology"),
];

/// Programs that play cases within themselves. One that they give up plays on, and what it counts and switches shows in
/// the answers that follow.
const WITHIN: [&str; 2] = ["device", "memory"];

/// How a program ended.
enum Ended {
    /// By itself, after the last case.
    Answered,
    /// At a case that it gave up; those after it are to be asked again.
    GaveUp,
}

/// The built programs and their data.
pub(super) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Copies the sources, builds the programs of these domains and unpacks the machines that cases name, which lie
    /// below `data`.
    pub(super) fn build(source: &Path, data: &Path, wanted: &[&(&str, &str)]) -> anyhow::Result<Self> {
        ensure!(source.join("go.mod").is_file(), "{} holds no Go module", source.display());
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(target, PathBuf::from);
        let folder = target.join("oracle");
        copy(source, &folder.join("src"))?;
        for (from, to) in [
            ("machineinfo", "machineinfo"),
            ("admission/machines", "machineinfo"),
            ("admission/machines", "admission-machines"),
        ] {
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

    pub(super) fn generate(
        &self,
        program: &str,
        seed: u64,
        count: u32,
        kind: Option<&str>,
    ) -> anyhow::Result<String> {
        let mut command = self.command(program, &["gen"]);
        command.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
        if let Some(kind) = kind {
            command.args(["--kind", kind]);
        }
        self.output(command, program, "gen")
    }

    /// The kubelet's answers, in the order of the questions.
    pub(super) fn ask(&self, program: &str, domain: &str, questions: &[Value]) -> anyhow::Result<Vec<Value>> {
        let lines: Vec<String> = questions.iter().map(|question| as_asked(domain, question)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        // Whole nodes answer differently from run to run; this form runs each several times and marks such places.
        let form: &[&str] = if program == "admission" { &["vectors"] } else { &["run"] };
        let mut answers = self.ask_all(program, domain, form, &lines)?;
        if program == "admission" {
            // A case has its time for all its runs together, which is too little for some on many nodes.
            let (late, again): (Vec<&mut Value>, Vec<&str>) =
                answers.iter_mut().zip(lines).filter(|(answer, _)| answer["hang"] == json!(true)).unzip();
            let found = self.ask_all(program, domain, &["vectors", "--times", "1"], &again)?;
            late.into_iter().zip(found).for_each(|(answer, found)| *answer = found);
        }
        for answer in &answers {
            if let Some(fault) = ["error", "bad_case"].iter().find_map(|name| fault(answer, name)) {
                bail!("{program} does not take case {}: {fault}", answer["id"]);
            }
        }
        Ok(answers)
    }

    fn ask_all(
        &self,
        program: &str,
        domain: &str,
        form: &[&str],
        lines: &[&str],
    ) -> anyhow::Result<Vec<Value>> {
        let mut answers = Vec::with_capacity(lines.len());
        while let Some(left) = lines.get(answers.len()..).filter(|left| !left.is_empty()) {
            match self.ask_once(program, domain, form, left, &mut answers)? {
                Ended::GaveUp => {}
                Ended::Answered => break,
            }
        }
        let (answered, asked) = (answers.len(), lines.len());
        ensure!(answered == asked, "{program} answered {answered} of {asked} cases");
        Ok(answers)
    }

    /// Takes the answers of one process, up to a case that it gave up and cannot end.
    fn ask_once(
        &self,
        program: &str,
        domain: &str,
        form: &[&str],
        lines: &[&str],
        answers: &mut Vec<Value>,
    ) -> anyhow::Result<Ended> {
        let path = self.folder.join(format!("{domain}.cases"));
        fs::write(&path, lines.join("\n") + "\n")?;
        let mut command = self.command(program, form);
        // The questions come from a file, so that nobody has to write them while the answers are read.
        command.stdin(File::open(&path)?).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("failed to start {program}"))?;
        let output = child.stdout.take().with_context(|| format!("{program} has no output"))?;
        for line in BufReader::new(output).lines() {
            let answer: Value =
                serde_json::from_str(&line?).with_context(|| format!("an answer of {program} is no JSON"))?;
            let is_running = WITHIN.contains(&program) && answer["hang"] == json!(true);
            answers.push(answer);
            if is_running {
                child.kill()?;
                child.wait()?;
                return Ok(Ended::GaveUp);
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "`{program} {}` failed: {status}", form.join(" "));
        Ok(Ended::Answered)
    }

    fn command(&self, program: &str, form: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(program));
        command.args(form).current_dir(&self.folder).stdin(Stdio::null());
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
