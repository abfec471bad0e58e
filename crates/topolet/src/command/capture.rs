//! `topolet capture`: a machine's topology as a file that can be read elsewhere, and whether it is still that machine.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use topology_discovery::{Capture, read};

use crate::Outcome;
use crate::machine_change::changes;
use crate::node::{LoadedMachine, files_of};
use crate::render::Screen;

#[derive(Args, Debug)]
pub(crate) struct CaptureArguments {
    /// The file to write, NAME.tar.zst; `--machine FILE` reads it anywhere.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Writes nothing, but tells in what the machine differs from the one captured in FILE. Exit status 2 if it does.
    #[arg(long)]
    pub(crate) check: bool,
    /// `live` for this machine, the name of a built-in one, a folder, or a .tar.zst.
    #[arg(short, long, value_name = "MACHINE", default_value = "live")]
    pub(crate) machine: String,
}

pub(super) fn run(arguments: &CaptureArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (name, tree) = files_of(&arguments.machine)?;
    if arguments.check {
        return check(arguments, &name, &tree, screen);
    }
    let found = read(&tree).with_context(|| format!("failed to read {name}"))?;
    let capture = Capture::of(&tree).with_context(|| format!("failed to capture {name}"))?;
    let lost = changes(&found.machine, &capture.found().machine);
    if !lost.is_empty() {
        bail!("the capture of {name} would be another machine: {}", lost.join("; "));
    }
    let archive = capture.archive()?;
    let path = arguments.file.display();
    let mut file = File::create_new(&arguments.file).with_context(|| format!("failed to create {path}"))?;
    file.write_all(&archive)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("failed to write {path}"))?;
    screen
        .print(&format!("{path}: {} bytes, no serial numbers and no network addresses\n", archive.len()))?;
    for problem in &found.problems {
        screen.warn(problem);
    }
    Ok(Outcome::Done)
}

fn check(
    arguments: &CaptureArguments,
    name: &str,
    tree: &topology_discovery::SysfsTree,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let file = &arguments.file.to_string_lossy();
    let captured = if file.contains(['/', '.']) { file.to_string() } else { format!("./{file}") };
    let Some(captured) = LoadedMachine::named(&captured)?.machine else {
        bail!("{file} says what cAdvisor sees, not what the machine is");
    };
    let now = read(tree).with_context(|| format!("failed to read {name}"))?.machine;
    let changes = changes(&captured, &now);
    if !changes.is_empty() {
        screen.print(&format!(
            "{name} is no longer what was captured in {file}:\n  {}\n",
            changes.join("\n  ")
        ))?;
        return Ok(Outcome::SomethingWrong);
    }
    screen.print(&format!("{name} is what was captured in {file}\n"))?;
    Ok(Outcome::Done)
}
