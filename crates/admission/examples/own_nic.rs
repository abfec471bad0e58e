//! A pod admitted with a provider of NICs: `cargo run -p topology-admission --example own_nic`.

use topology_admission::node_config::{CpuPolicyName, KubeletConfiguration, TopologyPolicyName};
use topology_admission::pod_spec::{Container, Pod, Unit};
use topology_admission::topology_hint::{Affinity, Answers, Grant, Held, Provider, Refusal};
use topology_admission::topology_model::{KubeletView, MachineInfo, NodeId, Nodes};
use topology_admission::{Node, Verdict};

/// A NIC on this NUMA node of whatever machine, for one container at a time.
struct Nic(NodeId);
impl Provider for Nic {
    fn name(&self) -> &'static str {
        "nic"
    }
    fn hints(&self, nodes: &Nodes, held: &Held, _: Unit<'_>, answers: &mut Answers) {
        let free = [(nodes.mask_of([self.0]), u64::from(held.is_empty()))];
        answers.push_family("acme.com/nic").open(nodes.all()).need(1, free).preferred_size(1);
    }
    fn allocate(&self, _: &Nodes, _: &Held, _: Unit<'_>, _: Affinity) -> Result<Option<Grant>, Refusal> {
        Ok(Some(Grant::default()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine: MachineInfo = "pack:2 [numa] core:4 pu:2".parse()?;
    let config = KubeletConfiguration::default().with_cpu_policy(CpuPolicyName::Static);
    let config = config.with_topology_policy(TopologyPolicyName::SingleNumaNode).with_reserved_cpus("0");
    let node = Node::start(&KubeletView::new(&machine)?, &config)?.with_provider(Nic(NodeId(1)));
    let app = Container::guaranteed("app", [("cpu", "4"), ("memory", "1Gi")])?;
    match node.admission(&node.empty_ledger(), &Pod::new("default", "router", vec![app])).attempt().verdict {
        Verdict::Admitted(placement) => println!("{:?}", placement.containers[0].cpus),
        Verdict::Refused(refused) => println!("refused: {}", refused.message),
        Verdict::NeedsPlugin(question) => println!("ask the plugin of {}", question.resource()),
    }
    Ok(())
}
