//! Serves the seconds since 1970 on a unix socket: `cargo run --example clock -- /tmp/clock.sock`, then
//! `curl --unix-socket /tmp/clock.sock http://localhost/`.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use bounded_http::{Listeners, Open, OptionNames, Peer, Refused, Service, UnixSocket, serve};

async fn time(Extension(peer): Extension<Peer>) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{seconds} for {peer:?}\n")
}

fn refused(why: &Refused) -> Response {
    (why.status(), why.to_string()).into_response()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "/tmp/clock.sock".into());
    let options = OptionNames { path: "another argument", group: "another program" };
    let socket = UnixSocket { path: path.into(), open: Open::ToOwnGroup, options };
    let router = Router::new().route("/", get(time)).route("/healthz", get(async || "ok\n"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listeners = Listeners::on_socket(socket, |fate| eprintln!("the socket: {fate:?}"))?;
        let service = Service { router, always: &["/healthz"], largest: |_| 0, refused };
        serve(listeners, service, 256).await;
        Ok(())
    })
}
