//! The Go programs that ask the kubelet's own code: built and run below `target/oracle`; where they come from stays as
//! it is.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, ensure};
use conformance::Corpus;
use serde_json::{Value, json};

use crate::module;

/// The domains that have a program in one module or another; `quantity` is asked of that for memory.
pub(super) const DOMAINS: &[(&str, &str)] = &[
    ("admission", "admission"),
    ("allocate", "allocate"),
    ("cel", "cel"),
    ("cpu", "cpu"),
    ("device", "device"),
    ("extended", "extended"),
    ("memory", "memory"),
    ("numa", "numa"),
    ("pools", "pools"),
    ("quantity", "memory"),
    ("topology", "topology"),
    ("validate", "validate"),
];

/// The domains of a module's programs, of those with this name or of all.
pub(super) fn domains(
    source: &Path,
    only: Option<&str>,
) -> anyhow::Result<Vec<&'static (&'static str, &'static str)>> {
    let has = |(_, program): &&(&str, &str)| source.join("cmd").join(program).is_dir();
    let wanted = DOMAINS.iter().filter(|(domain, _)| only.is_none_or(|only| only == *domain));
    let found: Vec<_> = wanted.filter(has).collect();
    ensure!(!found.is_empty(), "{} holds no Go module with a program for that", source.display());
    Ok(found)
}

/// Programs that play cases within themselves. One that they give up plays on, and what it counts and switches shows in
/// the answers that follow.
const WITHIN: [&str; 2] = ["device", "memory"];

/// How often in a row a program may end without an answer.
const ENDS: usize = 10;

/// Bytes of an answer above which it counts as none: as a value it would take gigabytes. Every set of 24 NUMA nodes is
/// more.
const LARGEST: u64 = 64 << 20;

/// How a program ended.
enum Ended {
    /// By itself, after the last case.
    Answered,
    /// At a case that it gave up; those after it are to be asked again.
    GaveUp,
    /// At a case that it has no answer to.
    Died(ExitStatus),
}

/// Whether cases were asked before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attempt {
    First,
    /// Since their answer was another than ours.
    Again,
}

/// The built programs and their data.
pub(super) struct Programs {
    folder: PathBuf,
    /// The programs in it.
    bin: String,
}

impl Programs {
    /// Copies the sources, builds the programs of these domains and unpacks the machines that cases name, which lie
    /// with the cases of `data` or those that they are laid over. `kubelet` is the release that they are built against, if it is not that of the module's own
    /// `go.mod`.
    pub(super) fn build(
        source: &Path,
        data: &Corpus,
        wanted: &[&(&str, &str)],
        kubelet: Option<&str>,
    ) -> anyhow::Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(target, PathBuf::from);
        let folder = target.join("oracle");
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        // Runs beside each other share the programs.
        let lock = File::create(folder.join("lock")).context("failed to make the lock of the programs")?;
        lock.lock().context("failed to wait for another build of the programs")?;
        let own = folder.join("src");
        if own.is_dir() {
            fs::remove_dir_all(&own).context("failed to remove the programs of an earlier run")?;
        }
        copy(source, &own)?;
        for (from, to) in [
            ("machineinfo", "machineinfo"),
            ("admission/machines", "machineinfo"),
            ("admission/machines", "admission-machines"),
        ] {
            let from = data.data(from);
            if from.is_dir() {
                conformance::unpack(&from, &folder.join(to))?;
            }
        }
        let mut programs: Vec<String> =
            wanted.iter().map(|(_, program)| format!("./cmd/{program}")).collect();
        programs.dedup();
        eprintln!("building the kubelet's own code (minutes, the first time)");
        let bin = kubelet.map_or_else(|| "bin".to_owned(), |kubelet| format!("bin-{kubelet}"));
        let mut go = Command::new("go");
        go.args(["build", "-o", &format!("../{bin}/")]);
        if let Some(kubelet) = kubelet {
            let module = module::prepare(&own, kubelet)?;
            go.args(module.arguments).envs(module.toolchain.map(|toolchain| ("GOTOOLCHAIN", toolchain)));
        }
        go.args(programs).current_dir(&own);
        let status = go.status().context("failed to start Go, which has to be installed")?;
        ensure!(status.success(), "`go build` failed: {status}");
        Ok(Self { folder: folder.canonicalize()?, bin })
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

