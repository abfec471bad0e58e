//! `topolet explain`: the decision on a pod with everything that led to it, and all that would have fitted.

use clap::Args;
use topology_admission::Tries;

use super::admit::{self, Depth, Way};
use crate::arguments::{DecisionOutputArguments, PodsArguments};
use crate::drawn;
use crate::outcome::Outcome;
use crate::render::Screen;
use crate::told::ToldArguments;

#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    /// How many changes are tried at most to find what would fit.
    #[arg(long, value_name = "NUMBER", default_value_t = Tries::default().0)]
    pub(crate) tries: usize,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    #[command(flatten)]
    pub(crate) output: DecisionOutputArguments,
}

pub(super) fn run(arguments: &ExplainArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, residents, asked) = admit::read(&arguments.pods, screen)?;
    let (told, tries) = (&arguments.told, Tries(arguments.tries));
    match arguments.output.output.text() {
        Some(format) => {
            admit::decide(&node, residents, &asked, Way { depth: Depth::Whole(tries), told, format, screen })
        }
        None => drawn::draw(&node, residents, &asked, told, tries, screen),
    }
}
