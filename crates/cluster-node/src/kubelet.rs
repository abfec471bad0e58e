//! The pods of a kubelet by its HTTPS endpoint, `/pods`: for nodes whose kubelet serves no pods API.
//!
//! A kubelet asks the API server whether the token may read `nodes/proxy` (or `nodes/pods`), and answers with all pods
//! that it knows, static ones included, by the UIDs that it has for them. It tells no changes: it is asked again.

use std::fs;
use std::path::PathBuf;

use hyper::{Request, Uri};
use kube::Config;
use kube::api::{DynamicObject, ObjectList};
use kube::config::AuthInfo;
use pods_api::KubeletPod;

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::pods::told;

/// Where a kubelet is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubeletAccess {
    /// `https://127.0.0.1:10250`.
    pub url: Uri,
    /// A file with the token of a service account, which is read with each [`KubeletPods::new`].
    pub token: PathBuf,
    /// A file with the certificate that signed the kubelet's own. `None`: the kubelet's is not checked, as most kubelets
    /// sign their own.
    pub certificate: Option<PathBuf>,
}

/// A kubelet that is asked for its pods.
#[derive(Debug)]
pub struct KubeletPods(Cluster);

impl KubeletPods {
    /// Reads what is needed to connect. Nothing is sent yet.
    ///
    /// # Errors
    /// A file cannot be read, or is no certificate.
    pub fn new(access: &KubeletAccess) -> Result<Self, ClusterError> {
        let KubeletAccess { url, token, certificate } = access;
        let mut config = Config::new(url.clone());
        let unreadable = |path: &PathBuf, reason: String| ClusterError::File { path: path.clone(), reason };
        let read = fs::read_to_string(token).map_err(|error| unreadable(token, error.to_string()))?;
        // An editor ends a line, and a token has none.
        let Some(read) = Some(read.trim()).filter(|read| !read.is_empty()) else {
            return Err(unreadable(token, "it is empty".to_owned()));
        };
        config.auth_info = AuthInfo { token: Some(read.into()), ..AuthInfo::default() };
        match certificate {
            None => {
                config.accept_invalid_certs = true;
                // None is asked for, and not those of the system, of which a node or an image may have none.
                config.root_cert = Some(Vec::new());
            }
            Some(path) => {
                let read = fs::read(path).map_err(|error| unreadable(path, error.to_string()))?;
                config.root_cert = Some(
                    certificates(&read)
                        .ok_or_else(|| unreadable(path, "no certificate is in it".to_owned()))?,
                );
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClusterError::Runtime)?;
        Cluster::with(runtime, config).map(Self)
    }

    /// All pods that it knows.
    ///
    /// # Errors
    /// It cannot be reached, does not accept the token, or its user may not list pods.
    pub fn list(&self) -> Result<Vec<KubeletPod>, ClusterError> {
        let request = Request::get("/pods").body(Vec::new());
        let request = request.map_err(|error| ClusterError::Agent(error.to_string()))?;
        let listed: ObjectList<DynamicObject> = self.0.wait(self.0.client.request(request))?;
        listed.items.into_iter().map(told).collect()
    }
}

/// Those of a PEM file, in DER.
fn certificates(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let parsed = pem::parse_many(text).ok()?;
    let each: Vec<Vec<u8>> =
        parsed.into_iter().filter(|part| part.tag() == "CERTIFICATE").map(pem::Pem::into_contents).collect();
    (!each.is_empty()).then_some(each)
}
