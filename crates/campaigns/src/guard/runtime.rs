//! The scripted runtime: lines of JSON to it, and its answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

pub(super) struct Runtime {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Runtime {
    pub(super) fn start(program: &Path, socket: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg("-socket").arg(socket).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("failed to start the runtime")?;
        let input = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        let mut runtime = Self { child, input, output };
        // The socket is there once it has done something.
        runtime.send(&json!({ "op": "delay", "ms": 1 }))?;
        runtime.answer("delay", "")?;
        Ok(runtime)
    }

    fn send(&mut self, operation: &Value) -> anyhow::Result<()> {
        self.input.write_all(format!("{operation}\n").as_bytes())?;
        Ok(self.input.flush()?)
    }

    fn line(&mut self) -> anyhow::Result<Value> {
        let mut text = String::new();
        ensure!(self.output.read_line(&mut text)? > 0, "the runtime has ended");
        serde_json::from_str(&text).with_context(|| text.clone())
    }

    /// The answer to an operation; updates that come between are passed over.
    fn answer(&mut self, operation: &str, id: &str) -> anyhow::Result<Value> {
        loop {
            let line = self.line()?;
            if line["op"] == operation && (id.is_empty() || line["id"] == id) {
                ensure!(line["error"].is_null(), "{line}");
                return Ok(line);
            }
        }
    }

    fn do_it(&mut self, operation: &Value) -> anyhow::Result<Value> {
        self.send(operation)?;
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        self.answer(&text("op"), &text("id"))
    }

    /// A plugin has been synchronized.
    pub(super) fn synchronized(&mut self) -> anyhow::Result<()> {
        loop {
            let line = self.line()?;
            let is_of_plugin = line["calls"].as_array().is_some_and(|calls| !calls.is_empty());
            if line["op"] == "synchronized" && is_of_plugin {
                ensure!(line["error"].is_null(), "{line}");
                return Ok(());
            }
        }
    }

    pub(super) fn fill(&mut self, containers: usize) -> anyhow::Result<()> {
        let cpu = json!({ "cpu": { "cpus": "0-255" } });
        self.do_it(&json!({ "op": "fill", "pods": containers, "containers": containers, "pad": 2000, "resources": cpu }))?;
        Ok(())
    }

    pub(super) fn sandbox(&mut self, pod: &str) -> anyhow::Result<()> {
        let annotations = json!({ "kubernetes.io/config.source": "api" });
        self.do_it(&json!({ "op": "sandbox", "id": format!("p{pod}"), "uid": super::node::uid(pod), "annotations": annotations }))?;
        Ok(())
    }

    pub(super) fn begin_create(&mut self, name: &str, cpus: &str) -> anyhow::Result<()> {
        let resources = json!({ "cpu": { "cpus": cpus, "shares": { "value": "100" } } });
        self.send(&json!({ "op": "create", "id": name, "pod": format!("p{name}"), "resources": resources }))
    }

    /// The CPUs that the runtime has on record for the container that is created.
    pub(super) fn created(&mut self, name: &str) -> anyhow::Result<String> {
        let line = self.answer("create", name)?;
        Ok(line["applied"]["cpu"]["cpus"].as_str().context("no CPUs")?.to_owned())
    }

    pub(super) fn record(&mut self, name: &str) -> anyhow::Result<String> {
        let line = self.do_it(&json!({ "op": "container", "id": name }))?;
        Ok(line["applied"]["cpu"]["cpus"].as_str().context("no CPUs")?.to_owned())
    }

    pub(super) fn start_container(&mut self, name: &str) -> anyhow::Result<()> {
        self.do_it(&json!({ "op": "start", "id": name }))?;
        Ok(())
    }

    pub(super) fn update(&mut self, name: &str, cpus: &str) -> anyhow::Result<()> {
        self.do_it(&json!({ "op": "update", "id": name, "resources": { "cpu": { "cpus": cpus } } }))?;
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> anyhow::Result<()> {
        for operation in ["stop", "remove"] {
            self.do_it(&json!({ "op": operation, "id": name }))?;
        }
        for operation in ["stop_sandbox", "remove_sandbox"] {
            self.do_it(&json!({ "op": operation, "id": format!("p{name}") }))?;
        }
        Ok(())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // It has ended, unless a check has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
