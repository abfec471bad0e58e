//! A kubelet starts until it needs what this machine lacks.
//!
//! It sees an empty `/var/lib` and `/run` and cgroups that it cannot change. It has no kubeconfig, so that it knows no API
//! server, and a socket of a runtime that is not there.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use local_cluster::{Process, free_port};

use super::apart::{NODE, apart};
use super::trial::{Outcome, last_error};

pub(super) fn attempt(file: &Path, version: &str) -> anyhow::Result<Outcome> {
    let output = Command::new(file).arg("--version").output().context("failed to start the kubelet")?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(printed == format!("Kubernetes v{version}"), "`kubelet --version` says {printed}");
    let refused = start(file, "true")?;
    let ended = start(file, "false")?;
    let did = if refused == ended {
        format!("says `{printed}` and starts")
    } else {
        format!(
            "says `{printed}` and starts; ends `{refused}`, and with `failCgroupV1: false` starts further"
        )
    };
    Ok(Outcome::ends(did, ended))
}

/// Starts it, and gives the error that it ends with. `fails` says whether it refuses cgroups of version 1.
fn start(file: &Path, fails: &str) -> anyhow::Result<String> {
    let folder = tempfile::Builder::new().prefix("kubelet").tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\naddress: 127.0.0.1\nport: {}\n\
         healthzPort: 0\nauthentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: false}}}}\n\
         authorization: {{mode: AlwaysAllow}}\nfailCgroupV1: {fails}\nenforceNodeAllocatable: []\n\
         runtimeRequestTimeout: 5s\ncontainerRuntimeEndpoint: 'unix://{}'\npodLogsDir: '{}'\n",
        free_port()?,
        path("absent.sock"),
        path("pods"),
    );
    fs::write(path("kubelet.yaml"), text)?;
    let mut command = apart(file, NODE);
    command
        .args(["--config", &path("kubelet.yaml"), "--root-dir", &path("root"), "--cert-dir", &path("pki")])
        .args(["--hostname-override", "node-1"]);
    let mut kubelet = Process::start("kubelet", &command, folder.path())?;
    last_error(&mut kubelet, folder.path())
}
