//! Events that a plugin subscribes to, and the mask that says so.

use std::ops::BitOr;

use crate::version::NriVersion;

/// Something that happens to a pod or a container, with its number in the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Event {
    /// The pause container of a pod runs.
    RunPodSandbox = 1,
    /// A pod stops.
    StopPodSandbox = 2,
    /// A pod is gone.
    RemovePodSandbox = 3,
    /// A container is about to be created, and nothing of it exists.
    CreateContainer = 4,
    /// A container was created.
    PostCreateContainer = 5,
    /// A container's cgroup and first process exist, and nothing of its image has run.
    StartContainer = 6,
    /// A container runs.
    PostStartContainer = 7,
    /// The resources of a container are about to change.
    UpdateContainer = 8,
    /// The resources of a container have changed.
    PostUpdateContainer = 9,
    /// A container has stopped.
    StopContainer = 10,
    /// A container is gone.
    RemoveContainer = 11,
    /// The resources of a pod are about to change, since NRI 0.10.
    UpdatePodSandbox = 12,
    /// The resources of a pod have changed, since NRI 0.10.
    PostUpdatePodSandbox = 13,
    /// All plugins have answered a creation, and its result may be rejected, since NRI 0.10.
    ValidateContainerAdjustment = 14,
}

impl Event {
    /// All of them, by number.
    pub const ALL: [Self; 14] = [
        Self::RunPodSandbox,
        Self::StopPodSandbox,
        Self::RemovePodSandbox,
        Self::CreateContainer,
        Self::PostCreateContainer,
        Self::StartContainer,
        Self::PostStartContainer,
        Self::UpdateContainer,
        Self::PostUpdateContainer,
        Self::StopContainer,
        Self::RemoveContainer,
        Self::UpdatePodSandbox,
        Self::PostUpdatePodSandbox,
        Self::ValidateContainerAdjustment,
    ];

    /// The event of a number of `StateChange`.
    pub(crate) fn of(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|event| i32::from(*event as u8) == number)
    }

    /// The name of its request, such as `CreateContainer`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunPodSandbox => "RunPodSandbox",
            Self::StopPodSandbox => "StopPodSandbox",
            Self::RemovePodSandbox => "RemovePodSandbox",
            Self::CreateContainer => "CreateContainer",
            Self::PostCreateContainer => "PostCreateContainer",
            Self::StartContainer => "StartContainer",
            Self::PostStartContainer => "PostStartContainer",
            Self::UpdateContainer => "UpdateContainer",
            Self::PostUpdateContainer => "PostUpdateContainer",
            Self::StopContainer => "StopContainer",
            Self::RemoveContainer => "RemoveContainer",
            Self::UpdatePodSandbox => "UpdatePodSandbox",
            Self::PostUpdatePodSandbox => "PostUpdatePodSandbox",
            Self::ValidateContainerAdjustment => "ValidateContainerAdjustment",
        }
    }

    /// The event with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The version of NRI since which runtimes know it. An older runtime drops a plugin that subscribes to it.
    pub const fn since(self) -> NriVersion {
        match self {
            Self::UpdatePodSandbox | Self::PostUpdatePodSandbox | Self::ValidateContainerAdjustment => {
                NriVersion::new(0, 10, 0)
            }
            _ => NriVersion::new(0, 2, 0),
        }
    }

    const fn bit(self) -> u32 {
        1 << (self as u8 - 1)
    }
}

/// Events that a plugin subscribes to: at least one, since a mask without any means all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Events(u32);

impl From<Event> for Events {
    fn from(event: Event) -> Self {
        Self(event.bit())
    }
}

impl BitOr for Event {
    type Output = Events;

    fn bitor(self, other: Self) -> Events {
        Events::from(self) | other
    }
}

impl BitOr<Event> for Events {
    type Output = Self;

    fn bitor(self, other: Event) -> Self {
        Self(self.0 | other.bit())
    }
}

impl Events {
    /// Whether an event is among them.
    pub const fn contains(self, event: Event) -> bool {
        self.0 & event.bit() != 0
    }

    /// The events, by number.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        Event::ALL.into_iter().filter(move |event| self.contains(*event))
    }

    /// Those that a runtime knows for sure that has at least this version; `None` if that is none of them.
    pub(crate) fn known_by(self, at_least: NriVersion) -> Option<Self> {
        let known = self.iter().filter(|event| event.since() <= at_least);
        known.map(Self::from).reduce(|all, one| Self(all.0 | one.0))
    }

    /// The number that stands for them in the protocol.
    pub(crate) fn mask(self) -> i32 {
        // Bits 0 to 13.
        i32::try_from(self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Events};
    use crate::version::NriVersion;

    #[test]
    fn numbers_are_those_of_the_protocol() {
        for (number, event) in (1..).zip(Event::ALL) {
            assert_eq!(Event::of(number), Some(event));
            assert_eq!(Events::from(event).mask(), 1 << (number - 1));
            assert_eq!(Event::named(event.name()), Some(event));
        }
        assert_eq!([0, 15, -1].map(Event::of), [None; 3]);
    }

    #[test]
    fn older_runtimes_get_no_bit_that_they_do_not_know() {
        let (older, newer) = (NriVersion::new(0, 9, 0), NriVersion::new(0, 10, 0));
        let events = Event::CreateContainer | Event::StopContainer | Event::ValidateContainerAdjustment;
        assert_eq!(events.known_by(newer), Some(events));
        assert_eq!(events.known_by(older), Some(Event::CreateContainer | Event::StopContainer));
        assert_eq!(
            Events::from(Event::UpdatePodSandbox).known_by(older),
            None,
            "a mask of 0 would be all events"
        );
    }
}
