//! Numbers in runs.

/// Ascending numbers in list format: `0-3,8`.
#[must_use]
pub fn ranges(ids: impl IntoIterator<Item = i64>) -> String {
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
