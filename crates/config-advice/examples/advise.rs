//! Prints what is wrong with a configuration and what is proposed: `cargo run -p config-advice --example advise`.

use config_advice::{DecidedBy, check, held_back, notes, propose};
use node_config::KubeletConfiguration;
use topology_model::{KubeletView, MachineInfo};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa(memory=16GiB)] core:8 pu:2".parse()?;
    let view = KubeletView::new(&machine)?;
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        topology_manager_policy: Some("strict".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        ..KubeletConfiguration::default()
    };
    let target = DecidedBy::Kubelet;
    let proposal = propose(&config, &view, target);
    for finding in check(&config, &proposal, &view, target) {
        println!("{}: {}", finding.field, finding.cause);
        for (field, value) in &finding.remedy {
            println!("  expected {field}: {value}");
        }
    }
    for note in
        held_back(&config, &proposal, &view, target).into_iter().chain(notes(&proposal, &view, target))
    {
        println!("note: {note}");
    }
    println!("{}", serde_json::to_string_pretty(&proposal)?);
    Ok(())
}
