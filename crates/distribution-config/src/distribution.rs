//! The distributions, what they are called, and where their tables were read.

use alloc::string::{String, ToString};
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// Who sets fields of the kubelet beneath those that users write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// OpenShift's machine config operator.
    OpenShift,
    /// `nodeadm` of Amazon EKS.
    Eks,
    /// Bottlerocket.
    Bottlerocket,
    /// Talos Linux on a worker.
    Talos,
    /// Talos Linux on a node of the control plane.
    TalosControlPlane,
    /// k3s.
    K3s,
    /// RKE2, which has the kubelet of k3s.
    Rke2,
}

/// Where a table was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Minor releases of the kubelet, such as 34 for 1.34, that set this.
    pub kubelets: RangeInclusive<u32>,
    /// The public source: repository, commit and path.
    pub source: &'static str,
}

/// A name that no distribution has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoDistribution(pub String);

impl Distribution {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::OpenShift,
        Self::Eks,
        Self::Bottlerocket,
        Self::Talos,
        Self::TalosControlPlane,
        Self::K3s,
        Self::Rke2,
    ];

    /// The name on a command line, such as `openshift`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenShift => "openshift",
            Self::Eks => "eks",
            Self::Bottlerocket => "bottlerocket",
            Self::Talos => "talos",
            Self::TalosControlPlane => "talos-controlplane",
            Self::K3s => "k3s",
            Self::Rke2 => "rke2",
        }
    }

    /// Where its table was read.
    #[must_use]
    pub const fn facts(self) -> Facts {
        let (kubelets, source) = match self {
            Self::OpenShift => (
                31..=36,
                "openshift/machine-config-operator 7ff337a4f, templates/worker/01-worker-kubelet/_base/files/kubelet.yaml",
            ),
            Self::Eks => (30..=36, "awslabs/amazon-eks-ami 81fec2e8, nodeadm/internal/kubelet/config.go"),
            Self::Bottlerocket => (
                34..=36,
                "bottlerocket-os/bottlerocket-core-kit e641ab8e, packages/kubernetes-1.36/kubelet-config, and those of 1.34 and 1.35",
            ),
            Self::Talos | Self::TalosControlPlane => (
                32..=37,
                "siderolabs/talos ad8823176, internal/app/machined/pkg/controllers/k8s/kubelet_spec.go",
            ),
            Self::K3s | Self::Rke2 => {
                (32..=37, "k3s-io/k3s, pkg/daemons/agent/agent.go, of a version without a commit")
            }
        };
        Facts { kubelets, source }
    }

    /// Whether the table was not read for this minor release of the kubelet, such as 37 for 1.37.
    #[must_use]
    pub fn is_of_another_release(self, minor: u32) -> bool {
        !self.facts().kubelets.contains(&minor)
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Distribution {
    type Err = NoDistribution;

    fn from_str(name: &str) -> Result<Self, NoDistribution> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| NoDistribution(name.to_string()))
    }
}

impl fmt::Display for NoDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no distribution is called {:?}", self.0)
    }
}

impl core::error::Error for NoDistribution {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for one in Distribution::ALL {
            assert_eq!(one.name().parse(), Ok(one));
        }
        assert_eq!("gke".parse::<Distribution>(), Err(NoDistribution("gke".to_string())));
    }

    #[test]
    fn a_release_outside_of_the_table_is_named() {
        assert!(Distribution::OpenShift.is_of_another_release(37));
        assert!(!Distribution::OpenShift.is_of_another_release(36));
    }
}
