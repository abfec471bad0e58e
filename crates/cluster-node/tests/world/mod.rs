//! An API server that is a function, and a clock that moves when it is waited for: no network, no threads, no waiting.

#![expect(clippy::disallowed_methods, reason = "tests wait for servers")]

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cluster_node::{Clock, Cluster, Connector, Pause, RequestBody};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use parking_lot::Mutex;
use tower::service_fn;

/// A clock that moves when it is waited for.
pub(crate) struct HandClock {
    start: Instant,
    passed: Arc<Mutex<Duration>>,
}

impl HandClock {
    pub(crate) fn passed(&self) -> Duration {
        *self.passed.lock()
    }
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.start + self.passed()
    }

    fn since_1970(&self) -> Duration {
        Duration::from_hours(500_000) + self.passed()
    }

    /// Pauses are the longest.
    fn random(&self) -> u64 {
        u64::MAX
    }

    fn pause(&self, length: Duration) -> Pause {
        let (passed, until) = (self.passed.clone(), self.passed() + length);
        Box::pin(async move {
            // The runtime's own clock jumps as soon as nothing else can be done.
            tokio::time::sleep(length).await;
            let mut passed = passed.lock();
            *passed = until.max(*passed);
        })
    }

    fn sleep(&self, length: Duration) {
        *self.passed.lock() += length;
    }
}

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
        let clock = Arc::new(HandClock { start: Instant::now(), passed: Arc::default() });
        Self { clock, connections: Arc::default(), server: Arc::new(server) }
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
