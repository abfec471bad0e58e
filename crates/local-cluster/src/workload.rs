//! A container of a manifest as a process: with its command line, its environment, its mounts below a folder, and a kubeconfig with
//! exactly the rights of its service account.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::processes::Process;
use crate::{Cluster, free_port};

/// A container of a manifest, and what it gets on this host.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// Of the object with the template of the pod: `daemonset`.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The program of its image.
    pub program: &'a Path,
    /// The node that the pod is bound to.
    pub node: &'a str,
    /// Folders of the node that the pod mounts, each with the folder of this host in its place. Others are empty folders; Secrets
    /// are read.
    pub host: &'a [(&'a str, &'a Path)],
    /// Arguments `--option=value` that replace the manifest's argument of the same option, or are added: for what a mount
    /// cannot provide, such as another machine.
    pub instead: &'a [&'a str],
}

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

/// A container as a process, which is killed when this is dropped.
#[derive(Debug)]
pub struct ContainerProcess {
    process: Process,
    ports: BTreeMap<u16, u16>,
    /// Where mounts are, by their path in the container.
    mounts: BTreeMap<String, PathBuf>,
    log: PathBuf,
}

impl Cluster {
    /// Starts the first container of a workload that has been applied, and waits for nothing.
    ///
    /// # Errors
    /// There is no such object, it mounts or sets what no process can have, or it cannot be started.
    pub fn run_container(&self, workload: Workload<'_>) -> anyhow::Result<ContainerProcess> {
        let Workload { kind, namespace, name, .. } = workload;
        let text = self.kubectl(&["get", kind, name, "--namespace", namespace, "-o", "json"])?;
        let object: Value =
            serde_json::from_str(&text).with_context(|| format!("{kind} {name} is no JSON"))?;
        let spec = &object["spec"]["template"]["spec"];
        let container = &spec["containers"][0];
        let folder = self.folder.path().join(format!("{namespace}-{name}"));
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let secret = |name: &str| self.secret(namespace, name);
        let mounts = mounts(spec, container, workload.host, &secret, &folder)?;
        let ports = ports(container)?;
        let account = spec["serviceAccountName"].as_str().unwrap_or("default");
        let kubeconfig = match spec["automountServiceAccountToken"].as_bool() {
            Some(false) => None,
            _ => Some(self.kubeconfig_of_account(namespace, account)?),
        };
        let environment = environment(container, &workload)?;
        let mut command = isolated(workload.program, &environment);
        for list in ["command", "args"] {
            let words = container[list].as_array().into_iter().flatten().filter_map(Value::as_str);
            // The first word of a command is the program.
            let words = words.skip(usize::from(list == "command"));
            let option = |word: &str| word.split_once('=').map(|(option, _)| option.to_owned());
            let is_kept = |word: &&str| {
                option(word).is_none_or(|own| {
                    workload.instead.iter().all(|other| option(other).as_ref() != Some(&own))
                })
            };
            for word in words.filter(is_kept) {
                command.arg(match word {
                    "--in-cluster" => {
                        let kubeconfig = kubeconfig.as_ref().context("it has no token of its account")?;
                        format!("--kubeconfig={}", kubeconfig.display())
                    }
                    word => here(&expanded(word, &environment), &mounts, &ports),
                });
            }
        }
        command.args(workload.instead);
        let process = Process::start(name, &command, &folder)?;
        Ok(ContainerProcess { process, ports, mounts, log: folder.join(format!("{name}.log")) })
    }

    /// The files of a Secret.
    fn secret(&self, namespace: &str, name: &str) -> anyhow::Result<Files> {
        let text = self.kubectl(&["get", "secret", name, "--namespace", namespace, "-o", "json"])?;
        let object: Value =
            serde_json::from_str(&text).with_context(|| format!("secret {name} is no JSON"))?;
        let files = object["data"].as_object().into_iter().flatten();
        files
            .map(|(file, data)| {
                let content = STANDARD.decode(data.as_str().unwrap_or_default());
                Ok((file.clone(), content.with_context(|| format!("{file} of secret {name} is no base64"))?))
            })
            .collect()
    }
}

impl ContainerProcess {
    /// Where it listens, for a port of the container.
    #[must_use]
    pub fn port(&self, of_container: u16) -> Option<u16> {
        self.ports.get(&of_container).copied()
    }

    /// A path of the container, on this host.
    #[must_use]
    pub fn path(&self, of_container: &str) -> PathBuf {
        here(of_container, &self.mounts, &BTreeMap::new()).into()
    }

    /// All that it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// If it has ended: that, and its last words.
    pub fn why_ended(&mut self) -> Option<String> {
        self.process.why_ended()
    }
}

