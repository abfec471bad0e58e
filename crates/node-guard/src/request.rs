//! What the runtime says of a container: which CPUs are asked for it, and whether the guard may touch it.

use std::fmt;

use cgroup_cpuset::{CgroupDriver, CgroupPath};
use cpuset::CpuSet;
use nri_plugin::messages::{Container, PodSandbox};
use pod_spec::{ContainerName, PodUid};

/// Where kubelets write how they came by a pod.
const CONFIG_SOURCE: &str = "kubernetes.io/config.source";
/// Of a pod that an API server has; others are static pods.
const FROM_API_SERVER: &str = "api";
/// Shares of one whole CPU.
const SHARES: u64 = 1024;

/// Why a container is left alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotGuarded {
    /// Its pod is a static one.
    StaticPod,
    /// No kubelet has created its pod.
    NotOfKubelet,
    /// Its cgroup is not below that of pods.
    OutsideOfPods,
    /// What the runtime says of it cannot be read.
    Unreadable(String),
}

impl fmt::Display for NotGuarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaticPod => f.write_str("its pod is a static pod"),
            Self::NotOfKubelet => f.write_str("no kubelet has created its pod"),
            Self::OutsideOfPods => f.write_str("its cgroup is not below that of pods"),
            Self::Unreadable(what) => f.write_str(what),
        }
    }
}

/// A container as the runtime is asked to create it, or as it has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requested {
    /// The UID of its pod.
    pub pod: PodUid,
    /// Its name in the pod.
    pub container: ContainerName,
    /// For people: `NAMESPACE/POD/CONTAINER`.
    pub shown: String,
    /// The CPUs that are asked for; `None`: none are.
    pub cpus: Option<CpuSet>,
    /// The NUMA nodes that are asked for; `None`: none are.
    pub mems: Option<CpuSet>,
    /// Whether its pod is guaranteed and it asks for whole CPUs, so that a static CPU manager gives it exclusive ones.
    pub is_exclusive_by_request: bool,
    /// Its cgroup; `None`: the runtime does not say.
    pub cgroup: Option<(CgroupPath, CgroupDriver)>,
    /// Why it is left alone; `None`: it is not.
    pub not_guarded: Option<NotGuarded>,
}

