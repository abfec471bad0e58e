//! A pod admitted with a provider of NICs: `cargo run -p topology-admission --example own_nic`.

use topology_admission::node_config::{CpuPolicyName, KubeletConfiguration, TopologyPolicyName};
use topology_admission::numa_bitmask::NodeMask;
use topology_admission::pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role, Unit};
use topology_admission::topology_hint::{Affinity, Answers, Grant, Held, Provider, Refusal};
use topology_admission::topology_model::{KubeletView, MachineInfo};
use topology_admission::{Compat, Node, Verdict};

/// One NIC on NUMA node 1, for every pod.
struct Nic;

impl Provider for Nic {
    fn name(&self) -> &'static str {
        "nic"
    }

    fn hints(&self, held: &Held, _: Unit<'_>, answers: &mut Answers) {
        let free = [(NodeMask::from_bits(0b10), u64::from(held.is_empty()))];
        answers.push_family("acme.com/nic").open(NodeMask::all(2)).need(1, free).preferred_size(1);
    }

    fn allocate(&self, _: &Held, _: Unit<'_>, _: Affinity) -> Result<Option<Grant>, Refusal> {
        Ok(Some(Grant::default()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa] core:4 pu:2".parse()?;
    let config = KubeletConfiguration::default()
        .with_cpu_policy(CpuPolicyName::Static)
        .with_topology_policy(TopologyPolicyName::SingleNumaNode)
        .with_reserved_cpus("0");
    let node = Node::start(&KubeletView::new(&machine)?, &config, None, Compat::default())?;
    let node = node.with_provider(Box::new(Nic));
    let limits: ResourceList = [("cpu".into(), "4".parse()?), ("memory".into(), "1Gi".parse()?)].into();
    let app = Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
    let pod = Pod::new("default", "router", vec![app]).with_defaults(PodLevelResources::Count);
    let verdict = node.admission(&node.empty_ledger(), &pod).attempt().verdict;
    let Verdict::Admitted(placement) = verdict else { return Err("refused".into()) };
    println!("{:?}", placement.containers[0].cpus);
    Ok(())
}
