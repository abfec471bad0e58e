//! What a daemon uses over its life, and whether that grows.

use serde::Serialize;

use crate::node::Usage;
use crate::reliability::percentile;

/// What was seen, one after the other, at equal distances.
#[derive(Debug, Default)]
pub(super) struct Usages(pub(super) Vec<Usage>);

/// Medians of the first third after the warm-up, and of the last third; the warm-up is the first quarter.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Growth {
    /// In KiB.
    pub(super) resident: Medians,
    /// Of the resident memory; negative if it shrank.
    pub(super) resident_percent: f64,
    pub(super) descriptors: Medians,
    pub(super) threads: Medians,
    /// The most that was seen, in KiB.
    pub(super) largest_resident: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Medians {
    pub(super) before: u64,
    pub(super) after: u64,
}

impl Usages {
    pub(super) fn growth(&self) -> Growth {
        let warm = self.0.get(self.0.len() / 4..).unwrap_or_default();
        let third = warm.len() / 3;
        let (first, last) = (warm.get(..third), warm.get(warm.len() - third..));
        let medians = |of: fn(&Usage) -> u64| {
            let median = |part: Option<&[Usage]>| {
                let mut values: Vec<u64> = part.unwrap_or_default().iter().map(of).collect();
                percentile(&mut values, 50)
            };
            Medians { before: median(first), after: median(last) }
        };
        let resident = medians(|usage| usage.resident);
        let [before, after] = [resident.before.max(1), resident.after]
            .map(|size| f64::from(u32::try_from(size).unwrap_or(u32::MAX)));
        let percent = (after / before - 1.0) * 100.0;
        Growth {
            resident,
            resident_percent: (percent * 10.0).round() / 10.0,
            descriptors: medians(|usage| usage.descriptors),
            threads: medians(|usage| usage.threads),
            largest_resident: self.0.iter().map(|usage| usage.resident).max().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(resident: impl Fn(u64) -> u64) -> Growth {
        let usages =
            (0..120).map(|at| Usage { resident: resident(at), descriptors: 20 + at % 2, threads: 8 });
        Usages(usages.collect()).growth()
    }

    #[test]
    fn a_warm_up_is_no_growth_and_a_leak_is() {
        let flat = used(|at| if at < 30 { 1_000 * at } else { 40_000 + at % 7 });
        assert!(flat.resident_percent.abs() < 0.1, "{flat:?}");
        let leak = used(|at| 20_000 + 100 * at);
        assert!(leak.resident_percent > 20.0, "{leak:?}");
        assert_eq!((leak.threads.before, leak.threads.after), (8, 8));
        assert!(Usages::default().growth().resident_percent < 0.0, "nothing seen is nothing used");
    }
}
