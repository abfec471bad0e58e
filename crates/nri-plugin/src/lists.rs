//! CPUs and NUMA nodes of a container: never an empty list, since NRI reads that as *not set*.

use std::fmt;
use std::str::FromStr;

use cpuset::{CpuSet, ParseError};

/// Why a list names no CPUs or NUMA nodes for a container.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// It is empty. With NRI a container cannot be given none.
    #[error("the list is empty, which NRI reads as not set")]
    Empty,
    /// It is no list such as `0-3,8`.
    #[error("expected a list such as 0-3,8")]
    Parse(#[source] ParseError),
}

macro_rules! list {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name(CpuSet);

        impl $name {
            /// The numbers as a set.
            pub const fn as_set(&self) -> &CpuSet {
                &self.0
            }
        }

        impl TryFrom<CpuSet> for $name {
            type Error = ListError;

            fn try_from(set: CpuSet) -> Result<Self, ListError> {
                if set.is_empty() { Err(ListError::Empty) } else { Ok(Self(set)) }
            }
        }

        impl FromStr for $name {
            type Err = ListError;

            fn from_str(text: &str) -> Result<Self, ListError> {
                text.parse::<CpuSet>().map_err(ListError::Parse)?.try_into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

list! {
    /// CPUs that a container may use: at least one.
    Cpus
}
list! {
    /// NUMA nodes that a container's memory may lie on, by the kernel's numbers: at least one.
    MemoryNodes
}

#[cfg(test)]
mod tests {
    use super::{Cpus, ListError, MemoryNodes};

    #[test]
    fn a_list_is_never_empty() {
        assert_eq!("0-3,8".parse::<Cpus>().unwrap().to_string(), "0-3,8");
        assert_eq!("".parse::<Cpus>(), Err(ListError::Empty));
        assert_eq!(MemoryNodes::try_from(cpuset::CpuSet::new()), Err(ListError::Empty));
        assert!(matches!("a".parse::<MemoryNodes>(), Err(ListError::Parse(_))));
    }
}
