//! What a distribution sets in its kubelets' configuration, whatever its users write.
//!
//! - *OpenShift*: the machine config operator lays a `KubeletConfig`, and what the node tuning operator makes of a
//!   `PerformanceProfile`, over its own configuration: 500m of CPU, 1Gi of memory and 1Gi of storage for the system, 250 pods.
//! - *Amazon EKS*: `nodeadm` writes what `spec.kubelet.config` of a `NodeConfig` has over its own: amounts for the kubelet by
//!   the number of CPUs and of pods, two cgroups for what is reserved, the usual hard evictions. How many pods it counts
//!   is known by the instance type alone; where `reservedMemory` is right for one number of pods, it is that.
//! - *Bottlerocket* does the same where it runs on Amazon's instances. Elsewhere it reserves no memory for the kubelet as
//!   long as no number of pods is set.
//!
//! Of amounts and thresholds those stay that the user did not write.

use std::collections::BTreeMap;

use k8s_quantity::{Format, Quantity};
use node_config::KubeletConfiguration;
use topology_manifest::ConfigKind;

const MEBI: i64 = 1 << 20;

/// A distribution's own configuration, as far as its users do not write over it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Base {
    fields: KubeletConfiguration,
    /// How much memory is reserved beside what the configuration says.
    pub(crate) reservation: Reservation,
}

/// How much memory is reserved for the kubelet and the system beside what a configuration says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Reservation {
    /// Nothing, or it is known.
    #[default]
    Known,
    /// So much as for this number of pods, with which `reservedMemory` is right.
    ForPods(i64),
    /// By a number of pods, and `reservedMemory` is right for none; this is the nearest.
    ForNoPods(i64),
    /// By the number of pods if something sets that, and `reservedMemory` is right if nothing does.
    UnlessPodsAreSet,
    /// By the number of pods, and nothing tells for how many.
    ByPods,
    /// By the size of the node.
    BySize,
}

impl Base {
    /// What is beneath `own`, a file of this kind, on a machine with so many CPUs.
    pub(crate) fn of(kind: ConfigKind, own: &KubeletConfiguration, cpus: usize) -> Self {
        match kind {
            ConfigKind::Kubelet => Self::default(),
            // The reader of settings fills in the other defaults.
            ConfigKind::Bottlerocket => match by_pods(own) {
                // `apiclient get settings` prints max-pods, user data need not have it.
                Reservation::ForNoPods(0) => {
                    Self { reservation: Reservation::UnlessPodsAreSet, ..Self::default() }
                }
                reservation => Self { reservation, ..Self::default() }.with_memory(),
            },
            ConfigKind::OpenShift | ConfigKind::PerformanceProfile => {
                Self { fields: openshift(), ..Self::default() }
            }
            ConfigKind::Eks => Self { fields: nodeadm(cpus), reservation: by_pods(own) }.with_memory(),
        }
    }

    fn with_memory(mut self) -> Self {
        if let Reservation::ForPods(pods) | Reservation::ForNoPods(pods) = self.reservation {
            let memory = format!("{}Mi", memory_for_pods(pods));
            self.fields.kube_reserved.insert("memory".to_owned(), memory);
        }
        self
    }

    /// The kubelet's configuration: `own` over this. A cgroup that is written as an empty text is none.
    pub(crate) fn under(&self, mut own: KubeletConfiguration) -> KubeletConfiguration {
        let base = &self.fields;
        let fill = |own: &mut BTreeMap<String, String>, base: &BTreeMap<String, String>| {
            for (name, amount) in base {
                own.entry(name.clone()).or_insert_with(|| amount.clone());
            }
        };
        fill(&mut own.kube_reserved, &base.kube_reserved);
        fill(&mut own.system_reserved, &base.system_reserved);
        if let Some(evictions) = &base.eviction_hard {
            fill(own.eviction_hard.get_or_insert_default(), evictions);
        }
        let text = |own: &mut Option<String>, base: &Option<String>| {
            if own.is_none() {
                own.clone_from(base);
            }
        };
        text(&mut own.kube_reserved_cgroup, &base.kube_reserved_cgroup);
        text(&mut own.system_reserved_cgroup, &base.system_reserved_cgroup);
        text(&mut own.cgroup_root, &base.cgroup_root);
        text(&mut own.system_cgroups, &base.system_cgroups);
        own.max_pods = own.max_pods.or(base.max_pods);
        own
    }

