//! Whether devices that belong together come from one link: the options under `devices`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// `devices.links`, and what it needs to know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceLinks {
    /// `devices.links`.
    pub rule: LinkRule,
    /// `devices.groups`: resources whose devices belong together in a request, by the name of the group. Devices of any
    /// other resource belong together by themselves. No resource is in two groups.
    pub groups: BTreeMap<String, Vec<String>>,
    /// `devices.domains`: PCI addresses of devices that reach each other over `NVLink` or xGMI, by the name of the domain.
    pub domains: BTreeMap<String, Vec<String>>,
    /// `devices.addresses`: PCI addresses of devices whose ids do not say them, by id.
    pub addresses: BTreeMap<String, String>,
}

/// What becomes of a request for several devices that belong together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LinkRule {
    /// `ignore`: it gets any, as in the kubelet.
    #[default]
    Ignore,
    /// `prefer`: it gets those of one link where that takes nothing away from the alignment of its pod.
    Prefer,
    /// `require`: it gets those of one link, or its pod is refused.
    Require,
}

impl LinkRule {
    /// All rules, the kubelet's first.
    pub const ALL: [Self; 3] = [Self::Ignore, Self::Prefer, Self::Require];

    /// The word for it in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Prefer => "prefer",
            Self::Require => "require",
        }
    }
}

impl DeviceLinks {
    /// The first resource that is in two groups, and these.
    #[must_use]
    pub fn in_two_groups(&self) -> Option<(&str, &str, &str)> {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        let each =
            self.groups.iter().flat_map(|(name, resources)| resources.iter().map(move |one| (one, name)));
        for (resource, name) in each {
            if let Some(other) = seen.insert(resource, name).filter(|other| other != name) {
                return Some((resource, other, name));
            }
        }
        None
    }
}
