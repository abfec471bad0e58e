//! `topolet explain`: the decision on a pod with everything that led to it, and all that would have fitted.

use clap::Args;
use topology_admission::Tries;

use super::admit::{self, Depth, Way};
use crate::arguments::{OutputArguments, PodsArguments};
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
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &ExplainArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, residents, asked) = admit::read(&arguments.pods, screen)?;
    let depth = Depth::Whole(Tries(arguments.tries));
    let way = Way { depth, told: &arguments.told, format: arguments.output.output, screen };
    admit::decide(&node, residents, &asked, way)
}