impl Requested {
    /// From the messages of the runtime.
    pub fn of(pod: &PodSandbox, container: &Container) -> Self {
        let cpus = listed("CPUs", container.cpus());
        let mems = listed("NUMA nodes", container.mems());
        let cgroup = Some(container.cgroups_path()).filter(|path| !path.is_empty()).map(CgroupPath::of_oci);
        let parent = pod.linux.as_ref().map_or("", |linux| &linux.cgroup_parent);
        let place = match &cgroup {
            Some(Ok((path, _))) => Some(path.clone()),
            // The runtime adds the name of the container, which is any.
            _ if parent.strip_suffix(".slice").is_some() => {
                CgroupPath::of_oci(&format!("{}::0", last(parent))).ok().map(|at| at.0)
            }
            _ => CgroupPath::new(format!("{parent}/0")).ok(),
        };
        let not_guarded = match (pod.annotations.get(CONFIG_SOURCE).map(String::as_str), &place) {
            (None, _) => Some(NotGuarded::NotOfKubelet),
            (Some(FROM_API_SERVER), Some(place)) if place.is_of_pods() => None,
            (Some(FROM_API_SERVER), _) => Some(NotGuarded::OutsideOfPods),
            (Some(_), _) => Some(NotGuarded::StaticPod),
        };
        let unreadable = cpus.as_ref().err().or(mems.as_ref().err()).cloned().map(NotGuarded::Unreadable);
        let shares = container.resources().and_then(|resources| resources.cpu.as_ref()?.shares);
        let is_whole = shares.is_some_and(|shares| shares.value >= SHARES && shares.value % SHARES == 0);
        Self {
            pod: PodUid::new(&pod.uid),
            container: ContainerName::new(&container.name),
            shown: format!("{}/{}/{}", pod.namespace, pod.name, container.name),
            cpus: cpus.unwrap_or_default(),
            mems: mems.unwrap_or_default(),
            is_exclusive_by_request: is_whole && place.as_ref().is_some_and(is_guaranteed),
            cgroup: cgroup.and_then(Result::ok),
            not_guarded: not_guarded.or(unreadable),
        }
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Pods of the other classes are in a cgroup of their class.
fn is_guaranteed(cgroup: &CgroupPath) -> bool {
    !cgroup.as_path().iter().filter_map(|part| part.to_str()).any(|part| {
        let own = part.strip_suffix(".slice").and_then(|slice| slice.rsplit('-').next()).unwrap_or(part);
        matches!(own, "burstable" | "besteffort")
    })
}

/// A list of numbers; `None`: the field is not set.
fn listed(what: &str, text: &str) -> Result<Option<CpuSet>, String> {
    match text.parse::<CpuSet>() {
        Ok(set) => Ok(Some(set).filter(|set| !set.is_empty())),
        Err(error) => Err(format!("the runtime's list of its {what} cannot be read: {error}")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use nri_plugin::messages::{LinuxContainer, LinuxCpu, LinuxPodSandbox, LinuxResources, OptionalUInt64};

    use super::*;

    /// A pod of the namespace `default` that a kubelet has of this source; its UID is its name.
    pub(crate) fn pod(name: &str, source: Option<&str>) -> PodSandbox {
        PodSandbox {
            id: format!("sandbox-{name}"),
            name: name.to_owned(),
            uid: name.to_owned(),
            namespace: "default".to_owned(),
            annotations: source
                .map(|source| (CONFIG_SOURCE.to_owned(), source.to_owned()))
                .into_iter()
                .collect(),
            linux: Some(LinuxPodSandbox {
                cgroup_parent: format!("/kubepods/burstable/pod{name}"),
                ..LinuxPodSandbox::default()
            }),
            ..PodSandbox::default()
        }
    }

    /// The container `c` of a pod.
    pub(crate) fn container(pod: &PodSandbox, id: &str, cgroup: &str, cpus: &str, shares: u64) -> Container {
        let cpu = LinuxCpu {
            cpus: cpus.to_owned(),
            shares: Some(OptionalUInt64 { value: shares }),
            ..LinuxCpu::default()
        };
        let resources = LinuxResources { cpu: Some(cpu), ..LinuxResources::default() };
        Container {
            id: id.to_owned(),
            pod_sandbox_id: pod.id.clone(),
            name: "c".to_owned(),
            linux: Some(LinuxContainer {
                resources: Some(resources),
                cgroups_path: cgroup.to_owned(),
                ..LinuxContainer::default()
            }),
            ..Container::default()
        }
    }

    #[test]
    fn only_containers_of_pods_of_an_api_server_are_guarded() {
        let slice = "kubepods-besteffort-poda.slice:cri-containerd:0a";
        for (source, cgroup, expected) in [
            (Some("api"), "/kubepods/poda/0a", None),
            (Some("api"), slice, None),
            (Some("api"), "", None),
            (Some("file"), "/kubepods/poda/0a", Some(NotGuarded::StaticPod)),
            (Some("http"), "/kubepods/poda/0a", Some(NotGuarded::StaticPod)),
            (None, "/kubepods/poda/0a", Some(NotGuarded::NotOfKubelet)),
            (Some("api"), "system.slice:runtime:0a", Some(NotGuarded::OutsideOfPods)),
            (Some("api"), "/kubepods/../0a", Some(NotGuarded::OutsideOfPods)),
        ] {
            let pod = PodSandbox { linux: None, ..pod("a", source) };
            let parent =
                LinuxPodSandbox { cgroup_parent: "/kubepods/poda".to_owned(), ..LinuxPodSandbox::default() };
            let pod = if cgroup.is_empty() { PodSandbox { linux: Some(parent), ..pod } } else { pod };
            let found = Requested::of(&pod, &container(&pod, "0a", cgroup, "0-1", 2));
            assert_eq!(found.not_guarded, expected, "{source:?} {cgroup}");
        }
        let pod = pod("a", Some("api"));
        let found = Requested::of(&pod, &container(&pod, "0a", "/kubepods/poda/0a", "0-x", 2));
        assert!(matches!(found.not_guarded, Some(NotGuarded::Unreadable(_))));
    }

    #[test]
    fn whole_cpus_of_a_guaranteed_pod_are_exclusive() {
        for (cgroup, shares, expected) in [
            ("/kubepods/poda/0a", 2048, true),
            ("/kubepods/poda/0a", 2049, false),
            ("/kubepods/poda/0a", 2, false),
            ("/kubepods/burstable/poda/0a", 2048, false),
            ("kubepods-poda.slice:crio:0a", 1024, true),
            ("kubepods-besteffort-poda.slice:crio:0a", 1024, false),
        ] {
            let pod = pod("a", Some("api"));
            let found = Requested::of(&pod, &container(&pod, "0a", cgroup, "", shares));
            assert_eq!((found.is_exclusive_by_request, found.cpus), (expected, None), "{cgroup} {shares}");
        }
    }
}
