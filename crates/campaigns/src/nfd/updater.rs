//! Node Feature Discovery's topology updater: built from its Go module, and run once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use local_cluster::Cluster;
use serde_json::Value;
use workspace_tools::kubernetes::{Cache, GoModule};
use workspace_tools::workspace::target;

use super::node::{Node, object};

/// The release.
pub(super) const RELEASE: &str = "0.18.3";
const MODULE: &str = "sigs.k8s.io/node-feature-discovery";
/// The name of the node under which it publishes, beside the daemon's.
const NODE: &str = "worker-nfd";

pub(super) struct Updater {
    folder: PathBuf,
}

impl Updater {
    /// Builds it, unless it is built. Where it looks for `/sys` is a setting of its build.
    pub(super) fn build() -> anyhow::Result<Self> {
        let folder = target().join("nfd").join(RELEASE);
        let program = folder.join("bin/nfd-topology-updater");
        let variables = format!(
            "-X {MODULE}/pkg/version.version=v{RELEASE} -X {MODULE}/pkg/utils/hostpath.pathPrefix={}/host-",
            folder.display()
        );
        let published = |line: &str| line.replace("=> ./api/nfd", &format!("=> {MODULE}/api/nfd v{RELEASE}"));
        let module =
            GoModule { folder: folder.clone(), path: MODULE, version: RELEASE, cache: Cache::OfUser };
        module.build(&format!("{MODULE}/cmd/nfd-topology-updater"), &program, &variables, published)?;
        Ok(Self { folder })
    }

    /// The object that it publishes of the node as it is now.
    pub(super) fn publish(&self, cluster: &Cluster, node: &Node<'_>) -> anyhow::Result<Value> {
        // A link that is there, of a machine before or of a run that was ended.
        let link = self.folder.join("host-sys");
        let _ = fs::remove_file(&link);
        symlink(node.sysfs(), &link).context("failed to lay out the machine's sysfs")?;
        let mut updater = Command::new(self.folder.join("bin/nfd-topology-updater"));
        updater
            .args(["-oneshot", "-sleep-interval", "1s", "-port", "0", "-config", ""])
            .arg("-kubeconfig")
            .arg(cluster.kubeconfig())
            .arg("-kubelet-config-uri")
            .arg(format!("file://{}", node.config().display()))
            .arg("-podresources-socket")
            .arg(node.pod_resources())
            .arg("-kubelet-state-dir")
            .arg(node.root())
            .env("NODE_NAME", NODE)
            .env("KUBERNETES_NAMESPACE", "default");
        let output = updater.output().context("failed to start the topology updater")?;
        ensure!(output.status.success(), "the topology updater fails:\n{}", end(&output.stderr));
        let published = object(cluster, NODE).with_context(|| end(&output.stderr))?;
        cluster.kubectl(&["delete", "noderesourcetopologies", NODE])?;
        Ok(published)
    }
}

fn end(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
