//! A distribution's table on a machine, and a user's fields over it.
//!
//! - *OpenShift*: the machine config operator lays a `KubeletConfig`, and what the node tuning operator makes of a
//!   `PerformanceProfile`, over its own configuration: 500m of CPU, 1Gi of memory and 1Gi of storage for the system, 250
//!   pods. Workers of clusters that were installed with 4.21 or later size the reservation by the node, as long as the
//!   `KubeletConfig` reserves nothing for the system itself and does not have `autoSizingReserved: false`.
//! - *Amazon EKS*: `nodeadm` has what `spec.kubelet.config` of a `NodeConfig` holds as a drop-in over its own: amounts for the
//!   kubelet by the number of CPUs and of pods, two cgroups for what is reserved, the usual hard evictions. How many pods it
//!   counts is known by the instance type alone; where `reservedMemory` is right for one number of pods, it is that
//!   ([`InstanceType`]).
//! - *Bottlerocket* does the same where it runs on Amazon's instances. Elsewhere it reserves no memory for the kubelet as
//!   long as no number of pods is set.
//! - *Talos* reserves for the system if its user reserves nothing, and 128Mi more on nodes of the control plane.
//! - *k3s* and *RKE2* set thresholds of eviction of their own, none of them of memory.
//!
//! Of amounts and thresholds those stay that the user did not write.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use node_config::KubeletConfiguration;

use crate::amazon::{by_pods, memory_for_pods};
use crate::instance::InstanceType;
use crate::reservation::Reservation;
use crate::{Distribution, tables};

/// A distribution's own configuration, as far as its users do not write over it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Base {
    distribution: Option<Distribution>,
    fields: KubeletConfiguration,
    reservation: Reservation,
    instance: Option<InstanceType>,
}

impl Base {
    /// What `distribution` sets beneath `own` on a machine with so many CPUs.
    #[must_use]
    pub fn of(distribution: Distribution, own: &KubeletConfiguration, cpus: usize) -> Self {
        let base = |fields| Self { distribution: Some(distribution), fields, ..Self::default() };
        match distribution {
            Distribution::OpenShift => base(tables::openshift()),
            Distribution::Eks => {
                Self { reservation: by_pods(own), ..base(tables::nodeadm(cpus)) }.with_memory()
            }
            // The reader of settings fills in the other defaults.
            Distribution::Bottlerocket => {
                let none = base(KubeletConfiguration::default());
                match by_pods(own) {
                    // `apiclient get settings` prints max-pods, user data need not have it.
                    Reservation::ForNoPods(0) => Self { reservation: Reservation::UnlessPodsAreSet, ..none },
                    reservation => Self { reservation, ..none }.with_memory(),
                }
            }
            Distribution::Talos => base(talos(own, "384Mi")),
            Distribution::TalosControlPlane => base(talos(own, "512Mi")),
            Distribution::K3s | Distribution::Rke2 => base(tables::k3s()),
        }
    }

    /// What `nodeadm` sets beneath `own` on an instance of a type with so many CPUs.
    #[must_use]
    pub fn on_instance(instance: InstanceType, own: &KubeletConfiguration, cpus: usize) -> Self {
        let mut base = Self { instance: Some(instance), ..Self::of(Distribution::Eks, own, cpus) };
        base.reservation = Reservation::Known;
        base.fields
            .kube_reserved
            .insert("memory".to_owned(), format!("{}Mi", memory_for_pods(instance.pods())));
        base.fields.max_pods = i32::try_from(instance.pods()).ok();
        base
    }

    /// What is set beneath a configuration is not known.
    #[must_use]
    pub fn unknown() -> Self {
        Self { reservation: Reservation::Unknown, ..Self::default() }
    }

    /// The same where the node reserves for the system by its size.
    #[must_use]
    pub fn sized_by_node(self) -> Self {
        Self { reservation: Reservation::BySize, ..self }
    }

    /// The same where the node may reserve for the system by its size, or as this has it.
    #[must_use]
    pub fn sized_unless_updated(self) -> Self {
        Self { reservation: Reservation::FixedUnlessSized, ..self }
    }

    /// The instance type that it is for.
    #[must_use]
    pub const fn instance(&self) -> Option<InstanceType> {
        self.instance
    }

    /// The amounts that it assumes of what the node reserves; removed from `config` where the user did not write them.
    pub fn take_assumed(&self, config: &mut KubeletConfiguration) {
        match self.reservation {
            Reservation::ForNoPods(_) => {
                config.kube_reserved.remove("memory");
            }
            Reservation::FixedUnlessSized => {
                config.system_reserved.retain(|name, _| !self.fields.system_reserved.contains_key(name));
            }
            _ => {}
        }
    }

