//! The program whose rules hold on a node.

use core::fmt;

/// The program that decides on a node, and whose rules an answer about the node is by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum DecidedBy {
    /// A kubelet, with its faults.
    #[default]
    Kubelet,
    /// `topolet serve`, which mends faults of the kubelet and has [`OwnOptions`](crate::OwnOptions).
    Topolet,
}

impl DecidedBy {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Kubelet, Self::Topolet];

    /// As options and documents have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::Topolet => "topolet",
        }
    }

    /// The program of a name; `None`: neither is called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
