//! `topolet admit`: pods from manifests, one after the other, each beside those admitted before it.

use clap::Args;
use topology_admission::Tries;

use crate::arguments::{DecisionOutputArguments, PodsArguments};
use crate::decisions::{Depth, Way, decide};
use crate::drawn;
use crate::outcome::Outcome;
use crate::question::Question;
use crate::screen::Screen;
use crate::told::ToldArguments;

#[derive(Args, Debug)]
pub(crate) struct AdmitArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    #[command(flatten)]
    pub(crate) output: DecisionOutputArguments,
}

pub(super) fn run(arguments: &AdmitArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let question = Question::read(&arguments.pods, screen)?;
    let told = &arguments.told;
    match arguments.output.output.text() {
        Some(format) => decide(question, Way { depth: Depth::Short, told, format, screen }),
        None => drawn::draw(question, told, Tries::default(), screen),
    }
}
