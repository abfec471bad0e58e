//! The kubelet's configuration, as far as runs change it.

use std::fmt;

use crate::machine::{Guest, text};

/// What every configuration has.
const TEMPLATE: &str = "/etc/kubelet.template.yaml";

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
        }
    }

    /// The same with whole cores, one of which is reserved.
    pub(crate) fn whole_cores(self) -> Self {
        Self { cores: Cores::Whole, reserved: "0-1".to_owned(), ..self }
    }

    /// The file.
    ///
    /// # Errors
    /// What every configuration has cannot be read.
    pub(crate) fn file(&self, guest: &Guest) -> anyhow::Result<String> {
        let Self { policy, scope, cores, reserved } = self;
        let nodes = guest.shape.nodes.len();
        let memory: String =
            (0..nodes).map(|node| format!("- {{numaNode: {node}, limits: {{memory: 128Mi}}}}\n")).collect();
        let options = match cores {
            Cores::Any => "",
            Cores::Whole => "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\n",
        };
        let template = text(TEMPLATE)?;
        Ok(format!(
            "{template}\nsystemReserved: {{memory: {}Mi}}\ntopologyManagerPolicy: {policy}\ntopologyManagerScope: \
             {scope}\nreservedSystemCPUs: \"{reserved}\"\n{options}reservedMemory:\n{memory}",
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
        write!(f, "{} {}{cores}", self.policy, self.scope)
    }
}
