//! A distribution's table on a machine, and a user's fields over it.
//!
//! - *OpenShift*: the machine config operator lays a `KubeletConfig`, and what the node tuning operator makes of a
//!   `PerformanceProfile`, over its own configuration: 500m of CPU, 1Gi of memory and 1Gi of storage for the system, 250
//!   pods. Since 4.22, whose kubelet is 1.35, workers enforce the CPU shares of the system's reservation in its cgroup. Where CPUs
//!   are listed they do not, since the kubelet refuses a cgroup beside such a list. Workers of clusters that were installed with
//!   4.21 or later size the reservation by the node, unless the `KubeletConfig` reserves something for the system itself or has
//!   `autoSizingReserved: false`. A `MachineConfig` that writes the kubelet's file replaces all of that but the reservation, which
//!   the node sets beside the file.
//! - *Amazon EKS*: `nodeadm` writes its own configuration, and `spec.kubelet.config` of a `NodeConfig` as a drop-in over it. Its own
//!   has amounts for the kubelet by the number of CPUs and of pods, two cgroups for reservations, the usual hard evictions and
//!   three feature gates. The number of pods depends on the instance type ([`InstanceType`]); without that, it is the number for
//!   which `reservedMemory` is right, if there is one.
//! - *Bottlerocket* does the same on Amazon's instances. Elsewhere it reserves no memory for the kubelet as long as no number of
//!   pods is set.
//! - *Talos* reserves for the system if its user reserves nothing, and 128Mi more on nodes of the control plane.
//! - *k3s* and *RKE2* set other eviction thresholds than the kubelet, none of them of memory, and periods that are the
//!   kubelet's own.
//!
//! Amounts and thresholds that the user did not write stay.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use node_config::KubeletConfiguration;

use crate::amazon::{by_pods, memory_for_pods};
use crate::instance::InstanceType;
use crate::reservation::Reservation;
use crate::{Distribution, openshift, tables};

/// A distribution's own configuration, as far as its users do not write over it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Base {
    distribution: Option<Distribution>,
    fields: KubeletConfiguration,
    reservation: Reservation,
    instance: Option<InstanceType>,
    file: OwnFile,
}

/// The distribution's own file of a kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum OwnFile {
    /// The user's fields are laid over it.
    #[default]
    Beneath,
    /// The user's file takes its place, and what else the distribution sets is laid over that.
    Replaced,
}

