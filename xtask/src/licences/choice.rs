//! Which of its licences a crate is used under.

use std::collections::BTreeSet;

use anyhow::Context as _;
use spdx::{Expression, Licensee, ParseMode};

/// The licences that `deny.toml` allows, the preferred ones first.
pub(super) fn allowed(deny: &str) -> anyhow::Result<Vec<String>> {
    let (_, rest) = deny.split_once("\nallow = [").context("deny.toml allows no licences")?;
    let (list, _) = rest.split_once(']').context("the list of licences in deny.toml has no end")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// The licences under which a crate with an expression of SPDX is used: the fewest allowed ones, of these the preferred.
/// `None` if no choice is allowed.
pub(super) fn chosen(expression: &str, allowed: &[String]) -> Option<BTreeSet<String>> {
    let mode = ParseMode { allow_deprecated: true, allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let expression = Expression::parse_mode(expression, mode).ok()?;
    let accepted: Vec<Licensee> =
        allowed.iter().map(|name| Licensee::parse(name)).collect::<Result<_, _>>().ok()?;
    let chosen = expression.minimized_requirements(&accepted).ok()?;
    Some(chosen.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_choice_is_taken() {
        let allowed = ["Apache-2.0", "MIT", "BSD-3-Clause", "Unicode-3.0"].map(str::to_owned);
        for (expression, expected) in [
            ("MIT OR Apache-2.0", Some(vec!["Apache-2.0"])),
            ("MIT/Apache-2.0", Some(vec!["Apache-2.0"])),
            ("Unlicense OR MIT", Some(vec!["MIT"])),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(vec!["Apache-2.0", "Unicode-3.0"])),
            ("MIT AND BSD-3-Clause", Some(vec!["BSD-3-Clause", "MIT"])),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", Some(vec!["Apache-2.0"])),
            ("MIT OR GPL-2.0 AND Apache-2.0", Some(vec!["MIT"])),
            ("GPL-3.0", None),
            ("MIT AND GPL-3.0", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT Apache-2.0", None),
            ("", None),
        ] {
            let found = chosen(expression, &allowed);
            assert_eq!(
                found.map(Vec::from_iter),
                expected.map(|list| list.iter().map(|one| (*one).to_owned()).collect())
            );
        }
    }

    #[test]
    fn what_is_allowed_stands_in_a_file() {
        assert_eq!(allowed("[licenses]\nallow = [\"A\",\n \"B\"]\nc = [\"D\"]").unwrap(), ["A", "B"]);
        assert!(allowed("[licenses]").is_err());
    }
}
