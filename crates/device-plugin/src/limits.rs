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
    /// For a server that may have so many connections open: half of them to plugins, a quarter on each socket.
    #[must_use]
    pub fn of(connections: usize) -> Self {
        let Self { plugins, incoming } = Self::default();
        Self { plugins: plugins.min(connections / 2), incoming: incoming.min(connections / 4).max(1) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { plugins: 4096, incoming: 256 }
    }
}
