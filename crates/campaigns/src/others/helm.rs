//! helm renders a chart, installs it in a cluster, and lists the release.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use local_cluster::{Cluster, Parts};
use serde_json::Value;

use super::trial::{Outcome, Trial, object};

const CHART: &str = "apiVersion: v2\nname: tiny\nversion: 0.1.0\n";
const VALUES: &str = "word: none\n";
const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-words'}
data: {word: '{{ .Values.word }}'}
";

pub(super) fn attempt(trial: &Trial, file: &Path, version: &str) -> anyhow::Result<Outcome> {
    let folder = tempfile::Builder::new().prefix("helm").tempdir()?;
    let chart = folder.path().join("tiny");
    fs::create_dir_all(chart.join("templates"))?;
    for (name, text) in [("Chart.yaml", CHART), ("values.yaml", VALUES), ("templates/words.yaml", TEMPLATE)] {
        fs::write(chart.join(name), text)?;
    }
    let cluster = trial.cluster(Parts::Scheduler)?;
    let helm = |arguments: &[&str]| output_of(file, &cluster, folder.path(), arguments);

    let says = helm(&["version", "--short"])?;
    ensure!(says.starts_with(&format!("v{version}")), "`helm version` says {says}, not v{version}");
    let chart = chart.display().to_string();
    let chosen = ["first", &chart, "--set", "word=ours"];
    let rendered = helm(&[&["template"], &chosen[..]].concat())?;
    ensure!(rendered.contains("word: 'ours'"), "`helm template` renders\n{rendered}");
    helm(&[&["install", "--wait", "--timeout", "60s"], &chosen[..]].concat())?;
    let listed: Value = serde_json::from_str(&helm(&["list", "--output", "json"])?)?;
    ensure!(listed[0]["name"] == "first" && listed[0]["status"] == "deployed", "`helm list` lists {listed}");
    let made = object(&cluster, &["configmap", "first-words"])?;
    ensure!(made["data"]["word"] == "ours", "the release made {made}");
    Ok(Outcome::works("renders a chart, installs it and lists the release as deployed"))
}

fn output_of(file: &Path, cluster: &Cluster, home: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut helm = Command::new(file);
    helm.args(arguments).env("KUBECONFIG", cluster.kubeconfig()).env("HOME", home);
    for (name, _) in std::env::vars_os() {
        // What the user has set for their own helm.
        if name.to_string_lossy().starts_with("HELM_") || name.to_string_lossy().starts_with("XDG_") {
            helm.env_remove(name);
        }
    }
    let output = helm.output().context("failed to start helm")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`helm {}`: {}", arguments.join(" "), error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
