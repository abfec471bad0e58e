//! How OpenShift lays a user's fields over its own, where that is more than replacing one by the other.
//!
//! As `generateKubeletIgnFiles` of the machine config operator does since 4.22 (kubelet 1.35):
//!
//! - A user's field that is empty, 0 or false replaces nothing, since mergo does not carry it over.
//! - The cgroup and the enforcement of the system's reservation are left out where a user enforces nothing of the system, and where
//!   a user lists reserved CPUs, since the kubelet refuses a cgroup beside such a list.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use node_config::{Duration, KubeletConfiguration, Release};

/// The CPU shares of what is reserved for the system, in `enforceNodeAllocatable`.
pub(crate) const COMPRESSIBLE: &str = "system-reserved-compressible";
const PODS: &str = "pods";

fn is_of_system(enforced: &str) -> bool {
    matches!(enforced, "system-reserved" | COMPRESSIBLE)
}

/// The user's fields without those that replace nothing.
pub(crate) fn without_empty(mut own: KubeletConfiguration) -> KubeletConfiguration {
    own.enforce_node_allocatable = own.enforce_node_allocatable.filter(|enforced| !enforced.is_empty());
    for text in [&mut own.system_reserved_cgroup, &mut own.cgroup_root, &mut own.system_cgroups] {
        *text = text.take().filter(|text| !text.is_empty());
    }
    own.max_pods = own.max_pods.filter(|pods| *pods != 0);
    let reporting = &mut own.reporting;
    for period in [&mut reporting.node_status_update_frequency, &mut reporting.node_status_report_frequency] {
        *period = period.filter(|period| *period != Duration::default());
    }
    own
}

/// What becomes of `base` where it is set beneath `own`.
pub(crate) fn beneath(own: &KubeletConfiguration, mut base: KubeletConfiguration) -> KubeletConfiguration {
    let enforces_none_of_system = own
        .enforce_node_allocatable
        .as_ref()
        .is_some_and(|enforced| !enforced.iter().any(|one| is_of_system(one)));
    if enforces_none_of_system {
        base.system_reserved_cgroup = None;
    }
    base
}

/// What the operator makes of the merged fields: without the cgroup and the enforcement of the system beside a list of CPUs.
pub(crate) fn settled(mut made: KubeletConfiguration) -> KubeletConfiguration {
    if made.rules.version.release() < Release::V1_35 || made.reserved_cpus().is_empty() {
        return made;
    }
    made.system_reserved_cgroup = None;
    let enforced = made.enforce_node_allocatable.take().unwrap_or_default();
    let mut kept: Vec<String> = enforced.into_iter().filter(|one| !is_of_system(one)).collect();
    if !kept.iter().any(|one| one == PODS) {
        kept.insert(0, PODS.to_owned());
    }
    made.enforce_node_allocatable = Some(kept);
    made
}

#[cfg(test)]
mod tests {
    use node_config::{NodeReporting, Rules};

    use super::*;
    use crate::{Base, Distribution};

    type Enforced = (Option<String>, Option<Vec<String>>);

    fn on_workers(release: Release, own: KubeletConfiguration) -> Enforced {
        let own = KubeletConfiguration { rules: Rules::of(release), ..own };
        let made = Base::of(Distribution::OpenShift, &own, 96).under(own.clone());
        (made.system_reserved_cgroup, made.enforce_node_allocatable)
    }

    fn enforced(cgroup: Option<&str>, list: &[&str]) -> Enforced {
        (cgroup.map(str::to_owned), Some(names(list)))
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|one| (*one).to_owned()).collect()
    }

    /// As `TestReserveSystemCPUs` of the machine config operator has it.
    #[test]
    fn a_list_of_cpus_takes_the_place_of_the_cgroup() {
        let made = |list: &[&str]| {
            let own = KubeletConfiguration {
                reserved_system_cpus: Some("0-1".to_owned()),
                enforce_node_allocatable: Some(names(list)),
                ..KubeletConfiguration::default()
            };
            on_workers(Release::V1_36, own)
        };
        assert_eq!(made(&[]), enforced(None, &["pods"]));
        assert_eq!(made(&["system-reserved"]), enforced(None, &["pods"]));
        assert_eq!(made(&["pods", "kube-reserved"]), enforced(None, &["pods", "kube-reserved"]));
    }

    /// mergo carries no zero value over what the operator sets.
    #[test]
    fn zero_values_take_the_place_of_nothing() {
        let zero = KubeletConfiguration {
            max_pods: Some(0),
            cgroup_root: Some(String::new()),
            system_cgroups: Some(String::new()),
            reporting: NodeReporting {
                node_status_update_frequency: Some(Duration::from_seconds(0)),
                node_status_report_frequency: Some(Duration::from_seconds(0)),
                ..NodeReporting::default()
            },
            ..KubeletConfiguration::default()
        };
        let made = |own: KubeletConfiguration| Base::of(Distribution::OpenShift, &own, 96).under(own);
        assert_eq!(made(zero), made(KubeletConfiguration::default()));
    }

    #[test]
    fn the_system_is_enforced_unless_the_user_enforces_something_else() {
        let made = |release, list: Option<&[&str]>| {
            let own = KubeletConfiguration {
                system_reserved_cgroup: Some(String::new()),
                enforce_node_allocatable: list.map(names),
                ..KubeletConfiguration::default()
            };
            on_workers(release, own)
        };
        let cgroup = Some("/system.slice");
        let base = enforced(cgroup, &["pods", COMPRESSIBLE]);
        assert_eq!(made(Release::V1_36, None), base);
        assert_eq!(made(Release::V1_36, Some(&[])), base);
        assert_eq!(made(Release::V1_36, Some(&["pods"])), enforced(None, &["pods"]));
        let all = Some(&["system-reserved"][..]);
        assert_eq!(made(Release::V1_35, all), enforced(cgroup, &["system-reserved"]));
        assert_eq!(made(Release::V1_34, None), (None, None));
        let none = KubeletConfiguration::default();
        let made = Base::of(Distribution::OpenShift, &none, 96).on_control_plane().under(none);
        assert_eq!((made.system_reserved_cgroup, made.enforce_node_allocatable), (None, None));
    }
}
