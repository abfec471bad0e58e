//! Where the API server and the kubelet's HTTPS endpoint are. `without_cluster.rs` has the same for a build without feature
//! `serve`.

use std::path::PathBuf;

use admission_report::Notice;
use anyhow::Context as _;
use clap::{Args, ValueHint};
use node_daemon::cluster_node::{Access, ClaimKind, Cluster, KubectlAccess, KubeletAccess, OthersFields};
use node_daemon::{
    ContainerReports, Membership, NodeInCluster, PodSources, Publications, TopologyPublication,
};
use node_input::{IdentitySource, Listener as _, ObjectText};
use topology_manifest::check_node_name;

use crate::screen::Screen;

/// Whose cluster the node is a member of; with a kubelet, who tells of its pods where its pods API does not.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct PodSourceArguments {
    /// How the API server is reached. The node, --node-name or else this host's name, joins the cluster in the place of a
    /// kubelet: it registers itself, runs the pods that are bound to it, and reports their statuses. With --observe the
    /// kubelet does that: the API server lists the node's pods where the kubelet does not (before 1.37), and gets an event
    /// on each pod that is refused.
    #[arg(long, value_name = "FILE", group = "cluster", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The same, as the service account of the pod that this runs in.
    #[arg(long, group = "cluster", conflicts_with = "kubeconfig")]
    in_cluster: bool,
    /// Treats containers of bound pods as running once their pod is admitted, without starting them. Without this option a
    /// runtime reports them (`POST …/containers/CONTAINER/started` and `…/exited`).
    #[arg(long, requires = "cluster", conflicts_with = "observe")]
    simulate_containers: bool,
    /// Keeps the node's `NodeResourceTopology` at the API server (--kubeconfig, --in-cluster), for schedulers that know
    /// NUMA nodes: as `export nrt` prints it, written within a second of each change. The node joins the cluster only with
    /// --join or --simulate-containers.
    #[arg(long, requires = "cluster")]
    publish_nrt: bool,
    /// Keeps the node's `NodeState` at the API server: all that decisions on pods depend on, for `topolet scheduler`. The
    /// node joins the cluster only with --join or --simulate-containers.
    #[arg(long, requires = "cluster")]
    publish_state: bool,
    /// With --publish-nrt or --publish-state: the node joins the cluster too.
    #[arg(long, requires = "cluster", conflicts_with = "observe")]
    join: bool,
    /// With --publish-nrt: overwrites what another producer has written there. Without it such an object is left alone.
    #[arg(long, requires = "publish_nrt")]
    take_over_nrt: bool,
    /// With --observe: the kubelet's HTTPS address, such as `https://127.0.0.1:10250`. topolet lists its pods there every
    /// 5 s if no other source reports them.
    #[arg(long, value_name = "URL", requires_all = ["observe", "kubelet_token_file"])]
    kubelet_url: Option<String>,
    /// A file with a token that may read nodes/proxy.
    #[arg(long, value_name = "FILE", requires = "kubelet_url", value_hint = ValueHint::FilePath)]
    kubelet_token_file: Option<PathBuf>,
    /// The certificate that signed the kubelet's own. Without it the kubelet's is not checked.
    #[arg(long, value_name = "FILE", requires = "kubelet_url", value_hint = ValueHint::FilePath)]
    kubelet_certificate: Option<PathBuf>,
}

impl PodSourceArguments {
    /// Those of a node, which is called as this host if it has no name. A member of a cluster is known there by its labels
    /// too.
    pub(crate) fn sources(&self, identity: &IdentitySource) -> anyhow::Result<PodSources> {
        let Self { kubelet_url, kubelet_token_file, kubelet_certificate, .. } = self;
        let kubelet = kubelet_url.as_ref().zip(kubelet_token_file.as_ref()).map(|(url, token)| {
            let text = url;
            let url = text.parse().with_context(|| format!("--kubelet-url {text} is no URL"))?;
            anyhow::ensure!(
                text.starts_with("https://"),
                "--kubelet-url {text}: a kubelet is asked over https://"
            );
            anyhow::Ok(KubeletAccess { url, token: token.clone(), certificate: kubelet_certificate.clone() })
        });
        let containers =
            if self.simulate_containers { ContainerReports::Simulated } else { ContainerReports::Awaited };
        let labels = identity.labels()?;
        Ok(PodSources {
            node_name: named(identity.node_name.as_deref()),
            cluster: self.node(identity.node_name.as_deref()),
            kubelet: kubelet.transpose()?,
            membership: self.joins().then_some(Membership { labels, containers }),
        })
    }