    /// The kubelet's answers, in the order of the questions. What it did not take is answered with a complaint: see
    /// [`complaint`].
    pub(super) fn ask(
        &self,
        program: &str,
        domain: &str,
        questions: &[Value],
        attempt: Attempt,
    ) -> anyhow::Result<Vec<Value>> {
        let lines: Vec<String> = questions.iter().map(|question| as_asked(domain, question)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let form: &[&str] = match (program, attempt) {
            // Whole nodes answer differently from run to run; this form runs each several times and marks such places.
            ("admission", _) => &["vectors"],
            // Some searches take hours; pools of the allocator `stable` come in the order of a map.
            ("allocate", Attempt::First) => &["run", "--timeout", "1s"],
            ("allocate", Attempt::Again) => &["run", "--timeout", "1s", "--times", "400"],
            _ => &["run"],
        };
        let mut answers = self.ask_all(program, form, &lines)?;
        if program == "admission" {
            // A case has its time for all its runs together, which is too little for some on many nodes.
            let (late, again): (Vec<&mut Value>, Vec<&str>) =
                answers.iter_mut().zip(lines).filter(|(answer, _)| answer["hang"] == json!(true)).unzip();
            let found = self.ask_all(program, &["vectors", "--times", "1"], &again)?;
            late.into_iter().zip(found).for_each(|(answer, found)| *answer = found);
        }
        Ok(answers)
    }

    fn ask_all(&self, program: &str, form: &[&str], lines: &[&str]) -> anyhow::Result<Vec<Value>> {
        let mut answers = Vec::with_capacity(lines.len());
        let mut ends = 0;
        while let Some(left) = lines.get(answers.len()..).filter(|left| !left.is_empty()) {
            let before = answers.len();
            match self.ask_once(program, form, left, &mut answers)? {
                Ended::GaveUp => {}
                Ended::Answered => break,
                Ended::Died(status) => {
                    ends = if answers.len() > before { 0 } else { ends + 1 };
                    ensure!(ends < ENDS, "`{program} {}` failed: {status}", form.join(" "));
                    let line: Value =
                        serde_json::from_str(lines.get(answers.len()).copied().unwrap_or("{}"))?;
                    answers.push(json!({ "id": line["id"], "error": format!("{program} ended: {status}") }));
                }
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
        form: &[&str],
        lines: &[&str],
        answers: &mut Vec<Value>,
    ) -> anyhow::Result<Ended> {
        // The questions come from a file, so that no thread has to write them while the answers are read.
        let mut questions = self.file()?;
        questions.write_all((lines.join("\n") + "\n").as_bytes()).context("failed to write the questions")?;
        questions.rewind()?;
        let mut command = self.command(program, form);
        command.stdin(questions).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("failed to start {program}"))?;
        let output = child.stdout.take().with_context(|| format!("{program} has no output"))?;
        let mut output = BufReader::new(output);
        while let Some(line) = next_line(&mut output, LARGEST)? {
            let answer: Value = match line {
                Line::Whole(line) => serde_json::from_slice(&line)
                    .with_context(|| format!("an answer of {program} is no JSON"))?,
                Line::TooLong => json!({ "hang": true }),
            };
            let is_running = WITHIN.contains(&program) && answer["hang"] == json!(true);
            answers.push(answer);
            if is_running {
                child.kill()?;
                child.wait()?;
                return Ok(Ended::GaveUp);
            }
        }
        let status = child.wait()?;
        Ok(if status.success() { Ended::Answered } else { Ended::Died(status) })
    }

    fn command(&self, program: &str, form: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join(&self.bin).join(program));
        command.args(form).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// What a program prints. It goes through a file, so that large answers need no second thread.
    fn output(&self, mut command: Command, program: &str, form: &str) -> anyhow::Result<String> {
        let mut file = self.file()?;
        let status = command
            .stdout(file.try_clone()?)
            .status()
            .with_context(|| format!("failed to start {program}"))?;
        ensure!(status.success(), "`{program} {form}` failed: {status}");
        file.rewind()?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("failed to read what {program} prints"))?;
        Ok(text)
    }

    /// A file without a name: runs beside each other have one each, and it goes with who made it.
    fn file(&self) -> anyhow::Result<File> {
        tempfile::tempfile_in(&self.folder)
            .with_context(|| format!("failed to make a file in {}", self.folder.display()))
    }
}

/// A line of output.
enum Line {
    Whole(Vec<u8>),
    /// Longer than is read.
    TooLong,
}

/// The next line, of which no more than `limit` bytes are kept; `None` at the end.
fn next_line(output: &mut impl BufRead, limit: u64) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    output.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") || (line.len() as u64) < limit {
        return Ok(Some(Line::Whole(line)));
    }
    output.skip_until(b'\n')?;
    Ok(Some(Line::TooLong))
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

/// Why a program did not take a case: what stands where its answer should.
pub(super) fn complaint(answer: &Value) -> Option<&str> {
    ["error", "bad_case"].into_iter().find_map(|name| fault(answer, name))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over() -> std::io::Result<()> {
        let mut output = &b"first\nmuch too long\nlast"[..];
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut output, 8)? {
            lines.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(&line).trim_end().to_owned(),
                Line::TooLong => "...".to_owned(),
            });
        }
        assert_eq!(lines, ["first", "...", "last"]);
        Ok(())
    }
}