/// Where each mount is, by its path in the container.
fn mounts(
    spec: &Value,
    container: &Value,
    host: &[(&str, &Path)],
    secret: &dyn Fn(&str) -> anyhow::Result<Files>,
    folder: &Path,
) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut mounts = BTreeMap::new();
    for mount in container["volumeMounts"].as_array().into_iter().flatten() {
        let name = mount["name"].as_str().unwrap_or_default();
        let path = mount["mountPath"].as_str().unwrap_or_default();
        let mut volumes = spec["volumes"].as_array().into_iter().flatten();
        let volume = volumes.find(|volume| volume["name"] == name);
        let volume = volume.with_context(|| format!("there is no volume {name}, which {path} mounts"))?;
        let of_host = volume["hostPath"]["path"].as_str();
        let given = host.iter().find(|(path, _)| of_host == Some(path)).map(|(_, here)| here.to_path_buf());
        let here = match given {
            Some(here) => here,
            None if of_host.is_some() || volume["emptyDir"].is_object() => {
                let here = folder.join(name);
                fs::create_dir_all(&here).with_context(|| format!("failed to create {}", here.display()))?;
                here
            }
            None => {
                let Some(files) = volume["secret"]["secretName"].as_str() else {
                    bail!("volume {name} is no folder of the host, no empty one and no Secret: {volume}");
                };
                let here = folder.join(name);
                fs::create_dir_all(&here).with_context(|| format!("failed to create {}", here.display()))?;
                for (file, content) in secret(files)? {
                    fs::write(here.join(&file), content)
                        .with_context(|| format!("failed to write {file}"))?;
                }
                here
            }
        };
        mounts.insert(path.to_owned(), here);
    }
    Ok(mounts)
}

/// A free port of this host for each of the container.
fn ports(container: &Value) -> anyhow::Result<BTreeMap<u16, u16>> {
    let ports = container["ports"].as_array().into_iter().flatten();
    let numbers = ports.filter_map(|port| port["containerPort"].as_u64()?.try_into().ok());
    numbers.map(|port: u16| Ok((port, free_port()?))).collect()
}

/// The program with these variables alone.
fn isolated(program: &Path, environment: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new("env");
    command.arg("-i").args(environment.iter().map(|(name, value)| format!("{name}={value}"))).arg(program);
    command
}

fn environment(container: &Value, of: &Workload<'_>) -> anyhow::Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for variable in container["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap_or_default();
        let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
            Some("spec.nodeName") => of.node,
            Some("metadata.namespace") => of.namespace,
            Some("metadata.name") => of.name,
            None if variable["valueFrom"].is_null() => variable["value"].as_str().unwrap_or_default(),
            _ => bail!("variable {name} comes from what no process has: {variable}"),
        };
        all.insert(name.to_owned(), value.to_owned());
    }
    Ok(all)
}

/// A word with the variables that it names.
fn expanded(word: &str, environment: &BTreeMap<String, String>) -> String {
    let each = environment.iter();
    each.fold(word.to_owned(), |word, (name, value)| word.replace(&format!("$({name})"), value))
}

/// A word with the paths and the ports of this host.
fn here(word: &str, mounts: &BTreeMap<String, PathBuf>, ports: &BTreeMap<u16, u16>) -> String {
    let (option, value) = word.split_once('=').map_or(("", word), |(option, value)| (option, value));
    let below = mounts.iter().rev().find_map(|(path, here)| {
        let rest = value.strip_prefix(path.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", here.display()))
    });
    let at = ports.iter().find_map(|(port, here)| {
        let host = value.strip_suffix(&format!(":{port}"))?;
        // Every address of a container's own network is this host alone.
        Some(format!("{}:{here}", if host == "0.0.0.0" { "127.0.0.1" } else { host }))
    });
    match (below.or(at), option) {
        (None, _) => word.to_owned(),
        (Some(value), "") => value,
        (Some(value), option) => format!("{option}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_variables_of_the_manifest_alone() {
        let environment = [("NODE_NAME".to_owned(), "worker 1".to_owned())].into();
        let output = isolated(Path::new("env"), &environment).env("KUBECONFIG", "/mine").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "NODE_NAME=worker 1\n");
    }

    #[test]
    fn words_have_the_paths_and_ports_of_this_host() {
        let mounts = [("/var/lib/kubelet", "/tmp/k"), ("/run/topolet", "/tmp/r")];
        let mounts = mounts.map(|(path, here)| (path.to_owned(), PathBuf::from(here))).into();
        let ports = [(9478, 40_001)].into();
        for (word, expected) in [
            ("--root=/var/lib/kubelet", "--root=/tmp/k"),
            ("--root=/var/lib/kubelets", "--root=/var/lib/kubelets"),
            ("/run/topolet/a.sock", "/tmp/r/a.sock"),
            ("--metrics-address=0.0.0.0:9478", "--metrics-address=127.0.0.1:40001"),
            ("--tcp=127.0.0.1:9477", "--tcp=127.0.0.1:9477"),
            ("serve", "serve"),
        ] {
            assert_eq!(here(word, &mounts, &ports), expected);
        }
    }
}