impl Base {
    /// What `distribution` sets beneath `own` on a machine with so many CPUs.
    #[must_use]
    pub fn of(distribution: Distribution, own: &KubeletConfiguration, cpus: usize) -> Self {
        let base = |fields| Self { distribution: Some(distribution), fields, ..Self::default() };
        match distribution {
            Distribution::OpenShift => base(tables::openshift(own.rules)),
            Distribution::Eks => {
                Self { reservation: by_pods(own), ..base(tables::nodeadm(cpus)) }.with_memory()
            }
            // Its other defaults are among the settings, and come with these.
            Distribution::Bottlerocket => {
                let none = base(tables::bottlerocket());
                match by_pods(own) {
                    // Nothing is left for the kubelet: right as long as no number of pods is set. User data need not have the
                    // number, which `apiclient get settings` prints.
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

    /// The same on a node of OpenShift's control plane, where nothing of the system is enforced.
    #[must_use]
    pub fn on_control_plane(mut self) -> Self {
        self.fields.system_reserved_cgroup = None;
        self.fields.enforce_node_allocatable = None;
        self
    }

    /// The same where a `MachineConfig` writes `/etc/kubernetes/kubelet.conf` of OpenShift: of the operator's fields those stay that
    /// are no part of the file. `systemReserved` is a flag of its unit or, since 4.22, the drop-in `20-auto-sizing.conf`, which
    /// both decide over the file.
    #[must_use]
    pub fn with_file_replaced(self) -> Self {
        let fields = KubeletConfiguration {
            system_reserved: self.fields.system_reserved,
            ..KubeletConfiguration::default()
        };
        Self { fields, file: OwnFile::Replaced, ..self }
    }

    /// What is laid over a user's file that takes the place of the distribution's own, as amounts by resource; `None`: it does not.
    #[must_use]
    pub fn over_replaced_file(&self) -> Option<&BTreeMap<String, String>> {
        (self.file == OwnFile::Replaced).then_some(&self.fields.system_reserved)
    }

    /// The instance type that it is for.
    #[must_use]
    pub const fn instance(&self) -> Option<InstanceType> {
        self.instance
    }

    /// Removes from `config`, which has this beneath it, the reservations that are only assumed, since the node works them out.
    pub fn remove_assumed(&self, config: &mut KubeletConfiguration) {
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

    /// `config` as a start for proposals that list reserved CPUs: without the cgroup and the enforcement that OpenShift sets, which
    /// its operator drops beside such a list.
    #[must_use]
    pub fn open_to_cpus(&self, mut config: KubeletConfiguration) -> KubeletConfiguration {
        if self.enforces_as_in(&config) {
            (config.system_reserved_cgroup, config.enforce_node_allocatable) = (None, None);
        }
        config
    }

    /// `config` for a comparison with `proposal`. Where that lists reserved CPUs, the cgroup and the enforcement that OpenShift sets
    /// are those of the proposal: the operator drops them, and no user has to.
    #[must_use]
    pub fn enforcing_as(
        &self,
        mut config: KubeletConfiguration,
        proposal: &KubeletConfiguration,
    ) -> KubeletConfiguration {
        if self.enforces_as_in(&config) && !proposal.reserved_cpus().is_empty() {
            config.system_reserved_cgroup.clone_from(&proposal.system_reserved_cgroup);
            config.enforce_node_allocatable.clone_from(&proposal.enforce_node_allocatable);
        }
        config
    }

    /// Whether the configuration has the cgroup and the enforcement that OpenShift sets.
    fn enforces_as_in(&self, config: &KubeletConfiguration) -> bool {
        self.distribution == Some(Distribution::OpenShift)
            && config.system_reserved_cgroup == self.fields.system_reserved_cgroup
            && config.enforce_node_allocatable == self.fields.enforce_node_allocatable
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
        if let Some(reserved) = self.over_replaced_file() {
            own.system_reserved.extend(reserved.clone());
            return own;
        }
        if self.distribution != Some(Distribution::OpenShift) {
            return filled(own, &self.fields);
        }
        let own = openshift::without_empty(own);
        let base = openshift::beneath(&own, self.fields.clone());
        openshift::settled(filled(own, &base))
    }

    /// A proposal for the kubelet's configuration as it has to be written over this: what it leaves out of this is emptied.
    #[must_use]
    pub fn over(&self, proposal: KubeletConfiguration) -> KubeletConfiguration {
        // An assumed reservation is not proposed.
        let mut base = self.clone();
        if matches!(self.reservation, Reservation::ForNoPods(_)) {
            base.fields.kube_reserved.remove("memory");
        }
        // To the machine config operator an empty text is none.
        let takes_empty = self.distribution != Some(Distribution::OpenShift);
        let emptied = |own: Option<String>, base: &Option<String>| match (&own, base) {
            (None, Some(_)) if takes_empty => Some(String::new()),
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

/// `own`, and of `base` what it does not write.
fn filled(mut own: KubeletConfiguration, base: &KubeletConfiguration) -> KubeletConfiguration {
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
    for (gate, value) in &base.feature_gates {
        own.feature_gates.entry(gate.clone()).or_insert(*value);
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
    own.enforce_node_allocatable =
        own.enforce_node_allocatable.or_else(|| base.enforce_node_allocatable.clone());
    own.cpu_manager_reconcile_period = own.cpu_manager_reconcile_period.or(base.cpu_manager_reconcile_period);
    own.max_pods = own.max_pods.or(base.max_pods);
    let (reporting, base) = (&mut own.reporting, &base.reporting);
    reporting.node_status_update_frequency =
        reporting.node_status_update_frequency.or(base.node_status_update_frequency);
    reporting.node_status_report_frequency =
        reporting.node_status_report_frequency.or(base.node_status_report_frequency);
    own
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

    /// The machine config operator leaves the cgroup out beside a list of CPUs.
    #[test]
    fn cpus_can_be_proposed_over_the_cgroup_of_openshift() {
        let own = KubeletConfiguration::default();
        let base = Base::of(Distribution::OpenShift, &own, 96);
        let config = base.under(own);
        let open = base.open_to_cpus(config.clone());
        assert_eq!((&open.system_reserved_cgroup, &open.enforce_node_allocatable), (&None, &None));
        assert_eq!(base.over(open.clone()), config);

        let listed = KubeletConfiguration { reserved_system_cpus: Some("0,48".to_owned()), ..open };
        let proposed = base.over(listed);
        assert_eq!(proposed.system_reserved_cgroup, None);
        let compared = base.enforcing_as(config, &proposed);
        assert_eq!(compared.enforce_node_allocatable, Some(alloc::vec!["pods".to_owned()]));
    }

    /// As of a `MachineConfig` with `/etc/kubernetes/kubelet.conf`.
    #[test]
    fn a_file_in_the_place_of_openshifts_keeps_what_the_node_reserves() {
        let own = KubeletConfiguration {
            system_reserved: amounts([("memory", "2Gi"), ("pid", "1k")]),
            ..KubeletConfiguration::default()
        };
        let made = Base::of(Distribution::OpenShift, &own, 96).with_file_replaced().under(own);
        let expected =
            amounts([("cpu", "500m"), ("memory", "1Gi"), ("ephemeral-storage", "1Gi"), ("pid", "1k")]);
        assert_eq!((made.system_reserved, made.max_pods, made.cgroup_root), (expected, None, None));
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
