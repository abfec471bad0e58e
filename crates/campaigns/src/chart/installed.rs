//! The chart on a control plane: it takes the kustomization's objects over, is upgraded, and is removed, with all that other
//! producers have made still there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use local_cluster::{Cluster, ContainerProcess, Workload};
use serde_json::Value;
use workspace_tools::workspace::{root, target};

use super::helm::{Helm, NAMESPACE, said};
use super::seen::{CHART, Row};

/// What another producer has published, before anything of topolet is there.
const OF_OTHERS: &str = "apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: worker-9}
zones: []
";
const SHARED: &str = "deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml";
/// Kinds of objects that the control plane makes and removes by itself.
const PASSING: [&str; 7] =
    ["Event", "Lease", "EndpointSlice", "Endpoints", "ControllerRevision", "ReplicaSet", "Pod"];
const NODE: &str = "worker-1";
const MACHINE: &str = "xeon-2s-96cpu-sriov";
/// The kubelet's folder of a node of that machine; an agent writes nothing there.
const KUBELET: &str = "docs/guide/files/root";

/// Installs, upgrades and removes it.
pub(super) fn tried(cluster: &Cluster, helm: &Helm) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let deploy = |path: &str| root().join("deploy").join(path).display().to_string();
    let release = |arguments: &[&str]| {
        let mut command = helm.command(arguments);
        said(command.args(["--namespace", NAMESPACE]).env("KUBECONFIG", cluster.kubeconfig()))
    };
    cluster.kubectl(&["create", "-f", &root().join(SHARED).display().to_string()])?;
    let kind = "crd/noderesourcetopologies.topology.node.k8s.io";
    cluster.kubectl(&["wait", "--for=condition=Established", kind, "--timeout=30s"])?;
    soon("an object of another producer", || cluster.apply(OF_OTHERS).map(drop))?;
    let before = listed(cluster, "before")?;

    cluster.kubectl(&["apply", "-k", &deploy("crd")])?;
    cluster.kubectl(&["apply", "-k", &deploy("observe")])?;
    let kustomized = listed(cluster, "kustomized")?;
    let values = ["--set", "scheduler.enabled=true,observe.publishState=true"];
    let install = ["upgrade", "--install", "topolet", CHART, "--take-ownership"];
    release(&[&install[..], &values[..]].concat())?;
    let installed = listed(cluster, "installed")?;
    let replaced: Vec<_> =
        kustomized.iter().filter(|(name, uid)| installed.get(*name) != Some(uid)).collect();
    ensure!(replaced.is_empty(), "helm has replaced {replaced:?}");
    rows.push((
        "`helm upgrade --install --take-ownership` over `kubectl apply -k deploy/observe`, with the extender"
            .to_owned(),
        format!(
            "{} objects more; none of the {} that were there is replaced",
            installed.len() - kustomized.len(),
            kustomized.len() - before.len()
        ),
    ));

    let certificates = secrets(cluster)?;
    release(&["upgrade", "topolet", CHART, "--reuse-values", "--set", "observe.publishNrt=true"])?;
    ensure!(secrets(cluster)? == certificates, "an upgrade has made other certificates");
    rows.push(("`helm upgrade`".to_owned(), "certificates stay as they were made".to_owned()));
    rows.push(workloads(cluster)?);

    release(&["uninstall", "topolet", "--wait"])?;
    let left = listed(cluster, "uninstalled")?;
    let gone: Vec<_> = before.iter().filter(|(name, uid)| left.get(*name) != Some(uid)).collect();
    ensure!(gone.is_empty(), "gone: {gone:?}");
    let mut left: Vec<_> = left.into_keys().collect();
    left.retain(|name| !before.contains_key(name));
    let expected = [
        "APIService v1alpha1.topolet.dev".to_owned(),
        format!("ConfigMap {NAMESPACE}/kube-root-ca.crt"),
        "CustomResourceDefinition nodestates.topolet.dev".to_owned(),
        format!("Namespace {NAMESPACE}"),
        format!("NodeResourceTopology {NODE}"),
        format!("NodeState {NODE}"),
        format!("ServiceAccount {NAMESPACE}/default"),
    ];
    let unknown: Vec<_> = left.iter().filter(|name| !expected.contains(name)).collect();
    ensure!(unknown.is_empty(), "helm has left {unknown:?}");
    rows.push((
        "`helm uninstall`".to_owned(),
        format!(
            "nothing of others is gone, the object of another producer neither; left: {}",
            left.join(", ")
        ),
    ));
    removed(cluster, &before)?;
    listed(cluster, "removed")?;
    rows.push((
        "the commands of `docs/remove.md`".to_owned(),
        "every object is gone that was not there before, and no other".to_owned(),
    ));
    Ok(rows)
}

