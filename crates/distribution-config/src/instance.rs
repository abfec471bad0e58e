//! Instance types of Amazon, and the number of pods that `nodeadm` counts on each.

/// Pods, families and sizes, one line each.
const TABLE: &str = include_str!("instance_pods.txt");

/// An instance type, such as `m5.24xlarge`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstanceType {
    family: &'static str,
    size: &'static str,
    pods: i64,
}

impl InstanceType {
    /// The instance type of this name; `None`: `nodeadm` has it not in its table, and asks Amazon.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|one| name.split_once('.') == Some((one.family, one.size)))
    }

    /// All that are known, by their numbers of pods.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.lines().filter(|line| !line.starts_with('#')).flat_map(|line| {
            let (pods, families) = line.split_once(' ').unwrap_or_default();
            let pods = pods.parse().unwrap_or_default();
            families.split(' ').filter_map(|of| of.split_once(':')).flat_map(move |(family, sizes)| {
                sizes.split(',').map(move |size| Self { family, size, pods })
            })
        })
    }

    /// How many pods `nodeadm` counts on it.
    #[must_use]
    pub const fn pods(self) -> i64 {
        self.pods
    }
}

impl core::fmt::Display for InstanceType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.family, self.size)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn instance_types_have_pods() {
        for (name, pods) in [("m5.large", 29), ("m5.24xlarge", 737), ("t3.nano", 4), ("a1.4xlarge", 234)] {
            assert_eq!(InstanceType::named(name).map(InstanceType::pods), Some(pods), "{name}");
        }
        for name in ["", "m5", "m5.", "m5.huge", "x.large"] {
            assert_eq!(InstanceType::named(name), None, "{name}");
        }
        assert_eq!(InstanceType::all().count(), 1384);
        assert!(
            InstanceType::all().all(|one| one.pods > 0 && InstanceType::named(&one.to_string()) == Some(one))
        );
    }
}
