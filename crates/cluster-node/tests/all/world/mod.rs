//! An API server that is a function, and a clock that moves when it is waited for: no network, no threads, no waiting.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cluster_node::{Cluster, Connector, HandClock, RequestBody};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use tower::service_fn;

/// What the API server answers: a status and a body.
pub(crate) struct Answer(pub(crate) u16, pub(crate) String);

type Server = dyn Fn(&str) -> Answer + Send + Sync;

/// A clock, an API server, and how many connections were made.
pub(crate) struct World {
    pub(crate) clock: Arc<HandClock>,
    pub(crate) connections: Arc<AtomicUsize>,
    server: Arc<Server>,
}

impl World {
    /// The server is asked by method, path and query.
    pub(crate) fn new(server: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self { clock: Arc::default(), connections: Arc::default(), server: Arc::new(server) }
    }

    pub(crate) fn connector(&self) -> Connector {
        let (clock, server, count) = (self.clock.clone(), self.server.clone(), self.connections.clone());
        Connector::new(clock.clone(), move || {
            count.fetch_add(1, Ordering::Relaxed);
            let server = server.clone();
            let service = service_fn(move |request: Request<RequestBody>| {
                let Answer(status, body) = server(&format!("{} {}", request.method(), request.uri()));
                let mut response = Response::new(Full::new(Bytes::from(body)));
                *response.status_mut() = status.try_into().unwrap();
                ready(Ok::<_, Infallible>(response))
            });
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            Ok(Cluster::over(service, runtime.unwrap(), clock.clone()))
        })
    }
}

/// An error of an API server.
pub(crate) fn refused(code: u16) -> Answer {
    Answer(
        code,
        format!(
            r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"R","code":{code}}}"#
        ),
    )
}
