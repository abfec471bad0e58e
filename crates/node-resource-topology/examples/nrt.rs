//! Prints the object of a machine with one pod: `cargo run -p node-resource-topology --example nrt`.

use node_config::KubeletConfiguration;
use node_resource_topology::{Fingerprint, FingerprintMethod, NodeFacts, NodeResourceTopology};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use topology_admission::Node;
use topology_model::{KubeletView, MachineInfo};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa(memory=4GiB)] core:4 pu:2".parse()?;
    let view = KubeletView::new(&machine)?;
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0,1".to_owned()),
        topology_manager_policy: Some("restricted".to_owned()),
        ..KubeletConfiguration::default()
    };
    let node = Node::start(&view, &config)?;

    let limits: ResourceList = [("cpu".into(), "4".parse()?), ("memory".into(), "1Gi".parse()?)].into();
    let app = Container { name: "app".into(), role: Role::App, requests: limits.clone(), limits };
    let pod = Pod::new("default", "web", vec![app]).with_defaults(PodLevelResources::Count);
    let ledger = node.empty_ledger();
    let attempt = node.admission(&ledger, &pod).attempt();
    let ledger = ledger.commit(attempt)?;

    let fingerprint = Fingerprint::of_pods(FingerprintMethod::All, ledger.pods())?;
    let facts = NodeFacts { node: &node, view: &view, config: &config, ledger: &ledger };
    let object = NodeResourceTopology::new("worker-1", facts, Some(&fingerprint));
    println!("{}", serde_json::to_string_pretty(&object)?);
    Ok(())
}