    /// A proposal for the kubelet's configuration as it has to be written over this: what it leaves out of this is emptied.
    pub(crate) fn over(&self, proposal: KubeletConfiguration) -> KubeletConfiguration {
        // An assumed reservation is not proposed.
        let mut base = self.clone();
        if matches!(self.reservation, Reservation::ForNoPods(_)) {
            base.fields.kube_reserved.remove("memory");
        }
        let emptied = |own: Option<String>, base: &Option<String>| match (&own, base) {
            (None, Some(_)) => Some(String::new()),
            _ => own,
        };
        let fields = &self.fields;
        base.under(KubeletConfiguration {
            kube_reserved_cgroup: emptied(proposal.kube_reserved_cgroup, &fields.kube_reserved_cgroup),
            system_reserved_cgroup: emptied(proposal.system_reserved_cgroup, &fields.system_reserved_cgroup),
            ..proposal
        })
    }
}

fn amounts<const N: usize>(of: [(&str, &str); N]) -> BTreeMap<String, String> {
    of.into_iter().map(|(name, amount)| (name.to_owned(), amount.to_owned())).collect()
}

fn openshift() -> KubeletConfiguration {
    KubeletConfiguration {
        system_reserved: amounts([("cpu", "500m"), ("memory", "1Gi"), ("ephemeral-storage", "1Gi")]),
        max_pods: Some(250),
        cgroup_root: Some("/".to_owned()),
        system_cgroups: Some("/system.slice".to_owned()),
        ..KubeletConfiguration::default()
    }
}

fn nodeadm(cpus: usize) -> KubeletConfiguration {
    let cpu = format!("{}m", milli_cpus_of_kubelet(cpus));
    KubeletConfiguration {
        kube_reserved: amounts([("cpu", cpu.as_str()), ("ephemeral-storage", "1Gi")]),
        kube_reserved_cgroup: Some("/runtime".to_owned()),
        system_reserved_cgroup: Some("/system".to_owned()),
        eviction_hard: Some(amounts([
            ("memory.available", "100Mi"),
            ("nodefs.available", "10%"),
            ("nodefs.inodesFree", "5%"),
        ])),
        cgroup_root: Some("/".to_owned()),
        ..KubeletConfiguration::default()
    }
}

/// What Amazon reserves of the CPUs for the kubelet: 60m of the first CPU, 10m of the second, 5m of each of the next two
/// and 2.5m of each further one.
pub(crate) fn milli_cpus_of_kubelet(cpus: usize) -> usize {
    match cpus {
        0 => 0,
        1 => 60,
        2 => 70,
        3 => 75,
        more => 80 + (more - 4) * 5 / 2,
    }
}

/// What Amazon reserves of the memory for the kubelet, in mebibytes.
pub(crate) const fn memory_for_pods(pods: i64) -> i64 {
    255 + 11 * pods
}

/// What is reserved for the kubelet by the number of pods, as far as `reservedMemory` tells: it has to be what is reserved in
/// all and the threshold of eviction.
fn by_pods(own: &KubeletConfiguration) -> Reservation {
    if own.kube_reserved.contains_key("memory") {
        return Reservation::Known;
    }
    let Some(of_kubelet) = left_for_kubelet(own) else { return Reservation::ByPods };
    let least = memory_for_pods(0) * MEBI;
    let pods = (of_kubelet.saturating_sub(least) / (11 * MEBI)).max(0);
    if pods > 0 && memory_for_pods(pods) * MEBI == of_kubelet {
        Reservation::ForPods(pods)
    } else {
        Reservation::ForNoPods(if of_kubelet == 0 { 0 } else { pods.max(1) })
    }
}

