//! Which of its licences a crate is used under.

use std::collections::BTreeSet;

use anyhow::Context as _;

/// The licences that `deny.toml` allows, the preferred ones first.
pub(super) fn allowed(deny: &str) -> anyhow::Result<Vec<String>> {
    let (_, rest) = deny.split_once("\nallow = [").context("deny.toml allows no licences")?;
    let (list, _) = rest.split_once(']').context("the list of licences in deny.toml has no end")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// The licences under which a crate with an expression of SPDX is used: the allowed ones of the first rank. `None` if no
/// choice is allowed.
pub(super) fn chosen(expression: &str, allowed: &[String]) -> Option<BTreeSet<String>> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (choices, rest) = any_of(&words)?;
    let rank = |licences: &BTreeSet<String>| {
        let ranks = licences.iter().map(|licence| allowed.iter().position(|one| one == licence));
        ranks.sum::<Option<usize>>()
    };
    let ranked = choices.into_iter().filter_map(|licences| Some((rank(&licences)?, licences)));
    let best = ranked.min_by_key(|(rank, licences)| (*rank, licences.len()));
    if rest.is_empty() { best.map(|(_, licences)| licences) } else { None }
}

/// Sets of licences; each of them will do.
type Choices = Vec<BTreeSet<String>>;

/// `A OR B`, where `AND` binds closer.
fn any_of<'a>(words: &'a [&'a str]) -> Option<(Choices, &'a [&'a str])> {
    let (mut choices, mut rest) = all_of(words)?;
    while let ["OR", more @ ..] = rest {
        let (others, left) = all_of(more)?;
        choices.extend(others);
        rest = left;
    }
    Some((choices, rest))
}

fn all_of<'a>(words: &'a [&'a str]) -> Option<(Choices, &'a [&'a str])> {
    let (mut choices, mut rest) = one(words)?;
    while let ["AND", more @ ..] = rest {
        let (others, left) = one(more)?;
        let both = |a: &BTreeSet<String>| others.iter().map(|b| a | b).collect::<Vec<_>>();
        choices = choices.iter().flat_map(both).collect();
        rest = left;
    }
    Some((choices, rest))
}

fn one<'a>(words: &'a [&'a str]) -> Option<(Choices, &'a [&'a str])> {
    match words {
        ["(", more @ ..] => match any_of(more)? {
            (choices, [")", rest @ ..]) => Some((choices, rest)),
            _ => None,
        },
        [licence, "WITH", exception, rest @ ..] => {
            Some((vec![BTreeSet::from([format!("{licence} WITH {exception}")])], rest))
        }
        [licence, rest @ ..] if !matches!(*licence, ")" | "OR" | "AND" | "WITH") => {
            Some((vec![BTreeSet::from([(*licence).to_owned()])], rest))
        }
        _ => None,
    }
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
