//! Prints what 1.37 does otherwise with a configuration: `cargo run -p release-upgrade --example upgrade`.

use device_manager::Inventory;
use node_config::{KubeletConfiguration, OwnOptions, Release, Rules};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use release_upgrade::{Subject, Upgrade};
use topology_model::{KubeletView, MachineInfo};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa(memory=4GiB)] core:4 pu:2".parse()?;
    let view = KubeletView::new(&machine)?;
    let config = |rules: Rules| KubeletConfiguration {
        rules,
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0,1".to_owned()),
        feature_gates: [("SidecarContainers".to_owned(), true)].into(),
        ..KubeletConfiguration::default()
    };
    let limits: ResourceList = [("cpu".into(), "4".parse()?), ("memory".into(), "1Gi".parse()?)].into();
    let app = Container { name: "app".into(), role: Role::App, requests: limits.clone(), limits };
    let pods = [Pod::new("default", "web", vec![app]).with_defaults(PodLevelResources::Count)];
    let subject = Subject {
        view: &view,
        config: &config,
        refused_flag: &|_| None,
        options: &OwnOptions::default(),
        identity: None,
        inventory: &Inventory::new(view.nodes().clone()),
        folder: None,
        residents: &[],
        arrivals: &pods,
    };
    print!("{}", Upgrade::check(&subject, Release::V1_36.verified(), Release::V1_37.verified()));
    Ok(())
}
