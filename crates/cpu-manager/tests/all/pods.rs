//! Policies and pods in one line.

use cpu_manager::{Config, Static};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role};
use topology_model::{CpuTable, Nodes};

pub(crate) fn policy(cpus: &CpuTable, config: Config) -> Static {
    let nodes = Nodes::new(cpus.nodes().map(|(id, _)| id)).unwrap();
    Static::new(cpus, &nodes, config).unwrap()
}

fn amounts(cpu: &str) -> ResourceList {
    let memory = (ResourceName::new("memory"), "1Gi".parse().unwrap());
    [memory].into_iter().chain((!cpu.is_empty()).then(|| ("cpu".into(), cpu.parse().unwrap()))).collect()
}

pub(crate) fn container(name: &str, role: Role, cpu: &str) -> Container {
    Container { name: ContainerName::new(name), role, requests: amounts(cpu), limits: amounts(cpu) }
}

pub(crate) fn pod(uid: &str, containers: &[(&str, Role, &str)]) -> Pod {
    Pod {
        uid: PodUid::new(uid),
        namespace: "default".into(),
        name: uid.into(),
        containers: containers.iter().map(|&(name, role, cpu)| container(name, role, cpu)).collect(),
        resources: None,
        overhead: ResourceList::new(),
        status_qos: None,
        created: None,
        constraints: pod_spec::Constraints::default(),
        phase: pod_spec::Phase::Active,
    }
}
