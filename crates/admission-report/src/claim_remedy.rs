//! Changes with which the devices of a claim lie on the NUMA nodes of a container's CPUs and memory.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use node_config::Scope;
use pod_claims::ClaimChange;
use serde::{Serialize, Serializer};
use topology_policy::KubeletPolicy;

use crate::json;

/// A change that was tried on the node with the same pods, and aligns. Displays as what is to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimRemedy {
    /// The claim is another.
    Claim(ClaimChange),
    /// The CPU driver gives the CPUs, and the kubelet gives none.
    CpuDriver {
        /// What the claim has then; `None`: it has CPUs of the driver already.
        change: Option<ClaimChange>,
        /// What the kubelet still binds.
        memory: BoundMemory,
        /// How many containers of other pods on the node lose their exclusive CPUs.
        others: usize,
    },
    /// The kubelet has another Topology Manager policy or scope.
    Rules {
        /// `topologyManagerPolicy`; `None`: as it is.
        policy: Option<KubeletPolicy>,
        /// `topologyManagerScope`; `None`: as it is.
        scope: Option<Scope>,
    },
}

/// What becomes of the memory manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundMemory {
    /// It stays.
    AsConfigured,
    /// `memoryManagerPolicy` becomes `None`.
    None,
}

impl ClaimRemedy {
    /// For so many pods of a run, whose claims lie elsewhere, changes are tried.
    pub const MOST_PODS: usize = 64;

    /// In a word, as documents have it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Claim(ClaimChange::Match { .. }) => "constraint",
            Self::Claim(ClaimChange::Select { .. }) => "selector",
            Self::Claim(ClaimChange::Cpus { .. }) | Self::CpuDriver { .. } => "cpuClaim",
            Self::Rules { policy: Some(_), .. } => "policy",
            Self::Rules { policy: None, .. } => "scope",
        }
    }

    /// All words of [`kind`](Self::kind).
    #[cfg(feature = "schema")]
    pub(crate) const KINDS: [&'static str; 5] = ["constraint", "selector", "cpuClaim", "policy", "scope"];
}

impl fmt::Display for ClaimRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(change) => change.fmt(f),
            Self::CpuDriver { change, memory, others } => {
                change.iter().try_for_each(|change| write!(f, "{change}, and "))?;
                f.write_str("cpuManagerPolicy none")?;
                match memory {
                    BoundMemory::AsConfigured => Ok(()),
                    BoundMemory::None => f.write_str(" with memoryManagerPolicy None"),
                }?;
                match others {
                    0 => Ok(()),
                    1 => f.write_str("; 1 container of another pod loses its exclusive CPUs"),
                    _ => write!(f, "; {others} containers of other pods lose their exclusive CPUs"),
                }
            }
            Self::Rules { policy, scope } => {
                let policy = policy.map(|policy| format!("topologyManagerPolicy {}", policy.name()));
                let scope = scope.map(|scope| format!("topologyManagerScope {}", scope.name()));
                let fields: Vec<String> = policy.into_iter().chain(scope).collect();
                f.write_str(&fields.join(" with "))
            }
        }
    }
}

/// A change that was tried on the node, and aligns.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ClaimRemedy"))]
struct RemedyFields {
    /// In a word.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::claim_remedy"))]
    kind: &'static str,
    /// What is to be changed.
    text: String,
}

json::written_as!(ClaimRemedy, RemedyFields);

impl Serialize for ClaimRemedy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RemedyFields { kind: self.kind(), text: self.to_string() }.serialize(serializer)
    }
}
