//! What a value of an option has to be, where the parser of the standard library names only what it cannot do with it.

use std::error::Error as _;

use clap::error::ErrorKind;

/// The error of a command line, with what to give in place of a value that is no number or no address; any other stays.
pub(crate) fn plain(error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::ValueValidation {
        return error;
    }
    let Some(cause) = error.source().map(ToString::to_string) else { return error };
    let Some(expected) = expected(&cause) else { return error };
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    clap::Error::raw(error.kind(), text.replacen(&format!(": {cause}"), &format!(": {expected}"), 1))
}

/// What a parser's words come down to.
fn expected(cause: &str) -> Option<String> {
    Some(match cause {
        "number would be zero for non-zero type" => "expected 1 or more".to_owned(),
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a number".to_owned()
        }
        "number too large to fit in target type" => "expected a smaller number".to_owned(),
        "number too small to fit in target type" => "expected a larger number".to_owned(),
        "invalid float literal" | "cannot parse float from empty string" => {
            "expected a number such as 0.5".to_owned()
        }
        "invalid socket address syntax" => "expected ADDRESS:PORT such as 127.0.0.1:8080".to_owned(),
        other => {
            let (_, range) = other.split_once(" is not in ")?;
            match range.split_once("..=") {
                Some((least, most)) => format!("expected {least} to {most}"),
                None => format!("expected {} or more", range.strip_suffix("..")?),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::expected;

    #[test]
    fn a_parser_s_words_become_what_to_give() {
        for (cause, said) in [
            ("9 is not in 1..=8", Some("expected 1 to 8")),
            ("0 is not in 1..", Some("expected 1 or more")),
            ("invalid digit found in string", Some("expected a number")),
            ("expected none, eks:TYPE such as eks:m5.large", None),
        ] {
            assert_eq!(expected(cause).as_deref(), said);
        }
    }
}
