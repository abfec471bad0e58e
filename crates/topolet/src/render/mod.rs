//! What a person reads: tables without borders, marks, amounts, colours.

mod screen;
mod simulation;
mod state;
mod repair;
mod topology;
mod charts;
mod config;
mod decision;
mod explanation;

pub(crate) use charts::charts;
pub(crate) use config::checked;
pub(crate) use decision::{decision, joined};
pub(crate) use explanation::explanation;
pub(crate) use k8s_quantity::Amount;
pub(crate) use repair::repairs;
pub(crate) use screen::{Screen, manifest_error, manifest_style, quoted_error};
pub(crate) use simulation::{found_max, found_max_csv, simulation, simulation_csv};
pub(crate) use state::{findings, holders, shown};
pub(crate) use terminal_text::{Glyphs, columns};
pub(crate) use topology::{frame, topology};

/// Ascending numbers in list format: `0-3,8`.
pub(crate) fn ranges(ids: impl IntoIterator<Item = i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => runs.push((id, id)),
        }
    }
    let shown = runs.iter().map(
        |(first, last)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        },
    );
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_in_runs() {
        for (ids, shown) in [(vec![], ""), (vec![5], "5"), (vec![0, 1, 2, 8], "0-2,8"), (vec![-1, 0], "-1-0")]
        {
            assert_eq!(ranges(ids), shown);
        }
    }
}
