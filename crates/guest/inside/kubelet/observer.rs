//! `serve --observe` beside a kubelet that is a cluster's node: as a process, or as clusters run it, the pod of `deploy/observe` in a
//! container of the image.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use local_cluster::Cluster;
use serde_json::{Value, json};

use super::facts::{self, ROOT};
use super::processes::{self, Running};

const DAEMON_SET: &str = include_str!("../../../../deploy/observe/daemon-set.yaml");
const NAME: &str = "topolet";
/// The image as an archive of docker, where the disk has one.
const IMAGE: &str = "/images/topolet.tar";

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Process,
    Pod,
}

/// What runs, and the folder of its socket.
pub(super) struct Observer {
    process: Option<Running>,
    pub(super) folder: PathBuf,
}

impl Observer {
    /// With the rights of its service account. It finds the kubelet's configuration in its root folder.
    pub(super) fn start(cluster: &Cluster, form: Form) -> anyhow::Result<Self> {
        match form {
            Form::Process => process(cluster),
            Form::Pod => pod(cluster),
        }
    }

    pub(super) fn why_ended(&mut self) -> Option<String> {
        self.process.as_mut().and_then(Running::why_ended)
    }

    /// The last lines of its log.
    pub(super) fn end(&self) -> String {
        self.process.as_ref().map_or_else(|| format!("a pod: {}", logs()), Running::end)
    }
}

fn process(cluster: &Cluster) -> anyhow::Result<Observer> {
    let kubeconfig = cluster.kubeconfig_of_account(NAME, NAME)?.display().to_string();
    let folder = Path::new("/run/observe").to_path_buf();
    fs::create_dir_all(&folder)?;
    let node = ["serve", "--observe", "--root", ROOT, "--socket", "/run/observe/topolet.sock"];
    let cluster = ["--node-name", "node1", "--kubeconfig", &kubeconfig, "--publish-nrt", "--publish-state"];
    let process = Running::start("/bin/topolet", &[&node[..], &cluster].concat())?;
    Ok(Observer { process: Some(process), folder })
}

/// The kubelet and containerd start it.
fn pod(cluster: &Cluster) -> anyhow::Result<Observer> {
    processes::import(IMAGE)?;
    fs::write("/run/observer.yaml", DAEMON_SET)?;
    let read = cluster.kubectl(&["create", "--dry-run=client", "-o", "json", "-f", "/run/observer.yaml"])?;
    let authority = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": NAME},
        "data": {"ca.crt": cluster.certificate_authority()?}});
    cluster.apply(&authority.to_string())?;
    cluster.apply(&manifest(&serde_json::from_str(&read)?, &cluster.server())?.to_string())?;
    let uid = processes::until("the observer's pod runs", || {
        let pod = facts::pods().ok()?.named(NAME)?;
        pod.is_running().then_some(pod.uid)
    })
    .with_context(|| {
        format!(
            "{}: {:?}",
            facts::pods()
                .ok()
                .and_then(|pods| pods.named(NAME))
                .map_or_else(String::new, |pod| pod.summary()),
            logs()
        )
    })?;
    let folder = Path::new(ROOT).join("pods").join(uid).join("volumes/kubernetes.io~empty-dir/run");
    Ok(Observer { process: None, folder })
}

/// The `DaemonSet`'s pod on the node, with what controllers, the network of pods and kube-proxy do elsewhere: none of them is here.
fn manifest(daemon_set: &Value, server: &str) -> anyhow::Result<Value> {
    let template = &daemon_set["spec"]["template"];
    ensure!(template["spec"].is_object(), "{daemon_set} has no template");
    let mut spec = template["spec"].clone();
    spec["nodeName"] = json!("node1");
    spec["hostNetwork"] = json!(true);
    let account = json!({"name": "account", "projected": {"sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}});
    push(&mut spec["volumes"], account)?;
    let container = &mut spec["containers"][0];
    push(
        &mut container["volumeMounts"],
        json!({"name": "account", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}),
    )?;
    let (host, port) = server.trim_start_matches("https://").split_once(':').context("a port")?;
    for (name, value) in [("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", port)] {
        push(&mut container["env"], json!({"name": name, "value": value}))?;
    }
    // What the overlay for the extender adds.
    push(&mut container["args"], json!("--publish-state"))?;
    Ok(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": NAME, "namespace": NAME, "labels": template["metadata"]["labels"]}, "spec": spec}))
}

fn push(list: &mut Value, one: Value) -> anyhow::Result<()> {
    list.as_array_mut().context("the DaemonSet has another form")?.push(one);
    Ok(())
}

/// What the pod's container wrote last.
fn logs() -> String {
    let newest = fs::read_dir("/var/log/pods").into_iter().flatten().flatten().map(|entry| entry.path());
    let own = newest.filter(|path| path.to_string_lossy().contains("/topolet_topolet_"));
    let files = own.flat_map(|path| fs::read_dir(path.join(NAME)).into_iter().flatten().flatten());
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.map(|text| processes::last_lines(&text)).collect()
}
