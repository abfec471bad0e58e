//! Loads a node and prints what it decides by: `cargo run -p node-input --example node -- xeon-cxl-4node`.

use node_input::{LoadedNode, MachineSource, ResidentsSource, RulesSource};
use terminal_text::{Glyphs, Page};

fn main() -> anyhow::Result<()> {
    let machine = std::env::args().nth(1).unwrap_or_else(|| "xeon-cxl-4node".to_owned());
    let node = LoadedNode::load(&MachineSource::named(&machine), &RulesSource::default())?;
    print!("{}", node.line.headline(Page::endless(Glyphs::Unicode)));
    for warning in &node.warnings {
        println!("{warning}");
    }
    let residents = node.residents(&ResidentsSource::default())?;
    println!("{} pods run there", residents.ledger.pods().count());
    Ok(())
}
