//! `topolet admit`: pods from manifests, one after the other, each beside those admitted before it.

use clap::Args;
use topology_admission::Tries;

use crate::arguments::{DecisionOutputArguments, PodsArguments};
use crate::claim_arguments::ClaimArguments;
use crate::decisions::{Depth, OutputOptions, decide};
use crate::drawn;
use crate::outcome::Outcome;
use crate::question::Question;
use crate::screen::Screen;
use crate::shown::{ShownArguments, legend_needs_table};

#[derive(Args, Debug)]
pub(crate) struct AdmitArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    #[command(flatten)]
    pub(crate) claims: ClaimArguments,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
    #[command(flatten)]
    pub(crate) output: DecisionOutputArguments,
}

pub(super) fn run(arguments: &AdmitArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if arguments.shown.legend {
        legend_needs_table(&arguments.output.output)?;
    }
    let question = Question::read(&arguments.pods, &arguments.claims, screen)?;
    let (shown, features) = (&arguments.shown, arguments.claims.features()?);
    match arguments.output.output.text() {
        Some(format) => {
            decide(question, features, OutputOptions { depth: Depth::Short, shown, format, screen })
        }
        None => drawn::draw(question, shown, Tries::default(), features, screen),
    }
}
