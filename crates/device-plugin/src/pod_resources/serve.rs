//! The service itself: `v1.PodResourcesLister`, and the older `v1alpha1.PodResourcesLister` beside it. Questions of
//! either are taken from one bucket.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tonic::{Request, Response, Status};

use super::rate::Bucket;
use super::{PodResources, PodResourcesQuery, PodResourcesSnapshot};
use crate::metrics::{Method, Metrics};
use crate::proto::podresources as messages;
use crate::proto::podresources::pod_resources_lister_server::PodResourcesLister;
use crate::proto::podresources_v1alpha1 as v1alpha1;
use crate::proto::podresources_v1alpha1::pod_resources_lister_server as v1alpha1_server;
use crate::setup::Questions;

/// The service of one socket.
pub(crate) struct Lister {
    source: Arc<dyn PodResources>,
    metrics: Metrics,
    /// Where questions are rated.
    bucket: Option<Mutex<Bucket>>,
}

impl Lister {
    pub(crate) fn new(source: Arc<dyn PodResources>, metrics: Metrics, questions: Questions) -> Self {
        let bucket = match questions {
            Questions::Rated => Some(Mutex::new(Bucket::new(Instant::now()))),
            Questions::All => None,
        };
        Self { source, metrics, bucket }
    }

    /// What there is to tell, if there have not been too many questions.
    async fn snapshot(&self, method: Method) -> Result<Arc<PodResourcesSnapshot>, Status> {
        let take = |bucket: &Mutex<Bucket>| bucket.lock().take(Instant::now());
        if !self.bucket.as_ref().is_none_or(take) {
            return Err(Status::resource_exhausted("rejected by rate limit"));
        }
        self.metrics.count_question(method);
        let asked = match method {
            Method::List => PodResourcesQuery::List,
            Method::Allocatable => PodResourcesQuery::Allocatable,
            Method::Get => PodResourcesQuery::Get,
            Method::ListV1Alpha1 => PodResourcesQuery::ListV1Alpha1,
        };
        let source = Arc::clone(&self.source);
        let told = tokio::task::spawn_blocking(move || source.snapshot(asked)).await;
        told.map_err(|_| Status::internal("what pods hold is not known"))
    }
}

#[tonic::async_trait]
impl PodResourcesLister for Lister {
    async fn list(
        &self,
        _: Request<messages::ListPodResourcesRequest>,
    ) -> Result<Response<messages::ListPodResourcesResponse>, Status> {
        let snapshot = self.snapshot(Method::List).await?;
        let pod_resources = snapshot.pods.iter().map(Into::into).collect();
        Ok(Response::new(messages::ListPodResourcesResponse { pod_resources }))
    }

    async fn get_allocatable_resources(
        &self,
        _: Request<messages::AllocatableResourcesRequest>,
    ) -> Result<Response<messages::AllocatableResourcesResponse>, Status> {
        let snapshot = self.snapshot(Method::Allocatable).await?;
        Ok(Response::new((&snapshot.allocatable).into()))
    }

    async fn get(
        &self,
        request: Request<messages::GetPodResourcesRequest>,
    ) -> Result<Response<messages::GetPodResourcesResponse>, Status> {
        let messages::GetPodResourcesRequest { pod_name: name, pod_namespace: namespace } =
            request.into_inner();
        let snapshot = self.snapshot(Method::Get).await?;
        let Some(pod) = snapshot.pods.iter().find(|pod| pod.name == name && pod.namespace == namespace)
        else {
            self.metrics.count_pod_not_found();
            return Err(Status::unknown(format!("pod {name} in namespace {namespace} not found")));
        };
        Ok(Response::new(messages::GetPodResourcesResponse { pod_resources: Some(pod.into()) }))
    }
}

#[tonic::async_trait]
impl v1alpha1_server::PodResourcesLister for Lister {
    async fn list(
        &self,
        _: Request<v1alpha1::ListPodResourcesRequest>,
    ) -> Result<Response<v1alpha1::ListPodResourcesResponse>, Status> {
        let snapshot = self.snapshot(Method::ListV1Alpha1).await?;
        let pod_resources = snapshot.pods.iter().map(Into::into).collect();
        Ok(Response::new(v1alpha1::ListPodResourcesResponse { pod_resources }))
    }
}
