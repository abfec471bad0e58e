//! `topolet explain`: the decision on a pod with everything that led to it, and all that would have fitted.

use clap::Args;
use serde::Serialize;
use topology_admission::{Detail, Tries};

use super::admit::{self, Depth};
use crate::arguments::{Format, OutputArguments, PodsArguments};
use crate::decision::Decision;
use crate::document::Document;
use crate::node::NodeLine;
use crate::render::{self, Screen};
use crate::{Outcome, pods};

#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    /// How many changes are tried at most to find what would fit.
    #[arg(long, value_name = "NUMBER", default_value_t = Tries::default().0)]
    pub(crate) tries: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// All explanations, as they are written.
#[derive(Debug, Serialize)]
struct Explanations<'a> {
    node: &'a NodeLine,
    pods: Vec<Decision>,
}

pub(super) fn run(arguments: &ExplainArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, mut ledger, asked) = admit::read(&arguments.pods)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let format = arguments.output.output;
    if format == Format::Table {
        screen.show(&node.line.headline(screen.glyphs))?;
    }
    let depth = Depth { detail: Detail::Merges, tries: Tries(arguments.tries) };
    let mut outcome = Outcome::Done;
    let mut explained = Vec::new();
    for pod in pods::active(asked, screen) {
        let decision;
        (decision, ledger) = admit::one(&node, &ledger, &pod, depth)?;
        if !decision.admitted {
            outcome = Outcome::SomeRefused;
        }
        if format == Format::Table {
            let text = render::explanation(&decision, &node.line.line(screen.glyphs), screen.glyphs);
            screen.show(&format!("\n{text}"))?;
        } else {
            explained.push(decision);
        }
    }
    let document = Document::new("Explanation", Explanations { node: &node.line, pods: explained });
    if let Some(text) = document.text(format)? {
        screen.print(&text)?;
    }
    Ok(outcome)
}