/// What `reservedMemory` leaves for the kubelet, in bytes; `None`: it is not written, or no policy looks at it.
fn left_for_kubelet(own: &KubeletConfiguration) -> Option<i64> {
    if own.reserved_memory.is_empty() || own.memory_policy() != "Static" {
        return None;
    }
    let mut sum = Quantity::from_units(0, Format::BinarySi);
    for node in &own.reserved_memory {
        if let Some(amount) = node.limits.get("memory") {
            sum += amount.clone();
        }
    }
    let bytes = |text: &str| text.parse::<Quantity>().ok().and_then(|amount| amount.as_int64());
    let evicted = own.eviction_hard.as_ref().and_then(|evictions| evictions.get("memory.available"));
    let evicted = bytes(evicted.map_or("100Mi", String::as_str))?;
    let of_system = own.system_reserved.get("memory").map_or(Some(0), |text| bytes(text))?;
    sum.as_int64()?.checked_sub(evicted)?.checked_sub(of_system)
}

#[cfg(test)]
mod tests {
    use node_config::{Duration, ReservedMemory};

    use super::*;

    #[test]
    fn what_is_written_stays_and_the_rest_is_the_distributions() {
        let own = KubeletConfiguration {
            system_reserved: amounts([("memory", "2Gi")]),
            cpu_manager_reconcile_period: Some(Duration::from_seconds(5)),
            ..KubeletConfiguration::default()
        };
        let made = Base::of(ConfigKind::OpenShift, &own, 96).under(own.clone());
        let expected = amounts([("cpu", "500m"), ("memory", "2Gi"), ("ephemeral-storage", "1Gi")]);
        assert_eq!((made.system_reserved, made.max_pods), (expected, Some(250)));
        assert_eq!(Base::of(ConfigKind::Kubelet, &own, 96).under(own.clone()), own);

        let own = KubeletConfiguration {
            kube_reserved: amounts([("cpu", "1")]),
            system_reserved_cgroup: Some(String::new()),
            ..KubeletConfiguration::default()
        };
        let base = Base::of(ConfigKind::Eks, &own, 96);
        let made = base.under(own);
        assert_eq!(made.kube_reserved, amounts([("cpu", "1"), ("ephemeral-storage", "1Gi")]));
        assert_eq!(
            (made.kube_reserved_cgroup.as_deref(), made.system_reserved_cgroup.as_deref()),
            (Some("/runtime"), Some(""))
        );
        let proposed = base.over(KubeletConfiguration { kube_reserved_cgroup: None, ..made });
        assert_eq!(proposed.kube_reserved_cgroup.as_deref(), Some(""));
    }

    #[test]
    fn reserved_memory_tells_for_how_many_pods_it_is() {
        let own = |mebi: i64| {
            let amount = Quantity::from_units(mebi * MEBI, Format::BinarySi);
            let on_first = ReservedMemory { numa_node: 0, limits: [("memory".to_owned(), amount)].into() };
            KubeletConfiguration {
                memory_manager_policy: Some("Static".to_owned()),
                reserved_memory: vec![on_first],
                ..KubeletConfiguration::default()
            }
        };
        assert_eq!(by_pods(&own(100 + 255 + 11 * 234)), Reservation::ForPods(234));
        assert_eq!(by_pods(&own(1024)), Reservation::ForNoPods(60));
        assert_eq!(by_pods(&own(300)), Reservation::ForNoPods(1));
        assert_eq!(by_pods(&own(100)), Reservation::ForNoPods(0));
        let written = KubeletConfiguration { kube_reserved: amounts([("memory", "1Gi")]), ..own(1124) };
        assert_eq!(by_pods(&written), Reservation::Known);
        let unbound = KubeletConfiguration { memory_manager_policy: None, ..own(1124) };
        assert_eq!(by_pods(&unbound), Reservation::ByPods);

        // Elsewhere than at Amazon nothing is reserved as long as no number of pods is set.
        let made = |mebi: i64| {
            let base = Base::of(ConfigKind::Bottlerocket, &own(mebi), 96);
            (base.reservation, base.under(own(mebi)).kube_reserved.get("memory").cloned())
        };
        assert_eq!(made(100), (Reservation::UnlessPodsAreSet, None));
        assert_eq!(made(100 + 255 + 11 * 737), (Reservation::ForPods(737), Some("8362Mi".to_owned())));
    }
}
