//! What compatibility groups allow on a counter set.

use alloc::vec::Vec;

/// The compatibility groups that all devices on a counter set have in common.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Groups {
    /// No device yet.
    #[default]
    Nobody,
    /// Devices without any.
    Bare,
    /// What all devices have.
    Common(Vec<u32>),
}

impl Groups {
    /// The state with one more device, unless it has nothing in common with those before.
    pub(crate) fn admitting(&self, groups: &[u32]) -> Option<Self> {
        match self {
            Self::Nobody => Some(self.with(groups)),
            Self::Bare => groups.is_empty().then_some(Self::Bare),
            Self::Common(common) => {
                common.iter().any(|group| groups.contains(group)).then(|| self.with(groups))
            }
        }
    }

    /// The state with one more device, whatever it has.
    pub(crate) fn with(&self, groups: &[u32]) -> Self {
        match self {
            Self::Nobody if groups.is_empty() => Self::Bare,
            Self::Nobody => Self::Common(groups.to_vec()),
            Self::Common(common) if !groups.is_empty() => {
                Self::Common(common.iter().copied().filter(|group| groups.contains(group)).collect())
            }
            Self::Bare | Self::Common(_) => self.clone(),
        }
    }

    pub(crate) fn write(&self, key: &mut Vec<u32>) {
        match self {
            Self::Nobody => key.push(0),
            Self::Bare => key.push(1),
            Self::Common(common) => {
                key.push(2 + u32::try_from(common.len()).unwrap_or(u32::MAX - 2));
                key.extend(common);
            }
        }
    }
}
