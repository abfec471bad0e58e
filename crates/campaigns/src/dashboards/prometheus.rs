//! A Prometheus with the rules of `deploy`, and what it answers.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use serde_json::Value;
use workspace_tools::client::{Request, over_tcp};
use workspace_tools::workspace::root;

use super::programs::{PATIENCE, Process, address};

pub(super) struct Prometheus {
    pub(super) address: String,
    _process: Process,
}

/// One series of an answer.
pub(super) struct Series {
    labels: Value,
    /// Seconds and values.
    pub(super) points: Vec<(f64, f64)>,
}

impl Series {
    /// As Grafana fills in `{{LABEL}}`.
    pub(super) fn called(&self, format: &str) -> String {
        let mut name = format.to_owned();
        for (label, value) in self.labels.as_object().into_iter().flatten() {
            name = name.replace(&format!("{{{{{label}}}}}"), value.as_str().unwrap_or_default());
        }
        name
    }
}

impl Prometheus {
    /// With its data in `folder`, scraping these nodes each second.
    pub(super) fn start(folder: &Path, nodes: &[(&str, &str)]) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let rules = root().join("deploy/prometheus/topolet.rules.yaml");
        let mut config = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n".to_owned();
        // What was before is asked for, and not evaluated again now.
        if !nodes.is_empty() {
            let _ = writeln!(
                config,
                "rule_files: ['{}']\nscrape_configs:\n- job_name: topolet\n  static_configs:",
                rules.display()
            );
        }
        for (name, address) in nodes {
            let _ = writeln!(config, "  - {{targets: ['{address}'], labels: {{node: {name}}}}}");
        }
        let file = folder.join("prometheus.yml");
        fs::write(&file, config)?;
        let address = address()?;
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.args(["--storage.tsdb.retention.time=30d", &format!("--web.listen-address={address}")]);
        let log = folder.join("prometheus.log");
        let prometheus = Self { address, _process: Process::start(&mut command, &log)? };
        let began = Instant::now();
        while prometheus.get("/-/ready").is_err() {
            ensure!(began.elapsed() < PATIENCE, "Prometheus is not ready: {} says why", log.display());
            sleep(Duration::from_millis(100));
        }
        Ok(prometheus)
    }

    /// The body of an answer that says that all is well.
    fn get(&self, path: &str) -> anyhow::Result<String> {
        let request = Request { host: &self.address, ..Request::new("GET", path) };
        let reply = over_tcp(&request, &self.address, PATIENCE)?;
        ensure!(reply.status == 200, "{path}: {}", reply.body);
        Ok(reply.body)
    }

    fn data(&self, path: &str) -> anyhow::Result<Value> {
        let mut answer: Value = serde_json::from_str(&self.get(path)?)?;
        ensure!(answer["status"] == "success", "{path}: {answer}");
        Ok(answer["data"].take())
    }

    /// What there is now, but for what is no number.
    pub(super) fn query(&self, query: &str) -> anyhow::Result<Vec<Series>> {
        let data = self.data(&format!("/api/v1/query?query={}", encoded(query)))?;
        series(&data)
    }

    /// What there was.
    pub(super) fn range(&self, query: &str, start: u64, end: u64, step: u64) -> anyhow::Result<Vec<Series>> {
        let query = encoded(query);
        series(&self.data(&format!("/api/v1/query_range?query={query}&start={start}&end={end}&step={step}"))?)
    }

    /// Waits until a query has an answer.
    pub(super) fn until(&self, what: &str, query: &str, patience: Duration) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.query(query)?.is_empty() {
            ensure!(began.elapsed() < patience, "it does not come that {what}: {query}");
            sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// Every rule has been evaluated without an error; those that warn.
    pub(super) fn rules_are_well(&self) -> anyhow::Result<Vec<String>> {
        let data = self.data("/api/v1/rules")?;
        let groups = data["groups"].as_array().context("there are no rules")?;
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten());
        let mut firing = Vec::new();
        for rule in rules {
            if rule["health"] != "ok" {
                bail!("a rule is not evaluated: {rule}");
            }
            // What is pending has not lasted long enough to warn of.
            if rule["type"] == "alerting" && rule["state"] == "firing" {
                firing.push(rule["name"].to_string());
            }
        }
        Ok(firing)
    }
}

fn series(data: &Value) -> anyhow::Result<Vec<Series>> {
    let point = |point: &Value| -> anyhow::Result<(f64, f64)> {
        let text = point[1].as_str().context("a sample has no value")?;
        Ok((point[0].as_f64().context("a sample has no time")?, text.parse()?))
    };
    let mut all = Vec::new();
    for found in data["result"].as_array().context("there is no result")? {
        let points = match found["values"].as_array() {
            Some(values) => values.iter().map(point).collect::<anyhow::Result<Vec<_>>>()?,
            None => vec![point(&found["value"])?],
        };
        let points: Vec<_> = points.into_iter().filter(|(_, value)| value.is_finite()).collect();
        if !points.is_empty() {
            all.push(Series { labels: found["metric"].clone(), points });
        }
    }
    Ok(all)
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
