//! The objects of a cluster that decide on claims of devices: all of `resource.k8s.io`, each kind in the newest version that
//! the API server serves.
//!
//! Claims of all namespaces hold devices, so that everything is listed in the whole cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kube::api::{ApiResource, GroupVersionKind, ListParams};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::connection::Cluster;
use crate::error::ClusterError;

/// A kind as it is watched.
pub(crate) fn kind(name: &str, kind: ClaimKind) -> ApiResource {
    in_version(name, kind, "v1")
}

fn in_version(name: &str, kind: ClaimKind, version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, version, name), kind.resource())
}

/// `DeviceTaintRule`, which became `v1` later than the other kinds, in the newest version that is served.
///
/// # Errors
/// None is served, or the API server does not answer.
pub(crate) fn taint_rules(cluster: &Cluster) -> Result<ApiResource, ClusterError> {
    let version = ClaimKind::TaintRules.newest(&cluster.served_versions()?);
    let version = version
        .ok_or_else(|| ClusterError::NotFound(format!("{} of {GROUP}", ClaimKind::TaintRules.resource())))?;
    Ok(in_version("DeviceTaintRule", ClaimKind::TaintRules, version))
}

pub(crate) const GROUP: &str = "resource.k8s.io";
/// So many objects are a page.
const PAGE: u32 = 200;
/// No cluster has more: with pages of 200 objects these are two million.
const MOST_PAGES: usize = 10_000;

/// A kind of object that decides on claims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ClaimKind {
    /// `ResourceSlice`.
    Slices,
    /// `DeviceClass`.
    Classes,
    /// `ResourceClaim`.
    Claims,
    /// `ResourceClaimTemplate`.
    Templates,
    /// `DeviceTaintRule`.
    TaintRules,
}

impl ClaimKind {
    const ALL: [Self; 5] = [Self::Slices, Self::Classes, Self::Claims, Self::Templates, Self::TaintRules];

    /// As rules of RBAC and addresses name it.
    #[must_use]
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Slices => "resourceslices",
            Self::Classes => "deviceclasses",
            Self::Claims => "resourceclaims",
            Self::Templates => "resourceclaimtemplates",
            Self::TaintRules => "devicetaintrules",
        }
    }

    const fn list(self) -> &'static str {
        match self {
            Self::Slices => "ResourceSliceList",
            Self::Classes => "DeviceClassList",
            Self::Claims => "ResourceClaimList",
            Self::Templates => "ResourceClaimTemplateList",
            Self::TaintRules => "DeviceTaintRuleList",
        }
    }

    /// The versions that can be read, newest first.
    const fn versions(self) -> [&'static str; 3] {
        match self {
            Self::TaintRules => ["v1", "v1beta2", "v1alpha3"],
            _ => ["v1", "v1beta2", "v1beta1"],
        }
    }

    /// The newest of the served versions that has the kind and can be read.
    pub(crate) fn newest(self, served: &[Served]) -> Option<&'static str> {
        self.versions().into_iter().find(|version| served.iter().any(|own| own.has(self, version)))
    }
}

/// The objects of a cluster that decide on claims.
#[derive(Debug, Default)]
pub struct ClaimLists {
    /// Lists such as `ResourceSliceList`, one for each page. Their members have no `metadata.managedFields`.
    pub pages: Vec<(ClaimKind, Value)>,
    /// Why rules for taints of devices were not listed; `None`: they were, or the API server has no such kind.
    pub without_taint_rules: Option<ClusterError>,
}

/// Why claims cannot be decided by the objects of an API server.
#[derive(Debug, Error)]
pub enum ClaimListError {
    /// Kinds that this user may not list. Never empty.
    #[error("{}", missing_rights(.0))]
    MissingRights(Vec<MissingRight>),
    /// The API server has not a kind in a version that can be read.
    #[error(
        "{server} serves no {} of {GROUP}/v1, v1beta2 or v1beta1{}: claims of devices are on by default from Kubernetes 1.34 \
         on; before, the API server needs --runtime-config and --feature-gates for them",
        .kind.resource(),
        others(.served)
    )]
    NotServed {
        /// The address of the API server.
        server: String,
        /// The kind.
        kind: ClaimKind,
        /// The versions of the group that it serves.
        served: Vec<String>,
    },
    /// What comes is no such list, or has no end.
    #[error("{server} does not answer as an API server: asked for {}, it sends {found}", .kind.resource())]
    NoSuchList {
        /// The address of the API server.
        server: String,
        /// What was asked for.
        kind: ClaimKind,
        /// What came.
        found: String,
    },
    /// The API server did not answer as asked.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl ClaimListError {
    /// The API server has not a kind.
    pub(crate) fn not_served(cluster: &Cluster, kind: ClaimKind, served: &[Served]) -> Self {
        let served = served.iter().map(|own| own.version.clone()).collect();
        Self::NotServed { server: cluster.server.clone(), kind, served }
    }
}

/// A kind that the user may not list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingRight {
    /// The kind.
    pub kind: ClaimKind,
    /// The API server's words.
    pub message: String,
}

fn missing_rights(missing: &[MissingRight]) -> String {
    let resources: Vec<&str> = missing.iter().map(|right| right.kind.resource()).collect();
    let resources = resources.join(", ");
    let messages: Vec<&str> = missing.iter().map(|right| right.message.as_str()).collect();
    format!(
        "the right to list {resources} of {GROUP} is missing, without which no claim is decided: {}; a ClusterRole has to have \
         the rule {{apiGroups: [{GROUP}], resources: [{resources}], verbs: [get, list]}}",
        messages.join("; ")
    )
}

