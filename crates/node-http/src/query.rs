//! The query of a request: each parameter is one that the path takes, and is given once.

use super::failure::Failure;

/// A parameter that a path takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) values: Values,
    /// What it does, as a sentence.
    pub(super) about: &'static str,
}

impl Parameter {
    /// Of a path that is not described.
    pub(super) const fn undescribed(name: &'static str) -> Self {
        Self { name, values: Values::Text, about: "" }
    }
}

/// What a parameter may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Values {
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A number within bounds; `None`: as large as a `u64` can be.
    Number(u64, Option<u64>),
    /// Anything.
    Text,
}

/// How a document is written: what every path takes that answers with one.
pub(super) const OUTPUT: Parameter = Parameter {
    name: "output",
    values: Values::OneOf(&["json", "yaml", "table"]),
    about: "How the answer is written; without it what `Accept` prefers, else JSON.",
};
/// See [`OUTPUT`].
pub(super) const GLYPHS: Parameter = Parameter {
    name: "glyphs",
    values: Values::OneOf(&["ascii", "unicode"]),
    about: "The answer is for a screen with such characters: errors of manifests show the lines that they are about.",
};
/// Tables for terminals of such widths, in letters.
pub(super) const MIN_WIDTH: usize = 40;
/// See [`MIN_WIDTH`].
pub(super) const MAX_WIDTH: usize = 10_000;
/// See [`OUTPUT`].
pub(super) const WIDTH: Parameter = Parameter {
    name: "width",
    values: Values::Number(MIN_WIDTH as u64, Some(MAX_WIDTH as u64)),
    about: "Tables are no wider, in letters.",
};
/// Of a path that takes no others.
pub(super) const SHAPE: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH];

/// The parameters, decoded.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `query`, the part after `?`; `takes` are the parameters that the path knows.
    ///
    /// # Errors
    /// A parameter that the path does not know, or one that is given twice: it would be ignored, and might have been
    /// meant to prevent something.
    pub(super) fn read(query: Option<&str>, takes: &[Parameter]) -> Result<Self, Failure> {
        let mut found = Vec::<(String, String)>::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !takes.iter().any(|known| known.name == name) {
                let names: Vec<&str> = takes.iter().map(|known| known.name).collect();
                let known = if takes.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(Failure::wrong(format!(
                    "unknown query parameter {name:?}: nothing was done; this method and path take {known}"
                )));
            }
            if found.iter().any(|(other, _)| *other == name) {
                return Err(Failure::wrong(format!("query parameter {name:?} is given twice")));
            }
            found.push((name, value));
        }
        Ok(Self(found))
    }

    /// The value of a parameter.
    pub(super) fn get(&self, of: Parameter) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == of.name).map(|(_, value)| value.as_str())
    }
}

/// A name or value without its `%41` and `+`.
fn decoded(text: &str) -> Result<String, Failure> {
    let wrong = || Failure::wrong(format!("query: {text:?} is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || Some(char::from(rest.next()?).to_digit(16)?.to_le_bytes()[0]);
                let (high, low) = digit().zip(digit()).ok_or_else(wrong)?;
                bytes.push(high << 4 | low);
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::{OUTPUT, Parameter, Query, Values};

    #[test]
    fn parameters_are_known_and_given_once() {
        let namespace = Parameter { name: "namespace", values: Values::Text, about: "" };
        let takes = [OUTPUT, namespace];
        for (query, expected) in [
            (None, Ok(None)),
            (Some(""), Ok(None)),
            (Some("output=json&&"), Ok(None)),
            (Some("namespace=ran&output=json"), Ok(Some("ran"))),
            (Some("name%73pace=r%61n"), Ok(Some("ran"))),
            (Some("namespace="), Ok(Some(""))),
            (Some("namespace"), Ok(Some(""))),
            (
                Some("dryRun=All"),
                Err(
                    "unknown query parameter \"dryRun\": nothing was done; this method and path take output, namespace",
                ),
            ),
            (Some("namespace=a&namespace=b"), Err("query parameter \"namespace\" is given twice")),
            (Some("namespace=%ff"), Err("query: \"%ff\" is not percent-encoded UTF-8")),
            (Some("namespace=%4"), Err("query: \"%4\" is not percent-encoded UTF-8")),
            (Some("namespace=%zz"), Err("query: \"%zz\" is not percent-encoded UTF-8")),
        ] {
            let read = Query::read(query, &takes);
            let found = read.as_ref().map(|read| read.get(namespace));
            assert_eq!(found.map_err(|failure| failure.text.as_str()), expected, "{query:?}");
        }
    }
}
