//! What is tried, and what was seen of it.

/// The folder of the chart, from the root of the repository.
pub(super) const CHART: &str = "deploy/chart";

/// What was done, and what was seen.
pub(super) type Row = (String, String);
