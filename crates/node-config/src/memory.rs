//! The memory manager's part of the configuration: its policy.

use alloc::borrow::ToOwned;
use alloc::string::String;

use thiserror::Error;

/// `memoryManagerPolicy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryPolicyName {
    /// `None`: memory is not bound to nodes.
    #[default]
    None,
    /// `Static`: that of Guaranteed pods is.
    Static,
}

/// Why a policy is refused. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum MemoryConfigError {
    /// No such policy; unlike those of CPUs the names begin with capitals.
    #[error("unknown policy: \"{0}\"")]
    UnknownPolicy(String),
    /// A policy for Windows.
    #[error("policy \"BestEffort\" is not available for platform \"linux\"")]
    OtherPlatform,
}

impl MemoryPolicyName {
    /// The policy of this name; names are case-sensitive.
    ///
    /// # Errors
    /// An unknown name, or that of a policy for Windows.
    pub fn check(name: &str) -> Result<Self, MemoryConfigError> {
        match name {
            "None" => Ok(Self::None),
            "Static" => Ok(Self::Static),
            "BestEffort" => Err(MemoryConfigError::OtherPlatform),
            unknown => Err(MemoryConfigError::UnknownPolicy(unknown.to_owned())),
        }
    }

    /// The name in a configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Static => "Static",
        }
    }
}
