//! The kubelet's configuration, as far as runs change it, and how the kubelet gets it.

use std::fmt;

use crate::machine::{Guest, text};

/// What every configuration has.
const TEMPLATE: &str = "/etc/kubelet.template.yaml";
/// Where kubeadm has it, too.
const USUAL: &str = "/var/lib/kubelet/config.yaml";
const ELSEWHERE: &str = "/opt/kubelet/kubelet.yaml";
const DROP_INS: &str = "/opt/kubelet/conf.d";
/// What a file needs to be a kubelet's.
const KIND: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
/// Values that a drop-in or a flag replaces.
const REPLACED: &str =
    "topologyManagerPolicy: none\ntopologyManagerScope: container\nreservedSystemCPUs: 0-3\n";

/// One configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Configuration {
    /// Of the Topology Manager.
    pub(crate) policy: String,
    /// Of the Topology Manager.
    pub(crate) scope: String,
    /// Which CPUs the static policy gives.
    pub(crate) cores: Cores,
    /// `reservedSystemCPUs`.
    pub(crate) reserved: String,
    pub(crate) place: Place,
}

/// How the kubelet gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// As a file in a usual place.
    Usual,
    /// As a file that its command line names. A file in a usual place says something else.
    Elsewhere,
    /// The same with drop-ins, which replace values of the file and of each other.
    DropIns,
    /// The same with flags, which replace values of the file.
    Flags,
}

/// Which CPUs the static policy gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cores {
    /// Threads of any core.
    Any,
    /// All threads of a core: `full-pcpus-only`.
    Whole,
}

impl Configuration {
    /// With that policy and scope, and one CPU reserved.
    pub(crate) fn new(policy: &str, scope: &str) -> Self {
        Self {
            policy: policy.to_owned(),
            scope: scope.to_owned(),
            cores: Cores::Any,
            reserved: "0".to_owned(),
            place: Place::Usual,
        }
    }

    /// The same in another place.
    pub(crate) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The same with whole cores, one of which is reserved.
    pub(crate) fn whole_cores(self) -> Self {
        Self { cores: Cores::Whole, reserved: "0-1".to_owned(), ..self }
    }

    /// Path and text of each file.
    ///
    /// # Errors
    /// What every configuration has cannot be read.
    pub(crate) fn files(&self, guest: &Guest) -> anyhow::Result<Vec<(String, String)>> {
        let Self { policy, scope, reserved, .. } = self;
        let own = format!(
            "topologyManagerPolicy: {policy}\ntopologyManagerScope: {scope}\nreservedSystemCPUs: \"{reserved}\"\n"
        );
        let rest = self.rest(guest)?;
        let other = (USUAL.to_owned(), format!("{KIND}cpuManagerPolicy: none\nmaxPods: 3\n"));
        Ok(match self.place {
            Place::Usual => vec![(USUAL.to_owned(), rest + &own)],
            Place::Elsewhere => vec![other, (ELSEWHERE.to_owned(), rest + &own)],
            Place::DropIns => vec![
                other,
                (ELSEWHERE.to_owned(), rest + REPLACED),
                (
                    format!("{DROP_INS}/10-policy.conf"),
                    format!("{KIND}topologyManagerPolicy: {policy}\nreservedSystemCPUs: \"1\"\n"),
                ),
                (
                    format!("{DROP_INS}/20-scope.conf"),
                    format!("{KIND}topologyManagerScope: {scope}\nreservedSystemCPUs: \"{reserved}\"\n"),
                ),
            ],
            Place::Flags => vec![other, (ELSEWHERE.to_owned(), rest + REPLACED)],
        })
    }

    /// The kubelet's arguments that name it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let file = |path: &str| format!("--config={path}");
        match self.place {
            Place::Usual => vec![file(USUAL)],
            Place::Elsewhere => vec![file(ELSEWHERE)],
            Place::DropIns => vec![file(ELSEWHERE), format!("--config-dir={DROP_INS}")],
            Place::Flags => vec![
                file(ELSEWHERE),
                format!("--topology-manager-policy={}", self.policy),
                format!("--topology-manager-scope={}", self.scope),
                "--reserved-cpus".to_owned(),
                self.reserved.clone(),
            ],
        }
    }

    /// The file without what a drop-in or a flag replaces.
    fn rest(&self, guest: &Guest) -> anyhow::Result<String> {
        let cores = self.cores;
        let nodes = guest.shape.nodes.len();
        let memory: String =
            (0..nodes).map(|node| format!("- {{numaNode: {node}, limits: {{memory: 128Mi}}}}\n")).collect();
        let options = match cores {
            Cores::Any => "",
            Cores::Whole => "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\n",
        };
        let template = text(TEMPLATE)?;
        Ok(format!(
            "{template}\nsystemReserved: {{memory: {}Mi}}\n{options}reservedMemory:\n{memory}",
            128 * nodes - 100
        ))
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = match self.cores {
            Cores::Any => "",
            Cores::Whole => " whole cores",
        };
        let place = match self.place {
            Place::Usual => "",
            Place::Elsewhere => ", elsewhere",
            Place::DropIns => ", drop-ins",
            Place::Flags => ", flags",
        };
        write!(f, "{} {}{cores}{place}", self.policy, self.scope)
    }
}
