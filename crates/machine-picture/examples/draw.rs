//! Draws a machine of two packages with one pod on it: `cargo run -p machine-picture --example draw > machine.svg`.

use machine_picture::{MachineSummary, MemoryShare, PodShare, Shares, svg};
use terminal_text::Glyphs;
use topology_model::{Machine, NodeId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: Machine = "pack:2 [numa(memory=64GiB)] l3:2 core:4 pu:2".parse()?;
    let mut pod = PodShare::new("ran/dpdk");
    pod.cpus = "1-4".parse()?;
    let nodes = [NodeId(0)].into_iter().collect();
    pod.add_memory(MemoryShare { resource: "memory".into(), bytes: 8 << 30, nodes });
    let shares = Shares { pods: vec![pod], notes: Vec::new() };
    let summary = MachineSummary::of_hardware(&machine).line(Glyphs::Unicode);
    let heading = svg::Heading { title: "two packages", summary: &summary };
    print!("{}", svg::picture(&machine, heading, Some(&shares)));
    Ok(())
}
