//! `topolet get events`: what has happened on a node, and with `-w` what happens.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use node_output::Format;
use serde::Deserialize;

use crate::answer;
use crate::arguments::{OutputArguments, SocketArguments};
use crate::client::{self, Streamed};
use crate::outcome::Outcome;
use crate::screen::Screen;

/// Between two tries to reach a daemon that has closed the stream.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
pub(super) struct GetEvents {
    /// Goes on and prints each event as it happens, until it is stopped. With `-o json` one object a line.
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    socket: SocketArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn get(arguments: &GetEvents, screen: Screen) -> anyhow::Result<Outcome> {
    let GetEvents { watch, socket, output } = arguments;
    if *watch {
        return watched(arguments, screen);
    }
    answer::get(&socket.socket, "/v1/events", output, screen)
}

/// Prints events until standard output is closed. Waits for a daemon that restarts.
fn watched(arguments: &GetEvents, screen: Screen) -> anyhow::Result<Outcome> {
    let format = arguments.output.output;
    ensure!(format != Format::Yaml, "--watch prints lines: -o table or -o json");
    let mut last = "0".to_owned();
    let mut is_new = true;
    let mut is_read = true;
    loop {
        let path = format!("/v1/events?watch=true&after={last}");
        let hear = |event: Streamed| {
            let line = match (event.name.as_str(), format) {
                ("lost", _) => {
                    screen.warn(format!("{} events came too fast to be read, and are lost", event.data));
                    return ControlFlow::Continue(());
                }
                (_, Format::Json) => event.data,
                (_, _) => line(&event.data).unwrap_or(event.data),
            };
            last = event.id;
            is_read = writeln!(std::io::stdout(), "{line}").is_ok();
            if is_read { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match client::follow(&arguments.socket.socket, &path, hear) {
            Ok(()) if !is_read => return Ok(Outcome::Done),
            Ok(()) => screen.warn("the daemon has closed the stream, and is waited for"),
            // The first time there may be no daemon at all.
            Err(error) if is_new => return Err(error),
            Err(_) => {}
        }
        is_new = false;
        thread::sleep(AGAIN);
    }
}

/// An event as a line under the columns of a list.
fn line(data: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        time: String,
        r#type: String,
        reason: String,
        namespace: Option<String>,
        name: Option<String>,
        message: String,
    }
    let Event { time, r#type: kind, reason, namespace, name, message } = serde_json::from_str(data).ok()?;
    let pod = namespace.zip(name).map_or_else(|| "-".to_owned(), |(space, name)| format!("{space}/{name}"));
    Some(format!("{time}  {kind:<7}  {reason:<22}  {pod:<30}  {message}").trim_end().to_owned())
}
