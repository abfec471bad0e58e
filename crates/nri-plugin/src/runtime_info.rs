//! What a runtime says of itself when it configures a plugin.

use std::time::Duration;

use crate::event::{Event, Events};
use crate::messages::ConfigureRequest;
use crate::version::{NriVersion, RuntimeNri, Timeouts};

/// How long a plugin may take where the runtime does not say so: NRI before 0.8 has this constant.
pub(crate) const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The first version that follows a failure policy.
const FOLLOWS_POLICY: NriVersion = NriVersion::new(0, 12, 5);

/// A runtime, as it introduces itself in Configure.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RuntimeInfo {
    /// Its name, such as `containerd` or `cri-o`.
    pub name: String,
    /// Its version, as it writes it.
    pub version: String,
    /// Its version of NRI.
    pub nri: RuntimeNri,
    /// How long a plugin may take to register; `None` from runtimes before NRI 0.8.
    pub registration_timeout: Option<Duration>,
    /// How long a plugin may take for a request; `None` from runtimes before NRI 0.8, where it is 2 s.
    pub request_timeout: Option<Duration>,
    /// The configuration of the plugin; always empty for one that connects by itself.
    pub config: String,
    /// Events that the plugin asked for and that this runtime does not know, or may not know: they do not come.
    pub not_subscribed: Vec<Event>,
}

impl RuntimeInfo {
    pub(crate) fn of(request: ConfigureRequest, wanted: Events) -> Self {
        let timeout = |milliseconds: i64| {
            let milliseconds = u64::try_from(milliseconds).ok().filter(|milliseconds| *milliseconds > 0);
            milliseconds.map(Duration::from_millis)
        };
        let request_timeout = timeout(request.request_timeout);
        let timeouts = if request_timeout.is_some() { Timeouts::Given } else { Timeouts::Missing };
        let nri =
            RuntimeNri::of(&request.nri_version, &request.runtime_name, &request.runtime_version, timeouts);
        let lacks = |event: &Event| event.since() > nri.at_least();
        Self {
            name: request.runtime_name,
            version: request.runtime_version,
            nri,
            registration_timeout: timeout(request.registration_timeout),
            request_timeout,
            config: request.config,
            not_subscribed: wanted.iter().filter(lacks).collect(),
        }
    }

    /// Whether the runtime follows a failure policy. One that does not know it goes on without a plugin that is late.
    pub fn follows_failure_policy(&self) -> bool {
        matches!(self.nri, RuntimeNri::Reported(version) if version >= FOLLOWS_POLICY)
    }
}
