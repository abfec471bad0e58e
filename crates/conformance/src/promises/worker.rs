//! The kubelet's own code in a process that may crash or hang: `admission steps`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// Bytes of memory beyond which a process counts as one that does not answer: every set of 26 NUMA nodes as a hint is more.
const MOST_MEMORY: u64 = 3 << 30;

/// The program, and the folder of machines that it reads.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) machines: PathBuf,
}

/// A running process.
pub(super) struct Worker {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// What came of a question.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Answer {
        value: Value,
        /// CPU time, or less if the clock says so.
        took: Duration,
    },
    /// The process ended.
    Died,
    /// Not within the time that was given, or not within memory.
    Silent,
}

impl Worker {
    pub(super) fn start(program: &Program) -> anyhow::Result<Self> {
        let mut command = Command::new(&program.path);
        command.arg("steps").env("ADMISSION_MACHINES", &program.machines);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().with_context(|| format!("failed to start {}", program.path.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the program has no pipes");
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    /// Asks a line, and waits so long for the answer.
    ///
    /// # Errors
    /// The line cannot be asked.
    pub(super) fn ask(&mut self, line: &Value, patience: Duration) -> anyhow::Result<Reply> {
        let began = Instant::now();
        if self.input.write_all(format!("{line}\n").as_bytes()).is_err() {
            return Ok(Reply::Died);
        }
        let line = loop {
            let left = patience.saturating_sub(began.elapsed());
            match self.lines.recv_timeout(left.min(Duration::from_millis(200))) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Disconnected) => return Ok(Reply::Died),
                Err(RecvTimeoutError::Timeout) if left.is_zero() || self.memory() > MOST_MEMORY => {
                    return Ok(Reply::Silent);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let mut reply: Value = serde_json::from_str(&line).context("an answer is no JSON")?;
        if let Some(error) = reply["error"].as_str() {
            bail!("the question cannot be asked: {error}");
        }
        let busy = Duration::from_millis(reply["ms"].as_u64().unwrap_or(0));
        Ok(Reply::Answer { value: reply["answer"].take(), took: busy.min(began.elapsed()) })
    }

    /// Bytes that the answering process holds: the child of the child, which has a separate namespace.
    fn memory(&self) -> u64 {
        let own = self.child.id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let all = children.split_whitespace().map(|id| {
            let path = Path::new("/proc").join(id).join("statm");
            let pages = fs::read_to_string(path).unwrap_or_default();
            pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
        });
        all.sum()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its own child goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line that begins a node.
pub(super) fn begin(case: &Value) -> Value {
    json!({ "case": case })
}

/// The line of a step.
pub(super) fn step(step: &Value) -> Value {
    json!({ "step": step })
}