/// Runs the commands of the page that says how everything is removed, and compares.
fn removed(cluster: &Cluster, before: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let page = fs_err::read_to_string(root().join("docs/remove.md"))?;
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let commands: Vec<&str> = blocks.map(|(block, _)| block).collect();
    ensure!(!commands.is_empty(), "docs/remove.md has no commands");
    let kubectl = cluster.kubectl_command();
    let folder = Path::new(kubectl.get_program()).parent().context("kubectl is in no folder")?.to_owned();
    for block in commands {
        let mut shell = std::process::Command::new("sh");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        shell.args(["-euc", block]).env("KUBECONFIG", cluster.kubeconfig()).env("PATH", path);
        said(shell.current_dir(root()))?;
    }
    soon("everything is removed", || {
        let now = objects(cluster)?;
        let left: Vec<_> = now.keys().filter(|name| !before.contains_key(*name)).collect();
        let gone: Vec<_> = before.keys().filter(|name| !now.contains_key(*name)).collect();
        ensure!(left.is_empty() && gone.is_empty(), "left: {left:?}; gone: {gone:?}");
        Ok(())
    })
}

/// The agent and the extender as processes, with the rights of their service accounts and the files of their Secrets.
fn workloads(cluster: &Cluster) -> anyhow::Result<Row> {
    let program = target().join("debug/topolet");
    let kubelet = root().join(KUBELET);
    let workload = Workload {
        kind: "daemonset",
        namespace: NAMESPACE,
        name: "topolet",
        program: &program,
        node: NODE,
        host: &[("/var/lib/kubelet", &kubelet)],
        instead: &[&format!("--machine={MACHINE}"), "--cgroup-root=off"],
    };
    let mut agent = cluster.run_container(workload)?;
    let extender =
        Workload { kind: "deployment", name: "topolet-scheduler", host: &[], instead: &[], ..workload };
    let mut extender = cluster.run_container(extender)?;
    soon("the agent publishes", || {
        alive(&mut agent)?;
        cluster.kubectl(&["get", "noderesourcetopologies", NODE])?;
        cluster.kubectl(&["get", "nodestates", NODE]).map(drop)
    })?;
    soon("the extender watches", || {
        alive(&mut extender)?;
        let log = extender.log();
        let answers = log.contains("kube-scheduler is answered") && log.contains("states of nodes are known");
        ensure!(answers, "it logs\n{log}");
        Ok(())
    })?;
    for log in [agent.log(), extender.log()] {
        ensure!(!log.contains("a right is missing"), "{log}");
    }
    Ok((
        "agent and extender as processes, each with its service account's token and Secret".to_owned(),
        "the agent publishes, the extender answers; no right is missing".to_owned(),
    ))
}

fn alive(process: &mut ContainerProcess) -> anyhow::Result<()> {
    process.why_ended().map_or(Ok(()), |why| Err(anyhow::anyhow!(why)))
}

/// The data of the Secrets with certificates.
fn secrets(cluster: &Cluster) -> anyhow::Result<Vec<Value>> {
    ["topolet-scheduler", "topolet-scheduler-client"]
        .into_iter()
        .map(|name| {
            let text = cluster.kubectl(&["get", "secret", name, "--namespace", NAMESPACE, "-o", "json"])?;
            let object: Value = serde_json::from_str(&text)?;
            ensure!(
                object["data"].as_object().is_some_and(|data| data.len() == 3),
                "{name} has not three files"
            );
            Ok(object["data"].clone())
        })
        .collect()
}

/// The same, and their names are left in `chart/NAME.txt` of cargo's target folder.
fn listed(cluster: &Cluster, name: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let all = objects(cluster)?;
    let folder = target().join("chart");
    fs_err::create_dir_all(&folder)?;
    let names: String = all.keys().map(|object| format!("{object}\n")).collect();
    fs_err::write(folder.join(format!("{name}.txt")), names)?;
    Ok(all)
}

/// The UID of every object, by kind, namespace and name.
fn objects(cluster: &Cluster) -> anyhow::Result<BTreeMap<String, String>> {
    let kinds = cluster.kubectl(&["api-resources", "--verbs=list", "--output=name", "--no-headers"])?;
    let kinds: BTreeSet<&str> = kinds.lines().map(str::trim).filter(|kind| !kind.is_empty()).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(",");
    let text = cluster.kubectl(&["get", &kinds, "--all-namespaces", "--ignore-not-found", "-o", "json"])?;
    let list: Value = serde_json::from_str(&text).context("kubectl lists no JSON")?;
    let mut all = BTreeMap::new();
    for object in list["items"].as_array().into_iter().flatten() {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = word(&object["kind"]);
        if PASSING.contains(&kind.as_str()) {
            continue;
        }
        let name = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("{kind} {namespace}/{}", word(&object["metadata"]["name"])),
            None => format!("{kind} {}", word(&object["metadata"]["name"])),
        };
        all.insert(name, word(&object["metadata"]["uid"]));
    }
    Ok(all)
}

/// Tries until it works, for a minute.
fn soon<T>(what: &str, mut attempt: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(fault) if began.elapsed() > Duration::from_mins(1) => {
                return Err(fault.context(what.to_owned()));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}
