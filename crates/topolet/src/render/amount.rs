//! Amounts as people write them.

use std::fmt;

use pod_spec::ResourceName;

/// An amount of a resource: bytes for memory and huge pages, else a count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    /// Shown in binary units, with one decimal at most, rounded down: what is shown is really there.
    Bytes(u64),
    /// Shown as it is.
    Count(u64),
}

impl Amount {
    pub(crate) fn of(resource: &ResourceName, amount: u64) -> Self {
        if resource.as_str() == "memory" || resource.is_hugepages() {
            Self::Bytes(amount)
        } else {
            Self::Count(amount)
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match *self {
            Self::Count(count) => return write!(f, "{count}"),
            Self::Bytes(bytes) => bytes,
        };
        let units = [("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
        // Terabytes only where nothing is lost: people compare 1536Gi with 1152Gi.
        let unit = units.into_iter().find(|(name, shift)| {
            bytes >> shift > 0 && (*shift <= 30 || bytes.trailing_zeros() >= *shift || *name != "Ti")
        });
        let Some((name, shift)) = unit else { return write!(f, "{bytes}") };
        let (whole, tenths) = (bytes >> shift, (u128::from(bytes) * 10) >> shift);
        let tenth = tenths - u128::from(whole) * 10;
        if tenth == 0 || whole >= 10 {
            write!(f, "{whole}{name}")
        } else {
            write!(f, "{whole}.{tenth}{name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_down_to_what_is_there() {
        for (bytes, shown) in [
            (0, "0"),
            (1023, "1023"),
            (1 << 30, "1Gi"),
            (3 << 29, "1.5Gi"),
            ((16 << 30) - 1, "15Gi"),
            (67_283_976_192, "62Gi"),
            (1 << 40, "1Ti"),
            (1_536 << 30, "1536Gi"),
            (2 << 20, "2Mi"),
        ] {
            assert_eq!(Amount::Bytes(bytes).to_string(), shown, "{bytes}");
        }
    }
}
