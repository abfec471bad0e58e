//! The same pods with device plugins and with claims: two NUMA nodes of eight CPUs, the first of which is reserved, and two GPUs on
//! each node.

use std::num::NonZeroU32;
use std::time::Duration;

use cpuset::CpuSet;
use device_manager::{Device, Inventory};
use node_config::KubeletConfiguration;
use node_simulation::{
    Arrival, Claims, CpuDevices, CpuDriver, DeviceAlignments, Fleet, Host, Lifetime, NoObserver, NoPlugins,
    Outcome, Retry, Scheduler, Template, Weight, fits_empty, run,
};
use pod_spec::{Container, Pod, PodLevelResources, ResourceName};
use topology_admission::Node;
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

const GPU: &str = "example.com/gpu";
const NUMA_NODE: &str = "resource.kubernetes.io/numaNode";
const NUMA_NODE_OF_CPUS: &str = "dra.net/numaNode";

fn info() -> MachineInfo {
    let core = |cpu| MachineCore { core_id: cpu, thread_ids: Some(vec![cpu]), ..MachineCore::default() };
    let numa = |id: i64| MachineNode {
        id,
        cores: Some((8 * id..8 * id + 8).map(core).collect()),
        ..MachineNode::default()
    };
    MachineInfo {
        num_cpus: 16,
        num_sockets: 1,
        memory_capacity: 1 << 40,
        topology: Some(vec![numa(0), numa(1)]),
        ..MachineInfo::default()
    }
}

/// Nodes with a static CPU manager, and without one.
struct Nodes {
    view: KubeletView,
    pinning: Node,
    sharing: Node,
}

impl Nodes {
    fn new(policy: &str) -> Self {
        let view = KubeletView::new(&info()).unwrap();
        let start = |cpu_manager: &str| {
            let text = |text: &str| Some(text.to_owned());
            let config = KubeletConfiguration {
                cpu_manager_policy: text(cpu_manager),
                reserved_system_cpus: text("0"),
                topology_manager_policy: text(policy),
                ..KubeletConfiguration::default()
            };
            Node::start(&view, &config).unwrap()
        };
        let (pinning, sharing) = (start("static"), start("none"));
        Self { view, pinning, sharing }
    }

    fn host(&self) -> Host<'_> {
        let devices = (0..4).map(|at| Device::new(&format!("gpu-{at}"), &[at / 2]));
        let inventory = Inventory::new(self.view.nodes().clone()).with(GPU, devices.collect::<Vec<_>>());
        Host::new(&self.pinning, self.view.cpus(), inventory, &NoPlugins)
    }

    fn claiming<'a>(&'a self, claims: &'a Claims) -> Host<'a> {
        let reserved: CpuSet = "0".parse().unwrap();
        let driver = claims.cpus.map(|devices| CpuDriver::new(&info(), self.view.cpus(), &reserved, devices));
        let node = if driver.is_some() { &self.sharing } else { &self.pinning };
        self.host().claiming(claims, node, &self.view, driver)
    }
}

fn claims(attribute: Option<&str>, cpus: Option<CpuDevices>) -> Claims {
    Claims { match_attribute: attribute.map(str::to_owned), resources: [ResourceName::new(GPU)].into(), cpus }
}

/// A Guaranteed pod of one container.
fn template(cpus: u32, gpus: u32) -> Template {
    let (cpus, gpus) = (cpus.to_string(), gpus.to_string());
    let amounts = [("cpu", cpus.as_str()), ("memory", "1Gi"), (GPU, gpus.as_str())];
    let container = Container::guaranteed("train", amounts).unwrap();
    let pod = Pod::new("default", "job", vec![container]).with_defaults(PodLevelResources::Count);
    Template { name: "job".to_owned(), pod, weight: Weight(NonZeroU32::MIN), lifetime: Lifetime::Forever }
}

/// A pod each second on one machine; those with an end leave then.
fn simulate(host: Host<'_>, retry: Retry, templates: &[Template], pods: &[(usize, Option<u64>)]) -> Outcome {
    let fleet = Fleet { hosts: vec![(host, 1)], scheduler: Scheduler::Spread, retry, repack: None };
    let arrival = |(at, (template, stays)): (u64, &(usize, Option<u64>))| Arrival {
        at: Duration::from_secs(at),
        template: *template,
        stays: stays.map(Duration::from_secs),
    };
    let arrivals: Vec<Arrival> = (1..).zip(pods).map(arrival).collect();
    run(&fleet, templates, &arrivals, &mut NoObserver)
}

fn placed(aligned: u64, elsewhere: u64) -> DeviceAlignments {
    DeviceAlignments { aligned, elsewhere, ..DeviceAlignments::default() }
}

#[test]
fn a_claim_takes_the_first_gpu_wherever_the_cpus_are_and_a_plugin_that_beside_them() {
    let nodes = Nodes::new("restricted");
    let templates = [template(4, 1)];
    let two = [(0, None), (0, None)];
    let plugins = simulate(nodes.host(), Retry::Never, &templates, &two);
    assert_eq!((plugins.admitted(), plugins.devices()), (2, placed(2, 0)));
    assert_eq!((plugins.aligned(), plugins.searches.count), (2, 0));
    // Three CPUs are left on node 0, so that the second pod is on node 1, and its GPU is the second one of node 0.
    for attribute in [None, Some(NUMA_NODE)] {
        let claims = claims(attribute, None);
        let claimed = simulate(nodes.claiming(&claims), Retry::Never, &templates, &two);
        assert_eq!((claimed.admitted(), claimed.devices()), (2, placed(1, 1)), "{attribute:?}");
        assert_eq!((claimed.aligned(), claimed.searches.count), (1, 2), "{attribute:?}");
        assert_eq!(claimed, simulate(nodes.claiming(&claims), Retry::Never, &templates, &two));
    }
}

