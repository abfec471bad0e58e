//! How many files this process opens for plugins.

/// Connections and resources of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections to plugins; a registration above fails.
    pub plugins: usize,
    /// Connections that each of the two sockets serves at once; the next ones wait.
    pub incoming: usize,
}

impl Limits {
    /// For a process that may have so many files open: not more than half of them, so that the other half is left
    /// for requests and state.
    #[must_use]
    pub fn of_files(files: usize) -> Self {
        let Self { plugins, incoming } = Self::default();
        Self { plugins: plugins.min(files / 4), incoming: incoming.min(files / 8).max(1) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { plugins: 4096, incoming: 256 }
    }
}
