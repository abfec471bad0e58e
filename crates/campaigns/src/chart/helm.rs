//! helm with a folder as its home, so that it reads nothing that its user has set.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;
use workspace_tools::workspace::root;

use super::seen::{CHART, Row};

/// The namespace of every release here.
pub(super) const NAMESPACE: &str = "topolet";

pub(super) struct Helm {
    program: PathBuf,
    home: TempDir,
}

impl Helm {
    pub(super) fn new(program: PathBuf) -> anyhow::Result<Self> {
        Ok(Self { program, home: tempfile::Builder::new().prefix("helm").tempdir()? })
    }

    /// helm in the root of the repository, to be run by the caller.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut helm = Command::new(&self.program);
        helm.args(arguments).env("HOME", self.home.path()).env_remove("KUBECONFIG").current_dir(root());
        for (name, _) in std::env::vars_os() {
            // What the user has set for their own helm.
            if name.to_string_lossy().starts_with("HELM_") || name.to_string_lossy().starts_with("XDG_") {
                helm.env_remove(name);
            }
        }
        helm
    }

    /// What it prints.
    ///
    /// # Errors
    /// It fails, with what it says.
    pub(super) fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        said(&mut self.command(arguments))
    }

    /// The manifests of a release with these values.
    pub(super) fn template(&self, values: &str) -> anyhow::Result<String> {
        // A helm that `go build` makes takes Kubernetes 1.20 for the cluster's release.
        let release = ["--kube-version", local_cluster::RELEASE];
        let arguments = ["template", "topolet", CHART, "--namespace", NAMESPACE, "--set", values];
        self.run(&[&arguments[..], &release[..]].concat())
    }
}

/// What a command prints.
///
/// # Errors
/// It fails, with what it says.
pub(super) fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().context("failed to start helm")?;
    let fault = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}", fault.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Values that the chart does not have are errors that name them.
pub(super) fn refused(helm: &Helm) -> anyhow::Result<Vec<Row>> {
    let wrong = [
        ("observe.publishNRT=true", "publishNRT"),
        ("observe.kubeletRoot=var/lib/kubelet", "kubeletRoot"),
        ("scheduler.enabled=yes", "enabled"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("guard.socket=nri.sock", "socket"),
        ("guard.enabled=true,openshift.enabled=true", "guard.enabled"),
    ];
    for (values, named) in wrong {
        let fault = helm.template(values).err().map(|fault| fault.to_string()).unwrap_or_default();
        ensure!(fault.contains(named), "helm says of the value {values}: {fault:?}");
    }
    Ok(vec![(
        "a value that is misspelt, of another type, or of no use beside another".to_owned(),
        format!("{} of {} refused by name", wrong.len(), wrong.len()),
    )])
}
