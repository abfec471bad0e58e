//! Everything that is measured, with what is known of it besides.

use serde_json::{Value, json};

use crate::catalogue::catalogue;
use crate::growth::growth;
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
    for curve in growth() {
        for point in curve.points {
            all.push((point.work, json!({"curve": curve.title, "axis": curve.axis, "at": point.at})));
        }
    }
    Ok(all)
}
