//! `topolet topology`: a machine as it is, and where the kubelet sees it otherwise.

use serde::Serialize;
use topology_model::KubeletView;

use crate::Outcome;
use crate::arguments::{Format, TopologyArguments};
use crate::document::Document;
use crate::machine_view::MachineView;
use crate::node::LoadedMachine;
use crate::render::{self, Screen};

pub(super) fn run(arguments: &TopologyArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let format = arguments.output.output;
    if arguments.list {
        return list(format, screen);
    }
    let loaded = LoadedMachine::load(&arguments.machine)?;
    let kubelet = KubeletView::new(&loaded.info);
    let mut view = MachineView::new(&loaded, kubelet.as_ref().ok());
    if let Err(error) = kubelet {
        view.kubelet_differs.push(format!("it would not start here: {error}"));
    }
    match Document::new("Topology", &view).text(format)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&render::topology(&view, screen.glyphs))?,
    }
    Ok(Outcome::Done)
}

/// The built-in machines.
#[derive(Debug, Serialize)]
struct Machines {
    machines: Vec<&'static str>,
}

fn list(format: Format, screen: Screen) -> anyhow::Result<Outcome> {
    let machines: Vec<&str> = machine_fixtures::names().collect();
    let names: String = machines.iter().map(|name| format!("{name}\n")).collect();
    let text = Document::new("Machines", Machines { machines }).text(format)?;
    screen.print(&text.unwrap_or(names))?;
    Ok(Outcome::Done)
}
