//! `topolet explain`: the decision on a pod with everything that led to it, and all that would have fitted.

mod resize;

use std::path::Path;

use anyhow::bail;
use clap::{Args, ValueHint};
use topology_admission::Tries;

use super::diagnose;
use crate::arguments::{DecisionOutputArguments, PodsArguments};
use crate::claim_arguments::ClaimArguments;
use crate::decisions::{Depth, OutputOptions, decide};
use crate::drawn;
use crate::outcome::Outcome;
use crate::question::Question;
use crate::screen::Screen;
use crate::shown::{ShownArguments, legend_needs_table};

#[derive(Args, Debug)]
#[command(mut_arg("files", |files| files.required(false).required_unless_present_any(["resize", "bundle"])))]
pub(crate) struct ExplainArguments {
    /// Of a support bundle the refusal of this pod, as `topolet diagnose BUNDLE --pod POD` explains it.
    #[arg(value_names = ["BUNDLE", "POD"], num_args = 2, conflicts_with_all = ["files", "resize"], value_hint = ValueHint::AnyPath)]
    pub(crate) bundle: Vec<String>,
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    /// Whether a pod that runs on the node can have other amounts of CPU and memory: the pod, as NAME, NAMESPACE/NAME or
    /// UID, and its sizes, as cpu=12 memory=8Gi; main.cpu=12 names the container where there are several. The limit
    /// changes with the request where both are the same. CPUs and memory that pods hold alone are resized as
    /// cpu.resize and memory.resize of --topolet-config allow.
    #[arg(long, value_names = ["POD", "SIZE"], num_args = 2.., conflicts_with = "files")]
    pub(crate) resize: Vec<String>,
    /// How many changes are tried at most to find what would fit.
    #[arg(long, value_name = "NUMBER", default_value_t = Tries::default().0)]
    pub(crate) tries: usize,
    #[command(flatten)]
    pub(crate) claims: ClaimArguments,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
    #[command(flatten)]
    pub(crate) output: DecisionOutputArguments,
}

pub(super) fn run(arguments: &ExplainArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if let [bundle, pod] = arguments.bundle.as_slice() {
        return diagnose::explain(Path::new(bundle), pod, arguments.output.output, screen);
    }
    if !arguments.resize.is_empty() {
        let Some(format) = arguments.output.output.text() else {
            bail!("--resize prints a table, json or yaml: choose one of them with -o")
        };
        if let Some(name) = arguments.shown.given().or_else(|| arguments.claims.given()) {
            bail!(
                "{name} is for pods of manifests, and --resize is about one that runs: leave one of them out"
            )
        }
        return resize::run(&arguments.pods, &arguments.resize, format, screen);
    }
    if arguments.shown.legend {
        legend_needs_table(&arguments.output.output)?;
    }
    let question = Question::read(&arguments.pods, &arguments.claims, screen)?;
    let (shown, tries) = (&arguments.shown, Tries(arguments.tries));
    let features = arguments.claims.features()?;
    match arguments.output.output.text() {
        Some(format) => {
            decide(question, features, OutputOptions { depth: Depth::Full(tries), shown, format, screen })
        }
        None => drawn::draw(question, shown, tries, features, screen),
    }
}
