//! The namespaces of a process beside those of the reader.

/// Whether a process sees the same mounts as the reader (`root` is `/`) or as process 1 (it is another folder).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MountNamespace {
    /// The same mounts.
    Same,
    /// A separate mount namespace: a container, or a service with such as `PrivateTmp`.
    Other,
    /// There is no right to read it; taken for the same.
    Unknown,
}

/// Whether a process is in a separate pid namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PidNamespace {
    /// In the one that `/proc` shows.
    Same,
    /// In one below: it runs in a container that does not share the host's.
    Below,
    /// `/proc/PID/status` does not say.
    Unknown,
}
