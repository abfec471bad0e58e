//! What must be asked of plugins in the middle of a decision, and what they answered.
//!
//! A decision is a function of the answers so far, keyed by the exact question. Where one is missing, the decision
//! ends in the question; the caller asks, stores the answer and decides again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use pod_spec::ResourceName;
use thiserror::Error;

use crate::device_ids::DeviceIds;

/// A call that a plugin must answer before the decision can go on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Question {
    /// `GetPreferredAllocation`: which of these devices the plugin would take. Asked for the one container.
    Preferred {
        /// Whose plugin.
        resource: ResourceName,
        /// What may be chosen from; contains `must_include`.
        available: DeviceIds,
        /// What has been chosen already.
        must_include: DeviceIds,
        /// How many are wanted in all.
        size: u32,
    },
    /// `Allocate`: give out exactly these devices. How long it takes, failing or not, is observed in
    /// `kubelet_device_plugin_alloc_duration_seconds` under the resource's name.
    Allocate {
        /// Whose plugin.
        resource: ResourceName,
        /// Which devices.
        devices: DeviceIds,
    },
    /// `PreStartContainer`: a container with these devices is about to start. The kubelet waits 30 s.
    PreStart {
        /// Whose plugin.
        resource: ResourceName,
        /// All that the container holds of it.
        devices: DeviceIds,
    },
}

impl Question {
    /// The resource whose plugin is asked.
    #[must_use]
    pub const fn resource(&self) -> &ResourceName {
        match self {
            Self::Preferred { resource, .. }
            | Self::Allocate { resource, .. }
            | Self::PreStart { resource, .. } => resource,
        }
    }
}

/// The first container's answer of an `Allocate` call, in the bytes of its protobuf message. They are kept and
/// given back as they came; only those who write containers need to read them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AllocateReply(pub Arc<[u8]>);

/// What a plugin answered. An answer to another kind of call counts as none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// To [`Question::Preferred`]: the devices of the first container response, in any number, known or not. Empty
    /// when there is no container response.
    Preferred(DeviceIds),
    /// To [`Question::Allocate`]: the first container response; further ones do not count.
    Allocated(AllocateReply),
    /// To [`Question::Allocate`]: an answer without container responses.
    NothingAllocated,
    /// To [`Question::PreStart`]: go ahead.
    Started,
    /// The call failed.
    Failed(RpcError),
}

impl Reply {
    /// The reply of a plugin that prefers no device and refuses none.
    #[must_use]
    pub fn willing(question: &Question) -> Self {
        match question {
            Question::Preferred { .. } => Self::Preferred(DeviceIds::new()),
            Question::Allocate { .. } => Self::Allocated(AllocateReply::default()),
            Question::PreStart { .. } => Self::Started,
        }
    }

    /// The failure of a call where no plugin serves the resource.
    #[must_use]
    pub fn unavailable() -> Self {
        let message = "there is no device plugin".into();
        Self::Failed(RpcError { code: RpcCode::UNAVAILABLE, message })
    }
}

/// The answers so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replies(BTreeMap<Question, Reply>);

impl Replies {
    /// No answers.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds an answer; a second one to the same question replaces the first.
    pub fn insert(&mut self, question: Question, reply: Reply) {
        self.0.insert(question, reply);
    }

    /// All answers, by question.
    pub fn iter(&self) -> impl Iterator<Item = (&Question, &Reply)> {
        self.0.iter()
    }

    /// The answer to exactly this question.
    #[must_use]
    pub fn get(&self, question: &Question) -> Option<&Reply> {
        self.0.get(question)
    }
}

/// A failed call. The text is grpc-go's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("rpc error: code = {code} desc = {message}")]
pub struct RpcError {
    /// The status code.
    pub code: RpcCode,
    /// The plugin's text.
    pub message: String,
}

/// A gRPC status code: 0 to 16, or anything that a plugin makes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RpcCode(pub u32);

impl RpcCode {
    /// No server answers.
    pub const UNAVAILABLE: Self = Self(14);
}

impl fmt::Display for RpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 17] = [
            "OK",
            "Canceled",
            "Unknown",
            "InvalidArgument",
            "DeadlineExceeded",
            "NotFound",
            "AlreadyExists",
            "PermissionDenied",
            "ResourceExhausted",
            "FailedPrecondition",
            "Aborted",
            "OutOfRange",
            "Unimplemented",
            "Internal",
            "Unavailable",
            "DataLoss",
            "Unauthenticated",
        ];
        match usize::try_from(self.0).ok().and_then(|at| NAMES.get(at)) {
            Some(name) => f.write_str(name),
            None => write!(f, "Code({})", self.0),
        }
    }
}

/// Why a plugin could not be asked, or failed. The texts are the kubelet's, but for the first, where it prints an
/// internal structure instead of the resource.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PluginError {
    /// The plugin has gone away.
    #[error("endpoint {0} has been stopped")]
    Stopped(ResourceName),
    /// It answered with an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
}
