//! One connection from its registration to its end. The handler runs on the thread of the caller, a reader beside it.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use prost::Message as _;

use crate::dispatch::Dispatcher;
use crate::handler::Handler;
use crate::link::{Answered, Link, RUNTIME_SERVICE};
use crate::messages::{RegisterPluginRequest, ttrpc};
use crate::notice::{Ended, Notice};
use crate::reader::{Reader, Request, Stage};
use crate::settings::Settings;
use crate::status::{Code, Status};
use crate::updater::Updater;

/// The version of NRI whose protocol this is.
const NRI_VERSION: &str = "v0.12.5";
/// Requests of which a late one is not handled any more: their answers would change something. Others are handled
/// late, since they tell what has happened.
const OF_NO_USE_LATE: [&str; 4] =
    ["CreateContainer", "UpdateContainer", "UpdatePodSandbox", "ValidateContainerAdjustment"];

/// A connection that has ended.
pub(crate) struct Served {
    pub(crate) reason: Ended,
    /// Since when events came.
    pub(crate) synchronized: Option<Instant>,
}

/// Serves a connection until it ends.
pub(crate) fn serve<H: Handler>(
    socket: UnixStream,
    settings: &Settings,
    handler: &mut H,
    updater: &Updater,
) -> Served {
    let clone = || -> io::Result<UnixStream> {
        socket.set_write_timeout(Some(settings.times.write))?;
        socket.try_clone()
    };
    let link = match clone() {
        Ok(output) => Arc::new(Link::new(output)),
        Err(error) => return Served { reason: error.into(), synchronized: None },
    };
    let (requests, queue) = mpsc::channel();
    let stage = Stage::begin(Instant::now(), settings.times.register);
    let reader = Reader { socket, link: &link, requests, settings, stage };
    thread::scope(|scope| {
        let closing = Closing { link: &link, updater };
        let reader = scope.spawn(|| {
            let reason = reader.run();
            // What is still asked for is not answered any more.
            link.end();
            reason
        });
        link.register(&registration(settings));
        let mut serving = Serving {
            link: &link,
            updater,
            handler,
            dispatcher: Dispatcher::new(settings.policy),
            synchronized: None,
        };
        for request in queue {
            serving.request(request);
        }
        let synchronized = serving.synchronized;
        drop(closing);
        let reason = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Served { reason, synchronized }
    })
}

fn registration(settings: &Settings) -> ttrpc::Request {
    let request = RegisterPluginRequest {
        plugin_name: settings.name.clone(),
        plugin_idx: settings.index.clone(),
        nri_version: NRI_VERSION.to_owned(),
    };
    ttrpc::Request {
        service: RUNTIME_SERVICE.to_owned(),
        method: "RegisterPlugin".to_owned(),
        payload: request.encode_to_vec(),
        timeout_nano: i64::try_from(settings.times.register.as_nanos()).unwrap_or(i64::MAX),
    }
}

/// Ends the connection also when the handler panics, so that the reader ends.
struct Closing<'a> {
    link: &'a Link,
    updater: &'a Updater,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.updater.disconnect();
        self.link.end();
    }
}

/// The handler's side of a connection.
struct Serving<'a, H> {
    link: &'a Arc<Link>,
    updater: &'a Updater,
    handler: &'a mut H,
    dispatcher: Dispatcher,
    synchronized: Option<Instant>,
}

impl<H: Handler> Serving<'_, H> {
    fn request(&mut self, request: Request) {
        let Request { stream, method, payload, due } = request;
        if OF_NO_USE_LATE.contains(&method.as_str()) && !self.link.is_open(stream) {
            return;
        }
        let began = Instant::now();
        let answering = Answering { link: self.link, stream };
        let was_synchronized = self.dispatcher.synchronized_with().is_some();
        let result = self.dispatcher.answer(self.handler, &method, &payload, due);
        if answering.answer(result) == Answered::Late {
            self.handler.notice(&Notice::Late { request: method, took: began.elapsed() });
            return;
        }
        if let Some(runtime) = self.dispatcher.synchronized_with().filter(|_| !was_synchronized) {
            self.synchronized = Some(Instant::now());
            self.updater.connect(self.link);
            self.handler.notice(&Notice::Synchronized(runtime.clone()));
        }
    }
}

/// A request in the hands of the handler. If that panics, the request fails instead of going on without the plugin.
struct Answering<'a> {
    link: &'a Link,
    stream: u32,
}

impl Answering<'_> {
    fn answer(self, result: Result<Vec<u8>, Status>) -> Answered {
        self.link.answer(self.stream, result)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        // What is answered has no entry any more.
        let status = Status::new(Code::Unknown, "the plugin has failed");
        self.link.answer(self.stream, Err(status));
    }
}
