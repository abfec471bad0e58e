//! An answer of a daemon: how it is to be written, and its printing.

use node_output::Format;
use node_output::http::{FATE, NOT_DECIDED, OUTCOME, PARTIAL, SOME_REFUSED, SOMETHING_WRONG};

use crate::arguments::OutputArguments;
use crate::client::Reply;
use crate::outcome::Outcome;
use crate::render::{Glyphs, Screen};

/// How the answer is to be written, as the query of a request.
pub(super) fn shape(output: &OutputArguments, screen: Screen) -> String {
    shape_of(output.output, screen)
}

pub(super) fn shape_of(format: Format, screen: Screen) -> String {
    let format = match format {
        Format::Table => "table",
        Format::Json => "json",
        Format::Yaml => "yaml",
    };
    let glyphs = match screen.page.glyphs {
        Glyphs::Unicode => "unicode",
        Glyphs::Ascii => "ascii",
    };
    let width = screen.page.width.map_or_else(String::new, |width| format!("&width={}", width.max(40)));
    format!("output={format}&glyphs={glyphs}{width}")
}

pub(super) fn show(reply: &Reply, format: Format, screen: Screen) -> anyhow::Result<Outcome> {
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
