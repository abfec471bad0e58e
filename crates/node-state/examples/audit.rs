//! Reads the CPU state file of a node, and prints what is wrong with it and what a repair would write.
//!
//! `cargo run -p node-state --example audit [FILE]`: without a file, one in which two pods hold CPU 3.

use node_config::KubeletConfiguration;
use node_state::{PodList, StateFolder};
use topology_admission::Node;
use topology_model::{KubeletView, MachineInfo};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse()?;
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        ..KubeletConfiguration::default()
    };
    let node = Node::start(&KubeletView::new(&machine)?, &config)?;
    let cpu = match std::env::args_os().nth(1) {
        Some(file) => std::fs::read(file)?,
        None => br#"{"policyName":"static","defaultCpuSet":"0,4-7",
            "entries":{"a":{"app":"1-3"},"b":{"app":"3"}},"checksum":0}"#
            .to_vec(),
    };
    let folder = StateFolder { cpu: Some(cpu), ..StateFolder::default() };
    let plan = folder.plan_repair(&node, &PodList::Unknown)?;
    for repair in &plan.findings {
        println!("{}\n  {}", repair.finding.fault, repair.remedy);
    }
    for (pod, why) in &plan.quarantined {
        println!("quarantined: {pod}: {why}");
    }
    Ok(())
}
