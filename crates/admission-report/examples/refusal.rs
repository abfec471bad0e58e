//! Refuses a pod, and prints why and what would fit: `cargo run -p admission-report --example refusal`.

use std::error::Error;

use admission_report::device_manager::Replies;
use admission_report::node_config::KubeletConfiguration;
use admission_report::pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use admission_report::topology_admission::{Detail, Node};
use admission_report::topology_model::{KubeletView, MachineInfo};
use admission_report::{Facts, Report};

fn pod(name: &str, cpus: &str) -> Result<Pod, Box<dyn Error>> {
    let limits: ResourceList = [("cpu".into(), cpus.parse()?), ("memory".into(), "1Gi".parse()?)].into();
    let app = Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
    Ok(Pod::new("default", name, vec![app]).with_defaults(PodLevelResources::Count))
}

fn main() -> Result<(), Box<dyn Error>> {
    let info: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:2".parse()?;
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        topology_manager_policy: Some("single-numa-node".to_owned()),
        ..KubeletConfiguration::default()
    };
    let node = Node::start(&KubeletView::new(&info)?, &config)?;
    let mut ledger = node.empty_ledger();
    for pod in [pod("web", "6")?, pod("database", "6")?, pod("batch", "3")?] {
        let (attempt, trace) = node.admission(&ledger, &pod).trace(Detail::Short);
        let facts = Facts::new(&node, &ledger, &pod, &attempt, &trace);
        println!("{}\n", Report::of(&facts, &attempt.verdict, &Replies::new()));
        ledger = ledger.commit(attempt)?;
    }
    Ok(())
}
