//! The kubelet's state files that a distribution deletes.
//!
//! A kubelet does not start from the state file of another policy, and not from the memory manager's of a machine that has other
//! memory. Some distributions delete the files before that happens: each boot, or where the policy changes. What containers held is
//! forgotten with the file; containers that still run get other CPUs then.

use crate::distribution::Distribution;

/// When a distribution deletes one of the kubelet's state files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    /// At each boot of the node, before the kubelet starts. A restart of the kubelet alone keeps it.
    AtBoot,
    /// Before each start of the kubelet whose configuration has another policy than the file.
    OfOtherPolicy,
    /// Never: the source of the distribution that deletes another file keeps this one.
    Never,
    /// Not known, as for a kubelet of no distribution.
    NotKnown,
}

/// What a new configuration, or a new release, does to the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rollout {
    /// The node boots with it.
    Boots,
    /// The kubelet alone restarts with it.
    RestartsKubelet,
    /// Not known.
    NotKnown,
}

/// What becomes of the kubelet's state files, by distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateFiles {
    /// Who deletes them, as a sentence calls it.
    pub who: &'static str,
    /// `cpu_manager_state`.
    pub cpu: Removal,
    /// `memory_manager_state`.
    pub memory: Removal,
    /// How a changed configuration comes to the kubelet.
    pub configuration: Rollout,
    /// How another release of the kubelet comes to the node.
    pub release: Rollout,
    /// The public source: repository and path, or a pull request; empty where nothing is known.
    pub source: &'static str,
}

impl Distribution {
    /// What becomes of the state files of its kubelet, of release 1.34 or later.
    #[must_use]
    pub const fn state_files(self) -> StateFiles {
        match self {
            // kubelet-cleanup.service, a oneshot before kubelet.service. Until pull request 4124 (OpenShift 4.16) each start of
            // kubelet.service deleted them.
            Self::OpenShift => StateFiles {
                who: "OpenShift",
                cpu: Removal::AtBoot,
                memory: Removal::AtBoot,
                configuration: Rollout::Boots,
                release: Rollout::Boots,
                source: "openshift/machine-config-operator, templates/master/01-master-kubelet/_base/units/kubelet-cleanup.service.yaml",
            },
            // A line `r! /var/lib/kubelet/cpu_manager_state`: systemd-tmpfiles acts on `r!` at boot alone. Changed settings restart
            // the kubelet alone; another release is another image.
            Self::Bottlerocket => StateFiles {
                who: "Bottlerocket",
                cpu: Removal::AtBoot,
                memory: Removal::Never,
                configuration: Rollout::RestartsKubelet,
                release: Rollout::Boots,
                source: "bottlerocket-os/bottlerocket-core-kit, packages/kubernetes-1.37/kubernetes-tmpfiles.conf",
            },
            // handlePolicyChange, since pull request 7557 (Talos 1.5): an empty policy counts as `none`.
            Self::Talos | Self::TalosControlPlane => StateFiles {
                who: "Talos",
                cpu: Removal::OfOtherPolicy,
                memory: Removal::Never,
                configuration: Rollout::RestartsKubelet,
                release: Rollout::RestartsKubelet,
                source: "siderolabs/talos, internal/app/machined/pkg/controllers/k8s/kubelet_service.go",
            },
            Self::Eks => not_known("EKS"),
            Self::K3s => not_known("k3s"),
            Self::Rke2 => not_known("RKE2"),
        }
    }
}

const fn not_known(who: &'static str) -> StateFiles {
    StateFiles {
        who,
        cpu: Removal::NotKnown,
        memory: Removal::NotKnown,
        configuration: Rollout::NotKnown,
        release: Rollout::NotKnown,
        source: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A distribution has a source where it deletes or keeps a file.
    #[test]
    fn what_is_known_has_a_source() {
        for one in Distribution::ALL {
            let StateFiles { cpu, memory, source, .. } = one.state_files();
            let is_known = cpu != Removal::NotKnown || memory != Removal::NotKnown;
            assert_eq!(is_known, !source.is_empty(), "{one}");
        }
    }
}
