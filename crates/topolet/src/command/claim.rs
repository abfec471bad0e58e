//! `topolet claim`: whether slices, device classes and claims are what their writers meant.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use node_input::ObjectText;
use node_output::{Document, Format};

use crate::arguments::OutputArguments;
use crate::claim_arguments::ClaimArguments;
use crate::examples;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct ClaimCommandArguments {
    #[command(subcommand)]
    pub(crate) command: ClaimCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ClaimCommand {
    /// Checks slices, device classes, claims, templates of claims and taint rules as an API server of v1.37.2 does, and warns of
    /// what does not do what it was meant to. Exit status 2 if an API server refuses any.
    #[command(after_help = examples::CLAIM_CHECK)]
    Check(ClaimCheckArguments),
}

#[derive(Args, Debug)]
pub(crate) struct ClaimCheckArguments {
    /// Files with objects of resource.k8s.io as YAML or JSON, such as `kubectl get resourceslices,deviceclasses -o yaml`
    /// prints; or folders with such files; `-` reads standard input. Each object is checked beside all others.
    #[cfg_attr(feature = "serve", arg(required_unless_present_any = ["kubeconfig", "context"]))]
    #[cfg_attr(not(feature = "serve"), arg(required = true))]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) claims: ClaimArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &ClaimCommandArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ClaimCommand::Check(arguments) => check(arguments, screen),
    }
}

fn check(arguments: &ClaimCheckArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let mut texts = arguments.claims.listed(screen)?;
    texts.extend(ObjectText::of_files(&arguments.files)?);
    let checked = node_input::check_claims(&texts, arguments.claims.features()?, &screen)?;
    match arguments.output.output {
        Format::Table => screen.print(&screen.page.quoted(&checked.text()))?,
        format => {
            let document = Document::new("ClaimCheck", checked.document()).of("v1.37.2").text(format)?;
            screen.print(&document.unwrap_or_default())?;
        }
    }
    Ok(if checked.is_wrong() { Outcome::SomethingWrong } else { Outcome::Done })
}