    /// What is published of the node of that name.
    pub(crate) fn publications(&self, node_name: Option<&str>) -> anyhow::Result<Publications> {
        let node = self.named_node(node_name)?;
        let others = if self.take_over_nrt { OthersFields::Take } else { OthersFields::Keep };
        let topology = node.clone().filter(|_| self.publish_nrt);
        Ok(Publications {
            topology: topology.map(|node| TopologyPublication { node, others }),
            state: node.filter(|_| self.publish_state),
        })
    }

    /// A node that publishes something, if it is of a cluster.
    fn named_node(&self, name: Option<&str>) -> anyhow::Result<Option<NodeInCluster>> {
        let Some(node) = self.node(name).filter(|_| self.publishes()) else { return Ok(None) };
        check_node_name(&node.node).map_err(|wrong| {
            anyhow::anyhow!("no node can be called {:?}: {wrong}; --node-name gives another", node.node)
        })?;
        Ok(Some(node))
    }

    const fn publishes(&self) -> bool {
        self.publish_nrt || self.publish_state
    }

    fn node(&self, name: Option<&str>) -> Option<NodeInCluster> {
        let access = self.kubeconfig.clone().map(Access::Kubeconfig);
        let access = access.or_else(|| self.in_cluster.then_some(Access::InCluster))?;
        Some(NodeInCluster { access, node: named(name) })
    }

    /// Whether the node is a member of a cluster, unless it has a kubelet.
    pub(crate) const fn joins(&self) -> bool {
        self.has_cluster() && (!self.publishes() || self.join || self.simulate_containers)
    }

    /// Whether there is an API server, which knows what the node is called.
    pub(crate) const fn has_cluster(&self) -> bool {
        self.kubeconfig.is_some() || self.in_cluster
    }
}

/// What the kubelet calls its node: the given name, else the name of this host.
fn named(node_name: Option<&str>) -> String {
    node_name.map(str::to_owned).or_else(crate::arguments::host_name).unwrap_or_default()
}

/// Where the slices, classes and claims of a cluster are listed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimServerArguments {
    /// Takes slices, device classes, claims and templates of claims from the API server that this file names, beside those of
    /// files, which replace objects of the same name. It needs the rights of deploy/claims/rights.yaml.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The same with this context of the kubeconfig. Without --kubeconfig it is one of KUBECONFIG, else of ~/.kube/config.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
}

impl ClaimServerArguments {
    pub(crate) fn listed(&self, screen: Screen) -> anyhow::Result<Vec<ObjectText>> {
        if self.given().is_none() {
            return Ok(Vec::new());
        }
        let Self { kubeconfig, context } = self.clone();
        let cluster = Cluster::new(&Access::Kubectl(KubectlAccess { kubeconfig, context }))?;
        let server = cluster.server();
        let lists = screen.during(&format!("reading claims of {server}"), || cluster.claim_lists())?;
        if let Some(error) = lists.without_taint_rules {
            screen.warn(Notice::warning(format!(
                "devicetaintrules of {server} are not looked at: {error}; kube-scheduler decides otherwise where a rule taints \
                 a device"
            )));
        }
        let text = |(kind, list): (ClaimKind, _)| {
            ObjectText::of_list(format!("{} of {server}", kind.resource()), &list)
        };
        lists.pages.into_iter().map(text).collect()
    }

    pub(crate) fn given(&self) -> Option<&'static str> {
        let kubeconfig = self.kubeconfig.as_ref().map(|_| "--kubeconfig");
        kubeconfig.or_else(|| self.context.as_ref().map(|_| "--context"))
    }
}
