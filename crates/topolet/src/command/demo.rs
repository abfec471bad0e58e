//! `topolet demo`: the main job on built-in data. It needs nothing.

use clap::Args;
use dra_model::Features;
use node_input::{
    Asked, DeviceText, LoadedMachine, LoadedNode, MachineSource, Residents, ResidentsSource, RulesSource,
};
use node_output::{Format, manifest_error};
use pod_spec::Pod;
use topology_manifest::{Source, read_pods};

use crate::arguments::OutputArguments;
use crate::decisions::{Depth, OutputOptions, decide};
use crate::outcome::Outcome;
use crate::question::Question;
use crate::screen::Screen;
use crate::shown::ShownArguments;

/// The machine that Intel's guide to NUMA-aware pods describes.
const MACHINE: &str = "xeon-2s-96cpu-sriov";
const PODS: &str = include_str!("../../demo/pods.yaml");

#[derive(Args, Debug)]
pub(crate) struct DemoArguments {
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(super) fn run(arguments: &DemoArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let source = Source { name: "demo/pods.yaml", text: PODS };
    let pods = read_pods(&source).map_err(manifest_error)?;
    let source = MachineSource::named(MACHINE);
    let machine = LoadedMachine::load(&source)?;
    let rules = RulesSource { policy: Some("single-numa-node".to_owned()), ..RulesSource::default() };
    let node =
        LoadedNode::on(&machine, &rules, DeviceText::on(&rules, &source, &ResidentsSource::default())?)?;
    let asked = Asked { pods: pods.into_iter().map(Pod::delivered).collect(), ..Asked::default() };
    let shown = ShownArguments::default();
    let options =
        OutputOptions { depth: Depth::Short, shown: &shown, format: arguments.output.output, screen };
    let residents = Residents::none(&node);
    // That some of its pods are refused is what it shows.
    let _ = decide(Question { node, residents, asked }, Features::DEFAULT, options)?;
    if arguments.output.output == Format::Table {
        screen.print(
            "\nThe same on your machine: topolet topology; topolet admit -f pods.yaml\n\
             On any other: topolet topology --list; topolet admit --machine NAME -f pods.yaml\n",
        )?;
    }
    Ok(Outcome::Done)
}
