//! The values of a flag on a command line.

/// The last value of a flag that is written as `--name value` or `--name=value`, with one dash or two.
pub(crate) fn last_value<'a>(arguments: &[&'a str], names: &[&str]) -> Option<&'a str> {
    values(arguments, names).last()
}

/// All values of a flag, in their order.
pub(crate) fn values<'s, 'a: 's>(
    arguments: &'s [&'a str],
    names: &'s [&str],
) -> impl Iterator<Item = &'a str> + 's {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let argument = *arguments.get(at)?;
            at += 1;
            let Some(flag) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
                continue;
            };
            match flag.split_once('=') {
                Some((name, value)) if names.contains(&name) => return Some(value),
                None if names.contains(&flag) => {
                    at += 1;
                    return arguments.get(at - 1).copied();
                }
                _ => {}
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_flags() {
        let check = |line: &str, expected: &[&str]| {
            let arguments: Vec<&str> = line.split(' ').collect();
            assert_eq!(values(&arguments, &["data-dir", "d"]).collect::<Vec<_>>(), expected, "{line}");
        };
        check("--data-dir /a --x --data-dir=/b -d /c -d=/d", &["/a", "/b", "/c", "/d"]);
        check("--data-dir", &[]);
        check("data-dir /a", &[]);
        check("--data-dir=", &[""]);
        check("--data-directory /a", &[]);
    }
}