fn others(served: &[String]) -> String {
    if served.is_empty() { String::new() } else { format!(", but {}", served.join(", ")) }
}

/// A list as it comes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: PageMetadata,
    items: Option<Vec<Value>>,
}

#[derive(Deserialize, Default)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// A version of the group that is served, with its kinds.
pub(crate) struct Served {
    version: String,
    resources: Vec<String>,
}

impl Cluster {
    /// All slices, device classes, claims, templates of claims and, where they exist, rules for taints.
    ///
    /// # Errors
    /// A right is missing on one or several kinds, all of which are named; the API server does not have these kinds, or does
    /// not answer as one.
    pub fn claim_lists(&self) -> Result<ClaimLists, ClaimListError> {
        let served = self.served_versions()?;
        let mut lists = ClaimLists::default();
        let mut missing = Vec::new();
        for kind in ClaimKind::ALL {
            let Some(version) = kind.newest(&served) else {
                if kind == ClaimKind::TaintRules {
                    continue;
                }
                return Err(ClaimListError::not_served(self, kind, &served));
            };
            match self.pages_where(kind, version, &ListParams::default()) {
                Ok(pages) => lists.pages.extend(pages.into_iter().map(|page| (kind, page))),
                Err(ClaimListError::Cluster(error @ ClusterError::Forbidden(_)))
                    if kind == ClaimKind::TaintRules =>
                {
                    lists.without_taint_rules = Some(error);
                }
                Err(ClaimListError::Cluster(ClusterError::Forbidden(message))) => {
                    missing.push(MissingRight { kind, message });
                }
                Err(error) => return Err(error),
            }
        }
        if missing.is_empty() { Ok(lists) } else { Err(ClaimListError::MissingRights(missing)) }
    }

    /// The versions of the group with their kinds; none: the API server does not have the group.
    pub(crate) fn served_versions(&self) -> Result<Vec<Served>, ClusterError> {
        let group: APIGroup = match self.read(&format!("/apis/{GROUP}"), &ListParams::default()) {
            Err(ClusterError::NotFound(_)) => return Ok(Vec::new()),
            group => group?,
        };
        let is_known = |version: &str| ClaimKind::ALL.iter().any(|kind| kind.versions().contains(&version));
        let versions = group.versions.into_iter().map(|found| {
            let version = found.version;
            let resources = if is_known(&version) {
                let list: APIResourceList =
                    self.read(&format!("/apis/{GROUP}/{version}"), &ListParams::default())?;
                list.resources.into_iter().map(|resource| resource.name).collect()
            } else {
                Vec::new()
            };
            Ok(Served { version, resources })
        });
        versions.collect()
    }

    /// The objects of a kind that are wanted. Where the API server has forgotten what a page went on from, everything is listed anew, once.
    pub(crate) fn pages_where(
        &self,
        kind: ClaimKind,
        version: &str,
        wanted: &ListParams,
    ) -> Result<Vec<Value>, ClaimListError> {
        match self.pages_once(kind, version, wanted) {
            Err(ClaimListError::Cluster(ClusterError::Expired(_))) => self.pages_once(kind, version, wanted),
            pages => pages,
        }
    }

    fn pages_once(
        &self,
        kind: ClaimKind,
        version: &str,
        wanted: &ListParams,
    ) -> Result<Vec<Value>, ClaimListError> {
        let other = |found: String| {
            let server = self.server.clone();
            Err(ClaimListError::NoSuchList { server, kind, found })
        };
        let api_version = format!("{GROUP}/{version}");
        let address = format!("/apis/{api_version}/{}", kind.resource());
        let mut wanted = wanted.clone().limit(PAGE);
        let mut pages = Vec::new();
        while pages.len() < MOST_PAGES {
            let page: Page = self.read(&address, &wanted)?;
            if page.kind != kind.list() || page.api_version != api_version {
                return other(format!("a {:?} of {:?}", page.kind, page.api_version));
            }
            let items: Vec<Value> = page.items.into_iter().flatten().map(without_managers).collect();
            pages.push(json!({ "apiVersion": page.api_version, "kind": page.kind, "items": items }));
            wanted.continue_token = page.metadata.next.filter(|next| !next.is_empty());
            if wanted.continue_token.is_none() {
                return Ok(pages);
            }
        }
        other(format!("more than {MOST_PAGES} pages"))
    }

    /// What is at an address.
    pub(crate) fn read<T: for<'a> Deserialize<'a>>(
        &self,
        address: &str,
        parameters: &ListParams,
    ) -> Result<T, ClusterError> {
        let request = kube::core::Request::new(address).list(parameters);
        let text =
            self.wait(async { self.client.request_text(request.map_err(kube::Error::BuildRequest)?).await })?;
        serde_json::from_str(&text).map_err(ClusterError::NotAnObject)
    }
}

impl Served {
    fn has(&self, kind: ClaimKind, version: &str) -> bool {
        self.version == version && self.resources.iter().any(|resource| resource == kind.resource())
    }
}

/// Who has set which field decides nothing, and is often more text than the fields.
pub(crate) fn without_managers(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}