#[test]
fn with_cpus_in_the_claim_the_gpu_is_beside_them() {
    let nodes = Nodes::new("none");
    for devices in [CpuDevices::ByNode, CpuDevices::Individual] {
        let claims = claims(Some(NUMA_NODE_OF_CPUS), Some(devices));
        let pods = [(0, None), (0, None), (0, None)];
        let outcome = simulate(nodes.claiming(&claims), Retry::Never, &[template(4, 1)], &pods);
        // Seven and eight CPUs hold a pod, and two.
        assert_eq!((outcome.admitted(), outcome.devices()), (3, placed(3, 0)), "{devices:?}");
        let cpus: Vec<f64> = outcome.hosts[0].numa.iter().map(|node| node.held[0].1).collect();
        assert!(cpus.iter().all(|held| *held > 0.0), "{devices:?}: {cpus:?}");
    }
    // Without the attribute the CPUs are on the first node that has enough, and the GPU is the first that is free.
    let apart = claims(None, Some(CpuDevices::ByNode));
    let pods = [(0, None), (0, None)];
    let outcome = simulate(nodes.claiming(&apart), Retry::Never, &[template(4, 1)], &pods);
    assert_eq!(outcome.devices(), placed(1, 1));
    // No device of the CPU driver has the attribute of Kubernetes.
    let other = claims(Some(NUMA_NODE), Some(CpuDevices::ByNode));
    let error = fits_empty(&nodes.claiming(&other), &template(4, 1)).unwrap_err().to_string();
    assert!(error.starts_with("NoDevices: cannot allocate all claims"), "{error}");
    // A socket has no NUMA node, so that it is not known where the CPUs are.
    let by_socket = claims(None, Some(CpuDevices::BySocket));
    let outcome = simulate(nodes.claiming(&by_socket), Retry::Never, &[template(4, 1)], &pods);
    assert_eq!(outcome.devices().unknown, 2);
}

#[test]
fn more_cpus_than_a_group_has_are_equal_shares_of_several() {
    let nodes = Nodes::new("none");
    let apart = claims(None, Some(CpuDevices::ByNode));
    let wide = [template(12, 1)];
    let outcome = simulate(nodes.claiming(&apart), Retry::Never, &wide, &[(0, None)]);
    assert_eq!((outcome.admitted(), outcome.devices()), (1, placed(1, 0)), "on both nodes");
    let together = claims(Some(NUMA_NODE_OF_CPUS), Some(CpuDevices::ByNode));
    let error = fits_empty(&nodes.claiming(&together), &wide[0]).unwrap_err().to_string();
    assert!(error.contains("dra.net/numaNode"), "{error}");
}

#[test]
fn a_pod_without_devices_waits_until_one_is_given_back() {
    let nodes = Nodes::new("none");
    let claims = claims(None, None);
    // All four GPUs for 100 s; then one.
    let (templates, pods) = ([template(1, 4), template(1, 1)], [(0, Some(100)), (1, None)]);
    let once = simulate(nodes.claiming(&claims), Retry::Never, &templates, &pods);
    assert_eq!(once.refused()[Outcome::NO_DEVICES], 1);
    let again = simulate(nodes.claiming(&claims), Retry::BackOff, &templates, &pods);
    assert_eq!((again.admitted(), again.refused().len()), (2, 0));
    assert_eq!(again.templates[1].waits, [Duration::from_secs(99)]);
    let never = simulate(nodes.claiming(&claims), Retry::BackOff, &templates, &[(0, None), (1, None)]);
    assert_eq!(never.refused()[Outcome::NO_DEVICES], 1);
    assert!(never.searches.steps > 0 && never.searches.most_steps <= never.searches.steps);
}

#[test]
fn devices_of_one_node_that_no_node_has_are_an_error_before_the_run() {
    let nodes = Nodes::new("best-effort");
    let (three, claims) = (template(4, 3), claims(Some(NUMA_NODE), None));
    assert_eq!(fits_empty(&nodes.host(), &three), Ok(()));
    let error = fits_empty(&nodes.claiming(&claims), &three).unwrap_err().to_string();
    let expected = "NoDevices: cannot allocate all claims: request devices-0 (3) wants devices with one value of \
                    resource.kubernetes.io/numaNode, and no value has enough: numaNode 0 has 2; numaNode 1 has 2";
    assert_eq!(error, expected);
    let outcome = simulate(nodes.claiming(&claims), Retry::Never, &[three], &[(0, None)]);
    assert_eq!(outcome.refused()[Outcome::NO_DEVICES], 1);
}

#[test]
fn of_what_stays_with_plugins_a_kubelet_decides() {
    let nodes = Nodes::new("restricted");
    let nothing = Claims { match_attribute: None, resources: [].into(), cpus: None };
    let (templates, pods) = ([template(4, 1)], [(0, None), (0, None), (0, Some(5)), (0, None)]);
    let claimed = simulate(nodes.claiming(&nothing), Retry::Never, &templates, &pods);
    let plugins = simulate(nodes.host(), Retry::Never, &templates, &pods);
    assert_eq!(claimed, plugins);
}