    /// Who sets it; `None`: no distribution, the user's fields are all that a kubelet reads.
    #[must_use]
    pub const fn distribution(&self) -> Option<Distribution> {
        self.distribution
    }

    /// How much memory is reserved beside what the configuration says.
    #[must_use]
    pub const fn reservation(&self) -> Reservation {
        self.reservation
    }

    fn with_memory(mut self) -> Self {
        if let Reservation::ForPods(pods) | Reservation::ForNoPods(pods) = self.reservation {
            let memory = format!("{}Mi", memory_for_pods(pods));
            self.fields.kube_reserved.insert("memory".to_owned(), memory);
        }
        self
    }

    /// The kubelet's configuration: `own` over this. A cgroup that is written as an empty text is none.
    #[must_use]
    pub fn under(&self, mut own: KubeletConfiguration) -> KubeletConfiguration {
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
    #[must_use]
    pub fn over(&self, proposal: KubeletConfiguration) -> KubeletConfiguration {
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

/// Talos fills `systemReserved` in as a whole, or not at all.
fn talos(own: &KubeletConfiguration, memory: &str) -> KubeletConfiguration {
    let mut fields = tables::talos();
    if own.system_reserved.is_empty() {
        fields.system_reserved = tables::reserved_of_talos(memory);
    }
    fields
}

#[cfg(test)]
mod tests {
    use k8s_quantity::{Format, Quantity};
    use node_config::{Duration, ReservedMemory};

    use super::*;
    use crate::tables::amounts;

    #[test]
    fn what_is_written_stays_and_the_rest_is_the_distributions() {
        let own = KubeletConfiguration {
            system_reserved: amounts([("memory", "2Gi")]),
            cpu_manager_reconcile_period: Some(Duration::from_seconds(5)),
            ..KubeletConfiguration::default()
        };
        let made = Base::of(Distribution::OpenShift, &own, 96).under(own.clone());
        let expected = amounts([("cpu", "500m"), ("memory", "2Gi"), ("ephemeral-storage", "1Gi")]);
        assert_eq!((made.system_reserved, made.max_pods), (expected, Some(250)));
        assert_eq!(Base::default().under(own.clone()), own);

        let own = KubeletConfiguration {
            kube_reserved: amounts([("cpu", "1")]),
            system_reserved_cgroup: Some(String::new()),
            ..KubeletConfiguration::default()
        };
        let base = Base::of(Distribution::Eks, &own, 96);
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
    fn talos_reserves_all_or_nothing() {
        let none = KubeletConfiguration::default();
        let made =
            |own: &KubeletConfiguration| Base::of(Distribution::TalosControlPlane, own, 4).under(own.clone());
        assert_eq!(made(&none).system_reserved.get("memory").map(String::as_str), Some("512Mi"));
        let own = KubeletConfiguration { system_reserved: amounts([("cpu", "1")]), ..none };
        assert_eq!(made(&own).system_reserved, amounts([("cpu", "1")]));
    }

    #[test]
    fn k3s_keeps_no_memory_for_eviction() {
        let own = KubeletConfiguration::default();
        let made = Base::of(Distribution::K3s, &own, 4).under(own);
        assert_eq!(
            made.eviction_hard,
            Some(amounts([("imagefs.available", "5%"), ("nodefs.available", "5%")]))
        );
    }

    /// Elsewhere than at Amazon nothing is reserved as long as no number of pods is set.
    #[test]
    fn bottlerocket_reserves_by_pods() {
        let own = |mebi: i64| {
            let amount = Quantity::from_units(mebi << 20, Format::BinarySi);
            let on_first = ReservedMemory { numa_node: 0, limits: [("memory".to_owned(), amount)].into() };
            KubeletConfiguration {
                memory_manager_policy: Some("Static".to_owned()),
                reserved_memory: alloc::vec![on_first],
                ..KubeletConfiguration::default()
            }
        };
        let made = |mebi: i64| {
            let base = Base::of(Distribution::Bottlerocket, &own(mebi), 96);
            (base.reservation(), base.under(own(mebi)).kube_reserved.get("memory").cloned())
        };
        assert_eq!(made(100), (Reservation::UnlessPodsAreSet, None));
        assert_eq!(made(100 + 255 + 11 * 737), (Reservation::ForPods(737), Some("8362Mi".to_owned())));
    }
}
