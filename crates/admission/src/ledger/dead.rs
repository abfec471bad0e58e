//! In which slices of a ledger pods that have gone may still hold something.

/// The slice whose dead pods are collected: each manager does so before it answers or allocates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    Devices,
    Cpus,
    Memory,
    Others,
}

/// In which slices pods that have gone may still hold something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Dead {
    pub(super) cpus: Left,
    pub(super) memory: Left,
    pub(super) devices: Left,
    pub(super) others: Left,
}

/// Whether something may be left of pods that have gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Left {
    #[default]
    Nothing,
    Perhaps,
}

impl Dead {
    /// It is not known what of what is held belongs to pods that run.
    pub(crate) const EVERYWHERE: Self =
        Self { cpus: Left::Perhaps, memory: Left::Perhaps, devices: Left::Perhaps, others: Left::Perhaps };
}

impl Dead {
    /// Whether pods that have gone may still hold devices.
    pub(crate) fn may_hold_devices(self) -> bool {
        self.devices == Left::Perhaps
    }
}
