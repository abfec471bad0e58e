//! All objects of the kinds that say how the nodes of a cluster are.

use kube::api::ListParams;
use serde::Deserialize;
use serde_json::Value;

use crate::connection::Cluster;
use crate::error::ClusterError;

/// So many objects are a page.
const PAGE: u32 = 500;
/// So many pages have the largest clusters that are offered: 65,000 nodes with 30 pods each.
const MOST_PAGES: usize = 4_000;

/// A kind of objects that are listed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListedKind {
    /// `Node`.
    Nodes,
    /// `NodeState` of `topolet.dev/v1alpha1`.
    NodeStates,
    /// `NodeResourceTopology` of `topology.node.k8s.io/v1alpha2`.
    NodeTopologies,
    /// `Pod`, of all namespaces.
    Pods,
}

impl ListedKind {
    const fn address(self) -> &'static str {
        match self {
            Self::Nodes => "/api/v1/nodes",
            Self::NodeStates => "/apis/topolet.dev/v1alpha1/nodestates",
            Self::NodeTopologies => "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
            Self::Pods => "/api/v1/pods",
        }
    }
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    items: Option<Vec<Value>>,
}

#[derive(Deserialize, Default)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

impl Cluster {
    /// All objects of a kind that have labels, each whole, in pages. Where the API server has forgotten what a page went on from,
    /// everything is listed anew, once.
    ///
    /// # Errors
    /// The right to list them is missing, or the API server does not have the kind, or does not answer as one.
    pub fn all_of(&self, kind: ListedKind, labels: Option<&str>) -> Result<Vec<Value>, ClusterError> {
        self.folded(kind, labels, Vec::push)
    }

    /// What all objects of a kind come to, added one after the other: no more than a page of them is in memory.
    ///
    /// # Errors
    /// As of [`Self::all_of`].
    pub fn folded<T: Default>(
        &self,
        kind: ListedKind,
        labels: Option<&str>,
        mut add: impl FnMut(&mut T, Value),
    ) -> Result<T, ClusterError> {
        match self.folded_once(kind, labels, &mut add) {
            Err(ClusterError::Expired(_)) => self.folded_once(kind, labels, &mut add),
            listed => listed,
        }
    }

    fn folded_once<T: Default>(
        &self,
        kind: ListedKind,
        labels: Option<&str>,
        add: &mut impl FnMut(&mut T, Value),
    ) -> Result<T, ClusterError> {
        let mut wanted = ListParams { label_selector: labels.map(str::to_owned), ..ListParams::default() };
        wanted = wanted.limit(PAGE);
        let mut all = T::default();
        for _ in 0..MOST_PAGES {
            let page: Page = self.read(kind.address(), &wanted)?;
            page.items.into_iter().flatten().for_each(|object| add(&mut all, object));
            wanted.continue_token = page.metadata.next.filter(|next| !next.is_empty());
            if wanted.continue_token.is_none() {
                return Ok(all);
            }
        }
        Err(ClusterError::Agent(format!("{} has more than {MOST_PAGES} pages", kind.address())))
    }
}
