//! An answer of a daemon: how it is asked for, how it is to be written, and its printing.

use std::path::Path;

use node_output::Format;
use node_output::http::{FATE, NOT_DECIDED, OUTCOME, PARTIAL, SOME_REFUSED, SOMETHING_WRONG};
use terminal_text::{Glyphs, Page};

use crate::arguments::OutputArguments;
use crate::client::{self, Reply, Sent};
use crate::outcome::Outcome;
use crate::screen::Screen;

/// How the answer is to be written, as the query of a request.
pub(crate) fn shape(output: &OutputArguments, screen: Screen) -> String {
    shape_of(output.output, screen.page)
}

/// The same of a format that is not of an `--output` that several commands have.
pub(crate) fn shape_of(format: Format, page: Page) -> String {
    let format = match format {
        Format::Table => "table",
        Format::Json => "json",
        Format::Yaml => "yaml",
    };
    let glyphs = match page.glyphs {
        Glyphs::Unicode => "unicode",
        Glyphs::Ascii => "ascii",
    };
    let width = page.width.map_or_else(String::new, |width| format!("&width={}", width.max(40)));
    format!("output={format}&glyphs={glyphs}{width}")
}

/// What the daemon at `socket` has at `path`, printed.
pub(crate) fn get(
    socket: &Path,
    path: &str,
    output: &OutputArguments,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let path = format!("{path}?{}", shape(output, screen));
    let reply = client::send(socket, "GET", &path, Sent::default())?.good()?;
    show(&reply, output.output, screen)
}

/// Prints an answer, and says what it comes to.
pub(crate) fn show(reply: &Reply, format: Format, screen: Screen) -> anyhow::Result<Outcome> {
    match format {
        Format::Table => screen.show(&reply.body)?,
        Format::Json | Format::Yaml => screen.print(&reply.body)?,
    }
    Ok(match reply.field(OUTCOME) {
        Some(SOME_REFUSED | NOT_DECIDED | FATE) => Outcome::SomeRefused,
        Some(PARTIAL) => Outcome::Partial,
        Some(SOMETHING_WRONG) => Outcome::SomethingWrong,
        _ => Outcome::Done,
    })
}
