//! Lists in sentences.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Display;

/// All of them, with `separator` between each two.
pub(crate) fn joined<T: Display>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(separator)
}

/// At most `most` of them, and how many are left: `a, b and c`, where `last` is ` and `; `a, b and 4 more`.
pub(crate) fn and_more<T: Display>(items: &[T], most: usize, last: &str) -> String {
    let named: Vec<String> = items.iter().take(most).map(T::to_string).collect();
    match (items.len() - named.len(), named.as_slice()) {
        (0, [first @ .., end]) if !first.is_empty() => format!("{}{last}{end}", first.join(", ")),
        (0, named) => named.join(", "),
        (more, named) => format!("{} and {more} more", named.join(", ")),
    }
}

/// The verb for so many subjects.
pub(crate) const fn verb(count: usize, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_end_in_a_number() {
        for (count, expected) in
            [(0, ""), (1, "0"), (2, "0 and 1"), (3, "0, 1 and 2"), (4, "0, 1, 2 and 1 more")]
        {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(and_more(&items, 3, " and "), expected);
        }
    }
}
