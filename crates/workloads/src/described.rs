//! Everything that is measured, with what is known of it besides.

use serde_json::{Value, json};

use crate::catalogue::catalogue;
use crate::growth::{Curve, claim_growth, growth};
use crate::work::Work;

/// Every work, with fields for its line of measurements: what must be reached, or of which curve it is a point.
///
/// # Errors
/// As [`catalogue`].
pub fn described() -> anyhow::Result<Vec<(Work, Value)>> {
    let mut all = Vec::new();
    for row in catalogue()? {
        let target = row.target;
        let known = json!({"must_reach_ns": target.nanoseconds, "must_reach_allocs": target.allocations});
        all.push((row.work, known));
    }
    all.extend(growth().into_iter().flat_map(points));
    Ok(all)
}

/// Claims as kube-scheduler's allocator is asked about them, each a point of a curve.
#[must_use]
pub fn described_claims() -> Vec<(Work, Value)> {
    claim_growth().into_iter().flat_map(points).collect()
}

fn points(curve: Curve) -> impl Iterator<Item = (Work, Value)> {
    let Curve { title, axis, points } = curve;
    points.into_iter().map(move |point| (point.work, json!({"curve": title, "axis": axis, "at": point.at})))
}
