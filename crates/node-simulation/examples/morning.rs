//! A thousand pods on two small machines, and how many are admitted.

use core::num::NonZeroU32;
use core::time::Duration;

use device_manager::Inventory;
use node_config::KubeletConfiguration;
use node_simulation::{
    Distribution, Fleet, Host, Lifetime, NoObserver, NoPlugins, Retry, Scheduler, Template, Weight, arrivals,
    run,
};
use pod_spec::{Container, ContainerName, Pod, ResourceList, Role};
use topology_admission::Node;
use topology_model::{KubeletView, MachineInfo};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse()?;
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        topology_manager_policy: Some("single-numa-node".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        ..KubeletConfiguration::default()
    };
    let view = KubeletView::new(&machine)?;
    let node = Node::start(&view, &config)?;
    let host = Host::new(&node, view.cpus(), Inventory::new(view.nodes().clone()), &NoPlugins);
    let fleet =
        Fleet { hosts: vec![(host, 2)], scheduler: Scheduler::Spread, retry: Retry::Never, repack: None };

    // One arrives each minute, asks for three CPUs and runs for about ten minutes.
    let amounts: ResourceList = [("cpu".into(), "3".parse()?), ("memory".into(), "1Gi".parse()?)].into();
    let name = ContainerName::new("app");
    let app = Container { name, role: Role::App, requests: amounts.clone(), limits: amounts };
    let lifetime = Lifetime::Drawn(Distribution::exponential(Duration::from_mins(10))?);
    let pod = Pod::new("default", "web", vec![app]);
    let kinds = [Template { name: "web".into(), pod, weight: Weight(NonZeroU32::MIN), lifetime }];
    let pods = arrivals(&kinds, Distribution::constant(Duration::from_mins(1))?, 1000, 7);
    let outcome = run(&fleet, &kinds, &pods, &mut NoObserver);
    println!("{} of {} pods are admitted", outcome.admitted(), outcome.arrived());
    Ok(())
}
